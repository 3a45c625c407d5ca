"""From a command's options to a cluster: by our own client for admin work, by librdkafka for data."""

import time
from argparse import Namespace
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gralha.cli.arguments import CommandParser
from gralha.cli.program import CommandError
from gralha.cli.properties import load_properties

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Producer
    from confluent_kafka.admin._metadata import TopicMetadata

    from gralha.client.admin import Admin

_METADATA_TIMEOUT_SECONDS = 10.0
# A topic that the broker creates by itself is there after some milliseconds; a misspelt one never.
DEFAULT_TOPIC_WAIT_MS = 5_000


def add_connection_options(parser: CommandParser) -> None:
    """The two options that every admin command has."""
    parser.value("bootstrap-server", "REQUIRED: the brokers to connect to", metavar="HOST:PORT,...")
    parser.value("command-config", "a file with properties of the admin client", metavar="FILE")


def open_admin(options: Namespace, client_id: str) -> "Admin":
    """An admin client by those two options."""
    from gralha.client.admin import Admin
    from gralha.client.cluster import Cluster

    properties = load_properties(options.command_config) if options.command_config else {}
    protocol = properties.get("security.protocol", "PLAINTEXT").upper()
    if protocol != "PLAINTEXT":
        raise CommandError(
            f"security.protocol={protocol} is not supported by this command yet: use a PLAINTEXT listener"
        )
    return Admin(
        Cluster(
            options.bootstrap_server,
            client_id=properties.get("client.id", client_id),
            request_timeout_ms=_milliseconds(properties, "request.timeout.ms", 30_000),
            api_timeout_ms=_milliseconds(properties, "default.api.timeout.ms", 60_000),
        )
    )


def _milliseconds(properties: Mapping[str, str], name: str, default: int) -> int:
    text = properties.get(name, str(default))
    if not text.isdigit():
        raise CommandError(f"{name} must be a number of milliseconds, not '{text}'")
    return int(text)


def check_reachable(properties: Mapping[str, str]) -> None:
    """Fail at once when no broker listens: librdkafka would go on trying without a word."""
    from gralha.client.addresses import parse_bootstrap_servers
    from gralha.client.connection import open_socket
    from gralha.client.errors import ConnectionFailedError

    failure: ConnectionFailedError | None = None
    for address in parse_bootstrap_servers(properties["bootstrap.servers"]):
        try:
            open_socket(address, timeout_ms=10_000).close()
            return
        except ConnectionFailedError as error:
            failure = failure or error
    if failure is not None:
        raise failure


def check_groups_served(properties: Mapping[str, str]) -> None:
    """Fail at once when the brokers know no groups: librdkafka would wait for a coordinator for ever."""
    from gralha.client.cluster import Cluster
    from gralha.client.errors import ClientError
    from gralha.protocol.apis import ApiKey

    if properties.get("security.protocol", "PLAINTEXT").upper() != "PLAINTEXT":
        return
    with Cluster(properties["bootstrap.servers"]) as cluster:
        if not cluster.any_connection().serves(ApiKey.JOIN_GROUP):
            raise ClientError("The brokers do not serve consumer groups yet: read without a group.")


def wait_for_topic(
    client: "Producer | Consumer", topic: str, timeout_ms: int | None = None
) -> "TopicMetadata":
    """The topic's metadata; the broker gets a moment to create a topic that does not exist."""
    from confluent_kafka import KafkaException

    from gralha.cli.librdkafka import reason_of

    deadline = time.monotonic() + (DEFAULT_TOPIC_WAIT_MS if timeout_ms is None else timeout_ms) / 1000
    while True:
        try:
            metadata: TopicMetadata = client.list_topics(topic, timeout=_METADATA_TIMEOUT_SECONDS).topics[
                topic
            ]
        except KafkaException as error:
            raise CommandError(f"No answer from the cluster: {reason_of(error.args[0])}") from None
        if metadata.error is None and metadata.partitions:
            return metadata
        if metadata.error is not None and not _may_appear(metadata.error.code()):
            raise CommandError(f"Cannot use topic '{topic}': {reason_of(metadata.error)}")
        if time.monotonic() >= deadline:
            raise CommandError(
                f"Topic '{topic}' does not exist and the broker does not create it by itself. "
                f"Create it: kafka-topics --bootstrap-server ... --create --topic {topic}"
            )
        time.sleep(0.05)


def _may_appear(code: int) -> bool:
    from confluent_kafka import KafkaError

    return code in (
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError.LEADER_NOT_AVAILABLE,
    )
