"""Delegation tokens: the same answers, rights and logins as with Apache Kafka, side by side."""

import base64
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.errors import LoginFailedError
from gralha.client.security import ClientSecurity
from gralha.protocol import apis
from gralha.protocol.acls import Acl, Operation, PatternType, Permission, ResourceType
from gralha.protocol.errors import ErrorCode
from gralha.protocol.message import Message
from gralha.protocol.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from gralha.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from gralha.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from gralha.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from gralha.testing.process import free_ports
from tests.apache.kafka import ApacheKafka
from tests.sasl_cluster import PLAIN_MODULE, SCRAM_MODULE, SaslCluster

NAMES = ("alice", "bob", "carl", "dora", "eve")
# Each set of rules is for a user of its own. A rule has a resource type, a name, a pattern, an operation and
# a permission. TOKEN stands for the id of the token.
OF_USERS, OF_TOKENS = ResourceType.USER, ResourceType.DELEGATION_TOKEN
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
ALLOW, DENY = Permission.ALLOW, Permission.DENY
TOKEN = "the token"
Rule = tuple[ResourceType, str, PatternType, Operation, Permission]
_BOB: Rule = (OF_USERS, "User:bob", LITERAL, Operation.ALL, ALLOW)
_ITS_TOKEN: Rule = (OF_TOKENS, TOKEN, LITERAL, Operation.ALL, ALLOW)
RULES: list[list[Rule]] = [
    [],
    *(
        [(kind, name, pattern, operation, ALLOW)]
        for kind, names in ((OF_USERS, ("User:bob", "bob")), (OF_TOKENS, (TOKEN, "another")))
        for name in (*names, "*")
        for pattern in (LITERAL, PREFIXED)
        for operation in (
            Operation.ALL,
            Operation.DESCRIBE,
            Operation.CREATE_TOKENS,
            Operation.DESCRIBE_TOKENS,
        )
    ),
    [(OF_USERS, "User:", PREFIXED, Operation.CREATE_TOKENS, ALLOW)],
    [(OF_USERS, "User:", PREFIXED, Operation.DESCRIBE_TOKENS, ALLOW)],
    *(
        [_BOB, _ITS_TOKEN, (kind, name, LITERAL, operation, DENY)]
        for kind, name in ((OF_USERS, "User:bob"), (OF_USERS, "*"), (OF_TOKENS, TOKEN))
        for operation in (
            Operation.ALL,
            Operation.DESCRIBE,
            Operation.CREATE_TOKENS,
            Operation.DESCRIBE_TOKENS,
        )
    ),
    [_BOB, (OF_USERS, "User:bob", LITERAL, Operation.DESCRIBE_TOKENS, DENY)],
    [(ResourceType.CLUSTER, "kafka-cluster", LITERAL, Operation.ALL, ALLOW)],
]
KEY = {"delegation.token.secret.key": "the key of this cluster"}
CONFIG = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS;User:broker;User:node",
    "delegation.token.max.lifetime.ms": "1000000",
    "delegation.token.expiry.time.ms": "400000",
}
PATIENCE_S = 20
DEFAULT = -1


class Side:
    """A cluster, and clients that have logged in."""

    def __init__(self, plaintext: str, sasl: str) -> None:
        self._sasl = sasl
        self.anonymous = Cluster(plaintext)
        self._clients: dict[str, Cluster] = {}

    def client(self, name: str) -> Cluster:
        if name not in self._clients:
            self._clients[name] = self.login(
                "PLAIN", f'{PLAIN_MODULE} required username="{name}" password="x"'
            )
        return self._clients[name]

    def login(self, mechanism: str, jaas: str) -> Cluster:
        properties = {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": f"{jaas};",
        }
        return Cluster(self._sasl, security=ClientSecurity.from_kafka(properties))

    def with_token(self, mechanism: str, token_id: str, secret: bytes) -> Cluster:
        password = base64.b64encode(secret).decode()
        return self.login(
            mechanism,
            f'{SCRAM_MODULE} required username="{token_id}" password="{password}" tokenauth="true"',
        )

    def ask(self, name: str, request: Message, version: int | None = None) -> Any:
        """The answer to a user, or on the listener without logins."""
        cluster = self.client(name) if name else self.anonymous
        response = apis.APIS[request.API_KEY].response
        return cluster.any_connection().send(request, response, max_version=version)

    def allow(self, name: str, kind: ResourceType, resource: str, operation: Operation) -> None:
        acl = Acl(kind, resource, PatternType.LITERAL, f"User:{name}", "*", operation, Permission.ALLOW)
        Admin(self.anonymous).create_acls([acl])

    def create(self, name: str, owner: str = "", renewers: tuple[str, ...] = ()) -> tuple[str, bytes]:
        """The id and the secret of a new token that the whole cluster knows."""
        request = CreateDelegationTokenRequest("User", owner, users(*renewers), DEFAULT)
        made = until(lambda: self.ask(name, request), lambda made: not made.error_code)

        def is_known() -> bool:
            # A controller of Apache Kafka decides on committed tokens, and its broker may be later.
            seen = self.ask(owner or name, DescribeDelegationTokenRequest(None))
            refused = self.ask("eve", RenewDelegationTokenRequest(made.hmac, DEFAULT))
            return made.token_id in {one.token_id for one in seen.tokens} and (
                refused.error_code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
            )

        until(is_known, bool)
        return made.token_id, made.hmac

    def close(self) -> None:
        for cluster in (*self._clients.values(), self.anonymous):
            cluster.close()


