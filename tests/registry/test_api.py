"""The answers of the API: Confluent's codes and bodies, also to malformed requests."""

import json
import socket
from collections.abc import Callable

import httpx
import pytest

from tests.registry.instances import Instance

NewSubject = Callable[[str], str]
STRING = {"schema": '"string"'}
INT = {"schema": '"int"'}


def code(response: httpx.Response) -> tuple[int, int]:
    body = response.json()
    assert set(body) == {"error_code", "message"}
    return response.status_code, body["error_code"]


def test_unknown_things(http: httpx.Client, new_subject: NewSubject) -> None:
    subject, known = new_subject("unknown"), new_subject("known")
    http.post(f"/subjects/{known}/versions", json=STRING).raise_for_status()
    for method, path, expected in (
        ("GET", f"/subjects/{subject}/versions", 40401),
        ("GET", f"/subjects/{subject}/versions/1", 40401),
        ("GET", f"/subjects/{known}/versions/9", 40402),
        ("DELETE", f"/subjects/{subject}", 40401),
        ("DELETE", f"/subjects/{known}/versions/9", 40402),
        ("GET", "/schemas/ids/2147483647", 40403),
        ("GET", "/schemas/guids/00000000-0000-0000-0000-000000000000", 40403),
        ("GET", "/schemas/guids/nonsense", 40403),
        ("GET", f"/config/{subject}", 40408),
        ("GET", f"/mode/{subject}", 40409),
    ):
        assert code(http.request(method, path)) == (404, expected), path
    assert code(http.post(f"/subjects/{subject}", json=STRING)) == (404, 40401)
    assert code(http.post(f"/subjects/{known}", json=INT)) == (404, 40403)
    for version in ("0", "-2", "x", "2147483648", "９"):
        assert code(http.get(f"/subjects/{known}/versions/{version}")) == (422, 42202), version


def test_the_order_of_deletes(http: httpx.Client, new_subject: NewSubject) -> None:
    subject = new_subject("deleted")
    http.put(f"/config/{subject}", json={"compatibility": "NONE"}).raise_for_status()
    for schema in (STRING, INT):
        http.post(f"/subjects/{subject}/versions", json=schema).raise_for_status()
    version = f"/subjects/{subject}/versions/1"
    assert code(http.delete(version, params={"permanent": "true"})) == (404, 40407)
    assert http.delete(version).json() == 1
    assert code(http.delete(version)) == (404, 40406)
    assert http.get(f"/subjects/{subject}/versions", params={"deletedAsNegative": "true"}).json() == [-1, 2]
    assert http.get(version, params={"deleted": "true"}).json()["deleted"] is True
    assert code(http.delete(f"/subjects/{subject}", params={"permanent": "true"})) == (404, 40405)
    assert http.delete(f"/subjects/{subject}").json() == [2]
    assert code(http.delete(f"/subjects/{subject}")) == (404, 40404)
    assert http.delete(f"/subjects/{subject}", params={"permanent": "true"}).json() == [1, 2]
    assert code(http.get(f"/config/{subject}")) == (404, 40408), "the configuration is gone with the subject"


def test_a_schema_that_was_deleted_gets_its_id_back(http: httpx.Client, new_subject: NewSubject) -> None:
    subject = new_subject("again")
    first = http.post(f"/subjects/{subject}/versions", json=STRING).json()
    http.delete(f"/subjects/{subject}").raise_for_status()
    second = http.post(f"/subjects/{subject}/versions", json=STRING).json()
    assert (second["id"], second["version"]) == (first["id"], 2)
    assert http.get(f"/subjects/{subject}/versions", params={"deleted": "true"}).json() == [2]


def test_modes(http: httpx.Client, new_subject: NewSubject) -> None:
    subject = new_subject("mode")
    path, versions = f"/mode/{subject}", f"/subjects/{subject}/versions"
    assert http.get(path, params={"defaultToGlobal": "true"}).json() == {"mode": "READWRITE"}
    assert code(http.post(versions, json=STRING | {"id": 90_001})) == (422, 42205)
    assert code(http.put(path, json={"mode": "WRITE"})) == (422, 42204)
    assert http.put(path, json={"mode": "READONLY"}).json() == {"mode": "READONLY"}
    assert code(http.post(versions, json=STRING)) == (422, 42205)
    assert http.put(path, json={"mode": "IMPORT"}).json() == {"mode": "IMPORT"}
    assert code(http.post(versions, json=STRING)) == (422, 42205)
    imported = http.post(versions, json=STRING | {"id": 90_001, "version": 5}).json()
    assert (imported["id"], imported["version"]) == (90_001, 5)
    assert code(http.post(versions, json=INT | {"id": 90_001, "version": 6})) == (422, 42205)
    assert http.delete(path).json() == {"mode": "IMPORT"}
    assert code(http.get(path)) == (404, 40409)
    following = http.post(f"/subjects/{new_subject('after')}/versions", json={"schema": '"bytes"'}).json()
    assert following["id"] > 90_001, "new ids come after imported ones"


