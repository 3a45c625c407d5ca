"""The process around a node: which event loop runs it."""

import pytest

from gralha.broker import run
from gralha.broker.config import NodeConfig
from gralha.broker.node import Node


def test_an_import_that_fails_inside_the_node_does_not_start_a_second_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    starts = []

    async def fail(config: NodeConfig, on_ready: object) -> None:
        starts.append(config.node_id)
        raise ImportError("no such codec")

    monkeypatch.setattr(run, "_run", fail)
    config, _ = NodeConfig.parse("process.roles=broker,controller\nnode.id=1\n", "test", lambda: "host")

    def ready(_node: Node) -> None:
        raise AssertionError

    with pytest.raises(ImportError, match="no such codec"):
        run.run_node(config, ready)
    assert starts == [1]
