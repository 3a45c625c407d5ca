"""TxnOffsetCommit, and offsets that wait for the end of their transaction."""

from collections.abc import Callable

import pytest
from tests.groups.harness import START_MS
from tests.groups.offset_room import (
    RETENTION_MS,
    FakeGroup,
    FakeTopics,
    OffsetMachine,
    commit_request,
    fetch_request,
    transactional_request,
)

from gralha.coordination.decision import Decision
from gralha.coordination.loading import LoadedRecord
from gralha.coordination.producer import Producer
from gralha.groups.deletion import delete_groups
from gralha.groups.records import GroupRecord, proof_of
from gralha.protocol.errors import ErrorCode, KafkaStorageError, NotCoordinatorError, StaleMemberEpochError
from gralha.protocol.messages.group_records import OffsetCommitKey, OffsetCommitValue
from gralha.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from gralha.protocol.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchResponsePartitions

SEVEN, EIGHT = Producer(7, 0), Producer(8, 4)
UNSTABLE = ErrorCode.UNSTABLE_OFFSET_COMMIT


@pytest.fixture
def topics() -> FakeTopics:
    return FakeTopics("a", "b")


@pytest.fixture
def machine(topics: FakeTopics) -> OffsetMachine:
    return OffsetMachine(topics)


def write(machine: OffsetMachine, producer: Producer, offsets: dict[int, int], topic: str = "a") -> None:
    """Commit offsets in a transaction."""
    codes = machine.commit_in_transaction(transactional_request(producer, topic, offsets))
    assert codes == [0] * len(offsets)


def offsets_of(machine: OffsetMachine, group_id: str = "g") -> dict[tuple[str, int], int]:
    """The offsets that count, live and after a reload."""
    machine.check_replay()
    return {where: offset for where, (offset, _) in machine.fetched(group_id).items()}


# The end of a transaction


def test_offsets_count_when_the_transaction_commits(machine: OffsetMachine) -> None:
    machine.commit(commit_request("a", {0: 1, 1: 1}))
    write(machine, SEVEN, {0: 5, 2: 6})
    assert offsets_of(machine) == {("a", 0): 1, ("a", 1): 1}
    machine.end(SEVEN, True)
    assert offsets_of(machine) == {("a", 0): 5, ("a", 1): 1, ("a", 2): 6}


def test_offsets_are_forgotten_when_the_transaction_aborts(machine: OffsetMachine) -> None:
    machine.commit(commit_request("a", {0: 1}))
    write(machine, SEVEN, {0: 5, 1: 6})
    machine.end(SEVEN, False)
    assert offsets_of(machine) == {("a", 0): 1}
    machine.end(SEVEN, True)  # the next transaction has no offsets
    assert offsets_of(machine) == {("a", 0): 1}


def test_an_offset_keeps_all_that_was_said_about_it(machine: OffsetMachine, topics: FakeTopics) -> None:
    request = transactional_request(EIGHT, "a", {1: 10}, leader_epoch=7, metadata="m")
    assert machine.commit_in_transaction(request) == [0]
    topic = topics.by_name("a")
    assert topic is not None
    key = OffsetCommitKey(group="g", topic="a", partition=1)
    value = OffsetCommitValue(
        offset=10, leader_epoch=7, metadata="m", commit_timestamp=START_MS, topic_id=topic.id
    )
    assert machine.log == [LoadedRecord(GroupRecord(key, value), EIGHT)]
    machine.end(EIGHT, True)
    found = machine.fetch(fetch_request("a", 1)).topics[0].partitions
    assert found == [OffsetFetchResponsePartitions(1, 10, 7, "m")]


def test_transactions_of_several_producers_and_groups_are_their_own(machine: OffsetMachine) -> None:
    write(machine, SEVEN, {0: 5})
    machine.commit_in_transaction(transactional_request(SEVEN, "b", {0: 50}, group_id="h"))
    write(machine, EIGHT, {1: 6})
    machine.end(SEVEN, True)
    assert offsets_of(machine) == {("a", 0): 5}
    assert offsets_of(machine, "h") == {("b", 0): 50}
    machine.end(EIGHT, True)
    assert offsets_of(machine) == {("a", 0): 5, ("a", 1): 6}


def test_the_last_of_two_commits_of_a_transaction_counts(machine: OffsetMachine) -> None:
    write(machine, SEVEN, {0: 5})
    write(machine, SEVEN, {0: 3})
    machine.end(SEVEN, True)
    assert offsets_of(machine) == {("a", 0): 3}


