"""A member of a classic group with a protocol of its own, as services use groups to elect a leader.

Consumers are members through confluent-kafka. Other protocols need the requests themselves: JoinGroup,
SyncGroup, Heartbeat, LeaveGroup. One member, whom the coordinator chooses, assigns something to all of them.

Every call blocks. Only `interrupt` may be called from another thread: it ends a call that waits.
"""

import contextlib
import os
import socket
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeVar

from gralha.client.calls import raise_for
from gralha.client.cluster import Cluster
from gralha.client.connection import Connection
from gralha.client.coordinator_calls import GROUP, CoordinatorCalls
from gralha.client.errors import ClientError
from gralha.protocol.errors import ErrorCode, KafkaError
from gralha.protocol.message import Message
from gralha.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from gralha.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from gralha.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from gralha.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)

AnyResponse = TypeVar("AnyResponse", bound=Message)
# The members' metadata -> what each of them is assigned.
Assign = Callable[[Mapping[str, bytes]], Mapping[str, bytes]]

# A coordinator answers JoinGroup when all members have joined, or the rebalance timeout is over.
_PATIENCE_MS: Final = 5_000
# From this version on LeaveGroup has several members (KIP-345).
_MANY_MEMBERS_VERSION: Final = 3
# After these errors the member must join again.
REJOIN: Final = frozenset(
    {
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
    }
)
# The group does not know the member any more, or not in this generation.
FORGOTTEN: Final = (ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID)
_MOVED: Final = (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)


class Protocol(NamedTuple):
    """What the members of a group have in common."""

    group_id: str
    type: str
    name: str
    session_timeout_ms: int
    rebalance_timeout_ms: int


class GroupMember(CoordinatorCalls):
    """One member. It has its own connection to the coordinator."""

    def __init__(self, cluster: Cluster, protocol: Protocol, assign: Assign) -> None:
        super().__init__(cluster)
        self._protocol = protocol
        self._assign = assign
        self._connection: Connection | None = None
        self._member_id = ""
        self._generation = -1

    def join(self, metadata: bytes) -> bytes:
        """Joins the group and returns what this member is assigned. Raises KafkaError or ClientError."""
        while True:
            joined = self._join(metadata)
            if joined.error_code != ErrorCode.MEMBER_ID_REQUIRED:
                break
            self._member_id = joined.member_id
        self._check(joined.error_code)
        self._member_id, self._generation = joined.member_id, joined.generation_id
        assignments: list[SyncGroupRequestAssignment] = []
        if joined.leader == joined.member_id and not joined.skip_assignment:
            assigned = self._assign({member.member_id: member.metadata for member in joined.members})
            assignments = [
                SyncGroupRequestAssignment(member_id=member_id, assignment=assignment)
                for member_id, assignment in assigned.items()
            ]
        request = SyncGroupRequest(
            group_id=self._protocol.group_id,
            generation_id=self._generation,
            member_id=self._member_id,
            protocol_type=self._protocol.type,
            protocol_name=self._protocol.name,
            assignments=assignments,
        )
        synced = self._send(request, SyncGroupResponse, self._protocol.rebalance_timeout_ms + _PATIENCE_MS)
        self._check(synced.error_code)
        return synced.assignment

    def heartbeat(self) -> None:
        """Says that the member is alive. Raises KafkaError; after a code of REJOIN it must join again."""
        request = HeartbeatRequest(
            group_id=self._protocol.group_id, generation_id=self._generation, member_id=self._member_id
        )
        self._check(self._send(request, HeartbeatResponse, self._protocol.session_timeout_ms).error_code)

    def leave(self) -> None:
        """Leaves the group, so that the others need not wait until the session has timed out."""
        member_id, self._member_id = self._member_id, ""
        connection = self._connection
        if not member_id or connection is None or connection.closed:
            return
        request = LeaveGroupRequest(group_id=self._protocol.group_id)
        with contextlib.suppress(ClientError, KafkaError):
            if connection.version_for(request) < _MANY_MEMBERS_VERSION:
                request.member_id = member_id
            else:
                request.members = [MemberIdentity(member_id=member_id)]
            connection.send(request, LeaveGroupResponse, self._protocol.session_timeout_ms)
        self.close()

    def interrupt(self) -> None:
        """Ends a call of another thread, which raises UnansweredError."""
        connection = self._connection
        if connection is not None:
            with contextlib.suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as same:
                same.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Closes the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _join(self, metadata: bytes) -> JoinGroupResponse:
        request = JoinGroupRequest(
            group_id=self._protocol.group_id,
            session_timeout_ms=self._protocol.session_timeout_ms,
            rebalance_timeout_ms=self._protocol.rebalance_timeout_ms,
            member_id=self._member_id,
            protocol_type=self._protocol.type,
            protocols=[JoinGroupRequestProtocol(name=self._protocol.name, metadata=metadata)],
        )
        return self._send(request, JoinGroupResponse, self._protocol.rebalance_timeout_ms + _PATIENCE_MS)

    def _send(self, request: Message, response_class: type[AnyResponse], timeout_ms: int) -> AnyResponse:
        return self._connected().send(request, response_class, timeout_ms)

    def _connected(self) -> Connection:
        connection = self._connection
        if connection is None or connection.closed:
            connection = self._connection = self._connect()
        return connection

    def _connect(self) -> Connection:
        return self._ask_coordinator(self._protocol.group_id, self.cluster.own_connection_to, key_type=GROUP)

    def _check(self, code: int) -> None:
        if code in FORGOTTEN:
            self._member_id, self._generation = "", -1
        elif code in _MOVED:
            self.close()
            self.cluster.forget()
        raise_for(code)
