"""Two-phase commit (KIP-939): transactions without a timeout, and producers that take over an open one.

The producer that takes over has an epoch, and perhaps a producer id, of its own. The transaction keeps those
with which its records were written, because the markers need them.
"""

import pytest
from tests.transactions.harness import A0, A1, TIMEOUT_MS, Machine

from gralha.protocol.batches import NO_PRODUCER_EPOCH
from gralha.protocol.errors import ErrorCode, KafkaError, error_name
from gralha.transactions import deciding
from gralha.transactions.config import TransactionsConfig
from gralha.transactions.deciding import ProducerIdentity
from gralha.transactions.transaction import (
    COMPLETE,
    LAST_EPOCH,
    NO_TIMEOUT_MS,
    State,
    Transaction,
)

MONTH_MS = 30 * 24 * 3600 * 1000
NONE = ProducerIdentity(-1, -1)
# The transaction was written by producer 7 with epoch 5. Producer 7 with epoch 6 has taken it over.
KEPT = Transaction("t", 7, 5, NO_TIMEOUT_MS, 1_000, State.ONGOING, frozenset({A0}), 900, 7, version=2).kept(
    -1, NO_TIMEOUT_MS, 1_000
)
TABLE = {
    ("init", None): "PrepareAbort, marker 7 6, next 7 7",
    ("init", (7, 6)): "PrepareAbort, marker 7 6, next 7 7",
    ("init", (7, 5)): "PRODUCER_FENCED",
    ("init", (8, 0)): "PRODUCER_FENCED",
    ("keep", None): "Ongoing, marker 7 5, next 7 7",
    ("add", (7, 5)): "PRODUCER_FENCED",
    ("add", (7, 6)): "INVALID_TXN_STATE",
    ("add", (8, 6)): "INVALID_PRODUCER_ID_MAPPING",
    ("verify", (7, 5)): "PRODUCER_FENCED",
    ("commit", (7, 6)): "PrepareCommit, marker 7 6, next 7 7",
    ("abort", (7, 6)): "PrepareAbort, marker 7 6, next 7 7",
    ("commit", (7, 5)): "PRODUCER_FENCED",
    ("abort", (7, 4)): "PRODUCER_FENCED",
    ("commit", (7, 7)): "PRODUCER_FENCED",
    ("commit", (8, 6)): "INVALID_PRODUCER_ID_MAPPING",
    # A request of version 1 ends it by the same rules.
    ("commit-v1", (7, 6)): "PrepareCommit, marker 7 6, next 7 7",
    ("commit-v1", (7, 5)): "PRODUCER_FENCED",
}


def no_id() -> int:
    raise AssertionError("no producer id is needed")


def after(verb: str, producer: ProducerIdentity | None) -> Transaction | None:
    match verb:
        case "init":
            return deciding.begin(KEPT, producer, 30_000, 2, no_id, 2_000).transaction
        case "keep":
            return deciding.keep(KEPT, NO_TIMEOUT_MS, 2, no_id, 2_000)
    assert producer is not None
    match verb:
        case "add":
            return deciding.add(KEPT, producer, frozenset({A0}), 2, 2_000)
        case "verify":
            deciding.verify(KEPT, producer)
            return KEPT
    version = 0 if verb.endswith("v1") else 2
    return deciding.end(KEPT, producer, verb.startswith("commit"), version, no_id, 2_000)


def told(verb: str, producer: ProducerIdentity | None) -> str:
    try:
        made = after(verb, producer)
    except KafkaError as error:
        return error_name(error.code)
    assert made is not None
    marker, following = f"{made.producer_id} {made.epoch}", "{} {}".format(*made.owner)
    return f"{made.state.kafka_name}, marker {marker}, next {following}"


@pytest.mark.parametrize(("asked", "expected"), TABLE.items(), ids=str)
def test_every_request_to_a_kept_transaction(
    asked: tuple[str, tuple[int, int] | None], expected: str
) -> None:
    verb, producer = asked
    assert told(verb, None if producer is None else ProducerIdentity(*producer)) == expected


@pytest.fixture
def machine() -> Machine:
    return Machine(TransactionsConfig(transaction_two_phase_commit_enable=True))


