"""Committed offsets against a model, which is a plain dictionary, through random sequences of events.

The model knows the right answer to each request, and changes only when the request was acknowledged. Its
offsets are committed and acknowledged, and neither deleted nor expired. A fetch must return them at any time,
also after a reload and after a compaction of the log.

The model gives every offset the place of its record in the order of all commits, as Kafka does. When a
transaction commits, each of its offsets replaces one with an earlier place.
"""

import contextlib
from collections.abc import Callable
from typing import NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.groups.compacted_log import compacted, groups_with_offsets
from tests.groups.offset_room import (
    RETENTION_MS,
    FakeTopics,
    OffsetMachine,
    commit_request,
    transactional_request,
)

from gralha.coordination.producer import Producer
from gralha.groups.deletion import delete_groups
from gralha.groups.listing import list_groups
from gralha.protocol.errors import ErrorCode, KafkaStorageError, NotCoordinatorError
from gralha.protocol.messages.delete_groups import DeleteGroupsResponse
from gralha.protocol.messages.offset_commit import OffsetCommitRequest
from gralha.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from gralha.protocol.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponseTopics,
)
from gralha.protocol.primitives import ZERO_UUID

GROUP_IDS = ["g", "h"]
GROUPS = st.sampled_from(GROUP_IDS)
NAMES = ["a", "b"]
TOPICS = st.sampled_from([*NAMES, "none"])
PARTITIONS = st.lists(st.integers(-1, 3), min_size=1, max_size=3, unique=True)
MEMBERS = st.sampled_from(["", "m", "n"])
METADATA = st.sampled_from([None, "", "seen", "x" * 20, "x" * 21])
TIMES = st.sampled_from(
    [1, RETENTION_MS - 1, RETENTION_MS, 2 * RETENTION_MS, 4 * RETENTION_MS, -RETENTION_MS]
)
BOTH_PRODUCERS = [Producer(7, 0), Producer(8, 1)]
PRODUCERS = st.sampled_from(BOTH_PRODUCERS)
WRITERS = st.lists(st.sampled_from([*BOTH_PRODUCERS, None]), min_size=2, max_size=4)
FAILS = st.sampled_from([False, False, False, True])  # does the append?
UNKNOWN = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


class Kept(NamedTuple):
    """An offset in the model."""

    offset: int
    leader_epoch: int
    metadata: str
    committed_ms: int
    expires_ms: int | None
    topic_id: bytes
    place: int  # in the order of all commits


class Where(NamedTuple):
    """A group and a partition in the model."""

    group_id: str
    key: tuple[str, int]  # topic and partition


class Membership(NamedTuple):
    """A group in the model. `written_ms` is None for one that is known by its offsets only."""

    members: tuple[str, ...] = ()
    generation: int = 0
    topics: tuple[str, ...] = ()
    written_ms: int | None = None

    @property
    def state(self) -> str:
        return "Stable" if self.members else "Empty"


class Commit(NamedTuple):
    group_id: str
    topic: str
    partitions: list[int]
    member_id: str
    generation: int
    offset: int
    leader_epoch: int
    metadata: str | None
    retention_ms: int  # -1: not said
    version: int


COMMITS = st.builds(
    Commit,
    GROUPS,
    TOPICS,
    PARTITIONS,
    MEMBERS,
    st.integers(-1, 2),
    st.integers(0, 1000),
    st.integers(-1, 5),
    METADATA,
    st.sampled_from([-1, 1, 3 * RETENTION_MS]),
    st.sampled_from([4, 8, 9, 10]),
)


