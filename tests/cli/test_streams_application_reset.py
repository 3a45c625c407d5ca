"""kafka-streams-application-reset: Kafka's output, and the offsets and topics that are left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gralha.cli.streams_application_reset import is_internal, main, parse_options, within
from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.values import NewTopic, TopicPartition
from tests.apache.kafka import run_tool
from tests.cli.commands import written
from tests.cli.group_members import commit, create_topic, members
from tests.client.live import eventually


@pytest.fixture(scope="module")
def topic(bootstrap: str) -> str:
    """A topic with ten records in each of two partitions."""
    create_topic(bootstrap, "streams.input", partitions=2)
    return "streams.input"


def committed(bootstrap: str, group: str) -> dict[str, int]:
    with Admin(Cluster(bootstrap)) as admin:
        offsets = admin.group_offsets([group])[group]
        assert isinstance(offsets, dict)
        return {f"{one.topic}-{one.partition}": entry.offset for one, entry in offsets.items()}


def reset(bootstrap: str, capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["--bootstrap-server", bootstrap, *arguments])
    return code, *written(capfd)


def test_it_does_what_apache_kafkas_does(
    bootstrap: str, topic: str, new_name: Callable[[str], str], capfd: pytest.CaptureFixture[str]
) -> None:
    """Both reset the same application, one after the other."""
    app = new_name("app")
    internal = [f"{app}-store-changelog", f"{app}-KSTREAM-1-repartition"]
    others = [f"{app}-output", f"other-{app}-changelog"]
    options = ["--bootstrap-server", bootstrap, "--application-id", app, "--to-offset", "15"]
    options += ["--input-topics", f"{topic},missing", "--intermediate-topics", others[0]]
    results = []
    with Admin(Cluster(bootstrap)) as admin:

        def topics() -> set[str]:
            return {one.name for one in admin.list_topics()}

        for whose in ("theirs", "ours"):
            admin.create_topics([NewTopic(name, 1) for name in {*internal, *others} - topics()])
            assert eventually(lambda: {*internal, *others} <= topics())
            if whose == "theirs":
                done = run_tool("kafka-streams-application-reset", *options, check=False)
                results.append((done.returncode, lines(done.stdout), done.stderr))
            else:
                code = main(options)
                output, errors = written(capfd)
                results.append((code, lines(output), errors))
            assert eventually(lambda: not topics() & set(internal))
            assert set(others) <= topics()
            assert committed(bootstrap, app) == {f"{topic}-0": 10, f"{topic}-1": 10, f"{others[0]}-0": 0}
    assert results[0] == results[1]
    assert results[1][0] == 1


def lines(output: str) -> list[str]:
    """The lines in order, because Kafka's come from hash tables. So do the topics in a list."""
    return sorted("".join(sorted(line)) for line in output.splitlines())


def test_a_dry_run_changes_nothing(
    bootstrap: str, topic: str, new_name: Callable[[str], str], capfd: pytest.CaptureFixture[str]
) -> None:
    app = new_name("dry")
    commit(bootstrap, app, topic, [4, None])
    options = ["--application-id", app, "--input-topics", topic, "--dry-run", "--shift-by", "-1"]
    code, output, errors = reset(bootstrap, capfd, *options)
    assert (code, errors) == (0, "")
    assert output == (
        "----Dry run displays the actions which will be performed when running Streams Reset Tool----\n"
        f"Reset-offsets for input topics [{topic}]\n"
        f"Following input topics offsets will be reset to (for consumer group {app})\n"
        f"Topic: {topic} Partition: 0 Offset: 3\n"
        f"Topic: {topic} Partition: 1 Offset: 9\n"
        "Done.\n"
        "Deleting inferred internal topics []\n"
        "Done.\n"
    )
    assert committed(bootstrap, app) == {f"{topic}-0": 4}


@pytest.mark.parametrize(
    ("scenario", "offset"),
    [
        ([], 0),
        (["--to-earliest"], 0),
        (["--to-latest"], 10),
        (["--to-datetime", "2100-01-01T00:00:00.000"], 10),
        (["--by-duration", "PT1H"], 0),
    ],
)
def test_the_scenarios(
    scenario: list[str],
    offset: int,
    bootstrap: str,
    topic: str,
    new_name: Callable[[str], str],
    capfd: pytest.CaptureFixture[str],
) -> None:
    app = new_name("scenario")
    code, _, errors = reset(bootstrap, capfd, "--application-id", app, "--input-topics", topic, *scenario)
    assert (code, errors) == (0, "")
    assert committed(bootstrap, app) == {f"{topic}-0": offset, f"{topic}-1": offset}


