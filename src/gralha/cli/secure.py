"""`gralha secure DIR`: writes the files of a secured cluster, and says how to use it."""

import argparse
import datetime
import json
import os
import secrets
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gralha.cli import up_settings
from gralha.cli.arguments import ProgramParser, port_number
from gralha.cli.program import CommandError, run
from gralha.cli.secure_settings import (
    APP,
    APP_PREFIX,
    CLIENT_USERS,
    DEFAULT_HOST,
    USERS,
    SecuredCluster,
    acls_script,
    command,
    format_script,
    node_settings,
)
from gralha.cli.up_brokers import MAX_BROKERS
from gralha.protocol.properties import properties_text
from gralha.security.secured_node import ADMIN

if TYPE_CHECKING:
    from gralha.security.certificate_authority import CertificateAuthority

DEFAULT_BROKERS: Final = 3
ANY_ADDRESS: Final = ("", "0.0.0.0", "::")
_PASSWORD_BYTES: Final = 24
_PRIVATE, _PUBLIC, _PROGRAM, _FOLDER = 0o600, 0o644, 0o700, 0o700
_EXAMPLES: Final = (
    "gralha secure my-cluster                            # three brokers, for this machine only",
    "gralha secure my-cluster --host kafka.example.org   # for clients on other machines",
)


def main(arguments: list[str] | None = None) -> int:
    return run(_secure, arguments)


def _parser() -> ProgramParser:
    parser = ProgramParser(
        prog="gralha secure",
        description=(
            "Write the configuration of a cluster with TLS, logins and rights: certificates, users, "
            "the settings of the brokers, and the settings of clients."
        ),
        examples=_EXAMPLES,
    )
    parser.add_argument("folder", metavar="DIR", help="a new or empty folder for all files")
    parser.add_argument(
        "--brokers",
        type=_number_of_brokers,
        default=DEFAULT_BROKERS,
        metavar="N",
        help=f"number of brokers, 1 to {MAX_BROKERS} (default {DEFAULT_BROKERS})",
    )
    parser.add_argument(
        "--host",
        type=_host,
        default=DEFAULT_HOST,
        metavar="NAME",
        help=f"host name or address at which clients connect (default {DEFAULT_HOST}: this machine only)",
    )
    parser.add_argument(
        "--port",
        type=port_number,
        default=up_settings.FIRST_PORT,
        metavar="P",
        help=f"port of the first broker (default {up_settings.FIRST_PORT}, then 29092, 39092)",
    )
    return parser


