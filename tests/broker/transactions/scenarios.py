"""What producers do with transactions, right and wrong, for a comparison of two brokers. See story.py."""

from collections.abc import Callable

from tests.broker.transactions.story import Producer, Side

Scenario = Callable[[Side], None]
LAST_TIMEOUT_MS = 15 * 60 * 1000
STRANGER = Producer(987_654, 0)

SCENARIOS: dict[str, Scenario] = {}


def scenario(run: Scenario) -> Scenario:
    SCENARIOS[run.__name__.replace("_", "-")] = run
    return run


# InitProducerId


@scenario
def timeouts(side: Side) -> None:
    for timeout_ms in (0, -1, -(1 << 31), LAST_TIMEOUT_MS + 1, (1 << 31) - 1, 1, LAST_TIMEOUT_MS):
        side.init(timeout_ms=timeout_ms)
        side.describe()


@scenario
def ids_that_are_empty_or_unknown(side: Side) -> None:
    for version in range(6):
        side.init(transactional_id="", version=version)
    for version in range(4):
        side.add(STRANGER, 0, txn="", version=version)
        side.add(STRANGER, 0, version=version)
    for version in (4, 5):
        for verify_only in (False, True):
            side.add_as_broker(STRANGER, 0, txn="", verify_only=verify_only, version=version)
            side.add_as_broker(STRANGER, 0, verify_only=verify_only, version=version)
    for version in range(5):
        side.add_offsets(STRANGER, txn="", version=version)
        side.add_offsets(STRANGER, version=version)
    for version in range(6):
        side.end(STRANGER, txn="", version=version)
        side.end(STRANGER, version=version)
        side.commit_offsets(STRANGER, txn="", version=version)
        side.commit_offsets(STRANGER, version=version)
    side.describe(txn="")
    side.describe()


@scenario
def begins_again_and_again(side: Side) -> None:
    for version in range(6):
        side.init(version=version)
        side.describe()


@scenario
def goes_on_after_an_error(side: Side) -> None:
    """KIP-360: all combinations of an expected id and epoch."""
    first = side.init(STRANGER)  # the id is new, so it does not matter what the producer had
    second = side.init(first)
    side.init(first)  # a retry
    side.init(second)
    side.init(first)
    side.init(second.newer(5))
    side.init(STRANGER)
    side.init(Producer(first.id, -1))
    side.init(Producer(-1, 0))
    third = side.init()
    side.init(first)
    side.init(second)
    for version in (3, 4, 5):
        side.init(first, version=version)
    side.init(third)
    side.describe()


@scenario
def fences_an_open_transaction_v1(side: Side) -> None:
    first = side.init()
    side.add(first, 0)
    side.produce(first, version=11)
    side.init()
    side.settle()
    side.produce(first, 1, version=11)
    side.producers()
    second = side.init()
    side.describe()
    for version in range(4):
        side.add(first, 0, version=version)
    for version in range(5):
        side.end(first, version=version)
        side.add_offsets(first, version=version)
    side.add(second, 0)
    side.produce(second, version=11)
    side.end(second, version=4)
    side.settle()
    side.read()
    side.producers()


@scenario
def fences_an_open_transaction_v2(side: Side) -> None:
    first = side.init()
    side.produce(first)
    side.init()
    side.settle()
    side.produce(first, 1)
    side.end(first)
    side.end(first, is_commit=False)
    second = side.init()
    side.describe()
    side.produce(first, 2)
    side.produce(second)
    side.end(first)
    side.end(second)
    side.settle()
    side.read()
    side.producers()


@scenario
def goes_on_while_a_transaction_is_open(side: Side) -> None:
    first = side.init()
    side.produce(first)
    side.init(STRANGER)
    side.init(first)  # its own id and epoch: the transaction is aborted first
    side.settle()
    side.init(first)
    side.describe()


# EndTxn


@scenario
def ends_nothing(side: Side) -> None:
    producer = side.init()
    for version in range(5):
        for is_commit in (True, False):
            side.end(producer, is_commit, version=version)
    side.end(producer)
    side.describe()
    after = side.end(producer, is_commit=False)
    side.settle()
    side.end(producer, is_commit=False)
    side.end(producer)
    side.end(after)
    side.end(after, is_commit=False)
    side.settle()


