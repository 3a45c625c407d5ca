"""kafka-verifiable-consumer: reads a topic in a group and prints a JSON event for all that happens.

The events tell which records were read, which offsets were committed, and which partitions the member got
and lost. Options and events are those of Apache Kafka's command.
"""

import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from gralha.cli.arguments import ProgramParser
from gralha.cli.program import CommandError, run
from gralha.cli.properties import load_properties
from gralha.cli.verifiable_events import StopSignal, announce, choose_config

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

# A signal waits at most this long.
_POLL_SECONDS: Final = 0.1
# Kafka's max.poll.records.
_BATCH_SIZE: Final = 500
_PROTOCOLS: Final = ("classic", "consumer")


def _parser() -> ProgramParser:
    parser = ProgramParser(
        prog="kafka-verifiable-consumer",
        description="Reads a topic in a group. It prints a JSON event for each rebalance, batch of records "
        "and commit of offsets.",
        examples=[
            "kafka-verifiable-consumer --bootstrap-server localhost:9092 --topic orders --group-id readers",
        ],
    )
    add = parser.add_argument
    add("--bootstrap-server", required=True, metavar="HOST:PORT,...", help="the brokers to connect to")
    add("--topic", required=True, metavar="TOPIC", help="the topic to read")
    add("--group-id", required=True, metavar="GROUP", help="the group to join")
    add("--group-protocol", type=str.lower, default="classic", choices=_PROTOCOLS, help="default: classic")
    add("--group-remote-assignor", metavar="NAME", help="assignor on the broker, with the consumer protocol")
    add("--group-instance-id", metavar="ID", help="makes this a static member")
    add(
        "--max-messages",
        type=int,
        default=-1,
        metavar="N",
        help="stop after this many records; -1: never (default)",
    )
    add("--session-timeout", type=int, metavar="MS", help="session timeout, with the classic protocol")
    add("--verbose", action="store_true", help="print an event for each record, too")
    add("--enable-autocommit", action="store_true", help="let the consumer commit in the background")
    add("--reset-policy", default="earliest", metavar="POLICY", help="earliest (default), latest or none")
    add(
        "--assignment-strategy",
        default="org.apache.kafka.clients.consumer.RangeAssignor",
        metavar="CLASS",
        help="assignor of the classic protocol, by its Java name (default: RangeAssignor)",
    )
    configs = parser.add_mutually_exclusive_group()
    configs.add_argument("--command-config", metavar="FILE", help="a file with properties of the consumer")
    configs.add_argument(
        "--consumer.config", metavar="FILE", dest="old_config", help="old name of --command-config"
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_main, arguments)


def _main(arguments: list[str]) -> int:
    parser = _parser()
    if not arguments:
        parser.print_help()
        return 0
    options = parser.parse_args(arguments)
    properties = consumer_properties(options)
    from gralha.cli.connect import check_coordinators
    from gralha.cli.consumption import new_consumer

    stop = StopSignal()
    check_coordinators(properties)
    VerifiableConsumer(new_consumer(properties), options, stop).run()
    return stop.exit_code


def consumer_properties(options: Namespace) -> dict[str, str]:
    """The consumer's properties with Kafka's names. As in Kafka, the options override the file."""
    path = choose_config(options.command_config, options.old_config, "--consumer.config")
    properties = load_properties(path) if path is not None else {}
    classic = options.group_protocol == "classic"
    given = {
        "bootstrap.servers": options.bootstrap_server,
        "group.id": options.group_id,
        "group.protocol": options.group_protocol,
        "group.remote.assignor": None if classic else options.group_remote_assignor,
        "partition.assignment.strategy": options.assignment_strategy if classic else None,
        "group.instance.id": options.group_instance_id,
        "session.timeout.ms": options.session_timeout,
        "enable.auto.commit": str(options.enable_autocommit).lower(),
        "auto.offset.reset": options.reset_policy,
    }
    return properties | {name: str(value) for name, value in given.items() if value is not None}


