"""Delegation tokens: decisions, records, and any sequence of them beside a simple model."""

import hashlib
import hmac
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.metadata.cluster import context, replay

from gralha.metadata.controller.active import ActiveController
from gralha.metadata.controller.decision import ControllerContext, Decision
from gralha.metadata.controller.delegation_tokens import (
    Caller,
    create_token,
    expire_token,
    remove_expired_tokens,
    renew_token,
)
from gralha.metadata.delegation_tokens import TIMESTAMP_MAX, DelegationToken, TokenKey, token_key
from gralha.metadata.image import EMPTY_IMAGE, METADATA_VERSION, MetadataImage
from gralha.metadata.snapshot import snapshot_records
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from gralha.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from gralha.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from gralha.protocol.messages.security_records import DelegationTokenRecord, RemoveDelegationTokenRecord

KEY = "the key of the cluster"
NOW_MS = 1_700_000_000_000
DAY_MS = 86_400_000
EMPTY = EMPTY_IMAGE._replace(features={METADATA_VERSION: 14})
ALICE, BOB, CARL = "User:alice", "User:bob", "User:carl"


def with_key(**configs: object) -> ControllerContext:
    made: ControllerContext = context(delegation_token_secret_key=KEY, **configs)
    return made


def renewers(*names: str) -> list[CreatableRenewers]:
    return [CreatableRenewers("User", name) for name in names]


class Controller:
    """Makes decisions, and applies their records."""

    def __init__(self, image: MetadataImage = EMPTY, **configs: object) -> None:
        self.image = image
        self.context = with_key(**configs)
        self.now_ms = NOW_MS

    def _take(self, decision: Decision[Any]) -> Any:
        self.image, _ = replay(self.image, decision.records)
        return decision.response

    def create(
        self, caller: str = ALICE, request: CreateDelegationTokenRequest | None = None
    ) -> CreateDelegationTokenResponse:
        request = request or CreateDelegationTokenRequest(renewers=renewers("bob"), max_lifetime_ms=-1)
        asking = Caller(caller, self.now_ms)
        made: CreateDelegationTokenResponse = self._take(
            create_token(self.image, request, asking, self.context)
        )
        return made

    def renew(self, secret: bytes, period_ms: int = -1, caller: str = ALICE) -> tuple[int, int]:
        request = RenewDelegationTokenRequest(secret, period_ms)
        response = self._take(renew_token(self.image, request, Caller(caller, self.now_ms), self.context))
        return response.error_code, response.expiry_timestamp_ms

    def expire(self, secret: bytes, period_ms: int = -1, caller: str = ALICE) -> tuple[int, int]:
        request = ExpireDelegationTokenRequest(secret, period_ms)
        response = self._take(expire_token(self.image, request, Caller(caller, self.now_ms), self.context))
        return response.error_code, response.expiry_timestamp_ms


def test_a_token_is_created_as_kafka_does() -> None:
    controller = Controller()
    made = controller.create()
    secret = hmac.new(KEY.encode(), made.token_id.encode(), hashlib.sha512).digest()
    assert (made.error_code, made.hmac, len(made.token_id)) == (0, secret, 22)
    assert (made.principal_type, made.principal_name) == ("User", "alice")
    assert (made.token_requester_principal_type, made.token_requester_principal_name) == ("User", "alice")
    times = (made.issue_timestamp_ms, made.expiry_timestamp_ms, made.max_timestamp_ms)
    assert times == (NOW_MS, NOW_MS + DAY_MS, NOW_MS + 7 * DAY_MS)
    assert controller.image.delegation_tokens == {
        made.token_id: DelegationToken(
            made.token_id, ALICE, ALICE, (BOB,), NOW_MS, NOW_MS + 7 * DAY_MS, NOW_MS + DAY_MS
        )
    }


def test_a_token_for_another_owner_belongs_to_that_owner() -> None:
    controller = Controller()
    request = CreateDelegationTokenRequest("User", "bob", max_lifetime_ms=5)
    made = controller.create(ALICE, request)
    (token,) = controller.image.delegation_tokens.values()
    assert (token.owner, token.requester) == (BOB, ALICE)
    assert (token.max_ms, token.expires_ms) == (NOW_MS + 5, NOW_MS + 5)
    assert controller.renew(made.hmac, caller=ALICE) == (ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, 0)
    assert controller.renew(made.hmac, caller=BOB) == (0, NOW_MS + 5)


