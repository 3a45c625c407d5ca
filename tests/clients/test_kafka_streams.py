"""Kafka Streams with exactly_once_v2 counts every word once, although its instances are killed.

Each word goes through a repartition topic, and each count through a changelog and to the output. So for a
reader of committed records the counts of a word are 1, 2, 3 and so on, up to how often the word was written.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from gralha.testing import ServerProcess
from tests.apache.kafka import DRIVER_CLASSES, TOOL_FLAGS, java_command
from tests.clients import access
from tests.clients.conftest import Cluster
from tests.clients.driver import Driver
from tests.received import key_of, value_of

WORDS = [f"word-{number}" for number in range(20)]
WORDS_IN_A_LINE = 5
LINES = 1200
LINES_IN_A_ROUND = 20
PARTITIONS = 2
# An instance is killed when readers have seen this many counts.
KILLS = (1000, 2500, 4000)
PATIENCE_S = 120.0


class Instances:
    """The running instances of the application, each with a state folder of its own."""

    def __init__(self, folder: Path, arguments: list[str]) -> None:
        self._folder = folder
        self._arguments = arguments
        self._numbers = itertools.count()
        self._running: list[ServerProcess] = []
        self.killed = 0

    def start(self) -> None:
        name = f"instance-{next(self._numbers)}"
        flags = [*TOOL_FLAGS, f"-Dstate.dir={self._folder / name}"]
        command = [*java_command("WordCount", flags, DRIVER_CLASSES), *self._arguments]
        self._running.append(ServerProcess(command, self._folder / f"{name}.log"))

    def replace_oldest(self) -> None:
        self._running.pop(0).kill()
        self.killed += 1
        self.start()

    def close(self) -> None:
        for process in self._running:
            process.kill()

    def logs(self) -> str:
        return "\n".join(f"{process.log_file}:\n{process.log_tail()}" for process in self._running)


class Counts:
    """The counts of each word in the order in which a reader of committed records gets them."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.by_word: dict[str, list[int]] = defaultdict(list)
        self.seen = 0
        self._consumer = Consumer(
            {
                **access.librdkafka(bootstrap),
                "group.id": "reader",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            }
        )
        self._consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])

    def look(self) -> None:
        for message in self._consumer.consume(1000, 0.1):
            assert message.error() is None, message.error()
            self.by_word[key_of(message).decode()].append(int(value_of(message)))
            self.seen += 1

    def close(self) -> None:
        self._consumer.close()


def lines(seed: int) -> Iterator[list[str]]:
    chance = random.Random(seed)
    for _ in range(LINES):
        yield chance.choices(WORDS, k=WORDS_IN_A_LINE)


@pytest.mark.timeout(300)
def test_counts_are_exact_although_instances_are_killed(
    broker: Cluster, reference: Driver, tmp_path: Path
) -> None:
    name = f"word-count.{uuid.uuid4().hex[:8]}"
    source, target = f"{name}.lines", f"{name}.counts"
    for topic in (source, target):
        reference.create_topic(topic, PARTITIONS)
    written: Counter[str] = Counter()
    remaining = lines(seed=1)
    kills = list(KILLS)
    writer = Producer({**access.librdkafka(broker.bootstrap), "enable.idempotence": True, "log_level": 0})
    security = access.arguments(*access.of(broker.bootstrap))
    instances = Instances(tmp_path, [broker.bootstrap, name, source, target, *security])
    deadline = time.monotonic() + PATIENCE_S
    with contextlib.closing(instances), contextlib.closing(Counts(broker.bootstrap, target)) as counts:
        instances.start()
        instances.start()
        while counts.seen < LINES * WORDS_IN_A_LINE:
            for words in itertools.islice(remaining, LINES_IN_A_ROUND):
                writer.produce(source, " ".join(words))
                written.update(words)
            writer.flush()
            counts.look()
            if kills and counts.seen >= kills[0]:
                kills.pop(0)
                instances.replace_oldest()
            assert time.monotonic() < deadline, f"{counts.seen} counts came\n{instances.logs()}"
        counts.look()
    assert instances.killed == len(KILLS)
    assert counts.by_word == {word: list(range(1, count + 1)) for word, count in written.items()}