class VerifiableConsumer:
    """One run: it reads and commits, and announces what it does."""

    def __init__(self, consumer: "Consumer", options: Namespace, stop: StopSignal) -> None:
        self._consumer = consumer
        self._options = options
        self._stop = stop
        self._consumed = 0

    def run(self) -> None:
        """Reads until there are enough records or a signal comes.

        An error ends it, too. It is printed, and the exit code is still zero, as in Kafka. Kafka's command
        announces the request for its end after the end, unless a signal was that request.
        """
        from confluent_kafka import KafkaException

        try:
            announce("startup_complete")
            try:
                self._read()
            except KafkaException as error:
                _report(error.args[0])
            except CommandError as error:
                print(error, file=sys.stderr)
        finally:
            stopped = bool(self._stop)
            if stopped:
                announce("shutdown_requested")
            self._consumer.close()
            announce("shutdown_complete")
            if not stopped:
                announce("shutdown_requested")

    @property
    def _finished(self) -> bool:
        return bool(0 <= self._options.max_messages <= self._consumed)

    def _read(self) -> None:
        from gralha.cli.librdkafka import served

        self._consumer.subscribe([self._options.topic], on_assign=_assigned, on_revoke=_revoked)
        while not self._stop and not self._finished:
            first = served(self._consumer.poll, _POLL_SECONDS)
            if first is None:
                continue
            messages = [first, *served(self._consumer.consume, _BATCH_SIZE - 1, 0)]
            offsets = self._announce_records([message for message in messages if _is_record(message)])
            if offsets and not self._options.enable_autocommit:
                self._commit(offsets)

    def _announce_records(self, messages: "list[Message]") -> "list[TopicPartition]":
        """Announces records by partition, up to the limit. Returns the offsets to commit.

        The total is that of all records, as in Kafka, also if the limit leaves some of them out.
        """
        from confluent_kafka import TopicPartition

        summaries: list[dict[str, Any]] = []
        offsets: list[TopicPartition] = []
        for (topic, partition), group in _by_partition(messages).items():
            if self._options.max_messages >= 0:
                group = group[: self._options.max_messages - self._consumed]
            if not group:
                break
            first, last = group[0].offset() or 0, group[-1].offset() or 0
            summary = {"topic": topic, "partition": partition, "count": len(group)}
            summaries.append({**summary, "minOffset": first, "maxOffset": last})
            offsets.append(TopicPartition(topic, partition, last + 1))
            if self._options.verbose:
                for message in group:
                    _announce_record(message)
            self._consumed += len(group)
        if messages:
            announce("records_consumed", count=len(messages), partitions=summaries)
        return offsets

    def _commit(self, offsets: "list[TopicPartition]") -> None:
        from confluent_kafka import KafkaError, KafkaException

        error: KafkaError | None = None
        try:
            committed = self._consumer.commit(offsets=offsets, asynchronous=False) or []
            error = next((one.error for one in committed if one.error is not None), None)
        except KafkaException as failure:
            error = failure.args[0]
            if error.fatal() or error.code() == KafkaError.FENCED_INSTANCE_ID:
                raise
        announce(
            "offsets_committed",
            offsets=[{**_partition(one), "offset": one.offset} for one in offsets],
            **_outcome(error),
        )


def _outcome(error: "KafkaError | None") -> dict[str, Any]:
    if error is None:
        return {"success": True}
    from gralha.cli.librdkafka import reason_of

    return {"error": reason_of(error), "success": False}


def _is_record(message: "Message") -> bool:
    """Returns False for an error that may pass, such as a topic that does not exist yet. Raises others."""
    from confluent_kafka import KafkaError, KafkaException

    error = message.error()
    if error is None:
        return True
    if error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART or error.retriable():
        return False
    raise KafkaException(error)


def _report(error: "KafkaError") -> None:
    from gralha.cli.librdkafka import reason_of

    print(f"Error during processing, terminating consumer process: {reason_of(error)}", file=sys.stderr)


def _by_partition(messages: "list[Message]") -> "dict[tuple[str, int], list[Message]]":
    groups: dict[tuple[str, int], list[Message]] = {}
    for message in messages:
        groups.setdefault((message.topic() or "", message.partition() or 0), []).append(message)
    return groups


def _announce_record(message: "Message") -> None:
    announce(
        "record_data",
        key=_text(message.key()),
        value=_text(message.value()),
        topic=message.topic(),
        partition=message.partition(),
        offset=message.offset(),
    )


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")


def _assigned(_consumer: "Consumer", partitions: "list[TopicPartition]") -> None:
    announce("partitions_assigned", partitions=[_partition(one) for one in partitions])


def _revoked(_consumer: "Consumer", partitions: "list[TopicPartition]") -> None:
    if partitions:
        announce("partitions_revoked", partitions=[_partition(one) for one in partitions])


def _partition(one: "TopicPartition") -> dict[str, Any]:
    return {"topic": one.topic, "partition": one.partition}
