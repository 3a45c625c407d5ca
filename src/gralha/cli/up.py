"""`gralha up`: runs the platform on this machine, without a configuration file."""

import argparse
import logging
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gralha.cli import up_settings
from gralha.cli.arguments import ProgramParser, port_number
from gralha.cli.installed import installed_command
from gralha.cli.log_lines import SHORT_FORMAT, log_to
from gralha.cli.program import run
from gralha.cli.server import log_to_stderr, metrics_url, serve
from gralha.cli.up_brokers import MAX_BROKERS, run_brokers
from gralha.cli.up_folders import (
    check_number,
    check_place,
    data_folder,
    default_data_folder,
    earlier_settings,
    folder_for,
    prepare,
)
from gralha.cli.up_registry import UpRegistry
from gralha.protocol.properties import properties_text

if TYPE_CHECKING:
    from gralha.broker.node import Node

DEFAULT_HOST: Final = "localhost"
DEFAULT_PORT: Final = 9092
SECURED_BROKERS: Final = 3
_EXAMPLES: Final = (
    "gralha up                                  # one broker on localhost:9092",
    "gralha up --brokers 3                      # three brokers; each topic has three replicas",
    "gralha up --secure                         # three brokers with TLS, logins and rights",
    "gralha up --override num.partitions=6      # with a setting of Kafka's server.properties",
)


def main(arguments: list[str] | None = None) -> int:
    return run(_up, arguments)


def _parser() -> ProgramParser:
    parser = ProgramParser(
        prog="gralha up",
        description="Run the platform on this machine until Ctrl-C.",
        examples=_EXAMPLES,
    )
    parser.add_argument(
        "--brokers",
        type=_number_of_brokers,
        metavar="N",
        help=f"number of brokers, 1 to {MAX_BROKERS} (default 1), and 3 with --secure",
    )
    parser.add_argument(
        "--data",
        type=data_folder,
        metavar="DIR",
        help=f"data folder (default {default_data_folder()}, or its subfolder N-brokers for N brokers)",
    )
    parser.add_argument(
        "--port",
        type=port_number,
        metavar="P",
        help=f"port for clients (default {DEFAULT_PORT}; {up_settings.FIRST_PORT}, 29092, 39092 for three)",
    )
    parser.add_argument(
        "--metrics-port",
        type=port_number,
        metavar="P",
        help="port for metrics, on this machine only (default 9308; 19308, 29308, 39308 for three)",
    )
    parser.add_argument(
        "--host",
        default=DEFAULT_HOST,
        metavar="H",
        help=f"address on which clients reach the brokers (default {DEFAULT_HOST}: this machine only)",
    )
    parser.add_argument(
        "--override",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of all brokers; may be given many times",
    )
    parser.add_argument(
        "--no-auto-create",
        action="store_true",
        help="do not create a topic when a client uses it for the first time",
    )
    parser.add_argument(
        "--secure",
        action="store_true",
        help="with TLS, logins and rights: the files of `gralha secure` in the data folder",
    )
    parser.add_argument("--no-registry", action="store_true", help="do not run the Schema Registry")
    parser.add_argument(
        "--registry-port",
        type=port_number,
        metavar="P",
        help="port of the Schema Registry (default 8081, or a free one if another program uses that)",
    )
    parser.add_argument("--verbose", action="store_true", help="show the log of the brokers")
    return parser


def _number_of_brokers(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MAX_BROKERS:
        raise argparse.ArgumentTypeError(f"{text} is not possible: give a number from 1 to {MAX_BROKERS}")
    return int(text)


def _up(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    overrides = up_settings.parse_overrides(options.override)
    if options.no_auto_create:
        overrides["auto.create.topics.enable"] = "false"
    options.brokers_given = options.brokers
    options.brokers = options.brokers or (SECURED_BROKERS if options.secure else 1)
    up_settings.check_ports(options.brokers, options.port)
    default = default_data_folder() / "secured" if options.secure else folder_for(options.brokers)
    data = (options.data or default).expanduser().resolve()
    check_place(data)
    from gralha.cli.up_secure import check_not_secured, up_secured

    if options.secure:
        return up_secured(options, data)
    check_not_secured(data)
    check_number(data, options.brokers)
    if options.brokers > 1:
        return _up_several(options, data, overrides)
    return _up_one(options, data, overrides)


def _up_one(options: argparse.Namespace, data: Path, overrides: dict[str, str]) -> int:
    if options.verbose:
        log_to_stderr()
    else:
        log_to(sys.stderr, logging.WARNING, SHORT_FORMAT)
    port = DEFAULT_PORT if options.port is None else options.port
    settings = up_settings.single(data, options.host, port)
    settings |= up_settings.metrics_listener(1, port, options.metrics_port)

    registry = _registry(options, data)

    def announce(node: "Node") -> None:
        rows = [("broker", f"{up_settings.in_address(one.host)}:{one.port}") for one in node.addresses]
        rows.append(("metrics", metrics_url(node) or ""))
        # The registry needs the broker, which must not wait for it here.
        registry.announce_later(rows[0][1], lambda more: _print_table(rows + more, data))

    try:
        return serve(
            properties_text(settings),
            "gralha up",
            announce,
            [properties_text({name: value}) for name, value in overrides.items()],
            up_settings.ADVICE,
        )
    finally:
        registry.stop()


def _registry(options: argparse.Namespace, data: Path) -> UpRegistry:
    return UpRegistry(data, options.host, options.registry_port, is_wanted=not options.no_registry)


def _up_several(options: argparse.Namespace, data: Path, overrides: dict[str, str]) -> int:
    first_port = up_settings.FIRST_PORT if options.port is None else options.port
    replication = up_settings.replication(options.brokers, earlier_settings(data))
    prepare(data, options.brokers)
    node_ids = range(1, options.brokers + 1)
    texts = [
        properties_text(
            up_settings.one_of(node_id, options.brokers, options.host, first_port, data)
            | up_settings.metrics_listener(node_id, first_port, options.metrics_port)
            | replication
            | overrides
        )
        for node_id in node_ids
    ]

    registry = _registry(options, data)

    def announce(metrics: Mapping[int, str]) -> None:
        host = (
            socket.gethostname()
            if options.host in up_settings.ANY_ADDRESS
            else up_settings.in_address(options.host)
        )
        ports = {node_id: up_settings.client_port(node_id, first_port) for node_id in node_ids}
        rows = [(f"broker {node_id}", f"{host}:{port}") for node_id, port in ports.items()]
        rows += [(f"metrics {node_id}", url) for node_id, url in metrics.items()]
        rows += registry.rows(",".join(f"{host}:{port}" for port in ports.values()))
        _print_table(rows, data)

    try:
        return run_brokers(data, texts, announce, is_verbose=options.verbose)
    finally:
        registry.stop()


def _print_table(rows: list[tuple[str, str]], data: Path) -> None:
    print("Gralha is up")
    for name, address in rows:
        print(f"  {name:<10}{address}")
    print(f"  {'data':<10}{data}")
    topics = f"{installed_command('kafka-topics')} --bootstrap-server {rows[0][1]} --list"
    print(f"Ctrl-C stops it. Try: {topics}", flush=True)
