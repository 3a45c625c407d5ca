"""Assigning partitions by hand: where each begins, and which come first."""

from typing import Any

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, KafkaError, KafkaException, TopicPartition

from gralha.cli.consumption import Assignment, Selection

# First and last offset of each partition; a partition without them has no leader.
OFFSETS = {0: (0, 0), 1: (7, 7), 2: (3, 5), 4: (0, 1)}


class Metadata:
    def __init__(self, count: int) -> None:
        self.error = None
        self.partitions = {number: object() for number in range(count)}
        self.topics = {"t": self}


class FakeConsumer:
    """Knows one topic and remembers what it was told to read."""

    def __init__(self, partitions: int = 5, *, answers: bool = True) -> None:
        self.partitions = partitions
        self.answers = answers
        self.assigned: list[list[tuple[int, int]]] = []

    def list_topics(self, topic: str | None, timeout: float) -> Metadata:
        return Metadata(self.partitions)

    def offsets_for_times(self, questions: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        if not self.answers:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        names = (OFFSET_BEGINNING, OFFSET_END)
        return [
            TopicPartition("t", one.partition, OFFSETS[one.partition][names.index(one.offset)])
            for one in questions
            if one.partition in OFFSETS
        ]

    def incremental_assign(self, partitions: list[TopicPartition]) -> None:
        self.assigned.append([(one.partition, one.offset) for one in partitions])


def assign(consumer: Any, *, from_beginning: bool = True, **selection: Any) -> Assignment:
    assignment = Assignment(
        consumer, Selection(topic="t", **selection), from_beginning=from_beginning, look_again_ms=0
    )
    assert assignment.start(0)
    return assignment


def test_partitions_with_records_are_read_before_empty_ones() -> None:
    consumer = FakeConsumer()
    assign(consumer)
    assert consumer.assigned == [[(2, 3), (3, OFFSET_BEGINNING), (4, 0)], [(0, 0), (1, 7)]]


def test_without_an_answer_librdkafka_finds_the_beginnings() -> None:
    consumer = FakeConsumer(answers=False)
    assign(consumer)
    assert consumer.assigned == [[(number, OFFSET_BEGINNING) for number in range(5)]]


def test_new_partitions_are_added_once() -> None:
    consumer = FakeConsumer(partitions=2)
    assignment = assign(consumer)
    assignment.look_again()
    consumer.partitions = 3
    assignment.look_again()
    assert consumer.assigned == [[(0, 0), (1, 7)], [(2, OFFSET_BEGINNING)]]


def test_the_end_and_a_given_offset_need_no_questions() -> None:
    consumer = FakeConsumer(answers=False)
    assign(consumer, from_beginning=False, partition=2)
    assign(consumer, partition=4, offset=9)
    assert consumer.assigned == [[(2, OFFSET_END)], [(4, 9)]]
