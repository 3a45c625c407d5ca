"""`gralha up`: runs the platform on this machine, without a configuration file."""

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gralha.cli.arguments import ProgramParser, port_number
from gralha.cli.installed import installed_command
from gralha.cli.program import CommandError, run
from gralha.cli.server import serve
from gralha.cli.up_brokers import (
    FIRST_PORT,
    MAX_BROKERS,
    client_port,
    properties,
    run_brokers,
)
from gralha.cli.up_folders import check_number, default_data_folder, folder_for, prepare

if TYPE_CHECKING:
    from gralha.broker.node import Node

DEFAULT_PORT = 9092


def main(arguments: list[str] | None = None) -> int:
    return run(_up, arguments)


def _up(arguments: list[str]) -> int:
    parser = ProgramParser(prog="gralha up", description="Run the platform on this machine.")
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help=f"data folder (default {default_data_folder()}, or its subfolder N-brokers for N brokers)",
    )
    parser.add_argument(
        "--port",
        type=port_number,
        metavar="P",
        help=f"port for clients (default {DEFAULT_PORT}, or {FIRST_PORT} for the first of several brokers)",
    )
    parser.add_argument(
        "--brokers",
        type=int,
        default=1,
        choices=range(1, MAX_BROKERS + 1),
        metavar="N",
        help=f"number of brokers, up to {MAX_BROKERS} (default 1); three use {FIRST_PORT}, 29092 and 39092",
    )
    options = parser.parse_args(arguments)
    data = (options.data or folder_for(options.brokers)).expanduser().resolve()
    logging.basicConfig(format="%(levelname)s %(message)s", level=logging.WARNING, stream=sys.stderr)

    if "," in str(data):
        raise CommandError(f"{data} cannot be used: log.dirs treats the comma in it as a separator")
    check_number(data, options.brokers)
    if options.brokers > 1:
        return _up_several(data, options.brokers, FIRST_PORT if options.port is None else options.port)

    def announce(node: "Node") -> None:
        _print_table([("broker", address) for address in _addresses(node)], data)

    return serve(
        _text(_properties(data, DEFAULT_PORT if options.port is None else options.port)),
        "gralha up",
        announce,
    )


def _up_several(data: Path, brokers: int, first_port: int) -> int:
    prepare(data, brokers)
    node_ids = range(1, brokers + 1)
    texts = [_text(properties(node_id, brokers, first_port, data)) for node_id in node_ids]

    def announce() -> None:
        rows = [
            (f"broker {node_id}", f"localhost:{client_port(node_id, first_port)}") for node_id in node_ids
        ]
        _print_table(rows, data)

    return run_brokers(data, texts, announce)


def _properties(data: Path, port: int) -> dict[str, str]:
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": f"PLAINTEXT://localhost:{port}",
        "log.dirs": str(data / "broker-1"),
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        # As in Kafka's own sample: a person who tries things out does not want to wait for more group
        # members.
        "group.initial.rebalance.delay.ms": "0",
    }


def _text(settings: dict[str, str]) -> str:
    return "".join(f"{name}={_escaped(value)}\n" for name, value in settings.items())


def _escaped(value: str) -> str:
    """A value for a properties file, in which the backslash is the escape character."""
    return value.replace("\\", "\\\\")


def _addresses(node: "Node") -> list[str]:
    return [f"{one.host}:{one.port}" for one in node.addresses]


def _print_table(rows: list[tuple[str, str]], data: Path) -> None:
    print("Gralha is up")
    for name, address in rows:
        print(f"  {name:<10}{address}")
    print(f"  {'data':<10}{data}")
    topics = f"{installed_command('kafka-topics')} --bootstrap-server {rows[0][1]} --list"
    print(f"Ctrl-C stops it. Try: {topics}", flush=True)
