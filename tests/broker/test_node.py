"""A node that has to stop, or is refused, before it has started."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from gralha.broker.config import NodeConfig
from gralha.broker.node import Node
from gralha.broker.start_error import StartError
from gralha.cli import server
from gralha.metadata.formatting import prepare_folders
from gralha.storage.checkpoints import remove_clean_shutdown
from gralha.storage.config import LogConfig
from gralha.storage.manager import LogManager
from gralha.storage.real_disk import RealDisk
from gralha.testing.process import free_ports


def node_of_three(folder: Path, extra: str = "") -> Node:
    """One node of a quorum of three; the other two are down."""
    ports = free_ports(3)
    voters = ",".join(f"{number}@127.0.0.1:{port}" for number, port in enumerate(ports, 1))
    text = (
        "process.roles=broker,controller\nnode.id=1\n"
        f"listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:{ports[0]}\n"
        "controller.listener.names=CONTROLLER\n"
        f"controller.quorum.voters={voters}\nlog.dirs={folder}\n{extra}"
    )
    config, _ = NodeConfig.parse(text, "test", lambda: "127.0.0.1")
    return Node(config, RealDisk(), lambda: 1000, Random(1))


def never_ready(_node: Node) -> None:
    raise AssertionError("a quorum without a majority has let a broker in")


def leave_a_crashed_log(folder: Path) -> dict[str, bytes]:
    """A partition of a process that was killed; the checkpoints beside it."""
    prepare_folders(RealDisk(), [str(folder)], str(folder), 1, 1000, Random(1))
    logs = LogManager(RealDisk(), [str(folder)], LogConfig(), random=Random(1))
    logs.lock()
    logs.get_or_create("t", 0, bytes(15) + b"\1", LogConfig(), 1000)
    logs.close()
    remove_clean_shutdown(RealDisk(), str(folder))
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("is_there", [lambda folder: True, lambda folder: any(folder.glob("__cluster*/*"))])
async def test_a_node_that_stops_before_its_logs_are_open_leaves_them_as_they_were(
    tmp_path: Path, is_there: Callable[[Path], bool]
) -> None:
    before = leave_a_crashed_log(tmp_path)
    stop = asyncio.Event()
    running = asyncio.ensure_future(node_of_three(tmp_path).run(stop, never_ready))
    while not running.done() and not is_there(tmp_path):
        await asyncio.sleep(0)
    stop.set()
    await running
    after = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    # Most important: there is no clean shutdown file, so the next start checks the log.
    assert after == before


async def test_a_node_without_a_majority_says_what_it_could_not_find(tmp_path: Path) -> None:
    node = node_of_three(
        tmp_path, "initial.broker.registration.timeout.ms=1\nbroker.session.timeout.ms=100\n"
    )
    with pytest.raises(StartError, match=r"the quorum has no leader.*controller\.quorum\.voters"):
        await node.run(asyncio.Event(), never_ready)


def node_of_cluster(folder: Path, cluster_id: str, text: str) -> Node:
    prepare_folders(RealDisk(), [str(folder)], str(folder), int(text[8]), 1000, Random(1), cluster_id)
    config, _ = NodeConfig.parse(f"{text}\nlog.dirs={folder}\n", "test", lambda: "127.0.0.1")
    return Node(config, RealDisk(), lambda: 1000, Random(1))


async def test_a_broker_of_another_cluster_is_told_so_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (port,) = free_ports(1)
    both = f"controller.listener.names=CONTROLLER\ncontroller.quorum.voters=1@127.0.0.1:{port}"
    controller = node_of_cluster(
        tmp_path / "1",
        "the-quorums",
        f"node.id=1\nprocess.roles=controller\nlisteners=CONTROLLER://127.0.0.1:{port}\n{both}",
    )
    broker = node_of_cluster(
        tmp_path / "2",
        "the-brokers",
        f"node.id=2\nprocess.roles=broker\nlisteners=PLAINTEXT://127.0.0.1:0\n{both}",
    )
    stop, ready = asyncio.Event(), asyncio.Event()

    def announce(node: Node) -> None:
        server.announce_ready(node)
        ready.set()

    running = asyncio.ensure_future(controller.run(stop, announce))
    await ready.wait()
    assert capsys.readouterr().out == f"ready: node 1 serves 127.0.0.1:{port} as a controller\n"
    async with asyncio.timeout(15):  # the time for a registration is four times that
        with pytest.raises(
            StartError, match="'the-quorums'; this node belongs to cluster the-brokers"
        ) as error:
            await broker.run(asyncio.Event(), never_ready)
    assert "Broker 2 cannot join the cluster" in str(error.value)
    assert "is this the right folder in log.dirs" in str(error.value)
    stop.set()
    await running


async def test_a_node_of_a_quorum_that_it_must_look_for_does_not_choose_a_cluster(tmp_path: Path) -> None:
    text = (
        "process.roles=broker,controller\nnode.id=4\n"
        "listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0\ncontroller.listener.names=CONTROLLER\n"
        f"controller.quorum.bootstrap.servers=127.0.0.1:1\nlog.dirs={tmp_path}\n"
    )
    config, _ = NodeConfig.parse(text, "test", lambda: "127.0.0.1")
    node = Node(config, RealDisk(), lambda: 1000, Random(1))
    with pytest.raises(StartError, match="kafka-storage format --cluster-id ID --no-initial-controllers"):
        await node.run(asyncio.Event(), never_ready)


async def start_and_stop(node: Node) -> None:
    stop = asyncio.Event()
    await node.run(stop, lambda _: stop.set())


async def test_a_partition_that_the_cluster_does_not_know_is_set_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its topic was deleted while the broker was down. Its files stay, under a name that nobody opens."""
    leave_a_crashed_log(tmp_path)
    text = f"process.roles=broker,controller\nnode.id=1\nlisteners=PLAINTEXT://127.0.0.1:0\nlog.dirs={tmp_path}\n"
    config, _ = NodeConfig.parse(text, "test", lambda: "127.0.0.1")
    for _ in range(2):
        await start_and_stop(Node(config, RealDisk(), lambda: 1000, Random(1)))
        (stray,) = tmp_path.glob("t-0*")
        assert stray.name.startswith("t-0.")
        assert stray.name.endswith("-stray")
        assert (stray / f"{0:020d}.log").exists()
    (line,) = [line for line in caplog.messages if "stray" in line]
    assert line.startswith("t-0 does not belong to this broker any more")
