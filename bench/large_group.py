"""A classic group of 500 members, each on its own connection: the time until it is stable, its heartbeats.

All members join at once. The group is stable when all members have an assignment in the same
generation. The broker does not wait for more members before the first rebalance, so the group is rebalanced
several times before. Members notice a rebalance by their heartbeats, ten a second.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence

from tests.cluster.many_groups import BROKER_CONFIG, ClassicMember, Line, Member, wait_for_coordinator

from bench.frames import batch
from bench.groups import alternated, check_all, heartbeats
from bench.measures import Broker, Makers, Say, port_of, running, tell, topic_on_each
from bench.rounds import Results, medians
from gralha.protocol.errors import ErrorCode

MEMBERS = 500
TOPIC = "large-group"
SESSION_TIMEOUT_MS = 60_000
POLL_S = 0.1
HEARTBEAT_INTERVAL_S = 0.5  # a thousand a second
WARM_UP_S = 5.0
ROUND_S = 5.0
FORMED = 3  # how many groups are formed one after the other; the median time counts


def measure_large_group(makers: Makers, say: Say, scale: float = 1.0) -> dict[str, Results]:
    with running(makers, BROKER_CONFIG) as brokers, topic_on_each(brokers, TOPIC, 1, batch(1, 10)):
        results = asyncio.run(measured(brokers, scale))
    tell(say, results)
    return results


async def measured(brokers: Mapping[str, Broker], scale: float) -> dict[str, Results]:
    results: dict[str, Results] = {}
    members: dict[str, Sequence[Member]] = {}
    async with contextlib.AsyncExitStack() as stack:
        for name, broker in brokers.items():
            stable: list[Results] = []
            for number in range(FORMED):
                members[name], seconds = await formed(port_of(broker), f"large-{number}", stack)
                stable.append({"large_group_stable_s": seconds})
            results[name] = medians(stable)
            await heartbeats(members[name], HEARTBEAT_INTERVAL_S, WARM_UP_S)
        taken = await alternated(members, HEARTBEAT_INTERVAL_S, ROUND_S, scale)
        await check_all(members)
    for name, rounds in taken.items():
        median = medians(rounds)
        results[name] |= {f"large_group_heartbeat_{share}_ms": value for share, value in median.items()}
    return results


async def formed(port: int, group: str, stack: contextlib.AsyncExitStack) -> tuple[list[Member], float]:
    """Form a new stable group. Returns it, and the seconds that this took."""
    loop = asyncio.get_running_loop()
    lines: list[Line] = []
    for _ in range(MEMBERS):
        _, line = await loop.create_connection(Line, "127.0.0.1", port)
        stack.callback(line.close)
        lines.append(line)
    await wait_for_coordinator(lines[0], [group])
    members = [ClassicMember(line, group) for line in lines]
    synced: dict[str, int] = {}  # the generation of a member's assignment
    started = time.perf_counter()

    def is_stable() -> bool:
        return len(synced) == MEMBERS and len(set(synced.values())) == 1

    async def settle(member: ClassicMember) -> None:
        while not is_stable():
            joined = await member.join(TOPIC, SESSION_TIMEOUT_MS)
            code = await member.sync(joined, TOPIC)
            if code == ErrorCode.NONE:
                synced[member.member_id] = member.generation_id
            while code == ErrorCode.NONE and not is_stable():
                await asyncio.sleep(POLL_S)
                code = await member.heartbeat()
            if code not in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
                raise RuntimeError(f"the coordinator answered {ErrorCode(code).name}")

    async def watch() -> float:
        while not is_stable():
            await asyncio.sleep(0.005)
        return time.perf_counter() - started

    watching = asyncio.ensure_future(watch())
    await asyncio.gather(*map(settle, members))
    return list(members), await watching
