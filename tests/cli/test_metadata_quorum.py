"""kafka-metadata-quorum: its texts, and what it reads from a controller's settings."""

from pathlib import Path

import pytest

from gralha.cli import metadata_quorum
from gralha.cli.controller_file import ControllerFile
from gralha.cli.metadata_quorum import replication_table, status_text
from gralha.cli.program import CommandError
from gralha.client.quorum_values import QuorumDescription, QuorumReplica, VoterEndpoint
from gralha.protocol.primitives import ZERO_UUID, uuid_to_string
from tests.cli.commands import written

FOLDER_ID = bytes(range(16))
QUORUM = QuorumDescription(
    leader_id=2,
    leader_epoch=7,
    high_watermark=98,
    voters=[
        QuorumReplica(1, FOLDER_ID, 90, 1_000, 900),
        QuorumReplica(2, FOLDER_ID, 100, 2_000, 2_000),
    ],
    observers=[QuorumReplica(3, ZERO_UUID, 100, None, None)],
    endpoints={1: [VoterEndpoint("CONTROLLER", "::1", 9093)], 2: [VoterEndpoint("C", "two", 1)]},
)


def test_the_status() -> None:
    folder = uuid_to_string(FOLDER_ID)
    assert status_text("some-id", QUORUM).splitlines() == [
        "ClusterId:              some-id",
        "LeaderId:               2",
        "LeaderEpoch:            7",
        "HighWatermark:          98",
        "MaxFollowerLag:         10",
        "MaxFollowerLagTimeMs:   1100",
        (
            f'CurrentVoters:          [{{"id": 1, "directoryId": "{folder}", "endpoints": '
            f'["CONTROLLER://[::1]:9093"]}}, {{"id": 2, "directoryId": "{folder}", "endpoints": ["C://two:1"]}}]'
        ),
        'CurrentObservers:       [{"id": 3}]',
    ]


@pytest.mark.parametrize(
    ("voter", "lag"),
    [
        (QuorumReplica(1, ZERO_UUID, 90, None, None), "MaxFollowerLagTimeMs:   -1"),
        (QuorumReplica(1, ZERO_UUID, 101, 1, 1), "MaxFollowerLagTimeMs:   0"),
    ],
)
def test_a_lag_that_is_not_known_or_none(voter: QuorumReplica, lag: str) -> None:
    quorum = QUORUM._replace(voters=[voter, QUORUM.voters[1]])
    assert lag in status_text("some-id", quorum).splitlines()


def test_a_leader_that_is_no_voter() -> None:
    with pytest.raises(CommandError, match="node 2, is not among its voters"):
        status_text("some-id", QUORUM._replace(voters=QUORUM.voters[:1]))


def test_the_table_of_nodes() -> None:
    header, *rows = replication_table(QUORUM, human_readable=False).splitlines()
    assert header == (
        "NodeId\tDirectoryId           \tLogEndOffset\tLag\tLastFetchTimestamp\tLastCaughtUpTimestamp\t"
        "Status  \t"
    )
    assert [[cell.strip() for cell in row.split("\t")[2:7]] for row in rows] == [
        ["100", "0", "2000", "2000", "Leader"],
        ["90", "10", "1000", "900", "Follower"],
        ["100", "0", "-1", "-1", "Observer"],
    ]
    assert {len(row) for row in rows} == {len(header)}


def test_times_for_people() -> None:
    table = replication_table(QUORUM, human_readable=True, clock=lambda: 2.5)
    assert [row.split("\t")[4].strip() for row in table.splitlines()[1:]] == [
        "500 ms ago",
        "1500 ms ago",
        "-1",
    ]
    with pytest.raises(CommandError, match=r"drift in system clock.*1999, last fetch timestamp is 2000"):
        replication_table(QUORUM, human_readable=True, clock=lambda: 1.999)


SETTINGS = {
    "node.id": "3",
    "process.roles": "broker,controller",
    "controller.listener.names": "controller,INNER",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093,INNER://0.0.0.0:9094",
    "advertised.listeners": "PLAINTEXT://a:9092,INNER://[fe80::1]:9095",
    "log.dirs": "/a,/b",
}


def test_a_controllers_settings() -> None:
    controller = ControllerFile(SETTINGS)
    assert (controller.id, controller.metadata_directory) == (3, "/a")
    assert controller.endpoints == [
        VoterEndpoint("CONTROLLER", "localhost", 9093),
        VoterEndpoint("INNER", "fe80::1", 9095),
    ]
    assert ControllerFile({**SETTINGS, "metadata.log.dir": "/m"}).metadata_directory == "/m"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"node.id": None}, "node.id not found in configuration file"),
        ({"node.id": "-1"}, "node.id was negative"),
        ({"node.id": "x"}, "node.id is 'x'"),
        ({"process.roles": "broker"}, "process.roles did not contain 'controller'"),
        ({"log.dirs": None}, "Neither metadata.log.dir nor log.dirs were found"),
        ({"controller.listener.names": None}, "controller.listener.names was not found"),
        ({"controller.listener.names": "OTHER"}, "controller listener name: OTHER"),
        ({"listeners": "nonsense"}, "Unable to parse nonsense"),
    ],
)
def test_settings_of_something_else(changed: dict[str, str | None], message: str) -> None:
    merged = {**SETTINGS, **changed}
    with pytest.raises(CommandError, match=message):
        ControllerFile({name: value for name, value in merged.items() if value is not None})


def run_offline(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    # Nobody listens there, so only errors that need no connection are shown.
    code = metadata_quorum.main(["--bootstrap-server", "127.0.0.1:1", *arguments])
    return (code, *written(capfd))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["describe"], "One of --status or --replication must be specified with describe sub-command"),
        (
            ["describe", "--status", "--replication"],
            "Only one of --status or --replication should be specified with describe sub-command",
        ),
        (
            ["describe", "--status", "--human-readable"],
            "The option --human-readable is only supported along with --replication",
        ),
        (
            ["add-controller"],
            "You must supply the configuration file of the controller you are adding",
        ),
        (["remove-controller", "-i", "-3", "-d", "x"], "Invalid negative --controller-id: -3"),
        (["describe", "--status"], "127.0.0.1:1"),
    ],
)
def test_what_goes_wrong(capfd: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    code, out, err = run_offline(capfd, *arguments)
    assert (code, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1


def test_a_controller_to_add(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    settings = tmp_path / "controller.properties"
    folder = tmp_path / "data"
    lines = {**SETTINGS, "log.dirs": str(folder), "controller.listener.names": "CONTROLLER"}
    settings.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    line = ["--command-config", str(settings), "add-controller", "--dry-run"]
    assert run_offline(capfd, *line) == (1, "", f"Unable to read meta.properties from {folder}\n")
    folder.mkdir()
    identity = folder / "meta.properties"
    identity.write_text("version=1\n")
    assert run_offline(capfd, *line) == (1, "", f"No directory id found in {folder}\n")
    identity.write_text(f"directory.id={uuid_to_string(FOLDER_ID)}\n")
    assert run_offline(capfd, *line) == (
        0,
        (
            f"DRY RUN of adding controller 3 with directory id {uuid_to_string(FOLDER_ID)} and endpoints: "
            "CONTROLLER://localhost:9093\n"
        ),
        "",
    )


def test_a_controller_to_remove(capfd: pytest.CaptureFixture[str]) -> None:
    folder = uuid_to_string(FOLDER_ID)
    outcome = run_offline(capfd, "remove-controller", "-i", "3", "-d", folder, "--dry-run")
    assert outcome == (0, f"DRY RUN of removing  KRaft controller 3 with directory id {folder}\n", "")
