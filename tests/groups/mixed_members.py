"""Clients of one group, as real ones behave: classic (eager or cooperative) and of the consumer protocol.

Each knows which partitions it believes to own. `poll()` does what a client does at its heartbeat interval:
looks whether its last request was answered, acts on it, and sends the next one. Requests go through a
`Coordinator`, a function from a request to the Recorder of its answer.
"""

from collections.abc import Callable, Iterable
from typing import Final

from tests.groups.harness import Recorder

from gralha.groups.consumer_protocol import (
    read_assignment,
    read_subscription,
    write_assignment,
    write_subscription,
)
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
from gralha.protocol.messages.heartbeat import HeartbeatRequest
from gralha.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from gralha.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from gralha.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)

Partition = tuple[str, int]
Coordinator = Callable[[Message], Recorder]

SESSION_TIMEOUT_MS: Final = 10_000
REBALANCE_TIMEOUT_MS: Final = 30_000
AGAIN: Final = {
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
}


class Client:
    """The parts that both kinds of members share."""

    def __init__(
        self,
        ask: Coordinator,
        group_id: str,
        topics: dict[str, bytes],
        subscription: Iterable[str],
        instance_id: str | None,
    ) -> None:
        self.ask = ask
        self.group_id = group_id
        self.topic_ids = topics
        self.topic_names = {topic_id: name for name, topic_id in topics.items()}
        self.subscription = sorted(subscription)
        self.instance_id = instance_id
        self.member_id = ""
        self.epoch = -1  # the generation, in the classic protocol
        self.owned: frozenset[Partition] = frozenset()
        self.is_dead = False  # another process has its instance id, or the group is of another kind

    def poll(self) -> None:
        raise NotImplementedError

    def leave(self) -> None:
        raise NotImplementedError

    @property
    def is_settled(self) -> bool:
        """Is it a member with an assignment, and waits for nothing?"""
        raise NotImplementedError


class ClassicClient(Client):
    """Joins, syncs, heartbeats; assigns if it leads. A cooperative one owns while it joins (KIP-429)."""

    def __init__(
        self,
        ask: Coordinator,
        group_id: str,
        topics: dict[str, bytes],
        subscription: Iterable[str],
        instance_id: str | None,
        partition_counts: dict[str, int],
        is_cooperative: bool,
    ) -> None:
        super().__init__(ask, group_id, topics, subscription, instance_id)
        self.partition_counts = partition_counts
        self.is_cooperative = is_cooperative
        self.must_join = True
        self.join: Recorder | None = None
        self.sync: Recorder | None = None

    @property
    def is_settled(self) -> bool:
        return not self.must_join and self.join is None and self.sync is None

    def poll(self) -> None:
        """Until there is nothing to do but wait."""
        for _ in range(10):
            if self.is_dead or not self._act():
                return
        raise AssertionError("a client that never comes to rest")

    def leave(self) -> None:
        # Static members go without a word (KIP-345).
        if self.instance_id is None and self.member_id:
            self.ask(
                LeaveGroupRequest(group_id=self.group_id, members=[MemberIdentity(member_id=self.member_id)])
            )
        self.owned = frozenset()

    def _act(self) -> bool:
        if self.join is not None:
            return self.join.answered and self._joined(self.join)
        if self.sync is not None:
            return self.sync.answered and self._synced(self.sync)
        if self.must_join:
            self._send_join()
            return True
        return self._heartbeat()

    def _send_join(self) -> None:
        if not self.is_cooperative:
            self.owned = frozenset()
        subscription = ConsumerProtocolSubscription(
            topics=self.subscription, owned_partitions=_by_topic(self.owned), generation_id=self.epoch
        )
        # They like different protocols but support the same ones: a reloaded group knows only one of each.
        names = ["sticky", "range"] if self.is_cooperative else ["range", "sticky"]
        self.join = self.ask(
            JoinGroupRequest(
                group_id=self.group_id,
                session_timeout_ms=SESSION_TIMEOUT_MS,
                rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
                member_id=self.member_id,
                group_instance_id=self.instance_id,
                protocol_type="consumer",
                protocols=[
                    JoinGroupRequestProtocol(name, write_subscription(subscription)) for name in names
                ],
            )
        )

    def _joined(self, reply: Recorder) -> bool:
        self.join = None
        response = reply.response
        if reply.code:
            if isinstance(response, JoinGroupResponse) and reply.code == ErrorCode.MEMBER_ID_REQUIRED:
                self.member_id = response.member_id
                return True
            return self._failed(reply.code)
        assert isinstance(response, JoinGroupResponse)
        self.member_id, self.epoch = response.member_id, response.generation_id
        self.must_join = False
        assignments = []
        if response.leader == self.member_id and not response.skip_assignment:
            subscriptions = {each.member_id: read_subscription(each.metadata) for each in response.members}
            assignments = self._assign(subscriptions)
        self.sync = self.ask(
            SyncGroupRequest(
                group_id=self.group_id,
                generation_id=self.epoch,
                member_id=self.member_id,
                group_instance_id=self.instance_id,
                protocol_type=response.protocol_type,
                protocol_name=response.protocol_name,
                assignments=assignments,
            )
        )
        return True

    def _assign(
        self, subscriptions: dict[str, ConsumerProtocolSubscription]
    ) -> list[SyncGroupRequestAssignment]:
        """Sticky, and never a partition that another has not given up yet."""
        owners = {
            (each.topic, number): member_id
            for member_id, subscription in subscriptions.items()
            for each in subscription.owned_partitions
            for number in each.partitions
        }
        given: dict[str, set[Partition]] = {member_id: set() for member_id in subscriptions}
        wanted: dict[str, int] = dict.fromkeys(subscriptions, 0)
        for topic in sorted({topic for each in subscriptions.values() for topic in each.topics}):
            for number in range(self.partition_counts[topic]):
                subscribers = [each for each in subscriptions if topic in subscriptions[each].topics]
                owner = owners.get((topic, number))
                lightest = min(subscribers, key=lambda each: (wanted[each], each != owner, each))
                wanted[lightest] += 1
                if owner is None or owner == lightest:
                    given[lightest].add((topic, number))
        return [
            SyncGroupRequestAssignment(
                member_id=member_id,
                assignment=write_assignment(
                    ConsumerProtocolAssignment(assigned_partitions=_by_topic(partitions))
                ),
            )
            for member_id, partitions in given.items()
        ]

    def _synced(self, reply: Recorder) -> bool:
        self.sync = None
        if reply.code:
            self.must_join = True
            return self._failed(reply.code)
        assert isinstance(reply.response, SyncGroupResponse)
        assigned = frozenset[Partition]()
        if reply.response.assignment:
            named = read_assignment(reply.response.assignment).assigned_partitions
            assigned = frozenset((each.topic, number) for each in named for number in each.partitions)
        # A client first gives up partitions that it lost. A cooperative one then joins again to say so.
        self.must_join = bool(self.owned - assigned)
        self.owned = assigned
        return True

    def _heartbeat(self) -> bool:
        reply = self.ask(
            HeartbeatRequest(
                group_id=self.group_id,
                generation_id=self.epoch,
                member_id=self.member_id,
                group_instance_id=self.instance_id,
            )
        )
        return reply.code is not None and reply.code != 0 and self._failed(reply.code)

    def _failed(self, code: int) -> bool:
        """Is there something to do now? If the coordinator is not there it tries again at the next poll."""
        self.must_join = self.must_join or code not in AGAIN
        match ErrorCode(code):
            case ErrorCode.UNKNOWN_MEMBER_ID:
                self.member_id, self.epoch, self.owned = "", -1, frozenset()
            case ErrorCode.ILLEGAL_GENERATION:
                self.epoch, self.owned = -1, frozenset()
            case ErrorCode.FENCED_INSTANCE_ID:
                self.is_dead, self.owned = True, frozenset()
            case ErrorCode.REBALANCE_IN_PROGRESS:
                pass
            case _:
                assert code in AGAIN, ErrorCode(code)
                return False
        return True


