"""Settings of a running broker that Kafka's commands change: what changes, on a real broker."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from gralha.broker.group_coordination import broker_times, consumer_times
from gralha.broker.part_settings import cordoned_folders
from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.values import ConfigResource, NewTopic, ResourceType
from gralha.groups.config import ConsumerGroupTimes
from gralha.metadata.image import BROKER_RESOURCE, EMPTY_IMAGE, GROUP_RESOURCE
from gralha.protocol.errors import ErrorCode
from gralha.storage.config import LogConfig
from gralha.storage.manager import LogManager
from gralha.storage.real_disk import RealDisk
from gralha.testing import GralhaCluster
from tests.client.live import eventually

BROKER = ConfigResource(ResourceType.BROKER, "1")


@pytest.fixture
def folders(tmp_path: Path) -> list[str]:
    return [str(tmp_path / name) for name in ("one", "two")]


@pytest.fixture
def cluster(folders: list[str]) -> Iterator[GralhaCluster]:
    with GralhaCluster(config={"log.dirs": ",".join(folders), "cordoned.log.dirs": folders[0]}) as cluster:
        yield cluster


@pytest.fixture
def admin(cluster: GralhaCluster) -> Iterator[Admin]:
    with Admin(Cluster(cluster.bootstrap)) as admin:
        yield admin


def partitions_of(admin: Admin, topic: str) -> dict[str, int]:
    """How many partitions of the topic each folder has."""
    return {
        Path(one.path).name: sum(replica.partition.topic == topic for replica in one.replicas)
        for one in admin.describe_log_dirs(1)
    }


def test_a_cordoned_folder_gets_no_new_partitions(admin: Admin, folders: list[str]) -> None:
    assert admin.create_topics([NewTopic("from-the-file", partitions=4)]) == {"from-the-file": None}
    assert partitions_of(admin, "from-the-file") == {"one": 0, "two": 4}

    admin.alter_configs(BROKER, set_values={"cordoned.log.dirs": folders[1]})
    assert admin.create_topics([NewTopic("elsewhere", partitions=3)]) == {"elsewhere": None}
    assert partitions_of(admin, "elsewhere") == {"one": 3, "two": 0}

    # The controller learns it with the next heartbeat.
    admin.alter_configs(BROKER, set_values={"cordoned.log.dirs": "*"})
    names = iter(range(1000))

    def refused() -> bool:
        name = f"nowhere-{next(names)}"
        error = admin.create_topics([NewTopic(name)])[name]
        return error is not None and error.code == ErrorCode.INVALID_REPLICATION_FACTOR

    assert eventually(refused)
    admin.alter_configs(BROKER, set_values={"cordoned.log.dirs": ""})
    assert eventually(lambda: not refused())


def test_a_listener_gets_a_limit_of_connections(cluster: GralhaCluster, admin: Admin) -> None:
    def is_closed() -> bool:
        with socket.create_connection(("127.0.0.1", cluster.ports[1]), timeout=60) as connection:
            # ApiVersions is answered, unless the connection is one too many.
            with suppress(ConnectionError):
                connection.sendall(struct.pack(">ihhih", 10, 18, 0, 1, -1))
                return not connection.recv(1)
            return True

    assert not is_closed()
    admin.alter_configs(BROKER, set_values={"listener.name.controller.max.connections": "0"})
    assert not is_closed()
    admin.alter_configs(BROKER, set_values={"listener.name.plaintext.max.connections": "1"})
    assert eventually(is_closed)
    admin.alter_configs(BROKER, delete=["listener.name.plaintext.max.connections"])
    assert eventually(lambda: not is_closed())


def test_names_of_cordoned_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    folders = ["data/one", str(tmp_path / "two")]
    assert cordoned_folders("", folders) == frozenset()
    assert cordoned_folders(f"{tmp_path}/data/one/, other", folders) == {"data/one"}
    assert cordoned_folders("two,data/one", folders) == frozenset(folders)
    assert cordoned_folders("*", folders) == frozenset(folders)


def test_producers_expire_after_the_new_time(tmp_path: Path) -> None:
    logs = LogManager(RealDisk(), [str(tmp_path)], LogConfig(), random=Random(1))
    logs.lock()
    old = logs.get_or_create("t", 0, bytes(15) + b"\1", LogConfig(), 1000)
    logs.expire_producers_after(5)
    new = logs.get_or_create("t", 1, bytes(15) + b"\1", LogConfig(), 1000)
    assert (old.producer_expiration_ms, new.producer_expiration_ms) == (5, 5)
    logs.close()


def test_the_assignment_interval_of_a_group_of_a_broker_and_of_all() -> None:
    name, own = "group.consumer.assignment.interval.ms", "consumer.assignment.interval.ms"
    defaults = ConsumerGroupTimes(assignment_interval_ms=1000)

    def interval(configs: dict[tuple[int, str], dict[str, str]]) -> int:
        image = EMPTY_IMAGE._replace(configs=configs)
        return consumer_times(image, broker_times(image, 1, defaults), "g").assignment_interval_ms

    of_all = {(BROKER_RESOURCE, ""): {name: "2000"}}
    of_one = {(BROKER_RESOURCE, "1"): {name: "3000"}, (BROKER_RESOURCE, "2"): {name: "9000"}}
    of_group = {(GROUP_RESOURCE, "g"): {own: "4000"}}
    assert interval({}) == 1000
    assert interval(of_all) == 2000
    assert interval(of_all | of_one) == 3000
    assert interval(of_all | of_one | of_group) == 4000