def _number_of_brokers(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MAX_BROKERS:
        raise argparse.ArgumentTypeError(f"{text} is not possible: give a number from 1 to {MAX_BROKERS}")
    return int(text)


def _host(text: str) -> str:
    if text in ANY_ADDRESS:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not an address at which clients can connect: give the name of this machine"
        )
    if not text.isascii() or any(one.isspace() or one in ",/\"'" for one in text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a host name or an address")
    return text


def _secure(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    cluster = create(Path(options.folder), options.brokers, options.host, options.port)
    _print_how_to_use(cluster)
    return 0


def create(folder: Path, brokers: int, host: str, first_port: int) -> SecuredCluster:
    """Writes all files, with new keys and passwords. Raises CommandError if the folder is in use."""
    from gralha.broker.offline import new_uuid
    from gralha.protocol.primitives import uuid_to_string
    from gralha.security.certificate_authority import CertificateAuthority

    _check_port(brokers, first_port)
    folder = folder.expanduser().resolve()
    passwords = {user: secrets.token_urlsafe(_PASSWORD_BYTES) for user in USERS}
    cluster = SecuredCluster(folder, brokers, host, first_port, uuid_to_string(new_uuid()), passwords)
    _check_folder(folder)
    try:
        _make_folder(folder)
        _write(cluster, CertificateAuthority(datetime.datetime.now(datetime.UTC)))
    except OSError as error:
        raise CommandError(f"{folder} cannot be written: {error.strerror}") from None
    return cluster


def _check_port(brokers: int, first_port: int) -> None:
    if first_port == 0:
        raise CommandError("--port 0: the settings of clients need a port that does not change")
    up_settings.check_ports(brokers, first_port)
    if first_port + up_settings.CONTROLLER_PORT_OFFSET > up_settings.HIGHEST_PORT:
        raise CommandError(f"--port {first_port}: the controller needs the next port")


def _check_folder(folder: Path) -> None:
    if not str(folder).isprintable() or "," in str(folder):
        raise CommandError(f"{folder!r}: the path must not have a comma or a line break")
    if folder.exists() and not folder.is_dir():
        raise CommandError(f"{folder} is a file. Name a folder")
    if folder.exists() and any(folder.iterdir()):
        raise CommandError(
            f"{folder} is not empty. gralha secure makes new keys and passwords, and replaces no files: "
            "name a new folder"
        )


def _make_folder(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(_FOLDER)


def _write(cluster: SecuredCluster, authority: "CertificateAuthority") -> None:
    hosts = list(dict.fromkeys((DEFAULT_HOST, "127.0.0.1", cluster.host)))
    _write_file(cluster.folder / "ca.key", authority.key_pem())
    _write_file(cluster.authority_file, authority.certificate_pem(), _PUBLIC)
    for node_id in cluster.node_ids:
        _write_file(cluster.key_file(node_id), authority.issue(f"broker-{node_id}", hosts))
        settings = properties_text(node_settings(cluster, node_id))
        _write_file(cluster.settings_file(node_id), settings)
    for user in CLIENT_USERS:
        _make_folder(cluster.folder / user)
        _write_client(cluster, user)
    _write_file(cluster.folder / "format.sh", format_script(cluster), _PROGRAM)
    _write_file(cluster.folder / "acls.sh", acls_script(cluster), _PROGRAM)


def _write_client(cluster: SecuredCluster, user: str) -> None:
    access = cluster.access(user)
    _write_file(cluster.client_file(user), properties_text(access.java()))
    lines = [f"{name}={value}\n" for name, value in access.librdkafka().items()]
    _write_file(cluster.librdkafka_file(user), "".join(lines))
    _write_file(cluster.python_file(user), json.dumps(access.python(), indent=2) + "\n")
    _write_file(cluster.kafkajs_file(user), json.dumps(access.kafkajs(), indent=2) + "\n")


def _write_file(path: Path, text: str, mode: int = _PRIVATE) -> None:
    """Creates a file that nobody else can read, not even for a moment, unless `mode` says so."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as file:
        os.fchmod(file.fileno(), mode)
        file.write(text)


def _print_how_to_use(cluster: SecuredCluster) -> None:
    folder = cluster.folder
    print(f"Wrote a secured cluster of {_count(cluster.brokers)} to {folder}")
    rows = (
        ("ca.pem", "the certificate of the authority: every client needs it"),
        ("ca.key", "the key of the authority: keep it secret"),
        ("broker-N.*", "settings, key and certificate of each node"),
        (f"{APP}/", f"client files of the user {APP}: topics and groups whose names begin with {APP_PREFIX}"),
        (f"{ADMIN}/", f"client files of the user {ADMIN}, who may do everything"),
    )
    for name, text in rows:
        print(f"  {name:<14}{text}")
    print("\nStart it, and add the rights:")
    print(f"  {command('gralha', ['up', '--secure', '--data', str(folder)])}")
    print("\nOr start each node yourself:")
    print(f"  {shlex.quote(str(folder / 'format.sh'))}")
    for node_id in cluster.node_ids:
        line = command("gralha", ["server", "--config", str(cluster.settings_file(node_id))])
        print(f"  {line}   # in a terminal of its own")
    print(f"  {shlex.quote(str(folder / 'acls.sh'))}   # once, when the nodes are running")
    print_clients(cluster)


def print_clients(cluster: SecuredCluster) -> None:
    """Prints how a command and each library connect."""
    print("\nUse it:")
    config = str(cluster.client_file(ADMIN))
    first = cluster.bootstrap.partition(",")[0]
    arguments = ["--bootstrap-server", first, "--command-config", config, "--list"]
    print(f"  {command('kafka-topics', arguments)}")
    print(_snippets(cluster))


def _snippets(cluster: SecuredCluster) -> str:
    """How to connect from each library. The passwords stay in the files."""
    authority = str(cluster.authority_file)
    read_json = f"settings = json.load(open({str(cluster.python_file(APP))!r}))"
    return f"""
  # confluent-kafka
  settings = dict(line.strip().split("=", 1) for line in open({str(cluster.librdkafka_file(APP))!r}))
  producer = confluent_kafka.Producer(settings)
  consumer = confluent_kafka.Consumer({{**settings, "group.id": "{APP_PREFIX}readers"}})

  # kafka-python
  {read_json}
  producer = kafka.KafkaProducer(ssl_cafile={authority!r}, **settings)

  # aiokafka
  {read_json}
  context = aiokafka.helpers.create_ssl_context(cafile={authority!r})
  producer = aiokafka.AIOKafkaProducer(ssl_context=context, **settings)

  // kafkajs
  const settings = JSON.parse(require('fs').readFileSync({json.dumps(str(cluster.kafkajs_file(APP)))}))
  const kafka = new Kafka(settings)"""


def _count(brokers: int) -> str:
    return "one broker" if brokers == 1 else f"{brokers} brokers"
