"""kafka-verifiable-producer: writes the numbers 0, 1, 2, ... and prints a JSON event for each.

The events tell which records the cluster has acknowledged. A test compares them with the records that
kafka-verifiable-consumer has read. Options and events are those of Apache Kafka's command.
"""

import math
import time
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from gralha.cli.arguments import ProgramParser
from gralha.cli.program import run
from gralha.cli.properties import load_properties
from gralha.cli.verifiable_events import StopSignal, announce, choose_config

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

# A signal waits at most this long.
_POLL_SECONDS: Final = 0.1
_NO_OFFSET: Final = -1

# The exception that the Java producer raises for each error code. Codes of librdkafka are below -1.
_EXCEPTIONS: Final = {
    -1: "UnknownServerException",
    2: "CorruptRecordException",
    3: "UnknownTopicOrPartitionException",
    5: "LeaderNotAvailableException",
    6: "NotLeaderOrFollowerException",
    7: "TimeoutException",
    10: "RecordTooLargeException",
    13: "NetworkException",
    17: "InvalidTopicException",
    18: "RecordBatchTooLargeException",
    19: "NotEnoughReplicasException",
    20: "NotEnoughReplicasAfterAppendException",
    21: "InvalidRequiredAcksException",
    29: "TopicAuthorizationException",
    31: "ClusterAuthorizationException",
    32: "InvalidTimestampException",
    43: "UnsupportedForMessageFormatException",
    44: "PolicyViolationException",
    45: "OutOfOrderSequenceException",
    47: "InvalidProducerEpochException",
    56: "KafkaStorageException",
    59: "UnknownProducerIdException",
    87: "InvalidRecordException",
    -169: "AuthenticationException",  # _AUTHENTICATION
    -181: "SslAuthenticationException",  # _SSL
    -185: "TimeoutException",  # _TIMED_OUT
    -188: "UnknownTopicOrPartitionException",  # _UNKNOWN_TOPIC
    -190: "UnknownTopicOrPartitionException",  # _UNKNOWN_PARTITION
    -192: "TimeoutException",  # _MSG_TIMED_OUT
}
_EXCEPTION_PACKAGE: Final = "org.apache.kafka.common.errors."
_OTHER_EXCEPTION: Final = "org.apache.kafka.common.KafkaException"


