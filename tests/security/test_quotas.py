"""The choice of a quota, and what clients share, as Kafka's DefaultQuotaCallback decides them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gralha.protocol.client_quotas import (
    CLIENT_ID,
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    IP,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    USER,
    QuotaEntity,
    quota_entity,
)
from gralha.security.quota_meters import Windows
from gralha.security.quotas import (
    ADMISSION_WAIT_MS_MAX,
    MAX_METERS,
    AddressQuotas,
    Admission,
    Limit,
    Limits,
    MutationQuotas,
    NodeQuotas,
    RateQuotas,
)

WINDOWS = Windows(11, 1_000)
START_MS = 5_000_000

# From the most specific to the least, as Kafka's documentation lists them.
ORDER: list[tuple[QuotaEntity, tuple[str | None, str | None]]] = [
    (quota_entity([(USER, "alice"), (CLIENT_ID, "app")]), ("alice", "app")),
    (quota_entity([(USER, "alice"), (CLIENT_ID, None)]), ("alice", "app")),
    (quota_entity([(USER, "alice")]), ("alice", None)),
    (quota_entity([(USER, None), (CLIENT_ID, "app")]), ("alice", "app")),
    (quota_entity([(USER, None), (CLIENT_ID, None)]), ("alice", "app")),
    (quota_entity([(USER, None)]), ("alice", None)),
    (quota_entity([(CLIENT_ID, "app")]), (None, "app")),
    (quota_entity([(CLIENT_ID, None)]), (None, "app")),
]


def quotas(
    *entities: QuotaEntity, key: str = PRODUCER_BYTE_RATE, value: float = 100
) -> dict[QuotaEntity, dict[str, float]]:
    return {entity: {key: value} for entity in entities}


@given(st.sets(st.integers(0, 7)))
def test_the_most_specific_quota_counts(which: set[int]) -> None:
    others = [
        quota_entity([(USER, "bob")]),
        quota_entity([(CLIENT_ID, "other")]),
        quota_entity([(IP, "alice")]),
    ]
    configured = {ORDER[one][0]: {PRODUCER_BYTE_RATE: float(one + 1)} for one in which}
    configured |= quotas(*others)
    found = Limits(configured, PRODUCER_BYTE_RATE).of("alice", "app")
    expected = Limit(ORDER[min(which)][1], min(which) + 1) if which else None
    assert found == expected
    assert Limits(configured, CONSUMER_BYTE_RATE).of("alice", "app") is None


def test_clients_of_a_user_share_the_quota_of_the_user() -> None:
    produce = RateQuotas(PRODUCER_BYTE_RATE, WINDOWS)
    produce.apply(quotas(quota_entity([(USER, "alice")])))
    assert produce.record("alice", "one", 1_000, START_MS) == 0
    assert produce.record("alice", "two", 500, START_MS) == 5_000
    assert produce.record("bob", "two", 1_000_000, START_MS) == 0


def test_each_client_id_has_the_default_of_a_user_for_itself() -> None:
    produce = RateQuotas(PRODUCER_BYTE_RATE, WINDOWS)
    produce.apply(quotas(quota_entity([(USER, "alice"), (CLIENT_ID, None)])))
    assert produce.record("alice", "one", 1_500, START_MS) == 5_000
    assert produce.record("alice", "two", 1_000, START_MS) == 0


def test_a_new_limit_counts_what_was_used_before() -> None:
    produce = RateQuotas(PRODUCER_BYTE_RATE, WINDOWS)
    entity = quota_entity([(USER, None)])
    produce.apply(quotas(entity, value=1_000))
    assert produce.record("alice", "one", 5_000, START_MS) == 0
    produce.apply(quotas(entity, value=100))
    assert produce.record("alice", "one", 0, START_MS) == 40_000
    produce.apply({})
    assert not produce.is_on
    assert len(produce) == 0
    assert produce.record("alice", "one", 1_000_000, START_MS) == 0


def test_bytes_that_were_not_sent_are_taken_back() -> None:
    fetch = RateQuotas(CONSUMER_BYTE_RATE, WINDOWS)
    fetch.apply(quotas(quota_entity([(CLIENT_ID, "app")]), key=CONSUMER_BYTE_RATE))
    assert fetch.record("alice", "app", 2_000, START_MS) == 10_000
    fetch.take_back("alice", "app", 2_000, START_MS)
    assert fetch.record("alice", "app", 1_000, START_MS) == 0
    # Ten windows of 100 bytes: more would always be too much.
    assert fetch.most_at_once("alice", "app") == 1_000
    assert fetch.most_at_once("alice", "other") is None


def test_request_time_holds_a_client_back_for_one_window_at_most() -> None:
    node = NodeQuotas(WINDOWS, WINDOWS)
    node.apply(quotas(quota_entity([(CLIENT_ID, None)]), key=REQUEST_PERCENTAGE, value=1))
    assert node.is_on
    assert node.request.record("alice", "app", 10, START_MS) == 0
    assert node.request.record("alice", "app", 1, START_MS) == 1_000
    assert node.request.record("alice", "app2", 10.5, START_MS) == 500


def test_mutations_are_refused_or_delayed() -> None:
    mutations = MutationQuotas(WINDOWS)
    mutations.apply(quotas(quota_entity([(USER, "alice")]), key=CONTROLLER_MUTATION_RATE, value=2))
    # The bucket holds 22. The request that overdraws it passes.
    assert mutations.record("alice", "app", 30, True, START_MS) == (True, 0)
    assert mutations.record("alice", "app", 1, True, START_MS) == (False, 4_000)
    assert mutations.record("alice", "app", 2, False, START_MS) == (True, 5_000)
    assert mutations.record("alice", "app", 1, True, START_MS + 5_000) == (True, 0)
    assert mutations.record("bob", "app", 1_000, True, START_MS) == (True, 0)


def test_an_address_that_connects_too_often_is_not_counted_while_it_is_refused() -> None:
    addresses = AddressQuotas(WINDOWS)
    named, default = quota_entity([(IP, "10.0.0.1")]), quota_entity([(IP, None)])
    addresses.apply(
        quotas(named, key=CONNECTION_CREATION_RATE, value=2)
        | quotas(default, key=CONNECTION_CREATION_RATE, value=1)
    )
    assert [addresses.record("10.0.0.1", START_MS) for _ in range(21)] == [0] * 20 + [500]
    assert [addresses.record("10.0.0.2", START_MS) for _ in range(13)] == [0] * 10 + [1_000] * 3
    assert addresses.record("10.0.0.1", START_MS + 500) == 0


@given(st.lists(st.integers(0, 300), min_size=1, max_size=200), st.integers(1, 20))
def test_no_more_connections_are_admitted_than_the_rate_allows(delays: list[int], limit: int) -> None:
    admission = Admission(WINDOWS)
    now_ms = START_MS
    turns = []
    for delay_ms in delays:
        now_ms += delay_ms
        wait_ms = admission.record(limit, now_ms)
        if wait_ms is not None:
            turns.append(now_ms + wait_ms)
    assert turns == sorted(turns)
    for number, turn_ms in enumerate(turns):
        # A burst of ten windows, and then the rate. Rounding may take half a millisecond off each time.
        seconds = (turn_ms - turns[0] + number / 2) / 1000
        assert number <= limit * (seconds + 11)


def test_a_flood_of_connections_does_not_keep_others_out_for_long() -> None:
    admission = Admission(WINDOWS)
    waits = [admission.record(1, START_MS + number // 10) for number in range(10_000)]
    assert max(wait for wait in waits if wait is not None) <= ADMISSION_WAIT_MS_MAX + WINDOWS.window_ms
    assert waits[-1] is None
    # The flood has ended 1 s after its beginning.
    wait_ms = admission.record(1, START_MS + 2_000)
    assert wait_ms is not None
    assert wait_ms <= ADMISSION_WAIT_MS_MAX + WINDOWS.window_ms


def test_many_clients_share_a_meter_when_there_is_no_room_for_more() -> None:
    produce = RateQuotas(PRODUCER_BYTE_RATE, WINDOWS)
    produce.apply(quotas(quota_entity([(CLIENT_ID, None)])))
    for number in range(MAX_METERS):
        assert produce.record("alice", f"client-{number}", 1, START_MS) == 0
    assert produce.record("alice", "late", 1_000, START_MS) == 0
    assert produce.record("alice", "later", 1_000, START_MS) == 10_000
    assert len(produce) == MAX_METERS + 1
    # When the others are idle their meters are dropped.
    assert produce.record("alice", "later", 1_000, START_MS + 20_000) == 0
    assert len(produce) == 1


def test_of_a_long_client_id_only_the_beginning_is_kept() -> None:
    produce = RateQuotas(PRODUCER_BYTE_RATE, WINDOWS)
    produce.apply(quotas(quota_entity([(CLIENT_ID, None)])))
    for end in "ab":
        produce.record("alice", "x" * 30_000 + end, 1, START_MS)
    assert {len(client_id) for _user, client_id in produce._chosen} == {256}
    assert len(produce) == 1


@pytest.mark.parametrize("client_id", ["", "app"])
def test_a_client_without_an_id_does_not_escape_the_default(client_id: str) -> None:
    produce = RateQuotas(PRODUCER_BYTE_RATE, WINDOWS)
    produce.apply(quotas(quota_entity([(USER, "alice"), (CLIENT_ID, None)])))
    assert produce.record("alice", client_id, 2_000, START_MS) == 10_000
