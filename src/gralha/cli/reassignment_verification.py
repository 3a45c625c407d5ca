"""The JSON of kafka-reassign-partitions --verify: where the partitions of a plan are."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gralha.cli.reassignment_file import ReassignmentPlan, Replica
    from gralha.cli.replica_moves import Folders
    from gralha.client.values import TopicPartition


def verification(
    plan: "ReassignmentPlan",
    current: "Mapping[TopicPartition, Sequence[int]]",
    folders: "Mapping[Replica, Folders]",
) -> dict[str, Any]:
    """The partitions and the folders of a plan. Partitions that move have no current replicas."""
    return {
        "partitions": [
            {
                "topic": partition.topic,
                "partition": partition.partition,
                "isMoving": partition not in current,
                "replicas": list(current[partition]) if partition in current else None,
                "targetReplicas": list(target),
            }
            for partition, target in sorted(plan.replicas().items())
        ],
        "folders": [
            {
                "topic": one.partition.topic,
                "partition": one.partition.partition,
                "broker": one.broker,
                "logDir": folders[one].current,
                "futureLogDir": folders[one].future,
                "targetLogDir": plan.folders[one],
            }
            for one in sorted(folders)
        ],
    }
