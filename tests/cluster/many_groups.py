"""Thousands of members of groups on a few connections, by our own codec.

A broker serves the requests of a connection one after the other. The members of a group wait for each other
in JoinGroup and SyncGroup, so each has another connection. One connection serves members of many groups.
Three connections that work on the same groups are a lane.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import struct
import uuid
from collections.abc import AsyncIterator, Sequence
from typing import TypeVar

from gralha.broker.handlers import APIS as SERVED
from gralha.protocol.apis import APIS, request_header_version, response_header_version
from gralha.protocol.errors import ErrorCode
from gralha.protocol.message import Message
from gralha.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from gralha.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from gralha.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from gralha.protocol.messages.header import RequestHeader, ResponseHeader
from gralha.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from gralha.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from gralha.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from gralha.protocol.primitives import Reader, Writer

MEMBERS_PER_GROUP = 3
# Without these a group would take seconds to come together, which is not what many groups are to show.
BROKER_CONFIG = {"group.initial.rebalance.delay.ms": "0", "group.consumer.assignment.interval.ms": "0"}
SESSION_TIMEOUT_MS = 45_000
REBALANCE_TIMEOUT_MS = 60_000
NOT_YET = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
}

T = TypeVar("T", bound=Message)


def encoded(request: Message) -> bytes:
    """The whole frame of a request in its newest version."""
    version = SERVED[request.API_KEY].max_version
    writer = Writer()
    header = RequestHeader(request.API_KEY, version, 0, "many")
    header.encode(writer, request_header_version(request.API_KEY, version))
    request.encode(writer, version)
    body = writer.to_bytes()
    return struct.pack(">i", len(body)) + body


def decoded(request: Message, frame: bytes, response_class: type[T]) -> T:
    version = SERVED[request.API_KEY].max_version
    reader = Reader(frame)
    ResponseHeader.decode(reader, response_header_version(request.API_KEY, version))
    response = APIS[request.API_KEY].response.decode(reader, version)
    assert isinstance(response, response_class)
    return response


class Line(asyncio.Protocol):
    """A connection: any number of requests may be under way, their answers come in the same order."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._waiting: collections.deque[asyncio.Future[bytes]] = collections.deque()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        lost = error or ConnectionError("the broker closed the connection")
        while self._waiting:
            answer = self._waiting.popleft()
            if not answer.done():
                answer.set_exception(lost)

    def data_received(self, data: bytes) -> None:
        self._received += data
        while len(self._received) >= 4:
            size: int = struct.unpack_from(">i", self._received)[0]
            if len(self._received) < 4 + size:
                return
            frame = bytes(self._received[4 : 4 + size])
            del self._received[: 4 + size]
            answered = self._waiting.popleft()
            if not answered.done():
                answered.set_result(frame)

    def send(self, frame: bytes) -> asyncio.Future[bytes]:
        """Send a request; the result will be the response without its size."""
        assert self._transport is not None
        self._transport.write(frame)
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting.append(answer)
        return answer

    async def ask(self, request: Message, response_class: type[T]) -> T:
        """Send a request in its newest version and wait for the answer."""
        return decoded(request, await self.send(encoded(request)), response_class)

    def close(self) -> None:
        assert self._transport is not None
        self._transport.close()


class ClassicMember:
    def __init__(self, line: Line, group: str) -> None:
        self.line = line
        self.group = group
        self.member_id = ""
        self.generation_id = -1
        self.assignment = b""

    def heartbeat_request(self) -> HeartbeatRequest:
        return HeartbeatRequest(self.group, self.generation_id, self.member_id)

    async def heartbeat(self) -> int:
        """Say that it is alive; returns Kafka's error code."""
        return (await self.line.ask(self.heartbeat_request(), HeartbeatResponse)).error_code

    async def join(self, topic: str, session_timeout_ms: int) -> JoinGroupResponse:
        """Join, and once more with the id that the first answer brings (KIP-394)."""
        subscription = JoinGroupRequestProtocol("range", versioned(ConsumerProtocolSubscription([topic])))
        request = JoinGroupRequest(
            self.group,
            session_timeout_ms,
            REBALANCE_TIMEOUT_MS,
            self.member_id,
            protocol_type="consumer",
            protocols=[subscription],
        )
        response = await self.line.ask(request, JoinGroupResponse)
        self.member_id, self.generation_id = response.member_id, response.generation_id
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            return await self.join(topic, session_timeout_ms)
        check(response.error_code)
        return response

    async def sync(self, joined: JoinGroupResponse, topic: str) -> int:
        """Fetch its assignment; the leader, who alone heard of all, hands in one partition for each."""
        assignments = [
            SyncGroupRequestAssignment(
                member.member_id, versioned(ConsumerProtocolAssignment([TopicPartition(topic, [number])]))
            )
            for number, member in enumerate(joined.members)
        ]
        request = SyncGroupRequest(
            self.group,
            self.generation_id,
            self.member_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=assignments,
        )
        response = await self.line.ask(request, SyncGroupResponse)
        self.assignment = response.assignment
        return response.error_code


