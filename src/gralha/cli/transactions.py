"""kafka-transactions: shows transactions and producers, and ends transactions (KIP-664, KIP-1222).

Each command of the program returns its rows, which are printed as Kafka's table or as JSON.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gralha import __version__
from gralha.cli.arguments import ProgramParser
from gralha.cli.connect import open_admin
from gralha.cli.json_output import add_json_option, print_json
from gralha.cli.program import CommandError, run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gralha.client.admin import Admin
    from gralha.client.transaction_values import ProducerState, TransactionToAbort
    from gralha.client.values import TopicPartition

_CLIENT_ID = "kafka-transactions"
_INT16_MAX, _INT32_MAX, _INT64_MAX = 2**15 - 1, 2**31 - 1, 2**63 - 1
_MINUTE_MS = 60_000
# Kafka's name of the command, and one that is spelled like the others.
_TERMINATE = ("forceTerminateTransaction", "force-terminate")

_EXAMPLE = "kafka-transactions --bootstrap-server localhost:9092"

LIST_COLUMNS = ("TransactionalId", "Coordinator", "ProducerId", "TransactionState")
DESCRIBE_COLUMNS = (
    "CoordinatorId",
    "TransactionalId",
    "ProducerId",
    "ProducerEpoch",
    "TransactionState",
    "TransactionTimeoutMs",
    "CurrentTransactionStartTimeMs",
    "TransactionDurationMs",
    "TopicPartitions",
)
PRODUCER_COLUMNS = (
    "ProducerId",
    "ProducerEpoch",
    "LatestCoordinatorEpoch",
    "LastSequence",
    "LastTimestamp",
    "CurrentTransactionStartOffset",
)
HANGING_COLUMNS = (
    "Topic",
    "Partition",
    "ProducerId",
    "ProducerEpoch",
    "CoordinatorEpoch",
    "StartOffset",
    "LastTimestamp",
    "Duration(min)",
)


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_main, arguments)


def _main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    _COMMANDS[options.command](options)
    return 0


# --- options --------------------------------------------------------------------------------------------


def _parser() -> ProgramParser:
    parser = ProgramParser(
        prog="kafka-transactions",
        description="Shows the transactions of a cluster. Finds transactions that hang, and ends them.",
        examples=(
            f"{_EXAMPLE} list",
            f"{_EXAMPLE} describe --transactional-id payments-1",
            f"{_EXAMPLE} find-hanging --topic orders",
            f"{_EXAMPLE} abort --topic orders --partition 0 --start-offset 42",
        ),
    )
    parser.add_argument(
        "-v",
        "--version",
        action="version",
        version=f"{__version__} (Gralha)",
        help="show the version and exit",
    )
    parser.add_argument("--command-config", metavar="FILE", help="a file with properties of the admin client")
    parser.add_argument(
        "--bootstrap-server", required=True, metavar="HOST:PORT,...", help="the brokers to connect to"
    )
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, parser_class=ProgramParser
    )
    _add_queries(commands)
    _add_changes(commands)
    return parser


def _add_queries(commands: "argparse._SubParsersAction[ProgramParser]") -> None:
    listing = commands.add_parser(
        "list",
        help="list transactional ids",
        examples=[f"{_EXAMPLE} list", f"{_EXAMPLE} list --duration-filter 60000"],
    )
    listing.add_argument(
        "--duration-filter",
        type=_number(-_INT64_MAX, _INT64_MAX),
        metavar="MS",
        help="only transactions that run for longer (default: all)",
    )
    listing.add_argument(
        "--transactional-id-pattern",
        metavar="REGEX",
        help="only ids that match this regular expression as a whole",
    )
    describe = commands.add_parser(
        "describe",
        help="show the transaction of a transactional id",
        examples=[f"{_EXAMPLE} describe --transactional-id payments-1"],
    )
    describe.add_argument(
        "--transactional-id",
        required=True,
        metavar="ID",
        help="the transactional.id of a producer, as `list` shows it",
    )
    producers = commands.add_parser(
        "describe-producers",
        help="show the producers that a partition remembers",
        examples=[f"{_EXAMPLE} describe-producers --topic orders --partition 0"],
    )
    producers.add_argument(
        "--broker-id",
        type=_number(0, _INT32_MAX),
        metavar="ID",
        help="ask this replica (default: the leader)",
    )
    _add_partition(producers)
    find = commands.add_parser(
        "find-hanging",
        help="find open transactions that no coordinator knows: they hang until you abort them",
        examples=[f"{_EXAMPLE} find-hanging --topic orders", f"{_EXAMPLE} find-hanging --broker-id 1"],
    )
    find.add_argument(
        "--broker-id", type=_number(0, _INT32_MAX), metavar="ID", help="search the replicas of this broker"
    )
    find.add_argument(
        "--max-transaction-timeout",
        type=_number(0, _INT32_MAX),
        default=15,
        metavar="MINUTES",
        help="only transactions in which nothing was written for this long (default: 15)",
    )
    find.add_argument("--topic", metavar="TOPIC", help="search this topic (needed for --partition)")
    find.add_argument("--partition", type=_number(0, _INT32_MAX), metavar="N", help="search this partition")
    for command in (listing, describe, producers, find):
        add_json_option(command)


def _add_changes(commands: "argparse._SubParsersAction[ProgramParser]") -> None:
    abort = commands.add_parser(
        "abort",
        help="end a transaction that hangs in a partition",
        examples=[f"{_EXAMPLE} abort --topic orders --partition 0 --start-offset 42"],
    )
    _add_partition(abort)
    by_offset = abort.add_argument_group("for brokers of Kafka 3.0 and later")
    by_offset.add_argument(
        "--start-offset", type=_number(0, _INT64_MAX), metavar="OFFSET", help="where the transaction begins"
    )
    by_producer = abort.add_argument_group("for older brokers, all of these")
    for name, highest, metavar in (
        ("--producer-id", _INT64_MAX, "ID"),
        ("--producer-epoch", _INT16_MAX, "EPOCH"),
        ("--coordinator-epoch", _INT32_MAX, "EPOCH"),
    ):
        by_producer.add_argument(
            name, type=_number(-1, highest), metavar=metavar, help="as describe-producers shows it"
        )
    terminate = commands.add_parser(
        _TERMINATE[0],
        aliases=_TERMINATE[1:],
        help="abort the transaction of a transactional id, and fence its producer",
        examples=[f"{_EXAMPLE} {_TERMINATE[1]} --transactional-id payments-1"],
    )
    terminate.add_argument(
        "--transactionalId",
        "--transactional-id",
        dest="transactional_id",
        required=True,
        metavar="ID",
        help="the transactional.id of the producer",
    )


def _add_partition(command: ProgramParser) -> None:
    command.add_argument("--topic", required=True, metavar="TOPIC", help="the topic of the partition")
    command.add_argument(
        "--partition", type=_number(0, _INT32_MAX), required=True, metavar="N", help="the partition"
    )


def _number(lowest: int, highest: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"'{text}' is not a whole number") from None
        if not lowest <= value <= highest:
            raise argparse.ArgumentTypeError(f"{text} is not between {lowest} and {highest}")
        return value

    return number


# --- list and describe ----------------------------------------------------------------------------------


def _list(options: argparse.Namespace) -> None:
    duration_ms = -1 if options.duration_filter is None else options.duration_filter
    with _explained("Failed to list transactions"), _admin(options) as admin:
        answers = admin.list_transactions(duration_ms=duration_ms, pattern=options.transactional_id_pattern)
    rows = [
        (one.transactional_id, broker, one.producer_id, one.state)
        for broker, listings in answers.items()
        for one in listings
    ]
    _show(options, "transactions", LIST_COLUMNS, rows)


def _describe(options: argparse.Namespace) -> None:
    from gralha.protocol.errors import KafkaError

    name = options.transactional_id
    with _explained(f"Failed to describe transaction state of transactional-id `{name}`"):
        with _admin(options) as admin:
            answer = admin.describe_transactions([name])[name]
        if isinstance(answer, KafkaError):
            raise answer
    start_ms = answer.start_time_ms
    row = (
        answer.coordinator_id,
        answer.transactional_id,
        answer.producer_id,
        answer.producer_epoch,
        answer.state,
        answer.timeout_ms,
        start_ms,
        None if start_ms is None else _now_ms() - start_ms,
        answer.partitions,
    )
    _show(options, "transactions", DESCRIBE_COLUMNS, [row])


def _describe_producers(options: argparse.Namespace) -> None:
    broker = options.broker_id
    where = "leader" if broker is None else f"broker {broker}"
    partition = _partition(options)
    with (
        _explained(f"Failed to describe producers for partition {partition} on {where}"),
        _admin(options) as admin,
    ):
        producers = _producers(admin, partition, broker)
    rows = [
        (
            one.producer_id,
            one.producer_epoch,
            one.coordinator_epoch,
            one.last_sequence,
            one.last_timestamp_ms,
            one.transaction_start_offset,
        )
        for one in producers
    ]
    _show(options, "producers", PRODUCER_COLUMNS, rows)


def _find_hanging(options: argparse.Namespace) -> None:
    from gralha.cli.hanging_transactions import find_hanging

    if options.topic is None and options.broker_id is None:
        raise CommandError(
            "The `find-hanging` command requires either --topic or --broker-id to limit the scope of the "
            "search"
        )
    if options.topic is None and options.partition is not None:
        raise CommandError("The --partition argument requires --topic to be provided")
    now_ms = _now_ms()
    with _admin(options) as admin:
        found = find_hanging(
            admin,
            topic=options.topic,
            partition=options.partition,
            broker_id=options.broker_id,
            longest_ms=options.max_transaction_timeout * _MINUTE_MS,
            now_ms=now_ms,
        )
    rows = [
        (
            one.partition.topic,
            one.partition.partition,
            one.producer.producer_id,
            one.producer.producer_epoch,
            one.producer.coordinator_epoch,
            one.producer.transaction_start_offset,
            one.producer.last_timestamp_ms,
            (now_ms - one.producer.last_timestamp_ms) // _MINUTE_MS,
        )
        for one in found
    ]
    _show(options, "hangingTransactions", HANGING_COLUMNS, rows)


# --- changes --------------------------------------------------------------------------------------------


def _abort(options: argparse.Namespace) -> None:
    _check_identified(options)
    with _admin(options) as admin:
        transaction = _to_abort(admin, options)
        with _explained(f"Failed to abort transaction {transaction}"):
            admin.abort_transaction(transaction)


def _check_identified(options: argparse.Namespace) -> None:
    if options.start_offset is not None:
        return
    if options.producer_id is None:
        raise CommandError(
            "The transaction to abort must be identified either with --start-offset (for brokers on 3.0 or "
            "above) or with --producer-id, --producer-epoch, and --coordinator-epoch (for older brokers)"
        )
    for name in ("producer-epoch", "coordinator-epoch"):
        if getattr(options, name.replace("-", "_")) is None:
            raise CommandError(f"Missing required argument --{name}")


def _to_abort(admin: "Admin", options: argparse.Namespace) -> "TransactionToAbort":
    from gralha.client.transaction_values import FIRST_COORDINATOR_EPOCH, TransactionToAbort

    partition, start_offset = _partition(options), options.start_offset
    if start_offset is None:
        # -1 is what describe-producers shows before the first marker of a producer.
        epoch = max(options.coordinator_epoch, FIRST_COORDINATOR_EPOCH)
        return TransactionToAbort(partition, options.producer_id, options.producer_epoch, epoch)
    with _explained(f"Failed to validate producer state for partition {partition}"):
        producers = _producers(admin, partition)
    for producer in producers:
        if producer.transaction_start_offset == start_offset:
            epoch = producer.coordinator_epoch or FIRST_COORDINATOR_EPOCH
            return TransactionToAbort(partition, producer.producer_id, producer.producer_epoch, epoch)
    raise CommandError(
        f"Could not find any open transactions starting at offset {start_offset} on partition {partition}"
    )


def _terminate(options: argparse.Namespace) -> None:
    """Does nothing but warn if there is no such id. Kafka's command would create the id."""
    from gralha.cli.colour import yellow
    from gralha.protocol.errors import ErrorCode, KafkaError

    name = options.transactional_id
    with _explained(f"Failed to force terminate transactionalId `{name}`"), _admin(options) as admin:
        answer = admin.describe_transactions([name])[name]
        if isinstance(answer, KafkaError) and answer.code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            warning = f"WARN There is no transactional id `{name}`, so there is no transaction to end."
            print(yellow(warning, sys.stderr), file=sys.stderr)
            return
        admin.fence_producer(name)


