"""Counts requests and measures how long they take, by API.

The pipeline calls this for every request, so everything is a plain number or a list of numbers. The metrics
read them when somebody asks (`broker/metrics`).

A request's total time begins when its last byte has arrived. It ends when its response goes to the socket,
which is later than the handler if responses before it must leave first. Its queue time is the part before its
handler begins: requests that arrived before it are handled first.
"""

from collections.abc import Callable
from typing import Final

from mypy_extensions import i64

from gralha.broker.fetching.wanted import replica_of
from gralha.protocol.apis import ApiKey
from gralha.protocol.error_codes import error_codes
from gralha.protocol.message import Message
from gralha.protocol.messages.fetch import FetchRequest, FetchResponse
from gralha.protocol.messages.produce import ProduceResponse

FETCH: Final = int(ApiKey.FETCH)
# The upper limits of the classes of durations. Longer durations are in a last class.
LIMITS_MS: Final = (0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000)
US: Final = 1_000_000.0
SHORTEST_S: Final = 0.00025
MAX_VERSIONS: Final = 64


class Durations:
    """How many durations there were in each class, and their sum."""

    def __init__(self) -> None:
        # Most durations are in the first class. A plain number is quicker than a list.
        self._shortest: i64 = 0
        self._longer: list[int] = [0] * (len(LIMITS_MS) + 1)
        self.sum_s: float = 0.0

    def add(self, seconds: float) -> None:
        self.sum_s += seconds
        if seconds <= SHORTEST_S:
            self._shortest += 1
        else:
            self._longer[_class_of(i64(seconds * US))] += 1

    def counts(self) -> list[int]:
        """The number of durations in each class."""
        return [int(self._shortest) + self._longer[0], *self._longer[1:]]


def _class_of(duration_us: i64) -> i64:
    """The index of the smallest limit that is not exceeded. Comparisons beat a loop over LIMITS_MS."""
    if duration_us <= 1_000:
        return 0 if duration_us <= 250 else 1 if duration_us <= 500 else 2
    if duration_us <= 10_000:
        return 3 if duration_us <= 2_500 else 4 if duration_us <= 5_000 else 5
    if duration_us <= 100_000:
        return 6 if duration_us <= 25_000 else 7 if duration_us <= 50_000 else 8
    if duration_us <= 1_000_000:
        return 9 if duration_us <= 250_000 else 10 if duration_us <= 500_000 else 11
    if duration_us <= 10_000_000:
        return 12 if duration_us <= 2_500_000 else 13 if duration_us <= 5_000_000 else 14
    return 15


class ApiMeter:
    """The requests of one API."""

    def __init__(self) -> None:
        # How many requests there were in each version, without the last ones, which have the same version.
        self._versions: list[int] = [0] * MAX_VERSIONS
        self._last_version: i64 = 0
        self._last_requests: i64 = 0
        self.request_bytes: i64 = 0
        self.queue: Durations = Durations()
        self.total: Durations = Durations()
        # The error codes in responses. A response with many partitions has many.
        self.errors: dict[int, int] = {}
        self.successes: i64 = 0

    def received(self, version: i64, size_bytes: i64) -> None:
        if version != self._last_version:
            self._versions[self._last_version] += self._last_requests
            self._last_version = version
            self._last_requests = 0
        self._last_requests += 1
        self.request_bytes += size_bytes

    def versions(self) -> list[int]:
        """How many requests there were in each version."""
        counts = list(self._versions)
        counts[self._last_version] += self._last_requests
        return counts

    def answered(self, response: Message) -> None:
        """Counts the error codes of a response. 0 is an error code, too: that of a success."""
        if isinstance(response, ProduceResponse):
            for produced in response.responses:
                for partition in produced.partition_responses:
                    self._count(partition.error_code)
        elif isinstance(response, FetchResponse):
            self._count(response.error_code)
            for fetched in response.responses:
                for data in fetched.partitions:
                    self._count(data.error_code)
        else:
            for code in error_codes(response):
                self._count(code)

    def _count(self, error_code: i64) -> None:
        if error_code == 0:
            self.successes += 1
        else:
            self.errors[error_code] = self.errors.get(error_code, 0) + 1


class RequestMeters:
    """The meters of all APIs of a node's listeners of one kind.

    `clock` returns seconds. It must be finer than the event loop's time, which stands still during a callback
    on some loops.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        # By API key; None for those that nobody has used.
        self.by_key: list[ApiMeter | None] = [None] * (max(ApiKey) + 1)
        # Fetches of followers wait for each other's records, so they are not mixed with those of consumers.
        self.follower_fetch: ApiMeter = ApiMeter()

    def of(self, api_key: i64, request: Message | None) -> ApiMeter:
        if api_key == FETCH and isinstance(request, FetchRequest) and replica_of(request) >= 0:
            return self.follower_fetch
        meter = self.by_key[api_key]
        if meter is None:
            meter = ApiMeter()
            self.by_key[api_key] = meter
        return meter
