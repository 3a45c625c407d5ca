"""Dead letters become records again: the letter itself, and the command on a real broker without Spark."""

from __future__ import annotations

import operator
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import KafkaError, TopicPartition
from pyspark.sql.types import IntegerType, StructField, StructType

from gralha.cli import pipeline_replay_dead_letters
from gralha.cli.pipeline import main
from gralha.cli.pipeline_replay_dead_letters import batches
from gralha.pipelines.dead_letters import DeadLetters
from gralha.pipelines.replaying import letter, timestamp_ms
from gralha.pipelines.state_files import State, StateFile
from tests.cli.commands import written
from tests.pipelines.topics import create, read, write
from tests.received import headers_of, value_of

SCHEMA = StructType([StructField("n", IntegerType())])
AT_MS = 1_767_323_045_678


def record(topic: str, value: bytes, offset: int, partition: int = 0, headers: Any = None) -> dict[str, Any]:
    origin = {"topic": topic, "partition": partition, "offset": offset, "timestamp": AT_MS * 1000}
    return {**origin, "key": b"k", "value": value, "headers": headers}


def headers(made: dict[str, Any]) -> list[tuple[str, bytes | None]]:
    return [(one["key"], one["value"]) for one in made["headers"]]


class Pipelines:
    """Pipelines that have written dead letters, and the command that replays them."""

    def __init__(self, bootstrap: str, topic: str, capfd: pytest.CaptureFixture[str], folder: Path) -> None:
        self.topic = topic
        self.bootstrap = bootstrap
        self.folder = folder
        self._capfd = capfd

    def fail(self, pipeline: str, *records: dict[str, Any]) -> None:
        DeadLetters(pipeline, self.topic, SCHEMA, {"bootstrap.servers": self.bootstrap}).write(records)

    def replay(self, pipeline: str, *more: str) -> list[str]:
        code, out, err = self.outcome(pipeline, *more)
        assert (code, err) == (0, "")
        return out.splitlines()

    def outcome(self, pipeline: str, *more: str) -> tuple[int, str, str]:
        return main(self.line(pipeline, *more)), *written(self._capfd)

    def line(self, pipeline: str, *more: str) -> list[str]:
        where = ["--bootstrap-server", self.bootstrap, "--checkpoints", str(self.folder)]
        return ["replay-dead-letters", pipeline, *where, *(more or ["--topic", self.topic])]