@scenario
def ends_twice_v1(side: Side) -> None:
    producer = side.init()
    for is_commit in (True, False):
        side.add(producer, 0)
        side.end(producer, is_commit, version=4)
        side.settle()
        for version in range(5):
            side.end(producer, is_commit, version=version)
            side.end(producer, not is_commit, version=version)
        side.end(producer.newer(), is_commit, version=4)
        side.end(STRANGER, is_commit, version=4)
        side.describe()
    side.producers()


@scenario
def ends_twice_v2(side: Side) -> None:
    producer = side.init()
    for is_commit in (True, False):
        side.produce(producer)
        after = side.end(producer, is_commit)
        side.settle()
        side.end(producer, is_commit)
        side.end(producer, not is_commit)
        side.end(after.newer(), is_commit)
        side.end(STRANGER, is_commit)
        side.describe()
        side.end(after, True)
        producer = side.end(after, False)
        side.settle()
    side.producers()
    side.read()


@scenario
def ends_with_other_epochs(side: Side) -> None:
    producer = side.init()
    producer = side.init()
    side.add(producer, 0)
    for version in (1, 2, 4, 5):
        for other in (producer.newer(), producer.newer(-1), producer.newer(-2), STRANGER):
            side.end(other, version=version)
            side.end(other, is_commit=False, version=version)
    side.describe()


@scenario
def changes_from_v1_to_v2_and_back(side: Side) -> None:
    producer = side.init()
    side.add(producer, 0)
    side.produce(producer, version=11)
    after = side.end(producer)
    side.settle()
    side.add(after, 1)
    side.produce(after, partition=1, version=11)
    side.end(after, version=4)
    side.settle()
    side.produce(after, 1, partition=2)
    side.end(after, version=4)
    side.settle()
    side.producers(0, 1, 2)
    for partition in range(3):
        side.read(partition)


# AddPartitionsToTxn, AddOffsetsToTxn


@scenario
def adds_partitions(side: Side) -> None:
    producer = side.init()
    for version in range(4):
        side.add(producer, 0, 1, version=version)
        side.describe()
        side.add(producer, 2, 7, version=version)
        side.add(producer, 0, topic="no-such-topic", version=version)
        side.add(producer.newer(), 2, version=version)
        side.add(producer.newer(-1), 2, version=version)
        side.add(STRANGER, 2, version=version)
    side.add(producer, topic=side.topic)
    side.describe()


@scenario
def adds_no_partition(side: Side) -> None:
    producer = side.init()
    side.add(producer)
    side.describe()
    side.end(producer, version=4)
    side.settle()


@scenario
def adds_partitions_as_a_broker(side: Side) -> None:
    producer = side.init()
    for version in (4, 5):
        side.add_as_broker(producer, 0, verify_only=True, version=version)
        side.add_as_broker(producer, 0, 1, version=version)
        side.add_as_broker(producer, 0, 2, verify_only=True, version=version)
        side.add_as_broker(producer, 2, 7, version=version)
        side.add_as_broker(producer, 2, 7, verify_only=True, version=version)
        side.add_as_broker(producer.newer(), 2, version=version)
        side.add_as_broker(producer.newer(), 2, verify_only=True, version=version)
        side.add_as_broker(STRANGER, 2, version=version)
        side.add_as_broker(STRANGER, 2, verify_only=True, version=version)
        side.describe()
        producer = side.end(producer)
        side.settle()


@scenario
def adds_offsets(side: Side) -> None:
    producer = side.init()
    for version in range(5):
        side.add_offsets(producer, version=version)
        side.add_offsets(producer.newer(), version=version)
        side.add_offsets(producer, group="", version=version)
    side.describe()
    side.end(producer, version=4)
    side.settle()


# Produce


@scenario
def produces_without_adding(side: Side) -> None:
    producer = side.init()
    for version in (3, 7, 9, 10, 11):
        side.produce(producer, version=version)
    side.describe()
    for txn in (None, "another-id"):
        for version in (7, 11, 12):
            side.produce(producer, txn=txn, version=version)
    side.produce(producer, version=12)
    side.describe()


