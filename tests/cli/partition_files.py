"""A folder with every kind of file that kafka-dump-log shows, right ones and wrong ones."""

from __future__ import annotations

import struct
from pathlib import Path

from fastcrc import crc32

from gralha.protocol import control_records
from gralha.protocol.control_records import encode_control_batch, encode_end_marker
from gralha.protocol.message import Message
from gralha.protocol.messages import (
    broker_records,
    cluster_records,
    raft_records,
    security_records,
    topic_records,
)
from gralha.protocol.primitives import Writer
from gralha.protocol.records import Record, encode_batch

NOON = 1_700_000_000_000
UUID = bytes(range(16))


def data_batches() -> list[bytes]:
    """Ten batches in every compression; some with headers, nulls, producers and append time."""
    found = []
    offset = 0
    for number in range(10):
        records = [
            Record(
                None if index == 1 else b"key %d" % index,
                None if index == 2 else f"válue {number} ".encode() * (index + 1),
                NOON + 100 * number - index,
                [("first", b"1"), ("gr\u00e1lha", None)] if index == 3 else None,
            )
            for index in range(4)
        ]
        found.append(
            encode_batch(
                records,
                base_offset=offset,
                compression=number % 5,
                leader_epoch=number // 3,
                producer_id=7 if number % 2 else -1,
                producer_epoch=1 if number % 2 else -1,
                base_sequence=2**31 - 2 if number % 2 else -1,
                append_time_ms=NOON + 5000 if number == 8 else -1,
                transactional=number == 7,
            )
        )
        offset += len(records)
    return found


def control_batches() -> list[bytes]:
    """One control batch of each type, and one of an unknown type."""
    voters = [
        raft_records.Voter(
            voter_id=1,
            voter_directory_id=UUID,
            endpoints=[raft_records.Endpoint(name="CONTROLLER", host="localhost", port=65535)],
            kraft_version_feature=raft_records.KRaftVersionFeature(0, 1),
        )
    ]
    messages: list[tuple[int, Message, int]] = [
        (
            control_records.LEADER_CHANGE,
            raft_records.LeaderChangeMessage(0, 1, [raft_records.LeaderChangeVoter(1)], []),
            0,
        ),
        (control_records.SNAPSHOT_HEADER, raft_records.SnapshotHeaderRecord(0, NOON), 0),
        (control_records.KRAFT_VERSION, raft_records.KRaftVersionRecord(0, 1), 0),
        (control_records.KRAFT_VOTERS, raft_records.VotersRecord(0, voters), 0),
        (control_records.SNAPSHOT_FOOTER, raft_records.SnapshotFooterRecord(0), 0),
    ]
    found = []
    for number, (kind, message, version) in enumerate(messages):
        value = _encoded(message, version)
        found.append(encode_control_batch(kind, value, timestamp_ms=NOON, base_offset=number, leader_epoch=3))
    found.append(encode_control_batch(9, b"what?", timestamp_ms=NOON, base_offset=len(found)))
    for commit in (True, False):
        found.append(
            encode_end_marker(
                commit=commit,
                coordinator_epoch=5,
                producer_id=7,
                producer_epoch=1,
                timestamp_ms=NOON,
                base_offset=len(found),
            )
        )
    return found


def metadata_values() -> list[bytes]:
    """Records of the metadata log: every declared type, except similar ones."""
    records: list[Message] = [
        topic_records.TopicRecord("t\u00f3pico", UUID),
        topic_records.PartitionRecord(
            partition_id=3,
            topic_id=UUID,
            replicas=[1, 2],
            isr=[1],
            leader=1,
            leader_epoch=4,
            partition_epoch=9,
            directories=[UUID, bytes(16)],
            eligible_leader_replicas=[2],
        ),
        topic_records.PartitionChangeRecord(partition_id=3, topic_id=UUID, isr=[], leader=-1),
        topic_records.RemoveTopicRecord(UUID),
        broker_records.RegisterBrokerRecord(
            broker_id=1,
            incarnation_id=UUID,
            broker_epoch=5,
            end_points=[broker_records.BrokerEndpoint("PLAINTEXT", "localhost", 9092, 0)],
            features=[broker_records.BrokerFeature("metadata.version", 7, 30)],
            rack="a",
            fenced=True,
            log_dirs=[UUID],
        ),
        broker_records.BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=5, fenced=-1),
        broker_records.FenceBrokerRecord(1, 5),
        broker_records.UnfenceBrokerRecord(1, 5),
        cluster_records.ConfigRecord(2, "t", "retention.ms", None),
        cluster_records.FeatureLevelRecord("metadata.version", 30),
        cluster_records.ProducerIdsRecord(1, 5, 1000),
        cluster_records.NoOpRecord(),
        cluster_records.BeginTransactionRecord("first"),
        cluster_records.BeginTransactionRecord(),
        cluster_records.EndTransactionRecord(),
        cluster_records.AbortTransactionRecord("no"),
        security_records.AccessControlEntryRecord(UUID, 2, "t", 3, "User:a", "*", 3, 3),
        security_records.UserScramCredentialRecord("a", 1, b"salt", b"stored", b"server", 4096),
    ]
    found = []
    for record in records:
        writer = Writer()
        for number in (1, record.API_KEY, record.MAX_VERSION):
            writer.write_unsigned_varint(number)
        record.encode(writer, record.MAX_VERSION)
        found.append(writer.to_bytes())
    return found


