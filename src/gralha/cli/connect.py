"""Connects a command to its cluster: with our own client for admin work, with librdkafka for records."""

import sys
import time
from argparse import Namespace
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from gralha.cli.arguments import CommandParser, ProgramParser
from gralha.cli.bootstrap import default_bootstrap_servers as default_bootstrap_servers
from gralha.cli.program import CommandError
from gralha.cli.properties import load_properties

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Producer
    from confluent_kafka.admin._metadata import TopicMetadata

    from gralha.client.admin import Admin

# How long to wait for the answer of the cluster. Between the attempts librdkafka may report errors.
_METADATA_TIMEOUTS_SECONDS = (1.0, 3.0, 6.0)
_PAUSE_SECONDS = 0.05
_PAUSE_SECONDS_MAX = 1.0
_WONDER_MS = 1_000
# A broker creates a topic within some milliseconds. A misspelt topic never appears.
DEFAULT_TOPIC_WAIT_MS = 5_000


def add_connection_options(parser: CommandParser) -> None:
    """Adds the two options that every admin command has."""
    parser.value("bootstrap-server", "REQUIRED: the brokers to connect to", metavar="HOST:PORT,...")
    parser.value("command-config", "a file with properties of the admin client", metavar="FILE")


def add_bootstrap_options(parser: ProgramParser, *, required: bool) -> None:
    """Adds the options of commands that connect to brokers, or to controllers if no broker runs (KIP-919)."""
    servers = parser.add_mutually_exclusive_group(required=required)
    servers.add_argument("--bootstrap-server", metavar="HOST:PORT,...", help="the brokers to connect to")
    servers.add_argument(
        "--bootstrap-controller", metavar="HOST:PORT,...", help="or the controllers to connect to"
    )
    parser.add_argument("--command-config", metavar="FILE", help="a file with properties of the admin client")


def open_admin(
    options: Namespace, client_id: str, *, timeout_ms: int | None = None, default_timeout_ms: int = 60_000
) -> "Admin":
    """An admin client with the connection options. A command's --timeout overrides the file's timeouts."""
    from gralha.client.admin import Admin
    from gralha.client.cluster import Cluster
    from gralha.client.security import ClientSecurity

    properties = load_properties(options.command_config) if options.command_config else {}
    request_timeout_ms = _milliseconds(properties, "request.timeout.ms", 30_000)
    api_timeout_ms = timeout_ms or _milliseconds(properties, "default.api.timeout.ms", default_timeout_ms)
    controllers = getattr(options, "bootstrap_controller", None)
    return Admin(
        Cluster(
            controllers or options.bootstrap_server,
            through_controllers=controllers is not None,
            client_id=properties.get("client.id", client_id),
            request_timeout_ms=min(request_timeout_ms, api_timeout_ms),
            api_timeout_ms=api_timeout_ms,
            security=ClientSecurity.from_kafka(properties),
        )
    )


def _milliseconds(properties: Mapping[str, str], name: str, default: int) -> int:
    text = properties.get(name, str(default))
    if not text.isdigit():
        raise CommandError(f"{name} must be a number of milliseconds, not '{text}'")
    return int(text)


def check_reachable(properties: Mapping[str, str]) -> None:
    """Fails at once if no broker listens, or none with TLS. librdkafka would silently try for ever."""
    from gralha.client.addresses import parse_bootstrap_servers
    from gralha.client.connection import open_socket
    from gralha.client.errors import ConnectionFailedError
    from gralha.client.security import ClientSecurity

    security = ClientSecurity.for_socket(properties)
    failure: ConnectionFailedError | None = None
    for address in parse_bootstrap_servers(properties["bootstrap.servers"]):
        try:
            open_socket(address, 10_000, security).close()
            return
        except ConnectionFailedError as error:
            failure = failure or error
    if failure is not None:
        raise failure


def check_coordinators(properties: Mapping[str, str]) -> None:
    """Fails at once if the cluster cannot have the coordinators that a client will need.

    librdkafka would silently ask for ever, so our own client asks.
    """
    from gralha.client.cluster import Cluster
    from gralha.client.coordinator_calls import GROUP, TRANSACTION, CoordinatorCalls
    from gralha.client.errors import ClientError, KafkaError
    from gralha.client.security import ClientSecurity

    kinds = {"group.id": GROUP, "transactional.id": TRANSACTION}
    keys = [(kinds[name], properties[name]) for name in kinds if properties.get(name)]
    security = ClientSecurity.from_kafka(properties)
    with Cluster(properties["bootstrap.servers"], security=security) as cluster:
        for key_type, key in keys:
            try:
                error = CoordinatorCalls(cluster).hopeless_coordinator(key, key_type)
            except (ClientError, KafkaError):
                # librdkafka tries again, and tells what fails.
                continue
            if error is not None:
                raise CommandError(error.message)


