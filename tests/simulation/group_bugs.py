"""Known bugs of coordinators, put back: each function patches one in.

Each function imports what it patches: `bugs.py` has to load Gralha's sources first.
"""

from typing import Any

from tests.simulation.patching import patch


def answer_before_it_is_committed() -> None:
    """A response leaves before the in-sync replicas have its records."""
    from gralha.coordination.answers import Answers

    def release(self: Any) -> None:
        sent, self._sent = self._sent, []
        for call, response in sent:
            call.leave(response)

    patch(Answers, "release", release)


def serve_before_all_is_loaded() -> None:
    """A new coordinator does not read its partition before it decides."""
    from gralha.coordination.runtime import Runtime

    async def read_nothing(self: Any) -> None:
        pass

    patch(Runtime, "_replay_log", read_nothing)


def take_commits_of_old_generations() -> None:
    """A member that was removed from its group can still commit."""
    from gralha.groups.offset_commits import OffsetCommits

    patch(OffsetCommits, "_check", lambda self, *args: None)


def give_what_another_member_has() -> None:
    """A member gets a partition before the other member has given it back."""
    from gralha.groups import reconciliation

    advance = reconciliation._advance

    def advance_at_once(member: Any, target: Any, owned: Any) -> Any:
        free = reconciliation.Target(target.epoch, target.assignment, target.subscribed, lambda *_: False)
        return advance(member, free, owned)

    patch(reconciliation, "_advance", advance_at_once)
