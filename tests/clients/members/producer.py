"""A producer with or without transactions, and a reader of one partition, for any Python client.

`TransactionalClient` is the interface of a client's module. A test names producers, and the program that runs
them (see `__main__`) keeps them by name. Errors keep the names that the client gives them.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from tests.clients.members.member import Consumer, Offsets, Partition

# How long a fetch of a reader may wait: most readings end with one that finds nothing.
MAX_WAIT_MS = 10
# Records with their partitions.
Records = Sequence[tuple[Partition, str]]


@dataclass(frozen=True)
class Isolation:
    """How to read a partition, and from where."""

    level: str
    start: int = 0
    # Stop after that many records, instead of at the end.
    limit: int | None = None


@dataclass(frozen=True)
class Reading:
    """What a reader saw, and where it stood then."""

    records: list[tuple[int, str]]
    position: int
    # None if the client does not tell it.
    lag: int | None


class Producer(abc.ABC):
    """One producer of a client library, ready to begin a transaction if it has a transactional id."""

    @abc.abstractmethod
    def begin(self) -> None: ...

    @abc.abstractmethod
    def send(self, records: Records) -> list[int]:
        """Returns the offsets of the records when all of them are acknowledged."""

    @abc.abstractmethod
    def send_offsets(self, offsets: Offsets, group: str, metadata: Any) -> None: ...

    @abc.abstractmethod
    def commit(self) -> None: ...

    @abc.abstractmethod
    def abort(self) -> None: ...

    @abc.abstractmethod
    def close(self) -> None: ...


class TransactionalClient(Protocol):
    """The interface of a client's module."""

    def open_producer(self, bootstrap: str, transactional_id: str | None, timeout_ms: int) -> Producer: ...

    def group_metadata(self, consumer: Consumer) -> Any:
        """The member of a group, as a producer names it. None if the name of the group is enough."""

    def read(self, bootstrap: str, partition: Partition, isolation: Isolation) -> Reading: ...

    def end_offset(self, bootstrap: str, partition: Partition, level: str) -> int: ...


Ask = Callable[[str, Callable[[Consumer], None]], None]


class Producers:
    """The producers of a program, by name, and the calls for them."""

    def __init__(self, client: TransactionalClient, bootstrap: str, ask: Ask) -> None:
        self._client = client
        self._bootstrap = bootstrap
        # Lets a member's thread use its consumer.
        self._ask = ask
        self._producers: dict[str, Producer] = {}
        self._metadata: dict[str, Any] = {}
        self._calls: dict[str, Callable[[dict[str, Any]], Any]] = {
            "open_producer": self._open,
            "close_producer": lambda request: self._producers.pop(request["producer"]).close(),
            "begin": lambda request: self._producer(request).begin(),
            "send": self._send,
            "send_offsets": self._send_offsets,
            "commit_transaction": lambda request: self._producer(request).commit(),
            "abort_transaction": lambda request: self._producer(request).abort(),
            "note_metadata": self._note_metadata,
            "read": self._read,
            "end_offset": self._end_offset,
        }

    def knows(self, call: str) -> bool:
        return call in self._calls

    def answer(self, call: str, request: dict[str, Any]) -> Any:
        return self._calls[call](request)

    def _producer(self, request: dict[str, Any]) -> Producer:
        return self._producers[request["producer"]]

    def _open(self, request: dict[str, Any]) -> None:
        self._producers[request["producer"]] = self._client.open_producer(
            self._bootstrap, request["transactional_id"], request["timeout_ms"]
        )

    def _send(self, request: dict[str, Any]) -> list[int]:
        records = [((topic, partition), value) for topic, partition, value in request["records"]]
        return self._producer(request).send(records)

    def _note_metadata(self, request: dict[str, Any]) -> None:
        """Keeps the metadata of a member as it is now, for a producer that uses it later."""

        def note(consumer: Consumer) -> None:
            self._metadata[request["metadata"]] = self._client.group_metadata(consumer)

        self._ask(request["member"], note)

    def _send_offsets(self, request: dict[str, Any]) -> None:
        offsets = {(topic, partition): offset for topic, partition, offset in request["offsets"]}
        metadata = self._metadata[request["metadata"]]
        self._producer(request).send_offsets(offsets, request["group"], metadata)

    def _read(self, request: dict[str, Any]) -> dict[str, Any]:
        isolation = Isolation(request["level"], request["start"], request["limit"])
        return asdict(self._client.read(self._bootstrap, partition_of(request), isolation))

    def _end_offset(self, request: dict[str, Any]) -> int:
        return self._client.end_offset(self._bootstrap, partition_of(request), request["level"])


def partition_of(request: dict[str, Any]) -> Partition:
    return request["topic"], request["partition"]
