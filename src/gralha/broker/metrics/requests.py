"""The metrics of requests, by API: Kafka's RequestMetrics."""

from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Final, NamedTuple

from gralha.broker.metrics.exposition import (
    Distribution,
    Pieces,
    Sample,
    counter,
    family_text,
    histogram,
    histogram_text,
    labels,
)
from gralha.broker.request_meters import FETCH, LIMITS_MS, ApiMeter, Durations, RequestMeters
from gralha.protocol.apis import APIS, ApiKey
from gralha.protocol.errors import ErrorCode

_PREFIX: Final = "kafka_network_requestmetrics"
REQUESTS: Final = counter(f"{_PREFIX}_requests_total", "Requests, by API and version.")
ERRORS: Final = counter(f"{_PREFIX}_errors_total", "Error codes in responses, by API. NONE is a success.")
REQUEST_BYTES: Final = counter(f"{_PREFIX}_requestbytes_total", "Bytes of requests.")
QUEUE_TIME: Final = histogram(
    f"{_PREFIX}_requestqueuetimems",
    "Milliseconds from the arrival of a request until its handler began.",
)
TOTAL_TIME: Final = histogram(
    f"{_PREFIX}_totaltimems",
    "Milliseconds from the arrival of a request until its response went to the socket.",
)


class Named(NamedTuple):
    """Meters under a name that Kafka uses. "Fetch" has those of consumers and of followers."""

    name: str
    meters: list[ApiMeter]


def named_meters(meters: RequestMeters) -> list[Named]:
    """All APIs that were used."""
    found: list[Named] = []
    for key, meter in enumerate(meters.by_key):
        if key == FETCH:
            follower = meters.follower_fetch
            used = [one for one in (meter, follower) if one is not None and any(one.versions())]
            if meter is not None:
                found.append(Named("FetchConsumer", [meter]))
            if follower in used:
                found.append(Named("FetchFollower", [follower]))
            if used:
                found.append(Named("Fetch", used))
        elif meter is not None:
            found.append(Named(_name(key), [meter]))
    return found


def request_metrics(meters: RequestMeters) -> Pieces:
    named = named_meters(meters)
    yield from family_text(REQUESTS, _requests(named))
    yield from family_text(ERRORS, _errors(named))
    yield from family_text(REQUEST_BYTES, _bytes(named))
    yield from histogram_text(QUEUE_TIME, _times(named, lambda meter: meter.queue))
    yield from histogram_text(TOTAL_TIME, _times(named, lambda meter: meter.total))


def _requests(named: list[Named]) -> Iterator[Sample]:
    for name, meters in named:
        columns = zip_longest(*(meter.versions() for meter in meters), fillvalue=0)
        for version, counts in enumerate(columns):
            if any(counts):
                yield labels(request=name, version=version), sum(counts)


def _errors(named: list[Named]) -> Iterator[Sample]:
    for name, meters in named:
        yield labels(request=name, error=ErrorCode.NONE.name), sum(int(meter.successes) for meter in meters)
        for code in sorted({code for meter in meters for code in meter.errors}):
            yield labels(request=name, error=_error(code)), sum(meter.errors.get(code, 0) for meter in meters)


def _bytes(named: list[Named]) -> Iterator[Sample]:
    for name, meters in named:
        yield labels(request=name), sum(int(meter.request_bytes) for meter in meters)


def _times(named: list[Named], which: Callable[[ApiMeter], Durations]) -> Iterator[Distribution]:
    for name, meters in named:
        durations = [which(meter) for meter in meters]
        counts = [sum(column) for column in zip(*(one.counts() for one in durations), strict=True)]
        yield Distribution(
            labels(request=name), LIMITS_MS, counts, 1000 * sum(one.sum_s for one in durations)
        )


def _name(key: int) -> str:
    definition = APIS.get(ApiKey(key))
    return definition.name if definition is not None else ApiKey(key).name


def _error(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return str(code)