@pytest.fixture
def pipelines(
    bootstrap: str, new_name: Callable[[str], str], capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> Pipelines:
    topic = new_name("letters")
    create(bootstrap, topic, max_message_bytes="2000")
    return Pipelines(bootstrap, topic, capfd, tmp_path)


def test_a_letter_gives_its_record_back() -> None:
    letters = DeadLetters("sums", "letters", SCHEMA, {})
    made = letters.letter(record("numbers", b"x", 7, 3, [{"key": "trace", "value": b"t"}]))
    found = letter(headers(made))
    assert found is not None
    assert (found.headers, found.is_whole) == ([("trace", b"t")], True)
    origin = found.origin
    assert (origin.pipeline, origin.topic, origin.partition, origin.offset) == ("sums", "numbers", 3, 7)
    assert (origin.timestamp_ms, str(origin)) == (AT_MS, "numbers-3 offset 7")

    # A pipeline may read dead letters, and have its own. Only the last headers are about this one.
    again = letter(headers(letters.letter({**record("letters", b"x", 0), "headers": made["headers"]})))
    assert again is not None
    assert (again.origin.topic, again.headers) == ("letters", headers(made))


@pytest.mark.parametrize(
    "headers", [[], [("gralha.pipeline", b"sums")], [("gralha.partition", b"many"), ("gralha.offset", None)]]
)
def test_other_records_are_no_letters(headers: list[tuple[str, bytes | None]]) -> None:
    assert letter(headers) is None


def test_times_of_letters() -> None:
    assert timestamp_ms("2026-01-02T03:04:05.678000+00:00") == AT_MS
    assert timestamp_ms("1700000000000000 ms since 1970") == 1_700_000_000_000_000
    assert timestamp_ms("") is None


def test_letters_are_replayed_once(pipelines: Pipelines, new_name: Callable[[str], str]) -> None:
    bootstrap, numbers = pipelines.bootstrap, new_name("numbers")
    sums = new_name("sums")
    create(bootstrap, numbers, partitions=3)
    trace = [{"key": "trace", "value": b"t"}]
    # The topic of the third record has fewer partitions now.
    pipelines.fail(
        sums, record(numbers, b"a", 4, 2, trace), record(numbers, b"b", 5, 1), record(numbers, b"c", 6, 9)
    )
    pipelines.fail("another", record(numbers, b"not mine", 7))
    write(bootstrap, pipelines.topic, [b"no letter"])

    dry = pipelines.replay(sums, "--topic", pipelines.topic, "--dry-run")
    assert dry[0] == f"Would write 3 dead letters of {sums} back: 3 to {numbers}"
    assert dry[1].startswith(f"  {numbers}-2 offset 4: the value is not JSON")
    assert read(bootstrap, numbers) == []

    assert pipelines.replay(sums) == [f"Wrote 3 dead letters of {sums} back: 3 to {numbers}"]
    found = {value_of(one): one for one in read(bootstrap, numbers)}
    assert sorted(found) == [b"a", b"b", b"c"]
    first = found[b"a"]
    assert (first.partition(), first.key(), headers_of(first)) == (2, b"k", [("trace", b"t")])
    assert first.timestamp()[1] == AT_MS
    assert found[b"b"].partition() == 1

    nothing = f"{sums} has no dead letters in {pipelines.topic} that were not replayed before."
    assert pipelines.replay(sums) == [nothing]
    pipelines.fail(sums, record(numbers, b"d", 8))
    assert pipelines.replay(sums) == [f"Wrote 1 dead letter of {sums} back: 1 to {numbers}"]
    assert pipelines.replay(sums) == [nothing]
    again = pipelines.replay(sums, "--topic", pipelines.topic, "--all", "--dry-run")
    assert again[0].startswith("Would write 4 dead letters")


def test_letters_that_cannot_be_replayed_are_named(
    pipelines: Pipelines, new_name: Callable[[str], str]
) -> None:
    numbers, sums = new_name("numbers"), new_name("sums")
    create(pipelines.bootstrap, numbers)
    pipelines.fail(sums, record(numbers, b"x" * 3_000, 4), record(numbers, b"b", 5))
    code, out, err = pipelines.outcome(sums)
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        f"Wrote 1 dead letter of {sums} back: 1 to {numbers}",
        f"Not replayed: {numbers}-0 offset 4: it was too large for {pipelines.topic}",
    ]


def test_a_topic_of_origin_that_is_gone_is_not_created_again(
    pipelines: Pipelines, new_name: Callable[[str], str]
) -> None:
    gone, sums = new_name("gone"), new_name("sums")
    pipelines.fail(sums, record(gone, b"a", 4))
    code, out, err = pipelines.outcome(sums)
    assert (code, out) == (1, "")
    assert err == f"The topic {gone} of a dead letter is gone: create it first.\n"
    # Nothing was committed, so nothing is lost.
    create(pipelines.bootstrap, gone)
    assert pipelines.replay(sums) == [f"Wrote 1 dead letter of {sums} back: 1 to {gone}"]


def test_the_topic_is_that_of_the_last_run(pipelines: Pipelines, new_name: Callable[[str], str]) -> None:
    sums = new_name("sums")
    state = State(sums, "x.py", "local[2]", pipelines.bootstrap, dead_letters_topic=pipelines.topic)
    StateFile(pipelines.folder, sums).write(state)
    assert pipelines.replay(sums, "--dry-run")[0].startswith(
        f"{sums} has no dead letters in {pipelines.topic}"
    )

    StateFile(pipelines.folder, "drops").write(State("drops", "x.py", "local[2]", pipelines.bootstrap))
    assert "drops records that do not fit (dead_letters=None)" in pipelines.outcome("drops", "--dry-run")[2]

    create(pipelines.bootstrap, f"{sums}.dead-letters")
    code, _out, err = pipelines.outcome(f"{sums}x", "--dry-run")
    assert code == 1
    assert f"There is no topic {sums}x.dead-letters on " in err
    assert f"Did you mean {sums}.dead-letters?" in err