def test_a_marker_ends_the_offsets_of_all_epochs(machine: OffsetMachine) -> None:
    """As in Kafka. The coordinator ends a transaction with the next epoch if it has timed out."""
    write(machine, Producer(7, 0), {0: 5})
    write(machine, Producer(7, 1), {1: 6})
    machine.end(Producer(7, 2), True)
    assert offsets_of(machine) == {("a", 0): 5, ("a", 1): 6}


# The order of records counts, not that of the markers


def test_a_later_commit_without_a_transaction_stays(machine: OffsetMachine) -> None:
    write(machine, SEVEN, {0: 5, 1: 5})
    machine.commit(commit_request("a", {0: 9}))
    machine.end(SEVEN, True)
    assert offsets_of(machine) == {("a", 0): 9, ("a", 1): 5}


def test_an_offset_that_was_overtaken_is_unstable_until_its_transaction_ends(
    machine: OffsetMachine,
) -> None:
    write(machine, SEVEN, {0: 5})
    machine.commit(commit_request("a", {0: 9}))
    assert stable(machine, "a", 0) == [UNSTABLE]
    machine.end(SEVEN, True)
    assert stable(machine, "a", 0) == [9]


def test_a_transaction_that_commits_again_after_that_counts(machine: OffsetMachine) -> None:
    write(machine, SEVEN, {0: 5})
    machine.commit(commit_request("a", {0: 9}))
    write(machine, SEVEN, {0: 6})
    machine.end(SEVEN, True)
    assert offsets_of(machine) == {("a", 0): 6}


@pytest.mark.parametrize("ends", [(SEVEN, EIGHT), (EIGHT, SEVEN)])
def test_of_two_transactions_the_later_record_counts(
    machine: OffsetMachine, ends: tuple[Producer, Producer]
) -> None:
    write(machine, SEVEN, {0: 5})
    write(machine, EIGHT, {0: 6})
    for producer in ends:
        machine.end(producer, True)
        machine.check_replay()
    assert offsets_of(machine) == {("a", 0): 6}


def test_an_aborted_transaction_overtakes_nothing(machine: OffsetMachine) -> None:
    write(machine, SEVEN, {0: 5})
    write(machine, EIGHT, {0: 6})
    machine.end(EIGHT, False)
    machine.end(SEVEN, True)
    assert offsets_of(machine) == {("a", 0): 5}


# Who may commit


def refused(machine: OffsetMachine, **options: object) -> int:
    """The error of a commit in a transaction."""
    (code,) = machine.commit_in_transaction(transactional_request(SEVEN, "a", {0: 1}, **options))  # type: ignore[arg-type]
    return code


def test_members_commit_in_their_generation(machine: OffsetMachine) -> None:
    machine.join("g", "m", generation=4)
    assert refused(machine, member_id="m", generation=3) == ErrorCode.ILLEGAL_GENERATION
    assert refused(machine, member_id="n", generation=4) == ErrorCode.UNKNOWN_MEMBER_ID
    assert refused(machine, member_id="m", generation=4) == 0


def test_generation_of_an_unknown_group(machine: OffsetMachine) -> None:
    for version in (3, 4, 5):
        request = transactional_request(SEVEN, "a", {0: 1}, member_id="m", generation=0)
        assert machine.commit_in_transaction(request, version) == [ErrorCode.ILLEGAL_GENERATION]
    assert machine.log == []


def test_a_group_needs_an_id(machine: OffsetMachine) -> None:
    assert refused(machine, group_id="") == ErrorCode.INVALID_GROUP_ID


def test_a_consumer_without_a_group_makes_one_by_its_first_record(machine: OffsetMachine) -> None:
    assert refused(machine, metadata="x" * 21) == ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert machine.room.groups == {}
    assert refused(machine, metadata="x" * 20) == 0
    assert machine.room.groups["g"].is_empty


def test_a_transaction_is_no_heartbeat(machine: OffsetMachine) -> None:
    machine.join("g", "m", generation=4)
    assert refused(machine, member_id="m", generation=4) == 0
    assert machine.room.touched == []


def test_unknown_topics_and_partitions_do_not_stop_the_others(machine: OffsetMachine) -> None:
    request = transactional_request(SEVEN, "a", {-1: 1, 0: 2, 3: 3})
    request.topics += transactional_request(SEVEN, "none", {0: 4}).topics
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert machine.commit_in_transaction(request) == [unknown, 0, unknown, unknown]
    machine.end(SEVEN, True)
    assert offsets_of(machine) == {("a", 0): 2}


