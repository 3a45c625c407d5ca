"""kafka-storage: Kafka's output, and folders that Apache Kafka's own tools accept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gralha.cli.storage import main
from tests.apache.kafka import run_tool

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
VOTER = "1@localhost:9093:JEXY6aqzQY-32P5TStzaFg"


def config(folder: Path, *, static: bool = True, controller: bool = True) -> str:
    """A server.properties with two data folders and one for metadata."""
    listeners = "PLAINTEXT://localhost:9092" + (",CONTROLLER://localhost:9093" if controller else "")
    quorum = "voters=1@localhost:9093" if static else "bootstrap.servers=localhost:9093"
    lines = [
        "process.roles=broker,controller",
        "node.id=1",
        f"listeners={listeners}",
        f"log.dirs={folder}/a,{folder}/b",
        f"metadata.log.dir={folder}/m",
        "controller.listener.names=CONTROLLER" if controller else "",
        f"controller.quorum.{quorum}",
    ]
    path = folder / "server.properties"
    path.write_text("\n".join(lines))
    return str(path)


@pytest.fixture(name="storage")
def _storage(capsys: pytest.CaptureFixture[str]) -> object:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_random_uuids_are_ids_of_kafkas_kind(storage) -> None:
    found = {storage("random-uuid")[1] for _ in range(20)}
    assert len(found) == 20
    assert all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{21}\n", text) for text in found)


@pytest.mark.parametrize(
    "arguments",
    [
        ["version-mapping"],
        ["version-mapping", "-r", "9.9"],
        ["feature-dependencies", *("-f", "eligible.leader.replicas.version=1"), *("-f", "b=1")],
    ],
)
def test_features_as_apache_kafka_knows_them(arguments: list[str], storage) -> None:
    theirs = run_tool("kafka-storage", *arguments, check=False)
    assert storage(*arguments) == (theirs.returncode, theirs.stdout, theirs.stderr)


def test_levels_of_features(storage) -> None:
    found = storage("version-mapping", "--release-version", "3.9")[1]
    assert found.startswith("metadata.version=21 (3.9)\nkraft.version=1\ntransaction.version=0\n")
    assert storage("feature-dependencies", "--feature", "metadata.version=12") == (
        *(0, "metadata.version=12 (3.6-IV0) has no dependencies.\n", ""),
    )
    for wrong, message in (
        ("a", "Invalid feature format: a. Expected format: 'feature=version' (e.g. 'group.version=1')"),
        ("group.version=x", "Invalid version format: x for feature group.version"),
        ("group.version=7", "Feature level 7 is not supported for feature group.version"),
        ("metadata.version=5", "Unknown metadata.version 5"),
    ):
        assert storage("feature-dependencies", "-f", wrong) == (1, "", f"{message}\n")


def test_apache_kafka_recognises_what_we_formatted(storage, tmp_path: Path) -> None:
    path = config(tmp_path)
    assert storage("format", "-t", CLUSTER, "-c", path)[0] == 0
    code, out, _ = storage("info", "-c", path)
    theirs = run_tool("kafka-storage", "info", "-c", path)
    assert (code, out) == (0, theirs.stdout)
    again = run_tool("kafka-storage", "format", "-t", CLUSTER, "-c", path, "--ignore-formatted")
    assert again.stdout == storage("format", "-g", "-t", CLUSTER, "-c", path)[1]


def test_apache_kafka_reads_our_checkpoints_as_its_own(storage, tmp_path: Path) -> None:
    folders = [tmp_path / "ours", tmp_path / "theirs"]
    for folder in folders:
        folder.mkdir()
    paths = [config(folder, static=False) for folder in folders]
    arguments = ["format", "-t", CLUSTER, "--initial-controllers", VOTER, "-c"]
    assert storage(*arguments, paths[0])[0] == 0
    run_tool("kafka-storage", *arguments, paths[1])
    names = ["m/bootstrap.checkpoint", "m/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"]
    dumps = [
        run_tool(
            "kafka-dump-log",
            *("--cluster-metadata-decoder", "--files", ",".join(str(folder / name) for name in names)),
        )
        for folder in folders
    ]
    assert dumps[0].stderr == ""
    ours, theirs = (_without_times(dump.stdout) for dump in dumps)
    # Apache Kafka has features that we do not have yet. The rest is the same.
    served = ("metadata.version", "transaction.version", "group.version", "eligible.leader.replicas.version")
    shared = [line for line in theirs if "featureLevel" not in line or any(name in line for name in served)]
    assert sorted(ours) == sorted(shared)


def _without_times(dump: str) -> list[str]:
    """The records in a dump, without times, positions and sizes."""
    lines = [line for line in dump.splitlines() if line.startswith("| ")]
    return [re.sub(r"offset: \d+ |CreateTime: \d+ |\d{13}", "", line) for line in lines]


def test_formatting_in_kafkas_words(storage, tmp_path: Path) -> None:
    path = config(tmp_path, static=False)
    code, out, _ = storage("format", "--cluster-id", CLUSTER, "--config", path, "--standalone")
    assert (code, out.splitlines()) == (
        0,
        [
            # Unlike Kafka, the metadata folder is first: a crash in between must not look like its loss.
            f"Formatting dynamic metadata voter directory {tmp_path}/m with metadata.version 4.3-IV0.",
            f"Formatting data directory {tmp_path}/a with metadata.version 4.3-IV0.",
            f"Formatting data directory {tmp_path}/b with metadata.version 4.3-IV0.",
        ],
    )
    code, out, error = storage("format", "-t", CLUSTER, "-c", path, "-s")
    assert (code, out) == (1, "")
    assert error.startswith(f"Log directory {tmp_path}/a is already formatted. Use --ignore-formatted")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--standalone, --initial-controllers, or --no-initial-controllers"),
        (["-I", "1@nowhere"], "id@host:port:directory"),
        (["-s", "-f", "kraft.version=0"], "a dynamic quorum has 1"),
        (["-N", "-f", "kraft.version=1"], "has 0"),
        (["-N", "-f", "teleport.version=1"], "Unsupported feature: teleport.version"),
        (["-N", "-f", "metadata.version=7"], "between 30 and 30"),
        (["-N", "-f", "metadata.version"], "NAME=LEVEL"),
        (["-N", "-r", "3.9"], "4.3-IV0"),
        (["-N", "-s"], "not allowed with"),
    ],
)
def test_wrong_calls_say_what_is_wrong(storage, arguments: list[str], words: str, tmp_path: Path) -> None:
    code, out, error = storage("format", "-t", CLUSTER, "-c", config(tmp_path, static=False), *arguments)
    assert (code, out) == (1, "")
    assert words in error
    assert not (tmp_path / "a").exists()


def test_a_static_quorum_is_not_made_dynamic(storage, tmp_path: Path) -> None:
    code, _, error = storage("format", "-t", CLUSTER, "-c", config(tmp_path), "-s")
    assert code == 1
    assert "controller.quorum.bootstrap.servers" in error


def test_standalone_needs_a_listener_for_controllers(storage, tmp_path: Path) -> None:
    path = config(tmp_path, static=False, controller=False)
    code, _, error = storage("format", "-t", CLUSTER, "-c", path, "-s")
    assert code == 1
    assert "controller.listener.names" in error


@pytest.mark.parametrize(
    ("features", "release"), [([], "4.3"), ([], "4.3-IV0"), (["-f", "metadata.version=30"], None)]
)
def test_what_this_release_runs_at_may_be_said(
    storage, features: list[str], release: str | None, tmp_path: Path
) -> None:
    more = features + (["-r", release] if release else [])
    assert storage("format", "-t", CLUSTER, "-c", config(tmp_path), *more)[0] == 0


class TestInfo:
    def test_folders_that_are_not_there(self, storage, tmp_path: Path) -> None:
        path = config(tmp_path)
        (tmp_path / "a").mkdir()
        (tmp_path / "b").write_text("")
        code, out, _ = storage("info", "-c", path)
        assert code == 1
        assert out.splitlines() == [
            "Found log directory:",
            f"  {tmp_path}/a",
            "",
            "Found problems:",
            f"  {tmp_path}/a is not formatted.",
            f"  {tmp_path}/b is not a directory",
            f"  {tmp_path}/m does not exist",
            "",
        ]

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("version=1\ncluster.id=x\nnode.id=1\n", "Mismatched cluster IDs between storage directories."),
            (
                f"version=1\ncluster.id={CLUSTER}\nnode.id=2\n",
                "Mismatched node IDs between storage directories.",
            ),
            ("version=1\ncluster.id=x\n", "Error loading"),
        ],
    )
    def test_folders_that_do_not_belong_together(
        self, storage, text: str, problem: str, tmp_path: Path
    ) -> None:
        path = config(tmp_path)
        storage("format", "-t", CLUSTER, "-c", path)
        (tmp_path / "m" / "meta.properties").write_text(f"version=1\n{text}")
        code, out, _ = storage("info", "-c", path)
        assert code == 1
        assert out.split("Found problem:\n  ")[1].startswith(problem)


def test_a_config_that_cannot_be_used(storage, tmp_path: Path) -> None:
    code, _, error = storage("info", "-c", str(tmp_path / "none"))
    assert (code, error.count("\n")) == (1, 1)
    assert "No such file" in error
    wrong = tmp_path / "wrong.properties"
    wrong.write_text("process.roles=broker,controller\nnode.id=one\n")
    code, _, error = storage("info", "-c", str(wrong))
    assert (code, error.count("\n")) == (1, 1)
    assert "line 2" in error