def wait_for_topic(producer: "Producer", topic: str, timeout_ms: int | None = None) -> None:
    """Returns when the topic exists. The broker gets some time to create a topic that does not."""
    wait_ms = DEFAULT_TOPIC_WAIT_MS if timeout_ms is None else timeout_ms
    reasons: list[str] = []
    if look_for_topic(producer, topic, wait_ms, reasons.append) is None:
        raise CommandError(f"{reasons[0]} (waited {wait_ms} ms)")


def look_for_topic(
    client: "Producer | Consumer", topic: str, timeout_ms: int | None, tell: Callable[[str], None]
) -> "TopicMetadata | None":
    """The metadata of a topic as soon as it has partitions. None if that takes longer than `timeout_ms`.

    The request makes the broker create the topic, if topics are created automatically: a warning says so,
    because the name may be misspelt. `tell` is called once with the reason for a long or failed wait.
    """
    started = time.monotonic()
    pause_seconds = _PAUSE_SECONDS
    told = False
    # A request for all topics creates none.
    existing = set(topics_of(client, None))
    while True:
        metadata = topics_of(client, topic)[topic]
        if metadata.error is None and metadata.partitions:
            if topic not in existing and not told:
                _warn(creation_warning(topic, existing))
            return metadata
        if metadata.error is not None and not _may_appear(metadata.error.code()):
            raise CommandError(f"Cannot use topic '{topic}': {_reason(metadata.error)}")
        waited_ms = (time.monotonic() - started) * 1000
        is_over = timeout_ms is not None and waited_ms >= timeout_ms
        if not told and (is_over or waited_ms >= _WONDER_MS):
            told = True
            tell(_why_not_there(topic, metadata, existing))
        if is_over:
            return None
        remaining = pause_seconds if timeout_ms is None else (timeout_ms - waited_ms) / 1000
        time.sleep(min(pause_seconds, remaining))
        pause_seconds = min(2 * pause_seconds, _PAUSE_SECONDS_MAX)


def topics_of(client: "Producer | Consumer", topic: str | None) -> "dict[str, TopicMetadata]":
    """The metadata of a topic, or of all topics. Raises CommandError if the cluster does not answer."""
    from confluent_kafka import KafkaException

    from gralha.cli.librdkafka import served

    reason = ""
    for timeout_seconds in _METADATA_TIMEOUTS_SECONDS:
        try:
            topics: dict[str, TopicMetadata] = client.list_topics(topic, timeout=timeout_seconds).topics
            return topics
        except KafkaException as error:
            reason = _reason(error.args[0])
            # This calls the error callback, which raises if a new attempt cannot help.
            served(client.poll, 0)
    raise CommandError(f"No answer from the cluster: {reason}")


def _reason(error: "KafkaError") -> str:
    from gralha.cli.librdkafka import reason_of

    return reason_of(error)


def _may_appear(code: int) -> bool:
    from confluent_kafka import KafkaError

    return code in (
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError.LEADER_NOT_AVAILABLE,
    )


def creation_warning(topic: str, existing: Collection[str]) -> str:
    """The warning about a topic that did not exist. It begins with the words of Kafka's clients."""
    from gralha.cli.suggestions import did_you_mean

    return (
        "WARN The metadata response from the cluster reported a recoverable issue: "
        f"{{{topic}=UNKNOWN_TOPIC_OR_PARTITION}}. Topic '{topic}' did not exist, and the broker has created "
        f"it.{did_you_mean(topic, _of_users(existing), repr('{}'))}"
    )


def _of_users(topics: Collection[str]) -> list[str]:
    return [topic for topic in topics if not topic.startswith("__")]


def _warn(line: str) -> None:
    from gralha.cli.colour import yellow

    print(yellow(line, sys.stderr), file=sys.stderr, flush=True)


def _why_not_there(topic: str, metadata: "TopicMetadata", existing: Collection[str]) -> str:
    from confluent_kafka import KafkaError

    if metadata.error is None or metadata.error.code() == KafkaError.LEADER_NOT_AVAILABLE:
        return f"Topic '{topic}' has no leader yet"
    return missing_topic(topic, existing)


def missing_topic(topic: str, existing: Collection[str]) -> str:
    """What to say about a topic that does not exist and does not appear."""
    from gralha.cli.suggestions import did_you_mean

    meant = did_you_mean(topic, _of_users(existing), repr("{}"))
    return (
        f"Topic '{topic}' does not exist, and the broker has not created it.{meant} "
        f"Create it: kafka-topics --bootstrap-server ... --create --topic {topic}"
    )
