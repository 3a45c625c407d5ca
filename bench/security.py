"""The cost of encryption, logins and rights: TLS traffic, connections that log in, access control lists.

- Both brokers have the same RSA key of 2048 bits. The load allows only TLS 1.3 with AES-256-GCM and X25519,
  and resumes no session.
- TLS traffic is that of `measures.py`. The load is OpenSSL in C (`load.c`). It has one of the two cores, so
  the page names a measure in which the load was busy nearly all the time: the broker could have done more.
- A connection of a client is TCP, a whole handshake, ApiVersions, and the login (`logins.c`).
- The rules are measured on two Gralha brokers, one of which has no authorizer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from bench.acls import measure_acls
from bench.frames import batch, fetch_frame, produce_frame
from bench.load import Load, run_load
from bench.measures import (
    BATCHED_IN_FLIGHT,
    CONNECTIONS,
    FETCHES,
    GB,
    MB,
    REMOVE_SOON,
    TITLES,
    Makers,
    Say,
    compared,
    cpu_seconds,
    tell,
    topic_on_each,
)
from bench.rounds import PAIRS, Results, alternate, merge, warm_up_or_say
from bench.secured import MECHANISMS, Secured, log_in, logged_in, secured

# The load is the limit if it was busy for more than this part of the time.
BUSY = 0.95
LOGINS = 2_000
LOGIN_THREADS = 8
WARM_UP_LOGINS = 500
IDLE = 5_000
MANY_CONNECTIONS = {
    "max.connections": "20000",
    "max.connections.per.ip": "20000",
    "socket.listen.backlog.size": "4096",
}


@dataclass(frozen=True)
class Encrypted:
    """Produce requests under TLS, and perhaps fetches of their records."""

    name: str
    records: int
    requests: int
    fetches: int = 0


SHAPES = [Encrypted("tls_small_batches", 16, 20_000), Encrypted("tls_large_batches", 100, 4_000, FETCHES)]


def measure_security(makers: Makers, say: Say, scale: float = 1.0) -> dict[str, Results]:
    results: dict[str, Results] = {}

    def take(taken: dict[str, Results]) -> None:
        tell(say, taken)
        merge(results, taken)

    with secured(makers, {**REMOVE_SOON, **MANY_CONNECTIONS}) as brokers:
        for shape in SHAPES:
            for taken in encrypted(say, brokers, shape, scale):
                take(taken)
        for mechanism in MECHANISMS:
            take(logins(say, brokers, mechanism, scale))
    # New brokers, because others have memory of the measures before.
    with secured(makers, MANY_CONNECTIONS) as brokers:
        take({name: memory_of_idle(broker) for name, broker in brokers.items()})
    if "gralha" in makers:
        take({"gralha": measure_acls(say, scale)})
    return results


class Watched:
    """Runs a load. The page says if the load was the limit and not the broker."""

    def __init__(self, say: Say, measure: str, run: Callable[[Secured, int], Load]) -> None:
        self._say = say
        self._measure = measure
        self._run = run
        self._is_said: set[str] = set()

    def __call__(self, broker: Secured, requests: int) -> Load:
        load = self._run(broker, requests)
        title = type(broker).__name__
        if load.cpu_seconds > BUSY * load.seconds and title not in self._is_said:
            self._is_said.add(title)
            self._say(f"{self._measure}: the load was the limit for {title}, not the broker", on_page=True)
        return load


def encrypted(
    say: Say, brokers: dict[str, Secured], shape: Encrypted, scale: float
) -> list[dict[str, Results]]:
    records = batch(shape.records, 1000)
    topic = shape.name.replace("_", "-")

    def run(broker: Secured, requests: int) -> Load:
        frames = [produce_frame(topic, partition, records) for partition in range(CONNECTIONS)]
        return run_load(broker.tls_port, frames, requests, BATCHED_IN_FLIGHT, tls=True)

    def results_of(load: Load, cpu_s: float) -> Results:
        return rates(shape.name, load, cpu_s, load.requests * len(records))

    with topic_on_each(brokers, topic, CONNECTIONS, records):
        watched = Watched(say, shape.name, run)
        taken = [compared(say, shape.name, brokers, watched, shape.requests, scale, results_of)]
        if shape.fetches:
            taken.append(encrypted_fetches(say, brokers, shape, len(records), scale))
    return taken


def encrypted_fetches(
    say: Say, brokers: dict[str, Secured], shape: Encrypted, batch_bytes: int, scale: float
) -> dict[str, Results]:
    """Read what was just written, up to 1 MB for each request. Only whole batches count."""
    frames = [fetch_frame(shape.name.replace("_", "-"), partition) for partition in range(CONNECTIONS)]
    batches_per_fetch = (1 << 20) // batch_bytes
    step = batches_per_fetch * shape.records
    # The last round alone has written this many.
    limit = (int(shape.requests * scale) // CONNECTIONS // batches_per_fetch - 1) * step

    def run(broker: Secured, requests: int) -> Load:
        return run_load(broker.tls_port, frames, requests, 1, offset_step=step, offset_limit=limit, tls=True)

    def results_of(load: Load, cpu_s: float) -> Results:
        usable_bytes = load.requests * batches_per_fetch * batch_bytes
        if load.received_bytes < usable_bytes:
            raise RuntimeError(f"only {load.received_bytes} bytes came where {usable_bytes} should")
        return rates("tls_fetch", load, cpu_s, usable_bytes)

    watched = Watched(say, "tls_fetch", run)
    return compared(say, "tls_fetch", brokers, watched, shape.fetches, scale, results_of)


def rates(name: str, load: Load, cpu_s: float, size_bytes: int) -> Results:
    return {
        f"{name}_mb_s": size_bytes / MB / load.seconds,
        f"{name}_cpu_s_gb": cpu_s / (size_bytes / GB),
        f"{name}_load_busy": load.cpu_seconds / load.seconds,
    }


def logins(say: Say, brokers: dict[str, Secured], mechanism: str, scale: float) -> dict[str, Results]:
    """Connections that log in, per second."""
    name = f"logins_{mechanism.replace('-', '_').lower()}"

    def window(broker: Secured) -> float:
        done = log_in(broker, mechanism, WARM_UP_LOGINS, LOGIN_THREADS)
        return done.logins / done.seconds

    def take(broker: Secured) -> Results:
        before = cpu_seconds(broker)
        done = log_in(broker, mechanism, int(LOGINS * scale), LOGIN_THREADS)
        return {
            f"{name}_per_s": done.logins / done.seconds,
            f"{name}_cpu_ms": 1000 * (cpu_seconds(broker) - before) / done.logins,
            f"{name}_load_busy": done.cpu_seconds / done.seconds,
        }

    for title, broker in brokers.items():
        warm_up_or_say(say, TITLES[title], name, partial(window, broker))
    return alternate(brokers, take, PAIRS if scale == 1 else 1)


def memory_of_idle(broker: Secured) -> Results:
    """The resident memory of a broker with many idle connections, all of which have logged in."""
    with logged_in(broker, MECHANISMS[-1], IDLE, LOGIN_THREADS):
        return {f"idle_logins_{IDLE}_memory_mb": broker.process().memory_bytes() / MB}
