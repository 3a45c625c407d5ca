"""`gralha secure`: the files and the printed lines make a cluster that keeps strangers out."""

import asyncio
import json
import re
import shlex
import ssl
import stat
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import aiokafka
import aiokafka.helpers
import confluent_kafka
import kafka
import pytest
from confluent_kafka import KafkaError
from cryptography import x509

from gralha.cli import secure, topics
from tests.cli.test_up_brokers import first_port

PATIENCE_S = 60
pytestmark = pytest.mark.timeout(240)


class Secured(NamedTuple):
    """A folder of `gralha secure` whose cluster runs, and the blocks that the command printed."""

    folder: Path
    blocks: dict[str, str]

    def librdkafka(self, user: str, **others: str) -> dict[str, Any]:
        lines = (self.folder / user / "librdkafka.properties").read_text().splitlines()
        return {**dict(line.split("=", 1) for line in lines), **others}


def run_line(line: str) -> str:
    """Runs a line of a shell, which has to succeed."""
    done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


def blocks_of(printed: str) -> dict[str, str]:
    """The printed blocks by their titles, such as `Use it:` and `# aiokafka`."""
    blocks = {}
    for block in printed.split("\n\n"):
        title, _, lines = textwrap.dedent(block).partition("\n")
        blocks[title] = textwrap.dedent(lines)
    return blocks


def start(line: str, log: Path, stack: ExitStack) -> "subprocess.Popen[str]":
    """Starts a node with its printed line. The end of the stack stops it."""
    errors = stack.enter_context(log.open("w"))
    words = shlex.split(line, comments=True)
    node = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True)
    stack.enter_context(node)
    stack.callback(node.terminate)
    return node


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """Three nodes, started with the lines that `gralha secure` printed."""
    logs = tmp_path_factory.mktemp("logs")
    folder = tmp_path_factory.mktemp("secured") / "my cluster"
    program = [sys.executable, "-m", "gralha.cli.main", "secure", str(folder), "--port", str(first_port())]
    blocks = blocks_of(run_line(shlex.join(program)))
    format_line, *node_lines, acls_line = blocks["Or start each node yourself:"].splitlines()
    run_line(format_line)
    with ExitStack() as stack:
        nodes = {}
        for number, line in enumerate(node_lines, start=1):
            log = logs / f"node-{number}.log"
            nodes[log] = start(line, log, stack)
        for log, node in nodes.items():
            assert node.stdout is not None
            assert node.stdout.readline().startswith("ready: "), log.read_text()
        assert len(nodes) == 3
        run_line(acls_line)
        yield Secured(folder, blocks)


def produce(settings: dict[str, Any], topic: str) -> KafkaError | None:
    """Writes a record. Returns the error of its delivery."""
    errors: list[KafkaError | None] = []
    producer = confluent_kafka.Producer({**settings, "message.timeout.ms": PATIENCE_S * 1000})
    producer.produce(topic, b"one", on_delivery=lambda error, _message: errors.append(error))
    assert producer.flush(PATIENCE_S) == 0
    return errors[0]


def consume(settings: dict[str, Any], topic: str) -> bytes | None:
    """The first record of a topic. Fails if there is an error instead."""
    consumer = confluent_kafka.Consumer(
        {**settings, "group.id": "app.readers", "auto.offset.reset": "earliest"}
    )
    try:
        consumer.subscribe([topic])
        (message,) = consumer.consume(1, PATIENCE_S)
        assert message.error() is None, message.error()
        return message.value()
    finally:
        consumer.close()


def test_the_snippet_for_confluent_kafka_produces_and_consumes(secured: Secured) -> None:
    names: dict[str, Any] = {"confluent_kafka": confluent_kafka}
    exec(secured.blocks["# confluent-kafka"], names)
    names["producer"].produce("app.orders", b"one")
    assert names["producer"].flush(PATIENCE_S) == 0
    names["consumer"].close()
    assert consume(names["settings"], "app.orders") == b"one"


