"""The settings of the brokers of `gralha up`: what its options make of them."""

from pathlib import Path

import pytest

from gralha.broker.config import NodeConfig
from gralha.cli.program import CommandError
from gralha.cli.up_settings import check_ports, one_of, parse_overrides, replication, single
from gralha.protocol.properties import properties_text

REPLICATED = {"default.replication.factor": "3", "min.insync.replicas": "2"}


@pytest.mark.parametrize(("brokers", "expected"), [(1, {}), (2, {}), (3, REPLICATED), (5, REPLICATED)])
def test_three_brokers_replicate_three_times(brokers: int, expected: dict[str, str]) -> None:
    assert replication(brokers, None) == expected


def test_a_folder_that_exists_keeps_what_it_has() -> None:
    assert replication(3, {"node.id": "1"}) == {}
    assert replication(3, {"node.id": "1", "default.replication.factor": "2"}) == {
        "default.replication.factor": "2"
    }


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1", "0.0.0.0"])
def test_the_settings_are_valid(host: str) -> None:
    for settings in (single(Path("/data"), host, 9092), one_of(2, 3, host, 19092, Path("/data"))):
        config, warnings = NodeConfig.parse(properties_text(settings), "test", lambda: "here")
        assert warnings == []
        (listener,) = config.client_listeners
        assert listener.host == host
        assert config.advertised[0].host == ("here" if host == "0.0.0.0" else host)


def test_backslashes_of_values_stay() -> None:
    assert properties_text({"a": r"x\y"}) == "a=x\\\\y\n"


def test_overrides_are_assignments() -> None:
    assert parse_overrides(["num.partitions=3", " a.b = c=d "]) == {"num.partitions": "3", "a.b": "c=d"}


@pytest.mark.parametrize(
    ("override", "complaint"),
    [
        ("num.partitions", "--override num.partitions: write NAME=VALUE, for example num.partitions=3"),
        ("=3", "--override =3: write NAME=VALUE, for example num.partitions=3"),
        ("log.dirs=/x", "--override log.dirs: use --data instead"),
        ("listeners=PLAINTEXT://:1", "--override listeners: use --host and --port instead"),
        ("node.id=4", "--override node.id: gralha up sets it itself. For your own layout write a properties"),
    ],
)
def test_what_cannot_be_overridden_is_told(override: str, complaint: str) -> None:
    with pytest.raises(CommandError) as raised:
        parse_overrides([override])
    assert str(raised.value).startswith(complaint)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("num.partitons", "num.partitions"),
        ("log.retention.hour", "log.retention.hours"),
        ("auto.create.topic.enable", "auto.create.topics.enable"),
    ],
)
def test_a_misspelt_setting_is_refused_with_the_right_name(typed: str, meant: str) -> None:
    with pytest.raises(CommandError) as refused:
        parse_overrides([f"{typed}=1"])
    complaint = f"--override {typed}: there is no such setting. Did you mean {meant}?"
    assert str(refused.value) == complaint


def test_a_setting_that_only_kafka_has_passes_with_the_brokers_warning() -> None:
    assert parse_overrides(["zookeeper.connect=z:2181"]) == {"zookeeper.connect": "z:2181"}


@pytest.mark.parametrize(("brokers", "port"), [(3, 45_535), (3, 0), (5, 25_535), (2, 65_000)])
def test_a_port_that_leaves_none_for_the_last_broker(brokers: int, port: int) -> None:
    with pytest.raises(CommandError, match=f"--port {port}: {brokers} brokers need a port from 1 to "):
        check_ports(brokers, port)


@pytest.mark.parametrize(("brokers", "port"), [(1, 0), (1, 65_535), (3, None), (3, 45_534)])
def test_a_port_that_suits(brokers: int, port: int | None) -> None:
    check_ports(brokers, port)
