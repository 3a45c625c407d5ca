"""Every request in every state, as a table. The side-by-side test shows that Kafka answers the same."""

from collections.abc import Callable

import pytest

from gralha.protocol.batches import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from gralha.protocol.errors import CoordinatorLoadInProgressError, ErrorCode, KafkaError, error_name
from gralha.transactions import deciding
from gralha.transactions.deciding import ProducerIdentity
from gralha.transactions.transaction import (
    LAST_EPOCH,
    NO_TIME,
    PREPARED,
    Partition,
    State,
    Transaction,
)

NOW_MS = 5_000
A: Partition = ("a", 0)
B: Partition = ("b", 0)
NEW_ID = 99

# The producer 7 with epoch 5, and partition `a` in its transaction. Before it had epoch 4.
SHORT = {
    "fenced": "PRODUCER_FENCED",
    "mapping": "INVALID_PRODUCER_ID_MAPPING",
    "invalid": "INVALID_TXN_STATE",
    "concurrent": "CONCURRENT_TRANSACTIONS",
}
TABLE = """
request            | Empty          | Ongoing         | PrepareCommit | PrepareAbort | CompleteCommit | CompleteAbort
init               | Empty 6        | PrepareAbort 6  | concurrent    | concurrent   | Empty 6        | Empty 6
init 7 5           | Empty 6        | PrepareAbort 6  | concurrent    | concurrent   | Empty 6        | Empty 6
init 7 4           | Empty 5        | fenced          | concurrent    | concurrent   | Empty 5        | Empty 5
init 7 3           | fenced         | fenced          | concurrent    | concurrent   | fenced         | fenced
init 7 6           | fenced         | fenced          | concurrent    | concurrent   | fenced         | fenced
init 8 5           | fenced         | fenced          | concurrent    | concurrent   | fenced         | fenced
add 7 5 a          | Ongoing 5 a    | same            | concurrent    | concurrent   | Ongoing 5 a    | Ongoing 5 a
add 7 5 b          | Ongoing 5 b    | Ongoing 5 a b   | concurrent    | concurrent   | Ongoing 5 b    | Ongoing 5 b
add 7 5 a b        | Ongoing 5 a b  | Ongoing 5 a b   | concurrent    | concurrent   | Ongoing 5 a b  | Ongoing 5 a b
add 7 5            | Ongoing 5      | same            | concurrent    | concurrent   | Ongoing 5      | Ongoing 5
add 7 4 a          | fenced         | fenced          | concurrent    | concurrent   | fenced         | fenced
add 7 6 a          | fenced         | fenced          | concurrent    | concurrent   | fenced         | fenced
add 8 5 a          | mapping        | mapping         | concurrent    | concurrent   | mapping        | mapping
verify 7 5         | has            | has a           | concurrent    | concurrent   | has            | has
verify 7 4         | fenced         | fenced          | fenced        | fenced       | fenced         | fenced
verify 8 5         | mapping        | mapping         | mapping       | mapping      | mapping        | mapping
commit-v1 7 5      | invalid        | PrepareCommit 5 | concurrent    | concurrent   | same           | invalid
abort-v1 7 5       | invalid        | PrepareAbort 5  | concurrent    | concurrent   | invalid        | same
commit-v1 7 4      | fenced         | fenced          | fenced        | fenced       | same           | fenced
abort-v1 7 6       | fenced         | fenced          | fenced        | fenced       | fenced         | fenced
commit-v1 8 5      | mapping        | mapping         | mapping       | mapping      | mapping        | mapping
commit-v2 7 5      | invalid        | PrepareCommit 6 | concurrent    | concurrent   | invalid        | invalid
abort-v2 7 5       | PrepareAbort 6 | PrepareAbort 6  | concurrent    | concurrent   | PrepareAbort 6 | PrepareAbort 6
commit-v2 7 4      | fenced         | fenced          | concurrent    | concurrent   | same           | invalid
abort-v2 7 4       | fenced         | fenced          | concurrent    | concurrent   | invalid        | same
commit-v2 7 3      | fenced         | fenced          | concurrent    | concurrent   | fenced         | fenced
abort-v2 7 6       | fenced         | fenced          | concurrent    | concurrent   | fenced         | fenced
commit-v2 8 4      | mapping        | mapping         | concurrent    | concurrent   | mapping        | mapping
"""  # noqa: E501
ROWS = [[cell.strip() for cell in line.split("|")] for line in TABLE.strip().splitlines()]
CELLS = [
    pytest.param(request, state, expected, id=f"{request} in {state}")
    for request, *cells in ROWS[1:]
    for state, expected in zip(ROWS[0][1:], cells, strict=True)
]
STATES = {state.kafka_name: state for state in State}