# --- what they share ------------------------------------------------------------------------------------


def _admin(options: argparse.Namespace) -> "Admin":
    return open_admin(options, _CLIENT_ID)


def _partition(options: argparse.Namespace) -> "TopicPartition":
    from gralha.client.values import TopicPartition

    return TopicPartition(options.topic, options.partition)


def _producers(
    admin: "Admin", partition: "TopicPartition", broker_id: int | None = None
) -> "list[ProducerState]":
    from gralha.protocol.errors import KafkaError

    answer = admin.describe_producers([partition], broker_id=broker_id)[partition]
    if isinstance(answer, KafkaError):
        raise answer
    return answer


@contextmanager
def _explained(failure: str) -> "Iterator[None]":
    """Puts what failed before the reason that the cluster gives."""
    try:
        yield
    except Exception as error:
        from gralha.client.errors import ClientError, KafkaError

        if isinstance(error, ClientError | KafkaError):
            raise CommandError(f"{failure}: {error}") from None
        raise


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _show(
    options: argparse.Namespace, name: str, columns: Sequence[str], rows: Sequence[Sequence[object]]
) -> None:
    """Prints rows as a table, or as JSON with the columns as names."""
    if options.json:
        names = [json_name(column) for column in columns]
        print_json(
            **{name: [dict(zip(names, map(_json_value, row), strict=True)) for row in rows]},
        )
    else:
        texts = [tuple(map(_text, columns, row)) for row in rows]
        print(table(columns, texts), end="")


def json_name(column: str) -> str:
    """The field of a column in JSON."""
    name = column.replace("Duration(min)", "durationMinutes")
    return name[0].lower() + name[1:]


def _json_value(value: object) -> object:
    return [one._asdict() for one in value] if isinstance(value, list) else value


def _text(column: str, value: object) -> str:
    """A value in a table. A list has partitions. A coordinator's epoch that is not known is -1."""
    if isinstance(value, list):
        return ",".join(map(str, value))
    if value is None and column.endswith("CoordinatorEpoch"):
        return "-1"
    return str(value)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as Kafka prints it: padded columns, each with a tab behind it."""
    lines = [columns, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(
        "".join(f"{text:<{width}}\t" for text, width in zip(line, widths, strict=True)) + "\n"
        for line in lines
    )


_COMMANDS: dict[str, Callable[[argparse.Namespace], None]] = {
    "list": _list,
    "describe": _describe,
    "describe-producers": _describe_producers,
    "find-hanging": _find_hanging,
    "abort": _abort,
    **dict.fromkeys(_TERMINATE, _terminate),
}
