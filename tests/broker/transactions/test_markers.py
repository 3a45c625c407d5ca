"""Markers reach every partition of a decided transaction, whatever happens on the way."""

import asyncio
from typing import Any

import pytest

from gralha.broker.transactions import markers as module
from gralha.broker.transactions.markers import Markers
from gralha.metadata.topic_names import TRANSACTIONS_TOPIC
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from gralha.protocol.peers import PeerError
from gralha.transactions.transaction import Partition, State, Transaction
from tests.broker.transactions.fakes import FakeCluster, turns, until


def prepared(name: str = "t", *partitions: Partition, is_commit: bool = True) -> Transaction:
    state = State.PREPARE_COMMIT if is_commit else State.PREPARE_ABORT
    number = int.from_bytes(name.encode())
    return Transaction(name, number, 4, 60_000, 0, state, frozenset(partitions), 0, version=2)


class Scene:
    """Markers of this broker, and the brokers that take them. `codes`: answers other than NONE, once each."""

    def __init__(self) -> None:
        self.cluster = FakeCluster()
        self.cluster.lead("a", 1, 2, 2)
        self.completed: list[str] = []
        self.sent: list[tuple[int, WriteTxnMarkersRequest]] = []
        self.codes: dict[Partition, list[int]] = {}
        self.errors: list[Exception] = []
        self.gate = asyncio.Event()
        self.gate.set()
        fake: Any = self.cluster
        self.markers = Markers(lambda: fake, fake, self._write, self._completed)

    def _completed(self, transaction: Transaction) -> None:
        self.completed.append(transaction.transactional_id)

    async def _write(self, broker_id: int, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
        self.sent.append((broker_id, request))
        await self.gate.wait()
        if self.errors:
            raise self.errors.pop(0)
        return WriteTxnMarkersResponse(
            [
                WritableTxnMarkerResult(
                    marker.producer_id,
                    [
                        WritableTxnMarkerTopicResult(
                            topic.name,
                            [
                                WritableTxnMarkerPartitionResult(index, self._code(topic.name, index))
                                for index in topic.partition_indexes
                            ],
                        )
                        for topic in marker.topics
                    ],
                )
                for marker in request.markers
            ]
        )

    def _code(self, topic: str, index: int) -> int:
        codes = self.codes.get((topic, index), [])
        return codes.pop(0) if codes else ErrorCode.NONE

    def told(self) -> list[tuple[int, list[list[int]]]]:
        """Each request: the broker, and the partitions of each marker."""
        return [
            (
                broker,
                [
                    [index for topic in marker.topics for index in topic.partition_indexes]
                    for marker in request.markers
                ],
            )
            for broker, request in self.sent
        ]


@pytest.fixture
async def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setattr(module, "FIRST_PAUSE_S", 0.001)
    return Scene()


async def test_one_request_for_each_leader(scene: Scene) -> None:
    scene.markers.send(prepared("t", ("a", 2), ("a", 0), ("a", 1)))
    assert scene.sent == []
    await until(lambda: scene.completed)
    assert scene.told() == [(1, [[0]]), (2, [[1, 2]])]
    (marker,) = scene.sent[0][1].markers
    assert (marker.producer_id, marker.producer_epoch, marker.transaction_result) == (ord("t"), 4, True)
    assert (marker.coordinator_epoch, marker.transaction_version) == (3, 2)


async def test_a_transaction_without_partitions_is_complete(scene: Scene) -> None:
    scene.markers.send(prepared())
    await until(lambda: scene.completed == ["t"])
    assert scene.sent == []


async def test_markers_collect_while_a_request_is_under_way(scene: Scene) -> None:
    scene.gate.clear()
    scene.markers.send(prepared("t", ("a", 0)))
    await turns()
    for name in "uvw":
        scene.markers.send(prepared(name, ("a", 0)))
    await turns()
    assert scene.told() == [(1, [[0]])]
    scene.gate.set()
    await until(lambda: scene.completed == ["t", "u", "v", "w"])
    assert scene.told() == [(1, [[0]]), (1, [[0], [0], [0]])]


async def test_a_request_has_a_limit(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PARTITIONS_AT_ONCE", 2)
    for name in "tuvwx":
        scene.markers.send(prepared(name, ("a", 0)))
    await until(lambda: scene.completed == list("tuvwx"))
    assert [len(markers) for _, markers in scene.told()] == [2, 2, 1]


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    ],
)
async def test_only_the_partition_that_failed_is_tried_again(scene: Scene, code: int) -> None:
    scene.codes["a", 1] = [code, code]
    scene.markers.send(prepared("t", ("a", 1), ("a", 2)))
    await until(lambda: scene.completed == ["t"])
    assert scene.told() == [(2, [[1, 2]]), (2, [[1]]), (2, [[1]])]


