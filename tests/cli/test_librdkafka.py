import ctypes
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from gralha.cli.librdkafka import create, quiet_settings, reason_of, served, to_librdkafka
from gralha.cli.program import CommandError
from gralha.client.errors import SettingsError
from tests.certificates import Authority


def test_names_that_differ_are_translated() -> None:
    assert to_librdkafka(
        {
            "bootstrap.servers": "b:1",
            "buffer.memory": "33554432",
            "send.buffer.bytes": "102400",
            "fetch.max.wait.ms": "100",
            "key.serializer": "org.example.Serializer",
            "max.block.ms": "60000",
            "auto.offset.reset": "none",
        }
    ) == {
        "bootstrap.servers": "b:1",
        "queue.buffering.max.kbytes": 32768,
        "socket.send.buffer.bytes": "102400",
        "fetch.wait.max.ms": "100",
        "auto.offset.reset": "error",
    }


def test_assignors_go_by_their_java_classes() -> None:
    package = "org.apache.kafka.clients.consumer"
    strategy = f"{package}.CooperativeStickyAssignor, {package}.RangeAssignor,roundrobin"
    settings = to_librdkafka({"partition.assignment.strategy": strategy})
    assert settings == {"partition.assignment.strategy": "cooperative-sticky,range,roundrobin"}
    with pytest.raises(CommandError, match=r"Unknown assignor com\.example\.Mine: use one of Cooperative"):
        to_librdkafka({"partition.assignment.strategy": "com.example.Mine"})


def test_new_partitions_are_looked_for_as_often_as_the_metadata_ages() -> None:
    settings = to_librdkafka({"metadata.max.age.ms": "100"})
    assert settings == {"metadata.max.age.ms": "100", "topic.metadata.refresh.interval.ms": "100"}


def test_a_jaas_line_gives_user_and_password() -> None:
    jaas = "org.apache.kafka.PlainLoginModule required username=\"ana\" password='s3 cret';"
    assert to_librdkafka({"sasl.jaas.config": jaas}) == {"sasl.username": "ana", "sasl.password": "s3 cret"}


def test_a_delegation_token_is_refused_with_the_reason() -> None:
    jaas = 'org.apache.kafka.ScramLoginModule required username="id" password="x" tokenauth="true";'
    with pytest.raises(CommandError, match="cannot log in with a delegation token"):
        to_librdkafka({"sasl.jaas.config": jaas})
    jaas = jaas.replace("true", "false")
    assert to_librdkafka({"sasl.jaas.config": jaas}) == {"sasl.username": "id", "sasl.password": "x"}


def test_pem_stores_become_files(tmp_path: Path) -> None:
    authority = Authority()
    key = authority.issue("alice", ()).write_pem(tmp_path / "alice.pem")
    trust = authority.write_pem(tmp_path / "ca.pem")
    assert to_librdkafka(
        {
            "security.protocol": "SSL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": key,
            "ssl.key.password": "secret",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": trust,
            "ssl.endpoint.identification.algorithm": "",
            "ssl.cipher.suites": "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,TLS_AES_128_GCM_SHA256",
        }
    ) == {
        "security.protocol": "SSL",
        "ssl.certificate.location": key,
        "ssl.key.location": key,
        "ssl.key.password": "secret",
        "ssl.ca.location": trust,
        "ssl.endpoint.identification.algorithm": "none",
        "ssl.cipher.suites": "TLS_AES_128_GCM_SHA256:ECDHE-RSA-AES256-GCM-SHA384",
    }


def test_pkcs12_stores(tmp_path: Path) -> None:
    authority = Authority()
    key = authority.issue("alice", ()).write_pkcs12(tmp_path / "alice.p12", "secret")
    assert to_librdkafka(
        {
            "ssl.keystore.location": key,
            "ssl.keystore.password": "secret",
            "ssl.truststore.location": authority.write_pkcs12(tmp_path / "trust.p12", "other"),
            "ssl.truststore.password": "other",
        }
    ) == {
        "ssl.keystore.location": key,
        "ssl.keystore.password": "secret",
        "ssl.ca.pem": authority.pem(),
    }


def test_a_store_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"^ssl\.truststore\.location: there is no file"):
        to_librdkafka({"ssl.truststore.location": str(tmp_path / "gone.pem")})


def test_a_number_must_be_one() -> None:
    with pytest.raises(CommandError, match=r"buffer\.memory must be a number, not 'lots'"):
        to_librdkafka({"buffer.memory": "lots"})


def test_unknown_properties_are_reported_and_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    consumer = create(
        Consumer,
        {
            "bootstrap.servers": "localhost:1",
            "group.id": "g",
            "no.such": "1",
            "nor.this": "2",
            "log_level": 0,
        },
    )
    consumer.close()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert "no.such" in lines[0]
    assert "nor.this" in lines[1]


def test_a_wrong_value_is_an_error() -> None:
    with pytest.raises(CommandError, match="Wrong client property: Invalid value"):
        create(Producer, {"bootstrap.servers": "localhost:1", "acks": "some"})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Unable to produce message: Broker: Message size too large", "Broker: Message size too large"),
        (
            "ssl://localhost:1/bootstrap: Handshake failed (after 0ms in state SSL_HANDSHAKE)",
            "Handshake failed",
        ),
        ("[thrd:main]: Something else", "Something else"),
    ],
)
def test_a_reason_is_for_people(text: str, reason: str) -> None:
    assert reason_of(KafkaError(KafkaError._SSL, text)) == reason


def test_what_trying_again_does_not_mend_is_raised_once(capsys: pytest.CaptureFixture[str]) -> None:
    report = quiet_settings()["error_cb"]
    report(KafkaError(KafkaError._TRANSPORT, "Disconnected"))
    refused = KafkaError(KafkaError._AUTHENTICATION, "wrong password")
    with pytest.raises(CommandError, match="No connection to the cluster: wrong password"):
        report(refused)
    report(KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    report(refused)
    assert capsys.readouterr().err == ""


def test_brokers_that_are_down_are_mentioned_once(capsys: pytest.CaptureFixture[str]) -> None:
    report = quiet_settings()["error_cb"]
    report(KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    report(KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    assert capsys.readouterr().err == "No broker answers. Trying again\n"


def raise_as_c(error: object) -> None:
    """Raises what the C code of confluent-kafka raises, which need not be an exception of Python."""
    restore = ctypes.pythonapi.PyErr_Restore
    restore.argtypes, restore.restype = [ctypes.py_object] * 3, None
    kind, no_traceback = type(error), ctypes.py_object()
    for kept in (kind, error):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    restore(kind, error, no_traceback)


def test_a_fatal_error_that_is_no_exception_becomes_one() -> None:
    fatal = KafkaError(KafkaError._FENCED, "fenced", fatal=True)
    with pytest.raises(KafkaException) as raised:
        served(raise_as_c, fatal)
    assert raised.value.args[0] is fatal


@pytest.mark.parametrize(
    "error", [KafkaException(KafkaError(KafkaError._STATE)), BufferError(), SystemExit(3)]
)
def test_exceptions_stay_as_they_are(error: BaseException) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(type(error)) as raised:
        served(fail)
    assert raised.value is error


def test_the_result_of_a_call_that_serves_callbacks() -> None:
    assert served(max, 1, 2) == 2
