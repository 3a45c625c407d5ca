"""The public keys of issuers: read at the start, again now and then, and soon after an unknown key."""

import asyncio
import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from gralha.broker import key_sets
from gralha.broker.key_sets import KeySetSource
from gralha.broker.sasl_settings import TokenSettings
from gralha.broker.start_error import StartError
from gralha.broker.url_text import BYTES_MAX, text_at
from gralha.security.sasl.tokens import TokenRules

KEY = ECAlgorithm.to_jwk(ec.generate_private_key(ec.SECP256R1()).public_key(), as_dict=True)


def key_set(name: str) -> str:
    return json.dumps({"keys": [{**KEY, "kid": name}]})


class Issuer:
    """Answers with one text after another, or with errors. The last one stays."""

    def __init__(self, *answers: str | Exception) -> None:
        self.answers = list(answers)
        self.asked = 0

    def __call__(self, url: str) -> str:
        self.asked += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def source(issuer: Callable[[str], str], refresh_ms: int = 1) -> KeySetSource:
    return KeySetSource(TokenSettings(TokenRules(), "https://issuer/keys", refresh_ms, 1, 2), issuer)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.001)


async def test_keys_are_read_again_and_kept_if_that_fails() -> None:
    issuer = Issuer(key_set("a"), OSError("no answer"), "no keys", OSError("no answer"), key_set("b"))
    keys = source(issuer)
    await keys.start()
    assert keys.keys().get("a") is not None
    running = asyncio.ensure_future(keys.run())
    await until(lambda: issuer.asked == 4)
    assert keys.keys().get("a") is not None
    await until(lambda: keys.keys().get("b") is not None)
    assert keys.keys().get("a") is None
    running.cancel()


async def test_an_unknown_key_does_not_wait_for_the_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_sets, "EXPEDITED_PAUSE_S", 0.0)
    issuer = Issuer(key_set("a"), key_set("b"))
    keys = source(issuer, refresh_ms=3_600_000)
    await keys.start()
    running = asyncio.ensure_future(keys.run())
    keys.expedite()
    await until(lambda: keys.keys().get("b") is not None)
    assert issuer.asked == 2
    running.cancel()


@pytest.mark.parametrize("answer", [OSError("no such file"), "{}", "\x00"])
async def test_a_broker_does_not_start_without_keys(answer: str | Exception) -> None:
    with pytest.raises(StartError, match=r"jwks\.endpoint\.url=https://issuer/keys: "):
        await source(Issuer(answer)).start()


def test_a_text_comes_from_a_file_or_an_address(tmp_path: Path) -> None:
    file = tmp_path / "two words.json"
    file.write_text("keys")
    assert text_at(file.as_uri()) == "keys"
    file.write_bytes(bytes(BYTES_MAX + 1))
    with pytest.raises(ValueError, match="bytes"):
        text_at(file.as_uri())
    with pytest.raises(OSError, match="No such file"):
        text_at((tmp_path / "nothing").as_uri())


class Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/keys":
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"keys")
        else:
            self.send_response(302)
            self.send_header("Location", "/keys")
            self.end_headers()

    def log_message(self, *_arguments: object) -> None:
        """Tests are silent."""


def test_an_address_may_not_lead_to_another_one() -> None:
    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        assert text_at(f"{address}/keys") == "keys"
        with pytest.raises(OSError, match="302"):
            text_at(f"{address}/elsewhere")
        server.shutdown()