def known_in(state: State, epoch: int = 5, **fields: object) -> Transaction:
    has_partitions = state is State.ONGOING or state in PREPARED
    made = Transaction(
        "t",
        7,
        epoch,
        60_000,
        1_000,
        state,
        frozenset({A}) if has_partitions else frozenset(),
        NO_TIME if state is State.EMPTY else 900,
        previous_producer_id=7,
        version=2,
        last_epoch=epoch - 1,
    )
    return made._replace(**fields)  # type: ignore[arg-type]


def never() -> int:
    raise AssertionError("no producer id is needed")


def new_id() -> int:
    return NEW_ID


def run(known: Transaction, request: str, new: Callable[[], int] = never) -> Transaction | str | None:
    verb, *words = request.split()
    producer = ProducerIdentity(int(words[0]), int(words[1])) if words else None
    partitions = frozenset((topic, 0) for topic in words[2:])
    if verb == "init":
        return deciding.begin(known, producer, 30_000, 2, new, NOW_MS).transaction
    assert producer is not None
    if verb == "add":
        return deciding.add(known, producer, partitions, 2, NOW_MS)
    if verb == "verify":
        return " ".join(["has", *(topic for topic, _ in sorted(deciding.verify(known, producer)))])
    is_commit, version = verb.startswith("commit"), int(verb[-1])
    return deciding.end(known, producer, is_commit, 2 if version == 2 else 0, new, NOW_MS)


def told(known: Transaction, request: str, new: Callable[[], int] = never) -> str:
    try:
        after = run(known, request, new)
    except KafkaError as error:
        return error_name(error.code)
    if after is None:
        return "same"
    if isinstance(after, str):
        return after
    topics = [topic for topic, _ in sorted(after.partitions)] if after.state is State.ONGOING else []
    return " ".join([after.state.kafka_name, str(after.epoch), *topics])


@pytest.mark.parametrize(("request_", "state", "expected"), CELLS)
def test_every_request_in_every_state(request_: str, state: str, expected: str) -> None:
    assert told(known_in(STATES[state]), request_) == SHORT.get(expected, expected)


def test_the_table_has_all_states() -> None:
    assert ROWS[0][1:] == [state.kafka_name for state in State]


# Fields


def test_a_producer_that_begins_has_no_transaction() -> None:
    after = run(known_in(State.COMPLETE_COMMIT), "init")
    assert after == Transaction("t", 7, 6, 30_000, NOW_MS, previous_producer_id=7, version=2)


def test_the_first_partition_begins_a_transaction() -> None:
    after = run(known_in(State.COMPLETE_ABORT), "add 7 5 b")
    assert isinstance(after, Transaction)
    assert (after.started_ms, after.updated_ms, after.partitions) == (NOW_MS, NOW_MS, frozenset({B}))


def test_later_partitions_keep_its_start() -> None:
    after = run(known_in(State.ONGOING), "add 7 5 b")
    assert isinstance(after, Transaction)
    assert (after.started_ms, after.updated_ms, after.partitions) == (900, NOW_MS, frozenset({A, B}))


