"""Controllers come and go while clients write and read: a quorum whose voters are in its log (KIP-853)."""

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.chaos import active_controller
from tests.cluster.chaos_clients import Clients

from gralha.cli import features, metadata_quorum, storage
from gralha.cli.properties import load_properties
from gralha.protocol.primitives import uuid_to_string
from gralha.testing import GralhaCluster
from gralha.testing.process import free_ports

PATIENCE_S = 60.0
pytestmark = pytest.mark.timeout(240)


class DynamicCluster(GralhaCluster):
    """Formatted by hand with its first voters, as somebody does who wants to change them later."""

    def __init__(self, brokers: int) -> None:
        super().__init__(brokers)
        chance = random.Random(1)
        self.cluster_id, *directories = (uuid_to_string(chance.randbytes(16)) for _ in range(brokers + 1))
        self.directories = dict(zip(self.node_ids, directories, strict=True))
        self._first = list(self.node_ids)

    def add_controller(self) -> int:
        """One more node, broker and controller; not a voter yet."""
        node_id = max(self.node_ids) + 1
        self.ports[node_id], self._controller_ports[node_id] = free_ports(2)
        self.node_ids.append(node_id)
        self.start()
        return node_id

    def _node_config(self, node_id: int) -> dict[str, str]:
        config = super()._node_config(node_id)
        del config["controller.quorum.voters"]
        addresses = [f"127.0.0.1:{self._controller_ports[one]}" for one in self._first]
        return {**config, "controller.quorum.bootstrap.servers": ",".join(addresses)}

    def _command(self, properties: Path) -> list[str]:
        command = super()._command(properties)
        node_id = int(properties.parent.name.removeprefix("node-"))
        if not (self.data_folder(node_id) / "meta.properties").exists():
            assert storage.main(["format", "--config", str(properties), *self._voters(node_id)]) == 0
        return command

    def _voters(self, node_id: int) -> list[str]:
        if node_id not in self._first:
            return ["--cluster-id", self.cluster_id, "--no-initial-controllers"]
        voters = [
            f"{one}@127.0.0.1:{self._controller_ports[one]}:{self.directories[one]}" for one in self._first
        ]
        return ["--cluster-id", self.cluster_id, "--initial-controllers", ",".join(voters)]


def add(cluster: GralhaCluster, node_id: int) -> None:
    properties = cluster.folder / f"node-{node_id}" / "server.properties"
    where = ["--bootstrap-server", cluster.bootstrap, "--command-config", str(properties)]
    assert metadata_quorum.main([*where, "add-controller"]) == 0


def remove(cluster: GralhaCluster, node_id: int) -> None:
    folder = load_properties(str(cluster.data_folder(node_id) / "meta.properties"))
    voter = ["--controller-id", str(node_id), "--controller-directory-id", folder["directory.id"]]
    where = ["--bootstrap-server", cluster.bootstrap]
    assert metadata_quorum.main([*where, "remove-controller", *voter]) == 0


def voters(cluster: GralhaCluster, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    where = ["--bootstrap-server", cluster.bootstrap]
    assert metadata_quorum.main([*where, "describe", "--status"]) == 0
    return next(line for line in capsys.readouterr().out.splitlines() if line.startswith("CurrentVoters"))


def level(cluster: GralhaCluster, capsys: pytest.CaptureFixture[str]) -> str:
    """The version of the quorum."""
    capsys.readouterr()
    assert features.main(["--bootstrap-server", cluster.bootstrap, "describe"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    (line,) = (line for line in lines if line[1] == "kraft.version")
    return line[line.index("FinalizedVersionLevel:") + 1]


def check(clients: Clients) -> None:
    assert (clients.anomalies(), clients.notes.errors, clients.unanswered) == ([], [], 0)


@pytest.fixture
def dynamic() -> Iterator[DynamicCluster]:
    with DynamicCluster(3) as cluster:
        yield cluster


def test_the_active_controller_is_replaced_by_another_machine(
    dynamic: DynamicCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = dynamic
    with Clients(cluster.bootstrap) as clients:
        clients.progress(20, PATIENCE_S)
        fourth = cluster.add_controller()
        add(cluster, fourth)
        clients.progress(20, PATIENCE_S)
        leaving = active_controller(cluster)
        assert leaving is not None
        assert leaving != fourth
        remove(cluster, leaving)
        clients.progress(20, PATIENCE_S)
        # The removed voter does not vote any more, so the others do not need it.
        cluster.kill(leaving)
        clients.progress(20, PATIENCE_S)
        named = voters(cluster, capsys)
        assert all((f'"id": {one},' in named) == (one != leaving) for one in cluster.node_ids)
        # Two of the three voters are enough: the new one counts.
        staying = next(one for one in cluster.node_ids if one not in (leaving, fourth))
        cluster.kill(staying)
        cluster.start()
        clients.progress(20, PATIENCE_S)
    check(clients)


def test_a_quorum_that_was_configured_learns_to_change(capsys: pytest.CaptureFixture[str]) -> None:
    with GralhaCluster(3) as cluster:
        with Clients(cluster.bootstrap) as clients:
            clients.progress(20, PATIENCE_S)
            where = ["--bootstrap-server", cluster.bootstrap]
            assert features.main([*where, "upgrade", "--feature", "kraft.version=1"]) == 0
            deadline = time.monotonic() + PATIENCE_S
            while level(cluster, capsys) != "1":  # a broker may hear of it a moment later
                assert time.monotonic() < deadline
            leaving = active_controller(cluster)
            assert leaving is not None
            remove(cluster, leaving)
            clients.progress(20, PATIENCE_S)
            assert f'"id": {leaving},' not in voters(cluster, capsys)
            cluster.restart(leaving)
            add(cluster, leaving)
            clients.progress(20, PATIENCE_S)
            assert all(f'"id": {one},' in voters(cluster, capsys) for one in cluster.node_ids)
        check(clients)
