"""Settings by the names that Kafka clients use."""

import pytest

from gralha.client.errors import SettingsError
from gralha.client.settings import ClientSettings

WHERE = {"bootstrap.servers": "localhost:9092"}


def test_names_are_kafka_s() -> None:
    settings = ClientSettings.from_kafka(
        {
            "bootstrap.servers": "a:1,b:2",
            "client.id": "me",
            "request.timeout.ms": "1000",
            "isolation.level": "READ_COMMITTED",
            "fetch.max.bytes": "5",
            "max.partition.fetch.bytes": "6",
            "check.crcs": "false",
            "acks": "-1",
            "compression.type": "zstd",
            "compression.zstd.level": "7",
            "batch.size": "8",
            "max.request.size": "9",
            "delivery.timeout.ms": "10",
        }
    )
    assert settings == ClientSettings(
        "a:1,b:2",
        client_id="me",
        request_timeout_ms=1000,
        isolation_level="read_committed",
        fetch_max_bytes=5,
        max_partition_fetch_bytes=6,
        check_crcs=False,
        compression_type="zstd",
        compression_level=7,
        batch_size=8,
        max_request_size=9,
        delivery_timeout_ms=10,
    )
    assert settings.is_read_committed


def test_what_kafka_knows_is_accepted_and_the_rest_is_named() -> None:
    settings = ClientSettings.from_kafka(
        {
            **WHERE,
            "linger.ms": "5",
            "key.serializer": "x",
            "security.protocol": "plaintext",
            "batch_size": "1",
        }
    )
    assert settings.unknown == ("batch_size",)


@pytest.mark.parametrize(
    ("options", "idempotent", "acks"),
    [
        ({}, True, -1),
        ({"acks": "all"}, True, -1),
        ({"acks": "1"}, False, 1),
        ({"acks": "0"}, False, 0),
        ({"enable.idempotence": "false"}, False, -1),
        ({"max.in.flight.requests.per.connection": "6"}, False, -1),
    ],
)
def test_idempotence_gives_way_as_in_kafka(options: dict[str, str], idempotent: bool, acks: int) -> None:
    settings = ClientSettings.from_kafka(WHERE | options)
    assert (settings.enable_idempotence, settings.acks) == (idempotent, acks)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"bootstrap.servers": ""}, r"bootstrap\.servers is missing"),
        ({"acks": "2"}, r"acks=2 is not allowed: use all \(or -1\), 1 or 0\."),
        ({"compression.type": "brotli"}, "compression.type=brotli is not allowed: use none, gzip, snappy,"),
        ({"isolation.level": "serializable"}, "use read_uncommitted or read_committed"),
        ({"batch.size": "many"}, "batch.size=many is not allowed: it must be a whole number"),
        ({"fetch.max.bytes": "-1"}, r"fetch\.max\.bytes=-1 is not allowed: it must be from 1 to"),
        ({"check.crcs": "yes"}, r"check\.crcs=yes is not allowed: use true or false"),
        (
            {"security.protocol": "SASL"},
            r"security\.protocol=SASL is not allowed: use PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL",
        ),
        ({"acks": "1", "enable.idempotence": "true"}, "needs acks=all, not acks=1"),
        (
            {"max.in.flight.requests.per.connection": "9", "enable.idempotence": "true"},
            "allows 5 requests in flight at most",
        ),
    ],
)
def test_wrong_values_are_explained(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        ClientSettings.from_kafka(WHERE | options)


def test_somebody_in_a_hurry_waits_no_longer_than_that_and_never_longer_than_before() -> None:
    settings = ClientSettings("localhost:9092", connect_timeout_ms=10_000, request_timeout_ms=500)
    hurried = settings.hurried(2_000)
    assert (hurried.connect_timeout_ms, hurried.request_timeout_ms) == (2_000, 500)
    assert hurried.bootstrap_servers == settings.bootstrap_servers
