"""Credentials and rights of a registry's clients."""

import datetime
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from gralha.registry.http.access import Access, Right, parse_rights, parse_users
from gralha.testing import GralhaCluster
from tests.certificates import Authority
from tests.quick_groups import QUICK_GROUPS
from tests.registry.conftest import SHORT_SESSIONS
from tests.registry.instances import Instance, running

STRING = {"schema": '"string"'}
USERS = "alice: secret,admin\nbob: MD5:9f9d51bc70ef21ca5c14f307980a29d8\n# a comment\n"
RIGHTS = "alice all *\nbob read orders-*\nbob write orders-*\n"


@pytest.fixture(scope="module")
def cluster() -> Iterator[GralhaCluster]:
    with GralhaCluster(config=QUICK_GROUPS | SHORT_SESSIONS) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def secured(cluster: GralhaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Instance]]:
    """Two instances with TLS, users and rights."""
    folder = tmp_path_factory.mktemp("secured")
    authority = Authority()
    (folder / "users").write_text(USERS)
    (folder / "rights").write_text(RIGHTS)
    config = {
        "kafkastore.topic": "secured",
        "schema.registry.group.id": "secured",
        "authentication.method": "BASIC",
        "authentication.users.file": str(folder / "users"),
        "authorization.rights.file": str(folder / "rights"),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": authority.issue("registry").write_pem(folder / "registry.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": authority.write_pem(folder / "ca.pem"),
    }
    with running(cluster.bootstrap, folder, 2, config, "https") as instances:
        for instance in instances:
            instance.authority_file = str(folder / "ca.pem")
        yield instances


def client(instance: Instance, user: str | None = None, password: str = "") -> httpx.Client:
    import ssl

    trusted = ssl.create_default_context(cafile=instance.authority_file)
    return instance.client(verify=trusted, auth=None if user is None else (user, password))


def test_an_absent_or_wrong_credential_is_401(secured: list[Instance]) -> None:
    for user, password in ((None, ""), ("alice", "wrong"), ("nobody", "secret"), ("bob", "")):
        with client(secured[0], user, password) as http:
            for path in ("/subjects", "/schemas/ids/1", "/docs", "/nothing"):
                answer = http.get(path)
                assert (answer.status_code, answer.json()["error_code"]) == (401, 401), (user, path)
                assert answer.headers["www-authenticate"].startswith("Basic ")


def test_both_instances_forward_with_tls_and_the_callers_credential(secured: list[Instance]) -> None:
    for number, instance in enumerate(secured):
        with client(instance, "alice", "secret") as http:
            answer = http.post(f"/subjects/forwarded-{number}/versions", json=STRING)
            assert answer.status_code == 200, answer.text


def test_rights_are_by_subject(secured: list[Instance]) -> None:
    with client(secured[0], "alice", "secret") as alice, client(secured[0], "bob", "bob") as bob:
        for subject in ("orders-1", "payments-1"):
            schema = {"schema": json.dumps({"type": "fixed", "name": subject.replace("-", "_"), "size": 3})}
            alice.post(f"/subjects/{subject}/versions", json=schema).raise_for_status()
        latest = alice.get("/subjects/payments-1/versions/latest").json()
        assert bob.get("/subjects/orders-1/versions").json() == [1]
        assert "orders-1" in bob.get("/subjects").json()
        assert "payments-1" not in bob.get("/subjects").json()
        assert {one["subject"] for one in bob.get("/schemas").json()} == {"orders-1"}
        assert bob.post("/subjects/orders-2/versions", json=STRING).status_code == 200
        for method, path in (
            ("GET", "/subjects/payments-1/versions/1"),
            ("GET", f"/schemas/ids/{latest['id']}"),
            ("GET", f"/schemas/guids/{latest['guid']}"),
            ("DELETE", "/subjects/orders-1"),
            ("DELETE", "/config/orders-1"),
            ("DELETE", "/mode"),
        ):
            answer = bob.request(method, path)
            assert (answer.status_code, answer.json()["error_code"]) == (403, 403), path
        assert bob.post("/subjects/payments-1/versions", json=STRING).status_code == 403
        assert bob.put("/mode", json={"mode": "READONLY"}).status_code == 403


def test_bearer_tokens(cluster: GralhaCluster, tmp_path: Path) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
    (tmp_path / "jwks.json").write_text(json.dumps({"keys": [public | {"kid": "k", "alg": "RS256"}]}))
    config = {
        "kafkastore.topic": "bearer",
        "schema.registry.group.id": "bearer",
        "authentication.method": "BEARER",
        "oauthbearer.jwks.endpoint.url": f"file://{tmp_path}/jwks.json",
        "oauthbearer.expected.issuer": "issuer",
        "oauthbearer.expected.audience": "registry",
    }
    now = datetime.datetime.now(datetime.UTC)
    good = {"sub": "alice", "iss": "issuer", "aud": "registry", "exp": now + datetime.timedelta(hours=1)}
    other_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def token(claims: dict[str, object], signed_by: rsa.RSAPrivateKey = key) -> str:
        return jwt.encode(claims, signed_by, "RS256", headers={"kid": "k"})

    without_end = {name: value for name, value in good.items() if name != "exp"}
    with running(cluster.bootstrap, tmp_path, 1, config) as (instance,), instance.client() as http:
        assert http.get("/subjects", headers={"authorization": f"Bearer {token(good)}"}).status_code == 200
        for wrong in (
            token(good | {"aud": "other"}),
            token(good | {"iss": "other"}),
            token(good | {"exp": now - datetime.timedelta(hours=1)}),
            token(without_end),
            token(good, other_key),
            jwt.encode(good, "secret" * 8, "HS256", headers={"kid": "k"}),
            jwt.encode(good, "", "none"),
            "nonsense",
        ):
            answer = http.get("/subjects", headers={"authorization": f"Bearer {wrong}"})
            assert answer.status_code == 401, wrong
        assert http.get("/subjects").status_code == 401


def test_the_files_of_users_and_rights() -> None:
    assert parse_users(USERS) == {"alice": "secret", "bob": "MD5:9f9d51bc70ef21ca5c14f307980a29d8"}
    assert parse_rights("a read,write x-*\n")[0] == Right("a", frozenset({"read", "write"}), "x-*")
    for text in ("alice", "alice:", ": x", "alice: OBF:1v2j1uum"):
        with pytest.raises(ValueError, match="line 1"):
            parse_users(text)
    for text in ("alice", "alice look x", "a b c d"):
        with pytest.raises(ValueError, match="line 1"):
            parse_rights(text)


def test_a_right_for_the_whole_registry() -> None:
    access = Access(rights=parse_rights("alice config,mode\nbob config *"))
    assert access.may("alice", "config", "")
    assert not access.may("alice", "config", "orders")
    assert access.may("bob", "config", "")