def test_a_token_is_renewed_by_its_owner_and_renewers_until_its_life_ends() -> None:
    controller = Controller()
    secret = controller.create().hmac
    controller.now_ms += DAY_MS // 2
    assert controller.renew(secret) == (0, controller.now_ms + DAY_MS)
    assert controller.renew(secret, 1000, BOB) == (0, controller.now_ms + 1000)
    assert controller.renew(secret, 9 * DAY_MS) == (0, controller.now_ms + DAY_MS)
    assert controller.renew(secret, caller=CARL) == (ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, 0)
    for _ in range(20):
        code, expires_ms = controller.renew(secret)
        assert code == 0
        controller.now_ms += DAY_MS // 3
    assert expires_ms == NOW_MS + 7 * DAY_MS
    controller.now_ms = expires_ms
    assert controller.renew(secret) == (0, expires_ms)
    controller.now_ms += 1
    assert controller.renew(secret) == (ErrorCode.DELEGATION_TOKEN_EXPIRED, 0)


def test_a_token_expires_at_another_time_or_at_once() -> None:
    controller = Controller()
    secret = controller.create().hmac
    assert controller.expire(secret, 1000, CARL) == (ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, 0)
    assert controller.expire(secret, 2**63 - 1) == (0, NOW_MS + 7 * DAY_MS)
    assert controller.expire(secret, 0, BOB) == (0, NOW_MS)
    controller.now_ms += 1
    assert controller.expire(secret, 5) == (ErrorCode.DELEGATION_TOKEN_EXPIRED, 0)
    assert controller.expire(secret, 5, CARL) == (ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, 0)
    assert controller.expire(secret) == (0, controller.now_ms)
    assert not controller.image.delegation_tokens
    assert controller.expire(secret) == (ErrorCode.DELEGATION_TOKEN_NOT_FOUND, 0)
    assert controller.renew(secret) == (ErrorCode.DELEGATION_TOKEN_NOT_FOUND, 0)


def test_times_end_where_javas_do() -> None:
    most = str(TIMESTAMP_MAX)
    controller = Controller(delegation_token_max_lifetime_ms=most, delegation_token_expiry_time_ms=most)
    made = controller.create()
    assert (made.max_timestamp_ms, made.expiry_timestamp_ms) == (TIMESTAMP_MAX, TIMESTAMP_MAX)
    assert controller.renew(made.hmac) == (0, TIMESTAMP_MAX)


@pytest.mark.parametrize("without", ["a key", "an empty key", "the feature"])
def test_a_cluster_without_tokens_says_so(without: str) -> None:
    controller = Controller(EMPTY._replace(features={METADATA_VERSION: 13}))
    code = ErrorCode.UNSUPPORTED_VERSION
    if without != "the feature":
        configs = {} if without == "a key" else {"delegation_token_secret_key": " "}
        controller.context = context(**configs)
        controller.image = EMPTY
        code = ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    made = controller.create()
    assert (made.error_code, made.token_id, made.hmac, made.max_timestamp_ms) == (code, "", b"", 0)
    assert made.principal_name == "alice"
    assert controller.renew(b"secret") == (code, 0)
    assert controller.expire(b"secret") == (code, 0)
    assert not controller.image.delegation_tokens


def test_renewers_are_users() -> None:
    controller = Controller()
    other = CreateDelegationTokenRequest(renewers=[CreatableRenewers("Group", "bob")])
    assert controller.create(request=other).error_code == ErrorCode.INVALID_PRINCIPAL_TYPE
    assert not controller.image.delegation_tokens


def test_a_snapshot_has_the_tokens() -> None:
    controller = Controller()
    controller.create()
    controller.create(BOB)
    restored, _ = replay(EMPTY, list(snapshot_records(controller.image)))
    assert restored.delegation_tokens == controller.image.delegation_tokens
    # Apache Kafka may remove a token twice.
    token_id = next(iter(restored.delegation_tokens))
    gone, _ = replay(restored, [RemoveDelegationTokenRecord(token_id)] * 2)
    assert set(gone.delegation_tokens) == set(restored.delegation_tokens) - {token_id}


def test_the_active_controller_removes_expired_tokens_in_intervals() -> None:
    controller = Controller(
        delegation_token_expiry_time_ms="1000",
        delegation_token_expiry_check_interval_ms="60000",
        leader_imbalance_check_interval_seconds="100000",
        unclean_leader_election_interval_ms="1000000000",
        metadata_max_idle_interval_ms="0",
    )
    old, kept = controller.create(), controller.create()
    assert controller.renew(kept.hmac, 1000) == (0, NOW_MS + 1000)
    controller.expire(old.hmac, 10)
    active = ActiveController(controller.image, controller.context, now_ms=500)
    # The clock of the ticks is not the wall clock.
    assert active.tick(60_499, NOW_MS + 900) == []
    (decide,) = active.tick(60_500, NOW_MS + 900)
    controller._take(decide(controller.image))
    assert set(controller.image.delegation_tokens) == {kept.token_id}
    (decide,) = active.tick(60_600, NOW_MS + 1000)  # there could be more than one decision removes
    assert decide(controller.image).records == []
    assert active.tick(120_599, NOW_MS + 9000) == []
    (decide,) = active.tick(120_600, NOW_MS + 9000)
    controller._take(decide(controller.image))
    assert not controller.image.delegation_tokens