async def test_a_new_leader_is_found(scene: Scene) -> None:
    scene.errors = [PeerError("gone")]
    scene.gate.clear()
    scene.markers.send(prepared("t", ("a", 1)))
    await turns()
    scene.cluster.lead("a", 1, 3, 3)
    scene.gate.set()
    await until(lambda: scene.completed == ["t"])
    assert scene.told() == [(2, [[1]]), (3, [[1]])]


async def test_a_partition_without_a_leader_is_waited_for(scene: Scene) -> None:
    scene.cluster.lead("a", 1, -1, 2)
    scene.markers.send(prepared("t", ("a", 0), ("a", 1)))
    await until(lambda: scene.sent)
    await turns()
    assert scene.completed == []
    scene.cluster.lead("a", 1, 2, 2)
    await until(lambda: scene.completed == ["t"])
    assert scene.told() == [(1, [[0]]), (2, [[1]])]


async def test_a_deleted_topic_ends_the_wait(scene: Scene) -> None:
    scene.codes["a", 0] = [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 3
    scene.gate.clear()
    scene.markers.send(prepared("t", ("a", 0), ("b", 0)))
    await turns()
    scene.cluster.delete("a")
    scene.gate.set()
    await until(lambda: scene.completed == ["t"])
    assert scene.told() == [(1, [[0]])]


async def test_a_partition_that_refuses_an_abort_for_good_holds_up_no_other(scene: Scene) -> None:
    scene.codes["a", 0] = [ErrorCode.INVALID_PRODUCER_EPOCH] * 9
    scene.codes["a", 1] = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    scene.markers.send(prepared("t", ("a", 0), ("a", 1), is_commit=False))
    await until(lambda: scene.completed == ["t"])
    assert scene.told() == [(1, [[0]]), (2, [[1]]), (2, [[1]])]


async def test_a_commit_is_not_complete_before_all_partitions_have_it(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    """One error in the log, not one for each try. The other partitions do not wait."""
    scene.codes["a", 0] = [ErrorCode.INVALID_PRODUCER_EPOCH] * 9
    scene.markers.send(prepared("t", ("a", 0), ("a", 1)))
    await until(lambda: len(scene.sent) > 5)
    assert scene.completed == []
    assert [marker for marker in scene.told() if marker[0] == 2] == [(2, [[1]])]
    await until(lambda: scene.completed == ["t"])
    assert scene.codes["a", 0] == []
    (line,) = caplog.records
    assert line.levelname == "ERROR"
    assert "a-0 knows a newer epoch of its producer and refuses the commit" in line.getMessage()


async def test_a_partition_that_knows_a_newer_coordinator_holds_up_no_other(scene: Scene) -> None:
    """This coordinator learns soon that it was replaced, or somebody has written a marker by hand."""
    scene.codes["a", 0] = [ErrorCode.TRANSACTION_COORDINATOR_FENCED] * 2
    scene.markers.send(prepared("t", ("a", 0), ("a", 1)))
    scene.markers.send(prepared("u", ("a", 1)))
    await until(lambda: scene.completed == ["u"])
    scene.cluster.coordinating[0].leader_epoch += 1
    await until(lambda: not scene.markers._owed)
    assert scene.completed == ["u"]
    assert [indexes for _, indexes in scene.told()].count([[1], [1]]) == 1


async def test_a_coordinator_that_was_replaced_drops_its_transactions(scene: Scene) -> None:
    scene.codes["a", 0] = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    scene.gate.clear()
    scene.markers.send(prepared("t", ("a", 0)))
    scene.markers.send(prepared("u", ("a", 1)))
    await turns()
    scene.markers.send(prepared("v", ("a", 1)))
    await turns()
    scene.cluster.coordinating[0].leader_epoch += 1
    scene.gate.set()
    await turns()
    # Answers to markers of the earlier epoch do not count: the next coordinator sends all of them again.
    assert scene.completed == []
    scene.markers.send(prepared("w", ("a", 0)))
    await until(lambda: scene.completed == ["w"])
    assert scene.told() == [(1, [[0]]), (2, [[1]]), (1, [[0]])]
    assert scene.sent[-1][1].markers[0].coordinator_epoch == 4


async def test_without_the_leadership_nothing_is_sent(scene: Scene) -> None:
    scene.cluster.coordinating[0].is_leader = lambda: False
    scene.markers.send(prepared("t", ("a", 0)))
    scene.cluster.delete(TRANSACTIONS_TOPIC)
    scene.markers.send(prepared("u", ("a", 0)))
    await turns()
    assert (scene.sent, scene.completed) == ([], [])


async def test_a_bug_stops_the_node(scene: Scene) -> None:
    bug = ValueError("a bug")
    scene.errors = [bug]
    scene.markers.send(prepared("t", ("a", 0)))
    await until(lambda: scene.cluster.failures == [bug])


async def test_a_broker_that_stops_sends_nothing_more(scene: Scene) -> None:
    scene.gate.clear()
    scene.markers.send(prepared("t", ("a", 0)))
    await turns()
    scene.markers.close()
    scene.gate.set()
    await turns()
    assert (scene.completed, scene.cluster.failures) == ([], [])
