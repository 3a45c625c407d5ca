"""All groups and offsets of one partition of `__consumer_offsets`, in memory.

Each request goes to the part that decides it: `classic` and `consumer` for the two protocols,
`classic_members` and `conversion` if both meet in one group, `offset_commits` and `offsets` for offsets. The
parts share the groups and the timers. The runtime appends the records of their decisions to the log of the
partition, and replays them. It loads a shard by replaying the log.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Final, cast
from uuid import UUID

from gralha.coordination.decision import Decision, Reply
from gralha.coordination.producer import Producer
from gralha.coordination.timers import Timers
from gralha.groups import deletion, listing
from gralha.groups.caller import Caller
from gralha.groups.classic import ClassicProtocol
from gralha.groups.classic_group import ClassicGroup
from gralha.groups.classic_members import ClassicMembers
from gralha.groups.committed_offset import CommittedOffset
from gralha.groups.config import ConsumerGroupTimes, GroupsConfig
from gralha.groups.consumer import ConsumerProtocol
from gralha.groups.consumer_group import ConsumerGroup
from gralha.groups.conversion import Conversion
from gralha.groups.group import Group
from gralha.groups.offset_commits import OffsetCommits
from gralha.groups.offsets import Offsets
from gralha.groups.records import GROUP_CODEC, GroupDecision, GroupRecord, proof_of
from gralha.groups.topics import Topics
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from gralha.protocol.messages.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from gralha.protocol.messages.heartbeat import HeartbeatRequest
from gralha.protocol.messages.join_group import JoinGroupRequest
from gralha.protocol.messages.leave_group import LeaveGroupRequest
from gralha.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from gralha.protocol.messages.offset_commit import OffsetCommitRequest
from gralha.protocol.messages.offset_delete import OffsetDeleteRequest
from gralha.protocol.messages.offset_fetch import OffsetFetchRequestGroup
from gralha.protocol.messages.sync_group import SyncGroupRequest
from gralha.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest

EXPIRY: Final = "offsets.retention"


class GroupShard:
    codec = GROUP_CODEC

    def __init__(
        self,
        config: GroupsConfig,
        topics: Topics,
        times_of: Callable[[str], ConsumerGroupTimes],
        random: Random,
    ) -> None:
        self.groups: dict[str, Group] = {}
        self.timers = Timers()
        self._config = config

        def new_id() -> str:
            return str(UUID(int=random.getrandbits(128), version=4))

        self._classic = ClassicProtocol(self.groups, self.timers, config, new_id)
        conversion = Conversion(self.groups, config, topics, self._classic.rebalance)
        self._consumer = ConsumerProtocol(
            self.groups,
            self.timers,
            config,
            topics,
            times_of,
            new_id,
            upgrade=conversion.upgrade,
            downgrade=conversion.downgrade,
        )
        self._classic_members = ClassicMembers(
            self.groups, self.timers, config, topics, self._consumer, conversion, new_id
        )
        self._offsets = Offsets(self.groups, config, topics, ClassicGroup)
        self._commits = OffsetCommits(self.groups, config, topics, self._classic.touch)

    def committed_offsets(self, group_id: str) -> Mapping[str, Mapping[int, CommittedOffset]]:
        """The offsets that a group has committed, by topic and partition."""
        return self._offsets.all_of(group_id)

    # The classic protocol

    def join_group(
        self, caller: Caller, request: JoinGroupRequest, reply: Reply, now_ms: int
    ) -> GroupDecision:
        """A member joins; its answer comes with the next generation."""
        return self._classic_side(request.group_id).join_group(caller, request, reply, now_ms)

    def sync_group(
        self, caller: Caller, request: SyncGroupRequest, reply: Reply, now_ms: int
    ) -> GroupDecision:
        """A member asks for its assignment. The leader brings the assignments of all members."""
        return self._classic_side(request.group_id).sync_group(caller, request, reply, now_ms)

    def heartbeat(self, caller: Caller, request: HeartbeatRequest, now_ms: int) -> GroupDecision:
        """A member is alive."""
        return self._classic_side(request.group_id).heartbeat(caller, request, now_ms)

    def leave_group(self, caller: Caller, request: LeaveGroupRequest, now_ms: int) -> GroupDecision:
        """Members leave."""
        return self._classic_side(request.group_id).leave_group(caller, request, now_ms)

    def _classic_side(self, group_id: str) -> ClassicProtocol | ClassicMembers:
        """The part that answers classic requests: a consumer group with members may have classic members."""
        group = self.groups.get(group_id)
        return self._classic_members if isinstance(group, ConsumerGroup) and group.members else self._classic

    # The consumer protocol

    def consumer_group_heartbeat(
        self, caller: Caller, request: ConsumerGroupHeartbeatRequest, now_ms: int
    ) -> GroupDecision:
        """A member joins, is alive, has given partitions back, or leaves."""
        return self._consumer.heartbeat(caller, request, now_ms)

    # Offsets

    def commit_offsets(self, caller: Caller, request: OffsetCommitRequest, now_ms: int) -> GroupDecision:
        """A group commits offsets."""
        return self._commits.commit(caller, request, now_ms)

    def commit_transactional_offsets(
        self, caller: Caller, request: TxnOffsetCommitRequest, now_ms: int
    ) -> GroupDecision:
        """A producer commits offsets of a group, which count if its transaction commits."""
        return self._commits.commit_in_transaction(caller, request, now_ms)

    def fetch_offsets(
        self, caller: Caller, request: OffsetFetchRequestGroup, require_stable: bool = False
    ) -> GroupDecision:
        """The offsets of a group. With `require_stable` they are those of the newest coordinator.

        A consumer that hears of nothing but open transactions asks again, so that needs no proof.
        """
        response = self._offsets.fetch(caller, request, require_stable)
        needs_proof = require_stable and any(
            partition.error_code != ErrorCode.UNSTABLE_OFFSET_COMMIT
            for topic in response.topics
            for partition in topic.partitions
        )
        return Decision(response, proof=proof_of(request.group_id) if needs_proof else None)

    def delete_offsets(self, request: OffsetDeleteRequest) -> GroupDecision:
        """Delete offsets of topics that no member subscribes to."""
        return self._offsets.delete(request)._replace(is_atomic=False)

    def topics_deleted(self, deleted: Iterable[tuple[str, bytes]]) -> GroupDecision:
        """Delete the offsets of deleted topics, which are given by name and id."""
        return Decision(records=self._offsets.topics_deleted(deleted), is_atomic=False)

    def _expire_offsets(self, now_ms: int) -> GroupDecision:
        self._arm_expiry(now_ms)
        return Decision(records=self._offsets.expire(now_ms), is_atomic=False)

    def _arm_expiry(self, now_ms: int) -> None:
        next_ms = now_ms + self._config.offsets_retention_check_interval_ms
        self.timers.schedule(EXPIRY, next_ms, self._expire_offsets)

    # Groups of any kind

    def list_groups(self, request: ListGroupsRequest) -> GroupDecision:
        """The groups, filtered by state and type."""
        groups = listing.list_groups(self.groups.values(), request.states_filter, request.types_filter)
        return Decision(ListGroupsResponse(groups=groups))

    def describe_group(self, caller: Caller, group_id: str) -> GroupDecision:
        """A classic group with its members."""
        return Decision(self._classic.describe(group_id, caller.api_version))

    def describe_consumer_group(self, group_id: str) -> GroupDecision:
        """A consumer group with its members."""
        return Decision(self._consumer.describe(group_id))

    def delete_groups(self, group_ids: Sequence[str]) -> GroupDecision:
        """Delete groups without members, and their offsets."""
        return deletion.delete_groups(self.groups, self._offsets, group_ids)._replace(is_atomic=False)

    # The log

    def replay(self, record: GroupRecord, producer: Producer | None = None) -> None:
        """Take over what a record says. Only offsets are written in transactions."""
        key, value = record
        if isinstance(key, OffsetCommitKey):
            self._offsets.replay_offset_commit(key, cast(OffsetCommitValue | None, value), producer)
        elif isinstance(key, GroupMetadataKey):
            self._classic.replay_group_metadata(key, cast(GroupMetadataValue | None, value))
        else:
            self._consumer.replay(record)

    def replay_end_of_transaction(self, producer: Producer, is_commit: bool) -> None:
        """A producer's transaction has ended: its offsets count, or are forgotten."""
        self._offsets.replay_end_of_transaction(producer, is_commit)

    def on_loaded(self, now_ms: int) -> None:
        """All records are replayed: start the timers."""
        self._arm_expiry(now_ms)
        self._classic.on_loaded(now_ms)
        self._consumer.on_loaded(now_ms)