def test_configurations(http: httpx.Client, new_subject: NewSubject) -> None:
    subject = new_subject("config")
    path = f"/config/{subject}"
    assert code(http.put(path, json={"compatibility": "SIDEWAYS"})) == (422, 42203)
    changed = http.put(path, json={"compatibility": "full", "normalize": True}).json()
    assert changed == {"compatibility": "FULL", "normalize": True}
    assert http.put(path, json={"normalize": None}).json() == {"compatibility": "FULL"}
    assert http.get(path).json() == {"compatibilityLevel": "FULL"}
    assert http.delete(path).json() == {"compatibilityLevel": "FULL"}
    inherited = http.get(path, params={"defaultToGlobal": "true"}).json()
    assert inherited["compatibilityLevel"] == "BACKWARD"


def test_defaults_and_overrides_of_metadata(http: httpx.Client, new_subject: NewSubject) -> None:
    subject = new_subject("merged")
    rules = {
        "domainRules": [{"name": "r", "kind": "CONDITION", "mode": "WRITE", "type": "CEL", "expr": "true"}]
    }
    config = {
        "defaultMetadata": {"properties": {"team": "unknown", "tier": "3"}},
        "overrideMetadata": {"properties": {"region": "eu"}},
        "defaultRuleSet": rules,
    }
    http.put(f"/config/{subject}", json=config).raise_for_status()
    schema = STRING | {"metadata": {"properties": {"team": "orders"}}}
    http.post(f"/subjects/{subject}/versions", json=schema).raise_for_status()
    stored = http.get(f"/subjects/{subject}/versions/1").json()
    assert stored["metadata"] == {"properties": {"region": "eu", "team": "orders", "tier": "3"}}
    assert [rule["name"] for rule in stored["ruleSet"]["domainRules"]] == ["r"]
    assert http.post(f"/subjects/{subject}", json=schema).json()["version"] == 1
    broken = STRING | {"ruleSet": {"domainRules": [{"name": "r", "mode": "UPGRADE", "type": "CEL"}]}}
    assert code(http.post(f"/subjects/{subject}/versions", json=broken)) == (422, 42210)


def test_compatibility_with_reasons(http: httpx.Client, new_subject: NewSubject) -> None:
    subject = new_subject("checked")
    http.post(f"/subjects/{subject}/versions", json=STRING).raise_for_status()
    path = f"/compatibility/subjects/{subject}/versions"
    assert http.post(path, json=STRING).json() == {"is_compatible": True}
    refused = http.post(f"{path}/latest", json=INT, params={"verbose": "true"}).json()
    assert not refused["is_compatible"]
    assert "TYPE_MISMATCH" in refused["messages"][0]
    assert code(http.post(f"{path}/7", json=INT)) == (404, 40402)
    assert code(http.post(path, json={"schema": "{"})) == (422, 42201)


def test_pages_and_filters(http: httpx.Client, new_subject: NewSubject) -> None:
    prefix = new_subject("page")
    names = [f"{prefix}-{letter}" for letter in "abc"]
    for name in names:
        http.post(f"/subjects/{name}/versions", json=STRING).raise_for_status()
    wanted = {"subjectPrefix": prefix}
    assert http.get("/subjects", params=wanted).json() == names
    assert http.get("/subjects", params=wanted | {"offset": "1", "limit": "1"}).json() == names[1:2]
    http.delete(f"/subjects/{names[0]}").raise_for_status()
    assert http.get("/subjects", params=wanted).json() == names[1:]
    assert http.get("/subjects", params=wanted | {"deletedOnly": "true"}).json() == names[:1]
    assert [one["subject"] for one in http.get("/schemas", params=wanted).json()] == names[1:]
    found = http.get("/subjects/" + names[1] + "/versions/1").json()
    guid = found["guid"]
    assert {"context": ".", "id": found["id"]} in http.get(f"/schemas/guids/{guid}/ids").json()
    assert http.get(f"/schemas/guids/{guid}").json()["schema"] == '"string"'
    assert {"subject": names[2], "version": 1} in http.get(f"/schemas/ids/{found['id']}/versions").json()


