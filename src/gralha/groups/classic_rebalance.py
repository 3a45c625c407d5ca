"""The rebalance of a classic group, and the timers that end its phases.

    session   A member has sent nothing for too long. It is removed.
    join      The time to join again is over. Dynamic members that have not joined are removed.
    sync      The time to sync is over. Members that have not asked for their assignment are removed.

When members go, for whatever reason, the coordinator writes the group's record without them at once.
Otherwise the next coordinator would find them again, with a new session. If the record cannot be written, the
members stay in the group; a timer that wanted to remove them tries again. Nothing else is written here: a new
generation is written with its assignment (classic.py).
"""

from collections.abc import Callable, Collection, Hashable
from typing import Final

from gralha.coordination.decision import NOTHING, Decision
from gralha.coordination.timers import Timers
from gralha.groups.classic_group import ClassicGroup, ClassicState
from gralha.groups.classic_member import ClassicMember
from gralha.groups.classic_records import empty_record, removal_record
from gralha.groups.config import GroupsConfig
from gralha.groups.group import Group
from gralha.groups.records import GroupDecision, GroupRecord
from gralha.protocol.errors import KafkaError, RebalanceInProgressError
from gralha.protocol.messages.join_group import JoinGroupResponse
from gralha.protocol.messages.sync_group import SyncGroupResponse

# A member may allow no time at all for a rebalance. While all members are static and absent, the coordinator
# would do nothing but wait for them again and again.
WAIT_MIN_MS: Final = 100

Phase = Callable[[ClassicGroup, int], None]