KILLED_BEFORE_THE_COMMIT = """
import os, signal, sys
from gralha.cli import pipeline, pipeline_replay_dead_letters as replaying

def kill_me(producer, *_others):
    # add() has returned, so the brokers have the records.
    os.kill(os.getpid(), signal.SIGKILL)

replaying._commit = kill_me
pipeline.main(sys.argv[1:])
"""


def test_letters_of_a_killed_replay_are_written_once(
    pipelines: Pipelines, new_name: Callable[[str], str]
) -> None:
    bootstrap, numbers, sums = pipelines.bootstrap, new_name("numbers"), new_name("sums")
    create(bootstrap, numbers)
    pipelines.fail(sums, *(record(numbers, value, at) for at, value in enumerate([b"a", b"b", b"c"])))
    line = pipelines.line(sums, "--topic", pipelines.topic)
    killed = subprocess.run([sys.executable, "-c", KILLED_BEFORE_THE_COMMIT, *line], timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert len(read(bootstrap, numbers, "read_uncommitted")) == 3
    assert read(bootstrap, numbers) == []

    assert pipelines.replay(sums) == [f"Wrote 3 dead letters of {sums} back: 3 to {numbers}"]
    assert sorted(map(value_of, read(bootstrap, numbers))) == [b"a", b"b", b"c"]


@pytest.mark.parametrize("step", ["_Replay.add", "_commit"])
def test_of_two_replays_at_once_the_first_is_fenced(
    pipelines: Pipelines, new_name: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """The second one does all its work before this step of the first one."""
    bootstrap, numbers, sums = pipelines.bootstrap, new_name("numbers"), new_name("sums")
    create(bootstrap, numbers)
    pipelines.fail(sums, record(numbers, b"a", 4), record(numbers, b"b", 5))
    target = f"{pipeline_replay_dead_letters.__name__}.{step}"
    taken = operator.attrgetter(step)(pipeline_replay_dead_letters)
    seconds: list[list[str]] = []

    def take_after_another(*arguments: Any) -> None:
        monkeypatch.setattr(target, taken)
        seconds.append(pipelines.replay(sums))
        taken(*arguments)

    monkeypatch.setattr(target, take_after_another)
    code, out, err = pipelines.outcome(sums)
    assert seconds == [[f"Wrote 2 dead letters of {sums} back: 2 to {numbers}"]]
    assert (code, out) == (1, "")
    assert err.startswith(f"Another replay-dead-letters of {sums} has begun, and this one has ended. ")
    assert sorted(map(value_of, read(bootstrap, numbers))) == [b"a", b"b"]


class Event(NamedTuple):
    """A message of librdkafka, or the end of a partition."""

    number: int
    place: int
    is_end: bool = False

    def partition(self) -> int:
        return self.number

    def offset(self) -> int:
        return self.place

    def error(self) -> KafkaError | None:
        return KafkaError(KafkaError._PARTITION_EOF) if self.is_end else None


class Events:
    """A consumer that gets these events, one after the other."""

    def __init__(self, *events: Event) -> None:
        self.events = list(events)

    def assign(self, places: list[TopicPartition]) -> None:
        self.assigned = [place.partition for place in places]

    def poll(self, _timeout_seconds: float) -> Event | None:
        return self.events.pop(0) if self.events else None

    def consume(self, _count: int, timeout: float) -> list[Event]:
        assert timeout == 0
        return []


def test_a_topic_may_end_with_offsets_that_have_no_message() -> None:
    """The marker of a transaction has the last offset of partition 1, and somebody writes to partition 0."""
    consumer: Any = Events(Event(0, 5), Event(0, 6), Event(1, 3), Event(0, 7), Event(1, 5, is_end=True))
    places = [(TopicPartition("t", 0, 5), 7), (TopicPartition("t", 1, 3), 5), (TopicPartition("t", 2, 9), 9)]
    found: list[Any] = [message for batch in batches(consumer, places) for message in batch]
    assert found == [Event(0, 5), Event(0, 6), Event(1, 3)]
    assert consumer.assigned == [0, 1]
    assert consumer.events == []
