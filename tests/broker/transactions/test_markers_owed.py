"""Markers of one transactional id: the newest debt counts, and answers to earlier ones do not."""

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

from gralha.broker.transactions.markers import FIRST_PAUSE_S, PARTITIONS_AT_ONCE, Markers
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from gralha.protocol.peers import PeerError
from gralha.transactions.transaction import State, Transaction

TOPIC = "a"


def prepared(producer_id: int = 7, partitions: int = 1, name: str = "t") -> Transaction:
    return Transaction(
        name,
        producer_id,
        0,
        60_000,
        1,
        State.PREPARE_COMMIT,
        frozenset((TOPIC, index) for index in range(partitions)),
        1,
    )


def answered(request: WriteTxnMarkersRequest, code: int = ErrorCode.NONE) -> WriteTxnMarkersResponse:
    """An answer with the markers in another order, as Apache Kafka's brokers may have it."""
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                marker.producer_id,
                [
                    WritableTxnMarkerTopicResult(
                        topic.name,
                        [WritableTxnMarkerPartitionResult(index, code) for index in topic.partition_indexes],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in reversed(request.markers)
        ]
    )


class Cluster:
    """One coordinating partition here, and partitions of a topic on broker 2."""

    def __init__(self, partitions: int = 1) -> None:
        self.leaders = dict.fromkeys(range(partitions), 2)
        self.coordinating = SimpleNamespace(leader_epoch=5, is_leader=lambda: True)
        self.requests: list[tuple[int, WriteTxnMarkersRequest]] = []
        self.answers: list[asyncio.Future[WriteTxnMarkersResponse]] = []
        self.completed: list[Transaction] = []
        replicas: Any = SimpleNamespace(
            by_name={"__transaction_state": {0: self.coordinating}}, on_failure=self.failed
        )
        image: Callable[[], Any] = self.image
        self.markers = Markers(image, replicas, self.write, self.completed.append)

    def failed(self, error: BaseException) -> None:
        raise AssertionError(error)

    def image(self) -> Any:
        topics = {
            "__transaction_state": SimpleNamespace(partitions={0: SimpleNamespace(leader=1)}),
            TOPIC: SimpleNamespace(
                partitions={index: SimpleNamespace(leader=leader) for index, leader in self.leaders.items()}
            ),
        }
        return SimpleNamespace(topics=topics)

    def write(self, broker_id: int, request: WriteTxnMarkersRequest) -> Awaitable[WriteTxnMarkersResponse]:
        self.requests.append((broker_id, request))
        self.answers.append(asyncio.get_running_loop().create_future())
        return self.answers[-1]


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_late_answer_to_an_earlier_epoch_completes_nothing() -> None:
    cluster = Cluster()
    cluster.markers.send(prepared())
    await turns()
    cluster.coordinating.leader_epoch = 6
    cluster.markers.send(prepared())
    await turns()
    cluster.answers[0].set_result(answered(cluster.requests[0][1]))
    await turns()
    assert cluster.completed == []
    assert [one.markers[0].coordinator_epoch for _, one in cluster.requests] == [5, 6]
    cluster.answers[1].set_result(answered(cluster.requests[1][1]))
    await turns()
    assert cluster.completed == [prepared()]


async def test_a_transaction_that_is_owed_again_is_completed_once() -> None:
    """The coordinator has loaded its log again, in the same leader epoch."""
    cluster = Cluster()
    cluster.markers.send(prepared())
    await turns()
    cluster.markers.send(prepared())
    await turns()
    cluster.answers[0].set_result(answered(cluster.requests[0][1]))
    await turns()
    assert cluster.completed == []
    cluster.answers[1].set_result(answered(cluster.requests[1][1]))
    await turns()
    await asyncio.sleep(2 * FIRST_PAUSE_S)
    assert cluster.completed == [prepared()]
    assert len(cluster.requests) == 2


async def test_answers_belong_to_their_producers() -> None:
    cluster = Cluster()
    first, second = prepared(7, name="t"), prepared(8, name="u")
    cluster.markers.send(first)
    cluster.markers.send(second)
    await turns()
    request = cluster.requests[0][1]
    response = answered(request)
    response.markers = [one for one in response.markers if one.producer_id == 8]
    cluster.answers[0].set_result(response)
    await turns()
    assert cluster.completed == [second]
    await asyncio.sleep(2 * FIRST_PAUSE_S)
    assert [marker.producer_id for marker in cluster.requests[1][1].markers] == [7]


async def test_markers_for_a_broker_that_does_not_answer_follow_the_leader() -> None:
    cluster = Cluster(2 * PARTITIONS_AT_ONCE)
    for number in range(3):
        cluster.markers.send(prepared(number, PARTITIONS_AT_ONCE, f"t{number}"))
    await turns()
    assert len(cluster.requests[0][1].markers) == 1
    cluster.leaders = dict.fromkeys(cluster.leaders, 3)
    cluster.answers[0].set_exception(PeerError("it hangs"))
    await asyncio.sleep(2 * FIRST_PAUSE_S)
    assert {broker for broker, _ in cluster.requests[1:]} == {3}