@scenario
def produces_with_other_epochs(side: Side) -> None:
    producer = side.init()
    producer = side.init()
    for version in (7, 10, 11, 12, 13):
        for other in (producer.newer(-1), producer.newer(), STRANGER):
            side.produce(other, version=version)
    side.produce(producer)
    for version in (7, 11, 12, 13):
        for other in (producer.newer(-1), producer.newer()):
            side.produce(other, 1, version=version)
    side.producers()
    side.read()


@scenario
def produces_with_wrong_sequences(side: Side) -> None:
    producer = side.init()
    side.produce(producer, 3)
    side.describe()
    side.produce(producer, 0)
    side.produce(producer, 2)
    side.produce(producer, 1)
    side.produce(producer, 1)
    side.produce(producer, 0)
    after = side.end(producer)
    side.settle()
    side.produce(after, 2)
    side.produce(after, 0)
    side.producers()


@scenario
def produces_with_wrong_sequences_v1(side: Side) -> None:
    producer = side.init()
    side.add(producer, 0)
    side.produce(producer, 3, version=11)
    side.produce(producer, 0, version=11)
    side.produce(producer, 4, version=11)
    side.produce(producer, 5, version=11)
    side.end(producer, version=4)
    side.settle()
    side.add(producer, 0)
    side.produce(producer, 7, version=11)
    side.produce(producer, 6, version=11)
    side.producers()


@scenario
def mixes_records_in_and_outside_of_a_transaction(side: Side) -> None:
    producer = side.init()
    side.produce(producer)
    side.produce(producer, 1, is_transactional=False)
    side.produce(producer, 1, is_transactional=False, txn=None)
    after = side.end(producer)
    side.settle()
    side.produce(after, 0, is_transactional=False)
    side.produce(after, 1)
    side.producers()


@scenario
def produces_after_the_end_v1(side: Side) -> None:
    producer = side.init()
    side.add(producer, 0)
    side.produce(producer, version=11)
    side.end(producer, version=4)
    side.settle()
    for version in (7, 11):
        side.produce(producer, 1, version=version)
    side.read()


@scenario
def produces_after_the_end_v2(side: Side) -> None:
    producer = side.init()
    side.produce(producer)
    after = side.end(producer)
    side.settle()
    for version in (7, 11, 12):
        side.produce(producer, 1, version=version)
    side.produce(after)
    side.producers()
    side.read()


@scenario
def reads_what_is_committed(side: Side) -> None:
    producer = side.init()
    other = side.init(transactional_id=side.txn + "-2")
    side.produce(producer, value=b"a")
    side.produce(other, value=b"b", txn=side.txn + "-2")
    side.read()
    side.read(is_committed=False)
    producer = side.end(producer, is_commit=False)
    side.settle()
    side.read()
    side.end(other, txn=side.txn + "-2")
    side.settle(side.txn + "-2")
    side.produce(producer, value=b"c")
    side.producers()
    producer = side.end(producer)
    side.settle()
    side.produce(producer, value=b"d")
    side.read()
    side.read(is_committed=False)


# WriteTxnMarkers


@scenario
def markers_of_nothing(side: Side) -> None:
    for version in (1, 2):
        side.mark(STRANGER, version=version)
        side.mark(STRANGER, partitions=[0, 7], version=version)
        side.mark(STRANGER, topic="no-such-topic", version=version)
    side.mark(STRANGER, transaction_version=2)
    side.producers()
    side.read()


@scenario
def markers_of_old_epochs(side: Side) -> None:
    producer = side.init()
    producer = side.init()
    producer = side.init()
    side.produce(producer)
    side.mark(producer.newer(-1))
    side.mark(producer, coordinator_epoch=-1)
    side.mark(producer, coordinator_epoch=3)
    side.producers()
    side.mark(producer, coordinator_epoch=2)
    side.mark(producer, coordinator_epoch=3)
    side.mark(producer, is_commit=False, coordinator_epoch=4)
    side.mark(producer.newer(), coordinator_epoch=3)
    side.mark(producer.newer(), coordinator_epoch=4)
    side.mark(producer, coordinator_epoch=5)
    side.producers()
    side.read()