def test_a_controller_without_a_key_removes_nothing() -> None:
    # It may have been started without the key by mistake.
    controller = Controller()
    controller.create()
    active = ActiveController(controller.image, context(metadata_max_idle_interval_ms="0"), now_ms=0)
    decisions = [decide(controller.image) for decide in active.tick(10**12, 10**15)]
    assert not any(decision.records for decision in decisions)


def test_one_decision_removes_a_limited_number_of_tokens() -> None:
    tokens = {
        str(number): DelegationToken(str(number), ALICE, ALICE, (), 0, 9, 9) for number in range(10_001)
    }
    image = EMPTY._replace(delegation_tokens=tokens)
    decision = remove_expired_tokens(image, 10)
    assert len(decision.records) == len(decision.response) == 10_000
    assert remove_expired_tokens(image, 9).records == []


def test_the_key_finds_tokens_by_their_secrets_while_they_come_and_go() -> None:
    key = TokenKey(KEY)
    tokens = {name: DelegationToken(name, ALICE, ALICE, (), 0, 9, 9) for name in "abc"}
    assert key.find(tokens, key.secret("a")) == tokens["a"]
    less = {"b": tokens["b"], "d": tokens["a"]._replace(id="d")}
    for known in (less, tokens, less):
        for name in "abcd":
            assert key.find(known, key.secret(name)) == known.get(name)
        assert len(key._ids) == len(known)  # it keeps no tokens that have gone
    assert key.find(tokens, TokenKey("another").secret("a")) is None


def test_nothing_shows_the_key() -> None:
    key = token_key(f" {KEY}\t")
    assert key is not None
    assert repr(key) == "TokenKey(hidden)"
    assert key.secret("a") == TokenKey(KEY).secret("a")
    controller = Controller()
    made = controller.create()
    shown = f"{controller.image!r} {[*snapshot_records(controller.image)]!r}"
    assert made.token_id in shown
    assert KEY not in shown
    assert repr(made.hmac) not in shown


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("create"), st.sampled_from([ALICE, BOB]), st.integers(-1, 30)),
        st.tuples(st.just("renew"), st.sampled_from([ALICE, BOB, CARL]), st.integers(-1, 30)),
        st.tuples(st.just("expire"), st.sampled_from([ALICE, BOB, CARL]), st.integers(-1, 30)),
        st.tuples(st.just("wait"), st.just(""), st.integers(1, 9)),
        st.tuples(st.just("remove expired"), st.just(""), st.just(0)),
    ),
    max_size=40,
)


@settings(max_examples=200, deadline=None)
@given(STEPS, st.data())
def test_any_sequence_keeps_the_promises_of_tokens(
    steps: list[tuple[str, str, int]], data: st.DataObject
) -> None:
    """A token is never valid after its life, only its owner and renewers change it, and none comes back."""
    controller = Controller(delegation_token_max_lifetime_ms=40, delegation_token_expiry_time_ms=20)
    secrets: dict[str, bytes] = {}
    gone: set[str] = set()
    for step, caller, period_ms in steps:
        before = controller.image.delegation_tokens
        if step == "create":
            request = CreateDelegationTokenRequest(renewers=renewers("bob"), max_lifetime_ms=period_ms)
            made = controller.create(caller, request)
            secrets[made.token_id] = made.hmac
        elif step == "wait":
            controller.now_ms += period_ms
        elif step == "remove expired":
            controller._take(remove_expired_tokens(controller.image, controller.now_ms))
            assert not any(
                one.is_expired(controller.now_ms) for one in controller.image.delegation_tokens.values()
            )
        elif secrets:
            token_id = data.draw(st.sampled_from(sorted(secrets)))
            token = before.get(token_id)
            change = controller.renew if step == "renew" else controller.expire
            code, expires_ms = change(secrets[token_id], period_ms, caller)
            may_change = token is not None and caller in (token.owner, *token.renewers)
            assert may_change or code
            if token is not None and token.is_expired(controller.now_ms):
                assert code or (step == "expire" and period_ms < 0)
            if code:
                assert controller.image.delegation_tokens == before
            elif token is not None:
                assert expires_ms <= max(token.max_ms, controller.now_ms)
        after = controller.image.delegation_tokens
        gone |= before.keys() - after.keys()
        assert not gone & after.keys()
        for token_id, token in after.items():
            assert token.issued_ms <= token.expires_ms <= token.max_ms <= token.issued_ms + 40
            assert token_id in secrets
    records = [one for one in snapshot_records(controller.image) if isinstance(one, DelegationTokenRecord)]
    assert len(records) == len(controller.image.delegation_tokens)
