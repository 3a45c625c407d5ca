"""Counts requests and measures how long they take, by API.

The pipeline calls this for every request, so everything is a plain number or a list of numbers. The metrics
read them when somebody asks (`broker/metrics`).

Reading the clock costs more than all the counting. So the requests of one read share the times of its
beginning and its end. Between these, four small Produce requests share a reading, and any other request has
its own (`ReadMeter`).

A request's total time begins when its last byte has arrived. It ends when its response goes to the socket,
which is later than the handler if responses before it must leave first. Its queue time is the part before its
handler begins: requests that arrived before it are handled first.
"""

import math
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
LIMITS_S: Final = tuple(limit_ms / 1000 for limit_ms in LIMITS_MS)
SHORTEST_S: Final = 0.00025
MAX_VERSIONS: Final = 64
# So many Produce requests of at most so many bytes share one reading of the clock.
REQUESTS_PER_READING: Final = 4
SMALL_BYTES: Final = 1024
PRODUCE: Final = int(ApiKey.PRODUCE)


class Durations:
    """How many durations there were in each class, and their sum."""

    def __init__(self) -> None:
        # Most durations are in the first class, and most others in the class of the previous one. A plain
        # number is quicker than a list.
        self._shortest: i64 = 0
        self._previous: i64 = 1
        self._previous_count: i64 = 0
        self._above_s: float = LIMITS_S[0]
        self._limit_s: float = LIMITS_S[1]
        self._longer: list[int] = [0] * (len(LIMITS_MS) + 1)
        self.sum_s: float = 0.0

    def add(self, seconds: float) -> None:
        self.sum_s += seconds
        self._count(seconds, 1)

    def add_many(self, seconds: float, count: i64) -> None:
        """Adds that many durations of the same length."""
        self.sum_s += seconds if count == 1 else seconds * float(count)
        self._count(seconds, count)

    def _count(self, seconds: float, count: i64) -> None:
        if seconds <= SHORTEST_S:
            self._shortest += count
        elif self._above_s < seconds <= self._limit_s:
            self._previous_count += count
        else:
            self._change_class(seconds)
            self._previous_count = count

    def _change_class(self, seconds: float) -> None:
        self._longer[self._previous] += self._previous_count
        found = _class_of(seconds)
        self._previous = found
        self._above_s = LIMITS_S[found - 1]
        self._limit_s = LIMITS_S[found] if found < len(LIMITS_S) else math.inf

    def counts(self) -> list[int]:
        """The number of durations in each class."""
        counts = list(self._longer)
        counts[0] = int(self._shortest)
        counts[self._previous] += self._previous_count
        return counts


def _class_of(seconds: float) -> i64:
    """The index of the smallest limit that is not exceeded, of a duration that exceeds the first one.

    Comparisons with numbers are quicker than a loop over LIMITS_S.
    """
    if seconds <= 0.01:
        if seconds <= 0.001:
            return 1 if seconds <= 0.0005 else 2
        return 3 if seconds <= 0.0025 else 4 if seconds <= 0.005 else 5
    if seconds <= 0.1:
        return 6 if seconds <= 0.025 else 7 if seconds <= 0.05 else 8
    if seconds <= 1.0:
        return 9 if seconds <= 0.25 else 10 if seconds <= 0.5 else 11
    if seconds <= 10.0:
        return 12 if seconds <= 2.5 else 13 if seconds <= 5.0 else 14
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

    def of_reads(self) -> "ReadMeter":
        """A meter for the reads of one connection."""
        return ReadMeter(self)

    def of(self, api_key: i64, request: Message | None) -> ApiMeter:
        if api_key == FETCH and isinstance(request, FetchRequest) and replica_of(request) >= 0:
            return self.follower_fetch
        meter = self.by_key[api_key]
        if meter is None:
            meter = ApiMeter()
            self.by_key[api_key] = meter
        return meter