def _parser() -> ProgramParser:
    parser = ProgramParser(
        prog="kafka-verifiable-producer",
        description="Writes increasing numbers to a topic. It prints a JSON event for each record, so that a "
        "test knows which records the cluster has acknowledged.",
        examples=[
            "kafka-verifiable-producer --bootstrap-server localhost:9092 --topic orders --max-messages 10",
        ],
    )
    add = parser.add_argument
    add("--topic", required=True, metavar="TOPIC", help="the topic to write to")
    add("--bootstrap-server", required=True, metavar="HOST:PORT,...", help="the brokers to connect to")
    add(
        "--max-messages",
        type=int,
        default=-1,
        metavar="N",
        help="stop after this many records; -1: never (default)",
    )
    add("--throughput", type=int, default=-1, metavar="N", help="records per second; -1: no limit (default)")
    add("--acks", type=int, default=-1, choices=(0, 1, -1), help="acks of the producer; -1: all (default)")
    add(
        "--message-create-time",
        type=int,
        default=-1,
        metavar="MS",
        help="the timestamp of the first record (default: the current time)",
    )
    add("--value-prefix", type=int, metavar="N", help="values are N.0, N.1, N.2, ...")
    add("--repeating-keys", type=int, metavar="N", help="keys are 0 to N-1, again and again (default: none)")
    configs = parser.add_mutually_exclusive_group()
    configs.add_argument("--command-config", metavar="FILE", help="a file with properties of the producer")
    configs.add_argument(
        "--producer.config", metavar="FILE", dest="old_config", help="old name of --command-config"
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
    properties = producer_properties(options)
    from gralha.cli.console_producer import new_producer

    stop = StopSignal()
    VerifiableProducer(new_producer(properties), options, stop).run()
    return stop.exit_code


def producer_properties(options: Namespace) -> dict[str, str]:
    """The producer's properties with Kafka's names. As in Kafka, the file overrides the options."""
    path = choose_config(options.command_config, options.old_config, "--producer.config")
    properties = {
        "bootstrap.servers": options.bootstrap_server,
        "acks": str(options.acks),
        "retries": "0",
        "delivery.timeout.ms": "120000",
    }
    return properties | (load_properties(path) if path is not None else {})


class VerifiableProducer:
    """One run: it sends the records and announces what became of each."""

    def __init__(self, producer: "Producer", options: Namespace, stop: StopSignal) -> None:
        self._producer = producer
        self._options = options
        self._stop = stop
        self._started = time.time()
        self._created_ms: int | None = (
            None if options.message_create_time == -1 else options.message_create_time
        )
        self._sent = 0
        self._acked = 0

    def run(self) -> None:
        """Sends records until there are enough or a signal comes. The last events come in any case."""
        from gralha.cli.librdkafka import served

        announce("startup_complete")
        try:
            while not self._stop and self._sent != self._options.max_messages:
                self._send(self._next_key(), self._next_value())
                self._wait()
        finally:
            while served(self._producer.flush, _POLL_SECONDS):
                pass
            announce("shutdown_complete")
            self._announce_totals()

    def _announce_totals(self) -> None:
        elapsed_seconds = max(time.time() - self._started, 0.001)
        announce(
            "tool_data",
            sent=self._sent,
            acked=self._acked,
            target_throughput=self._options.throughput,
            avg_throughput=self._acked / elapsed_seconds,
        )

    def _next_key(self) -> str | None:
        keys = self._options.repeating_keys
        return None if keys is None else str(self._sent % keys if keys > 0 else self._sent)

    def _next_value(self) -> str:
        prefix = self._options.value_prefix
        return str(self._sent) if prefix is None else f"{prefix}.{self._sent}"

    def _next_timestamp(self) -> int:
        """The timestamp of the next record. Zero means now, for librdkafka."""
        if self._created_ms is None:
            return 0
        timestamp = self._created_ms
        # Kafka's command moves it by the whole running time after each record.
        self._created_ms += int((time.time() - self._started) * 1000)
        return timestamp

    def _send(self, key: str | None, value: str) -> None:
        from confluent_kafka import KafkaException

        from gralha.cli.librdkafka import served

        self._sent += 1
        timestamp = self._next_timestamp()

        def delivered(error: "KafkaError | None", message: "Message") -> None:
            if error is not None:
                self._announce_failure(key, value, error)
            else:
                self._announce_success(key, value, message)

        while True:
            try:
                self._producer.produce(
                    self._options.topic, value, key, on_delivery=delivered, timestamp=timestamp
                )
                break
            except BufferError:
                served(self._producer.poll, _POLL_SECONDS)
            except KafkaException as failure:
                # librdkafka refuses some records at once, for example one that is too large.
                self._announce_failure(key, value, failure.args[0])
                break
        served(self._producer.poll, 0)

    def _announce_success(self, key: str | None, value: str, message: "Message") -> None:
        self._acked += 1
        offset = message.offset()
        announce(
            "producer_send_success",
            key=key,
            value=value,
            # With acks=0 the broker does not tell the offset.
            offset=_NO_OFFSET if offset is None or offset < 0 else offset,
            topic=message.topic(),
            partition=message.partition(),
        )

    def _announce_failure(self, key: str | None, value: str, error: "KafkaError") -> None:
        from gralha.cli.librdkafka import reason_of

        announce(
            "producer_send_error",
            topic=self._options.topic,
            key=key,
            value=value,
            exception=f"class {exception_name(error.code())}",
            message=reason_of(error),
        )

    def _wait(self) -> None:
        """Waits until the next record is due, and announces deliveries in this time."""
        from gralha.cli.librdkafka import served

        rate = self._options.throughput
        if rate < 0 or self._sent == self._options.max_messages:
            return
        due = math.inf if rate == 0 else self._started + self._sent / rate
        while not self._stop and (remaining := due - time.time()) > 0:
            served(self._producer.poll, min(remaining, _POLL_SECONDS))


def exception_name(code: int) -> str:
    """The Java exception for an error code."""
    name = _EXCEPTIONS.get(code)
    return _OTHER_EXCEPTION if name is None else _EXCEPTION_PACKAGE + name
