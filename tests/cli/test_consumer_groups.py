"""kafka-consumer-groups against a running broker: groups of both protocols, with members and without."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.commands import Outcome, Run
from tests.cli.group_members import commit, create_topic, members
from tests.client.live import eventually

PROTOCOLS = ("classic", "consumer")
NOT_EXECUTED = "WARN: No action will be performed as the --execute option is missing."


@pytest.fixture
def groups(run: Run) -> Callable[..., Outcome]:
    return lambda *arguments: run("consumer-groups", *arguments)


@pytest.fixture
def topic(bootstrap: str, new_name: Callable[[str], str]) -> str:
    """A topic with three partitions and ten records in each."""
    name = new_name("groups")
    create_topic(bootstrap, name)
    return name


@pytest.fixture
def group(bootstrap: str, topic: str, new_name: Callable[[str], str]) -> str:
    """A group without members that has read a part of the topic."""
    name = new_name("group")
    commit(bootstrap, name, topic, [4, 10, None])
    return name


Groups = Callable[..., Outcome]


def rows(outcome: Outcome) -> list[list[str]]:
    """The columns of a table's lines, without its header."""
    assert outcome.code == 0, outcome
    _, *lines = (line.split() for line in outcome.out.splitlines() if line)
    return lines


def current(groups: Groups, group: str) -> dict[int, int]:
    """The committed offsets of a group, as --describe shows them."""
    return {int(row[2]): int(row[3]) for row in rows(groups("--describe", "--group", group))}


