"""kafka-metadata-shell: Apache Kafka's output on the same files, and a session on a terminal."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from gralha.cli.metadata_commands import Shell, in_columns
from gralha.cli.metadata_paths import complete_path, components, pattern_of
from gralha.cli.metadata_shell import completions, main, open_shell
from gralha.cli.metadata_tree import Node
from gralha.protocol.message import Message
from gralha.protocol.messages import broker_records, cluster_records, security_records, topic_records
from gralha.protocol.primitives import Writer
from gralha.protocol.records import Record, encode_batch
from tests.apache.kafka import run_tool
from tests.cli.partition_files import control_batches
from tests.pipelines.terminal import CTRL_C, Terminal

ID = bytes(range(16))
TIME_MS = 1_700_000_000_120


def framed(record: Message) -> Record:
    writer = Writer()
    for number in (1, record.API_KEY, record.MAX_VERSION):
        writer.write_unsigned_varint(number)
    record.encode(writer, record.MAX_VERSION)
    return Record(None, writer.to_bytes(), TIME_MS)


def metadata_records() -> list[Message]:
    """Records of each directory of the shell. One transaction is aborted."""
    partition = topic_records.PartitionRecord(
        partition_id=0,
        topic_id=ID,
        replicas=[1, 2],
        isr=[1],
        removing_replicas=[2],
        adding_replicas=[3],
        leader=1,
        leader_recovery_state=1,
        leader_epoch=4,
        partition_epoch=9,
        directories=[ID, bytes(16)],
        eligible_leader_replicas=[2],
        last_known_elr=[3],
    )
    endpoints = [("SECURE", "::1", 9093, 3), ("PLAINTEXT", "localhost", 9092, 0)]
    features = [("metadata.version", 7, 30), ("group.version", 1, 1)]
    return [
        cluster_records.FeatureLevelRecord("metadata.version", 30),
        cluster_records.FeatureLevelRecord("group.version", 1),
        cluster_records.BeginTransactionRecord("first"),
        broker_records.RegisterControllerRecord(
            controller_id=3,
            incarnation_id=ID,
            end_points=[broker_records.ControllerEndpoint(*one) for one in endpoints],
            features=[broker_records.ControllerFeature(*one) for one in features],
        ),
        cluster_records.EndTransactionRecord(),
        broker_records.RegisterBrokerRecord(
            broker_id=1,
            incarnation_id=ID,
            broker_epoch=5,
            end_points=[broker_records.BrokerEndpoint(*one) for one in endpoints],
            features=[broker_records.BrokerFeature(*one) for one in features],
            rack="a",
            fenced=True,
            log_dirs=[ID],
            cordoned_log_dirs=[ID],
        ),
        topic_records.TopicRecord("tópico", ID),
        partition,
        cluster_records.ConfigRecord(2, "tópico", "retention.ms", "5"),
        cluster_records.ConfigRecord(4, "", "log.retention.ms", "6"),
        cluster_records.ProducerIdsRecord(1, 5, 1000),
        security_records.DelegationTokenRecord(
            "User:alice", "User:bob", ["User:carl", "User:dora"], 5, 9, 7, "tAAAAAAAAAAAAAAAAAAAAQ"
        ),
        security_records.DelegationTokenRecord("User:alice", "User:alice", [], 5, 9, 7, "gone"),
        security_records.RemoveDelegationTokenRecord("gone"),
        cluster_records.BeginTransactionRecord(),
        topic_records.TopicRecord("never", bytes(15) + b"x"),
        cluster_records.AbortTransactionRecord("no"),
    ]


def batch(records: Sequence[Message], base_offset: int = 0) -> bytes:
    return encode_batch([framed(one) for one in records], base_offset=base_offset, leader_epoch=2)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(batch(metadata_records()))
    return path


@pytest.fixture
def shell(log: Path) -> Shell:
    return open_shell(log, interactive=True)


def without_log(text: str) -> str:
    """What a command of Apache Kafka prints, apart from its log."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("[20"))


def output(shell: Shell, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    shell.run(words)
    return capsys.readouterr().out


def test_the_tree_is_that_of_apache_kafka(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    theirs = run_tool("kafka-metadata-shell", "--snapshot", str(log), "tree", "/image")
    assert main(["--snapshot", str(log), "tree", "/image"]) == 0
    assert capsys.readouterr().out == without_log(theirs.stdout)


def test_the_listing_is_that_of_apache_kafka_in_a_snapshot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "00000000000000000077-0000000002.checkpoint"
    header, footer = control_batches()[1], control_batches()[4]
    path.write_bytes(header + batch(metadata_records()[:5], 1) + footer)
    words = ["ls", "/image", "/local/version", "/image/{acls,topics,scram}", "/nope", "/image/acls/byId"]
    theirs = run_tool("kafka-metadata-shell", "--snapshot", str(path), *words)
    assert main(["--snapshot", str(path), *words]) == 0
    assert capsys.readouterr().out == without_log(theirs.stdout)


def test_a_folder_is_its_newest_snapshot_and_the_log_after_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = metadata_records()[:14]
    (tmp_path / "00000000000000000003-0000000001.checkpoint").write_bytes(b"an old one")
    (tmp_path / "00000000000000000014-0000000002.checkpoint").write_bytes(batch(records))
    later = [topic_records.TopicRecord("later", bytes(16))]
    log = batch(records) + batch(later, base_offset=14)
    (tmp_path / "00000000000000000000.log").write_bytes(log)
    assert main(["--snapshot", str(tmp_path), "ls", "/image/topics/byName"]) == 0
    assert main(["--snapshot", str(tmp_path), "cat", "/image/provenance"]) == 0
    assert capsys.readouterr().out == (
        "later\ntópico\noffset 14, epoch 2, time 2023-11-14T22:13:20.12Z[UTC]\n"
    )


def test_a_transaction_that_has_not_ended_is_not_shown(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Apache Kafka's command waits for its end for ever.
    begin = [cluster_records.BeginTransactionRecord(), topic_records.TopicRecord("not yet", bytes(16))]
    log.write_bytes(batch([*metadata_records(), *begin]))
    assert main(["-s", str(log), "ls", "/image/topics/byName"]) == 0
    assert capsys.readouterr().out == "tópico\n"


def test_records_that_cannot_be_shown_are_counted(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unknown = cluster_records.ZkMigrationStateRecord()
    log.write_bytes(batch([*metadata_records()[:2], unknown, unknown]))
    assert main(["-s", str(log), "ls", "/image/acls"]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == (
        "byId\n",
        "2 records of the type ZkMigrationStateRecord are not shown\n",
    )


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("", None, "{} has no snapshot (*.checkpoint) and no log"),
        ("missing.log", None, "Cannot read {}: No such file or directory"),
        ("no.log", batch([topic_records.TopicRecord("t", ID)] * 2), "{} is not a sound file of the metadata"),
        (
            "other.log",
            encode_batch([Record(None, b"value", 0)]),
            "{} is not a sound file of the metadata log",
        ),
    ],
)
def test_files_without_metadata(
    name: str, data: bytes | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)
    assert main(["-s", str(path), "ls"]) == 1
    assert capsys.readouterr().err.startswith(message.format(path))


def test_commands_of_a_terminal_need_one(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["pwd"], ["trees"]):
        assert main(["-s", str(log), *words]) == 0
        assert capsys.readouterr().out == (
            f"invalid choice: '{words[0]}' (choose from 'cat', 'find', 'ls', 'tree')\n"
        )
    assert main(["-s", str(log), "cat"]) == 0
    assert capsys.readouterr().out == "too few arguments\n"


def test_the_working_directory(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    assert output(shell, capsys, "cd", "image/topics/../features") == ""
    assert output(shell, capsys, "pwd") == "/image/features\n"
    assert output(shell, capsys, "cat", "metadataVersion", "../cluster") == (
        "Optional[4.3-IV0]\ncat: ../cluster: Is a directory\n"
    )
    assert output(shell, capsys, "cd", "metadataVersion") == "cd: metadataVersion: not a directory.\n"
    assert output(shell, capsys, "cd", "nope") == "cd: nope: no such directory.\n"
    output(shell, capsys, "cd")
    assert output(shell, capsys, "find", "local", "nope", "") == (
        "local\nlocal/commitId\nlocal/version\nfind: nope: no such file or directory.\n"
    )
    assert output(shell, capsys, "tree", "/nope") == "tree: /nope: No such file or directory.\n"


def test_help_and_history(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    assert output(shell, capsys, "man", "ls") == "ls: List metadata nodes.\n\nusage: ls [targets ...]\n"
    assert output(shell, capsys, "man", "x").startswith("man: unknown command x.")
    assert "  find      Search for nodes" in output(shell, capsys, "help")
    shell.history += ["ls", "pwd", "history 2"]
    assert output(shell, capsys, "history", "2") == "    1  pwd\n    2  history 2\n"
    assert output(shell, capsys, "history").count("\n") == 3
    assert output(shell, capsys, "history", "x") == (
        "argument numEntriesToShow: could not convert 'x' to Integer\n"
    )
    assert output(shell, capsys, "pwd", "x") == "unrecognized arguments: 'x'\n"
    assert output(shell, capsys, "", "") == ""


def test_patterns() -> None:
    for glob, yes, no in (
        ("a*", "abc", "ba"),
        ("a?c", "a.c", "ac"),
        ("{ab,c}d", "cd", "abc"),
        (r"\**", "*x", "x"),
        ("a.*", "a.b", "ab"),
    ):
        pattern = pattern_of(glob)
        assert pattern is not None
        assert pattern.fullmatch(yes)
        assert not pattern.fullmatch(no)
    # These mean themselves.
    for glob in ("plain", "a,b", "{open", "{a{b}}", "a}"):
        assert pattern_of(glob) is None


def test_paths_and_their_completion() -> None:
    assert components("/a/b", "../c/./d") == ["a", "c", "d"]
    assert components("/", "../..") == []
    root: Node = {"image": {"acls": {}, "configs": {}, "cluster": {"x": "1"}}, "local": {}}
    assert complete_path(root, "/", "") == ["image/", "local/"]
    assert complete_path(root, "/image", "c") == ["cluster/", "configs/"]
    assert complete_path(root, "/", "/image/cluster/") == ["/image/cluster/x"]
    assert complete_path(root, "/", "nope/") == complete_path(root, "/image/cluster", "x/") == []


def test_the_tab_key(shell: Shell) -> None:
    assert completions(shell, "h") == ["help ", "history "]
    assert completions(shell, "ls image/to") == ["image/topics/"]
    assert completions(shell, "cat a /lo") == ["/local/"]
    assert completions(shell, "man c") == ["cat", "cd"]


def test_names_are_listed_in_columns() -> None:
    names = ["a", "bb", "ccc", "dddd", "e"]
    assert in_columns(names, None) == names
    assert in_columns(names, 5) == names
    assert in_columns(names, 13) == ["a   ccc   e", "bb  dddd  "]
    assert in_columns(names, 12) == ["a    dddd", "bb   e", "ccc  "]
    assert in_columns(names, 80) == ["a  bb  ccc  dddd  e"]
    assert in_columns([], 80) == []


def test_a_session_on_a_terminal(log: Path) -> None:
    ours, theirs = pty.openpty()
    script = Path(sys.executable).parent / "kafka-metadata-shell"
    environment = {**os.environ, "TERM": "dumb"}
    with subprocess.Popen(
        [str(script), "-s", str(log)], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as command:
        os.close(theirs)
        with open(ours, "r+b", buffering=0) as terminal:
            assert seen_until(terminal, b">> ").endswith(b"[ Kafka Metadata Shell ]\r\n>> ")
            terminal.write(b"cd image\n")
            seen_until(terminal, b">> ")
            terminal.write(b"ls 'to\n")
            assert b"No closing quotation" in seen_until(terminal, b">> ")
            terminal.write(b"cat fe\t")
            seen_until(terminal, b"features/")
            terminal.write(b"meta\t\n")
            assert b"Optional[4.3-IV0]" in seen_until(terminal, b"\n>> ")
            terminal.write(b"exit\n")
            assert command.wait(10) == 0


def test_ctrl_c_drops_the_line_and_not_the_shell(log: Path, tmp_path: Path) -> None:
    script = Path(sys.executable).parent / "kafka-metadata-shell"
    with Terminal([str(script), "-s", str(log)], cwd=tmp_path, environment={"TERM": "dumb"}) as terminal:
        terminal.wait_for(r"Shell \]\n>> $")
        # The terminal shows typed characters only while the shell waits for them.
        terminal.press(b"cat not-to-be-run")
        terminal.wait_for("not-to-be-run$")
        # Python's readline overlooks a signal that comes just before it waits for the next key.
        while not re.search(r"not-to-be-run(\^C)*\n+>> ", terminal.screen):
            terminal.press(CTRL_C)
            with contextlib.suppress(AssertionError):
                terminal.wait_for(r"not-to-be-run(\^C)*\n+>> ", patience_seconds=1)
        terminal.press(b"cd image\npwd\n")
        terminal.wait_for(r"\n/image\n>> $")
        assert "No such file" not in terminal.screen
        terminal.press(b"exit\n")
        assert terminal.end() == 0


def seen_until(terminal: object, end: bytes) -> bytes:
    seen = b""
    while not seen.endswith(end):
        seen += terminal.read(1)  # type: ignore[attr-defined]
    return seen
