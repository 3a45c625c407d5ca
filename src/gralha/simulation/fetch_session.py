"""The consumer's side of a fetch session (KIP-227): a request has only the changes since the last one.

`request` compares the partitions that the consumer wants with those of the session. `answered` takes the
broker's response. After an error the next request ends the old session and begins a new one.
"""

from typing import Final, NamedTuple

from gralha.protocol.fetch_numbers import INITIAL_EPOCH, READ_UNCOMMITTED
from gralha.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
)

MAX_BYTES: Final = 1024 * 1024
PARTITION_MAX_BYTES: Final = 256 * 1024


class Wanted(NamedTuple):
    leader_epoch: int
    offset: int


class FetchSession:
    """The session of one consumer with one broker."""

    def __init__(self, topic: str, isolation_level: int = READ_UNCOMMITTED) -> None:
        self._topic = topic
        self._isolation_level = isolation_level
        self._id = 0
        self._epoch = INITIAL_EPOCH
        self._known: dict[int, Wanted] = {}

    def request(self, wanted: dict[int, Wanted], max_wait_ms: int) -> FetchRequest:
        named = {one: place for one, place in wanted.items() if self._known.get(one) != place}
        forgotten = [one for one in self._known if one not in wanted]
        self._known = dict(wanted)
        request = fetch_request(self._topic, named, max_wait_ms, self._isolation_level)
        request.session_id, request.session_epoch = self._id, self._epoch
        if forgotten:
            request.forgotten_topics_data = [ForgottenTopic(topic=self._topic, partitions=forgotten)]
        return request

    def answered(self, response: FetchResponse | None) -> None:
        if response is None or response.error_code or response.session_id == 0:
            self._epoch = INITIAL_EPOCH
            self._known = {}
        else:
            self._id = response.session_id
            self._epoch += 1


def fetch_request(
    topic: str, wanted: dict[int, Wanted], max_wait_ms: int, isolation_level: int = READ_UNCOMMITTED
) -> FetchRequest:
    """A request without a session."""
    partitions = [
        FetchPartition(
            partition=index,
            current_leader_epoch=place.leader_epoch,
            fetch_offset=place.offset,
            partition_max_bytes=PARTITION_MAX_BYTES,
        )
        for index, place in wanted.items()
    ]
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=MAX_BYTES,
        isolation_level=isolation_level,
        topics=[FetchTopic(topic=topic, partitions=partitions)] if partitions else [],
    )
