"""`gralha server --config server.properties`: runs one node with Kafka's settings in the foreground."""

import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from gralha.cli.arguments import ProgramParser
from gralha.cli.log_lines import log_to
from gralha.cli.program import CommandError, run
from gralha.cli.text_file import read_text

if TYPE_CHECKING:
    from gralha.broker.node import Node

# In the line that says that a node is ready.
METRICS_AT: Final = "metrics at "
# The advice for a node that does not start, by the cause (`gralha.broker.start_error.StartError`).
ADVICE: Final = {
    "port": "Stop the program that uses the port, or choose another port in listeners.",
    "host": "Use an address of this machine in listeners.",
    "metrics": "Stop the program that uses the port, or choose another one in gralha.metrics.listener.",
    "folder": "Stop that one, or choose another folder in log.dirs.",
}


def main(arguments: list[str] | None = None) -> int:
    return run(_serve, arguments)


def _serve(arguments: list[str]) -> int:
    parser = ProgramParser(
        prog="gralha server",
        description="Run one node in the foreground.",
        examples=("gralha server --config server.properties --override log.dirs=/data",),
    )
    parser.add_argument(
        "--config", required=True, metavar="FILE", help="server.properties with Kafka's names"
    )
    parser.add_argument(
        "--override",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting that replaces that of the file; may be given many times",
    )
    options = parser.parse_args(arguments)
    text = read_text(options.config, "the properties file")
    log_to_stderr()
    return serve(text, options.config, announce_ready, options.override)


def log_to_stderr() -> None:
    """The log of a node that runs for long: one line for each event, with its time."""
    log_to(sys.stderr, logging.INFO)


def serve(
    text: str,
    source: str,
    announce: "Callable[[Node], None]",
    overrides: Sequence[str] = (),
    advice: Mapping[str, str] = ADVICE,
) -> int:
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
        is_for_nodes = listener.name in config.controller_listener_names
        log.warning(
            "ANYBODY who reaches %s:%s can %s: %s has no authentication",
            listener.host or "*",
            listener.port,
            "act as a node of the cluster" if is_for_nodes else "read and write everything",
            listener.name,
        )
    metrics = config.metrics_listener
    if metrics is not None and not metrics.is_loopback:
        log.warning(
            "Anybody who reaches %s:%s can read the names of topics and groups in the metrics",
            metrics.host or "*",
            metrics.port,
        )
    try:
        run_node(config, announce)
    except NodeFailedError as error:
        what_to_do = advice.get(error.setting or "")
        raise CommandError(f"{error}. {what_to_do}" if what_to_do else str(error)) from None
    return 0


def announce_ready(node: "Node") -> None:
    """Prints the line that programs wait for."""
    found = node.addresses or node.controller_addresses
    addresses = ",".join(f"{one.host or '*'}:{one.port}" for one in found)
    role = "" if node.addresses else " as a controller"
    url = metrics_url(node)
    metrics = f", {METRICS_AT}{url}" if url else ""
    print(f"ready: node {node.config.node_id} serves {addresses}{role}{metrics}", flush=True)


def metrics_url(node: "Node") -> str | None:
    """Where the node serves its metrics, if it does."""
    address = node.metrics.address
    if address is None:
        return None
    host = f"[{address.host}]" if ":" in address.host else address.host or "*"
    return f"http://{host}:{address.port}/metrics"
