"""The checker of groups: histories with an anomaly, and histories without one."""

from gralha.simulation.group_history import Commit, Fetched, GroupEvent, Owned, check_groups
from gralha.simulation.history import Event, Outcome, Poll, Send

OK, UNKNOWN = Outcome.OK, Outcome.UNKNOWN


def commit(offset: int, begun_at: float, completed_at: float, outcome: Outcome = OK) -> Commit:
    return Commit("g/m0.1", "g", "t-0", offset, begun_at, completed_at, outcome)


def fetched(offset: int, begun_at: float, completed_at: float) -> Fetched:
    return Fetched("g/m1.1", "g", "t-0", offset, begun_at, completed_at)


def owned(member: str, since: float, until: float, generation: int | None = None) -> Owned:
    return Owned(member, "g", "t-0", generation, since, until)


def kinds(events: list[GroupEvent], history: list[Event] | None = None) -> list[str]:
    return [anomaly.kind for anomaly in check_groups(events, history or [])]


def test_what_was_committed_is_fetched() -> None:
    assert kinds([commit(5, 1, 2), fetched(5, 3, 4)]) == []


def test_before_the_first_commit_there_is_no_offset() -> None:
    assert kinds([fetched(-1, 0, 1), commit(5, 2, 3)]) == []


def test_a_commit_that_is_gone() -> None:
    assert kinds([commit(5, 1, 2), fetched(-1, 3, 4)]) == ["commit-goes-back"]


def test_an_older_commit_comes_back() -> None:
    assert kinds([commit(5, 1, 2), commit(7, 3, 4), fetched(5, 5, 6)]) == ["commit-goes-back"]


def test_what_was_fetched_once_stays() -> None:
    events: list[GroupEvent] = [commit(5, 1, 2), commit(7, 3, 4, UNKNOWN), fetched(7, 5, 6), fetched(5, 7, 8)]
    assert kinds(events) == ["commit-goes-back"]


def test_a_commit_without_an_answer_may_have_happened_or_not() -> None:
    assert kinds([commit(5, 1, 2), commit(7, 3, 4, UNKNOWN), fetched(5, 5, 6)]) == []
    assert kinds([commit(5, 1, 2), commit(7, 3, 4, UNKNOWN), fetched(7, 5, 6)]) == []


def test_a_commit_and_a_fetch_at_the_same_time_may_come_in_any_order() -> None:
    assert kinds([commit(5, 1, 2), commit(7, 3, 6), fetched(5, 4, 5)]) == []


def test_an_offset_that_nobody_committed() -> None:
    assert kinds([commit(5, 1, 2), fetched(6, 3, 4)]) == ["commit-of-nobody"]


def test_two_owners_at_the_same_time() -> None:
    assert kinds([owned("g/m0.1", 1, 3), owned("g/m1.1", 2, 4)]) == ["two-owners"]
    assert kinds([owned("g/m0.1", 1, 9), owned("g/m1.1", 9, 10), owned("g/m2.1", 5, 6)]) == ["two-owners"]


def test_one_owner_after_the_other() -> None:
    assert kinds([owned("g/m0.1", 1, 2), owned("g/m1.1", 2, 4), owned("g/m0.1", 4, 5)]) == []


def test_two_owners_in_a_generation() -> None:
    assert kinds([owned("g/m0.1", 1, 1, 7), owned("g/m1.1", 9, 9, 7)]) == ["two-owners"]
    assert kinds([owned("g/m0.1", 1, 1, 7), owned("g/m1.1", 9, 9, 8)]) == []


def test_a_group_that_commits_past_a_record() -> None:
    sends: list[Event] = [Send("p", "t-0", f"v{one}", 0, 1, OK, one) for one in range(3)]
    some = Poll("g/m0.1", "t-0", ((0, "v0"), (2, "v2")), 1, 2)
    assert kinds([commit(3, 2, 3)], [*sends, some]) == ["unread-by-group"]
    rest = Poll("g/m1.4", "t-0", ((1, "v1"),), 1, 2)
    assert kinds([commit(3, 2, 3)], [*sends, some, rest]) == []
    other_group = rest._replace(process="h/m1.4")
    assert kinds([commit(3, 2, 3)], [*sends, some, other_group]) == ["unread-by-group"]
