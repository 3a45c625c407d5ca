"""Both brokers with the same listeners: TLS, and a login under TLS, with one RSA certificate for both."""

from __future__ import annotations

import datetime
import ipaddress
import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from tests.apache.kafka import BROKER_FLAGS, ApacheKafka

from bench.frames import exchange
from bench.load import LOGINS, compiled
from bench.measures import Broker, Makers, connect
from gralha.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialUpsertion,
)
from gralha.security.sasl import scram
from gralha.security.sasl.exchange import SCRAM_SHA_512
from gralha.testing import GralhaCluster
from gralha.testing.process import free_ports

USER, PASSWORD = "bench", "secret of the bench"
MECHANISMS = ("PLAIN", SCRAM_SHA_512)
_MODULES = "org.apache.kafka.common.security"
SALT = b"the salt of the bench's user"
ITERATIONS = 4096


def secured_config(key_file: Path, config: Mapping[str, str]) -> tuple[dict[str, str], int, int]:
    """A node's settings with a listener SSL and a listener SASL (SASL_SSL) as well, and their ports."""
    tls_port, login_port = free_ports(2)
    more = f"SSL://127.0.0.1:{tls_port},SASL://127.0.0.1:{login_port}"
    plain = f'{_MODULES}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
    scram_users = f"{_MODULES}.scram.ScramLoginModule required;"
    return (
        {
            **config,
            "listeners": f"{config['listeners']},{more}",
            "advertised.listeners": f"{config['advertised.listeners']},{more}",
            "listener.security.protocol.map": (
                "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL:SASL_SSL,CONTROLLER:PLAINTEXT"
            ),
            "inter.broker.listener.name": "PLAINTEXT",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(key_file),
            "sasl.enabled.mechanisms": ",".join(MECHANISMS),
            "listener.name.sasl.plain.sasl.jaas.config": plain,
            "listener.name.sasl.scram-sha-512.sasl.jaas.config": scram_users,
        },
        tls_port,
        login_port,
    )


class SecuredGralha(GralhaCluster):
    def __init__(self, key_file: Path, config: Mapping[str, str] | None = None) -> None:
        super().__init__(1, config)
        base = super()._node_config(1)
        self._node_settings, self.tls_port, self.login_port = secured_config(key_file, base)

    def _node_config(self, node_id: int) -> dict[str, str]:
        return self._node_settings


class SecuredKafka(ApacheKafka):
    def __init__(self, key_file: Path, config: Mapping[str, str] | None = None) -> None:
        super().__init__(None, BROKER_FLAGS)
        secured, self.tls_port, self.login_port = secured_config(key_file, self._node_config())
        self.configure({**secured, **(config or {})})


Secured = SecuredGralha | SecuredKafka
KINDS: dict[str, Callable[..., Secured]] = {"apache": SecuredKafka, "gralha": SecuredGralha}


@contextmanager
def secured(makers: Makers, config: Mapping[str, str]) -> Iterator[dict[str, Secured]]:
    """One broker of each kind that has a maker. All have the bench's user."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="gralha-bench-")))
        key_file = new_key_file(folder)
        brokers = {name: KINDS[name](key_file, config) for name in makers}
        for broker in brokers.values():
            stack.enter_context(broker)
            add_user(broker)
        yield brokers


def new_key_file(folder: Path) -> Path:
    """A PEM file with an RSA key of 2048 bits and its own certificate."""
    key = rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=2))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = folder / "broker.pem"
    path.touch(mode=0o600)
    path.write_bytes(secret + certificate.public_bytes(pem))
    return path


def add_user(broker: Broker) -> None:
    salted = scram.salted_password("sha512", PASSWORD, SALT, ITERATIONS)
    number = scram.MECHANISM_NUMBERS[SCRAM_SHA_512]
    new = ScramCredentialUpsertion(USER, number, ITERATIONS, SALT, salted)
    with connect(broker) as connection:
        response = exchange(connection, AlterUserScramCredentialsRequest(upsertions=[new]), 0)
    assert isinstance(response, AlterUserScramCredentialsResponse)
    if response.results[0].error_code != 0:
        raise RuntimeError(f"the user was not made: {response.results[0].error_message}")


@dataclass(frozen=True)
class Logins:
    """The results of connections that have logged in."""

    logins: int
    seconds: float
    cpu_seconds: float  # of the load itself


def _command(broker: Secured, mechanism: str, count: int, threads: int, holds: bool) -> list[str]:
    program = str(compiled(LOGINS))
    return [program, *map(str, (broker.login_port, mechanism, USER, PASSWORD, count, threads, int(holds)))]


def log_in(broker: Secured, mechanism: str, count: int, threads: int) -> Logins:
    """Open that many connections, log in on each and close it. `threads` of them at a time."""
    done = subprocess.run(_command(broker, mechanism, count, threads, False), capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return Logins(**json.loads(done.stdout))


@contextmanager
def logged_in(broker: Secured, mechanism: str, count: int, threads: int) -> Iterator[None]:
    """That many connections, all logged in and idle."""
    with subprocess.Popen(
        _command(broker, mechanism, count, threads, True),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as load:
        output: IO[bytes] | None = load.stdout
        assert output is not None
        assert load.stderr is not None
        if not output.readline():
            raise RuntimeError(load.stderr.read().decode().strip())
        yield
        load.communicate()