class ClassicRebalance:
    """Moves groups from phase to phase. A timer looks its group up in `groups`: the group may be gone."""

    def __init__(self, groups: dict[str, Group], timers: Timers, config: GroupsConfig) -> None:
        self._groups = groups
        self._timers = timers
        self._config = config

    # Sessions

    def start_session(
        self, group: ClassicGroup, member: ClassicMember, now_ms: int, timeout_ms: int | None = None
    ) -> None:
        """The member is alive: start its session again."""
        if timeout_ms is None:
            timeout_ms = member.session_timeout_ms
        self.start_session_of_id(group, member.member_id, now_ms + timeout_ms)

    def start_session_of_id(self, group: ClassicGroup, member_id: str, deadline_ms: int) -> None:
        """Start the session of an id. The id may not be a member's yet."""
        group_id = group.group_id
        self._timers.schedule(
            _session_key(group_id, member_id),
            deadline_ms,
            lambda now_ms: self._session_ended(group_id, member_id, now_ms),
        )

    def end_session(self, group: ClassicGroup, member_id: str) -> None:
        """Cancel the timer of a session."""
        self._timers.cancel(_session_key(group.group_id, member_id))

    def cancel_timers(self, group: ClassicGroup) -> None:
        """Cancel all timers of a group that goes, or becomes a group of another kind."""
        for member_id in [*group.members, *group.pending_members]:
            self.end_session(group, member_id)
        self._cancel_phase(group)

    def _cancel_phase(self, group: ClassicGroup) -> None:
        self._timers.cancel(_join_key(group.group_id))
        self._timers.cancel(_sync_key(group.group_id))

    def _session_ended(self, group_id: str, member_id: str, now_ms: int) -> GroupDecision:
        group = self._group(group_id)
        if group is None:
            return NOTHING
        member = group.members.get(member_id)
        if member is not None and _is_kept_waiting(group, member):
            return NOTHING  # it waits for us; its session starts again with the answer
        if member is not None:
            return self.remove(group, [member_id], now_ms)
        self.forget_id(group, member_id, now_ms)
        return NOTHING

    def forget_id(self, group: ClassicGroup, member_id: str, now_ms: int) -> None:
        """No member will join with an id that was handed out. A rebalance need not wait for it."""
        self.end_session(group, member_id)
        group.pending_members.discard(member_id)
        if group.state is ClassicState.PREPARING_REBALANCE:
            self._complete_if_everybody_joined(group, now_ms)

    # Members that go

    def remove(self, group: ClassicGroup, member_ids: Collection[str], now_ms: int) -> GroupDecision:
        """Remove members that have left or expired. The others rebalance."""
        return self._remove(group, member_ids, now_ms, self.next_phase(group))

    def _remove(
        self, group: ClassicGroup, member_ids: Collection[str], now_ms: int, go_on: Phase
    ) -> GroupDecision:
        leader_id = group.leader_id

        def then() -> None:
            for member_id in member_ids:  # some of them may be in no record
                self.end_session(group, member_id)
                group.remove(member_id)
            if group.is_empty:
                self._cancel_phase(group)
                return
            group.keep_leader(leader_id)
            go_on(group, now_ms)

        return Decision(records=self._removal(group, frozenset(member_ids), now_ms), then=then)

    def _removal(self, group: ClassicGroup, gone: frozenset[str], now_ms: int) -> list[GroupRecord]:
        if group.members and group.members.keys() <= gone:
            return [empty_record(group, now_ms)]
        if any(member.member_id in gone for member in group.written.members):
            return [removal_record(group, gone, now_ms)]
        return []  # the log does not know of them

    # Joining

    def next_phase(self, group: ClassicGroup) -> Phase:
        """The step after a change of members: start a rebalance, or complete one if all have joined.

        Call this before the change: a record without a leader puts the group into PreparingRebalance.
        """
        if group.state is ClassicState.PREPARING_REBALANCE:
            return self._complete_if_everybody_joined
        return self.prepare

    def prepare_or_complete(self, group: ClassicGroup, now_ms: int) -> None:
        """A member has joined: start a rebalance, or complete the present one if all have joined."""
        self.next_phase(group)(group, now_ms)

    def _complete_if_everybody_joined(self, group: ClassicGroup, now_ms: int) -> None:
        # The first rebalance of a group waits for the end of its delay, because more members may join.
        if group.has_everybody_joined and not group.is_initial_rebalance:
            self._complete_join(group, now_ms)

    def prepare(self, group: ClassicGroup, now_ms: int) -> None:
        """Start a rebalance: all members must join again. Their next heartbeats tell them so."""
        self.fail_assignment(group, RebalanceInProgressError(), now_ms)
        self._timers.cancel(_sync_key(group.group_id))
        group.prepare_rebalance(now_ms)
        if group.is_initial_rebalance:
            delay_ms = self._config.group_initial_rebalance_delay_ms
            self._delay_join(group, delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0), now_ms)
        elif group.has_everybody_joined:
            self._complete_join(group, now_ms)
        else:
            self._wait_for_joins(group, now_ms)

    def _wait_for_joins(self, group: ClassicGroup, now_ms: int) -> None:
        group_id = group.group_id
        self._timers.schedule(
            _join_key(group_id),
            now_ms + max(group.rebalance_timeout_ms, WAIT_MIN_MS),
            lambda later_ms: self._joins_ended(group_id, later_ms),
        )

    def _delay_join(self, group: ClassicGroup, delay_ms: int, remaining_ms: int, now_ms: int) -> None:
        """Give more members the time to join a new group. Otherwise it would rebalance for each (KIP-134)."""
        group_id = group.group_id
        self._timers.schedule(
            _join_key(group_id),
            now_ms + delay_ms,
            lambda later_ms: self._delay_ended(group_id, delay_ms, remaining_ms, later_ms),
        )

    def _delay_ended(self, group_id: str, delay_ms: int, remaining_ms: int, now_ms: int) -> GroupDecision:
        group = self._group(group_id, ClassicState.PREPARING_REBALANCE)
        if group is None:
            return NOTHING
        if not group.has_joined_during_delay or remaining_ms == 0:
            return self._joins_ended(group_id, now_ms)
        group.has_joined_during_delay = False
        next_delay_ms = min(self._config.group_initial_rebalance_delay_ms, remaining_ms)
        self._delay_join(group, next_delay_ms, max(remaining_ms - delay_ms, 0), now_ms)
        return NOTHING

    def _joins_ended(self, group_id: str, now_ms: int) -> GroupDecision:
        """The time to join is over. Remove dynamic members that have not joined; static ones may be away."""
        group = self._group(group_id, ClassicState.PREPARING_REBALANCE)
        if group is None:
            return NOTHING
        late = [
            member.member_id
            for member in group.members.values()
            if not member.is_static and member.member_id not in group.waiting_joins
        ]
        return self._remove(group, late, now_ms, self._complete_join)

    def _complete_join(self, group: ClassicGroup, now_ms: int) -> None:
        """Begin the next generation, and answer all members that have joined."""
        self._timers.cancel(_join_key(group.group_id))
        if not group.elect_joined_leader():
            self._wait_for_joins(group, now_ms)  # all members are static and away: nobody can assign
            return
        group.start_generation(now_ms)
        for member in group.members.values():
            group.answer_join(member.member_id, joined(group, member.member_id))
            member.is_new = False
            self.start_session(group, member, now_ms)
        group_id, generation = group.group_id, group.generation
        self._timers.schedule(
            _sync_key(group_id),
            now_ms + group.rebalance_timeout_ms,
            lambda later_ms: self._syncs_ended(group_id, generation, later_ms),
        )

    # Syncing

    def synced(self, group: ClassicGroup, member_id: str) -> None:
        """A member has asked for its assignment."""
        group.pending_sync_members.discard(member_id)
        if not group.pending_sync_members:
            self._timers.cancel(_sync_key(group.group_id))

    def announce_assignment(self, group: ClassicGroup, now_ms: int) -> None:
        """The leader's assignment is written: send it to the members that wait."""
        for member in group.members.values():
            reply = group.waiting_syncs.pop(member.member_id, None)
            if reply is not None:
                reply.send(assigned(group, member))
                self.start_session(group, member, now_ms)

    def fail_assignment(self, group: ClassicGroup, error: KafkaError, now_ms: int) -> None:
        """Answer members that wait for an assignment with an error. Their old assignments stay (KIP-429)."""
        for member in group.members.values():
            reply = group.waiting_syncs.pop(member.member_id, None)
            if reply is not None:
                reply.fail(error)
                self.start_session(group, member, now_ms)

    def _syncs_ended(self, group_id: str, generation: int, now_ms: int) -> GroupDecision:
        """The time to sync is over. Remove members that have not synced; the group may be stuck."""
        group = self._group(group_id)
        if group is None or group.generation != generation or not group.pending_sync_members:
            return NOTHING
        stuck = [member_id for member_id in group.members if member_id in group.pending_sync_members]
        return self.remove(group, stuck, now_ms)

    def _group(self, group_id: str, state: ClassicState | None = None) -> ClassicGroup | None:
        """The group of a timer, if it still exists and is in that state."""
        group = self._groups.get(group_id)
        if not isinstance(group, ClassicGroup) or state not in (None, group.state):
            return None
        return group


def joined(group: ClassicGroup, member_id: str) -> JoinGroupResponse:
    """The answer to a JoinGroup. Only the leader learns the other members."""
    return JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader_id or "",
        member_id=member_id,
        members=group.member_list() if group.is_leader(member_id) else [],
    )


def assigned(group: ClassicGroup, member: ClassicMember) -> SyncGroupResponse:
    """The answer to a SyncGroup."""
    return SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol_name, assignment=member.assignment
    )


def _is_kept_waiting(group: ClassicGroup, member: ClassicMember) -> bool:
    """Whether a member is silent because it waits for us. A new member may have gone long ago."""
    if member.is_new:
        return False
    return member.member_id in group.waiting_joins or member.member_id in group.waiting_syncs


def _session_key(group_id: str, member_id: str) -> Hashable:
    return "classic session", group_id, member_id


def _join_key(group_id: str) -> Hashable:
    return "classic join", group_id


def _sync_key(group_id: str) -> Hashable:
    return "classic sync", group_id
