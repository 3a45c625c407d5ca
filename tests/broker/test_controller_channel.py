"""Asking the active controller: while it changes, hangs, or is not there at all."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from gralha.broker.controller_channel import ControllerChannel
from gralha.broker.pipeline import Peer, RequestContext
from gralha.protocol import apis
from gralha.protocol.envelopes import open_request, sealed_response
from gralha.protocol.errors import (
    ErrorCode,
    InconsistentClusterIdError,
    InvalidRequestError,
    NotControllerError,
    RequestTimedOutError,
)
from gralha.protocol.message import Message
from gralha.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from gralha.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from gralha.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from gralha.protocol.peers import PeerError

VERSION = 7
REQUEST = CreateTopicsRequest(topics=[CreatableTopic(name="a", num_partitions=1, replication_factor=1)])
CREATED = CreateTopicsResponse(topics=[CreatableTopicResult(name="a")])


class World:
    """A quorum whose leader the test names, and controllers that answer what the test says."""

    def __init__(self) -> None:
        self.is_active = False
        self.leader_id = 2
        self.foreign_cluster: str | None = None
        self.asked: list[int] = []
        self.answers: dict[int, Callable[[Message], Awaitable[Message]]] = {}
        self.heartbeat_here = BrokerHeartbeatResponse()
        self.channel = ControllerChannel(self, self, lambda _: self.heartbeat_here)

    async def ask(
        self, node_id: int, request: Message, *, timeout_ms: int, lane: str = "", version: int | None = None
    ) -> Message:
        self.asked.append(node_id)
        return await self.answers[node_id](request)

    def elect(self, leader_id: int) -> None:
        self.leader_id = leader_id
        self.channel.leader_changed(leader_id)

    async def forward(self, timeout_ms: int = 60_000) -> Message:
        context = RequestContext(Peer("10.1.2.3", 5, "L", "User:ANONYMOUS", {}), VERSION, "somebody")
        return await self.channel.forward(REQUEST, context, self.decide_here, timeout_ms=timeout_ms)

    async def decide_here(self) -> Message:
        raise NotControllerError


@pytest.fixture
async def world() -> World:
    return World()


async def decide(request: Message) -> Message:
    assert isinstance(request, EnvelopeRequest)
    inner = open_request(request.request_data)
    assert (inner.request, inner.version, inner.client_id) == (REQUEST, VERSION, "somebody")
    assert request.client_host_address == bytes([10, 1, 2, 3])
    response_data = sealed_response(apis.APIS[inner.api_key], inner.version, inner.correlation_id, CREATED)
    return EnvelopeResponse(response_data=response_data)


async def refuse(_request: Message) -> Message:
    return EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER)


async def hang(_request: Message) -> Message:
    await asyncio.Event().wait()
    raise AssertionError


async def test_a_request_goes_to_the_leader_in_an_envelope(world: World) -> None:
    world.answers[2] = decide
    assert await world.forward() == CREATED


async def test_a_controller_that_has_ceased_to_be_one_is_asked_until_there_is_another(world: World) -> None:
    async def refuse_and_elect(request: Message) -> Message:
        if len(world.asked) == 3:
            world.elect(3)
        return await refuse(request)

    world.answers = {2: refuse_and_elect, 3: decide}
    assert await world.forward() == CREATED
    assert world.asked == [2, 2, 2, 3]


async def test_a_connection_that_breaks_is_no_answer(world: World) -> None:
    async def break_once(request: Message) -> Message:
        if len(world.asked) == 1:
            raise PeerError("the connection was lost")
        return await decide(request)

    world.answers[2] = break_once
    assert await world.forward() == CREATED


async def test_nobody_waits_for_a_controller_that_hangs_once_there_is_another(world: World) -> None:
    world.answers = {2: hang, 3: decide}
    asking = asyncio.ensure_future(world.forward())
    while not world.asked:
        await asyncio.sleep(0)
    world.elect(-1)
    world.elect(3)
    assert await asking == CREATED


async def test_a_controller_that_was_replaced_may_still_answer(world: World) -> None:
    async def answer_late(request: Message) -> Message:
        world.elect(3)
        await asyncio.sleep(0.01)
        return await decide(request)

    world.answers = {2: answer_late}
    assert await world.forward() == CREATED
    assert world.asked == [2]


async def test_the_controller_of_this_node_decides_here(world: World) -> None:
    async def decide_here() -> Message:
        return CREATED

    world.is_active = True
    world.decide_here = decide_here  # type: ignore[method-assign]
    assert await world.forward() == CREATED
    assert world.asked == []


async def test_a_decision_that_is_lost_with_the_lead_is_made_by_the_next_controller(world: World) -> None:
    async def resign() -> Message:
        world.is_active = False
        world.elect(3)
        raise NotControllerError

    world.is_active = True
    world.decide_here = resign  # type: ignore[method-assign]
    world.answers[3] = decide
    assert await world.forward() == CREATED


async def test_other_errors_of_a_decision_are_raised(world: World) -> None:
    async def refuse_here() -> Message:
        raise InvalidRequestError("no")

    world.is_active = True
    world.decide_here = refuse_here  # type: ignore[method-assign]
    with pytest.raises(InvalidRequestError, match="no"):
        await world.forward()


@pytest.mark.parametrize("answer", [refuse, hang])
async def test_without_a_controller_a_client_hears_of_a_timeout(
    world: World, answer: Callable[[Message], Awaitable[Message]]
) -> None:
    world.answers[2] = answer
    with pytest.raises(RequestTimedOutError, match="No controller answered within 50 ms"):
        await world.forward(timeout_ms=50)
    world.leader_id = -1
    with pytest.raises(RequestTimedOutError, match="the quorum has no leader"):
        await world.forward(timeout_ms=50)


async def test_controllers_of_another_cluster_are_not_waited_for(world: World) -> None:
    world.foreign_cluster = "another one"
    with pytest.raises(InconsistentClusterIdError, match="another one"):
        await world.forward()


async def test_a_request_of_the_broker_itself_has_no_envelope(world: World) -> None:
    request = BrokerHeartbeatRequest(broker_id=1)
    answers = iter([BrokerHeartbeatResponse(error_code=ErrorCode.NOT_CONTROLLER), BrokerHeartbeatResponse()])

    async def answer(asked: Message) -> Message:
        assert asked is request
        return next(answers)

    world.answers[2] = answer
    assert await world.channel.ask(request, timeout_ms=60_000) == BrokerHeartbeatResponse()
    world.is_active = True
    assert await world.channel.ask(request, timeout_ms=60_000) is world.heartbeat_here
    world.heartbeat_here = BrokerHeartbeatResponse(error_code=ErrorCode.NOT_CONTROLLER)
    with pytest.raises(NotControllerError):
        await world.channel.ask(request, timeout_ms=50)
