"""Admin calls about groups: list, describe and delete them, and remove their members."""

from collections.abc import Iterable
from typing import Final

from gralha.client.calls import error_or_none, raise_for
from gralha.client.cluster import Broker
from gralha.client.coordinator_calls import Answers, CoordinatorCalls
from gralha.client.group_values import (
    CLASSIC,
    CONSUMER,
    CONSUMER_PROTOCOLS,
    GroupDescription,
    GroupListing,
    GroupMember,
)
from gralha.client.values import TopicPartition
from gralha.protocol.apis import ApiKey
from gralha.protocol.errors import ErrorCode, KafkaError, error_for
from gralha.protocol.messages import consumer_group_describe, describe_groups
from gralha.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from gralha.protocol.messages.consumer_protocol import ConsumerProtocolAssignment
from gralha.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from gralha.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from gralha.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from gralha.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from gralha.protocol.primitives import ProtocolError, Reader

# From these versions on ListGroups supports states (KIP-518) and types (KIP-848).
_STATES_VERSION: Final = 4
_TYPES_VERSION: Final = 5
# The errors of ConsumerGroupDescribe for a group that may be a classic one.
_NOT_A_CONSUMER_GROUP: Final = (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION)


class GroupCalls(CoordinatorCalls):
    """Calls that list, describe and delete groups, and remove members."""

    def list_groups(self, *, states: Iterable[str] = (), types: Iterable[str] = ()) -> list[GroupListing]:
        """The groups of all brokers, ordered by name, optionally of some states or types only."""
        wanted_states, wanted_types = list(states), list(types)
        brokers = list(self.cluster.once(self.cluster.brokers))
        answers = self.cluster.each(
            brokers,
            lambda pending: {
                broker: self._list_on(broker, wanted_states, wanted_types) for broker in pending
            },
        )
        listings: set[GroupListing] = set()
        for broker, answer in answers.items():
            if isinstance(answer, KafkaError):
                raise error_for(answer.code, f"Error listing groups on broker {broker}: {answer}")
            listings.update(answer)
        return sorted(listings)

    def _list_on(self, broker: int, states: list[str], types: list[str]) -> list[GroupListing] | KafkaError:
        connection = self.cluster.connection_to(broker)
        version = connection.version_for(ListGroupsRequest)
        if states and version < _STATES_VERSION:
            return error_for(ErrorCode.UNSUPPORTED_VERSION, "The broker is too old to list groups by state.")
        if types and version < _TYPES_VERSION:
            if CLASSIC not in types:
                return []
            types = []
        response = connection.send(
            ListGroupsRequest(states_filter=states, types_filter=types), ListGroupsResponse
        )
        return error_or_none(response.error_code) or [
            GroupListing(
                group.group_id, group.protocol_type, group.group_state, group.group_type.capitalize()
            )
            for group in response.groups
        ]

    def describe_groups(self, group_ids: Iterable[str]) -> dict[str, GroupDescription | KafkaError]:
        """Groups of consumers of both protocols, with their members."""
        return self._ask_coordinators(group_ids, self._describe_on)

    def _describe_on(self, broker: int, group_ids: list[str]) -> Answers[GroupDescription]:
        """Asks with ConsumerGroupDescribe first, because only that describes consumer groups completely."""
        answers: Answers[GroupDescription] = {}
        if self.cluster.connection_to(broker).serves(ApiKey.CONSUMER_GROUP_DESCRIBE):
            answers = self._describe_consumer_groups(broker, group_ids)
        others = [group_id for group_id in group_ids if _may_be_classic(answers.get(group_id))]
        if others:
            for group_id, answer in self._describe_classic_groups(broker, others).items():
                first = answers.get(group_id)
                is_missing = isinstance(answer, KafkaError) and answer.code == ErrorCode.GROUP_ID_NOT_FOUND
                answers[group_id] = first if is_missing and first is not None else answer
        return answers

    def _describe_consumer_groups(self, broker: int, group_ids: list[str]) -> Answers[GroupDescription]:
        request = ConsumerGroupDescribeRequest(group_ids=group_ids)
        response = self.cluster.send_to(broker, request, ConsumerGroupDescribeResponse)
        coordinator = self.cluster.brokers()[broker]
        return {
            group.group_id: error_or_none(group.error_code, group.error_message)
            or _consumer_group(group, coordinator)
            for group in response.groups
        }

    def _describe_classic_groups(self, broker: int, group_ids: list[str]) -> Answers[GroupDescription]:
        response = self.cluster.send_to(
            broker, DescribeGroupsRequest(groups=group_ids), DescribeGroupsResponse
        )
        coordinator = self.cluster.brokers()[broker]
        return {
            group.group_id: error_or_none(group.error_code, group.error_message)
            or _classic_group(group, coordinator)
            for group in response.groups
        }

    def delete_groups(self, group_ids: Iterable[str]) -> dict[str, KafkaError | None]:
        """Deletes groups without members and their offsets. The result is None for each deleted group."""

        def ask(broker: int, groups: list[str]) -> Answers[None]:
            response = self.cluster.send_to(
                broker, DeleteGroupsRequest(groups_names=groups), DeleteGroupsResponse
            )
            return {result.group_id: error_or_none(result.error_code) for result in response.results}

        return self._ask_coordinators(group_ids, ask, is_change=True)

    def remove_members(
        self, group_id: str, members: Iterable[GroupMember], reason: str
    ) -> dict[str, KafkaError | None]:
        """Removes members from a group (KIP-345). The result is None for each removed member."""
        identities = [
            # A static member may have another member id by now, so its instance id names it.
            MemberIdentity("" if one.instance_id else one.member_id, one.instance_id, reason)
            for one in members
        ]

        def ask(broker: int) -> dict[str, KafkaError | None]:
            request = LeaveGroupRequest(group_id=group_id, members=identities)
            response = self.cluster.send_to(broker, request, LeaveGroupResponse)
            raise_for(response.error_code)
            return {
                member.group_instance_id or member.member_id: error_or_none(member.error_code)
                for member in response.members
            }

        return self._ask_coordinator(group_id, ask, is_change=True)


