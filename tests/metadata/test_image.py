"""Images: the effect of each record, shared parts, and snapshots."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.metadata.cluster import check_image, cluster, replay

from gralha.metadata.delta import ImageDelta, change_between
from gralha.metadata.image import (
    BROKER_RESOURCE,
    EMPTY_IMAGE,
    NO_LEADER,
    TOPIC_RESOURCE,
    MetadataError,
)
from gralha.metadata.snapshot import snapshot_records
from gralha.protocol.messages.broker_records import (
    BrokerRegistrationChangeRecord,
    ControllerEndpoint,
    ControllerFeature,
    FenceBrokerRecord,
    RegisterControllerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from gralha.protocol.messages.cluster_records import (
    BeginTransactionRecord,
    ClientQuotaRecord,
    ConfigRecord,
    EntityData,
    FeatureLevelRecord,
    NoOpRecord,
    ProducerIdsRecord,
)
from gralha.protocol.messages.topic_records import (
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)

A, B = b"a" * 16, b"b" * 16


def topic(name, id_, partitions=1):
    return [TopicRecord(name=name, topic_id=id_), *(partition(id_, index) for index in range(partitions))]


def partition(id_, index, replicas=(1,), leader=1):
    return PartitionRecord(
        partition_id=index,
        topic_id=id_,
        replicas=list(replicas),
        isr=list(replicas),
        leader=leader,
        leader_epoch=0,
        partition_epoch=0,
        directories=[A] * len(replicas),
    )


def config(name, value, resource=(TOPIC_RESOURCE, "a")):
    return ConfigRecord(resource_type=resource[0], resource_name=resource[1], name=name, value=value)


def test_a_topic_comes_with_its_partitions():
    image, change = replay(EMPTY_IMAGE, topic("a", A, 3))
    assert image.topic("a").id == A
    assert image.topics_by_id[A] is image.topic("a")
    assert list(image.topic("a").partitions) == [0, 1, 2]
    assert image.partition("a", 2).leader == 1
    assert image.partition("a", 3) is None
    assert image.partition("b", 0) is None
    assert change.deleted_topics == []
    assert image.offset == 3


def test_an_image_does_not_change_and_shares_what_stays():
    first, _ = replay(EMPTY_IMAGE, [*topic("a", A), *topic("b", B)])
    second, change = replay(first, [PartitionChangeRecord(partition_id=0, topic_id=B, leader=NO_LEADER)])
    assert first.partition("b", 0).leader == 1
    assert second.partition("b", 0).leader == NO_LEADER
    assert second.topic("a") is first.topic("a")
    assert second.configs is first.configs
    assert second.brokers is first.brokers
    assert [one.name for one in change.changed_topics] == ["b"]


def test_naming_a_leader_begins_an_epoch_and_any_change_a_partition_epoch():
    image, _ = replay(EMPTY_IMAGE, [TopicRecord(name="a", topic_id=A), partition(A, 0, (1, 2), 1)])
    image, _ = replay(image, [PartitionChangeRecord(partition_id=0, topic_id=A, leader=1)])
    assert image.partition("a", 0)[2:5] == (1, 1, 1)
    image, _ = replay(image, [PartitionChangeRecord(partition_id=0, topic_id=A, isr=[1])])
    assert image.partition("a", 0)[2:5] == (1, 1, 2)
    assert image.partition("a", 0).isr == (1,)
    assert image.partition("a", 0).replicas == (1, 2)


def test_a_topic_goes_with_its_configs_and_may_come_again():
    first, _ = replay(EMPTY_IMAGE, [*topic("a.b", A), config("retention.ms", "5", (TOPIC_RESOURCE, "a.b"))])
    gone, change = replay(first, [RemoveTopicRecord(topic_id=A)])
    assert gone[2:] == EMPTY_IMAGE[2:]
    assert change.deleted_topics == [first.topic("a.b")]
    assert change.changed_topic_configs == ["a.b"]
    again, change = replay(
        first,
        [
            RemoveTopicRecord(topic_id=A),
            *topic("a_b", B, 2),
            config("segment.ms", "7", (TOPIC_RESOURCE, "a_b")),
        ],
    )
    assert list(again.topics) == ["a_b"]
    assert again.topic_configs("a_b") == {"segment.ms": "7"}
    assert [one.id for one in change.deleted_topics] == [A]


def test_a_topic_that_comes_and_goes_at_once_leaves_no_change():
    image, change = replay(EMPTY_IMAGE, [*topic("a", A), config("x", "1"), RemoveTopicRecord(topic_id=A)])
    assert image[2:] == EMPTY_IMAGE[2:]
    assert change.changed_topics == change.deleted_topics == []


def test_configs_are_set_and_deleted():
    image, change = replay(
        EMPTY_IMAGE, [config("a", "1"), config("b", "2"), config("c", "3", (BROKER_RESOURCE, ""))]
    )
    assert image.topic_configs("a") == {"a": "1", "b": "2"}
    assert image.default_broker_configs() == {"c": "3"}
    assert image.broker_configs(1) == {}
    assert change.changed_topic_configs == ["a"]
    assert change.broker_configs_changed
    after, change = replay(image, [config("a", None), config("b", None), config("b", "4"), config("z", None)])
    assert after.topic_configs("a") == {"b": "4"}
    assert image.topic_configs("a") == {"a": "1", "b": "2"}
    assert not change.broker_configs_changed
    after, _ = replay(after, [config("b", None)])
    assert (TOPIC_RESOURCE, "a") not in after.configs


def test_brokers_are_fenced_and_unfenced_in_their_epoch():
    image = cluster(1)
    epoch = image.brokers[1].epoch
    assert image.brokers[1].is_active
    image, change = replay(image, [FenceBrokerRecord(id=1, epoch=epoch)])
    assert change.changed_brokers == [1]
    assert image.brokers[1].fenced
    image, _ = replay(image, [UnfenceBrokerRecord(id=1, epoch=epoch)])
    assert not image.brokers[1].fenced
    image, _ = replay(
        image,
        [
            BrokerRegistrationChangeRecord(
                broker_id=1, broker_epoch=epoch, in_controlled_shutdown=1, log_dirs=[A], cordoned_log_dirs=[A]
            )
        ],
    )
    assert not image.brokers[1].fenced
    assert not image.brokers[1].is_active
    assert image.brokers[1].log_dirs == image.brokers[1].cordoned_log_dirs == (A,)
    assert image.brokers[1].endpoint("PLAINTEXT").host == "host1"
    assert image.brokers[1].endpoint("SSL") is None
    image, _ = replay(image, [UnregisterBrokerRecord(broker_id=1, broker_epoch=epoch)])
    assert image.brokers == {}


def test_features_and_producer_ids():
    image, _ = replay(EMPTY_IMAGE, [FeatureLevelRecord(name="x", feature_level=2), NoOpRecord()])
    assert image.features == {"x": 2}
    image, _ = replay(
        image, [FeatureLevelRecord(name="x", feature_level=0), ProducerIdsRecord(next_producer_id=7)]
    )
    assert image.features == {}
    assert image.next_producer_id == 7


@pytest.mark.parametrize(
    "record",
    [
        TopicRecord(name="a", topic_id=B),
        TopicRecord(name="b", topic_id=A),
        RemoveTopicRecord(topic_id=B),
        partition(B, 0),
        partition(A, 2),
        PartitionChangeRecord(partition_id=1, topic_id=A),
        PartitionChangeRecord(partition_id=0, topic_id=B),
        FenceBrokerRecord(id=1, epoch=5),
        FenceBrokerRecord(id=2, epoch=0),
        UnregisterBrokerRecord(broker_id=2, broker_epoch=0),
        ProducerIdsRecord(next_producer_id=1000),
        BeginTransactionRecord(),
    ],
    ids=repr,
)
def test_a_record_that_contradicts_the_image_stops_the_node(record):
    image, _ = replay(cluster(1), [*topic("a", A), ProducerIdsRecord(next_producer_id=1000)])
    delta = ImageDelta(image)
    with pytest.raises(MetadataError):
        delta.apply(record)


NAMES = st.sampled_from(["a", "b.c", "b_c", "d-e", "f"])
IDS = st.sampled_from([bytes([number]) * 16 for number in range(1, 6)])
LEVELS = st.dictionaries(st.sampled_from(["x", "y"]), st.tuples(st.integers(0, 3), st.integers(3, 9)))
STEPS = st.lists(
    st.one_of(
        st.builds(topic, NAMES, IDS, st.integers(1, 3)),
        st.builds(lambda id_: [RemoveTopicRecord(topic_id=id_)], IDS),
        st.builds(
            lambda id_, index, leader, isr: [
                PartitionChangeRecord(partition_id=index, topic_id=id_, leader=leader, isr=isr)
            ],
            IDS,
            st.integers(0, 2),
            st.sampled_from([-2, -1, 1]),
            st.sampled_from([None, [1]]),
        ),
        st.builds(
            lambda name, value, resource: [config(name, value, resource)],
            st.sampled_from(["x", "y"]),
            st.none() | st.text(max_size=3),
            st.tuples(st.sampled_from([2, 4]), NAMES),
        ),
        st.builds(lambda level: [FeatureLevelRecord(name="x", feature_level=level)], st.integers(0, 3)),
        st.builds(lambda last: [ProducerIdsRecord(next_producer_id=last)], st.integers(1, 9)),
        st.builds(
            lambda id_, levels: [
                RegisterControllerRecord(
                    controller_id=id_,
                    incarnation_id=A,
                    end_points=[ControllerEndpoint("C", "h", 1, 0)],
                    features=[ControllerFeature(name, *level) for name, level in levels.items()],
                )
            ],
            st.integers(1, 2),
            LEVELS,
        ),
        st.builds(
            lambda fenced: [BrokerRegistrationChangeRecord(broker_id=1, fenced=fenced)],
            st.sampled_from([-1, 1]),
        ),
    ),
    max_size=30,
)


def possible(image, records):
    """The records that the image accepts. A refused list is left out completely."""
    try:
        return replay(image, records)[0], records
    except (MetadataError, AssertionError):
        return image, []


@settings(max_examples=150)
@given(STEPS, st.randoms(use_true_random=False))
def test_one_image_whatever_the_steps_and_a_snapshot_brings_it_back(steps, random):
    start = cluster(1)
    image = start
    history = []
    used_ids: set[bytes] = set()
    for step in steps:
        ids = {record.topic_id for record in step if isinstance(record, TopicRecord)}
        if not ids & used_ids:  # a random id is never used twice
            image, taken = possible(image, step)
            history += taken
            used_ids |= ids
    # In larger steps: the same image, and the change of each step is the difference.
    other = start
    while history:
        size = random.randint(1, len(history))
        delta = ImageDelta(other)
        for record in history[:size]:
            delta.apply(record)
        history = history[size:]
        before = other
        other, change = delta.finish(before.offset + size, before.epoch)
        between = change_between(before, other)
        assert {one.id for one in between.changed_topics} <= {one.id for one in change.changed_topics}
        assert {one.id: one for one in between.deleted_topics} == {
            one.id: one for one in change.deleted_topics
        }
        assert set(between.changed_configs) <= set(change.changed_configs)
        assert between.changed_brokers == change.changed_brokers
    assert other[2:] == image[2:]
    check_image(other)
    restored, _ = replay(EMPTY_IMAGE, list(snapshot_records(image)))
    assert restored[2:] == image[2:]
    assert change_between(image, restored) == ([], [], [], [], [], [], False)


def quota(key, value, *entity, remove=False):
    return ClientQuotaRecord(entity=[EntityData(*one) for one in entity], key=key, value=value, remove=remove)


def test_quotas_are_set_and_removed_by_entity():
    user, default = ("user", "alice"), ("client-id", None)
    image, change = replay(
        EMPTY_IMAGE,
        [
            quota("producer_byte_rate", 100.0, user, default),
            quota("consumer_byte_rate", 200.5, default, user),
            quota("producer_byte_rate", 300.0, user),
        ],
    )
    assert change.client_quotas_changed
    assert image.client_quotas == {
        (default, user): {"producer_byte_rate": 100.0, "consumer_byte_rate": 200.5},
        (user,): {"producer_byte_rate": 300.0},
    }
    restored, _ = replay(EMPTY_IMAGE, list(snapshot_records(image)))
    assert restored.client_quotas == image.client_quotas
    assert not change_between(image, restored).client_quotas_changed
    removed = [
        quota("producer_byte_rate", 0.0, default, user, remove=True),
        quota("no", 0.0, user, remove=True),
    ]
    after, change = replay(image, [*removed, quota("producer_byte_rate", 0.0, user, remove=True)])
    assert change.client_quotas_changed
    assert after.client_quotas == {(default, user): {"consumer_byte_rate": 200.5}}
    assert len(image.client_quotas) == 2