class ReadMeter:
    """Measures the requests that one read of a connection has brought, with few readings of the clock.

    Most of them are answered within the read: they leave together, so their total time is the same.
    """

    def __init__(self, meters: RequestMeters) -> None:
        self.meters = meters
        self.clock = meters.clock
        # The API of the previous request, and its meter. Fetches are not here, because they have two meters.
        self._api_key: i64 = -1
        self._meter: ApiMeter = meters.follower_fetch
        # When the requests have arrived; 0 means that there are none.
        self.received_s: float = 0.0
        # True if a request that is handled now has waited.
        self._waits: bool = False
        # True if the newest request is a small Produce request. Many of these come together.
        self._is_small: bool = False
        # The small requests that have begun since the clock was read, their meter, and that reading.
        self._begun_count: i64 = 0
        self._begun: ApiMeter = meters.follower_fetch
        self._read_s: float = 0.0
        # The requests that leave with the read: the last ones, which are of one API, and those before them.
        self._leaving: ApiMeter | None = None
        self._leaving_count: i64 = 0
        self._leaving_before: list[tuple[ApiMeter, int]] = []

    def begin(self) -> None:
        """A read has brought requests, or there is room for those that have waited since an earlier read."""
        self._waits = self.received_s != 0.0
        self._read_s = self.clock()
        if not self._waits:
            self.received_s = self._read_s

    def end(self, is_finished: bool) -> None:
        """The answers that are ready go to the socket. Some requests still wait unless `is_finished`."""
        leaving = self._leaving
        if self._begun_count or leaving is not None:
            self._read_clock()
        if leaving is not None:
            total_s = self._read_s - self.received_s
            leaving.total.add_many(total_s, self._leaving_count)
            self._leaving = None
            self._leaving_count = 0
            if self._leaving_before:
                for meter, count in self._leaving_before:
                    meter.total.add_many(total_s, count)
                self._leaving_before.clear()
        if is_finished:
            self.received_s = 0.0

    def received(self, api_key: i64, version: i64, size_bytes: i64, request: Message | None) -> ApiMeter:
        """Counts a request. Returns the meter of its API."""
        if api_key == self._api_key:
            meter = self._meter
        else:
            meter = self.meters.of(api_key, request)
            if api_key != FETCH:
                self._api_key = api_key
                self._meter = meter
        meter.received(version, size_bytes)
        self._is_small = api_key == PRODUCE and size_bytes <= SMALL_BYTES
        return meter

    def handled(self, meter: ApiMeter) -> None:
        """A handler begins."""
        if self._waits:
            if self._is_small:
                self._begun = meter
                self._begun_count += 1
                if self._begun_count == REQUESTS_PER_READING:
                    self._read_clock()
            else:
                self._read_clock()
                meter.queue.add(self._read_s - self.received_s)
        else:
            # The first request of a read waits for no other one.
            meter.queue.add(0.0)
            self._waits = True

    def _read_clock(self) -> None:
        """Reads the clock. The small requests since the previous reading count as if begun between both."""
        now = self.clock()
        if self._begun_count:
            middle = (self._read_s + now) / 2
            self._begun.queue.add_many(middle - self.received_s, self._begun_count)
            self._begun_count = 0
        self._read_s = now

    def handled_in_turn(self, meter: ApiMeter, received_s: float) -> None:
        """The handler of a request of an earlier read begins."""
        meter.queue.add(self.clock() - received_s)

    def answered(self, meter: ApiMeter, response: Message) -> None:
        meter.answered(response)

    def leaves(self, meter: ApiMeter) -> None:
        """A request of this read has its answer, and no earlier one is missing."""
        if meter is self._leaving:
            self._leaving_count += 1
            return
        if self._leaving is not None:
            self._leaving_before.append((self._leaving, self._leaving_count))
        self._leaving = meter
        self._leaving_count = 1

    def now(self) -> float:
        return self.clock()

    def left(self, meter: ApiMeter, received_s: float, now: float) -> None:
        """The answer to a request of an earlier read goes to the socket."""
        meter.total.add(now - received_s)
