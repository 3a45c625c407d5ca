"""The ids of one partition of `__transaction_state`: answers, markers, timers, failed appends, loading."""

from typing import Any

import pytest
from tests.transactions.harness import A0, A1, START_MS, TIMEOUT_MS, Machine, recorded

from gralha.protocol.errors import (
    CoordinatorLoadInProgressError,
    ErrorCode,
    KafkaStorageError,
    NotEnoughReplicasError,
)
from gralha.transactions.config import TransactionsConfig
from gralha.transactions.deciding import ProducerIdentity
from gralha.transactions.listing import unknown_states, wanted
from gralha.transactions.transaction import LAST_EPOCH, NO_TIMEOUT_MS, State, Transaction

HOUR_MS = 3600 * 1000
EXPIRY_MS = 7 * 24 * HOUR_MS
STRANGER = ProducerIdentity(1, 0)


@pytest.fixture
def machine() -> Machine:
    return Machine()


def names(machine: Machine, *states: str, **filters: Any) -> list[str]:
    """The ids that a ListTransactions request gets."""
    given = {"producer_ids": [], "duration_ms": -1, "pattern": None, **filters}
    filtered = wanted(states, **given)
    steps = machine.shard.list(filtered, machine.now_ms)
    return sorted(one.transactional_id for answer, _ in steps for one in answer.transaction_states)


def described(machine: Machine, name: str = "t") -> Any:
    return machine.ask(lambda shard: shard.describe(name)).response


# InitProducerId


def test_a_new_id_gets_a_producer_id(machine: Machine) -> None:
    assert machine.begin() == ProducerIdentity(1000, 0)
    assert machine.begin() == ProducerIdentity(1000, 1)
    assert machine.begin(name="u") == ProducerIdentity(1001, 0)


