"""Heartbeats of a thousand groups: how soon each one is answered.

Every member sends one each three seconds, as consumers do by default, so there are a thousand a second at
even distances. A latency counts from the moment a heartbeat was due, not from when it got its turn: a
broker that stops for a while must not gain by keeping the others from being sent.
"""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable, Sequence

from tests.cluster.many_groups import BROKER_CONFIG, MEMBERS_PER_GROUP, Line, Member, encoded, many_groups

from bench.measures import Broker, Results, port_of, topic_with_partitions

GROUPS = 1000
HEARTBEAT_INTERVAL_S = 3.0
WARM_UP_S = 6.0
MEASURED_S = 15.0


def measure_groups(
    make_broker: Callable[..., Broker], say: Callable[[str], None], scale: float = 1.0
) -> Results:
    with make_broker(config=BROKER_CONFIG) as broker, topic_with_partitions(broker, "groups", 3) as topic:
        results = asyncio.run(measured(port_of(broker), topic, scale))
    say(", ".join(f"{name} {value:.4g}" for name, value in results.items()))
    return results


async def measured(port: int, topic: str, scale: float) -> Results:
    async with many_groups(port, GROUPS, topic) as groups:
        await heartbeats(groups, WARM_UP_S)
        latencies = sorted(await heartbeats(groups, MEASURED_S * scale))
        for code in await asyncio.gather(*[member.heartbeat() for group in groups for member in group]):
            if code != 0:
                raise RuntimeError(f"a member was lost: error code {code}")
    return {
        "heartbeat_p50_ms": 1000 * latencies[len(latencies) // 2],
        "heartbeat_p99_ms": 1000 * latencies[len(latencies) * 99 // 100],
    }


async def heartbeats(groups: Sequence[Sequence[Member]], seconds: float) -> list[float]:
    """Send heartbeats of all members, evenly, for so long; returns the latency of each in seconds."""
    # The members of a group in different thirds of the interval, as they would be by chance.
    members = [group[number] for number in range(MEMBERS_PER_GROUP) for group in groups]
    frames: list[tuple[Line, bytes]] = [
        (member.line, encoded(member.heartbeat_request())) for member in members
    ]
    latencies: list[float] = []

    def answered(due: float, answer: asyncio.Future[bytes]) -> None:
        latencies.append(time.perf_counter() - due)

    answers: list[asyncio.Future[bytes]] = []
    started = time.perf_counter()
    gap_s = HEARTBEAT_INTERVAL_S / len(members)
    for number in range(int(seconds / gap_s)):
        due = started + number * gap_s
        while (early_s := due - time.perf_counter()) > 0:
            await asyncio.sleep(early_s)
        line, frame = frames[number % len(frames)]
        answers.append(line.send(frame))
        answers[-1].add_done_callback(functools.partial(answered, due))
    await asyncio.gather(*answers)
    return latencies