def test_a_subject_with_a_slash(http: httpx.Client, new_subject: NewSubject) -> None:
    subject = new_subject("a/b c%é")
    path = f"/subjects/{httpx.URL('', params={'x': subject}).query.decode()[2:].replace('+', '%20')}/versions"
    assert http.post(path, json=STRING).json()["version"] == 1
    assert subject in http.get("/subjects").json()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", (422, 422)),
        (b"null", (422, 422)),
        (b"{", (400, 400)),
        (b"[1]", (400, 400)),
        (b'{"schema": 3}', (400, 400)),
        (b'{"schema": "x", "id": "nine"}', (400, 400)),
        (b'{"schema": "x", "references": [3]}', (400, 400)),
        (b"\xff\xfe", (400, 400)),
        (b"[" * 100_000, (400, 400)),
        (b"{}", (422, 42201)),
        (b'{"schema": " "}', (422, 42201)),
        (b'{"schema": "{}"}', (422, 42201)),
        (b'{"schema": "\\"string\\"", "schemaType": "XML"}', (422, 42201)),
        (json.dumps({"schema": '{"type":"array","items":' * 50_000}).encode(), (422, 42201)),
        (json.dumps({"schema": "x", "references": [{"name": "n", "subject": "gone", "version": 1}]}).encode(),
         (422, 42201)),
    ],
    ids=range(15),
)  # fmt: skip
def test_malformed_bodies(
    http: httpx.Client, new_subject: NewSubject, body: bytes, expected: tuple[int, int]
) -> None:
    headers = {"content-type": "application/vnd.schemaregistry.v1+json"}
    path = f"/subjects/{new_subject('malformed')}/versions"
    assert code(http.post(path, content=body, headers=headers)) == expected
    assert http.get("/").status_code == 200


def test_content_types(http: httpx.Client) -> None:
    v1 = "application/vnd.schemaregistry.v1+json"
    for accept, expected in (
        ("*/*", v1),
        ("application/json", "application/json"),
        (f"{v1}, application/vnd.schemaregistry+json, application/json", v1),
        ("text/html, application/json;q=0.5", "application/json"),
    ):
        assert http.get("/subjects", headers={"accept": accept}).headers["content-type"] == expected
    assert code(http.get("/subjects", headers={"accept": "text/html"})) == (406, 406)
    refused = http.post("/subjects/a", content=b"{}", headers={"content-type": "text/plain"})
    assert code(refused) == (415, 415)
    assert code(http.get("/nothing")) == (404, 404)
    not_allowed = http.put("/subjects", json={})
    assert code(not_allowed) == (405, 405)
    assert not_allowed.headers["allow"] == "GET, OPTIONS"


def test_large_bodies(http: httpx.Client, new_subject: NewSubject, registry: Instance) -> None:
    path = f"/subjects/{new_subject('large')}/versions"
    names = ",".join(f'"A{number}"' for number in range(300_000))
    schema = f'{{"type":"enum","name":"E","symbols":[{names}]}}'
    assert code(http.post(path, json={"schema": schema})) == (422, 42209), "larger than the topic allows"
    before = registry.process.memory_bytes()
    for _ in range(5):
        assert code(http.post(path, content=b"x" * (11 << 20))) == (413, 413)
    assert registry.process.memory_bytes() - before < 40 << 20
    # The store works on after the record that was too large.
    assert http.post(path, json=STRING).json()["version"] == 1


def test_half_sent_requests_disturb_nobody(registry: Instance, http: httpx.Client) -> None:
    head = b"POST /subjects/half/versions HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n"
    sockets = []
    for sent in (b"GE", head, head + b"content-length: 100\r\n\r\n{", b"\x16\x03\x01nonsense\r\n\r\n"):
        one = socket.create_connection(("127.0.0.1", registry.port))
        one.sendall(sent)
        sockets.append(one)
    assert http.get("/subjects").status_code == 200
    for one in sockets:
        one.close()
    assert code(http.get("/subjects/half/versions")) == (404, 40401)


def test_the_document_and_its_page(http: httpx.Client) -> None:
    document = http.get("/openapi.json").json()
    assert document["openapi"].startswith("3.")
    assert "/subjects/{subject}/versions/{version}" in document["paths"]
    assert "openapi.json" in http.get("/docs").text


def test_a_schema_that_cannot_be_written_in_another_form(http: httpx.Client, new_subject: NewSubject) -> None:
    schema = {"schemaType": "PROTOBUF", "schema": 'edition = "2099"; message A { int32 a = 1; }'}
    subject = new_subject("unwritable")
    http.post(f"/subjects/{subject}/versions", json=schema).raise_for_status()
    version = f"/subjects/{subject}/versions/1"
    assert http.get(version).is_success
    assert code(http.get(version, params={"format": "serialized"})) == (422, 42201)
