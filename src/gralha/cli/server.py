"""`gralha server --config server.properties`: runs one node with Kafka's settings in the foreground."""

import logging
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gralha.cli.arguments import ProgramParser
from gralha.cli.program import CommandError, run
from gralha.cli.text_file import read_text

if TYPE_CHECKING:
    from gralha.broker.node import Node


def main(arguments: list[str] | None = None) -> int:
    return run(_serve, arguments)


def _serve(arguments: list[str]) -> int:
    parser = ProgramParser(prog="gralha server", description="Run one node in the foreground.")
    parser.add_argument(
        "--config", required=True, metavar="FILE", help="server.properties with Kafka's names"
    )
    parser.add_argument(
        "--override", action="append", default=[], metavar="NAME=VALUE", help="overrides a line of the file"
    )
    options = parser.parse_args(arguments)
    text = read_text(options.config, "the properties file")
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO, stream=sys.stderr)
    return serve(text, options.config, _announce, options.override)


def serve(text: str, source: str, announce: "Callable[[Node], None]", overrides: Sequence[str] = ()) -> int:
    """Checks the settings, runs the node and returns the exit code."""
    from gralha.broker.config import ConfigFileError, NodeConfig
    from gralha.broker.run import NodeFailedError, hostname, run_node

    log = logging.getLogger("gralha")
    try:
        config, warnings = NodeConfig.parse(text, source, hostname, overrides)
    except ConfigFileError as error:
        print(error, file=sys.stderr)
        return 1
    for warning in warnings:
        log.warning("%s", warning)
    for listener in config.open_listeners:
        log.warning(
            "ANYBODY who reaches %s:%s can read and write everything: %s has no authentication",
            listener.host or "*",
            listener.port,
            listener.name,
        )
    try:
        run_node(config, announce)
    except NodeFailedError as error:
        raise CommandError(str(error)) from None
    return 0


def _announce(node: "Node") -> None:
    found = node.addresses or node.controller_addresses
    addresses = ",".join(f"{one.host or '*'}:{one.port}" for one in found)
    role = "" if node.addresses else " as a controller"
    print(f"ready: node {node.config.node_id} serves {addresses}{role}", flush=True)
