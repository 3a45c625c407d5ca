"""A client of a consumer group: the responses that it got, and the partitions that it believes to own.

It does what the Java client does. It names what it owns when that has changed, and everything whenever an
answer is missing. It stops with all its partitions when it is fenced.
"""

from dataclasses import dataclass, field

from tests.groups.consumer_room import GROUP, REBALANCE_MS, Consumer, response_of
from tests.groups.harness import Recorder

from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

Partition = tuple[bytes, int]

FENCED = {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND}
TO_BE_RETRIED = {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.UNRELEASED_INSTANCE_ID}


@dataclass(frozen=True)
class Subscription:
    topics: tuple[str, ...] = ()
    regex: str = ""


@dataclass
class Client:
    member_id: str
    subscription: Subscription
    instance_id: str | None = None
    epoch: int = 0
    owned: set[Partition] = field(default_factory=set)
    goal: set[Partition] | None = None  # told, but not come to yet
    _said_subscription: Subscription | None = None
    _said_owned: set[Partition] | None = None

    def heartbeat(self, machine: Consumer, is_lost: bool = False) -> None:
        """Send a heartbeat with the changes. Only the client notices that a response is lost."""
        if self._said_owned is None and self.goal is not None and not self.goal <= self.owned:
            # To name all that it owns while it has yet to take something is to say that it will not take it.
            # The coordinator gives it to somebody else then, and the answer that says so may be lost.
            self.come_to_goal()
        reply = machine.heartbeat(self._request())
        self._said_subscription, self._said_owned = self.subscription, set(self.owned)
        if is_lost or reply.code in TO_BE_RETRIED:
            self._said_subscription = self._said_owned = None
        elif reply.code in FENCED:
            self._begin_anew()
        else:
            self._take(response_of(reply))

    def come_to_goal(self) -> None:
        """Give back the partitions that are not in the target, then take the new ones."""
        if self.goal is not None:
            self.owned, self.goal = self.goal, None

    def leave(self, machine: Consumer, epoch: int) -> Recorder:
        self.owned.clear()
        return machine.leave(self.member_id, self.instance_id, epoch)

    def _request(self) -> ConsumerGroupHeartbeatRequest:
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP, member_id=self.member_id, member_epoch=self.epoch, instance_id=self.instance_id
        )
        if self._said_subscription != self.subscription:
            request.subscribed_topic_names = list(self.subscription.topics)
            request.subscribed_topic_regex = self.subscription.regex
        if self._said_owned != self.owned:
            request.topic_partitions = [TopicPartitions(topic_id, [each]) for topic_id, each in self.owned]
        if self._said_owned is None:
            request.rebalance_timeout_ms = REBALANCE_MS
        return request

    def _begin_anew(self) -> None:
        self.epoch = 0
        self.owned.clear()
        self.goal = self._said_subscription = self._said_owned = None

    def _take(self, response: ConsumerGroupHeartbeatResponse) -> None:
        assert self.epoch <= response.member_epoch, "a member's epoch only grows"
        assert response.member_id == self.member_id
        self.epoch = response.member_epoch
        if response.assignment is None:
            return
        goal = {
            (topic.topic_id, each)
            for topic in response.assignment.topic_partitions
            for each in topic.partitions
        }
        if self.owned <= goal:
            self.owned, self.goal = goal, None
        else:
            self.goal = goal