class ConsumerClient(Client):
    """Heartbeats, and owns what it is told to (KIP-848)."""

    def __init__(
        self,
        ask: Coordinator,
        group_id: str,
        topics: dict[str, bytes],
        subscription: Iterable[str],
        instance_id: str | None,
        member_id: str,
    ) -> None:
        super().__init__(ask, group_id, topics, subscription, instance_id)
        self.member_id = member_id
        self.epoch = 0
        self.has_news = True  # something to tell besides being alive

    @property
    def is_settled(self) -> bool:
        return self.epoch > 0 and not self.has_news

    def poll(self) -> None:
        """Heartbeat, and once more at once if the answer changed what it owns."""
        for _ in range(10):
            if self.is_dead or not self._heartbeat():
                return
        raise AssertionError("a client that never comes to rest")

    def leave(self) -> None:
        epoch = -1 if self.instance_id is None else -2
        self.ask(
            ConsumerGroupHeartbeatRequest(
                group_id=self.group_id,
                member_id=self.member_id,
                member_epoch=epoch,
                instance_id=self.instance_id,
            )
        )
        self.owned = frozenset()

    def _heartbeat(self) -> bool:
        reply = self.ask(self._request())
        if reply.code:
            return self._failed(reply.code)
        response = reply.response
        assert isinstance(response, ConsumerGroupHeartbeatResponse)
        self.epoch = response.member_epoch
        self.has_news = False
        if response.assignment is None:
            return False
        assigned = frozenset(
            (self.topic_names[each.topic_id], number)
            for each in response.assignment.topic_partitions
            for number in each.partitions
        )
        self.has_news = assigned != self.owned
        self.owned = assigned
        return self.has_news

    def _request(self) -> ConsumerGroupHeartbeatRequest:
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id=self.instance_id,
        )
        if self.has_news:
            request.rebalance_timeout_ms = REBALANCE_TIMEOUT_MS
            request.subscribed_topic_names = self.subscription
            request.topic_partitions = [
                TopicPartitions(self.topic_ids[each.topic], each.partitions) for each in _by_topic(self.owned)
            ]
        return request

    def _failed(self, code: int) -> bool:
        match ErrorCode(code):
            case ErrorCode.UNKNOWN_MEMBER_ID | ErrorCode.FENCED_MEMBER_EPOCH:
                self.epoch, self.owned, self.has_news = 0, frozenset(), True
                return True
            case ErrorCode.FENCED_INSTANCE_ID | ErrorCode.GROUP_ID_NOT_FOUND:
                self.is_dead, self.owned = True, frozenset()
            case ErrorCode.UNRELEASED_INSTANCE_ID:
                pass  # until the session of the one that had it before is over
            case _:
                assert code in AGAIN, ErrorCode(code)
        return False


def _by_topic(partitions: Iterable[Partition]) -> list[TopicPartition]:
    numbers: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        numbers.setdefault(topic, []).append(number)
    return [TopicPartition(topic, each) for topic, each in numbers.items()]