@pytest.mark.parametrize("request_", ["commit-v1 7 5", "abort-v1 7 5", "commit-v2 7 5", "abort-v2 7 5"])
def test_a_decided_transaction_keeps_its_partitions_until_it_is_complete(request_: str) -> None:
    after = run(known_in(State.ONGOING), request_)
    assert isinstance(after, Transaction)
    assert (after.partitions, after.started_ms) == (frozenset({A}), 900)
    complete = after.completed(NOW_MS + 1)
    assert complete.partitions == frozenset()
    assert (complete.is_commit, complete.epoch) == (request_.startswith("commit"), after.epoch)


@pytest.mark.parametrize("state", [State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT])
def test_an_abort_of_nothing_has_a_time_and_no_partitions(state: State) -> None:
    after = run(known_in(state), "abort-v2 7 5")
    assert isinstance(after, Transaction)
    assert (after.partitions, after.started_ms) == (frozenset(), NOW_MS)


# KIP-360


@pytest.mark.parametrize("expected", ["7 5", "8 0", "7 4"])
def test_a_new_id_does_not_care_what_its_producer_had(expected: str) -> None:
    assert told(known_in(State.EMPTY, epoch=NO_PRODUCER_EPOCH), f"init {expected}") == "Empty 0"


def test_a_repeated_request_gets_the_same_epoch_until_the_coordinator_moves() -> None:
    first = run(known_in(State.EMPTY), "init 7 5")
    assert isinstance(first, Transaction)
    assert told(first, "init 7 5") == "Empty 6"
    # The epoch before is in no record, in Kafka as well.
    assert told(first._replace(last_epoch=NO_PRODUCER_EPOCH), "init 7 5") == "PRODUCER_FENCED"


def test_a_producer_that_begins_anew_fences_one_that_goes_on() -> None:
    first = run(known_in(State.EMPTY), "init")
    assert isinstance(first, Transaction)
    assert told(first, "init 7 5") == "PRODUCER_FENCED"
    assert told(first, "init 7 4") == "PRODUCER_FENCED"


def test_the_abort_of_v1_takes_the_epoch_before_away() -> None:
    aborted = deciding.abort(known_in(State.ONGOING), 1, never, NOW_MS)
    assert (aborted.epoch, aborted.last_epoch, aborted.version) == (6, NO_PRODUCER_EPOCH, 0)
    assert told(aborted.completed(NOW_MS), "init 7 5") == "PRODUCER_FENCED"


def test_the_abort_of_v2_keeps_it() -> None:
    aborted = deciding.abort(known_in(State.ONGOING), 2, never, NOW_MS)
    assert (aborted.epoch, aborted.last_epoch, aborted.version) == (6, 5, 2)
    assert told(aborted.completed(NOW_MS), "init 7 5") == "Empty 6"


# Epochs that are used up


@pytest.mark.parametrize("state", [State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT])
@pytest.mark.parametrize("request_", ["init", f"init 7 {LAST_EPOCH}"])
def test_the_last_epoch_gets_a_new_producer_id(state: State, request_: str) -> None:
    after = run(known_in(state, LAST_EPOCH), request_, new_id)
    assert isinstance(after, Transaction)
    assert (after.producer_id, after.epoch, after.previous_producer_id) == (NEW_ID, 0, 7)


def test_a_repeated_request_knows_the_id_before() -> None:
    after = run(known_in(State.EMPTY, LAST_EPOCH), f"init 7 {LAST_EPOCH}", new_id)
    assert isinstance(after, Transaction)
    assert told(after, f"init 7 {LAST_EPOCH}") == "Empty 0"
    assert told(after, "init 7 5") == "PRODUCER_FENCED"
    assert told(after, "init 8 5") == "PRODUCER_FENCED"


def test_an_older_producer_does_not_use_up_a_producer_id() -> None:
    assert told(known_in(State.EMPTY, LAST_EPOCH), f"init 7 {LAST_EPOCH - 1}") == f"Empty {LAST_EPOCH}"
    assert told(known_in(State.EMPTY, LAST_EPOCH), "init 7 5") == "PRODUCER_FENCED"


