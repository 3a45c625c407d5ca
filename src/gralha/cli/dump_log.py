"""kafka-dump-log: prints the files of a partition, without a broker.

Options and output are those of Apache Kafka's command.
"""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from gralha.cli.arguments import CommandParser, given, positive_int
from gralha.cli.dump_index import (
    Mismatches,
    dump_index,
    dump_snapshot,
    dump_time_index,
    dump_transaction_index,
)
from gralha.cli.log_files import Batch, SegmentFile, base_offset
from gralha.cli.program import CommandError, run
from gralha.protocol import control_records
from gralha.protocol.compression import codec_name
from gralha.protocol.errors import KafkaError
from gralha.protocol.message import Message
from gralha.protocol.primitives import ProtocolError, Reader
from gralha.protocol.records import BatchHeader, Record, crc_is_valid, decode_records

# Kafka's limits are Java integers.
_ALL_BYTES: Final = 2**31 - 1
_CHECKPOINT_NAME: Final = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_BOOTSTRAP_NAME: Final = "bootstrap.checkpoint"

# For records of coordinators, in the order in which Kafka looks for them.
_COORDINATOR_DECODERS: Final = ("offsets-decoder", "transaction-log-decoder", "share-group-state-decoder")

Decoder = Callable[[bytes], str]


def _decode_integer(data: bytes) -> str:
    return str(int.from_bytes(data, "big", signed=True))


def _decode_string(data: bytes) -> str:
    return data.decode("utf-8", "replace")


# Kafka's own decoders, by the last part of their class name. Others would need Java.
_DECODERS: Final[dict[str, Decoder]] = {
    "StringDecoder": _decode_string,
    "IntegerDecoder": _decode_integer,
    "LongDecoder": _decode_integer,
    "DefaultDecoder": bytes.hex,
}


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_body, arguments)


def _parser() -> CommandParser:
    parser = CommandParser(
        "kafka-dump-log",
        "Shows what the log files, index files and snapshots of a partition hold.",
        [
            "--print-data-log --files /data/orders-0/00000000000000000000.log",
        ],
    )
    parser.value("files", "REQUIRED: the files to show, separated by commas", metavar="FILE,...")
    parser.flag("print-data-log", "show keys and values too; any decoder implies it")
    parser.flag("deep-iteration", "show records, not only batches; --print-data-log implies it")
    parser.flag("index-sanity-check", "only check whether a starting broker would rebuild an index")
    parser.flag("verify-index-only", "only compare an index with its log, without showing its entries")
    parser.value(
        "max-message-size", "the largest batch to expect", kind=positive_int, default=5 * 1024 * 1024
    )
    parser.value("max-bytes", "stop after this many bytes of a log", kind=positive_int, default=_ALL_BYTES)
    for what in ("key", "value"):
        parser.value(
            f"{what}-decoder-class",
            f"how to show {what}s: {', '.join(_DECODERS)} (default: StringDecoder)",
            nargs="?",
            const="StringDecoder",
            metavar="CLASS",
        )
    parser.flag("offsets-decoder", "show keys and values as records of __consumer_offsets")
    parser.flag("transaction-log-decoder", "show keys and values as records of __transaction_state")
    parser.flag("share-group-state-decoder", "show keys and values as records of __share_group_state")
    parser.flag("cluster-metadata-decoder", "show values as records of the metadata log")
    parser.flag("skip-record-metadata", "show keys and values only, and no control records")
    return parser


def _body(arguments: list[str]) -> int:
    options = _parser().parse(arguments, "files")
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    mismatches = Mismatches()
    dump = _LogDump(options, mismatches)
    for name in options.files.split(","):
        print(f"Dumping {name}")
        try:
            _dump(name, options, dump, mismatches)
        except BrokenPipeError:
            # This is our own output: its reader has stopped reading.
            raise
        except OSError as error:
            raise CommandError(f"{name} cannot be read: {error.strerror}") from None
    sys.stdout.flush()
    mismatches.print()
    return 0


