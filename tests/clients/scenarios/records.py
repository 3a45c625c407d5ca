"""Scenarios of records: records that were written can be read, from any position."""

from __future__ import annotations

import threading
import time

from tests.clients.batches import stored_batches
from tests.clients.driver import Outgoing
from tests.clients.scenarios.stage import Scenario, Stage, refused

# The partitions, of four, that the Java client's default partitioner (murmur2) gives these keys.
PARTITION_BY_KEY = {b"ana": 0, b"bruno": 1, b"duarte": 3, b"gralha": 0, b"c": 2}
SEPTEMBER_2001_MS = 1_000_000_000_000
# How long a fetch may find nothing: much longer than new records need.
VERY_LONG_WAIT_MS = 8000


def numbered(count: int, size_bytes: int = 10) -> list[Outgoing]:
    return [Outgoing(b"%0*d" % (size_bytes, number)) for number in range(count)]


def produce_and_consume(stage: Stage) -> None:
    """Records come back in order, with offsets that count from zero, to this client and to another."""
    topic = stage.topic()
    stage.client.produce(topic, numbered(10), partition=0)
    for reader in (stage.client, stage.reference):
        messages = reader.consume(topic, 0, "earliest", 10)
        assert [message.value for message in messages] == [record.value for record in numbered(10)]
        assert [message.offset for message in messages] == list(range(10))


def reads_what_another_client_wrote(stage: Stage) -> None:
    topic = stage.topic()
    written = Outgoing(b"value", b"key", (("source", b"elsewhere"),), SEPTEMBER_2001_MS)
    stage.reference.produce(topic, [written], partition=0, compression="zstd")
    (message,) = stage.client.consume(topic, 0, 0, 1)
    assert (message.value, message.key, message.headers) == (written.value, written.key, written.headers)
    assert message.timestamp_ms == SEPTEMBER_2001_MS


def learns_where_records_went(stage: Stage) -> None:
    topic = stage.topic(partitions=2)
    first = stage.client.produce(topic, numbered(3), partition=1)
    second = stage.client.produce(topic, numbered(2), partition=1)
    assert [(placed.partition, placed.offset) for placed in first + second] == [
        (1, offset) for offset in range(5)
    ]


def many_records_over_partitions(stage: Stage) -> None:
    topic = stage.topic(partitions=3)
    for partition in range(3):
        stage.client.produce(topic, numbered(1000, size_bytes=100), partition=partition)
    for partition in range(3):
        values = [message.value for message in stage.client.consume(topic, partition, 0, 1000)]
        assert values == [record.value for record in numbered(1000, size_bytes=100)]


def keys_choose_partitions(stage: Stage) -> None:
    """The same key goes to the same partition with every client."""
    topic = stage.topic(partitions=4)
    stage.client.produce(topic, [Outgoing(b"of " + key, key) for key in PARTITION_BY_KEY])
    for partition in range(4):
        keys = [key for key, chosen in PARTITION_BY_KEY.items() if chosen == partition]
        messages = stage.client.consume(topic, partition, 0, len(keys))
        assert [(message.key, message.value) for message in messages] == [(key, b"of " + key) for key in keys]


def null_values_and_keys(stage: Stage) -> None:
    """Null is not an empty string: a null value deletes a key from a compacted topic."""
    topic = stage.topic()
    records = [Outgoing(None, b"deleted"), Outgoing(b"", b"emptied"), Outgoing(b"no key")]
    stage.client.produce(topic, records, partition=0)
    messages = stage.client.consume(topic, 0, 0, 3)
    assert [(message.key, message.value) for message in messages] == [
        (b"deleted", None),
        (b"emptied", b""),
        (None, b"no key"),
    ]


def any_bytes(stage: Stage) -> None:
    topic = stage.topic()
    every_byte = bytes(range(256))
    record = Outgoing(every_byte, every_byte[::-1], (("bytes", every_byte),))
    stage.client.produce(topic, [record], partition=0)
    (message,) = stage.client.consume(topic, 0, 0, 1)
    assert (message.value, message.key, message.headers) == (record.value, record.key, record.headers)


def headers(stage: Stage) -> None:
    """Headers keep their order, may repeat a name, may be empty, and have names in any script."""
    topic = stage.topic()
    sent = (("trace", b"1"), ("trace", b"2"), ("empty", b""), ("gralha-ção", b"sim"))
    stage.client.produce(topic, [Outgoing(b"with headers", None, sent)], partition=0)
    for reader in (stage.client, stage.reference):
        (message,) = reader.consume(topic, 0, 0, 1)
        assert message.headers == sent


def null_headers(stage: Stage) -> None:
    topic = stage.topic()
    stage.client.produce(topic, [Outgoing(b"value", None, (("nothing", None),))], partition=0)
    (message,) = stage.client.consume(topic, 0, 0, 1)
    assert message.headers == (("nothing", None),)