class ModernGroup(FakeGroup):
    """Lets a member commit to partition 0 of each topic only, as a consumer group does after a revocation."""

    def check_offset_commit(
        self,
        member_id: str,
        instance_id: str | None,
        member_epoch: int,
        is_transactional: bool,
        api_version: int,
    ) -> Callable[[str, bytes, int], None]:
        assert (member_id, instance_id, is_transactional, api_version) == ("m", "i", True, 4)
        if member_epoch > 5:
            raise StaleMemberEpochError
        return self._check_partition

    def _check_partition(self, topic: str, topic_id: bytes, partition: int) -> None:
        assert (topic, topic_id) == ("b", (2).to_bytes(16, "big"))
        if partition != 0:
            raise StaleMemberEpochError


def test_a_producer_does_not_know_the_errors_of_consumer_groups(machine: OffsetMachine) -> None:
    machine.room.groups["g"] = ModernGroup("g")

    def commit(offsets: dict[int, int], epoch: int) -> list[int]:
        request = transactional_request(SEVEN, "b", offsets, member_id="m", instance_id="i", generation=epoch)
        return machine.commit_in_transaction(request, 4)

    assert commit({0: 1}, 5) == [0]
    assert commit({0: 2, 1: 2}, 5) == [ErrorCode.ILLEGAL_GENERATION] * 2
    assert commit({0: 2}, 6) == [ErrorCode.ILLEGAL_GENERATION]
    machine.end(SEVEN, True)
    assert machine.fetched("g") == {("b", 0): (1, "")}


def test_a_failed_append_leaves_nothing(machine: OffsetMachine) -> None:
    machine.append_error = KafkaStorageError()
    with pytest.raises(NotCoordinatorError):
        machine.commit_in_transaction(transactional_request(SEVEN, "a", {0: 1}))
    machine.append_error = None
    machine.end(SEVEN, True)
    assert offsets_of(machine) == {}
    assert machine.room.groups == {}


# OffsetFetch


def stable(machine: OffsetMachine, topic: str, *partitions: int) -> list[int]:
    """The offsets that a consumer gets that reads committed offsets only, or the error."""
    (found,) = machine.fetch(fetch_request(topic, *partitions), require_stable=True).topics
    for partition in found.partitions:
        if partition.error_code:
            assert (partition.committed_offset, partition.committed_leader_epoch) == (-1, -1)
            assert partition.metadata == ""
    return [partition.error_code or partition.committed_offset for partition in found.partitions]


def test_an_offset_is_unstable_while_a_transaction_has_another(machine: OffsetMachine) -> None:
    machine.commit(commit_request("a", {0: 1, 1: 1}))
    write(machine, SEVEN, {0: 5, 2: 6})
    assert stable(machine, "a", 0, 1, 2) == [UNSTABLE, 1, UNSTABLE]
    assert stable(machine, "b", 0) == [-1]
    assert [each.error_code for each in machine.fetch(fetch_request("a", 0)).topics[0].partitions] == [0]
    machine.end(SEVEN, True)
    assert stable(machine, "a", 0, 1, 2) == [5, 1, 6]


def test_an_offset_is_unstable_until_the_last_transaction_ends(machine: OffsetMachine) -> None:
    write(machine, SEVEN, {0: 5})
    write(machine, EIGHT, {0: 6})
    machine.end(EIGHT, True)
    assert stable(machine, "a", 0) == [UNSTABLE]
    machine.end(SEVEN, False)
    assert stable(machine, "a", 0) == [6]


def test_all_offsets_are_those_that_are_committed(machine: OffsetMachine) -> None:
    machine.commit(commit_request("a", {0: 1, 1: 1}))
    write(machine, SEVEN, {0: 5, 2: 6})
    everything = OffsetFetchRequestGroup(group_id="g", topics=None)
    (found,) = machine.fetch(everything, require_stable=True).topics
    assert [(each.partition_index, each.error_code) for each in found.partitions] == [(0, UNSTABLE), (1, 0)]


def test_by_topic_id(machine: OffsetMachine, topics: FakeTopics) -> None:
    write(machine, SEVEN, {0: 5})
    topic = topics.by_name("a")
    assert topic is not None
    request = fetch_request("", 0, topic_id=topic.id)
    (found,) = machine.fetch(request, 10, require_stable=True).topics
    assert [each.error_code for each in found.partitions] == [UNSTABLE]
    unknown = machine.fetch(fetch_request("", 0, topic_id=b"?" * 16), 10, require_stable=True)
    assert [each.error_code for each in unknown.topics[0].partitions] == [ErrorCode.UNKNOWN_TOPIC_ID]


# Deletions


