"""Console consumers in groups, each in its own process."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.cli.commands import Run
from tests.cli.group_members import create_topic
from tests.client.live import eventually

SCRIPTS = Path(sys.executable).parent
PROTOCOLS = ("classic", "consumer")


@pytest.fixture
def topic(bootstrap: str, new_name: Callable[[str], str]) -> str:
    """A topic with three partitions and four records in each."""
    name = new_name("console-groups")
    create_topic(bootstrap, name, records=4)
    return name


class Consumers:
    """Console consumers that run until the end of the test. Their output goes to files."""

    def __init__(self, bootstrap: str, folder: Path, stack: ExitStack) -> None:
        self._bootstrap = bootstrap
        self._folder = folder
        self._stack = stack
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, *arguments: str) -> Path:
        """Starts one. Returns the file with its output."""
        file = self._folder / f"{len(self.processes)}.out"
        line: list[str | Path] = [
            SCRIPTS / "kafka-console-consumer",
            "--bootstrap-server",
            self._bootstrap,
            *arguments,
        ]
        process = subprocess.Popen(line, stdout=file.open("wb"), stderr=subprocess.DEVNULL)
        self._stack.enter_context(process)
        self._stack.callback(process.kill)
        self.processes.append(process)
        return file


@pytest.fixture
def consumers(bootstrap: str, tmp_path: Path) -> Iterator[Consumers]:
    with ExitStack() as stack:
        yield Consumers(bootstrap, tmp_path, stack)


def owners(run: Run, group: str) -> list[str]:
    """The member of each partition of a stable group, as kafka-consumer-groups shows it."""
    if f"{group} " not in run("consumer-groups", "--list", "--state", "stable").out:
        return []
    outcome = run("consumer-groups", "--describe", "--group", group)
    return [line.split()[6] for line in outcome.out.splitlines()[2:]]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_three_consumers_of_a_group_divide_three_partitions(
    run: Run, bootstrap: str, topic: str, consumers: Consumers, protocol: str
) -> None:
    group = f"{topic}-{protocol}"
    options = ["--topic", topic, "--group", group, "--from-beginning"]
    options += ["--consumer-property", f"group.protocol={protocol}", "--property", "print.partition=true"]
    files = [consumers.start(*options) for _ in range(3)]
    assert eventually(lambda: len(set(owners(run, group)) - {"-"}) == 3, timeout_s=60)
    producer = Producer({"bootstrap.servers": bootstrap})
    for partition in range(3):
        producer.produce(topic, "new", partition=partition)
    producer.flush(30)
    assert eventually(lambda: sum(file.read_text().count("new\n") for file in files) == 3)
    new = [[line for line in file.read_text().splitlines() if line.endswith("new")] for file in files]
    assert sorted(new) == [[f"Partition:{partition}\tnew"] for partition in range(3)]
    everything = [line for file in files for line in file.read_text().splitlines()]
    assert {line for line in everything if "new" not in line} == {
        f"Partition:{partition}\t{number}" for partition in range(3) for number in range(4)
    }


def test_the_partitions_of_one_that_leaves_go_to_the_others(
    run: Run, topic: str, consumers: Consumers
) -> None:
    group = f"{topic}-leave"
    for _ in range(2):
        consumers.start("--topic", topic, "--group", group, "--from-beginning")
    assert eventually(lambda: len(set(owners(run, group)) - {"-"}) == 2, timeout_s=60)
    consumers.processes[0].terminate()
    assert eventually(lambda: len(set(owners(run, group)) - {"-"}) == 1, timeout_s=60)


def consume(bootstrap: str, *arguments: str) -> list[str]:
    line: list[str | Path] = [SCRIPTS / "kafka-console-consumer", "--bootstrap-server", bootstrap, *arguments]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_goes_on_where_it_stopped(bootstrap: str, topic: str, protocol: str) -> None:
    options = ["--topic", topic, "--group", f"{topic}-{protocol}", "--from-beginning"]
    options += ["--command-property", f"group.protocol={protocol}"]
    first = consume(bootstrap, *options, "--max-messages", "5")
    rest = consume(bootstrap, *options, "--max-messages", "7")
    assert sorted(first + rest) == sorted(["0", "1", "2", "3"] * 3)


def test_a_group_that_nobody_named_keeps_no_offsets(
    run: Run, bootstrap: str, topic: str, consumers: Consumers
) -> None:
    before = set(run("consumer-groups", "--list").out.split())
    file = consumers.start("--topic", topic, "--from-beginning")
    assert eventually(lambda: len(file.read_text().splitlines()) == 12, timeout_s=60)
    (group,) = set(run("consumer-groups", "--list").out.split()) - before
    assert group.startswith("console-consumer-")
    rows = run("consumer-groups", "--describe", "--group", group).out.splitlines()[2:]
    assert [row.split()[3] for row in rows] == ["-", "-", "-"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_pattern_finds_topics_but_no_internal_ones(bootstrap: str, topic: str, protocol: str) -> None:
    create_topic(bootstrap, f"{topic}-more", partitions=1, records=2)
    options = ["--include", f"{topic}(-more)?|__consumer_offsets", "--from-beginning", "--max-messages", "14"]
    found = consume(bootstrap, *options, "--command-property", f"group.protocol={protocol}")
    assert sorted(found) == sorted(["0", "1", "2", "3"] * 3 + ["0", "1"])