def until(ask: Callable[[], Any], is_right: Callable[[Any], bool]) -> Any:
    deadline = time.monotonic() + PATIENCE_S
    while not is_right(answer := ask()):
        assert time.monotonic() < deadline, answer
    return answer


def users(*names: str) -> list[CreatableRenewers]:
    return [CreatableRenewers("User", name) for name in names]


def sides(config: Mapping[str, str]) -> Iterator[tuple[Side, Side]]:
    """Apache Kafka and Gralha."""
    (port,) = free_ports(1)
    apache = ApacheKafka()
    own = apache._node_config()
    names = (*NAMES, *(f"r{number}" for number in range(len(RULES))))
    entries = " ".join(f'user_{name}="x"' for name in names)
    logins = {"listener.name.sasl.plain.sasl.jaas.config": f"{PLAIN_MODULE} required {entries};"}
    apache.configure(
        {
            "listeners": f"{own['listeners']},SASL://127.0.0.1:{port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{apache.port},SASL://127.0.0.1:{port}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT",
            "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
            "listener.name.sasl.scram-sha-256.sasl.jaas.config": f"{SCRAM_MODULE} required;",
            "listener.name.sasl.scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required;",
            **logins,
            **config,
        }
    )
    with apache, SaslCluster(config={**logins, **config}) as gralha:
        pair = (
            Side(apache.bootstrap, f"127.0.0.1:{port}"),
            Side(f"127.0.0.1:{gralha.ports[1]}", gralha.bootstrap),
        )
        for side in pair:
            side.allow("alice", ResourceType.USER, "User:bob", Operation.CREATE_TOKENS)
            side.allow("dora", ResourceType.USER, "User:alice", Operation.DESCRIBE_TOKENS)
        yield pair
        for side in pair:
            side.close()


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Side, Side]]:
    yield from sides(CONFIG | KEY)


@pytest.fixture(scope="module")
def pair_without_key() -> Iterator[tuple[Side, Side]]:
    yield from sides(CONFIG)


def create(
    owner: str = "", renewers: list[CreatableRenewers] | None = None, life_ms: int = DEFAULT
) -> Message:
    kind = "User" if owner else ""
    return CreateDelegationTokenRequest(kind, owner, renewers or [], life_ms)


def plain(response: Any) -> list[object]:
    """A response without what each cluster chooses for itself. Times are relative to the first one."""
    if isinstance(response, DescribeDelegationTokenResponse):
        tokens = sorted(plain(one) for one in response.tokens)
        return [response.error_code, tokens]
    base = max(getattr(response, "issue_timestamp_ms", 0), getattr(response, "issue_timestamp", 0))
    found: list[object] = []
    for field in response.FIELDS:
        value = getattr(response, field)
        if "timestamp" in field:
            found.append(value - base if value > base else min(value, 0))
        elif field in ("token_id", "hmac"):
            found.append(len(value))
        elif field == "renewers":
            found.append([(one.principal_type, one.principal_name) for one in value])
        elif field != "throttle_time_ms":
            found.append(value)
    return found


CREATIONS: dict[str, tuple[str, Message, int]] = {
    "a token": ("alice", create(), 3),
    "version 1": ("alice", create(), 1),
    "version 2": ("alice", create(renewers=users("bob")), 2),
    "a short life": ("alice", create(life_ms=5000), 3),
    "a long life": ("alice", create(life_ms=2**63 - 1), 3),
    "no life": ("alice", create(life_ms=0), 3),
    "a negative life": ("alice", create(life_ms=-77), 3),
    "renewers": ("alice", create(renewers=users("bob", "carl", "bob")), 3),
    "oneself as the owner": ("carl", create("carl"), 3),
    "another owner": ("alice", create("bob"), 3),
    "another owner without the right": ("carl", create("bob"), 3),
    "nobody as the owner": ("carl", create("nobody"), 3),
    "a renewer of another type": ("alice", create(renewers=[CreatableRenewers("Group", "bob")]), 3),
    "a renewer without a type": ("alice", create(renewers=[CreatableRenewers("", "bob")]), 3),
    "an owner of another type": ("carl", CreateDelegationTokenRequest("Group", "carl", [], 1), 3),
    "an owner without a name": ("carl", CreateDelegationTokenRequest("Group", None, [], 1), 3),
    "without a login": ("", create(), 3),
    "for another owner without a login": ("", create("bob"), 3),
}