def _dump(name: str, options: Namespace, dump: _LogDump, mismatches: Mismatches) -> None:
    path = Path(name)
    if path.suffix in (".log", ".checkpoint"):
        dump.file(path)
    elif path.suffix == ".index":
        dump_index(name, options.index_sanity_check, options.verify_index_only, mismatches)
    elif path.suffix == ".timeindex":
        dump_time_index(name, options.index_sanity_check, options.verify_index_only, mismatches)
    elif path.suffix == ".snapshot":
        dump_snapshot(path)
    elif path.suffix == ".txnindex":
        dump_transaction_index(path)
    else:
        sys.stdout.flush()
        print(f"Ignoring unknown file {name}", file=sys.stderr)


class _LogDump:
    """Prints logs, and collects gaps between offsets."""

    def __init__(self, options: Namespace, mismatches: Mismatches) -> None:
        self._mismatches = mismatches
        self._max_bytes: int = options.max_bytes
        self._coordinator = next((name for name in _COORDINATOR_DECODERS if given(options, name)), None)
        self._metadata: bool = options.cluster_metadata_decoder
        self._key_decoder = _decoder(options.key_decoder_class)
        self._value_decoder = _decoder(options.value_decoder_class)
        self._with_contents: bool = (
            options.print_data_log
            or self._coordinator is not None
            or options.cluster_metadata_decoder
            or options.key_decoder_class is not None
            or options.value_decoder_class is not None
        )
        self._deep: bool = options.deep_iteration or self._with_contents
        self._bare: bool = options.skip_record_metadata

    def file(self, path: Path) -> None:
        print(_title(path))
        with SegmentFile(path) as segment:
            end = min(segment.size, self._max_bytes)
            position = 0
            last_offset = -1
            for batch in segment.batches(0, end):
                print(_batch_line(batch))
                if self._deep:
                    last_offset = self._records(path, batch, last_offset)
                position = batch.position + batch.header.size_bytes
            if position < end and self._max_bytes == _ALL_BYTES:
                print(f"Found {end - position} invalid bytes at the end of {path.name}")

    def _records(self, path: Path, batch: Batch, last_offset: int) -> int:
        header = batch.header
        try:
            records = decode_records(batch.data, 0, header, _ALL_BYTES)
        except KafkaError as error:
            raise CommandError(f"{path} is corrupt at position {batch.position}: {error.message}") from None
        for record in records:
            if last_offset not in (-1, record.offset - 1):
                self._mismatches.not_consecutive(path, last_offset, record.offset)
            last_offset = record.offset
            try:
                print(self._record_line(header, record))
            except ProtocolError as error:
                raise CommandError(f"{path} has other records than expected: {error}") from None
        return last_offset

    def _record_line(self, header: BatchHeader, record: Record) -> str:
        parts: list[str] = []
        if not self._bare:
            parts.append(_record_fields(header, record))
            if header.is_control:
                parts.append(_control_fields(record))
        if self._with_contents and not header.is_control:
            parts.extend(self._contents(record))
        return f"| {' '.join(parts)}" if parts else ""

    def _contents(self, record: Record) -> list[str]:
        if self._coordinator is not None:
            from gralha.cli.coordinator_records import DECODERS, dumped

            return dumped(DECODERS[self._coordinator], record)
        if self._metadata:
            return [f"payload: {_metadata_text(record)}"]
        parts = []
        if record.key is not None:
            parts.append(f"key: {self._key_decoder(record.key)}")
        if record.value is not None:
            parts.append(f"payload: {self._value_decoder(record.value)}")
        return parts


def _decoder(class_name: str | None) -> Decoder:
    name = (class_name or "StringDecoder").rpartition(".")[2]
    if name not in _DECODERS:
        raise CommandError(f"{class_name} is Java code. Use one of {', '.join(_DECODERS)}")
    return _DECODERS[name]


