"""kafka-metadata-quorum: shows the quorum and its replication, adds and removes voters (KIP-836, KIP-853)."""

import argparse
import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from gralha.cli.arguments import ProgramParser
from gralha.cli.connect import add_bootstrap_options, open_admin
from gralha.cli.json_output import add_json_option, print_json
from gralha.cli.program import CommandError, run
from gralha.cli.properties import load_properties

if TYPE_CHECKING:
    from gralha.client.admin import Admin
    from gralha.client.quorum_values import QuorumDescription, QuorumReplica

_CLIENT_ID = "kafka-metadata-quorum"
_HEADER = (
    "NodeId",
    "DirectoryId",
    "LogEndOffset",
    "Lag",
    "LastFetchTimestamp",
    "LastCaughtUpTimestamp",
    "Status",
)


_EXAMPLE = "kafka-metadata-quorum --bootstrap-server localhost:9092"


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_main, arguments)


def _parser() -> ProgramParser:
    parser = ProgramParser(
        prog="kafka-metadata-quorum",
        description="Shows the quorum of the controllers, and changes its voters.",
        examples=(f"{_EXAMPLE} describe --status",),
    )
    add_bootstrap_options(parser, required=True)
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, parser_class=ProgramParser
    )
    describe = commands.add_parser(
        "describe",
        help="show the quorum",
        examples=[f"{_EXAMPLE} describe --status", f"{_EXAMPLE} describe --replication --human-readable"],
    )
    describe.add_argument("--status", action="store_true", help="a short summary")
    describe.add_argument("--replication", action="store_true", help="offset and lag of each node")
    describe.add_argument(
        "--human-readable", action="store_true", help="with --replication: show how long ago, not timestamps"
    )
    add_json_option(describe)
    add = commands.add_parser(
        "add-controller",
        help="make the controller of --command-config a voter",
        examples=[
            (
                "kafka-metadata-quorum --bootstrap-controller localhost:9093 "
                "--command-config controller-4.properties add-controller"
            )
        ],
    )
    remove = commands.add_parser(
        "remove-controller",
        help="make a voter an observer",
        examples=[
            f"{_EXAMPLE} remove-controller --controller-id 3 --controller-directory-id 9c9PDbSxTeyEbEmUDOz4RQ"
        ],
    )
    remove.add_argument(
        "--controller-id", "-i", type=int, required=True, metavar="ID", help="the node.id of the voter"
    )
    remove.add_argument(
        "--controller-directory-id",
        "-d",
        required=True,
        metavar="UUID",
        help="its directory.id, as describe --replication shows it",
    )
    for command in (add, remove):
        command.add_argument("--dry-run", action="store_true", help="only say what would be done")
    return parser


def _main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    if options.command == "describe":
        _describe(options)
    elif options.command == "add-controller":
        _add_controller(options)
    else:
        _remove_controller(options)
    return 0


# --- describe -----------------------------------------------------------------------------------------


def _describe(options: argparse.Namespace) -> None:
    if options.status and options.replication:
        raise CommandError(
            "Only one of --status or --replication should be specified with describe sub-command"
        )
    if not options.status and not options.replication and not options.json:
        raise CommandError("One of --status or --replication must be specified with describe sub-command")
    if options.status and options.human_readable:
        raise CommandError("The option --human-readable is only supported along with --replication")
    with open_admin(options, _CLIENT_ID) as admin:
        if options.json:
            print_json(**quorum_json(admin.describe_cluster().cluster_id, admin.describe_quorum()))
        elif options.replication:
            print(replication_table(admin.describe_quorum(), human_readable=options.human_readable))
        else:
            print(status_text(admin.describe_cluster().cluster_id, admin.describe_quorum()))


def status_text(cluster_id: str, quorum: "QuorumDescription") -> str:
    """The summary of --status."""
    leader = _leader(quorum)
    slowest = min(quorum.voters, key=lambda voter: voter.log_end_offset)
    if slowest is leader:
        lag_ms = 0
    elif leader.last_caught_up_ms is None or slowest.last_caught_up_ms is None:
        lag_ms = -1
    else:
        lag_ms = leader.last_caught_up_ms - slowest.last_caught_up_ms
    values = {
        "ClusterId": cluster_id,
        "LeaderId": quorum.leader_id,
        "LeaderEpoch": quorum.leader_epoch,
        "HighWatermark": quorum.high_watermark,
        "MaxFollowerLag": leader.log_end_offset - slowest.log_end_offset,
        "MaxFollowerLagTimeMs": lag_ms,
        "CurrentVoters": _nodes_text(quorum, quorum.voters),
        "CurrentObservers": _nodes_text(quorum, quorum.observers),
    }
    return "\n".join(f"{name + ':':<24}{value}" for name, value in values.items())


def quorum_json(cluster_id: str, quorum: "QuorumDescription") -> dict[str, object]:
    """The whole quorum: what --status and --replication show."""
    from gralha.protocol.primitives import uuid_to_string

    leader = _leader(quorum)

    def replica_json(replica: "QuorumReplica") -> dict[str, object]:
        return {
            "nodeId": replica.id,
            "directoryId": uuid_to_string(replica.directory_id),
            "endpoints": [str(endpoint) for endpoint in quorum.endpoints.get(replica.id, [])],
            "logEndOffset": replica.log_end_offset,
            "lag": leader.log_end_offset - replica.log_end_offset,
            "lastFetchTimestamp": replica.last_fetch_ms,
            "lastCaughtUpTimestamp": replica.last_caught_up_ms,
        }

    return {
        "clusterId": cluster_id,
        "leaderId": quorum.leader_id,
        "leaderEpoch": quorum.leader_epoch,
        "highWatermark": quorum.high_watermark,
        "voters": [replica_json(voter) for voter in quorum.voters],
        "observers": [replica_json(observer) for observer in quorum.observers],
    }


