"""Records of `__transaction_state`, with the bytes that Apache Kafka 4.3 makes of them.

The bytes were made by Kafka's own classes (TransactionLogKey, TransactionLogValue) from the same values.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gralha.transactions.records import TransactionRecord, decode_record, encode_record
from gralha.transactions.transaction import NO_TIMEOUT_MS, State, Transaction

TIME_MS = 1_700_000_000_000
KEY = "0000000567c3a4686e"
ID = "gähn"
AB = frozenset({("b", 1), ("a", 2), ("a", 0)})

WRITTEN = [
    (
        Transaction(ID, 7, 0, 60_000, TIME_MS, previous_producer_id=7),
        0,
        "0000000000000000000700000000ea6000ffffffff0000018bcfe56800ffffffffffffffff",
    ),
    (
        Transaction(ID, 7, 0, 60_000, TIME_MS, previous_producer_id=7),
        1,
        "0001000000000000000700000000ea6000000000018bcfe56800ffffffffffffffff0100080000000000000007",
    ),
    (
        Transaction(ID, 7, 3, 60_000, TIME_MS + 5, State.ONGOING, AB, TIME_MS, 7),
        0,
        (
            "0000000000000000000700030000ea60010000000200016100000002000000000000000200016200000001000000010000"
            "018bcfe568050000018bcfe56800"
        ),
    ),
    (
        Transaction(ID, 7, 3, 60_000, TIME_MS + 5, State.ONGOING, AB, TIME_MS, 7, version=2),
        1,
        (
            "0001000000000000000700030000ea60010302610300000000000000020002620200000001000000018bcfe56805000001"
            "8bcfe56800020008000000000000000702020002"
        ),
    ),
    (
        Transaction(
            ID,
            7,
            32_767,
            900_000,
            TIME_MS + 9,
            State.PREPARE_COMMIT,
            frozenset({("a", 0)}),
            TIME_MS,
            7,
            8,
            2,
        ),
        1,
        (
            "000100000000000000077fff000dbba0020202610200000000000000018bcfe568090000018bcfe5680003000800000000"
            "0000000701080000000000000008"
            "02020002"
        ),
    ),
    (
        Transaction(ID, 7, 4, 1, TIME_MS + 9, State.PREPARE_ABORT, frozenset(), TIME_MS, 7),
        0,
        "0000000000000000000700040000000103000000000000018bcfe568090000018bcfe56800",
    ),
    (
        Transaction(
            ID,
            8,
            0,
            NO_TIMEOUT_MS,
            TIME_MS + 9,
            State.COMPLETE_COMMIT,
            frozenset(),
            TIME_MS,
            7,
            version=2,
        ),
        1,
        (
            "0001000000000000000800007fffffff04010000018bcfe568090000018bcfe5680002000800000000000000070202000"
            "2"
        ),
    ),
    (
        Transaction(
            ID,
            7,
            3,
            NO_TIMEOUT_MS,
            TIME_MS + 9,
            State.ONGOING,
            frozenset({("a", 0)}),
            TIME_MS,
            7,
            8,
            2,
            next_epoch=1,
        ),
        1,
        (
            "0001000000000000000700037fffffff010202610200000000000000018bcfe568090000018bcfe56800040008000000"
            "0000000007010800000000000000080202000203020001"
        ),
    ),
    (
        Transaction(ID, 7, 4, 60_000, TIME_MS + 9, State.COMPLETE_ABORT, frozenset(), TIME_MS, 7),
        1,
        "0001000000000000000700040000ea6005010000018bcfe568090000018bcfe568000100080000000000000007",
    ),
]


def stored(transaction: Transaction, version: int) -> Transaction:
    """What a record of this version keeps of a transaction."""
    kept = transaction._replace(last_epoch=-1)
    if version:
        return kept
    return kept._replace(previous_producer_id=-1, next_producer_id=-1, version=0, next_epoch=-1)


@pytest.mark.parametrize(("transaction", "version", "value"), WRITTEN)
def test_the_bytes_are_kafkas(transaction: Transaction, version: int, value: str) -> None:
    encoded = encode_record(TransactionRecord(ID, transaction, version))
    assert encoded == (bytes.fromhex(KEY), bytes.fromhex(value))
    assert decode_record(*encoded) == TransactionRecord(ID, stored(transaction, version))


def test_a_tombstone_forgets_the_id() -> None:
    encoded = encode_record(TransactionRecord(ID, None))
    assert encoded == (bytes.fromhex(KEY), None)
    assert decode_record(*encoded) == TransactionRecord(ID, None)


def test_records_of_later_versions_are_left_alone() -> None:
    assert decode_record(bytes.fromhex("00070003616263"), b"\x00\x00") is None


@given(
    st.builds(
        Transaction,
        st.text(max_size=10),
        st.integers(0, 2**63 - 1),
        st.integers(-1, 32_767),
        st.integers(0, 2**31 - 1),
        st.integers(-1, 2**50),
        st.sampled_from([state for state in State if state is not State.EMPTY]),
        st.frozensets(st.tuples(st.sampled_from(["a", "b", "ö"]), st.integers(0, 2**31 - 1)), max_size=5),
        st.integers(-1, 2**50),
        st.integers(-1, 2**63 - 1),
        st.integers(-1, 2**63 - 1),
        st.integers(0, 2),
        st.integers(-1, 32_767),
        st.integers(-1, 32_767),
    ),
    st.integers(0, 1),
)
def test_all_that_is_written_is_read_back(transaction: Transaction, version: int) -> None:
    record = TransactionRecord(transaction.transactional_id, transaction, version)
    assert decode_record(*encode_record(record)) == TransactionRecord(
        transaction.transactional_id, stored(transaction, version)
    )
