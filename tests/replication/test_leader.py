"""How a leader handles its followers' fetches, and a follower its leader's responses."""

from __future__ import annotations

from pathlib import Path

import pytest

from gralha.metadata.image import BrokerRegistration
from gralha.protocol.errors import (
    NotLeaderOrFollowerError,
    OffsetOutOfRangeError,
    UnknownLeaderEpochError,
)
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import Record, encode_batch
from gralha.replication.cluster_view import ClusterView
from gralha.replication.followers import Follower, IsrProposal
from gralha.replication.partition import Partition
from gralha.storage.config import LogConfig
from tests.replication.parts import following
from tests.replication.simple_controller import registration
from tests.storage.disks import QuietDisk
from tests.storage.logs import make_log

LAG_MS = 1000
NOW_MS = 1_700_000_000_000
TOPIC_ID = bytes(range(16))


class Replica:
    """Broker 1's replica of a partition that has replicas on 1, 2 and 3."""

    def __init__(self, folder: Path) -> None:
        self.time_ms = 0
        self.brokers: dict[int, BrokerRegistration] = {
            broker: registration(broker, 10 + broker, False) for broker in (1, 2, 3)
        }
        self.proposed: list[IsrProposal] = []
        log = make_log(QuietDisk(), folder)
        cluster = ClusterView(lambda: self.time_ms, self.brokers.get, lambda: 11, self.propose, LAG_MS)
        self.partition = Partition("t", TOPIC_ID, 0, log, 1, cluster)
        log.config = LogConfig({"min.insync.replicas": "2"})
        self.epoch = 0

    def propose(self, topic_id: bytes, index: int, proposal: IsrProposal) -> None:
        self.proposed.append(proposal)

    def lead(self, *isr: int, epoch: int = 1, partition_epoch: int = 1) -> None:
        self.epoch = epoch
        self.partition.change_leader(1, epoch, [1, 2, 3], list(isr), partition_epoch)

    def append(self, count: int = 1) -> None:
        for _ in range(count):
            data = encode_batch([Record(b"key", b"value", NOW_MS)])
            self.partition.led().append(RecordBytes(data, 0, len(data)), 1, NOW_MS)

    def fetch(
        self, replica: int, offset: int, last_epoch: int | None = None, broker_epoch: int | None = None
    ) -> None:
        self.partition.led().follower_fetched(
            replica,
            self.epoch,
            10 + replica if broker_epoch is None else broker_epoch,
            offset,
            self.epoch if last_epoch is None else last_epoch,
            0,
        )

    @property
    def high_watermark(self) -> int:
        return int(self.partition.log.high_watermark)


@pytest.fixture
def replica(tmp_path: Path) -> Replica:
    return Replica(tmp_path)


# The high watermark


def test_the_slowest_in_sync_replica_decides(replica: Replica) -> None:
    replica.lead(1, 2, 3)
    replica.append(5)
    replica.fetch(2, 5)
    assert replica.high_watermark == 0
    replica.fetch(3, 3)
    assert replica.high_watermark == 3
    replica.fetch(3, 2)  # it has crashed, and lost some
    assert replica.high_watermark == 3
    replica.lead(1, 2, partition_epoch=2)
    assert replica.high_watermark == 3  # it was at the end, and is waited for
    replica.time_ms += LAG_MS + 1
    replica.fetch(2, 5)
    assert replica.high_watermark == 5


def test_it_stays_where_it_is_below_min_insync_replicas(replica: Replica) -> None:
    replica.lead(1)
    replica.append(2)
    assert replica.high_watermark == 0
    replica.fetch(2, 2)
    (proposal,) = replica.proposed
    assert replica.high_watermark == 0
    replica.partition.led().proposal_accepted(proposal, 1, [1, 2], 2)
    assert replica.high_watermark == 2


def test_a_new_epoch_forgets_how_far_followers_were(replica: Replica) -> None:
    """Another may have led in between, unseen, and they may have cut their logs for it."""
    replica.lead(1, 2, 3)
    replica.append(2)
    replica.fetch(2, 2)
    replica.fetch(3, 1)
    replica.lead(1, 2, 3, epoch=3, partition_epoch=3)
    assert replica.high_watermark == 1
    assert [one.log_end_offset for one in replica.partition.led().followers.values()] == [-1, -1]
    assert replica.partition.is_behind()
    for follower in (2, 3):
        replica.fetch(follower, 2, last_epoch=1)
    assert replica.high_watermark == 2
    assert not replica.partition.is_behind()


# Which fetches count


