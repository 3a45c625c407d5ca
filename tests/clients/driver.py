"""The common interface of all Kafka clients in the suite.

A driver translates these calls to its client, and the client's errors to `ClientError` with Kafka's error
name. So a scenario is written once for all clients. If a client cannot play a scenario, its driver has the
scenario's name in `CANNOT`, with the reason.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

TIMEOUT_S = 15.0
# A consumer's close waits for the fetch under way, so short fetches keep the suite quick.
MAX_WAIT_MS = 100
# The settings that let a client send a message which the broker refuses.
CLIENT_MESSAGE_LIMIT_BYTES = 8_000_000

# Kafka's names of the error codes in the scenarios.
ERROR_NAMES = {
    1: "OFFSET_OUT_OF_RANGE",
    3: "UNKNOWN_TOPIC_OR_PARTITION",
    10: "MESSAGE_TOO_LARGE",
    17: "INVALID_TOPIC_EXCEPTION",
    25: "UNKNOWN_MEMBER_ID",
    36: "TOPIC_ALREADY_EXISTS",
    37: "INVALID_PARTITIONS",
    38: "INVALID_REPLICATION_FACTOR",
    40: "INVALID_CONFIG",
    42: "INVALID_REQUEST",
    81: "GROUP_MAX_SIZE_REACHED",
    82: "FENCED_INSTANCE_ID",
    111: "UNRELEASED_INSTANCE_ID",
}

Headers = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True)
class Outgoing:
    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    timestamp_ms: int | None = None


@dataclass(frozen=True)
class Message:
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers


@dataclass(frozen=True)
class Placed:
    """The place of a produced record. The offset is -1 if it is not known (acks=0)."""

    partition: int
    offset: int


class Login(NamedTuple):
    """How a client logs in on a listener with SASL."""

    mechanism: str
    user: str
    password: str


class ClientError(Exception):
    """A client's error, by Kafka's name."""

    def __init__(self, kind: str, message: str = "") -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind

    @classmethod
    def from_code(cls, code: int, message: str = "") -> ClientError:
        return cls(ERROR_NAMES.get(code, f"error {code}"), message)


@dataclass(frozen=True)
class Tls:
    """The files of a client: the trusted authority, and its own key with the certificate."""

    authority: str
    key: str


def security_protocol(tls: Tls | None, login: Login | None) -> str:
    if login is None:
        return "PLAINTEXT" if tls is None else "SSL"
    return "SASL_PLAINTEXT" if tls is None else "SASL_SSL"


def security_for_librdkafka(tls: Tls | None, login: Login | None) -> dict[str, str]:
    settings = {"security.protocol": security_protocol(tls, login)}
    if tls is not None:
        settings["ssl.ca.location"] = tls.authority
        settings["ssl.certificate.location"] = settings["ssl.key.location"] = tls.key
    if login is not None:
        settings["sasl.mechanism"] = login.mechanism
        settings["sasl.username"] = login.user
        settings["sasl.password"] = login.password
    return settings


def security_for_java(tls: Tls | None, login: Login | None) -> dict[str, str]:
    settings = {"security.protocol": security_protocol(tls, login)}
    if tls is not None:
        settings["ssl.truststore.type"] = settings["ssl.keystore.type"] = "PEM"
        settings["ssl.truststore.location"] = tls.authority
        settings["ssl.keystore.location"] = tls.key
    if login is not None:
        kind = "plain.Plain" if login.mechanism == "PLAIN" else "scram.Scram"
        settings["sasl.mechanism"] = login.mechanism
        settings["sasl.jaas.config"] = (
            f"org.apache.kafka.common.security.{kind}LoginModule required "
            f'username="{login.user}" password="{login.password}";'
        )
    return settings


def security_for_python(tls: Tls | None, login: Login | None) -> dict[str, str]:
    """The settings that kafka-python and aiokafka share. They name the files of TLS differently."""
    settings = {"security_protocol": security_protocol(tls, login)}
    if login is not None:
        settings["sasl_mechanism"] = login.mechanism
        settings["sasl_plain_username"] = login.user
        settings["sasl_plain_password"] = login.password
    return settings


class Driver(abc.ABC):
    """One client library or tool, connected to one cluster."""

    NAME: ClassVar[str]
    CANNOT: ClassVar[Mapping[str, str]] = {}

    def __init__(self, bootstrap: str, tls: Tls | None = None, login: Login | None = None) -> None:
        self.bootstrap = bootstrap
        self.tls = tls
        self.login = login

    def close(self) -> None:  # noqa: B027  # most drivers keep nothing open between calls
        """Closes everything that the driver keeps open between calls."""

    @abc.abstractmethod
    def produce(
        self,
        topic: str,
        records: Sequence[Outgoing],
        *,
        partition: int | None = None,
        acks: str = "all",
        compression: str = "none",
        idempotent: bool = False,
    ) -> list[Placed]:
        """Sends all records, waits until they are acknowledged, and returns their places."""

    @abc.abstractmethod
    def consume(
        self,
        topic: str,
        partition: int,
        offset: int | str,
        count: int,
        *,
        reset: str = "none",
        max_wait_ms: int = MAX_WAIT_MS,
    ) -> list[Message]:
        """Reads that many records from an offset, from "earliest", or, with "latest", waits for new ones.

        `reset` says what to do if the offset is out of range: "earliest", "latest" or "none" (an error).
        `max_wait_ms` is how long the broker may delay a fetch that finds nothing.
        """

    def consume_seeking(
        self, topic: str, partition: int, steps: Sequence[tuple[int, int]]
    ) -> list[list[Message]]:
        """With one consumer, for each (offset, count): seeks to the offset and reads that many records."""
        raise NotImplementedError

    def offsets(self, topic: str, partition: int) -> tuple[int, int]:
        """The log start offset and the end offset."""
        raise NotImplementedError

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        """The first offset at or after a timestamp, or None."""
        raise NotImplementedError

    def offset_of_max_timestamp(self, topic: str, partition: int) -> int:
        raise NotImplementedError

    def create_topic(
        self,
        topic: str,
        partitions: int = 1,
        configs: Mapping[str, str] | None = None,
        replication_factor: int = 1,
        validate_only: bool = False,
    ) -> None:
        raise NotImplementedError

    def delete_topic(self, topic: str) -> None:
        raise NotImplementedError

    def list_topics(self) -> set[str]:
        raise NotImplementedError

    def partition_leaders(self, topic: str) -> dict[int, int]:
        """The leader's node id by partition."""
        raise NotImplementedError

    def add_partitions(self, topic: str, total: int) -> None:
        raise NotImplementedError

    def describe_configs(self, topic: str) -> dict[str, str | None]:
        raise NotImplementedError

    def alter_configs(self, topic: str, configs: Mapping[str, str]) -> None:
        raise NotImplementedError

    def delete_records(self, topic: str, partition: int, before_offset: int) -> None:
        raise NotImplementedError

    def node_ids(self) -> set[int]:
        """The ids of the cluster's brokers."""
        raise NotImplementedError