def _encoded(message: Message, version: int) -> bytes:
    writer = Writer()
    message.encode(writer, version)
    return writer.to_bytes()


def offset_index(base: int, entries: list[tuple[int, int]]) -> bytes:
    return b"".join(struct.pack(">ii", offset - base, position) for offset, position in entries)


def time_index(base: int, entries: list[tuple[int, int]]) -> bytes:
    return b"".join(struct.pack(">qi", timestamp, offset - base) for timestamp, offset in entries)


def producer_snapshot(entries: list[tuple[int, ...]]) -> bytes:
    body = struct.pack(">i", len(entries)) + b"".join(struct.pack(">qhiqiqiq", *entry) for entry in entries)
    return struct.pack(">hI", 1, crc32.iscsi(body)) + body


def write_folder(folder: Path) -> list[str]:
    """Writes all files. Returns their names, with the correct ones first."""
    batches = data_batches()
    starts = [sum(map(len, batches[:i])) for i in range(len(batches))]
    lasts = [4 * i + 3 for i in range(len(batches))]
    offsets = [(lasts[i], starts[i]) for i in (2, 5, 7)]
    times = [(NOON + 200, lasts[2]), (NOON + 500, lasts[5]), (NOON + 700, lasts[7]), (NOON + 5000, lasts[8])]
    metadata = encode_batch([Record(None, value, NOON) for value in metadata_values()], leader_epoch=2)
    wrong_crc = bytearray(batches[0])
    wrong_crc[17] ^= 1
    horizon = bytearray(batches[1])
    horizon[22] |= 0x40
    aborted = [struct.pack(">hqqqq", 0, 7, 0, 3, 4), struct.pack(">hqqqq", 0, 8, 5, 9, 10)]
    files = {
        "00000000000000000000.log": b"".join(batches),
        "00000000000000000000.index": offset_index(0, offsets),
        "00000000000000000000.timeindex": time_index(0, times),
        "00000000000000000000.txnindex": b"".join(aborted),
        "00000000000000000040.snapshot": producer_snapshot(
            [(7, 1, 5, 39, 3, NOON, 2, -1), (8, 0, 1, 39, 3, NOON, -1, 17), (9, 0, -1, -1, 0, NOON, 4, -1)]
        ),
        "00000000000000000100.log": b"".join(control_batches()),
        "00000000000000000100.index": b"",
        "00000000000000000100.timeindex": b"",
        "00000000000000000099-0000000003.checkpoint": metadata,
        "bootstrap.checkpoint": control_batches()[1] + metadata + control_batches()[4],
        # The following files are wrong in some way.
        "00000000000000000200.log": bytes(wrong_crc) + bytes(horizon) + batches[0] + batches[4] + b"torn",
        "00000000000000000000.1": b"",
        "00000000000000000300.log": b"".join(batches),
        "00000000000000000300.index": offset_index(300, [(303, 0), (305, starts[1])]) + bytes(16),
        "00000000000000000400.log": b"".join(batches),
        "00000000000000000400.index": offset_index(400, []),
        "00000000000000000400.timeindex": time_index(400, [(NOON, 403)]) + bytes(24),
    }
    # The entry points to a batch of the log, but they do not agree.
    files["wrong/00000000000000000000.log"] = b"".join(batches)
    files["wrong/00000000000000000000.index"] = offset_index(
        0, [(lasts[2], starts[3]), (lasts[5] - 1, starts[5])]
    )
    files["wrong/00000000000000000000.timeindex"] = time_index(
        0, [(NOON + 100, lasts[1]), (NOON + 77, lasts[2]), (NOON + 300, lasts[3] - 1), (NOON + 600, 4000)]
    )
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return list(files)
