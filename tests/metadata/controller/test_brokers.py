"""Brokers register, are unfenced, start again cleanly and after a crash; producer ids."""

import pytest
from tests.metadata.cluster import cluster, context, introduction, replay, unfence_broker
from tests.metadata.controller.test_topics import with_topics

from gralha.metadata.controller.brokers import register_broker
from gralha.metadata.controller.producer_ids import BLOCK_SIZE, allocate_producer_ids
from gralha.metadata.features import BOOTSTRAP_FEATURES
from gralha.metadata.image import EMPTY_IMAGE, NO_LEADER
from gralha.protocol.errors import (
    InvalidRegistrationError,
    StaleBrokerEpochError,
    UnknownServerError,
    UnsupportedVersionError,
)
from gralha.protocol.messages.cluster_records import FeatureLevelRecord, ProducerIdsRecord
from gralha.protocol.messages.topic_records import PartitionChangeRecord

NEXT_PROCESS = b"n" * 16


def test_a_broker_registers_fenced_with_the_offset_as_its_epoch():
    image, _ = replay(
        EMPTY_IMAGE, [FeatureLevelRecord(name=n, feature_level=v) for n, v in BOOTSTRAP_FEATURES.items()]
    )
    decision = register_broker(image, introduction(4, rack="r"), context())
    image, change = replay(image, decision.records)
    epoch = len(BOOTSTRAP_FEATURES)
    assert decision.response == epoch
    assert change.changed_brokers == [4]
    broker = image.brokers[4]
    assert (broker.epoch, broker.fenced, broker.rack) == (epoch, True, "r")
    assert broker.endpoints == introduction(4).endpoints
    assert broker.log_dirs == introduction(4).log_dirs
    image, _ = replay(image, unfence_broker(image, 4, epoch, context()).records)
    assert image.brokers[4].is_active
    assert unfence_broker(image, 4, epoch, context()).records == []
    with pytest.raises(StaleBrokerEpochError):
        unfence_broker(image, 4, epoch + 1, context())
    with pytest.raises(StaleBrokerEpochError):
        unfence_broker(image, 5, 1, context())


def restart(image, previous_epoch):
    decision = register_broker(
        image, introduction(1)._replace(incarnation_id=NEXT_PROCESS, previous_epoch=previous_epoch), context()
    )
    after, _ = replay(image, decision.records)
    return decision, after


def test_a_clean_restart_leaves_leaders_and_epochs_as_they_are():
    image = with_topics("a", "b")
    decision, after = restart(image, previous_epoch=image.brokers[1].epoch)
    assert len(decision.records) == 1
    assert after.brokers[1].epoch == decision.response == image.offset + 1
    assert after.brokers[1].fenced
    assert after.topics == image.topics
    assert len(unfence_broker(after, 1, decision.response, context()).records) == 1


@pytest.mark.parametrize("previous_epoch", [-1, 99])
def test_after_a_crash_every_partition_it_leads_begins_an_epoch(previous_epoch):
    image = with_topics("a", "b")
    _, after = restart(image, previous_epoch)
    for name in "ab":
        assert after.partition(name, 0).leader == 1
        assert after.partition(name, 0).leader_epoch == 1


def test_the_same_process_may_register_again_and_keeps_its_epoch():
    image = with_topics("a")
    decision = register_broker(image, introduction(1), context())
    after, _ = replay(image, decision.records)
    assert decision.response == image.brokers[1].epoch
    assert after.topics == image.topics
    assert not after.brokers[1].fenced


def test_partitions_without_a_leader_get_one_that_is_in_sync_when_it_is_unfenced():
    image = with_topics("a", "b")
    image, _ = replay(
        image, [PartitionChangeRecord(partition_id=0, topic_id=image.topic("a").id, leader=NO_LEADER)]
    )
    decision, image = restart(image, previous_epoch=image.brokers[1].epoch)
    image, _ = replay(image, unfence_broker(image, 1, decision.response, context()).records)
    assert image.partition("a", 0).leader == 1
    assert image.partition("a", 0).leader_epoch == 2
    assert image.partition("b", 0).leader_epoch == 0


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"log_dirs": ()}, "No directories"),
        ({"log_dirs": (b"x" * 16, b"x" * 16)}, "Duplicate"),
        ({"log_dirs": (bytes(15) + b"\x01",)}, "Reserved"),
        ({"log_dirs": introduction(1).log_dirs}, "Broker 1"),
    ],
)
def test_folders_must_have_ids_of_their_own(changes, why):
    with pytest.raises(InvalidRegistrationError, match=why):
        register_broker(cluster(1), introduction(2)._replace(**changes), context())


def test_a_broker_that_is_too_old_or_too_new_is_refused():
    image, _ = replay(EMPTY_IMAGE, [FeatureLevelRecord(name="metadata.version", feature_level=31)])
    with pytest.raises(UnsupportedVersionError):
        register_broker(image, introduction(1), context())


def test_every_block_of_producer_ids_is_new():
    image = cluster(2)
    seen: set[int] = set()
    for broker_id in (1, 2, 1):
        decision = allocate_producer_ids(image, broker_id, image.brokers[broker_id].epoch)
        image, _ = replay(image, decision.records)
        first, size = decision.response
        assert size == BLOCK_SIZE
        block = set(range(first, first + size))
        assert not block & seen
        seen |= block
    assert min(seen) == 0
    with pytest.raises(StaleBrokerEpochError):
        allocate_producer_ids(image, 1, 77)
    image, _ = replay(image, [ProducerIdsRecord(next_producer_id=2**63 - 5)])
    with pytest.raises(UnknownServerError):
        allocate_producer_ids(image, 1, image.brokers[1].epoch)
