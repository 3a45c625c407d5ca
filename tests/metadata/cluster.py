"""Images of small clusters for tests, and the rules that hold for every image."""

from random import Random

from gralha.metadata.controller.brokers import (
    BrokerIntroduction,
    checked_registration,
    register_broker,
    unfencing_records,
)
from gralha.metadata.controller.decision import ControllerContext, Decision
from gralha.metadata.controller.producer_ids import allocate_producer_ids
from gralha.metadata.delta import ImageDelta
from gralha.metadata.image import EMPTY_IMAGE, NO_LEADER, Endpoint, MetadataImage
from gralha.metadata.records import decode_record, encode_record
from gralha.metadata.topic_names import unified_name


def context(node_id=1, seed=0, **configs):
    """Settings have `_` in place of `.`."""
    static = {name.replace("_", "."): str(value) for name, value in configs.items()}
    return ControllerContext(node_id, static, Random(seed))


def replay(image, records):
    """The image after records that were encoded and decoded, as in a log, and the change."""
    delta = ImageDelta(image)
    for record in records:
        delta.apply(decode_record(encode_record(record)))
    after, change = delta.finish(image.offset + len(records), image.epoch)
    check_image(after)
    return after, change


def introduction(broker_id, log_dirs=1, **others):
    return BrokerIntroduction(
        broker_id,
        bytes([broker_id]) * 16,
        (Endpoint("PLAINTEXT", f"host{broker_id}", 9092, 0),),
        tuple(bytes([broker_id, number]) * 8 for number in range(1, log_dirs + 1)),
        **others,
    )


def cluster(brokers=1, fenced=(), log_dirs=1) -> MetadataImage:
    """Brokers 1 to n."""
    image = EMPTY_IMAGE
    for broker_id in range(1, brokers + 1):
        decision = register_broker(image, introduction(broker_id, log_dirs), context())
        image, _ = replay(image, decision.records)
        if broker_id not in fenced:
            image, _ = replay(image, unfence_broker(image, broker_id, decision.response, context()).records)
    return image


def unfence_broker(image, broker_id, broker_epoch, context):
    """Unfences a broker, as a heartbeat does."""
    registration = checked_registration(image, broker_id, broker_epoch)
    return Decision(None, unfencing_records(image, registration, context) if registration.fenced else [])


async def let_in(controller, broker):
    """Registers a broker with a running controller, and unfences it."""
    epoch = await controller.execute(lambda image: register_broker(image, broker, controller.context))
    await controller.execute(lambda image: unfence_broker(image, broker.id, epoch, controller.context))


async def allocate_ids(controller, broker_id):
    """A block of producer ids from a running controller."""
    epoch = controller.image.brokers[broker_id].epoch
    return await controller.execute(lambda image: allocate_producer_ids(image, broker_id, epoch))


def check_image(image: MetadataImage) -> None:
    """Checks the rules that hold for every image."""
    assert {topic.id: topic for topic in image.topics.values()} == image.topics_by_id
    assert len(image.topics) == len(image.topics_by_id)
    for name, topic in image.topics.items():
        assert topic.name == name
        assert list(topic.partitions) == list(range(len(topic.partitions)))
        for partition in topic.partitions.values():
            assert partition.replicas
            assert len(set(partition.replicas)) == len(partition.replicas)
            assert set(partition.isr) <= set(partition.replicas)
            eligible = partition.eligible_leader_replicas
            assert set(eligible) <= set(partition.replicas)
            assert not set(eligible) & set(partition.isr)
            assert partition.isr or eligible or partition.last_known_elr
            assert partition.leader == NO_LEADER or partition.leader in partition.isr
            assert len(partition.directories) == len(partition.replicas)
    unified = [found for name in image.topics if (found := unified_name(name)) is not None]
    assert sorted(unified) == sorted(image.unified_names)
    assert all(values for values in image.configs.values())
