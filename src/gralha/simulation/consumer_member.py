"""A member of a consumer group (KIP-848), which uses only ConsumerGroupHeartbeat.

The coordinator's response lists the partitions that the member may own. The member revokes the others,
reports that in the next heartbeat, and begins with the new partitions. A member owns a partition from the
response that lists it until the heartbeat that reports its revocation, but not longer than its session.
"""

from random import Random
from typing import Final, cast

from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from gralha.simulation.clients import Bootstrap
from gralha.simulation.members import REBALANCE_S, SESSION_S, GroupMember, GroupWorld

JOIN_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1


class ConsumerMember(GroupMember):
    is_classic = False

    def __init__(
        self, name: str, bootstrap: Bootstrap, topic: str, random: Random, world: GroupWorld, group: str
    ) -> None:
        super().__init__(name, bootstrap, topic, random, world, group)
        # The partitions that the member owns, and since when.
        self._owns: dict[int, float] = {}
        self._target: list[int] = []
        # Whether the next heartbeat has the subscription and the owned partitions.
        self._says_all = True
        # When the last heartbeat was sent that was answered.
        self._heard_of_at = 0.0

    async def join(self) -> None:
        if not self.member_id:
            self.member_id = f"{self.name}-{self._lives}"
        self._heard_of_at = self.now
        self._target = []
        self._says_all = True
        self.epoch = JOIN_EPOCH
        await self.heartbeat()
        if self.epoch == JOIN_EPOCH:
            self.epoch = -1
            await self.back_off()

    async def heartbeat(self) -> None:
        if self.epoch != JOIN_EPOCH and self.now - self._heard_of_at > SESSION_S:
            self._join_again()
            return
        sent_at = self.now
        response = await self._say(self.epoch)
        if response is None:
            # The coordinator may not have received this heartbeat.
            self._says_all = True
        elif response.error_code:
            self._failed(response.error_code)
        else:
            self._heard_of_at = sent_at
            self._says_all = False
            if self.epoch == JOIN_EPOCH:
                self.joined += 1
            self.epoch = response.member_epoch
            if response.assignment is not None:
                self._target = [
                    index for topic in response.assignment.topic_partitions for index in topic.partitions
                ]
            await self._reconcile()

    async def _say(self, epoch: int) -> ConsumerGroupHeartbeatResponse | None:
        request = ConsumerGroupHeartbeatRequest(self.group, self.member_id, epoch)
        if self._says_all:
            request.rebalance_timeout_ms = int(REBALANCE_S * 1000)
            request.subscribed_topic_names = [self.topic]
            request.topic_partitions = [TopicPartitions(self.topic_id, sorted(self._owns))]
            if not self._owns:
                request.topic_partitions = []
        return cast("ConsumerGroupHeartbeatResponse | None", await self.ask_coordinator(request))

    async def _reconcile(self) -> None:
        """Revoke partitions that are not in the target, begin with new ones, and report both."""
        for partition in [one for one in self._target if one not in self._owns]:
            self._owns[partition] = self.now
            self._says_all = True
        gone = [one for one in self._owns if one not in self._target]
        if gone:
            await self.commit(gone)
            for partition in gone:
                self.lost(partition)
            self._says_all = True
        new = [one for one in self._owns if one not in self.positions]
        if new and self.epoch >= 0 and not await self.begin_at_committed(new):
            return  # the next heartbeat tries again
        if self._says_all:
            self._heartbeat_at = self.now

    def lost(self, partition: int) -> None:
        super().lost(partition)
        since = self._owns.pop(partition, None)
        if since is not None:
            until = max(since, min(self.now, self._heard_of_at + SESSION_S))
            self.record_owned(partition, None, since, until)

    def drop_all(self) -> None:
        for partition in list(self._owns):
            self.lost(partition)
        super().drop_all()

    async def leave(self) -> None:
        self.drop_all()
        await self._say(LEAVE_EPOCH)

    def _failed(self, error_code: int) -> None:
        if self.has_moved(error_code):
            self._says_all = True
            return
        if error_code not in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH):
            name = ErrorCode(error_code).name
            self.world.complain(f"{self.process} was told {name} at {self.now:.3f}")
        self._join_again()

    def commit_answered(self, error_code: int) -> bool:
        """A commit with an old epoch is refused. The next heartbeat returns the new epoch."""
        self.has_moved(error_code)
        return True

    def _join_again(self) -> None:
        self.drop_all()
        self.epoch = -1