def compressed(stage: Stage, codec: str) -> None:
    topic = stage.topic()
    # Each of them gets smaller. Otherwise librdkafka would send the batch uncompressed.
    records = [Outgoing(b"the same words again, number %d. " % number * 10) for number in range(200)]
    stage.client.produce(topic, records, partition=0, compression=codec)
    for reader in (stage.client, stage.reference):
        values = [message.value for message in reader.consume(topic, 0, 0, 200)]
        assert values == [record.value for record in records]
    assert {batch.compression for batch in stored_batches(stage.client.bootstrap, topic, 0)} == {codec}


def compression_gzip(stage: Stage) -> None:
    compressed(stage, "gzip")


def compression_snappy(stage: Stage) -> None:
    compressed(stage, "snappy")


def compression_lz4(stage: Stage) -> None:
    compressed(stage, "lz4")


def compression_zstd(stage: Stage) -> None:
    compressed(stage, "zstd")


def recompression_by_the_broker(stage: Stage) -> None:
    """A topic with a codec gets it, no matter what the producer sent."""
    topic = stage.topic(compression_type="gzip")
    stage.client.produce(topic, numbered(50), partition=0, compression="none")
    values = [message.value for message in stage.client.consume(topic, 0, 0, 50)]
    assert values == [record.value for record in numbered(50)]
    assert {batch.compression for batch in stored_batches(stage.client.bootstrap, topic, 0)} == {"gzip"}


def create_time(stage: Stage) -> None:
    topic = stage.topic()
    records = [Outgoing(b"old", timestamp_ms=SEPTEMBER_2001_MS), Outgoing(b"now")]
    before_ms = int(time.time() * 1000)
    stage.client.produce(topic, records, partition=0)
    old, now = stage.client.consume(topic, 0, 0, 2)
    assert old.timestamp_ms == SEPTEMBER_2001_MS
    assert before_ms - 1000 <= now.timestamp_ms <= time.time() * 1000 + 1000


def log_append_time(stage: Stage) -> None:
    """A topic may store the broker's time of arrival instead of the producer's."""
    topic = stage.topic(message_timestamp_type="LogAppendTime")
    before_ms = int(time.time() * 1000)
    stage.client.produce(topic, [Outgoing(b"a"), Outgoing(b"b")], partition=0)
    for message in stage.client.consume(topic, 0, 0, 2):
        assert before_ms <= message.timestamp_ms <= time.time() * 1000
    assert {b.timestamp_type for b in stored_batches(stage.client.bootstrap, topic, 0)} == {"LogAppendTime"}


def from_an_offset(stage: Stage) -> None:
    topic = stage.topic()
    stage.reference.produce(topic, numbered(100), partition=0)
    messages = stage.client.consume(topic, 0, 42, 3)
    assert [message.offset for message in messages] == [42, 43, 44]
    assert [message.value for message in messages] == [record.value for record in numbered(100)[42:45]]


def seek(stage: Stage) -> None:
    topic = stage.topic()
    stage.reference.produce(topic, numbered(100), partition=0)
    rounds = stage.client.consume_seeking(topic, 0, [(0, 5), (90, 10), (10, 3)])
    assert [[message.offset for message in messages] for messages in rounds] == [
        [0, 1, 2, 3, 4],
        list(range(90, 100)),
        [10, 11, 12],
    ]


def waits_for_new_records(stage: Stage) -> None:
    """A consumer at the end of a partition gets new records soon: they end its fetch.

    A consumer's next fetch may have to end before the consumer can be closed. "more" is for that.
    """
    topic = stage.topic()
    stage.reference.produce(topic, numbered(1), partition=0)
    stage.client.consume(topic, 0, 0, 1)  # the first call of a client takes long

    def write() -> None:
        time.sleep(0.7)  # until the consumer waits
        stage.reference.produce(topic, [Outgoing(b"news")], partition=0)
        time.sleep(0.5)  # until it closes
        stage.reference.produce(topic, [Outgoing(b"more")], partition=0)

    writer = threading.Thread(target=write)
    writer.start()
    (message,) = stage.client.consume(topic, 0, 1, 1, max_wait_ms=VERY_LONG_WAIT_MS)
    delay_ms = time.time() * 1000 - message.timestamp_ms
    writer.join()
    assert (message.offset, message.value) == (1, b"news")
    assert delay_ms < VERY_LONG_WAIT_MS / 2


def first_and_last_offset(stage: Stage) -> None:
    topic = stage.topic()
    assert stage.client.offsets(topic, 0) == (0, 0)
    stage.reference.produce(topic, numbered(7), partition=0)
    assert stage.client.offsets(topic, 0) == (0, 7)


def offsets_by_time(stage: Stage) -> None:
    topic = stage.topic()
    times_ms = [SEPTEMBER_2001_MS + 1000 * number for number in range(10)]
    records = [Outgoing(b"at %d" % time_ms, timestamp_ms=time_ms) for time_ms in times_ms]
    stage.reference.produce(topic, records[:5], partition=0)
    stage.reference.produce(topic, records[5:], partition=0)
    assert stage.client.offset_for_time(topic, 0, times_ms[3]) == 3
    assert stage.client.offset_for_time(topic, 0, times_ms[6] + 1) == 7
    assert stage.client.offset_for_time(topic, 0, 0) == 0


