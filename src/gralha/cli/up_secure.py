"""`gralha up --secure`: writes the files of `gralha secure` if the folder is new, and runs the cluster.

The scripts in the folder have the arguments for the first start. They are called in this process, so that
`ps` does not show the passwords.
"""

import argparse
import contextlib
import io
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from gralha.cli import up_settings
from gralha.cli.program import CommandError
from gralha.cli.secure import create, print_clients
from gralha.cli.secure_settings import DEFAULT_HOST, SecuredCluster
from gralha.cli.text_file import read_text
from gralha.cli.up_brokers import run_brokers
from gralha.protocol.properties import parse_properties, properties_text

# Exists once the first rights are added. Rights that somebody removes later stay removed.
_RIGHTS_ADDED: Final = "acls.added"


def up_secured(options: argparse.Namespace, data: Path) -> int:
    """Runs the cluster of a folder until Ctrl-C."""
    if options.override or options.no_auto_create:
        raise CommandError(
            f"--secure takes no other settings: start it once, and then change {data / 'broker-1.properties'}"
        )
    if is_secured(data):
        cluster = _existing(options, data)
    else:
        port = up_settings.FIRST_PORT if options.port is None else options.port
        cluster = create(data, options.brokers, options.host, port)
    texts = [_with_metrics(cluster, node_id, options.metrics_port) for node_id in cluster.node_ids]
    from gralha.cli import storage

    _run_script(data / "format.sh", "format", storage.main)

    def announce(metrics: Mapping[int, str]) -> None:
        _add_rights(data)
        print("Gralha is up, with TLS, logins and rights")
        for node_id, address in zip(cluster.node_ids, cluster.bootstrap.split(","), strict=True):
            print(f"  broker {node_id}  {address}")
        for node_id, url in metrics.items():
            print(f"  metrics {node_id} {url}")
        print(f"  data      {data}")
        print_clients(cluster)
        print("\nCtrl-C stops it.", flush=True)

    return run_brokers(data, texts, announce, is_verbose=options.verbose)


def is_secured(data: Path) -> bool:
    return (data / "ca.pem").exists() and (data / "format.sh").exists()


def check_not_secured(data: Path) -> None:
    """Raises CommandError if a cluster without security would use the data of a secured one."""
    if is_secured(data):
        raise CommandError(
            f"{data} has a secured cluster: run gralha up --secure --data {shlex.quote(str(data))}"
        )


def _existing(options: argparse.Namespace, data: Path) -> SecuredCluster:
    """The cluster as its files describe it."""
    brokers = len(list(data.glob("broker-*.properties")))
    file = data / "broker-1.properties"
    try:
        settings = {one.name: one.value for one in parse_properties(read_text(str(file), "the settings"))}
    except ValueError as error:
        raise CommandError(f"{file}: {error}") from None
    host, _, port = settings.get("advertised.listeners", "").partition("://")[2].rpartition(":")
    if not port.isdecimal():
        raise CommandError(f"{file}: advertised.listeners must have SASL_SSL://HOST:PORT")
    cluster = SecuredCluster(data, brokers, host.strip("[]"), int(port), "", {})
    changed = [
        name
        for name, wanted, found in (
            ("--brokers", options.brokers_given, brokers),
            ("--port", options.port, cluster.first_port),
            ("--host", None if options.host == DEFAULT_HOST else options.host, cluster.host),
        )
        if wanted not in (None, found)
    ]
    if changed:
        raise CommandError(
            f"{changed[0]} is not that of the cluster in {data}. Leave it out, or name a new folder with "
            "--data"
        )
    return cluster


def _with_metrics(cluster: SecuredCluster, node_id: int, metrics_port: int | None) -> str:
    """The settings of a node. Where it serves its metrics is decided at each start."""
    text = read_text(str(cluster.settings_file(node_id)), "the settings")
    name = up_settings.METRICS_LISTENER
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith(f"{name}=")]
    listener = up_settings.metrics_listener(node_id, cluster.first_port, metrics_port)
    return "".join(lines) + properties_text(listener)


def _add_rights(data: Path) -> None:
    marker = data / _RIGHTS_ADDED
    if not marker.exists():
        from gralha.cli import acls

        _run_script(data / "acls.sh", "--bootstrap-server", acls.main)
        marker.touch()


def _run_script(script: Path, first: str, main: Callable[[list[str]], int]) -> None:
    """Calls a command with the arguments of each line of a script. `first` is the first argument."""
    for line in read_text(str(script), "the script").splitlines():
        words = shlex.split(line, comments=True)
        if first not in words:
            continue
        with contextlib.redirect_stdout(io.StringIO()):
            code = main(words[words.index(first) :])
        if code:
            raise CommandError(f"{script} has failed")
