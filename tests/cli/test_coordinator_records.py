"""Records of coordinators in kafka-dump-log and kafka-console-consumer, beside Apache Kafka's own."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from gralha.cli import console_consumer, dump_log
from gralha.cli.coordinator_records import FORMATTERS, CoordinatorRecordFormatter
from gralha.cli.message_formatter import ConsumedRecord
from gralha.cli.program import CommandError
from gralha.protocol.coordinator_records import RecordKind, encode_key, encode_value
from gralha.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from gralha.protocol.messages.group_records import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from gralha.protocol.messages.share_state_records import (
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareUpdateKey,
    ShareUpdateValue,
    StateBatch,
)
from gralha.protocol.messages.transaction_records import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from gralha.protocol.records import Record, encode_batch
from tests.apache.kafka import run_tool
from tests.groups.golden_records import READ, WRITTEN

PACKAGE = "org.apache.kafka.tools.consumer."
OWNED = [TopicPartition("órdenes", [0, 2])]
SUBSCRIPTION = ConsumerProtocolSubscription(["órdenes"], b"\7", OWNED, 4, "r")
OFFSETS = FORMATTERS["OffsetsMessageFormatter"]
GROUPS = FORMATTERS["GroupMetadataMessageFormatter"]
ID = bytes(range(16))


def classic_group(protocol_type: str, *contents: bytes) -> tuple[bytes, bytes]:
    """A classic group with a member for each subscription. The assignment has the same bytes."""
    members = [
        MemberMetadata(f"m{number}", None, "c", "h", 1, 2, subscription=data, assignment=data)
        for number, data in enumerate(contents)
    ]
    value = GroupMetadataValue(protocol_type, 5, "range", "m0", 7, members)
    return encode_key(GroupMetadataKey("g")), encode_value(value, 3)


def all_records() -> list[tuple[bytes, bytes | None]]:
    records = [
        (bytes.fromhex(key), None if value is None else bytes.fromhex(value))
        for _, key, value in WRITTEN + READ
    ]
    sound = [encode_value(SUBSCRIPTION, version) for version in range(4)]
    sound += [encode_value(ConsumerProtocolAssignment(OWNED, None), version) for version in range(4)]
    unsound = [b"", b"\0", b"\0\0", b"\xff\xff\0\0", b"\0\4" + sound[3][2:]]
    records.append(classic_group("consumer", *sound, *unsound))
    records.append(classic_group("connect", *sound))
    records.append((b"\x7f\xff1", b"x"))  # from some newer version
    records.append((records[0][0], b"\0\7"))
    records.append((b"\0\2\0", b"\0\3"))
    return records


def transactions() -> list[tuple[bytes, bytes | None]]:
    """Records of transactions, in both versions, and unsound ones."""
    key = encode_key(TransactionLogKey("pagár"))
    partitions = [PartitionsSchema("órdenes", [0, 2]), PartitionsSchema("b", [])]
    full = TransactionLogValue(7, 6, 8, 3, 2, 60000, 1, partitions, 1_700_000_000_000, -1, 2)
    plain = TransactionLogValue(7, -1, -1, 3, -1, 60000, 0, None, 5, 4, 0)
    values = [encode_value(full, 1), encode_value(plain, 1), encode_value(plain, 0)]
    records: list[tuple[bytes, bytes | None]] = [(key, value) for value in values]
    return [*records, (key, None), (key, values[0][:9]), (b"\0\5", b""), (b"\0\0\0", values[1])]


def share_states() -> list[tuple[bytes, bytes | None]]:
    batches = [StateBatch(3, 5, 2, 1), StateBatch(6, 6, 0, 4)]
    snapshot, update = (kind("g", ID, 4) for kind in (ShareSnapshotKey, ShareUpdateKey))
    return [
        (encode_key(snapshot), encode_value(ShareSnapshotValue(1, 2, 3, 4, 5, 6, 7, batches), 0)),
        (encode_key(snapshot), encode_value(ShareSnapshotValue(1, 2, 3, 4, -1, 6, 7, []), 0)),
        (encode_key(update), encode_value(ShareUpdateValue(1, 2, 3, 4, batches), 0)),
        (encode_key(snapshot), None),
        (b"\0\7", b""),
    ]


@pytest.mark.parametrize(
    ("decoder", "records"),
    [
        ("--offsets-decoder", all_records()),
        ("--transaction-log-decoder", transactions()),
        ("--share-group-state-decoder", share_states()),
    ],
    ids=["offsets", "transactions", "share states"],
)
def test_dump_log_shows_what_apache_kafka_shows(
    decoder: str,
    records: list[tuple[bytes, bytes | None]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(encode_batch([Record(key, value, 5) for key, value in records]))
    theirs = run_tool("kafka-dump-log", decoder, "--files", str(path))
    assert dump_log.main([decoder, "--files", str(path)]) == 0
    ours = capsys.readouterr().out
    # Our reasons why a record cannot be read have other words.
    assert [words_cut(line) for line in ours.splitlines()] == [
        words_cut(line) for line in theirs.stdout.splitlines()
    ]


def words_cut(line: str) -> str:
    before, error, _ = line.partition("skipping. ")
    return before + error


def test_a_log_without_keys_is_none_of_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(encode_batch([Record(None, b"value", 5)]))
    assert dump_log.main(["--offsets-decoder", "--files", str(path)]) == 1
    error = capsys.readouterr().err
    assert error == f"{path} has other records than expected: the record at offset 0 has no key\n"


def consumed(key: bytes | None, value: bytes | None) -> ConsumedRecord:
    return ConsumedRecord("__consumer_offsets", 0, 3, "CreateTime", 5, 0, [], key, value)


def shown(kinds: Mapping[int, RecordKind], message_number: int) -> object:
    _, key, value = WRITTEN[message_number]
    line = CoordinatorRecordFormatter(kinds).format(
        consumed(bytes.fromhex(key), None if value is None else bytes.fromhex(value))
    )
    return json.loads(line) if line else None


def test_formatters_show_their_own_kind_of_records() -> None:
    offset_key = {"type": 1, "data": {"group": "gähn", "topic": "orders", "partition": 3}}
    assert shown(OFFSETS, 0) == {
        "key": offset_key,
        "value": {
            "version": 4,
            "data": {
                "offset": 42,
                "leaderEpoch": 7,
                "metadata": "note",
                "commitTimestamp": 1700000000000,
                "topicId": "AAECAwQFBgcICQoLDA0ODw",
            },
        },
    }
    assert shown(OFFSETS, 2) == {"key": offset_key, "value": None}
    assert shown(GROUPS, 5) == {"key": {"type": 2, "data": {"group": "g"}}, "value": None}
    assert shown(OFFSETS, 5) is None
    assert shown(GROUPS, 0) is None


def test_formatters_leave_subscriptions_in_base64() -> None:
    line = CoordinatorRecordFormatter(GROUPS).format(consumed(*classic_group("consumer", b"\0\1")))
    assert line.endswith(b'"subscription":"AAE=","assignment":"AAE="}]}}}\n')


def test_formatters_pass_over_what_they_do_not_know() -> None:
    formatter = CoordinatorRecordFormatter(OFFSETS)
    assert formatter.format(consumed(None, b"value")) == b""
    assert formatter.format(consumed(b"\x7f\xff", b"value")) == b""
    with pytest.raises(CommandError, match="Could not read record at offset 3 due to: "):
        formatter.format(consumed(b"\0\1", b"value"))


@pytest.mark.parametrize(
    ("name", "number"), [("OffsetsMessageFormatter", 0), ("GroupMetadataMessageFormatter", 5)]
)
def test_the_console_consumer_has_these_formatters(name: str, number: int) -> None:
    options = ["--bootstrap-server", "localhost:1", "--topic", "t", "--formatter", PACKAGE + name]
    formatter = console_consumer.make_formatter(console_consumer.parse_options(options))
    assert formatter is not None
    for record, key, value in WRITTEN:
        line = formatter.format(consumed(bytes.fromhex(key), bytes.fromhex(value) if value else None))
        same_kind = type(record.key) is type(WRITTEN[number][0].key)
        assert bool(line) == same_kind


@pytest.mark.parametrize(
    "name",
    [
        f"{PACKAGE}TransactionLogMessageFormatter",
        "kafka.coordinator.transaction.TransactionLog$TransactionLogMessageFormatter",
    ],
)
def test_the_console_consumer_shows_transactions(name: str) -> None:
    options = ["--bootstrap-server", "localhost:1", "--topic", "t", "--formatter", name]
    formatter = console_consumer.make_formatter(console_consumer.parse_options(options))
    assert formatter is not None
    key, value = transactions()[1]
    assert json.loads(formatter.format(consumed(key, value))) == {
        "key": {"type": 0, "data": {"transactionalId": "pagár"}},
        "value": {
            "version": 1,
            "data": {
                "producerId": 7,
                "producerEpoch": 3,
                "transactionTimeoutMs": 60000,
                "transactionStatus": 0,
                "transactionPartitions": None,
                "transactionLastUpdateTimestampMs": 5,
                "transactionStartTimestampMs": 4,
            },
        },
    }


def test_the_console_consumer_shows_states_of_share_groups() -> None:
    name = f"{PACKAGE}group.share.ShareGroupStateMessageFormatter"
    options = ["--bootstrap-server", "localhost:1", "--topic", "t", "--formatter", name]
    formatter = console_consumer.make_formatter(console_consumer.parse_options(options))
    assert formatter is not None
    lines = [
        json.loads(line) for line in (formatter.format(consumed(*one)) for one in share_states()) if line
    ]
    assert [line["key"]["type"] for line in lines] == [0, 0, 1, 0]