def _may_be_classic(answer: GroupDescription | KafkaError | None) -> bool:
    return answer is None or (isinstance(answer, KafkaError) and answer.code in _NOT_A_CONSUMER_GROUP)


def _consumer_group(group: consumer_group_describe.DescribedGroup, coordinator: Broker) -> GroupDescription:
    return GroupDescription(
        group_id=group.group_id,
        type=CONSUMER,
        state=group.group_state,
        assignor=group.assignor_name,
        coordinator=coordinator,
        members=[
            GroupMember(
                member_id=member.member_id,
                instance_id=member.instance_id,
                client_id=member.client_id,
                host=member.client_host,
                assignment=_partitions(member.assignment),
                target_assignment=_partitions(member.target_assignment),
                epoch=member.member_epoch,
                is_upgraded=None if member.member_type < 0 else member.member_type == 1,
            )
            for member in group.members
        ],
        epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
    )


def _partitions(assignment: consumer_group_describe.Assignment) -> list[TopicPartition]:
    return [
        TopicPartition(topic.topic_name, partition)
        for topic in assignment.topic_partitions
        for partition in topic.partitions
    ]


def _classic_group(
    group: describe_groups.DescribedGroup, coordinator: Broker
) -> GroupDescription | KafkaError:
    if group.protocol_type not in CONSUMER_PROTOCOLS:
        return error_for(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            f"GroupId {group.group_id} is not a consumer group ({group.protocol_type}).",
        )
    try:
        members = [_classic_member(member) for member in group.members]
    except ProtocolError as error:
        return error_for(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            f"An assignment in group {group.group_id} is not a consumer's: {error}.",
        )
    return GroupDescription(
        group.group_id, CLASSIC, group.group_state, group.protocol_data, coordinator, members
    )


def _classic_member(member: describe_groups.DescribedGroupMember) -> GroupMember:
    return GroupMember(
        member_id=member.member_id,
        instance_id=member.group_instance_id,
        client_id=member.client_id,
        host=member.client_host,
        assignment=_assigned(member.member_assignment),
    )


def _assigned(data: bytes) -> list[TopicPartition]:
    """The partitions in a member's assignment. Empty before the group's leader has assigned."""
    if not data:
        return []
    reader = Reader(data)
    # Newer versions only add fields at the end.
    version = min(reader.int16(), ConsumerProtocolAssignment.MAX_VERSION)
    assignment = ConsumerProtocolAssignment.decode(reader, version)
    return [
        TopicPartition(topic.topic, partition)
        for topic in assignment.assigned_partitions
        for partition in topic.partitions
    ]