@pytest.mark.parametrize("name", CREATIONS)
def test_creations_have_the_same_results(pair: tuple[Side, Side], name: str) -> None:
    user, request, version = CREATIONS[name]
    theirs, ours = (side.ask(user, request, version) for side in pair)
    assert plain(ours) == plain(theirs)


CHANGES: dict[str, tuple[str, int]] = {
    "the owner": ("alice", DEFAULT),
    "the owner, for no time": ("alice", 0),
    "the owner, for a while": ("alice", 1000),
    "the owner, for ever": ("alice", 2**63 - 1),
    "a renewer": ("bob", 300_000),
    "somebody else": ("carl", 1000),
    "somebody who may describe it": ("dora", 1000),
    "nobody": ("", 1000),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("kind", [RenewDelegationTokenRequest, ExpireDelegationTokenRequest])
def test_changes_have_the_same_results(pair: tuple[Side, Side], kind: Any, name: str) -> None:
    user, period_ms = CHANGES[name]
    answers = []
    for side in pair:
        _, secret = side.create("alice", renewers=("bob",))
        before_ms = int(time.time() * 1000)
        answer = side.ask(user, kind(secret, period_ms))
        left_ms = answer.expiry_timestamp_ms
        # A whole minute hides how long the request took.
        answers.append((answer.error_code, left_ms if left_ms < 1 else round((left_ms - before_ms) / 60_000)))
    assert answers[0] == answers[1]


def test_the_end_of_a_token_is_the_same(pair: tuple[Side, Side]) -> None:
    """It expires, can neither be renewed nor expire again, and is then removed."""
    answers = []
    for side in pair:
        _, secret = side.create("alice", renewers=("bob",))
        found = [side.ask("alice", ExpireDelegationTokenRequest(b"no secret", DEFAULT))]
        found.append(side.ask("alice", RenewDelegationTokenRequest(b"no secret", DEFAULT)))
        found.append(side.ask("bob", ExpireDelegationTokenRequest(secret, 0)))
        expired = ErrorCode.DELEGATION_TOKEN_EXPIRED
        for user in ("bob", "carl"):
            renewal = RenewDelegationTokenRequest(secret, DEFAULT)
            found.append(until(lambda: side.ask(user, renewal), lambda one: one.error_code == expired))  # noqa: B023
        found += [side.ask(user, ExpireDelegationTokenRequest(secret, 9000)) for user in ("bob", "carl")]
        # An expired token is shown until it is removed.
        seen = side.ask("alice", DescribeDelegationTokenRequest(None))
        assert secret in [one.hmac for one in seen.tokens]
        found.append(side.ask("alice", ExpireDelegationTokenRequest(secret, DEFAULT)))
        gone = ErrorCode.DELEGATION_TOKEN_NOT_FOUND
        again = ExpireDelegationTokenRequest(secret, DEFAULT)
        found.append(until(lambda: side.ask("alice", again), lambda one: one.error_code == gone))  # noqa: B023
        answers.append([(one.error_code, min(one.expiry_timestamp_ms, 1)) for one in found])
    assert answers[0] == answers[1]


def owners(*names: str) -> DescribeDelegationTokenRequest:
    return DescribeDelegationTokenRequest([DescribeDelegationTokenOwner("User", name) for name in names])


def test_everybody_sees_the_same_tokens(pair: tuple[Side, Side]) -> None:
    for side in pair:
        # Tokens of other tests go first.
        for name in NAMES:
            for token in side.ask(name, DescribeDelegationTokenRequest(None)).tokens:
                side.ask(token.principal_name, ExpireDelegationTokenRequest(token.hmac, DEFAULT))
        until(
            lambda: [side.ask(name, DescribeDelegationTokenRequest(None)).tokens for name in NAMES],  # noqa: B023
            lambda seen: not any(seen),
        )
        token_id, _ = side.create("alice", renewers=("bob",))
        side.allow("carl", ResourceType.DELEGATION_TOKEN, token_id, Operation.DESCRIBE)
        side.create("alice")
        side.create("alice", owner="bob")
        side.create("carl", renewers=("carl", "dora"))
    seen: dict[str, tuple[object, object]] = {}
    theirs, ours = pair
    for user in (*NAMES, ""):
        for asked in (DescribeDelegationTokenRequest(None), owners(), owners("alice"), owners("bob", "dora")):
            for version in (1, 2, 3):
                shown = until(
                    lambda: [plain(side.ask(user, asked, version)) for side in (theirs, ours)],  # noqa: B023
                    # The ACLs of Apache Kafka's broker are later than its answer.
                    lambda both: both[0] == both[1],
                )
                seen[f"{user} {asked} {version}"] = tuple(shown)
    assert len({str(answer) for answer, _ in seen.values()}) > 10


@pytest.mark.timeout(240)
def test_each_rule_allows_the_same(pair: tuple[Side, Side]) -> None:
    for side in pair:
        for token in side.ask("bob", DescribeDelegationTokenRequest(None)).tokens:
            side.ask(token.principal_name, ExpireDelegationTokenRequest(token.hmac, DEFAULT))
        token_id, _ = side.create("bob")
        acls = [
            Acl(kind, name.replace(TOKEN, token_id), pattern, f"User:r{number}", "*", operation, permission)
            for number, rules in enumerate(RULES)
            for kind, name, pattern, operation, permission in rules
        ]
        Admin(side.anonymous).create_acls(acls)

    def answer(side: Side, number: int) -> tuple[int, int]:
        """What a user may do: to see Bob's token, and to get one. Another error prevents a new token."""
        seen = side.ask(f"r{number}", owners("bob"))
        made = side.ask(f"r{number}", create("bob", [CreatableRenewers("Group", "x")]))
        return len(seen.tokens), made.error_code

    denied, allowed = ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED, ErrorCode.INVALID_PRINCIPAL_TYPE
    theirs, ours = pair
    # The ACLs of Apache Kafka's broker are later than the answer to their creation, and all come together.
    until(lambda: answer(theirs, RULES.index([_BOB])), lambda one: one == (1, allowed))
    answers = [(answer(theirs, number), answer(ours, number)) for number in range(len(RULES))]
    different = [(rules, both) for rules, both in zip(RULES, answers, strict=True) if both[0] != both[1]]
    assert not different
    assert {one for one, _ in answers} == {(0, denied), (0, allowed), (1, denied), (1, allowed)}


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_token_logs_in_as_its_owner_and_cannot_get_another(pair: tuple[Side, Side], mechanism: str) -> None:
    answers: list[list[object]] = []
    for side in pair:
        token_id, secret = side.create("alice", renewers=("bob",))
        found: list[object] = []
        logged_in = until(lambda: try_login(side, mechanism, token_id, secret), bool)  # noqa: B023
        connection = logged_in.any_connection()
        for request in (
            create(),
            create("bob"),
            RenewDelegationTokenRequest(secret, DEFAULT),
            ExpireDelegationTokenRequest(secret, DEFAULT),
            DescribeDelegationTokenRequest(None),
        ):
            found.append(plain(connection.send(request, apis.APIS[request.API_KEY].response)))
        logged_in.close()
        for wrong in ((token_id, secret[:-1] + b"x"), (token_id + "x", secret), ("bob", b"x")):
            found.append(refusal(side, mechanism, *wrong))
        side.ask("bob", ExpireDelegationTokenRequest(secret, DEFAULT))
        until(lambda: try_login(side, mechanism, token_id, secret), lambda login: login is None)  # noqa: B023
        found.append(refusal(side, mechanism, token_id, secret))
        answers.append(found)
    assert answers[0] == answers[1]


def try_login(side: Side, mechanism: str, token_id: str, secret: bytes) -> Cluster | None:
    cluster = side.with_token(mechanism, token_id, secret)
    try:
        cluster.any_connection()
    except LoginFailedError:
        cluster.close()
        return None
    return cluster


def refusal(side: Side, mechanism: str, token_id: str, secret: bytes) -> str:
    cluster = side.with_token(mechanism, token_id, secret)
    with pytest.raises(LoginFailedError) as caught:
        cluster.any_connection()
    cluster.close()
    return str(caught.value).partition(" does not accept ")[2]


@pytest.mark.parametrize("user", ["alice", ""])
def test_a_cluster_without_a_key_has_no_tokens(pair_without_key: tuple[Side, Side], user: str) -> None:
    theirs, ours = pair_without_key
    for request in (
        create(),
        create("bob"),
        create(renewers=[CreatableRenewers("Group", "bob")]),
        RenewDelegationTokenRequest(b"secret", DEFAULT),
        ExpireDelegationTokenRequest(b"secret", DEFAULT),
        DescribeDelegationTokenRequest(None),
        owners(),
    ):
        assert plain(ours.ask(user, request)) == plain(theirs.ask(user, request)), request


def test_the_versions_are_the_same(pair: tuple[Side, Side]) -> None:
    theirs, ours = (side.client("alice").any_connection().versions for side in pair)
    for key in range(38, 42):
        assert ours[key] == theirs[key]
    assert isinstance(pair[1].ask("", create()), CreateDelegationTokenResponse)