def test_the_snippet_for_kafka_python_produces(secured: Secured) -> None:
    names: dict[str, Any] = {"json": json, "kafka": kafka}
    exec(secured.blocks["# kafka-python"], names)
    try:
        names["producer"].send("app.kafka-python", b"one").get(PATIENCE_S)
    finally:
        names["producer"].close()
    assert consume(secured.librdkafka("app"), "app.kafka-python") == b"one"


def test_the_snippet_for_aiokafka_produces(secured: Secured) -> None:
    names: dict[str, Any] = {"json": json, "aiokafka": aiokafka}

    async def produce_one() -> None:
        exec(secured.blocks["# aiokafka"], names)
        async with names["producer"] as producer:
            await producer.send_and_wait("app.aiokafka", b"one")

    asyncio.run(asyncio.wait_for(produce_one(), PATIENCE_S))
    assert consume(secured.librdkafka("app"), "app.aiokafka") == b"one"


def test_the_snippet_for_kafkajs_produces(secured: Secured) -> None:
    program = f"""
        const {{ Kafka }} = require('kafkajs')
        {secured.blocks["// kafkajs"]}
        const producer = kafka.producer()
        producer.connect()
          .then(() => producer.send({{ topic: 'app.kafkajs', messages: [{{ value: 'one' }}] }}))
          .then(() => producer.disconnect())
    """
    node = ["node", "-e", program]
    folder = Path(__file__).parents[1] / "clients" / "kafkajs"
    done = subprocess.run(node, capture_output=True, text=True, timeout=PATIENCE_S, check=False, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert consume(secured.librdkafka("app"), "app.kafkajs") == b"one"


def test_the_printed_command_lists_topics(secured: Secured) -> None:
    assert produce(secured.librdkafka("admin"), "other") is None
    (line,) = secured.blocks["Use it:"].splitlines()
    assert "other" in run_line(line).splitlines()


def test_the_application_may_not_use_other_topics_and_groups(secured: Secured) -> None:
    assert produce(secured.librdkafka("admin"), "private") is None
    refused = produce(secured.librdkafka("app"), "private")
    assert refused is not None
    assert refused.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    consumer = confluent_kafka.Consumer({**secured.librdkafka("app"), "group.id": "others"})
    try:
        consumer.subscribe(["app.orders"])
        (message,) = consumer.consume(1, PATIENCE_S)
        error = message.error()
        assert error is not None
        assert error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED
    finally:
        consumer.close()


@pytest.mark.parametrize(
    ("setting", "value", "error"),
    [
        ("password", "wrong", "does not accept the login with SCRAM-SHA-512"),
        ("username", "stranger", "does not accept the login with SCRAM-SHA-512"),
        ("security.protocol", "SSL", "closed the connection"),
        ("security.protocol", "PLAINTEXT", "Check that it is a PLAINTEXT listener"),
    ],
)
def test_strangers_are_refused(
    secured: Secured,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    setting: str,
    value: str,
    error: str,
) -> None:
    text = (secured.folder / "app" / "client.properties").read_text()
    wrong = tmp_path / "client.properties"
    wrong.write_text(re.sub(rf'(\b{setting}="?)[\w-]+', rf"\g<1>{value}", text))
    assert wrong.read_text() != text
    server = secured.librdkafka("app")["bootstrap.servers"]
    assert topics.main(["--bootstrap-server", server, "--command-config", str(wrong), "--list"]) == 1
    assert error in capsys.readouterr().err


def test_librdkafka_with_a_wrong_password_is_refused(secured: Secured) -> None:
    settings = secured.librdkafka("app", **{"sasl.password": "wrong"})
    errors: list[KafkaError] = []
    producer = confluent_kafka.Producer({**settings, "error_cb": errors.append, "log_level": 0})
    producer.poll(PATIENCE_S)
    assert errors[0].code() == KafkaError._AUTHENTICATION, errors


def test_a_client_that_trusts_other_authorities_does_not_connect(
    secured: Secured, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    assert secure.main([str(other)]) == 0
    text = (secured.folder / "app" / "client.properties").read_text()
    wrong = tmp_path / "client.properties"
    wrong.write_text(text.replace(str(secured.folder / "ca.pem"), str(other / "ca.pem")))
    server = secured.librdkafka("app")["bootstrap.servers"]
    capsys.readouterr()
    assert topics.main(["--bootstrap-server", server, "--command-config", str(wrong), "--list"]) == 1
    assert "is not trusted" in capsys.readouterr().err


def test_nobody_else_can_read_the_files(tmp_path: Path) -> None:
    assert secure.main([str(tmp_path / "one"), "--brokers", "1"]) == 0
    modes = {
        str(path.relative_to(tmp_path)): stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")
    }
    clients = {
        f"one/{user}/{name}": 0o600
        for user in ("app", "admin")
        for name in ("client.properties", "librdkafka.properties", "python.json", "kafkajs.json")
    }
    assert modes == {
        **dict.fromkeys(["one", "one/app", "one/admin"], 0o700),
        **dict.fromkeys(["one/format.sh", "one/acls.sh"], 0o700),
        **dict.fromkeys(["one/ca.key", "one/broker-1.pem", "one/broker-1.properties"], 0o600),
        "one/ca.pem": 0o644,
        **clients,
    }


def test_passwords_and_keys_are_new_each_time_and_not_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    passwords = []
    for name in ("one", "two"):
        assert secure.main([str(tmp_path / name)]) == 0
        for user in ("app", "admin"):
            settings = json.loads((tmp_path / name / user / "python.json").read_text())
            passwords.append(settings["sasl_plain_password"])
    assert len(set(passwords)) == 4
    printed = capsys.readouterr()
    assert not [one for one in passwords if one in printed.out + printed.err]
    keys = {path.read_bytes() for path in tmp_path.rglob("*.key")}
    assert len(keys) == 2


@pytest.mark.parametrize(
    ("host", "kind"), [("kafka.example.org", x509.DNSName), ("10.1.2.3", x509.IPAddress)]
)
def test_host_is_in_the_certificates_and_the_addresses(tmp_path: Path, host: str, kind: type) -> None:
    assert secure.main([str(tmp_path), "--host", host]) == 0
    certificate = x509.load_pem_x509_certificate((tmp_path / "broker-2.pem").read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(one.value) for one in names] == ["localhost", "127.0.0.1", host]
    assert isinstance(list(names)[2], kind)
    settings = (tmp_path / "broker-2.properties").read_text().splitlines()
    assert "listeners=SASL_SSL://:29092,CONTROLLER://localhost:29093" in settings
    assert f"advertised.listeners=SASL_SSL://{host}:29092" in settings
    client = (tmp_path / "app" / "client.properties").read_text()
    assert f"bootstrap.servers={host}:19092,{host}:29092,{host}:39092\n" in client


def test_the_certificates_pass_strict_checks(tmp_path: Path) -> None:
    """Python 3.13 and newer check strictly by default."""
    assert secure.main([str(tmp_path)]) == 0
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "broker-1.pem")
    client = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_hostname="127.0.0.1"),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    open_sides = set(sides)
    for side in sides * 3:
        try:
            side.do_handshake()
            open_sides.discard(side)
        except ssl.SSLWantReadError:
            continue
    assert not open_sides


def test_a_folder_that_is_in_use_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").write_text("x")
    assert secure.main([str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        f"{tmp_path} is not empty. gralha secure makes new keys and passwords, and replaces no files: "
        "name a new folder\n"
    )
    assert secure.main([str(tmp_path / "mine")]) == 1
    assert capsys.readouterr().err == f"{tmp_path / 'mine'} is a file. Name a folder\n"
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--host", "0.0.0.0"], "'0.0.0.0' is not an address at which clients can connect"),
        (["--host", "a b"], "'a b' is not a host name or an address"),
        (["--brokers", "6"], "6 is not possible: give a number from 1 to 5"),
        (["--port", "0"], "--port 0"),
        (["--port", "50000"], "3 brokers need a port from 1 to 45534"),
        (["--brokers", "1", "--port", "65535"], "--port 65535: the controller needs the next port"),
    ],
)
def test_mistakes_write_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], error: str
) -> None:
    folder = tmp_path / "new"
    assert secure.main([str(folder), *arguments]) == 1
    assert error in capsys.readouterr().err
    assert not folder.exists()
