"""The history of group members (commits, fetched offsets, owned partitions), and the check of that history.

    commit-goes-back   OffsetFetch returned an older offset than one that was acknowledged or returned before
    commit-of-nobody   OffsetFetch returned an offset that no member committed
    two-owners         a partition had two owners: in one generation of a classic group, or at the same time
                       in a consumer group
    unread-by-group    the group committed past a record that none of its members has read

Members begin at the committed offset and only go forward. The coordinator refuses commits of members that
have lost their partitions. So the committed offset of a partition only grows.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gralha.simulation.history import Anomaly, Event, Outcome, Poll, Send

NO_OFFSET = -1


class Commit(NamedTuple):
    process: str
    group: str
    partition: str
    offset: int
    begun_at: float
    completed_at: float
    outcome: Outcome


class Fetched(NamedTuple):
    """OffsetFetch returned an offset, or NO_OFFSET."""

    process: str
    group: str
    partition: str
    offset: int
    begun_at: float
    completed_at: float


class Owned(NamedTuple):
    """A member owned a partition: in a generation (classic group), or for a time (consumer group)."""

    process: str
    group: str
    partition: str
    generation: int | None
    since: float
    until: float


GroupEvent = Commit | Fetched | Owned
Key = tuple[str, str]  # group and partition


def check_groups(events: Iterable[GroupEvent], history: Iterable[Event]) -> list[Anomaly]:
    commits: dict[Key, list[Commit]] = defaultdict(list)
    fetches: dict[Key, list[Fetched]] = defaultdict(list)
    owned: dict[Key, list[Owned]] = defaultdict(list)
    for event in events:
        key = event.group, event.partition
        if isinstance(event, Commit):
            commits[key].append(event)
        elif isinstance(event, Fetched):
            fetches[key].append(event)
        else:
            owned[key].append(event)
    found: list[Anomaly] = []
    for key in fetches:
        found += _fetches(commits[key], fetches[key])
    for stretches in owned.values():
        found += _owners(stretches)
    found += _unread(commits, list(history))
    return found


def _fetches(commits: list[Commit], fetches: list[Fetched]) -> Iterator[Anomaly]:
    # OffsetFetch must not go back behind acknowledged commits and offsets that it has returned before.
    known = [(one.completed_at, one.offset, one) for one in commits if one.outcome is Outcome.OK]
    known_too = [(one.completed_at, one.offset, one) for one in fetches]
    facts: list[tuple[float, int, Commit | Fetched]] = sorted([*known, *known_too], key=lambda fact: fact[0])
    newest: tuple[float, int, Commit | Fetched] | None = None
    index = 0
    for fetched in sorted(fetches, key=lambda one: one.begun_at):
        while index < len(facts) and facts[index][0] < fetched.begun_at:
            if newest is None or facts[index][1] > newest[1]:
                newest = facts[index]
            index += 1
        where = f"{fetched.partition} of {fetched.group}"
        when = f"{fetched.process} was told {fetched.offset} at {fetched.completed_at:.3f}"
        if newest is not None and fetched.offset < newest[1]:
            detail = f"{when}; {newest[2].process} knew {newest[1]} at {newest[0]:.3f}"
            yield Anomaly("commit-goes-back", where, detail)
        if fetched.offset != NO_OFFSET and not any(
            one.offset == fetched.offset and one.begun_at < fetched.completed_at for one in commits
        ):
            yield Anomaly("commit-of-nobody", where, when)


def _owners(stretches: list[Owned]) -> Iterator[Anomaly]:
    by_generation: dict[int, Owned] = {}
    last: Owned | None = None
    for one in sorted(stretches, key=lambda one: (one.since, one.until)):
        where = f"{one.partition} of {one.group}"
        if one.generation is not None:
            first = by_generation.setdefault(one.generation, one)
            if first.process != one.process:
                detail = f"{first.process} and {one.process} in generation {one.generation}"
                yield Anomaly("two-owners", where, detail)
            continue
        if last is not None and one.since < last.until and last.process != one.process:
            detail = f"{last.process} from {last.since:.3f} to {last.until:.3f}, {one.process} since "
            yield Anomaly("two-owners", where, f"{detail}{one.since:.3f}")
        if last is None or one.until > last.until:
            last = one


def _unread(commits: dict[Key, list[Commit]], history: list[Event]) -> Iterator[Anomaly]:
    read: dict[Key, set[int]] = defaultdict(set)
    for event in history:
        if isinstance(event, Poll):
            group = event.process.partition("/")[0]
            read[group, event.partition].update(offset for offset, _ in event.records)
    for (group, partition), made in commits.items():
        end = max((one.offset for one in made if one.outcome is Outcome.OK), default=0)
        for event in history:
            if (
                isinstance(event, Send)
                and event.partition == partition
                and event.outcome is Outcome.OK
                and event.offset is not None
                and event.offset < end
                and event.offset not in read[group, partition]
            ):
                detail = f"{event.value} at offset {event.offset}, committed was {end}"
                yield Anomaly("unread-by-group", f"{partition} of {group}", detail)