def _leader(quorum: "QuorumDescription") -> "QuorumReplica":
    for voter in quorum.voters:
        if voter.id == quorum.leader_id:
            return voter
    raise CommandError(f"The leader of the quorum, node {quorum.leader_id}, is not among its voters")


def _nodes_text(quorum: "QuorumDescription", replicas: "Iterable[QuorumReplica]") -> str:
    from gralha.protocol.primitives import ZERO_UUID, uuid_to_string

    nodes = []
    for replica in replicas:
        fields = [f'"id": {replica.id}']
        if replica.directory_id != ZERO_UUID:
            fields.append(f'"directoryId": "{uuid_to_string(replica.directory_id)}"')
        endpoints = ", ".join(f'"{endpoint}"' for endpoint in quorum.endpoints.get(replica.id, []))
        if endpoints:
            fields.append(f'"endpoints": [{endpoints}]')
        nodes.append(f"{{{', '.join(fields)}}}")
    return f"[{', '.join(nodes)}]"


def replication_table(
    quorum: "QuorumDescription",
    *,
    human_readable: bool,
    clock: Callable[[], float] = time.time,
) -> str:
    """The table of --replication: leader, followers, observers."""
    from gralha.protocol.primitives import uuid_to_string

    leader = _leader(quorum)
    now_ms = int(clock() * 1000)
    replicas = [(leader, "Leader")]
    replicas += [(voter, "Follower") for voter in quorum.voters if voter is not leader]
    replicas += [(observer, "Observer") for observer in quorum.observers]
    rows = [_HEADER]
    for replica, status in replicas:
        fetched, caught_up = (
            _time_text(time_ms, now_ms, what) if human_readable else str(-1 if time_ms is None else time_ms)
            for time_ms, what in (
                (replica.last_fetch_ms, "last fetch"),
                (replica.last_caught_up_ms, "last caught up"),
            )
        )
        offset = replica.log_end_offset
        lag = leader.log_end_offset - offset
        directory = uuid_to_string(replica.directory_id)
        rows.append((str(replica.id), directory, str(offset), str(lag), fetched, caught_up, status))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "".join(f"{text:<{width}}\t" for text, width in zip(row, widths, strict=True)) for row in rows
    )


def _time_text(time_ms: int | None, now_ms: int, what: str) -> str:
    if time_ms is None:
        return "-1"
    if not 0 < time_ms <= now_ms:
        raise CommandError(
            "Error while computing relative time, possible drift in system clock. "
            f"Current timestamp is {now_ms}, {what} timestamp is {time_ms}"
        )
    return f"{now_ms - time_ms} ms ago"


# --- voters -------------------------------------------------------------------------------------------


def _add_controller(options: argparse.Namespace) -> None:
    from gralha.cli.controller_file import ControllerFile
    from gralha.protocol.primitives import uuid_to_string

    if options.command_config is None:
        raise CommandError(
            "You must supply the configuration file of the controller you are adding when using "
            "add-controller."
        )
    controller = ControllerFile(load_properties(options.command_config))
    directory_id = _directory_id(controller.metadata_directory)
    if not options.dry_run:
        _changed(options, lambda admin: admin.add_voter(controller.id, directory_id, controller.endpoints))
    print(
        f"{'DRY RUN of adding' if options.dry_run else 'Added'} controller {controller.id} with directory id "
        f"{uuid_to_string(directory_id)} and endpoints: {', '.join(map(str, controller.endpoints))}"
    )


def _directory_id(folder: str) -> bytes:
    from gralha.protocol.primitives import uuid_from_string

    path = os.path.join(folder, "meta.properties")
    if not os.path.exists(path):
        raise CommandError(f"Unable to read meta.properties from {folder}")
    directory_id = load_properties(path).get("directory.id")
    if directory_id is None:
        raise CommandError(f"No directory id found in {folder}")
    try:
        return uuid_from_string(directory_id)
    except ValueError as error:
        raise CommandError(f"Wrong directory.id in {path}: {error}") from None


def _remove_controller(options: argparse.Namespace) -> None:
    from gralha.protocol.primitives import uuid_from_string, uuid_to_string

    voter = options.controller_id
    if voter < 0:
        raise CommandError(f"Invalid negative --controller-id: {voter}")
    try:
        directory_id = uuid_from_string(options.controller_directory_id)
    except ValueError as error:
        raise CommandError(f"Failed to parse --controller-directory-id: {error}") from None
    if not options.dry_run:
        _changed(options, lambda admin: admin.remove_voter(voter, directory_id))
    # Two blanks, as Kafka prints.
    print(
        f"{'DRY RUN of removing' if options.dry_run else 'Removed'}  KRaft controller {voter} "
        f"with directory id {uuid_to_string(directory_id)}"
    )


def _changed(options: argparse.Namespace, change: "Callable[[Admin], None]") -> None:
    with open_admin(options, _CLIENT_ID) as admin:
        change(admin)