def no_offset_past_the_last_time(stage: Stage) -> None:
    topic = stage.topic()
    stage.reference.produce(topic, [Outgoing(b"old", timestamp_ms=SEPTEMBER_2001_MS)], partition=0)
    assert stage.client.offset_for_time(topic, 0, SEPTEMBER_2001_MS + 1) is None


def offset_of_the_newest_record(stage: Stage) -> None:
    """The record with the highest timestamp need not be the last one (KIP-734)."""
    topic = stage.topic()
    for offset, seconds in enumerate([5, 9, 2]):
        record = Outgoing(b"%d" % offset, timestamp_ms=SEPTEMBER_2001_MS + seconds)
        stage.reference.produce(topic, [record], partition=0)
    assert stage.client.offset_of_max_timestamp(topic, 0) == 1


def big_message(stage: Stage) -> None:
    """A message of 900 KB stays below the broker's default limit of 1 MiB."""
    topic = stage.topic()
    value = bytes(i % 26 + 97 for i in range(1000)) * 900
    stage.client.produce(topic, [Outgoing(value)], partition=0)
    (message,) = stage.client.consume(topic, 0, 0, 1)
    assert message.value == value


def too_big_message(stage: Stage) -> None:
    topic = stage.topic()
    value = b"x" * 1_500_000
    refused("MESSAGE_TOO_LARGE", lambda: stage.client.produce(topic, [Outgoing(value)], partition=0))
    assert stage.reference.offsets(topic, 0) == (0, 0)


def acks_none(stage: Stage) -> None:
    topic = stage.topic()
    stage.client.produce(topic, numbered(20), partition=0, acks="0")
    values = [message.value for message in stage.client.consume(topic, 0, 0, 20)]
    assert values == [record.value for record in numbered(20)]


def acks_leader(stage: Stage) -> None:
    topic = stage.topic()
    stage.client.produce(topic, numbered(20), partition=0, acks="1")
    assert stage.reference.offsets(topic, 0) == (0, 20)


def idempotent_producer(stage: Stage) -> None:
    topic = stage.topic()
    stage.client.produce(topic, numbered(500), partition=0, idempotent=True)
    values = [message.value for message in stage.client.consume(topic, 0, 0, 500)]
    assert values == [record.value for record in numbered(500)]
    batches = stored_batches(stage.client.bootstrap, topic, 0)
    assert len({batch.producer_id for batch in batches}) == 1
    assert batches[0].producer_id >= 0
    assert [batch.base_sequence for batch in batches] == [batch.base_offset for batch in batches]


def out_of_range_starts_again(stage: Stage) -> None:
    topic = stage.topic()
    stage.reference.produce(topic, numbered(5), partition=0)
    messages = stage.client.consume(topic, 0, 1000, 5, reset="earliest")
    assert [message.offset for message in messages] == [0, 1, 2, 3, 4]


def out_of_range_is_an_error(stage: Stage) -> None:
    topic = stage.topic()
    stage.reference.produce(topic, numbered(5), partition=0)
    refused("OFFSET_OUT_OF_RANGE", lambda: stage.client.consume(topic, 0, 1000, 1, reset="none"))


def unknown_topic(stage: Stage) -> None:
    """Without auto creation a write does not create a topic."""
    topic = stage.fresh_name()
    # Some clients report the broker's answer, some keep asking until their time is over.
    refused(
        ("UNKNOWN_TOPIC_OR_PARTITION", "TIMEOUT"),
        lambda: stage.client.produce(topic, numbered(1), partition=0),
    )
    assert topic not in stage.reference.list_topics()


def auto_created_topic(stage: Stage) -> None:
    client = stage.auto_creating_client()
    topic = stage.fresh_name()
    client.produce(topic, numbered(3))
    messages = client.consume(topic, 0, 0, 3)
    assert [message.value for message in messages] == [record.value for record in numbered(3)]


SCENARIOS: list[Scenario] = [
    produce_and_consume,
    reads_what_another_client_wrote,
    learns_where_records_went,
    many_records_over_partitions,
    keys_choose_partitions,
    null_values_and_keys,
    any_bytes,
    headers,
    null_headers,
    compression_gzip,
    compression_snappy,
    compression_lz4,
    compression_zstd,
    recompression_by_the_broker,
    create_time,
    log_append_time,
    from_an_offset,
    seek,
    waits_for_new_records,
    first_and_last_offset,
    offsets_by_time,
    no_offset_past_the_last_time,
    offset_of_the_newest_record,
    big_message,
    too_big_message,
    acks_none,
    acks_leader,
    idempotent_producer,
    out_of_range_starts_again,
    out_of_range_is_an_error,
    unknown_topic,
    auto_created_topic,
]
