"""The harness that users test with: it starts, kills, restarts and cleans up real brokers."""

from __future__ import annotations

from pathlib import Path

import pytest

from gralha.testing import GralhaCluster, StartError
from gralha.testing.process import PORT_RANGE, brokers_seen_at, free_ports
from tests.clients.driver import Outgoing
from tests.clients.drivers.confluent_driver import ConfluentDriver


def test_fixture_serves_clients(gralha_cluster: GralhaCluster) -> None:
    client = ConfluentDriver(gralha_cluster.bootstrap)
    client.produce("from-the-fixture", [Outgoing(b"hello")], partition=0)
    assert client.consume("from-the-fixture", 0, 0, 1)[0].value == b"hello"


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_data_survives_the_end_of_a_broker(end: str) -> None:
    with GralhaCluster() as cluster:
        client = ConfluentDriver(cluster.bootstrap)
        client.create_topic("kept")
        client.produce("kept", [Outgoing(b"%d" % number) for number in range(100)], partition=0)
        first = cluster.process().pid
        getattr(cluster, end)()
        assert brokers_seen_at(cluster.ports[1]) == 0
        cluster.restart()
        assert cluster.process().pid != first
        assert [message.offset for message in client.consume("kept", 0, 0, 100)] == list(range(100))


def test_config_reaches_the_broker() -> None:
    with GralhaCluster(config={"num.partitions": "4"}) as cluster:
        client = ConfluentDriver(cluster.bootstrap)
        client.produce("made-by-itself", [Outgoing(b"x")])
        assert set(client.partition_leaders("made-by-itself")) == {0, 1, 2, 3}


def test_temporary_folder_goes_and_a_given_one_stays(tmp_path: Path) -> None:
    with GralhaCluster() as temporary:
        assert temporary.data_folder().exists()
    assert not temporary.folder.exists()
    with GralhaCluster(folder=tmp_path) as lasting:
        pass
    assert (lasting.data_folder() / "meta.properties").exists()
    assert not lasting.process().alive


def test_failed_start_shows_what_the_broker_said() -> None:
    cluster = GralhaCluster(config={"num.partitions": "many"})
    try:
        with pytest.raises(StartError, match=r"num\.partitions"):
            cluster.start()
        assert not cluster.process().alive
    finally:
        cluster.close()


def test_free_ports_are_different_and_out_of_the_way_of_outgoing_connections() -> None:
    ports = free_ports(50)
    assert len(set(ports)) == 50
    assert set(ports) <= set(PORT_RANGE)


def test_a_cluster_has_at_least_one_broker() -> None:
    with pytest.raises(ValueError, match="at least one"):
        GralhaCluster(brokers=0)
