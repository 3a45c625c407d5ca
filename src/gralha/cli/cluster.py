"""kafka-cluster: shows the id of a cluster and its brokers or controllers, and unregisters a broker."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gralha.cli.arguments import ProgramParser
from gralha.cli.connect import open_admin
from gralha.cli.json_output import add_json_option, print_json
from gralha.cli.program import CommandError, run

if TYPE_CHECKING:
    from gralha.client.values import ClusterNode

_CLIENT_ID = "kafka-cluster"


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_main, arguments)


def _parser() -> ProgramParser:
    parser = ProgramParser(
        prog="kafka-cluster",
        description="Shows the id and the nodes of a cluster, and unregisters brokers.",
        examples=("kafka-cluster cluster-id --bootstrap-server localhost:9092",),
    )
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, parser_class=ProgramParser
    )
    cluster_id = commands.add_parser(
        "cluster-id",
        help="show the id of a cluster",
        examples=["kafka-cluster cluster-id --bootstrap-server localhost:9092"],
    )
    unregister = commands.add_parser(
        "unregister",
        help="unregister a broker that does not come back",
        examples=["kafka-cluster unregister --bootstrap-server localhost:9092 --id 3"],
    )
    endpoints = commands.add_parser(
        "list-endpoints",
        help="show the addresses of brokers or controllers",
        examples=["kafka-cluster list-endpoints --bootstrap-server localhost:9092"],
    )
    for command in (cluster_id, unregister, endpoints):
        servers = command.add_mutually_exclusive_group(required=True)
        servers.add_argument("--bootstrap-server", "-b", metavar="HOST:PORT,...", help="brokers")
        servers.add_argument("--bootstrap-controller", "-C", metavar="HOST:PORT,...", help="controllers")
        command.add_argument("--config", metavar="FILE", help="old name of --command-config")
        command.add_argument(
            "--command-config", "-c", metavar="FILE", help="a file with properties of the admin client"
        )
    for command in (cluster_id, endpoints):
        add_json_option(command)
    unregister.add_argument("--id", "-i", type=int, required=True, metavar="ID", help="the broker")
    endpoints.add_argument("--include-fenced-brokers", action="store_true", help="show fenced brokers too")
    return parser


def _main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    if options.config is not None:
        if options.command_config is not None:
            raise CommandError("--config and --command-config cannot be specified together.")
        print(
            "Option --config has been deprecated and will be removed in a future version. "
            "Use --command-config instead."
        )
        options.command_config = options.config
    if options.command == "cluster-id":
        with open_admin(options, _CLIENT_ID) as admin:
            found = admin.describe_cluster().cluster_id
        if options.json:
            print_json(clusterId=found)
        else:
            print(f"Cluster ID: {found}")
    elif options.command == "unregister":
        _unregister(options)
    else:
        _list_endpoints(options)
    return 0


def _unregister(options: argparse.Namespace) -> None:
    from gralha.client.errors import UnsupportedApiError

    with open_admin(options, _CLIENT_ID) as admin:
        try:
            admin.unregister_broker(options.id)
        except UnsupportedApiError:
            print("The target cluster does not support the broker unregistration API.")
        else:
            print(f"Broker {options.id} is no longer registered.")


def _list_endpoints(options: argparse.Namespace) -> None:
    of_controllers = options.bootstrap_controller is not None
    if of_controllers and options.include_fenced_brokers:
        raise CommandError(
            "The option --include-fenced-brokers is only supported with --bootstrap-server option"
        )
    with open_admin(options, _CLIENT_ID) as admin:
        nodes = admin.describe_cluster(include_fenced=options.include_fenced_brokers).nodes
    if options.json:
        print_json(
            endpoints=[
                {
                    "id": node.id,
                    "host": node.host,
                    "port": node.port,
                    "rack": node.rack,
                    "isFenced": node.is_fenced,
                    "type": "controller" if of_controllers else "broker",
                }
                for node in nodes
            ]
        )
        return
    print(endpoints_table(nodes, of_controllers=of_controllers))


def endpoints_table(nodes: "Sequence[ClusterNode]", *, of_controllers: bool) -> str:
    """The table of list-endpoints."""
    host_width = max((len(node.host) for node in nodes), default=100)
    rack_width = max((len(node.rack) for node in nodes if node.rack), default=10)
    rows = [("ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE")]
    for node in nodes:
        state = "fenced" if node.is_fenced else "unfenced"
        kind = "controller" if of_controllers else "broker"
        rows.append((str(node.id), node.host, str(node.port), node.rack or "null", state, kind))
    widths = (10, host_width, 10, rack_width, 10, 15)
    shown = [column for column in range(6) if not (of_controllers and rows[0][column] == "STATE")]
    return "\n".join(" ".join(row[column].ljust(widths[column]) for column in shown) for row in rows)
