"""DescribeLogDirs (versions 1 to 5): the data folders of this broker, their partitions and sizes.

Null topics mean every partition on this broker. From version 4 on each folder has the size and the free space
of its file system (KIP-827), from version 5 on whether it is cordoned (KIP-1066). If the file system of a
folder cannot be asked, the answer is KAFKA_STORAGE_ERROR.

Gaps: replicas cannot move between folders here, so `is_future_key` is never set.
"""

import os.path

from gralha.broker.broker import Broker
from gralha.broker.pipeline import RequestContext
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from gralha.storage.disk import DiskError
from gralha.storage.log import Log


def handle(
    broker: Broker, context: RequestContext, request: DescribeLogDirsRequest
) -> DescribeLogDirsResponse:
    wanted = _wanted_logs(broker, request)
    return DescribeLogDirsResponse(
        results=[_describe(broker, folder, wanted) for folder in broker.logs.folders]
    )


def _wanted_logs(broker: Broker, request: DescribeLogDirsRequest) -> list[Log]:
    logs = broker.logs.logs
    if request.topics is None:
        return list(logs.values())
    keys = dict.fromkeys((topic.topic, index) for topic in request.topics for index in topic.partitions)
    return [logs[key] for key in keys if key in logs]


def _describe(broker: Broker, folder: str, wanted: list[Log]) -> DescribeLogDirsResult:
    path = os.path.abspath(folder)
    try:
        total_bytes, usable_bytes = broker.logs.disk.usage(folder)
    except DiskError:
        return DescribeLogDirsResult(log_dir=path, error_code=ErrorCode.KAFKA_STORAGE_ERROR)
    return DescribeLogDirsResult(
        log_dir=path,
        topics=_topics([log for log in wanted if log.data_folder == folder]),
        total_bytes=total_bytes,
        usable_bytes=usable_bytes,
        is_cordoned=folder in broker.logs.cordoned,
    )


def _topics(logs: list[Log]) -> list[DescribeLogDirsTopic]:
    topics: dict[str, DescribeLogDirsTopic] = {}
    for log in logs:
        topic = topics.setdefault(log.topic, DescribeLogDirsTopic(name=log.topic))
        topic.partitions.append(
            DescribeLogDirsPartition(
                partition_index=log.partition,
                partition_size=log.size_bytes(),
                # How far a follower's log ends before the records that consumers may read.
                offset_lag=max(log.high_watermark - log.log_end_offset, 0),
            )
        )
    return list(topics.values())