def test_offsets_from_a_file(
    bootstrap: str,
    topic: str,
    new_name: Callable[[str], str],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    app = new_name("file")
    path = tmp_path / "plan.csv"
    options = ["--application-id", app, "--input-topics", topic, "--from-file", str(path)]
    path.write_text(f"{topic},0,3\n{topic},1,4\n")
    assert reset(bootstrap, capfd, *options)[0] == 0
    assert committed(bootstrap, app) == {f"{topic}-0": 3, f"{topic}-1": 4}
    for text, problem in (
        (f"{topic},0,3\n", f"lacks {topic}-1"),
        (f"{topic},0,3\n{topic},1,3\nx,0,1\n", "names x-0"),
    ):
        path.write_text(text)
        code, _, errors = reset(bootstrap, capfd, *options)
        assert code == 1
        assert errors.startswith(f"ERROR: {path} {problem}. It must have a line for each partition")


@pytest.mark.parametrize("config", [{}, {"group.instance.id": "static-one"}], ids=["dynamic", "static"])
def test_a_running_application_is_refused_until_it_is_forced(
    config: dict[str, str],
    bootstrap: str,
    topic: str,
    new_name: Callable[[str], str],
    capfd: pytest.CaptureFixture[str],
) -> None:
    app = new_name("running")
    options = ["--application-id", app, "--input-topics", topic]
    # The member sends no heartbeat during the test, so it does not join again.
    silent = {"enable.auto.commit": "false", "heartbeat.interval.ms": "40000"}
    with members(bootstrap, app, [topic], [{**config, **silent}]):
        code, _, errors = reset(bootstrap, capfd, *options)
        assert code == 1
        assert f"Consumer group '{app}' is still active and has following members: [" in errors
        assert config.get("group.instance.id", "rdkafka-") in errors
        assert committed(bootstrap, app) == {}
        code, output, errors = reset(bootstrap, capfd, *options, "--force")
        assert (code, errors) == (0, "")
        assert output.startswith(f"Force deleting all active members in the group: {app}\n")
        assert committed(bootstrap, app) == {f"{topic}-0": 0, f"{topic}-1": 0}


def test_only_internal_topics_can_be_deleted(
    bootstrap: str, topic: str, new_name: Callable[[str], str], capfd: pytest.CaptureFixture[str]
) -> None:
    code, output, errors = reset(
        bootstrap, capfd, "--application-id", new_name("app"), "--internal-topics", topic
    )
    assert code == 1
    assert output == "No input or intermediate topics specified. Skipping seek.\n"
    assert errors.startswith("ERROR: Invalid topic specified in the --internal-topics option.")


def test_internal_topics_are_known_by_their_names() -> None:
    options = parse_options(["--application-id", "app", "--input-topics", "app-in-changelog"])
    number = "app-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic"
    for name in ("app-x-changelog", "app-x-repartition", "app-a-subscription-response-topic", number):
        assert is_internal(name, options)
    for name in ("app-in-changelog", "apps-changelog", "app-changelogs", "app", f"{number}s"):
        assert not is_internal(name, options)


def test_offsets_stay_within_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    low, high, inside = (TopicPartition("t", number) for number in range(3))
    starts, ends = dict.fromkeys((low, high, inside), 2), dict.fromkeys((low, high, inside), 8)
    assert within({low: 1, high: 9, inside: 8}, starts, ends) == {low: 2, high: 8, inside: 8}
    assert capsys.readouterr().out == (
        "New offset (1) is lower than earliest offset. Value will be set to 2\n"
        "New offset (9) is higher than latest offset. Value will be set to 8\n"
    )


def test_wrong_calls(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["--dry-run"], 'Missing required argument "[application-id]"'),
        (["--application-id", "a", "--to-latest", "--shift-by", "0"], "can't be used with option"),
        (
            ["--application-id", "a", "--config-file", "b", "--command-config", "c"],
            "can't be used with option",
        ),
    ):
        assert main(arguments) == 1
        assert message in capsys.readouterr().err