class ConsumerMember:
    def __init__(self, line: Line, group: str) -> None:
        self.line = line
        self.group = group
        self.member_id = str(uuid.uuid4())
        self.epoch = 0
        self.owned: list[TopicPartitions] = []

    def heartbeat_request(self) -> ConsumerGroupHeartbeatRequest:
        return ConsumerGroupHeartbeatRequest(self.group, self.member_id, self.epoch)

    async def heartbeat(self) -> int:
        """Say that it is alive; returns Kafka's error code."""
        return (await self.line.ask(self.heartbeat_request(), ConsumerGroupHeartbeatResponse)).error_code

    async def reconcile(self, topic: str) -> None:
        """Join, or say what it owns and take what it is given."""
        joins = self.epoch == 0
        request = ConsumerGroupHeartbeatRequest(
            self.group,
            self.member_id,
            self.epoch,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS if joins else -1,
            subscribed_topic_names=[topic] if joins else None,
            topic_partitions=self.owned,
        )
        response = await self.line.ask(request, ConsumerGroupHeartbeatResponse)
        check(response.error_code)
        self.epoch = response.member_epoch
        if response.assignment is not None:
            self.owned = response.assignment.topic_partitions

    def partitions(self) -> list[int]:
        return [number for owned in self.owned for number in owned.partitions]


Member = ClassicMember | ConsumerMember


def check(error_code: int) -> None:
    if error_code != ErrorCode.NONE:
        raise AssertionError(f"the coordinator answered {ErrorCode(error_code).name}")


def versioned(message: Message) -> bytes:
    """The bytes of a message that members send to each other: its version, then the message."""
    writer = Writer()
    writer.write_int16(message.MAX_VERSION)
    message.encode(writer, message.MAX_VERSION)
    return writer.to_bytes()


async def join_classic(
    lines: Sequence[Line], group: str, topic: str, session_timeout_ms: int = SESSION_TIMEOUT_MS
) -> list[Member]:
    """Make a classic group of one member for each connection, all in one generation."""
    members = [ClassicMember(line, group) for line in lines]

    def together() -> bool:
        one_generation = len({member.generation_id for member in members}) == 1
        return one_generation and all(member.assignment for member in members)

    async def settle(member: ClassicMember) -> None:
        while True:
            joined = await member.join(topic, session_timeout_ms)
            code = await member.sync(joined, topic)
            while code == ErrorCode.NONE and not together():
                code = await member.heartbeat()
            if code == ErrorCode.NONE:
                return
            assert code == ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode(code).name
            member.assignment = b""

    await asyncio.gather(*map(settle, members))
    assert len({member.assignment for member in members}) == len(members)
    return list(members)


async def join_consumer(lines: Sequence[Line], group: str, topic: str) -> list[Member]:
    """Make a consumer group of one member for each connection, each with one partition."""
    members = [ConsumerMember(line, group) for line in lines]
    for _ in range(100):
        for member in members:
            await member.reconcile(topic)
        shares = [member.partitions() for member in members]
        same_epoch = len({member.epoch for member in members}) == 1
        if same_epoch and sorted(shares) == [[number] for number in range(len(members))]:
            return list(members)
    raise AssertionError(f"the group did not settle: {shares}")


async def wait_for_coordinator(line: Line, groups: Sequence[str]) -> None:
    """Let the broker create __consumer_offsets and load it, for all of these groups."""
    for group in groups:
        while True:
            request = FindCoordinatorRequest(key_type=0, coordinator_keys=[group])
            found = await line.ask(request, FindCoordinatorResponse)
            if found.coordinators[0].error_code == ErrorCode.NONE:
                answer = await line.ask(HeartbeatRequest(group, 1, "nobody"), HeartbeatResponse)
                if answer.error_code not in NOT_YET:
                    break
            await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def many_groups(
    port: int, groups: int, topic: str, lanes: int = 4
) -> AsyncIterator[list[list[Member]]]:
    """That many stable groups of three, every second one a classic one; the others speak the new protocol."""
    loop = asyncio.get_running_loop()
    lines: list[Line] = []
    for _ in range(lanes * MEMBERS_PER_GROUP):
        _, line = await loop.create_connection(Line, "127.0.0.1", port)
        lines.append(line)
    names = [f"group-{number}" for number in range(groups)]
    made: list[list[Member]] = [[] for _ in names]

    async def work(lane: int) -> None:
        lane_lines = lines[lane * MEMBERS_PER_GROUP : (lane + 1) * MEMBERS_PER_GROUP]
        for number in range(lane, groups, lanes):
            if number % 2:
                made[number] = await join_classic(lane_lines, names[number], topic)
            else:
                made[number] = await join_consumer(lane_lines, names[number], topic)

    try:
        await wait_for_coordinator(lines[0], names)
        await asyncio.gather(*map(work, range(lanes)))
        yield made
    finally:
        for line in lines:
            line.close()