def prepare(machine: Machine) -> ProducerIdentity:
    """A producer whose transaction has no timeout has written everything."""
    answer = machine.init(enables_2pc=True)
    assert answer.code == 0
    assert machine.add(answer.producer, A0, A1).code == 0
    return answer.producer


def test_a_prepared_transaction_never_times_out(machine: Machine) -> None:
    prepare(machine)
    machine.reload()
    machine.advance(MONTH_MS)
    assert machine.state().state is State.ONGOING
    assert machine.state().timeout_ms == NO_TIMEOUT_MS


@pytest.mark.parametrize("reloads", [False, True])
def test_a_transaction_that_is_kept_for_a_two_phase_commit_times_out_no_more(
    machine: Machine, reloads: bool
) -> None:
    first = machine.init().producer
    assert machine.add(first, A0).code == 0
    assert machine.keep(enables_2pc=True).code == 0
    if reloads:
        machine.reload()
    machine.advance(MONTH_MS)
    assert machine.state().state is State.ONGOING
    assert machine.state().timeout_ms == NO_TIMEOUT_MS


@pytest.mark.parametrize("reloads", [False, True])
def test_a_kept_transaction_has_the_timeout_of_its_new_producer_from_then_on(
    machine: Machine, reloads: bool
) -> None:
    prepare(machine)
    machine.advance(MONTH_MS)
    assert machine.keep().code == 0
    if reloads:
        machine.reload()
    machine.advance(TIMEOUT_MS - 1)
    assert machine.state().state is State.ONGOING
    machine.advance(1)
    assert machine.state().state is State.PREPARE_ABORT


def test_a_broker_without_two_phase_commit_refuses_it() -> None:
    machine = Machine()
    answer = machine.init(enables_2pc=True)
    assert answer.code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert machine.log == []


@pytest.mark.parametrize("is_commit", [True, False])
@pytest.mark.parametrize("moves", [False, True])
@pytest.mark.parametrize("times", [1, 3])
def test_a_later_producer_decides_on_it(machine: Machine, is_commit: bool, moves: bool, times: int) -> None:
    written = prepare(machine)
    for number in range(times):
        kept = machine.keep()
        assert kept.producer == (written.id, written.epoch + number + 1)
        assert kept.ongoing == written
        if moves:
            machine.reload()
    assert machine.state().partitions == {A0, A1}
    assert machine.end(written, is_commit).code == ErrorCode.PRODUCER_FENCED
    ended = machine.end(kept.producer, is_commit)
    assert ended.producer == (written.id, kept.producer.epoch + 1)
    if moves:
        machine.reload()
    (owed,) = machine.owed
    # The marker has the epoch after that of the records, and so the partitions fence the earlier producer.
    assert (owed.producer_id, owed.epoch, owed.version) == (written.id, written.epoch + 1, 2)
    assert owed.is_commit == is_commit
    machine.write_markers()
    assert machine.state().owner == ended.producer
    assert machine.state().state in COMPLETE
    # A lost answer does no harm.
    assert machine.end(kept.producer, is_commit).producer == ended.producer
    assert machine.end(kept.producer, not is_commit).code == ErrorCode.INVALID_TXN_STATE
    assert machine.add(ended.producer, A0).code == 0


def test_an_end_that_comes_late_cannot_end_the_next_transaction(machine: Machine) -> None:
    prepare(machine)
    kept = machine.keep().producer
    following = machine.end(kept).producer
    machine.write_markers()
    machine.add(following, A0)
    for is_commit in (True, False):
        assert machine.end(kept, is_commit).code == ErrorCode.PRODUCER_FENCED


def test_a_producer_without_keep_ends_it(machine: Machine) -> None:
    """So does `kafka-transactions force-terminate`."""
    written = prepare(machine)
    kept = machine.keep().producer
    assert machine.init().code == ErrorCode.CONCURRENT_TRANSACTIONS
    (owed,) = machine.owed
    assert (owed.epoch, owed.is_commit) == (written.epoch + 1, False)
    machine.write_markers()
    answer = machine.init()
    assert answer.producer == (written.id, kept.epoch + 2)
    assert machine.state().timeout_ms == TIMEOUT_MS