def test_a_fetch_that_has_parted_or_lies_outside_does_not_count(replica: Replica) -> None:
    replica.lead(1, 2, 3)
    replica.append(3)
    replica.lead(1, 2, 3, epoch=5, partition_epoch=2)
    replica.append(2)
    replica.fetch(2, 4, last_epoch=3)  # of epoch 3 there is nothing here: it ended at 3, in epoch 1
    replica.fetch(3, 6, last_epoch=5)  # beyond the end
    replica.fetch(3, 9, last_epoch=-1)
    assert [one.log_end_offset for one in replica.partition.led().followers.values()] == [-1, -1]
    assert replica.partition.led().diverging_epoch(3, 4) == (1, 3)
    assert replica.partition.led().diverging_epoch(5, 6) == (5, 5)
    assert replica.partition.led().diverging_epoch(1, 3) is None
    assert replica.partition.led().diverging_epoch(-1, 9) is None
    with pytest.raises(OffsetOutOfRangeError):
        replica.partition.led().diverging_epoch(6, 5)


def test_who_may_not_follow(replica: Replica) -> None:
    replica.lead(1, 2, 3)
    with pytest.raises(UnknownLeaderEpochError):
        replica.fetch(4, 0)
    with pytest.raises(NotLeaderOrFollowerError):
        replica.partition.led().check_follower(4, -1, 14)
    with pytest.raises(NotLeaderOrFollowerError):
        replica.fetch(2, 0, broker_epoch=11)  # a process that is gone
    replica.partition.change_leader(2, 2, [1, 2, 3], [1, 2, 3], 2)
    with pytest.raises(NotLeaderOrFollowerError):
        replica.partition.led()


# Proposals


def test_who_has_caught_up_is_proposed_with_its_broker_epoch(replica: Replica) -> None:
    replica.lead(1, 2)
    replica.append(2)
    replica.fetch(2, 2)
    replica.fetch(3, 1)
    assert replica.proposed == []
    replica.fetch(3, 2)
    (proposal,) = replica.proposed
    assert (proposal.leader_epoch, proposal.partition_epoch) == (1, 1)
    assert (proposal.in_sync_replicas, proposal.broker_epochs) == ([1, 2, 3], [11, 12, 13])
    # Until it is decided, it counts, and nothing else is proposed.
    replica.append()
    replica.fetch(2, 3)
    replica.partition.led().shrink_in_sync_replicas()
    assert (replica.high_watermark, len(replica.proposed)) == (2, 1)


def test_a_replica_joins_only_past_the_start_of_the_epoch(replica: Replica) -> None:
    replica.lead(1, 2)
    replica.append(4)
    replica.lead(1, 2, epoch=2, partition_epoch=2)
    replica.fetch(3, 3, last_epoch=1)
    assert (replica.high_watermark, replica.proposed) == (0, [])
    replica.fetch(3, 4, last_epoch=1)
    assert len(replica.proposed) == 1


@pytest.mark.parametrize(
    "change", [{"fenced": True}, {"in_controlled_shutdown": True}, {"epoch": 9}, {"id": 0}]
)
def test_who_is_fenced_leaving_or_another_process_is_not_proposed(
    replica: Replica, change: dict[str, int]
) -> None:
    replica.lead(1, 2)
    known = replica.brokers[3]
    if "id" in change:
        del replica.brokers[3]
    else:
        replica.brokers[3] = known._replace(**change)  # type: ignore[arg-type]
    replica.fetch(3, 0)
    assert replica.proposed == []
    replica.brokers[3] = known
    replica.partition.led().brokers_changed()
    assert len(replica.proposed) == 1


def test_an_answer_counts_for_the_proposal_that_it_is_about(replica: Replica) -> None:
    replica.lead(1, 2)
    replica.fetch(3, 0)
    replica.brokers[3] = registration(3, 13, True)  # so that no other proposal follows
    (proposal,) = replica.proposed
    partition = replica.partition
    partition.led().proposal_accepted(proposal, 2, [1, 2, 3], 2)  # of a later leader epoch
    assert partition.led().proposal is proposal
    replica.lead(1, 2)  # the metadata of before, once more
    assert partition.led().proposal is proposal
    replica.lead(1, partition_epoch=2)  # the controller has decided something else
    assert partition.led().proposal is None
    partition.led().proposal_accepted(proposal, 1, [1, 2, 3], 2)
    partition.led().proposal_refused(proposal)
    assert (partition.in_sync_replicas, partition.led().counting) == ([1], [1])


def test_metadata_that_is_older_than_an_answer_changes_nothing(replica: Replica) -> None:
    replica.lead(1, 2)
    replica.fetch(3, 0)
    replica.partition.led().proposal_accepted(replica.proposed[0], 1, [1, 2, 3], 2)
    replica.lead(1, 2)
    assert replica.partition.in_sync_replicas == [1, 2, 3]