def _title(path: Path) -> str:
    if path.suffix == ".log":
        return f"Log starting offset: {base_offset(path)}"
    if path.name == _BOOTSTRAP_NAME:
        return "KRaft bootstrap snapshot"
    parts = _CHECKPOINT_NAME.fullmatch(path.name)
    if parts is None:
        raise CommandError(
            f"{path} is not a snapshot of the metadata log: its name should be OFFSET-EPOCH.checkpoint"
        )
    return f"Snapshot end offset: {int(parts[1])}, epoch: {int(parts[2])}"


def _batch_line(batch: Batch) -> str:
    header = batch.header
    horizon = f"OptionalLong[{header.base_timestamp}]" if header.has_delete_horizon else "OptionalLong.empty"
    return (
        f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} count: {header.record_count} "
        f"baseSequence: {header.base_sequence} lastSequence: {header.last_sequence} "
        f"producerId: {header.producer_id} producerEpoch: {header.producer_epoch} "
        f"partitionLeaderEpoch: {header.partition_leader_epoch} "
        f"isTransactional: {_boolean(header.is_transactional)} isControl: {_boolean(header.is_control)} "
        f"deleteHorizonMs: {horizon} position: {batch.position} "
        f"{_timestamp_type(header)}: {header.max_timestamp} size: {header.size_bytes} magic: {header.magic} "
        f"compresscodec: {codec_name(header.compression)} crc: {header.crc} "
        f"isvalid: {_boolean(crc_is_valid(batch.data, 0, header))}"
    )


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def _timestamp_type(header: BatchHeader) -> str:
    return "LogAppendTime" if header.is_log_append_time else "CreateTime"


def _record_fields(header: BatchHeader, record: Record) -> str:
    key_size = -1 if record.key is None else len(record.key)
    value_size = -1 if record.value is None else len(record.value)
    header_keys = ",".join(name for name, _ in record.headers)
    return (
        f"offset: {record.offset} {_timestamp_type(header)}: {record.timestamp} "
        f"keySize: {key_size} valueSize: {value_size} sequence: {record.sequence} headerKeys: [{header_keys}]"
    )


def _control_fields(record: Record) -> str:
    kind = control_records.control_type(record.key)
    if kind in (control_records.COMMIT, control_records.ABORT):
        name = "COMMIT" if kind == control_records.COMMIT else "ABORT"
        epoch = control_records.coordinator_epoch(record.value)
        return f"endTxnMarker: {name} coordinatorEpoch: {epoch}"
    from gralha.protocol.messages import raft_records

    labels: dict[int, tuple[str, type[Message]]] = {
        control_records.LEADER_CHANGE: ("LeaderChange:", raft_records.LeaderChangeMessage),
        control_records.SNAPSHOT_HEADER: ("SnapshotHeader", raft_records.SnapshotHeaderRecord),
        control_records.SNAPSHOT_FOOTER: ("SnapshotFooter", raft_records.SnapshotFooterRecord),
        control_records.KRAFT_VERSION: ("KRaftVersion", raft_records.KRaftVersionRecord),
        control_records.KRAFT_VOTERS: ("KRaftVoters", raft_records.VotersRecord),
    }
    if kind not in labels:
        return f"controlType: UNKNOWN({kind})"
    from gralha.protocol.message_json import json_text, to_json

    label, message_class = labels[kind]
    value = record.value or b""
    # Each of these messages begins with its own version.
    version = Reader(value).int16()
    return f"{label} {json_text(to_json(message_class.decode(Reader(value), version), version))}"


def _metadata_text(record: Record) -> str:
    from gralha.cli.redaction import without_secrets
    from gralha.protocol.message_json import json_text, metadata_record_to_json

    try:
        return json_text(without_secrets(metadata_record_to_json(record.value or b"")))
    except ProtocolError as error:
        return f"Error at {record.offset}, skipping. {error}"
