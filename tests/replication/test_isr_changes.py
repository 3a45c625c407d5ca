"""Proposals to the controller: sent together, sent again, and the effect of each response."""

from __future__ import annotations

import asyncio

import pytest

from gralha.protocol.errors import ErrorCode
from gralha.protocol.message import Message
from gralha.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterPartitionResponsePartition,
    AlterPartitionResponseTopic,
)
from gralha.protocol.peers import PeerError
from gralha.replication.followers import IsrProposal
from gralha.replication.isr_changes import IsrChanges
from tests.failures import fail_with

TOPIC_ID = bytes(range(16))
PATIENCE_S = 20


class Asked:
    """Stands in for a partition and the leader's part of it: what it was told."""

    topic = "t"

    def __init__(self, index: int) -> None:
        self.index = index
        self.proposal: IsrProposal | None = IsrProposal(3, 7, [1, 2], [11, 12])
        self.told: list[str] = []
        self.leading = self

    def proposal_accepted(
        self, proposal: IsrProposal, leader_epoch: int, isr: list[int], partition_epoch: int
    ) -> None:
        self.told.append(f"accepted {isr} in {leader_epoch}, {partition_epoch}")
        self.proposal = None

    def proposal_refused(self, proposal: IsrProposal) -> None:
        self.told.append("refused")
        self.proposal = None


class Room:
    def __init__(self) -> None:
        self.partitions = [Asked(0), Asked(1)]
        self.requests: list[AlterPartitionRequest] = []
        # By turns, what the controller answers for each partition; None: nothing at all.
        self.codes: list[int | None] = []
        self.changes = IsrChanges(
            1,
            lambda: 11,
            self.ask,
            lambda topic_id, index: self.partitions[index],  # type: ignore[arg-type,return-value]
            fail_with,
        )

    async def ask(self, request: Message) -> Message:
        assert isinstance(request, AlterPartitionRequest)
        self.requests.append(request)
        await asyncio.sleep(0)
        code = self.codes.pop(0) if self.codes else ErrorCode.NONE
        if code is None:
            raise PeerError("nobody there")
        decided = [
            AlterPartitionResponsePartition(
                partition_index=one.partition_index,
                error_code=code,
                leader_epoch=3,
                isr=[1, 2],
                partition_epoch=8,
            )
            for one in request.topics[0].partitions
        ]
        return AlterPartitionResponse(
            topics=[AlterPartitionResponseTopic(topic_id=TOPIC_ID, partitions=decided)]
        )

    def propose(self, *indexes: int) -> None:
        for index in indexes:
            proposal = self.partitions[index].proposal
            assert proposal is not None
            self.changes.propose(TOPIC_ID, index, proposal)

    async def until(self, told: list[str], index: int = 0) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while self.partitions[index].told != told:
                await asyncio.sleep(0.001)


async def test_what_comes_together_goes_together() -> None:
    room = Room()
    room.propose(0, 1)
    await room.until(["accepted [1, 2] in 3, 8"], 1)
    (request,) = room.requests
    assert (request.broker_id, request.broker_epoch) == (1, 11)
    first, second = request.topics[0].partitions
    assert (first.leader_epoch, first.partition_epoch) == (3, 7)
    assert [(one.broker_id, one.broker_epoch) for one in second.new_isr_with_epochs] == [(1, 11), (2, 12)]


@pytest.mark.parametrize("code", [None, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.UNKNOWN_SERVER_ERROR])
async def test_what_got_no_clear_answer_is_asked_again(code: int | None) -> None:
    room = Room()
    room.codes = [code, code]
    room.propose(0)
    await room.until(["accepted [1, 2] in 3, 8"])
    assert len(room.requests) == 3


async def test_a_proposal_that_is_over_is_not_sent_again() -> None:
    room = Room()
    room.codes = [None]
    room.propose(0)
    await asyncio.sleep(0)
    room.partitions[0].proposal = None  # the metadata has told something else
    room.propose(1)
    await room.until(["accepted [1, 2] in 3, 8"], 1)
    assert [one.partition_index for one in room.requests[-1].topics[0].partitions] == [1]


async def test_what_the_controller_will_never_do_is_taken_back_after_a_moment() -> None:
    room = Room()
    room.codes = [ErrorCode.INELIGIBLE_REPLICA]
    room.propose(0)
    await room.until(["refused"])
    assert len(room.requests) == 1


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.NEW_LEADER_ELECTED,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
    ],
)
async def test_if_the_controller_knows_better_the_partition_waits_for_the_metadata(code: int) -> None:
    room = Room()
    room.codes = [code]
    room.propose(0)
    async with asyncio.timeout(PATIENCE_S):
        while room.codes:
            await asyncio.sleep(0)
    room.propose(1)
    await room.until(["accepted [1, 2] in 3, 8"], 1)
    assert room.partitions[0].proposal is not None
    assert room.partitions[0].told == []
    assert len(room.requests) == 2