def test_an_operator_deletes_offsets_that_wait(machine: OffsetMachine) -> None:
    write(machine, SEVEN, {0: 5, 1: 5})
    indexes = [OffsetDeleteRequestPartition(0), OffsetDeleteRequestPartition(2)]
    written = len(machine.log)
    request = OffsetDeleteRequest("g", [OffsetDeleteRequestTopic("a", indexes)])
    assert machine.ask(lambda room: room.offsets.delete(request)).code == 0
    assert len(machine.log) == written + 1
    assert stable(machine, "a", 0, 1) == [-1, UNSTABLE]
    machine.end(SEVEN, True)
    assert offsets_of(machine) == {("a", 1): 5}


def test_a_deleted_group_takes_its_waiting_offsets_along(machine: OffsetMachine) -> None:
    machine.commit(commit_request("a", {0: 1}))
    write(machine, SEVEN, {0: 5, 1: 5})
    write(machine, EIGHT, {1: 6})
    written = len(machine.log)
    assert machine.ask(lambda room: delete_groups(room.groups, room.offsets, ["g"])).code == 0
    assert len(machine.log) == written + 3  # two offsets and the group
    for producer in (SEVEN, EIGHT):
        machine.end(producer, True)
    assert offsets_of(machine) == {}
    assert machine.room.groups == {}


def test_a_deleted_group_may_come_back_in_the_same_transaction(machine: OffsetMachine) -> None:
    write(machine, SEVEN, {0: 5})
    machine.ask(lambda room: delete_groups(room.groups, room.offsets, ["g"]))
    write(machine, SEVEN, {1: 6})
    machine.end(SEVEN, True)
    assert offsets_of(machine) == {("a", 1): 6}


def test_a_deleted_topic_takes_its_waiting_offsets_along(machine: OffsetMachine) -> None:
    machine.commit(commit_request("a", {0: 1}))
    write(machine, SEVEN, {0: 5, 1: 6})
    write(machine, SEVEN, {0: 7}, topic="b")
    written = len(machine.log)
    machine.delete_topic("a")
    assert len(machine.log) == written + 2  # one tombstone for each partition
    machine.end(SEVEN, True)
    assert offsets_of(machine) == {("b", 0): 7}


def test_an_offset_of_the_next_topic_of_that_name_stays(machine: OffsetMachine, topics: FakeTopics) -> None:
    old = topics.delete("a")
    topics.create("a")
    write(machine, SEVEN, {0: 5})
    machine.ask(lambda room: Decision(records=room.offsets.topics_deleted([(old.name, old.id)])))
    machine.end(SEVEN, True)
    assert offsets_of(machine) == {("a", 0): 5}


# Expiry


def test_an_offset_does_not_expire_while_a_transaction_has_another(machine: OffsetMachine) -> None:
    machine.commit(commit_request("a", {0: 1, 1: 1}))
    write(machine, SEVEN, {0: 5})
    machine.advance(RETENTION_MS)
    machine.expire()
    assert offsets_of(machine) == {("a", 0): 1}
    machine.end(SEVEN, False)
    machine.expire()
    assert offsets_of(machine) == {}
    assert machine.room.groups == {}


def test_a_group_with_an_open_transaction_stays(machine: OffsetMachine) -> None:
    write(machine, SEVEN, {0: 5})
    machine.advance(RETENTION_MS)
    machine.expire()
    assert "g" in machine.room.groups
    machine.end(SEVEN, False)
    machine.expire()
    assert machine.room.groups == {}


def test_retention_runs_from_the_commit_in_the_transaction(machine: OffsetMachine) -> None:
    write(machine, SEVEN, {0: 5})
    machine.advance(RETENTION_MS - 1)
    machine.end(SEVEN, True)
    machine.expire()
    assert offsets_of(machine) == {("a", 0): 5}
    machine.advance(1)
    machine.expire()
    assert offsets_of(machine) == {}


def test_nothing_is_kept_of_transactions_that_have_ended(machine: OffsetMachine) -> None:
    for number in range(10):
        write(machine, Producer(number, 0), {0: number, 1: number})
    machine.commit(commit_request("a", {0: 9}))
    for number in range(9):
        machine.end(Producer(number, 0), number % 2 == 0)
    machine.ask(lambda room: delete_groups(room.groups, room.offsets, ["g"]))
    machine.end(Producer(9, 0), True)
    offsets = machine.room.offsets._waiting
    assert (offsets._groups, offsets._producers) == ({}, {})


def test_a_proof_changes_nothing(machine: OffsetMachine) -> None:
    machine.commit(commit_request("a", {0: 1}))
    write(machine, SEVEN, {0: 5})
    machine.write(proof_of("g"))
    machine.write(proof_of("unknown"))
    assert offsets_of(machine) == {("a", 0): 1}
    assert "unknown" not in machine.room.groups
    machine.end(SEVEN, True)
    assert offsets_of(machine) == {("a", 0): 5}
