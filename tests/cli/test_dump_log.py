"""kafka-dump-log: the same lines as Apache Kafka's own, and one clear line when a file is wrong."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gralha.cli.dump_log import main
from gralha.metadata.image import BROKER_RESOURCE
from gralha.metadata.records import encode_record
from gralha.protocol import control_records
from gralha.protocol.control_records import encode_control_batch
from gralha.protocol.messages.cluster_records import ConfigRecord
from gralha.protocol.messages.raft_records import LeaderChangeMessage, LeaderChangeVoter
from gralha.protocol.messages.security_records import UserScramCredentialRecord
from gralha.protocol.primitives import Writer
from gralha.protocol.records import Record, encode_batch
from tests.apache.kafka import run_tool
from tests.cli.partition_files import data_batches, metadata_values, offset_index, time_index, write_folder

LOG = "00000000000000000000.log"


def output(lines: str) -> list[str]:
    """Standard output without the reason why a record could not be decoded, which has our own words."""
    return [re.sub(r"(Error at \d+, skipping\.).*", r"\1", line) for line in lines.splitlines()]


def without_keys(lines: str) -> str:
    """Kafka's output without the keys of users, which ours never has."""
    return re.sub(r'"(salt|storedKey|serverKey)":"[^"]*"', r'"\1":"(redacted)"', lines)


def complaints(lines: str) -> list[str]:
    """Standard error in any order, because Kafka's comes from hash maps.

    Kafka 4.3 reports a gap if a file does not begin with offset 0. We do not copy that.
    """
    found = [line for line in lines.splitlines() if not line.startswith("  -1 is followed by")]
    return sorted(found)


