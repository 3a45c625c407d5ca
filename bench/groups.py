"""Heartbeats of a thousand groups: their latency.

Every member sends a heartbeat every three seconds, a consumer's default. That is a thousand a second, evenly
distributed. A latency begins when the heartbeat was due, not when it was sent. So a broker that stops for a
while gets no better result because later heartbeats are sent late.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import time
from collections.abc import Mapping, Sequence

from tests.cluster.many_groups import BROKER_CONFIG, MEMBERS_PER_GROUP, Line, Member, encoded, many_groups

from bench.frames import batch
from bench.measures import Broker, Makers, Say, port_of, running, tell, topic_on_each
from bench.rounds import PAIRS, Results, medians, turns

GROUPS = 1000
HEARTBEAT_INTERVAL_S = 3.0
WARM_UP_S = 6.0
ROUND_S = 5.0
TOPIC = "groups"


def measure_groups(makers: Makers, say: Say, scale: float = 1.0) -> dict[str, Results]:
    with running(makers, BROKER_CONFIG) as brokers, topic_on_each(brokers, TOPIC, 3, batch(1, 10)):
        results = asyncio.run(measured(brokers, scale))
    tell(say, results)
    return results


async def measured(brokers: Mapping[str, Broker], scale: float) -> dict[str, Results]:
    async with contextlib.AsyncExitStack() as stack:
        members: dict[str, list[Member]] = {}
        for name, broker in brokers.items():
            groups = await stack.enter_async_context(many_groups(port_of(broker), GROUPS, TOPIC))
            # The members of a group send in different thirds of the interval, as real ones would.
            members[name] = [group[number] for number in range(MEMBERS_PER_GROUP) for group in groups]
            await heartbeats(members[name], HEARTBEAT_INTERVAL_S, WARM_UP_S)
        taken = await alternated(members, HEARTBEAT_INTERVAL_S, ROUND_S, scale)
        await check_all(members)
    return {
        name: {f"heartbeat_{share}_ms": value for share, value in medians(rounds).items()}
        for name, rounds in taken.items()
    }


async def alternated(
    members: Mapping[str, Sequence[Member]], interval_s: float, round_s: float, scale: float
) -> dict[str, list[Results]]:
    """The brokers take turns with rounds of heartbeats. Returns p50 and p99 of each, in milliseconds."""
    taken: dict[str, list[Results]] = {name: [] for name in members}
    # A collection over the futures of all members would stop this program, and count as latency of a broker.
    gc.disable()
    for name in turns(list(members), PAIRS if scale == 1 else 1):
        gc.collect()
        latencies = sorted(await heartbeats(members[name], interval_s, round_s))
        p50, p99 = latencies[len(latencies) // 2], latencies[len(latencies) * 99 // 100]
        taken[name].append({"p50": 1000 * p50, "p99": 1000 * p99})
    gc.enable()
    return taken


async def check_all(members: Mapping[str, Sequence[Member]]) -> None:
    """Check that no group has lost a member."""
    everybody = [member for ones in members.values() for member in ones]
    for code in await asyncio.gather(*[member.heartbeat() for member in everybody]):
        if code != 0:
            raise RuntimeError(f"a member was lost: error code {code}")


async def heartbeats(members: Sequence[Member], interval_s: float, seconds: float) -> list[float]:
    """Send heartbeats of all members, evenly distributed. Returns the latency of each in seconds."""
    frames: list[tuple[Line, bytes]] = [
        (member.line, encoded(member.heartbeat_request())) for member in members
    ]
    latencies: list[float] = []

    def answered(due: float, answer: asyncio.Future[bytes]) -> None:
        latencies.append(time.perf_counter() - due)

    answers: list[asyncio.Future[bytes]] = []
    started = time.perf_counter()
    gap_s = interval_s / len(members)
    for number in range(int(seconds / gap_s)):
        due = started + number * gap_s
        while (early_s := due - time.perf_counter()) > 0:
            await asyncio.sleep(early_s)
        line, frame = frames[number % len(frames)]
        answers.append(line.send(frame))
        answers[-1].add_done_callback(functools.partial(answered, due))
    await asyncio.gather(*answers)
    return latencies