class OffsetsModel(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.topics = FakeTopics(*NAMES)
        self.machine = OffsetMachine(self.topics)
        self.offsets: dict[str, dict[tuple[str, int], Kept]] = {}
        self.groups: dict[str, Membership] = {}
        self.waiting: dict[int, dict[Where, Kept]] = {7: {}, 8: {}}  # in transactions, by producer id
        self.places = 0

    # Commits

    @rule(commit=COMMITS, fails=FAILS)
    def commit(self, commit: Commit, fails: bool) -> None:
        """By anybody: members, strangers, simple consumers; with every kind of mistake."""
        codes = self._expected_codes(commit)
        if fails and 0 in codes:
            self._failing(lambda: self.machine.commit(self._request(commit), commit.version))
            return
        assert self.machine.commit(self._request(commit), commit.version) == codes
        for partition, code in zip(commit.partitions, codes, strict=True):
            if code == 0:
                self._keep(commit, partition)

    @rule(commit=COMMITS, fails=FAILS)
    def commit_rightly(self, commit: Commit, fails: bool) -> None:
        """Most random commits are refused; these are not, if the topics exist."""
        for name in NAMES:
            self.commit(self._right(commit)._replace(topic=name), fails)

    def _right(self, commit: Commit) -> Commit:
        group = self.groups.get(commit.group_id, Membership())
        member_id, generation = (group.members[0], group.generation) if group.members else ("", -1)
        return commit._replace(member_id=member_id, generation=generation, partitions=[0, 2])

    def _request(self, commit: Commit) -> OffsetCommitRequest:
        by_id = commit.version >= 10
        return commit_request(
            "" if by_id else commit.topic,
            dict.fromkeys(commit.partitions, commit.offset),
            group_id=commit.group_id,
            member_id=commit.member_id,
            generation=commit.generation,
            metadata=commit.metadata,
            leader_epoch=commit.leader_epoch if commit.version >= 6 else -1,
            retention_time_ms=commit.retention_ms if commit.version <= 4 else -1,
            topic_id=self._id_of(commit.topic) if by_id else ZERO_UUID,
        )

    def _expected_codes(self, commit: Commit) -> list[int]:
        if commit.topic not in self.topics.names():
            code = int(ErrorCode.UNKNOWN_TOPIC_ID) if commit.version >= 10 else UNKNOWN
            return [code] * len(commit.partitions)
        code = self._group_code(commit)
        if code == 0 and len(commit.metadata or "") > 20:
            code = ErrorCode.OFFSET_METADATA_TOO_LARGE
        return [code if 0 <= partition < 3 else UNKNOWN for partition in commit.partitions]

    def _group_code(self, commit: Commit) -> int:
        group = self.groups.get(commit.group_id)
        if group is None or not group.members:
            if commit.generation < 0:
                return 0
            if group is not None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            return ErrorCode.GROUP_ID_NOT_FOUND if commit.version >= 9 else ErrorCode.ILLEGAL_GENERATION
        if commit.member_id not in group.members:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return 0 if commit.generation == group.generation else ErrorCode.ILLEGAL_GENERATION

    def _keep(self, commit: Commit, partition: int) -> None:
        """Old clients say how long to keep an offset; such a record has no room for the newer fields."""
        self._kept(commit.group_id)[commit.topic, partition] = self._written(commit)

    def _written(self, commit: Commit) -> Kept:
        """What a commit writes."""
        now_ms = self.machine.now_ms
        old = commit.version <= 4 and commit.retention_ms != -1
        self.groups.setdefault(commit.group_id, Membership())
        self.places += 1
        return Kept(
            commit.offset,
            commit.leader_epoch if commit.version >= 6 else -1,
            commit.metadata or "",
            now_ms,
            now_ms + commit.retention_ms if old else None,
            ZERO_UUID if old else self._id_of(commit.topic),
            self.places,
        )

    # Transactions

    @rule(commit=COMMITS, producer=PRODUCERS, fails=FAILS)
    def commit_in_transaction(self, commit: Commit, producer: Producer, fails: bool) -> None:
        """By anybody, with every kind of mistake. The errors are those of old versions of OffsetCommit."""
        commit = commit._replace(version=8)
        request = transactional_request(
            producer,
            commit.topic,
            dict.fromkeys(commit.partitions, commit.offset),
            group_id=commit.group_id,
            member_id=commit.member_id,
            generation=commit.generation,
            metadata=commit.metadata,
            leader_epoch=commit.leader_epoch,
        )
        codes = self._expected_codes(commit)
        if fails and 0 in codes:
            self._failing(lambda: self.machine.commit_in_transaction(request))
            return
        assert self.machine.commit_in_transaction(request) == codes
        for partition, code in zip(commit.partitions, codes, strict=True):
            if code == 0:
                where = Where(commit.group_id, (commit.topic, partition))
                self.waiting[producer.id][where] = self._written(commit)

    @rule(commit=COMMITS, producer=PRODUCERS)
    def commit_rightly_in_transaction(self, commit: Commit, producer: Producer) -> None:
        """These are not refused, if the topic exists."""
        self.commit_in_transaction(self._right(commit), producer, False)

    @rule(producer=PRODUCERS, is_commit=st.booleans())
    def end_transaction(self, producer: Producer, is_commit: bool) -> None:
        """Also if there is none."""
        self.machine.end(producer, is_commit)
        ended, self.waiting[producer.id] = self.waiting[producer.id], {}
        for where, kept in ended.items():
            before = self._kept(where.group_id).get(where.key)
            if is_commit and (before is None or before.place < kept.place):
                self._kept(where.group_id)[where.key] = kept

    @rule(commit=COMMITS, writers=WRITERS, ends=st.permutations(BOTH_PRODUCERS))
    def race(self, commit: Commit, writers: list[Producer | None], ends: list[Producer]) -> None:
        """Several writers commit to the same partitions, in transactions or not. The last record counts."""
        for number, producer in enumerate(writers):
            right = self._right(commit)._replace(offset=number)
            if producer is None:
                self.commit(right, False)
            else:
                self.commit_in_transaction(right, producer, False)
        for producer in ends:
            self.end_transaction(producer, True)

    def _is_unstable(self, group_id: str, key: tuple[str, int]) -> bool:
        return any(Where(group_id, key) in waiting for waiting in self.waiting.values())

    def _delete(self, group_id: str, key: tuple[str, int]) -> None:
        """A tombstone deletes offsets that wait as well."""
        self._kept(group_id).pop(key, None)
        for waiting in self.waiting.values():
            waiting.pop(Where(group_id, key), None)

    # Fetches

    @invariant()
    def partitions_are_fetched_as_committed(self) -> None:
        """Known and unknown ones, by the topic's name or id."""
        for group_id in GROUP_IDS:
            for topic in [*NAMES, "none"]:
                for version in (9, 10):
                    self._fetch(group_id, topic, version, False)
                    self._fetch(group_id, topic, version, True)

    def _fetch(self, group_id: str, topic: str, version: int, require_stable: bool) -> None:
        by_id = version >= 10
        topic_id = self._id_of(topic) if by_id else ZERO_UUID
        asked = OffsetFetchRequestTopics("" if by_id else topic, topic_id, [0, 1, 2, 3])
        request = OffsetFetchRequestGroup(group_id, topics=[asked])
        (answer,) = self.machine.fetch(request, version, require_stable).topics
        unknown = by_id and topic not in self.topics.names()
        for partition, found in enumerate(answer.partitions):
            kept = self._kept(group_id).get((topic, partition))
            if unknown or (by_id and kept is not None and kept.topic_id not in (ZERO_UUID, topic_id)):
                kept = None
            code = int(ErrorCode.UNKNOWN_TOPIC_ID) if unknown else 0
            if require_stable and not unknown and self._is_unstable(group_id, (topic, partition)):
                kept, code = None, int(ErrorCode.UNSTABLE_OFFSET_COMMIT)
            expected = (-1, -1, "") if kept is None else kept[:3]
            assert (found.committed_offset, found.committed_leader_epoch, found.metadata) == expected
            assert found.error_code == code
            assert found.partition_index == partition

    @invariant()
    def everything_is_fetched_as_committed(self) -> None:
        """And nothing else. Topics that are gone have no id to be told by."""
        for group_id in GROUP_IDS:
            expected = {key: kept[:3] for key, kept in self._kept(group_id).items()}
            assert _contents(self._fetch_all(group_id, 9)) == expected
            found = self._fetch_all(group_id, 10)
            there = {key: kept for key, kept in expected.items() if key[0] in self.topics.names()}
            assert _contents(found) == there
            assert [topic.topic_id for topic in found] == [self._id_of(topic.name) for topic in found]

    @invariant()
    def groups_are_listed(self) -> None:
        """In their states."""
        listed = list_groups(self.machine.room.groups.values(), [], [])
        states = {group.group_id: group.group_state for group in listed}
        assert states == {group_id: group.state for group_id, group in self.groups.items()}

    # What ends offsets

    @rule(group_id=GROUPS, topic=TOPICS, partitions=PARTITIONS)
    def delete_offsets(self, group_id: str, topic: str, partitions: list[int]) -> None:
        """An operator deletes offsets."""
        indexes = [OffsetDeleteRequestPartition(partition) for partition in partitions]
        request = OffsetDeleteRequest(group_id, [OffsetDeleteRequestTopic(topic, indexes)])
        reply = self.machine.ask(lambda room: room.offsets.delete(request))
        group = self.groups.get(group_id)
        if group is None:
            assert reply.code == ErrorCode.GROUP_ID_NOT_FOUND
            return
        assert isinstance(reply.response, OffsetDeleteResponse)
        codes = [partition.error_code for partition in reply.response.topics[0].partitions]
        for partition, code in zip(partitions, codes, strict=True):
            if topic not in self.topics.names() or not 0 <= partition < 3:
                assert code == UNKNOWN
            elif topic in group.topics:
                assert code == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
            else:
                assert code == 0
                self._delete(group_id, (topic, partition))

    @rule(group_ids=st.lists(GROUPS, min_size=1, max_size=3), fails=FAILS)
    def delete_groups(self, group_ids: list[str], fails: bool) -> None:
        """All at once, or none if the append fails."""
        ids = list(dict.fromkeys(group_ids))
        empty = [
            group_id for group_id in ids if self.groups.get(group_id, Membership(("?",))).state == "Empty"
        ]
        if fails and empty:
            self.machine.append_error = KafkaStorageError()
        reply = self.machine.ask(lambda room: delete_groups(room.groups, room.offsets, group_ids))
        self.machine.append_error = None
        if fails and empty:
            assert reply.error is not None
            return
        assert isinstance(reply.response, DeleteGroupsResponse)
        for result, group_id in zip(reply.response.results, ids, strict=True):
            assert result.group_id == group_id
            if group_id not in self.groups:
                assert result.error_code == ErrorCode.GROUP_ID_NOT_FOUND
            elif group_id not in empty:
                assert result.error_code == ErrorCode.NON_EMPTY_GROUP
            else:
                assert result.error_code == 0
                del self.groups[group_id]
                for key in self._all_keys(group_id):
                    self._delete(group_id, key)

    @rule(milliseconds=TIMES, fails=FAILS)
    def expire(self, milliseconds: int, fails: bool) -> None:
        """The sweep over all groups, after some time. Clocks are also set back."""
        self.machine.jump(milliseconds)
        if fails:
            self._failing(self.machine.expire)
            return
        self.machine.expire()
        for group_id, group in list(self.groups.items()):
            kept = self._kept(group_id)
            for key in [
                key for key in kept if key[0] not in group.topics and self._is_over(group, kept[key])
            ]:
                if not self._is_unstable(group_id, key):
                    del kept[key]
            if not group.members and not self._all_keys(group_id):
                del self.groups[group_id]

    def _is_over(self, group: Membership, kept: Kept) -> bool:
        if kept.expires_ms is not None:
            return self.machine.now_ms >= kept.expires_ms
        from_ms = kept.committed_ms
        if not group.members and group.written_ms is not None:
            from_ms = group.written_ms  # the last member has left then
        return self.machine.now_ms >= from_ms + RETENTION_MS

    # Topics, members

    @rule(topic=st.sampled_from(NAMES), fails=st.booleans(), again=st.booleans())
    def delete_topic(self, topic: str, fails: bool, again: bool) -> None:
        """If the tombstones cannot be written the offsets stay. A topic of that name may be made again."""
        if topic not in self.topics.names():
            self.topics.create(topic)
        topic_id = self._id_of(topic)
        if fails:
            self._failing(lambda: self.machine.delete_topic(topic))
        else:
            self.machine.delete_topic(topic)
            for where, kept in self._everything():
                if where.key[0] == topic and kept.topic_id in (ZERO_UUID, topic_id):
                    self._delete(*where)
        if again:
            self.topics.create(topic)

    @rule(
        group_id=GROUPS,
        members=st.sampled_from([(), ("m",), ("m", "n")]),
        topics=st.sampled_from([("a",), ("b",), ("a", "b")]),
        generation=st.integers(0, 2),
    )
    def rebalance(
        self, group_id: str, members: tuple[str, ...], topics: tuple[str, ...], generation: int
    ) -> None:
        """The group consists of others from now on."""
        self.machine.join(group_id, *members, topics=" ".join(topics), generation=generation)
        self.groups[group_id] = Membership(
            members, generation, topics if members else (), self.machine.now_ms
        )

    # The log

    @rule()
    def reload(self) -> None:
        """Another coordinator takes over."""
        self.machine.check_replay()
        self.machine.reload()

    @rule()
    def compact_and_reload(self) -> None:
        """Long after the cleaner has been here, no tombstones are left either."""
        self.machine.log = compacted(self.machine.log)
        self.machine.check_replay_of_offsets()
        self.machine.reload()
        told = groups_with_offsets(self.machine.log)
        for group_id in [group_id for group_id, group in self.groups.items() if group.written_ms is None]:
            if group_id not in told:
                del self.groups[group_id]  # nothing in the log tells of it any more

    # Helpers

    def _failing(self, action: Callable[[], object]) -> None:
        written = list(self.machine.log)
        self.machine.append_error = KafkaStorageError()
        with contextlib.suppress(NotCoordinatorError):
            action()
        self.machine.append_error = None
        assert self.machine.log == written

    def _everything(self) -> list[tuple[Where, Kept]]:
        """All offsets, committed and waiting."""
        committed = [
            (Where(group_id, key), kept)
            for group_id, offsets in self.offsets.items()
            for key, kept in offsets.items()
        ]
        return committed + [entry for waiting in self.waiting.values() for entry in waiting.items()]

    def _all_keys(self, group_id: str) -> set[tuple[str, int]]:
        return {where.key for where, _ in self._everything() if where.group_id == group_id}

    def _kept(self, group_id: str) -> dict[tuple[str, int], Kept]:
        return self.offsets.setdefault(group_id, {})

    def _id_of(self, topic: str) -> bytes:
        found = self.topics.by_name(topic)
        return b"?" * 16 if found is None else found.id

    def _fetch_all(self, group_id: str, version: int) -> list[OffsetFetchResponseTopics]:
        return self.machine.fetch(OffsetFetchRequestGroup(group_id, topics=None), version).topics


def _contents(topics: list[OffsetFetchResponseTopics]) -> dict[tuple[str, int], tuple[int, int, str | None]]:
    return {
        (topic.name, partition.partition_index): (
            partition.committed_offset,
            partition.committed_leader_epoch,
            partition.metadata,
        )
        for topic in topics
        for partition in topic.partitions
    }


TestOffsetsModel = OffsetsModel.TestCase
TestOffsetsModel.settings = settings(max_examples=120, stateful_step_count=50, deadline=None)