@scenario
def markers_of_transactions_with_epochs_of_their_own(side: Side) -> None:
    """KIP-1228: the epoch of the marker must be newer."""
    producer = side.init()
    side.produce(producer)
    side.mark(producer, transaction_version=2)
    side.mark(producer, transaction_version=1, version=2)
    side.producers()
    side.produce(producer, 1)
    side.mark(producer.newer(), transaction_version=2)
    side.mark(producer.newer(), transaction_version=2)
    side.mark(producer, transaction_version=2)
    side.producers()
    side.read()


# TxnOffsetCommit


@scenario
def commits_offsets_v1(side: Side) -> None:
    producer = side.init()
    for version in range(5):
        side.commit_offsets(producer, version=version)
    side.add_offsets(producer, group=side.topic)
    for version in range(5):
        side.commit_offsets(producer, offset=version, version=version)
        side.commit_offsets(producer.newer(), version=version)
    side.offsets()
    side.offsets(require_stable=False)
    side.end(producer, version=4)
    side.settle()
    side.offsets()
    side.commit_offsets(producer, 99, version=4)
    side.offsets()


@scenario
def commits_offsets_v2(side: Side) -> None:
    producer = side.init()
    side.commit_offsets(producer.newer())
    side.commit_offsets(STRANGER)
    side.commit_offsets(producer, group="")
    side.commit_offsets(producer, member_id="m", generation_id=1)
    side.commit_offsets(producer)
    side.describe()
    side.offsets()
    after = side.end(producer, is_commit=False)
    side.settle()
    side.offsets()
    side.commit_offsets(producer)
    side.commit_offsets(after, 8)
    side.end(after)
    side.settle()
    side.offsets()


@scenario
def commits_offsets_of_unknown_members(side: Side) -> None:
    producer = side.init()
    for version in (3, 4, 5):
        side.commit_offsets(producer, member_id="m", generation_id=1, version=version)
        side.commit_offsets(producer, member_id="m", version=version)
        side.commit_offsets(producer, generation_id=3, version=version)


# Admins


@scenario
def lists(side: Side) -> None:
    open_producer = side.init()
    side.produce(open_producer)
    done = side.init(transactional_id=side.txn + "-done")
    side.produce(done, txn=side.txn + "-done", partition=1)
    side.init(transactional_id=side.txn + "-idle")
    side.show(state_filters=["Empty", "Ongoing"])
    side.end(open_producer)
    side.settle()
    for version in (0, 1, 2):
        side.show(version)
        side.show(version, state_filters=["Ongoing"])
        side.show(
            version, state_filters=["Ongoing", "CompleteCommit", "ongoing", "Dead", "PrepareEpochFence"]
        )
        side.show(version, state_filters=["nope"])
        side.show(version, state_filters=["Empty"], producer_id_filters=[done.id])
        side.show(version, producer_id_filters=[done.id, 987_654])
        side.show(version, producer_id_filters=[987_654])
    for duration_ms in (-1, 0, 10_000_000):
        side.show(duration_filter=duration_ms)
        side.show(duration_filter=duration_ms, state_filters=["Ongoing"])
    for pattern in ("", ".*", side.txn, side.txn + ".*", "x", "[", ".*-done", "(?i)LISTS", "-done"):
        side.show(transactional_id_pattern=pattern)


@scenario
def deletes_a_topic_of_an_open_transaction(side: Side) -> None:
    producer = side.init()
    side.produce(producer)
    side.delete_topic()
    side.describe()
    side.end(producer)
    side.settle()


@scenario
def produces_with_an_epoch_that_has_ended(side: Side) -> None:
    """The partition knows a newer epoch, and the coordinator another producer id."""
    side.init()
    other = STRANGER.newer(5)
    side.mark(other)
    for version in (7, 10, 11, 12, 13):
        for epoch in (-1, 0, 1):
            side.produce(other.newer(epoch), version=version)
    side.commit_offsets(other.newer(-1))
    side.producers()
