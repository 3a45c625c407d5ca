"""Moves of replicas between folders of a broker: how a move begins, and when it has to wait."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from gralha.cli.program import CommandError
from gralha.cli.reassign_partitions_options import RefusedError
from gralha.cli.reassignment_file import Replica
from gralha.cli.replica_moves import begin_moves
from gralha.client.values import TopicPartition
from gralha.protocol.apis import APIS, ApiKey
from gralha.protocol.errors import ErrorCode
from gralha.protocol.message import Message
from gralha.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from gralha.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from tests.cli.commands import written
from tests.client.fake_broker import Handler, one_broker

FIRST = TopicPartition("t", 0)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def moving_folders(codes: list[int]) -> Handler:
    """Answers with these codes, one after another, then with success."""

    def answer(request: Message, version: int) -> Message:
        assert isinstance(request, AlterReplicaLogDirsRequest)
        ((folder, topic),) = ((one.path, topic) for one in request.dirs for topic in one.topics)
        assert (folder, topic.name, topic.partitions) == ("/b", "t", [0])
        code = codes.pop(0) if codes else ErrorCode.NONE
        result = AlterReplicaLogDirPartitionResult(0, code)
        return AlterReplicaLogDirsResponse(results=[AlterReplicaLogDirTopicResult("t", [result])])

    return answer


def test_a_replica_that_is_not_there_yet_is_moved_later(
    stack: ExitStack, capfd: pytest.CaptureFixture[str]
) -> None:
    broker, admin = one_broker(
        stack, {ApiKey.ALTER_REPLICA_LOG_DIRS: moving_folders([ErrorCode.REPLICA_NOT_AVAILABLE] * 2)}
    )
    begin_moves(admin, {Replica(1, FIRST): "/b"}, 60_000, sleep=lambda seconds: None)
    assert written(capfd).out == (
        "Successfully started moving log directory to /b for replica t-0 with broker 1 \n"
    )
    assert [key for key, _ in broker.requests].count(ApiKey.ALTER_REPLICA_LOG_DIRS) == 3


def test_a_move_that_does_not_begin(stack: ExitStack) -> None:
    codes = [ErrorCode.REPLICA_NOT_AVAILABLE, ErrorCode.LOG_DIR_NOT_FOUND]
    _, admin = one_broker(stack, {ApiKey.ALTER_REPLICA_LOG_DIRS: moving_folders(list(codes))})
    with pytest.raises(RefusedError, match="Timed out before log directory move could be started for: t-0-1"):
        begin_moves(admin, {Replica(1, FIRST): "/b"}, 0)
    with pytest.raises(CommandError, match="Failed to alter dir for t-0-1: "):
        begin_moves(admin, {Replica(1, FIRST): "/b"}, 0)


def test_a_broker_that_moves_no_replicas_needs_not_where_they_are_in_place(
    stack: ExitStack, capfd: pytest.CaptureFixture[str]
) -> None:
    held = DescribeLogDirsTopic("t", [DescribeLogDirsPartition(0, 1, 0, False)])
    folders = DescribeLogDirsResponse(results=[DescribeLogDirsResult(ErrorCode.NONE, "/b", [held], 1, 1)])
    versions = {
        key: (api.min_version, api.max_version)
        for key, api in APIS.items()
        if key != ApiKey.ALTER_REPLICA_LOG_DIRS
    }
    _, admin = one_broker(stack, {ApiKey.DESCRIBE_LOG_DIRS: lambda request, version: folders}, versions)
    begin_moves(admin, {Replica(1, FIRST): "/b"}, 0)
    assert "Successfully started" in written(capfd).out
    with pytest.raises(CommandError, match=r"t-0-1: .* does not support ALTER_REPLICA_LOG_DIRS"):
        begin_moves(admin, {Replica(1, FIRST): "/other"}, 0)
