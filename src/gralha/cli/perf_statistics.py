"""Statistics and output lines as in Kafka's two performance tests."""

import time
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

PRODUCER_PERCENTILES = (0.5, 0.95, 0.99, 0.999)
_MAX_SAMPLES = 500_000
_MEGABYTE = 1024.0 * 1024.0


class Deliveries(NamedTuple):
    """Records that were acknowledged together."""

    records: int
    size_bytes: int
    latency_ms: int


class ProducerStatistics:
    """Counts acknowledged records. Prints a line for every interval and one for the whole test."""

    def __init__(self, record_count: int, interval_ms: int, *, steady_state: bool = False) -> None:
        self._started = time.time()
        self._window_started = self._started
        self._interval_seconds = interval_ms / 1000
        self._steady_state = steady_state
        self._silent = False
        # If there are very many records, only every n-th latency is kept.
        self._sampling = max(1, record_count // min(max(record_count, 1), _MAX_SAMPLES))
        self._latencies_ms: list[int] = []
        self._count = 0
        self._bytes = 0
        self._latency_ms_total = 0
        self._latency_ms_max = 0
        self._new_window(self._started)

    def _new_window(self, now: float) -> None:
        self._window_started = now
        self._window_count = 0
        self._window_bytes = 0
        self._window_latency_ms_total = 0
        self._window_latency_ms_max = 0

    def start(self) -> None:
        """The test begins now: the time to connect does not count."""
        self._started = time.time()
        self._new_window(self._started)

    def silence(self) -> None:
        """Prints no more intervals, because other statistics do so from now on."""
        self._silent = True

    def record(self, delivered: Deliveries, now: float) -> None:
        """Records were acknowledged."""
        count, size_bytes, latency_ms = delivered
        kept = -(-(self._count + count) // self._sampling) - -(-self._count // self._sampling)
        self._latencies_ms.extend([latency_ms] * kept)
        self._count += count
        self._bytes += size_bytes
        self._latency_ms_total += latency_ms * count
        self._latency_ms_max = max(self._latency_ms_max, latency_ms)
        self._window_count += count
        self._window_bytes += size_bytes
        self._window_latency_ms_total += latency_ms * count
        self._window_latency_ms_max = max(self._window_latency_ms_max, latency_ms)
        if now - self._window_started >= self._interval_seconds:
            self._end_window(now)

    def _end_window(self, now: float) -> None:
        if self._steady_state and self._count == self._window_count:
            print("In steady state.")
        if not self._silent:
            print(self.window_line(now - self._window_started), flush=True)
        self._new_window(now)

    def window_line(self, elapsed_seconds: float) -> str:
        """The line for the interval that ends now."""
        return (
            f"{self._window_count} records sent, {self._window_count / elapsed_seconds:.1f} records/sec "
            f"({self._window_bytes / elapsed_seconds / _MEGABYTE:.2f} MB/sec), "
            f"{self._window_latency_ms_total / self._window_count:.1f} ms avg latency, "
            f"{self._window_latency_ms_max:.1f} ms max latency."
        )

    def print_total(self) -> None:
        """Print the line for the whole test."""
        print(self.total_line(time.time() - self._started), flush=True)

    def total_line(self, elapsed_seconds: float) -> str:
        """The line for the whole test."""
        elapsed_seconds = max(elapsed_seconds, 0.001)
        percentiles = ", ".join(
            f"{value} ms {name}"
            for value, name in zip(
                percentile_values(self._latencies_ms), ("50th", "95th", "99th", "99.9th"), strict=True
            )
        )
        return (
            f"{self._count}{' steady state' if self._steady_state else ''} records sent, "
            f"{self._count / elapsed_seconds:f} records/sec "
            f"({self._bytes / elapsed_seconds / _MEGABYTE:.2f} MB/sec), "
            f"{self._latency_ms_total / max(self._count, 1):.2f} ms avg latency, "
            f"{self._latency_ms_max:.2f} ms max latency, {percentiles}."
        )


class ProducerMetrics:
    """Totals of a producer, under Kafka's names of its metrics."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._records = 0
        self._bytes = 0
        self._batches = 0
        self._latency_ms_total = 0
        self._latency_ms_max = 0

    def add(self, delivered: Deliveries, batch_bytes: int) -> None:
        """A batch was acknowledged."""
        self._records += delivered.records
        self._bytes += batch_bytes
        self._batches += 1
        self._latency_ms_total += delivered.latency_ms
        self._latency_ms_max = max(self._latency_ms_max, delivered.latency_ms)

    def values(self) -> dict[str, float]:
        seconds = max(time.monotonic() - self._started, 0.001)
        batches = max(self._batches, 1)
        return {
            "batch-size-avg": self._bytes / batches,
            "batch-total": self._batches,
            "byte-rate": self._bytes / seconds,
            "byte-total": self._bytes,
            "record-error-total": 0,
            "record-send-rate": self._records / seconds,
            "record-send-total": self._records,
            "records-per-batch-avg": self._records / batches,
            "request-latency-avg": self._latency_ms_total / batches,
            "request-latency-max": self._latency_ms_max,
        }


def percentile_values(latencies_ms: list[int]) -> list[int]:
    """The latencies at Kafka's four percentiles; zeros when nothing was measured."""
    if not latencies_ms:
        return [0] * len(PRODUCER_PERCENTILES)
    ordered = sorted(latencies_ms)
    return [ordered[int(percentile * len(ordered))] for percentile in PRODUCER_PERCENTILES]


class Throttle:
    """Limits the records per second. A rate of zero or less is no limit."""

    _UNLIMITED = 1 << 30

    def __init__(self, records_per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = records_per_second
        self._clock = clock
        self._started = clock()

    def due(self, sent: int) -> int:
        """The number of records that may be sent now."""
        if self._rate <= 0:
            return self._UNLIMITED
        return int((self._clock() - self._started) * self._rate) + 1 - sent

    def seconds_until(self, sent: int) -> float:
        """The time until the next record may be sent."""
        if self._rate <= 0:
            return 0.0
        return max(0.0, self._started + sent / self._rate - self._clock())


CONSUMER_COLUMNS = (
    "data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, "
    "rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
)
SUMMARY_HEADER = f"start.time, end.time, {CONSUMER_COLUMNS}"
DETAILED_HEADER = f"time, threadId, {CONSUMER_COLUMNS}"


def consumer_summary_line(
    started: float, ended: float, size_bytes: int, count: int, join_ms: int, date_format: str
) -> str:
    """The one line of a consumer test."""
    elapsed_seconds = max(ended - started, 0.001)
    fetch_ms = int(elapsed_seconds * 1000) - join_ms
    megabytes = size_bytes / _MEGABYTE
    return (
        f"{format_date(started, date_format)}, {format_date(ended, date_format)}, {megabytes:.4f}, "
        f"{megabytes / elapsed_seconds:.4f}, {count}, {count / elapsed_seconds:.4f}, {join_ms}, {fetch_ms}, "
        f"{_per_second(megabytes, fetch_ms):.4f}, {_per_second(count, fetch_ms):.4f}"
    )


class Progress:
    """The bytes and records that a consumer test has read at one time."""

    def __init__(self, now: float, size_bytes: int = 0, count: int = 0) -> None:
        self.now = now
        self.size_bytes = size_bytes
        self.count = count


def consumer_progress_line(last: Progress, current: Progress, join_ms: int, date_format: str) -> str:
    """The line for one interval of a consumer test."""
    elapsed_ms = max(1, int((current.now - last.now) * 1000))
    fetch_ms = elapsed_ms - join_ms
    megabytes = (current.size_bytes - last.size_bytes) / _MEGABYTE
    count = current.count - last.count
    return (
        f"{format_date(current.now, date_format)}, 0, {current.size_bytes / _MEGABYTE:.4f}, "
        f"{_per_second(megabytes, elapsed_ms):.4f}, {current.count}, {_per_second(count, elapsed_ms):.4f}, "
        f"{join_ms}, {fetch_ms}, {_per_second(megabytes, fetch_ms):.4f}, {_per_second(count, fetch_ms):.4f}"
    )


def _per_second(amount: float, elapsed_ms: int) -> float:
    return 1000.0 * amount / elapsed_ms if elapsed_ms > 0 else 0.0


def format_date(seconds: float, pattern: str) -> str:
    """A local time by a SimpleDateFormat pattern: the fields of dates and times of day."""
    moment = datetime.fromtimestamp(seconds)
    fields = {
        "y": moment.year,
        "M": moment.month,
        "d": moment.day,
        "H": moment.hour,
        "m": moment.minute,
        "s": moment.second,
        "S": moment.microsecond // 1000,
    }
    pieces = []
    position = 0
    while position < len(pattern):
        letter = pattern[position]
        end = position
        while end < len(pattern) and pattern[end] == letter:
            end += 1
        if letter in fields:
            pieces.append(_date_field(letter, fields[letter], end - position))
        else:
            pieces.append(pattern[position:end].replace("'", ""))
        position = end
    return "".join(pieces)


def _date_field(letter: str, number: int, width: int) -> str:
    if letter == "y" and width == 2:
        return f"{number % 100:02d}"
    return f"{number:0{width}d}"