@pytest.mark.parametrize(
    ("timeout_ms", "code"),
    [
        (0, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        (-1, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        (1, ErrorCode.NONE),
        (900_000, ErrorCode.NONE),
        (900_001, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        (NO_TIMEOUT_MS, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
    ],
)
def test_timeouts(machine: Machine, timeout_ms: int, code: int) -> None:
    assert machine.init(timeout_ms=timeout_ms).code == code


def test_an_empty_id_is_refused(machine: Machine) -> None:
    answers = [
        machine.init(name=""),
        machine.add(STRANGER, A0, name=""),
        machine.verify(STRANGER, A0, name=""),
        machine.end(STRANGER, name=""),
        machine.ask(lambda shard: shard.describe("")),
    ]
    assert [one.code for one in answers] == [ErrorCode.INVALID_REQUEST] * 5
    assert machine.log == []


def test_an_unknown_id_has_no_producer(machine: Machine) -> None:
    answers = [machine.add(STRANGER, A0), machine.verify(STRANGER, A0), machine.end(STRANGER)]
    assert [one.code for one in answers] == [ErrorCode.INVALID_PRODUCER_ID_MAPPING] * 3


def test_an_open_transaction_is_aborted_first(machine: Machine) -> None:
    first = machine.begin()
    machine.add(first, A0)
    answer = machine.init()
    assert (answer.code, answer.producer) == (ErrorCode.CONCURRENT_TRANSACTIONS, (-1, -1))
    assert [one.state for one in machine.owed] == [State.PREPARE_ABORT]
    assert machine.init().code == ErrorCode.CONCURRENT_TRANSACTIONS
    assert len(machine.owed) == 1
    machine.write_markers()
    assert machine.begin() == ProducerIdentity(1000, 2)
    assert machine.add(first, A0).code == ErrorCode.PRODUCER_FENCED


def test_without_producer_ids_the_client_comes_back(machine: Machine) -> None:
    def none_left() -> int:
        raise CoordinatorLoadInProgressError

    numbers, machine.new_producer_id = machine.new_producer_id, none_left
    assert machine.init().code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    machine.new_producer_id = numbers
    assert machine.init().code == ErrorCode.NONE


# AddPartitionsToTxn


def test_partitions_that_are_known_are_not_written_again(machine: Machine) -> None:
    producer = machine.begin()
    assert machine.add(producer, A0).codes == {A0: ErrorCode.NONE}
    length = len(machine.log)
    assert machine.add(producer, A0).codes == {A0: ErrorCode.NONE}
    assert len(machine.log) == length
    assert machine.add(producer, A0, A1).codes == {A0: ErrorCode.NONE, A1: ErrorCode.NONE}
    assert machine.state().partitions == {A0, A1}


def test_a_leader_asks_which_partitions_there_are(machine: Machine) -> None:
    producer = machine.begin()
    assert machine.verify(producer, A0).codes == {A0: ErrorCode.TRANSACTION_ABORTABLE}
    machine.add(producer, A0)
    found = machine.verify(producer, A0, A1).codes
    assert found == {A0: ErrorCode.NONE, A1: ErrorCode.TRANSACTION_ABORTABLE}


# EndTxn


@pytest.mark.parametrize("is_commit", [True, False])
@pytest.mark.parametrize("version", [0, 2])
def test_a_transaction_is_complete_when_its_markers_are_written(
    machine: Machine, is_commit: bool, version: int
) -> None:
    producer = machine.begin()
    machine.add(producer, A0, version=version)
    answer = machine.end(producer, is_commit, version)
    next_producer = ProducerIdentity(1000, 1 if version else 0)
    assert (answer.code, answer.producer) == (0, next_producer)
    assert [(one.partitions, one.is_commit, one.epoch) for one in machine.owed] == [
        (frozenset({A0}), is_commit, next_producer.epoch)
    ]
    assert machine.end(producer, is_commit, version).code == ErrorCode.CONCURRENT_TRANSACTIONS
    machine.write_markers()
    assert machine.state().state is (State.COMPLETE_COMMIT if is_commit else State.COMPLETE_ABORT)
    retry = machine.end(producer, is_commit, version)
    assert (retry.code, retry.producer) == (0, next_producer)
    assert machine.owed == []


def test_markers_are_not_sent_before_the_decision_is_committed(machine: Machine) -> None:
    producer = machine.begin()
    machine.add(producer, A0)
    machine.holds_commits = True
    answer = machine.end(producer)
    assert (answer.code, machine.owed) == (None, [])
    machine.commit()
    assert (answer.code, len(machine.owed)) == (0, 1)


def test_a_decision_that_was_never_committed_has_not_happened(machine: Machine) -> None:
    producer = machine.begin()
    machine.add(producer, A0)
    machine.holds_commits = True
    answer = machine.end(producer)
    machine.reload(loses_uncommitted=True)
    assert (answer.code, machine.owed) == (ErrorCode.NOT_COORDINATOR, [])
    assert machine.state().state is State.ONGOING
    machine.holds_commits = False
    assert machine.end(producer, is_commit=False).code == 0


def test_a_completion_counts_once(machine: Machine) -> None:
    producer = machine.begin()
    machine.add(producer, A0)
    machine.end(producer)
    (prepared,) = machine.owed
    machine.write_markers()
    length = len(machine.log)
    machine.owed.append(prepared)
    machine.write_markers()
    assert len(machine.log) == length


def test_a_late_completion_does_not_end_the_next_transaction(machine: Machine) -> None:
    producer = machine.begin()
    machine.add(producer, A0)
    following = machine.end(producer).producer
    (prepared,) = machine.owed
    machine.write_markers()
    machine.add(following, A0)
    machine.end(following)
    waiting = list(machine.owed)
    machine.owed[:] = [prepared]
    machine.write_markers()
    assert machine.state().state is State.PREPARE_COMMIT
    machine.owed[:] = waiting
    machine.write_markers()
    assert machine.state().state is State.COMPLETE_COMMIT


def test_an_exhausted_epoch_changes_the_producer_id(machine: Machine) -> None:
    begun = machine.begin()
    machine.shard.transactions["t"] = machine.state()._replace(epoch=LAST_EPOCH)
    last = begun._replace(epoch=LAST_EPOCH)
    machine.add(last, A0)
    answer = machine.end(last)
    assert answer.producer == ProducerIdentity(1001, 0)
    machine.write_markers()
    assert machine.end(last).producer == ProducerIdentity(1001, 0)
    assert machine.add(last, A0).code == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert machine.add(answer.producer, A0).code == 0


# Appends that fail


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KafkaStorageError("full"), ErrorCode.NOT_COORDINATOR),
        (NotEnoughReplicasError(), ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ],
)
def test_a_refused_append_changes_nothing(machine: Machine, error: Any, code: int) -> None:
    producer = machine.begin()
    machine.add(producer, A0)
    before = machine.state()
    machine.append_error = error
    answers = [machine.init(), machine.add(producer, A1), machine.end(producer), machine.init(name="new")]
    assert [one.code for one in answers] == [code] * 4
    assert (machine.state(), machine.owed) == (before, [])
    assert "new" not in machine.shard.transactions
    machine.append_error = None
    assert machine.end(producer).code == 0


def test_a_completion_that_cannot_be_written_comes_again_with_the_next_coordinator(machine: Machine) -> None:
    producer = machine.begin()
    machine.add(producer, A0)
    machine.end(producer)
    machine.append_error = NotEnoughReplicasError()
    machine.write_markers()
    assert machine.state().state is State.PREPARE_COMMIT
    machine.append_error = None
    machine.reload()
    machine.write_markers()
    assert machine.state().state is State.COMPLETE_COMMIT


# Time-outs


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_transaction_that_is_open_for_too_long_is_aborted(version: int) -> None:
    machine = Machine(version=version)
    producer = machine.begin()
    machine.add(producer, A0, version=version)
    machine.advance(TIMEOUT_MS - 1)
    assert machine.state().state is State.ONGOING
    machine.advance(1)
    assert (machine.state().state, machine.state().epoch) == (State.PREPARE_ABORT, 1)
    machine.write_markers()
    code = machine.add(producer, A0, version=version).code
    assert code == ErrorCode.PRODUCER_FENCED
    # With v2 the producer learns that its transaction was aborted, and goes on.
    retry = machine.end(producer, is_commit=False, version=version)
    assert retry.code == (0 if version == 2 else ErrorCode.PRODUCER_FENCED)


def test_the_time_begins_with_the_first_partition(machine: Machine) -> None:
    producer = machine.begin()
    machine.advance(10 * TIMEOUT_MS)
    machine.add(producer, A0)
    machine.advance(TIMEOUT_MS - 1)
    machine.add(producer, A1)
    assert machine.state().state is State.ONGOING
    machine.advance(1)
    assert machine.state().state is State.PREPARE_ABORT


def test_a_transaction_that_ended_does_not_time_out(machine: Machine) -> None:
    producer = machine.begin()
    machine.add(producer, A0)
    machine.advance(TIMEOUT_MS - 1)
    following = machine.end(producer).producer
    machine.write_markers()
    machine.add(following, A0)
    machine.advance(TIMEOUT_MS - 1)
    assert machine.state().state is State.ONGOING
    machine.advance(1)
    assert machine.state().state is State.PREPARE_ABORT


def test_the_timeout_survives_a_change_of_the_coordinator(machine: Machine) -> None:
    producer = machine.begin()
    machine.add(producer, A0)
    machine.advance(TIMEOUT_MS - 1)
    machine.reload()
    machine.advance(1)
    assert machine.state().state is State.PREPARE_ABORT


def test_a_transaction_that_timed_out_while_nobody_coordinated_it(machine: Machine) -> None:
    producer = machine.begin()
    machine.add(producer, A0)
    machine.now_ms += TIMEOUT_MS
    machine.reload()
    assert machine.state().state is State.PREPARE_ABORT


@pytest.mark.parametrize("jump_ms", [-2 * HOUR_MS, 2 * HOUR_MS])
def test_a_clock_that_is_set_changes_no_timeout(machine: Machine, jump_ms: int) -> None:
    producer = machine.begin()
    machine.add(producer, A0)
    machine.set_clock(jump_ms)
    machine.advance(TIMEOUT_MS - 1)
    assert machine.state().state is State.ONGOING
    machine.advance(1)
    assert machine.state().state is State.PREPARE_ABORT


def test_the_clock_of_the_next_coordinator_may_be_hours_behind(machine: Machine) -> None:
    """The transaction seems to begin in the future. It may last for its timeout, not for hours."""
    producer = machine.begin()
    machine.add(producer, A0)
    machine.now_ms -= 2 * HOUR_MS
    machine.reload()
    machine.advance(TIMEOUT_MS - 1)
    assert machine.state().state is State.ONGOING
    machine.advance(1)
    assert machine.state().state is State.PREPARE_ABORT


def test_a_time_out_that_cannot_be_written_is_tried_again(machine: Machine) -> None:
    producer = machine.begin()
    machine.add(producer, A0)
    machine.append_error = NotEnoughReplicasError()
    machine.advance(TIMEOUT_MS)
    assert machine.state().state is State.ONGOING
    machine.append_error = None
    machine.advance(1000)
    assert machine.state().state is State.PREPARE_ABORT


def test_a_transaction_of_a_two_phase_commit_never_times_out() -> None:
    machine = Machine(TransactionsConfig(transaction_max_timeout_ms=NO_TIMEOUT_MS))
    producer = machine.begin(NO_TIMEOUT_MS)
    machine.add(producer, A0)
    machine.advance(30 * 24 * HOUR_MS)
    assert machine.state().state is State.ONGOING


def test_any_text_may_be_an_id(machine: Machine) -> None:
    """The timers of a shard have names, too."""
    name = "transactional.id.expiration"
    producer = machine.begin(name=name)
    machine.add(producer, A0, name=name)
    machine.reload()
    machine.advance(TIMEOUT_MS)
    assert machine.state(name).state is State.PREPARE_ABORT
    machine.write_markers()
    machine.begin()
    machine.begin(name=name)
    machine.advance(EXPIRY_MS + HOUR_MS)
    assert machine.shard.transactions == {}


# Expiry


def test_an_id_that_nobody_uses_is_forgotten(machine: Machine) -> None:
    machine.begin()
    machine.advance(EXPIRY_MS - 1)
    assert "t" in machine.shard.transactions
    machine.advance(HOUR_MS)
    assert machine.shard.transactions == {}
    assert machine.loaded().transactions == {}
    # A producer that comes back goes on with a new id.
    assert machine.init(ProducerIdentity(1000, 0)).producer == ProducerIdentity(1001, 0)


def test_use_keeps_an_id(machine: Machine) -> None:
    producer = machine.begin()
    for _ in range(3):
        machine.advance(EXPIRY_MS // 2)
        machine.add(producer, A0)
        producer = machine.end(producer).producer
        machine.write_markers()
    machine.advance(EXPIRY_MS - HOUR_MS)
    assert "t" in machine.shard.transactions


def test_a_decided_transaction_does_not_expire(machine: Machine) -> None:
    producer = machine.begin()
    machine.add(producer, A0)
    machine.end(producer)
    machine.advance(2 * EXPIRY_MS)
    assert machine.state().state is State.PREPARE_COMMIT


def test_expiry_goes_on_after_a_failed_append(machine: Machine) -> None:
    machine.begin()
    machine.append_error = NotEnoughReplicasError()
    machine.advance(EXPIRY_MS + HOUR_MS)
    assert "t" in machine.shard.transactions
    machine.append_error = None
    machine.advance(HOUR_MS)
    assert machine.shard.transactions == {}


def test_expiry_survives_a_change_of_the_coordinator(machine: Machine) -> None:
    machine.begin()
    machine.advance(EXPIRY_MS - 1)
    machine.reload()
    machine.advance(HOUR_MS)
    assert machine.shard.transactions == {}


# Loading


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_new_coordinator_sends_the_markers_again(machine: Machine, is_commit: bool) -> None:
    producer = machine.begin()
    machine.add(producer, A0, A1)
    machine.end(producer, is_commit)
    (before,) = machine.owed
    machine.reload()
    assert machine.owed == [before._replace(last_epoch=-1)]
    machine.write_markers()
    assert machine.state().state is (State.COMPLETE_COMMIT if is_commit else State.COMPLETE_ABORT)


def test_markers_that_are_written_meanwhile_are_not_sent_again(machine: Machine) -> None:
    """With v1 the next transaction has the same epoch, so these markers would end it."""
    producer = machine.begin()
    machine.add(producer, A0, version=0)
    machine.end(producer, version=0)
    (prepared,) = machine.owed
    machine.shard = machine.loaded()
    machine.shard.on_loaded(machine.now_ms)
    machine.owed = [prepared._replace(last_epoch=-1)]
    machine.write_markers()
    machine.add(producer, A0, version=0)
    machine.advance(1)
    assert machine.owed == []
    assert machine.state().state is State.ONGOING


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_state_is_that_of_the_log(version: int) -> None:
    machine = Machine(version=version)
    client_version = 2 if version == 2 else 0
    for index, name in enumerate("abcdef"):
        producer = machine.begin(name=name)
        if index > 0:
            machine.add(producer, A0, A1, version=client_version, name=name)
        if index > 1:
            machine.end(producer, index % 2 == 0, client_version, name)
        if index == 3:
            machine.write_markers()
    assert {one.state for one in machine.shard.transactions.values()} == set(State)
    found = recorded(machine.loaded())
    live = recorded(machine.shard)
    if version == 0:
        assert found == {name: one._replace(previous_producer_id=-1) for name, one in live.items()}
    else:
        assert found == live


@pytest.mark.parametrize(("level", "version"), [(0, 0), (1, 1), (2, 1)])
def test_the_level_decides_on_the_version_of_records(level: int, version: int) -> None:
    machine = Machine(version=level)
    machine.begin()
    ((_, value),) = machine.log
    assert value is not None
    assert int.from_bytes(value[:2]) == version


# The level of transaction.version changes online


@pytest.mark.parametrize(("before", "after"), [(2, 0), (2, 1), (1, 2), (0, 2), (0, 1), (1, 0)])
def test_a_transaction_ends_after_a_change_of_the_level(before: int, after: int) -> None:
    client_version = 2 if before == 2 else 0
    machine = Machine(version=before)
    producer = machine.begin()
    machine.add(producer, A0, version=client_version)
    machine.version = after
    ended = machine.end(producer, version=client_version)
    assert ended.code == 0
    machine.write_markers()
    assert machine.state().state is State.COMPLETE_COMMIT
    client_version = 2 if after == 2 else 0
    machine.add(ended.producer, A0, version=client_version)
    assert machine.end(ended.producer, version=client_version).code == 0


@pytest.mark.parametrize(("before", "after"), [(2, 0), (2, 1), (1, 2), (0, 2)])
def test_a_decided_transaction_is_completed_after_a_change_of_the_level(before: int, after: int) -> None:
    machine = Machine(version=before)
    producer = machine.begin()
    client_version = 2 if before == 2 else 0
    machine.add(producer, A0, version=client_version)
    machine.end(producer, version=client_version)
    machine.version = after
    machine.reload()
    machine.write_markers()
    assert machine.state().state is State.COMPLETE_COMMIT


# Admins


def test_a_description_has_all_fields(machine: Machine) -> None:
    producer = machine.begin()
    machine.now_ms += 5
    machine.add(producer, A1, ("b", 3), A0)
    found = described(machine)
    assert found.topics[0].topic == "a"
    assert [(topic.topic, topic.partitions) for topic in found.topics] == [("a", [0, 1]), ("b", [3])]
    assert (found.error_code, found.transaction_state, found.transaction_timeout_ms) == (
        0,
        "Ongoing",
        TIMEOUT_MS,
    )
    assert (found.transaction_start_time_ms, found.producer_id, found.producer_epoch) == (
        START_MS + 5,
        1000,
        0,
    )


def test_an_unknown_id_is_not_described(machine: Machine) -> None:
    assert described(machine).error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


@pytest.fixture
def three(machine: Machine) -> Machine:
    """`idle` has begun, `open` has an open transaction, `done` was committed."""
    machine.begin(name="idle")
    machine.add(machine.begin(name="open"), A0, name="open")
    done = machine.begin(name="done")
    machine.add(done, A0, name="done")
    machine.end(done, name="done")
    machine.write_markers()
    machine.now_ms += 100
    return machine


@pytest.mark.parametrize(
    ("states", "filters", "found"),
    [
        ([], {}, ["done", "idle", "open"]),
        (["Ongoing"], {}, ["open"]),
        (["Empty", "CompleteCommit"], {}, ["done", "idle"]),
        (["nope"], {}, []),
        (["Dead"], {}, []),
        (["nope", "Ongoing"], {}, ["open"]),
        ([], {"producer_ids": [1000, 1001]}, ["idle", "open"]),
        (["Ongoing"], {"producer_ids": [1000]}, []),
        ([], {"duration_ms": 99}, ["done", "idle", "open"]),
        (["Ongoing"], {"duration_ms": 99}, ["open"]),
        (["Ongoing"], {"duration_ms": 100}, []),
        ([], {"pattern": "o.*"}, ["open"]),
        ([], {"pattern": "pen"}, []),
        ([], {"pattern": ""}, ["done", "idle", "open"]),
    ],
)
def test_lists(three: Machine, states: list[str], filters: dict[str, Any], found: list[str]) -> None:
    assert names(three, *states, **filters) == found


def test_states_that_do_not_exist_are_named() -> None:
    given = ["Ongoing", "nope", "Dead", "PrepareEpochFence", "ongoing", "CompleteAbort"]
    assert unknown_states(given) == ["nope", "ongoing"]


def test_a_pattern_must_be_a_regular_expression() -> None:
    with pytest.raises(Exception, match=r"`\[` is not a valid regular expression") as caught:
        wanted([], [], -1, "[")
    assert getattr(caught.value, "code", None) == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_transactions_do_not_change() -> None:
    with pytest.raises(AttributeError):
        Transaction("t", 1, 1, 1, 1).epoch = 2  # type: ignore[misc]
