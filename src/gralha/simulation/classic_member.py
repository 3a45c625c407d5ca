"""A member of a classic group: JoinGroup, SyncGroup, Heartbeat, LeaveGroup.

The leader of a generation assigns the partitions in ranges, as the range assignor of real consumers does. A
member gives up all its partitions when the group rebalances (the eager protocol).
"""

from typing import Final, cast

from gralha.groups.consumer_protocol import read_assignment, write_assignment, write_subscription
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from gralha.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from gralha.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from gralha.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from gralha.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from gralha.simulation.members import COORDINATOR_MOVED, REBALANCE_S, SESSION_S, GroupMember

PROTOCOL_TYPE: Final = "consumer"
PROTOCOL: Final = "range"
# The coordinator answers JoinGroup after the other members have joined.
JOIN_TIMEOUT_MS: Final = int(REBALANCE_S * 1000) + 3_000


class ClassicMember(GroupMember):
    async def join(self) -> None:
        """Join the next generation, and begin with the partitions that its leader assigns."""
        answer = await self._join_group()
        if answer is None:
            return
        assigned = await self._sync_group(answer)
        if assigned is None:
            return
        self.epoch = answer.generation_id
        self.joined += 1
        for partition in assigned:
            self.record_owned(partition, self.epoch, self.now, self.now)
        if assigned and not await self.begin_at_committed(assigned):
            self._join_again()

    async def _join_group(self) -> JoinGroupResponse | None:
        subscription = write_subscription(ConsumerProtocolSubscription([self.topic]))
        request = JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=int(SESSION_S * 1000),
            rebalance_timeout_ms=int(REBALANCE_S * 1000),
            member_id=self.member_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[JoinGroupRequestProtocol(PROTOCOL, subscription)],
        )
        answer = await self.ask_coordinator(request, None, JOIN_TIMEOUT_MS)
        response = cast("JoinGroupResponse | None", answer)
        if response is None:
            return None
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
            return None
        if response.error_code:
            self._failed(response.error_code)
            await self.back_off()
            return None
        self.member_id = response.member_id
        return response

    async def _sync_group(self, joined: JoinGroupResponse) -> list[int] | None:
        request = SyncGroupRequest(
            group_id=self.group,
            generation_id=joined.generation_id,
            member_id=self.member_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=PROTOCOL,
            assignments=self._deal_out([one.member_id for one in joined.members]),
        )
        answer = await self.ask_coordinator(request, None, JOIN_TIMEOUT_MS)
        response = cast("SyncGroupResponse | None", answer)
        if response is None:
            return None
        if response.error_code:
            self._failed(response.error_code)
            return None
        if not response.assignment:
            return []
        assignment = read_assignment(response.assignment)
        return [index for topic in assignment.assigned_partitions for index in topic.partitions]

    def _deal_out(self, member_ids: list[str]) -> list[SyncGroupRequestAssignment]:
        """Assign the partitions. Only the leader of a generation gets the list of members."""
        partitions = sorted(self.leaders)
        dealt = []
        for number, member_id in enumerate(sorted(member_ids)):
            first = number * len(partitions) // len(member_ids)
            last = (number + 1) * len(partitions) // len(member_ids)
            topics = [TopicPartition(self.topic, partitions[first:last])]
            assignment = write_assignment(ConsumerProtocolAssignment(topics if last > first else []))
            dealt.append(SyncGroupRequestAssignment(member_id, assignment))
        return dealt

    async def heartbeat(self) -> None:
        request = HeartbeatRequest(self.group, self.epoch, self.member_id)
        response = cast("HeartbeatResponse | None", await self.ask_coordinator(request))
        if response is None or not response.error_code:
            return
        if response.error_code == ErrorCode.REBALANCE_IN_PROGRESS:
            await self.commit()
        self._failed(response.error_code)

    async def leave(self) -> None:
        request = LeaveGroupRequest(self.group, members=[MemberIdentity(self.member_id)])
        await self.ask_coordinator(request)

    def commit_answered(self, error_code: int) -> bool:
        if error_code and error_code != ErrorCode.REBALANCE_IN_PROGRESS:
            self._failed(error_code)
        return True

    def _failed(self, error_code: int) -> None:
        if error_code in COORDINATOR_MOVED:
            self.has_moved(error_code)
            return
        if error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            self.member_id = ""
        elif error_code not in (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION):
            name = ErrorCode(error_code).name
            self.world.complain(f"{self.process} was told {name} at {self.now:.3f}")
        self._join_again()

    def _join_again(self) -> None:
        self.drop_all()
        self.epoch = -1