def test_a_refused_proposal_is_made_again(replica: Replica) -> None:
    """The follower has nothing to fetch, so it does not ask again by itself."""
    replica.lead(1, 2)
    replica.fetch(3, 0)
    replica.brokers[3] = registration(3, 13, True)
    replica.partition.led().proposal_refused(replica.proposed[0])
    assert (replica.partition.led().counting, len(replica.proposed)) == ([1, 2], 1)
    replica.brokers[3] = registration(3, 13, False)
    replica.partition.led().brokers_changed()
    replica.partition.led().proposal_refused(replica.proposed[1])
    assert [proposal.in_sync_replicas for proposal in replica.proposed] == [[1, 2, 3]] * 3


@pytest.mark.parametrize("how", ["accepted", "told by the metadata"])
def test_who_catches_up_while_a_proposal_is_under_way_comes_next(replica: Replica, how: str) -> None:
    replica.lead(1)
    replica.fetch(2, 0)
    replica.fetch(3, 0)
    (proposal,) = replica.proposed
    assert proposal.in_sync_replicas == [1, 2]
    if how == "accepted":
        replica.partition.led().proposal_accepted(proposal, 1, [1, 2], 2)
    else:
        replica.lead(1, 2, partition_epoch=2)
    assert replica.proposed[1].in_sync_replicas == [1, 2, 3]


# Lag


def test_who_lags_behind_for_too_long_is_left_out_and_not_taken_back_by_others(replica: Replica) -> None:
    replica.lead(1, 2, 3)
    replica.append(2)
    replica.time_ms = LAG_MS
    replica.fetch(2, 2)
    replica.partition.led().shrink_in_sync_replicas()
    assert replica.proposed == []
    replica.time_ms += 1
    replica.partition.led().shrink_in_sync_replicas()
    (proposal,) = replica.proposed
    assert proposal.in_sync_replicas == [1, 2]
    replica.partition.led().proposal_accepted(proposal, 1, [1, 2], 2)
    assert replica.high_watermark == 2
    replica.fetch(2, 2)
    replica.partition.led().brokers_changed()
    assert len(replica.proposed) == 1


def test_who_is_always_a_little_behind_a_busy_leader_is_in_sync() -> None:
    follower = Follower(2, 0)
    for second in range(1, 10):
        follower.fetched((second - 1) * 10, 0, 12, second * 10, second * 1000)
    assert follower.caught_up_ms == 8000
    assert follower.is_caught_up(90, 9000, 1000)
    assert not follower.is_caught_up(90, 9001, 1000)
    assert follower.is_caught_up(80, 99_999, 1000)  # nothing was written since


def test_the_low_watermark_is_that_of_living_brokers(replica: Replica) -> None:
    replica.lead(1, 2, 3)
    replica.append(3)
    replica.fetch(2, 3)
    replica.fetch(3, 3)
    assert replica.partition.led().delete_records(2) == 2
    assert replica.partition.led().low_watermark() == 0
    replica.partition.led().follower_fetched(2, 1, 12, 3, 1, 2)
    replica.brokers[3] = replica.brokers[3]._replace(fenced=True)
    assert replica.partition.led().low_watermark() == 2


# Following


def test_a_follower_takes_the_high_watermark_as_far_as_its_log_goes(replica: Replica) -> None:
    partition = replica.partition
    partition.change_leader(2, 1, [1, 2, 3], [1, 2, 3], 1)
    data = b"".join(
        encode_batch([Record(b"k", b"v", NOW_MS)], base_offset=offset, leader_epoch=1) for offset in range(3)
    )
    following(partition).append(RecordBytes(data, 0, len(data)), 9, 0, NOW_MS)
    assert replica.high_watermark == 3
    following(partition).append(None, 2, 1, NOW_MS)  # a new leader knows less
    assert (replica.high_watermark, partition.log.log_start_offset) == (3, 1)


def test_where_a_log_is_truncated(replica: Replica) -> None:
    """Ours: epoch 1 from 0, epoch 3 from 4, epoch 6 from 6, up to 8."""
    for epoch, count in ((1, 4), (3, 2), (6, 2)):
        replica.lead(1, 2, 3, epoch=epoch, partition_epoch=epoch)
        replica.append(count)
    replica.partition.change_leader(2, 7, [1, 2, 3], [1, 2, 3], 7)
    offset = following(replica.partition).truncation_offset
    assert offset(6, 7) == 7
    assert offset(6, 99) == 8
    assert offset(3, 5) == 5
    assert offset(3, 99) == 6
    assert offset(5, 7) == 6  # epoch 5 is not known here: what comes before it is asked for next
    assert offset(1, 2) == 2
    assert offset(0, 0) == 0