def test_a_group_without_members(groups: Groups, group: str, topic: str) -> None:
    assert group in groups("--list").out.splitlines()
    assert [group, "Classic", "Empty"] in rows(groups("--list", "--state", "empty", "--type", "classic"))
    assert group not in groups("--list", "--state", "stable").out
    assert group not in groups("--list", "--type", "consumer").out
    described = groups("--describe", "--group", group)
    assert described.err == f"\nConsumer group '{group}' has no active members.\n"
    assert rows(described) == [
        [group, topic, "0", "4", "10", "6", "-", "-", "-"],
        [group, topic, "1", "10", "10", "0", "-", "-", "-"],
    ]
    assert rows(groups("--describe", "--group", group, "--members")) == []
    (state,) = rows(groups("--describe", "--group", group, "--state"))
    assert state[0] == group
    assert state[-3:] == ["-", "Empty", "0"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_with_members(
    groups: Groups, bootstrap: str, topic: str, new_name: Callable[[str], str], protocol: str
) -> None:
    name = new_name("live")
    configs = [{"client.id": "one"}, {"client.id": "two", "group.instance.id": "second"}]
    with members(bootstrap, name, [topic], configs, protocol):
        assert eventually(lambda: [name, "Stable"] in rows(groups("--list", "--state")))
        assert [name, protocol.capitalize()] in rows(groups("--list", "--type", protocol))
        described = rows(groups("--describe", "--group", name))
        assert sorted(row[2] for row in described) == ["0", "1", "2"]
        assert {row[-1] for row in described} == {"one", "two"}
        assert all(row[:2] == [name, topic] and row[4] == "10" for row in described)
        counts = [row[-1] for row in described].count
        shown = groups("--describe", "--group", name, "--members")
        assert "GROUP-INSTANCE-ID" in shown.out
        for row in rows(shown):
            client, count = row[-2:]
            assert int(count) == counts(client)
        verbose = rows(groups("--describe", "--group", name, "--members", "--verbose"))
        assert any(f"{topic}:" in column for row in verbose for column in row)
        (state,) = rows(groups("--describe", "--group", name, "--state", "--verbose"))
        assert state[-4:-2] == (["Stable", "-"] if protocol == "classic" else state[-4:-2])
        assert (state[3], state[-1]) == ({"classic": "range", "consumer": "uniform"}[protocol], "2")


def test_several_groups_are_described_in_the_order_of_their_names(
    groups: Groups, bootstrap: str, group: str, topic: str
) -> None:
    commit(bootstrap, f"{group}-x", topic, [1, None, None])
    described = groups("--describe", "--group", f"{group}-x", "--group", group)
    assert described.out.index(f"{group} ") < described.out.index(f"{group}-x ")
    assert described.out.count("CURRENT-OFFSET") == 2
    everything = groups("--describe", "--all-groups")
    assert f"{group} " in everything.out
    assert f"{group}-x " in everything.out


@pytest.mark.parametrize(
    ("scenario", "offsets"),
    [
        (["--to-earliest", "--all-topics"], {0: 0, 1: 0}),
        (["--to-latest", "--topic", "{topic}:0,2"], {0: 10, 1: 10, 2: 10}),
        (["--to-current", "--topic", "{topic}"], {0: 4, 1: 10, 2: 10}),
        (["--to-offset", "7", "--topic", "{topic}"], {0: 7, 1: 7, 2: 7}),
        (["--shift-by", "-3", "--all-topics"], {0: 1, 1: 7}),
        (["--to-datetime", "2001-01-01T00:00:00.000", "--topic", "{topic}:1"], {0: 4, 1: 0}),
        (["--by-duration", "PT1H", "--topic", "{topic}:2"], {0: 4, 1: 10, 2: 0}),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_offsets_are_reset(
    groups: Groups, group: str, topic: str, scenario: list[str], offsets: dict[int, int]
) -> None:
    arguments = ["--reset-offsets", "--group", group, *(word.format(topic=topic) for word in scenario)]
    planned = groups(*arguments)
    assert planned.err.startswith(NOT_EXECUTED)
    assert current(groups, group) == {0: 4, 1: 10}
    executed = groups(*arguments, "--execute")
    assert executed == Outcome(0, planned.out, "")
    assert current(groups, group) == offsets
    assert {int(row[2]): int(row[3]) for row in rows(executed)}.items() <= offsets.items()


def test_offsets_stay_within_the_log(groups: Groups, group: str, topic: str) -> None:
    reset = groups(
        "--reset-offsets", "--group", group, "--topic", f"{topic}:0", "--to-offset", "99", "--execute"
    )
    assert reset.err == (
        f"WARN New offset (99) is higher than latest offset for topic partition {topic}-0. "
        "Value will be set to 10\n"
    )
    assert current(groups, group)[0] == 10
    reset = groups(
        "--reset-offsets", "--group", group, "--topic", f"{topic}:0", "--shift-by", "-99", "--execute"
    )
    assert reset.err == (
        f"WARN New offset (-89) is lower than earliest offset for topic partition {topic}-0. "
        "Value will be set to 0\n"
    )
    assert current(groups, group)[0] == 0


def test_a_time_after_the_last_record_is_the_end(groups: Groups, group: str, topic: str) -> None:
    reset = groups(
        "--reset-offsets", "--group", group, "--topic", f"{topic}:0", "--by-duration", "PT0S", "--execute"
    )
    assert reset.out.startswith(
        f"\nWarn: Partition 0 from topic {topic} is empty. Falling back to latest known offset.\n"
    )
    assert current(groups, group)[0] == 10


def test_a_plan_is_exported_and_taken_back(groups: Groups, group: str, topic: str, tmp_path: Path) -> None:
    exported = groups(
        "--reset-offsets", "--group", group, "--all-topics", "--to-current", "--export", "--dry-run"
    )
    assert exported == Outcome(0, f"{topic},0,4\n{topic},1,10\n\n", "")
    file = tmp_path / "plan.csv"
    file.write_text(exported.out.replace(",1,10", ",1,9"))
    assert groups("--reset-offsets", "--group", group, "--from-file", str(file), "--execute").code == 0
    assert current(groups, group) == {0: 4, 1: 9}


def test_a_new_group_gets_offsets_before_it_reads(
    groups: Groups, topic: str, new_name: Callable[[str], str]
) -> None:
    name = new_name("group")
    groups("--reset-offsets", "--group", name, "--topic", topic, "--to-offset", "5", "--execute")
    assert current(groups, name) == {0: 5, 1: 5, 2: 5}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_with_members_keeps_its_offsets(
    groups: Groups, bootstrap: str, group: str, topic: str, protocol: str
) -> None:
    with members(bootstrap, group, [topic], [{}], protocol):
        assert eventually(lambda: [group, "Stable"] in rows(groups("--list", "--state")))
        reset = groups("--reset-offsets", "--group", group, "--topic", topic, "--to-latest", "--execute")
        assert reset.code == 1
        assert (
            f"\nError: Assignments can only be reset if the group '{group}' is inactive, "
            "but the current state is Stable.\n"
        ) in reset.out
        deleted = groups("--delete", "--group", group)
        assert deleted.code == 1
        assert f"* Group '{group}' could not be deleted due to: " in deleted.out
        offsets = groups("--delete-offsets", "--group", group, "--topic", f"{topic}:0")
        assert offsets.code == 1
        assert "\nError: Encountered some partition-level error, see the follow-up details.\n" in offsets.out


def test_groups_are_deleted(groups: Groups, group: str) -> None:
    deleted = groups("--delete", "--group", group)
    assert deleted == Outcome(0, f"Deletion of requested consumer groups ('{group}') was successful.\n", "")
    assert group not in groups("--list").out.splitlines()


def test_one_group_is_deleted_another_is_not(groups: Groups, group: str) -> None:
    deleted = groups("--delete", "--group", f"{group}-x", "--group", group)
    assert deleted.code == 1
    assert deleted.out.startswith(
        "\nError: Deletion of some consumer groups failed:\n"
        f"* Group '{group}-x' could not be deleted due to: "
    )
    assert deleted.out.endswith(f"\n\nThese consumer groups were deleted successfully: '{group}'\n")


def test_offsets_are_deleted(groups: Groups, group: str, topic: str) -> None:
    deleted = groups("--delete-offsets", "--group", group, "--topic", f"{topic}:1", "--topic", f"{topic}-x")
    assert deleted.code == 1
    first, *table = deleted.out.splitlines()
    assert first == f"Request succeeded for deleting offsets from group {group}."
    assert table[2].split() == [topic, "1", "Successful"]
    assert table[3].split()[:3] == [f"{topic}-x", "-", "Error:"]
    assert current(groups, group) == {0: 4}
    missing = groups("--delete-offsets", "--group", f"{group}-x", "--topic", f"{topic}:1")
    assert missing.code == 1
    assert missing.out.startswith("\nError: ")


def test_failures_are_one_line(groups: Groups, group: str, topic: str) -> None:
    prefix = "Error: Executing consumer group command failed due to "
    reset = ["--reset-offsets", "--group", group, "--dry-run", "--to-latest"]
    for arguments, message in (
        (["--describe", "--group", f"{group}-x"], f"Group {group}-x not found."),
        ([*reset, "--topic", f"{topic}:7"], f'The partitions "{topic}-7" do not exist'),
        ([*reset, "--topic", f"{topic}-x"], f"Cannot use topic '{topic}-x': "),
        (
            ["--reset-offsets", "--group", group, "--dry-run", "--shift-by", "1", "--topic", f"{topic}:2"],
            f"Cannot shift offset for partition {topic}-2 since there is no current committed offset",
        ),
    ):
        outcome = groups(*arguments)
        assert (outcome.code, outcome.out, outcome.err.count("\n")) == (1, "", 1)
        assert outcome.err.startswith(prefix + message)
