"""Checks and reads a ConsumerGroupHeartbeat request."""

from dataclasses import replace

from gralha.groups.assignors import Assignment
from gralha.groups.caller import Caller
from gralha.groups.config import GroupsConfig
from gralha.groups.consumer_member import JOIN_EPOCH, LEAVE_EPOCH, LEAVE_STATIC_EPOCH, ConsumerMember
from gralha.groups.subscriptions import regex_matcher
from gralha.protocol.errors import (
    FencedMemberEpochError,
    InvalidRequestError,
    UnsupportedAssignorError,
    UnsupportedVersionError,
)
from gralha.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest


def check_request(request: ConsumerGroupHeartbeatRequest, api_version: int, config: GroupsConfig) -> None:
    """Refuse a request that is wrong whatever the state of the group is."""
    if not config.consumer_protocol_enabled:
        raise UnsupportedVersionError("The consumer group protocol is disabled on this broker.")
    # In version 0 the coordinator creates the id of a new member.
    may_lack_id = api_version == 0 and request.member_epoch in (JOIN_EPOCH, LEAVE_STATIC_EPOCH)
    if not may_lack_id and _is_blank(request.member_id):
        raise InvalidRequestError("MemberId can't be empty.")
    for value, name in (
        (request.group_id, "GroupId"),
        (request.instance_id, "InstanceId"),
        (request.rack_id, "RackId"),
    ):
        if _is_blank(value):
            raise InvalidRequestError(f"{name} can't be empty.")
    if request.member_epoch == JOIN_EPOCH:
        _check_join(request)
    elif request.member_epoch == LEAVE_STATIC_EPOCH:
        if request.instance_id is None:
            raise InvalidRequestError("InstanceId can't be null.")
    elif request.member_epoch < LEAVE_EPOCH:
        raise InvalidRequestError("MemberEpoch is invalid.")
    if request.server_assignor is not None and request.server_assignor not in config.consumer_assignors:
        raise UnsupportedAssignorError(
            f"ServerAssignor {request.server_assignor} is not supported. "
            f"Supported assignors: {', '.join(config.consumer_assignors)}."
        )


def _check_join(request: ConsumerGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == -1:
        raise InvalidRequestError("RebalanceTimeoutMs must be provided in first request.")
    if request.topic_partitions is None or request.topic_partitions:
        raise InvalidRequestError("TopicPartitions must be empty when (re-)joining.")
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        raise InvalidRequestError(
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
        )


def _is_blank(value: str | None) -> bool:
    return value is not None and not value.strip()


def owned_partitions(request: ConsumerGroupHeartbeatRequest) -> Assignment | None:
    """The partitions that the member says it owns; None if it does not say."""
    if request.topic_partitions is None:
        return None
    owned: dict[bytes, frozenset[int]] = {}
    for topic in request.topic_partitions:
        owned[topic.topic_id] = owned.get(topic.topic_id, frozenset()).union(topic.partitions)
    return owned


def check_member_epoch(member: ConsumerMember, epoch: int, owned: Assignment | None) -> None:
    """Refuse another epoch than the member's. Its previous epoch is valid if the last answer was lost.

    In that case the member must not own partitions that are not assigned to it any more.
    """
    if epoch > member.epoch:
        _fence(member, epoch, "greater")
    if epoch < member.epoch and not (epoch == member.previous_epoch and _is_assigned(owned, member)):
        _fence(member, epoch, "smaller")


def _is_assigned(owned: Assignment | None, member: ConsumerMember) -> bool:
    return owned is not None and all(
        topic_id in member.assigned and partitions <= member.assigned[topic_id].keys()
        for topic_id, partitions in owned.items()
    )


def _fence(member: ConsumerMember, epoch: int, compared: str) -> None:
    raise FencedMemberEpochError(
        f"The consumer group member has a {compared} member epoch ({epoch}) than the one known by the group "
        f"coordinator ({member.epoch}). The member must abandon all its partitions and rejoin."
    )


def updated_member(
    member: ConsumerMember, caller: Caller, request: ConsumerGroupHeartbeatRequest
) -> ConsumerMember:
    """The member with the facts in the request. The request may leave out facts that have not changed."""

    def given(value: str | None, otherwise: str | None) -> str | None:
        return otherwise if value is None else value

    timeout_ms = request.rebalance_timeout_ms
    names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
    if regex and regex != member.topic_regex:
        regex_matcher(regex)
    return replace(
        member,
        instance_id=given(request.instance_id, member.instance_id),
        rack_id=given(request.rack_id, member.rack_id),
        client_id=caller.client_id,
        client_host=caller.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        topic_names=member.topic_names if names is None else frozenset(names),
        topic_regex=member.topic_regex if regex is None else regex,
        assignor=given(request.server_assignor, member.assignor),
        classic=None,
    )