@pytest.mark.parametrize(
    "request_", [f"init {NEW_ID} 0", f"add {NEW_ID} 0 a", f"commit-v2 {NEW_ID} 0", f"abort-v2 {NEW_ID} 0"]
)
def test_a_producer_may_use_its_next_id_before_the_markers_are_written(request_: str) -> None:
    """The answer to EndTxn has the next producer id, so this is nobody else."""
    decided = run(known_in(State.ONGOING, LAST_EPOCH), f"commit-v2 7 {LAST_EPOCH}", new_id)
    assert isinstance(decided, Transaction)
    assert told(decided, request_) == "CONCURRENT_TRANSACTIONS"
    assert told(decided.completed(NOW_MS), request_) not in set(SHORT.values()) - {"INVALID_TXN_STATE"}


def test_v1_ends_the_last_epoch_like_every_other() -> None:
    known = known_in(State.ONGOING, LAST_EPOCH)
    assert told(known, f"commit-v1 7 {LAST_EPOCH}") == f"PrepareCommit {LAST_EPOCH}"


@pytest.mark.parametrize("is_commit", [True, False])
def test_v2_goes_on_with_a_new_producer_id(is_commit: bool) -> None:
    verb, other = ("commit-v2", "abort-v2") if is_commit else ("abort-v2", "commit-v2")
    ended = run(known_in(State.ONGOING, LAST_EPOCH), f"{verb} 7 {LAST_EPOCH}", new_id)
    assert isinstance(ended, Transaction)
    # The markers have the old id, with the one epoch that no producer has.
    assert (ended.producer_id, ended.epoch, ended.next_producer_id) == (7, LAST_EPOCH + 1, NEW_ID)
    assert told(ended, f"{verb} 7 {LAST_EPOCH}") == "CONCURRENT_TRANSACTIONS"
    # The producer has heard of its new id, and its next transaction waits until the markers are written.
    for request in ("init {}", "add {} a", "commit-v2 {}", "abort-v2 {}"):
        assert told(ended, request.format(f"{NEW_ID} 0")) == "CONCURRENT_TRANSACTIONS"
    complete = ended.completed(NOW_MS)
    assert (complete.producer_id, complete.epoch, complete.next_producer_id) == (NEW_ID, 0, NO_PRODUCER_ID)
    assert complete.previous_producer_id == 7
    assert told(complete, f"{verb} 7 {LAST_EPOCH}") == "same"
    assert told(complete, f"{other} 7 {LAST_EPOCH}") == "INVALID_TXN_STATE"
    assert told(complete, f"{verb} 7 {LAST_EPOCH - 1}") == "INVALID_PRODUCER_ID_MAPPING"
    assert told(complete, f"add {NEW_ID} 0 a") == "Ongoing 0 a"


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_last_epoch_can_be_fenced(version: int) -> None:
    """With v1 the id changes with the next InitProducerId, with v2 at the end of the transaction."""
    aborted = deciding.abort(known_in(State.ONGOING, LAST_EPOCH), version, new_id, NOW_MS)
    assert (aborted.producer_id, aborted.epoch) == (7, LAST_EPOCH + 1)
    complete = aborted.completed(NOW_MS)
    after = run(complete, "init", new_id)
    assert isinstance(after, Transaction)
    assert (after.producer_id, after.epoch) == ((NEW_ID, 1) if version == 2 else (NEW_ID, 0))


@pytest.mark.parametrize("request_", ["init", f"commit-v2 7 {LAST_EPOCH}", f"abort-v2 7 {LAST_EPOCH}"])
def test_without_a_producer_id_nothing_is_decided(request_: str) -> None:
    def none_left() -> int:
        raise CoordinatorLoadInProgressError

    state = State.EMPTY if request_ == "init" else State.ONGOING
    found = told(known_in(state, LAST_EPOCH), request_, none_left)
    assert found == error_name(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