@pytest.mark.parametrize(
    "options",
    [
        ["--print-data-log"],
        ["--deep-iteration", "--verify-index-only"],
        ["--cluster-metadata-decoder"],
        ["--skip-record-metadata", "--print-data-log", "--max-bytes", "1500"],
        ["--key-decoder-class", "--value-decoder-class", "org.apache.kafka.tools.api.StringDecoder"],
        [],
    ],
)
def test_the_output_is_that_of_apache_kafka(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ",".join(str(tmp_path / name) for name in write_folder(tmp_path))
    theirs = run_tool("kafka-dump-log", *options, "--files", names)
    assert main([*options, "--files", names]) == 0
    ours = capsys.readouterr()
    assert output(ours.out) == output(without_keys(theirs.stdout))
    assert complaints(ours.err) == complaints(theirs.stderr)


def test_sound_indexes_pass_apache_kafkas_sanity_check_and_ours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [name for name in write_folder(tmp_path) if name.endswith("index") and "txn" not in name]
    files = ",".join(str(tmp_path / name) for name in names)
    theirs = run_tool("kafka-dump-log", "--index-sanity-check", "--files", files, check=False)
    code = main(["--index-sanity-check", "--files", files])
    assert code == theirs.returncode
    assert capsys.readouterr().out == theirs.stdout


def dumped(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_leader_change_of_version_1_keeps_its_directories(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Kafka 4.3 decodes every leader change as version 0, so it cannot be the model here.
    voter = LeaderChangeVoter(3, bytes(range(16)))
    writer = Writer()
    LeaderChangeMessage(1, 3, [voter], []).encode(writer, 1)
    path = tmp_path / LOG
    path.write_bytes(encode_control_batch(control_records.LEADER_CHANGE, writer.to_bytes(), timestamp_ms=5))
    code, out, _ = dumped(capsys, "--deep-iteration", "--files", str(path))
    assert code == 0
    assert '"voters":[{"voterId":3,"voterDirectoryId":"AAECAwQFBgcICQoLDA0ODw"}]' in out


def test_kafkas_other_decoders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / LOG
    path.write_bytes(encode_batch([Record(b"\xff\xff\xff\xfe", b"\x00\x00\x00\x00\x00\x00\x01\x00", 0)]))
    _, out, _ = dumped(
        capsys,
        *("--key-decoder-class", "org.apache.kafka.tools.api.IntegerDecoder"),
        *("--value-decoder-class", "org.apache.kafka.tools.api.LongDecoder"),
        *("--files", str(path)),
    )
    assert out.rstrip().endswith("key: -2 payload: 256")
    code, _, error = dumped(capsys, "--value-decoder-class", "com.example.Mine", "--files", str(path))
    assert code == 1
    assert error.startswith("com.example.Mine is Java code")


class TestWrongFiles:
    """Each ends with exit code 1 and one line that names the file."""

    def refused(self, capsys: pytest.CaptureFixture[str], path: Path, *options: str) -> str:
        code, _, error = dumped(capsys, *options, "--files", str(path))
        assert code == 1
        assert error.count("\n") == 1
        assert str(path) in error
        return error

    def test_a_missing_file(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert "No such file" in self.refused(capsys, tmp_path / LOG)

    def test_a_segment_by_another_name(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        for name in ("my.log", "my.index", "my.timeindex", "my.checkpoint"):
            (tmp_path / name).write_bytes(b"")
            self.refused(capsys, tmp_path / name)

    def test_zeros_after_the_batches(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = tmp_path / LOG
        path.write_bytes(data_batches()[0] + bytes(100))
        assert f"position {len(data_batches()[0])}" in self.refused(capsys, path)

    @pytest.mark.parametrize("codec", range(5))
    def test_records_that_cannot_be_read(
        self, codec: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        batch = bytearray(encode_batch([Record(None, b"value" * 50, 0)], compression=codec))
        batch[61:70] = b"\xff" * 9
        path = tmp_path / LOG
        path.write_bytes(batch)
        assert dumped(capsys, "--files", str(path))[0] == 0
        assert "position 0" in self.refused(capsys, path, "--deep-iteration")

    def test_a_producer_snapshot(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        # Kafka goes on with the next file, and so do we.
        for number, data in enumerate((b"", b"\x00\x01", b"\x00\x07" + bytes(20), b"\x00\x01" + bytes(20))):
            path = tmp_path / f"{number:020}.snapshot"
            path.write_bytes(data)
            code, out, error = dumped(capsys, "--files", str(path))
            assert code == 0
            assert out == f"Dumping {path}\n"
            assert error.startswith(f"Snapshot {path}")

    @pytest.mark.parametrize(
        ("name", "data"),
        [
            ("00000000000000000009.index", offset_index(9, [(8, 0)])),
            ("00000000000000000009.index", offset_index(9, [(10, 0)]) + b"x"),
            ("00000000000000000009.timeindex", time_index(9, [(8, 10), (7, 11)])),
            ("00000000000000000009.timeindex", time_index(9, [(8, 8)])),
            ("00000000000000000009.timeindex", time_index(9, [(8, 10)]) + b"x"),
        ],
    )
    def test_indexes_that_a_broker_would_rebuild(
        self, name: str, data: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = tmp_path / name
        path.with_suffix(".log").write_bytes(b"")
        path.with_suffix(".index").write_bytes(b"")
        path.write_bytes(data)
        self.refused(capsys, path, "--index-sanity-check")


def test_unreadable_metadata_records_are_named_and_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = metadata_values()[0]
    values = [b"", b"\x02" + good[1:], b"\x01\x7f\x00", good[:-1], good + b"x", good]
    path = tmp_path / LOG
    path.write_bytes(encode_batch([Record(None, value, 0) for value in values]))
    code, out, _ = dumped(capsys, "--cluster-metadata-decoder", "--files", str(path))
    assert code == 0
    lines = out.splitlines()[3:]
    assert [f"Error at {index}, skipping. " in line for index, line in enumerate(lines)] == [True] * 5 + [
        False
    ]
    assert '{"type":"TOPIC_RECORD","version":0,"data":{"name":"tópico"' in lines[-1]


def test_no_secret_of_the_metadata_log_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = [
        UserScramCredentialRecord("alice", 1, b"salt", b"stored", b"server", 4096),
        ConfigRecord(BROKER_RESOURCE, "1", "listener.name.x.ssl.keystore.password", "hidden"),
        ConfigRecord(BROKER_RESOURCE, "1", "listener.name.x.plain.sasl.jaas.config", "hidden"),
        ConfigRecord(BROKER_RESOURCE, "1", "log.cleaner.threads", "2"),
    ]
    path = tmp_path / LOG
    path.write_bytes(encode_batch([Record(None, encode_record(one), 0) for one in records]))
    code, out, _ = dumped(capsys, "--cluster-metadata-decoder", "--files", str(path))
    assert code == 0
    user, password, jaas, threads = out.splitlines()[3:]
    assert user.endswith(
        '"data":{"name":"alice","mechanism":1,"salt":"(redacted)","storedKey":"(redacted)",'
        '"serverKey":"(redacted)","iterations":4096}}'
    )
    assert [line.rpartition('"value":')[2] for line in (password, jaas, threads)] == [
        '"(redacted)"}}',
        '"(redacted)"}}',
        '"2"}}',
    ]


def test_files_must_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, error = dumped(capsys, "--print-data-log")
    assert (code, error.count("\n")) == (1, 1)
    assert '"[files]"' in error


def test_a_reader_that_has_seen_enough_is_no_error_of_the_file(tmp_path: Path) -> None:
    log = tmp_path / LOG
    log.write_bytes(encode_batch([Record(b"key", b"x" * 200_000)]))
    script = Path(sys.executable).parent / "kafka-dump-log"
    line = f"{script} --print-data-log --files {log}"
    with subprocess.Popen(
        [*line.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as command:
        assert command.stdout is not None
        assert command.stderr is not None
        command.stdout.readline()
        command.stdout.close()
        assert command.stderr.read() == ""
        assert command.wait(10) == 141