def test_after_a_downgrade_it_can_still_be_ended(machine: Machine) -> None:
    """Version 0 of the record has no place for the new producer, so version 1 is written."""
    prepare(machine)
    kept = machine.keep().producer
    machine.version = 0
    machine.reload()
    assert machine.keep().code == ErrorCode.UNSUPPORTED_VERSION
    assert machine.end(kept, version=0).code == 0
    machine.reload()
    machine.write_markers()
    assert machine.state().state is State.COMPLETE_COMMIT
    assert machine.init().code == 0


@pytest.mark.parametrize("is_commit", [True, False])
def test_an_older_client_may_repeat_the_commit_of_a_kept_transaction(
    machine: Machine, is_commit: bool
) -> None:
    """A repeated abort is fenced, because nobody knows it from an abort after a timeout."""
    prepare(machine)
    kept = machine.keep().producer
    assert machine.end(kept, is_commit, version=0).code == 0
    assert machine.end(kept, is_commit, version=0).code == ErrorCode.CONCURRENT_TRANSACTIONS
    machine.write_markers()
    for _ in range(2):
        assert machine.end(kept, is_commit, version=0).code == (0 if is_commit else ErrorCode.PRODUCER_FENCED)
        machine.reload()
    assert machine.end(kept, not is_commit, version=0).code == ErrorCode.PRODUCER_FENCED


def test_nothing_to_keep(machine: Machine) -> None:
    for state in ("unknown", "Empty", "CompleteCommit"):
        answer = machine.keep()
        assert (answer.code, answer.ongoing) == (0, NONE), state
        if state != "unknown":
            machine.add(answer.producer, A0)
            machine.end(answer.producer)
            assert machine.keep().code == ErrorCode.CONCURRENT_TRANSACTIONS
            machine.write_markers()


def test_a_producer_that_keeps_must_not_name_an_earlier_one(machine: Machine) -> None:
    written = prepare(machine)
    answer = machine.ask(lambda shard: shard.begin("t", 1000, written, machine.now_ms, keeps_prepared=True))
    assert answer.code == ErrorCode.INVALID_REQUEST


def test_a_timeout_still_counts_for_a_transaction_that_had_one(machine: Machine) -> None:
    machine.add(machine.begin(), A0)
    kept = machine.keep()
    machine.advance(TIMEOUT_MS)
    assert machine.state().state is State.PREPARE_ABORT
    machine.write_markers()
    assert machine.end(kept.producer).code != 0


@pytest.mark.parametrize("first_epoch", [LAST_EPOCH - 3, LAST_EPOCH - 2, LAST_EPOCH - 1])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_epochs_that_are_used_up(machine: Machine, first_epoch: int, times: int) -> None:
    machine.begin()
    machine.shard.transactions["t"] = machine.state()._replace(epoch=first_epoch)
    written = prepare(machine)
    assert written.epoch == first_epoch + 1
    for _ in range(times):
        kept = machine.keep()
        assert kept.code == 0
        assert kept.ongoing == written
        machine.reload()
    assert kept.producer.epoch <= LAST_EPOCH
    ended = machine.end(kept.producer)
    assert ended.code == 0
    assert ended.producer != kept.producer
    assert ended.producer.epoch <= LAST_EPOCH
    (owed,) = machine.owed
    assert (owed.producer_id, owed.epoch) == (written.id, written.epoch + 1)
    machine.reload()
    machine.write_markers()
    assert machine.state().owner == ended.producer
    assert machine.state().next_epoch == NO_PRODUCER_EPOCH
    assert machine.end(kept.producer).producer == ended.producer


def test_a_producer_id_that_changed_twice(machine: Machine) -> None:
    machine.begin()
    machine.shard.transactions["t"] = machine.state()._replace(epoch=LAST_EPOCH - 1)
    written = prepare(machine)
    second = machine.keep().producer
    assert second.id != written.id
    known = machine.state()
    machine.shard.transactions["t"] = known._replace(next_epoch=LAST_EPOCH)
    last = ProducerIdentity(second.id, LAST_EPOCH)
    ended = machine.end(last)
    assert ended.producer.id not in (written.id, second.id)
    machine.write_markers()
    assert machine.end(last).producer == ended.producer
