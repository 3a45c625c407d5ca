"""The JSON of kafka-consumer-groups --describe: offsets, members and states."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gralha.cli.consumer_groups_description import OffsetRow
from gralha.cli.reset_plan import Plan
from gralha.client.group_values import GroupDescription
from gralha.client.values import TopicPartition
from gralha.protocol.errors import KafkaError


def offsets(group: GroupDescription, rows: Sequence[OffsetRow]) -> dict[str, Any]:
    """A group with its committed offsets and its lag. Numbers are null if they are not known."""
    return {
        "group": group.group_id,
        "state": group.state,
        "offsets": [
            {
                "topic": row.partition.topic,
                "partition": row.partition.partition,
                "currentOffset": None if row.committed is None else row.committed.offset,
                "leaderEpoch": None if row.committed is None else row.committed.leader_epoch,
                "logEndOffset": row.log_end_offset,
                "lag": row.lag,
                "consumerId": _known(row.consumer_id),
                "host": _known(row.host),
                "clientId": _known(row.client_id),
            }
            for row in rows
        ],
    }


def members(group: GroupDescription) -> dict[str, Any]:
    """A group with its members and what they read."""
    return {
        "group": group.group_id,
        "state": group.state,
        "members": [
            {
                "consumerId": member.member_id,
                "groupInstanceId": member.instance_id,
                "host": member.host,
                "clientId": member.client_id,
                "currentEpoch": member.epoch,
                "currentAssignment": _partitions(member.assignment),
                "targetEpoch": group.assignment_epoch,
                "targetAssignment": _partitions(member.target_assignment or []),
                "isUpgraded": member.is_upgraded,
            }
            for member in group.members
        ],
    }


def state(group: GroupDescription) -> dict[str, Any]:
    """A group with its state and its coordinator."""
    return {
        "group": group.group_id,
        "type": group.type,
        "state": group.state,
        "coordinator": {
            "id": group.coordinator.id,
            "host": group.coordinator.host,
            "port": group.coordinator.port,
        },
        "assignmentStrategy": group.assignor or None,
        "groupEpoch": group.epoch,
        "targetAssignmentEpoch": group.assignment_epoch,
        "memberCount": len(group.members),
    }


def new_offsets(plan: Plan) -> list[dict[str, Any]]:
    """The plan of a reset."""
    return [
        {
            "group": group_id,
            "offsets": [
                {"topic": one.topic, "partition": one.partition, "newOffset": offset}
                for one, offset in sorted(found.items())
            ],
        }
        for group_id, found in sorted(plan.items())
    ]


def deletion(group_id: str, results: Mapping[TopicPartition, KafkaError | None]) -> dict[str, Any]:
    """What became of the offsets of a group. The partitions of an unknown topic are not known."""
    return {
        "group": group_id,
        "offsets": [
            {
                "topic": one.topic,
                "partition": one.partition if one.partition >= 0 else None,
                "error": None if error is None else str(error),
            }
            for one, error in sorted(results.items(), key=lambda item: item[0])
        ],
    }


def _partitions(partitions: Iterable[TopicPartition]) -> list[dict[str, Any]]:
    return [{"topic": one.topic, "partition": one.partition} for one in sorted(partitions)]


def _known(text: str) -> str | None:
    return None if text == "-" else text
