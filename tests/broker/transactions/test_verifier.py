"""Questions to transaction coordinators: in few requests, with an answer for each."""

import asyncio
from typing import Any

import pytest

from gralha.broker.transactions.verifier import Question, Verifier
from gralha.metadata.topic_names import TRANSACTIONS_TOPIC
from gralha.protocol.coordinators import partition_for
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
)
from gralha.protocol.peers import PeerError
from gralha.transactions.partitions import partition_results, partitions_of
from gralha.transactions.transaction import Partition
from tests.broker.transactions.fakes import FakeCluster, turns, until

A0, A1 = ("a", 0), ("a", 1)


class Scene:
    """A verifier, and coordinators that answer with `codes` (one after the other), else NONE."""

    def __init__(self, retry_max_s: float = 0.0) -> None:
        self.cluster = FakeCluster(coordinators=2)
        self.asked: list[tuple[int, AddPartitionsToTxnRequest]] = []
        self.codes: dict[str, list[int]] = {}
        self.error_code = 0
        self.errors: list[Exception] = []
        self.answers: list[tuple[str, Partition, int]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        fake: Any = self.cluster
        self.verifier = Verifier(lambda: fake, self._ask, retry_max_s, fake.on_failure)

    async def _ask(self, broker_id: int, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
        self.asked.append((broker_id, request))
        await self.gate.wait()
        if self.errors:
            raise self.errors.pop(0)
        if self.error_code:
            return AddPartitionsToTxnResponse(error_code=self.error_code)
        results = []
        for one in request.transactions:
            codes = self.codes.get(one.transactional_id, [])
            code = codes.pop(0) if codes else 0
            results.append(
                partition_results(one.transactional_id, dict.fromkeys(partitions_of(one.topics), code))
            )
        return AddPartitionsToTxnResponse(results_by_transaction=results)

    def verify(self, name: str = "t", partition: Partition = A0, adds: bool = True, epoch: int = 0) -> None:
        self.verifier.verify(
            Question(name, 7, epoch, adds),
            partition,
            lambda code: self.answers.append((name, partition, code)),
        )

    def told(self) -> list[tuple[int, list[tuple[str, bool, list[Partition]]]]]:
        return [
            (
                broker,
                [
                    (one.transactional_id, one.verify_only, partitions_of(one.topics))
                    for one in request.transactions
                ],
            )
            for broker, request in self.asked
        ]


@pytest.fixture
async def scene() -> Scene:
    return Scene()


async def test_questions_of_one_turn_share_a_request(scene: Scene) -> None:
    scene.verify("t", A1)
    scene.verify("u", A0, adds=False)
    scene.verify("t", A0)
    scene.verify("t", A0)
    assert (scene.asked, scene.answers) == ([], [])
    await until(lambda: len(scene.answers) == 4)
    assert scene.told() == [(1, [("t", False, [A0, A1]), ("u", True, [A0])])]
    assert scene.answers == [("t", A1, 0), ("t", A0, 0), ("t", A0, 0), ("u", A0, 0)]


async def test_epochs_are_different_questions(scene: Scene) -> None:
    scene.verify("t", epoch=0)
    scene.verify("t", epoch=1)
    await until(lambda: len(scene.answers) == 2)
    (request,) = [request for _, request in scene.asked]
    assert [one.producer_epoch for one in request.transactions] == [0, 1]


async def test_questions_collect_while_a_request_is_under_way(scene: Scene) -> None:
    scene.gate.clear()
    scene.verify("t")
    await turns()
    for name in ("u", "v", "u"):
        scene.verify(name, A1)
        await turns()
    assert len(scene.asked) == 1
    scene.gate.set()
    await until(lambda: len(scene.answers) == 4)
    assert [[name for name, _, _ in one] for _, one in scene.told()] == [["t"], ["u", "v"]]


async def test_each_coordinator_is_asked_by_itself(scene: Scene) -> None:
    scene.cluster.lead(TRANSACTIONS_TOPIC, 1, 2)
    names = {partition_for(name, 2): name for name in "abcdefgh"}
    for name in names.values():
        scene.verify(name)
    await until(lambda: len(scene.answers) == 2)
    assert {broker: one[0][0] for broker, one in scene.told()} == {1: names[0], 2: names[1]}


@pytest.mark.parametrize("leader", [-1, None])
async def test_without_a_coordinator_the_answer_says_so(scene: Scene, leader: int | None) -> None:
    if leader is None:
        scene.cluster.delete(TRANSACTIONS_TOPIC)
    else:
        scene.cluster.lead(TRANSACTIONS_TOPIC, leader, leader)
    scene.verify()
    assert scene.answers == []
    await until(lambda: scene.answers == [("t", A0, ErrorCode.COORDINATOR_NOT_AVAILABLE)])


async def test_each_question_gets_its_own_answer(scene: Scene) -> None:
    scene.codes = {"t": [ErrorCode.PRODUCER_FENCED], "v": [ErrorCode.TRANSACTION_ABORTABLE]}
    for name in "tuv":
        scene.verify(name)
    await until(lambda: len(scene.answers) == 3)
    assert [code for _, _, code in scene.answers] == [
        ErrorCode.PRODUCER_FENCED,
        0,
        ErrorCode.TRANSACTION_ABORTABLE,
    ]


async def test_a_broken_connection_is_an_answer(scene: Scene) -> None:
    scene.errors = [PeerError("gone")]
    scene.verify("t")
    scene.verify("u")
    await until(lambda: len(scene.answers) == 2)
    assert {code for _, _, code in scene.answers} == {ErrorCode.NETWORK_EXCEPTION}
    scene.verify("t")
    await until(lambda: scene.answers[-1] == ("t", A0, 0))


async def test_a_refused_request_is_an_answer_to_all(scene: Scene) -> None:
    scene.error_code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    scene.verify("t")
    scene.verify("u")
    await until(lambda: len(scene.answers) == 2)
    assert {code for _, _, code in scene.answers} == {ErrorCode.CLUSTER_AUTHORIZATION_FAILED}


async def test_while_the_last_transaction_is_completed_a_partition_waits() -> None:
    scene = Scene(retry_max_s=60)
    scene.codes = {"t": [ErrorCode.CONCURRENT_TRANSACTIONS] * 3}
    scene.verify("t")
    scene.verify("u")
    await until(lambda: scene.answers == [("u", A0, 0)])
    await until(lambda: scene.answers == [("u", A0, 0), ("t", A0, 0)])
    assert [[name for name, _, _ in one] for _, one in scene.told()] == [["t", "u"], ["t"], ["t"], ["t"]]


async def test_but_not_for_ever(scene: Scene) -> None:
    scene.codes = {"t": [ErrorCode.CONCURRENT_TRANSACTIONS] * 3}
    scene.verify()
    await until(lambda: scene.answers == [("t", A0, ErrorCode.CONCURRENT_TRANSACTIONS)])


async def test_with_v1_it_does_not_wait() -> None:
    scene = Scene(retry_max_s=60)
    scene.codes = {"t": [ErrorCode.CONCURRENT_TRANSACTIONS]}
    scene.verify(adds=False)
    await until(lambda: scene.answers == [("t", A0, ErrorCode.CONCURRENT_TRANSACTIONS)])


async def test_a_bug_stops_the_node(scene: Scene) -> None:
    bug = ValueError("a bug")
    scene.errors = [bug]
    scene.verify()
    await until(lambda: scene.cluster.failures == [bug])


async def test_a_broker_that_stops_asks_nobody(scene: Scene) -> None:
    scene.gate.clear()
    scene.verify("under way")
    await turns()
    scene.verify("waits")
    await turns()
    scene.verify("comes now")
    scene.verifier.close()
    scene.verify("comes later")
    await turns()
    scene.gate.set()
    await turns()
    assert {name: code for name, _, code in scene.answers} == dict.fromkeys(
        ("under way", "waits", "comes now", "comes later"), ErrorCode.NETWORK_EXCEPTION
    )
    assert len(scene.answers) == 4
    assert (len(scene.asked), scene.cluster.failures) == (1, [])


async def test_a_broker_that_stops_does_not_ask_again() -> None:
    scene = Scene(retry_max_s=60)
    scene.codes = {"t": [ErrorCode.CONCURRENT_TRANSACTIONS] * 99}
    scene.verify()
    await until(lambda: scene.verifier._retrying)
    asked = len(scene.asked)
    scene.verifier.close()
    await until(lambda: scene.answers == [("t", A0, ErrorCode.NETWORK_EXCEPTION)])
    assert len(scene.asked) == asked
