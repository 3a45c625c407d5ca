"""Calls to the leaders of partitions. Each partition has one, and it may change at any time."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from gralha.client.calls import Calls
from gralha.client.errors import ConnectionFailedError, UnansweredError
from gralha.client.values import TopicPartition
from gralha.protocol.errors import ErrorCode, KafkaError, error_for

Result = TypeVar("Result")
Answers = dict[TopicPartition, Result | KafkaError]


class LeaderCalls(Calls):
    """Finds the leaders of partitions and sends requests to them."""

    def _ask_leaders(
        self,
        partitions: Iterable[TopicPartition],
        ask: Callable[[int, list[TopicPartition]], Answers[Result]],
    ) -> Answers[Result]:
        """Asks the leader of each partition. Finds the leader again if it does not answer."""

        def attempt(pending: list[TopicPartition]) -> Answers[Result]:
            answers: Answers[Result] = {}
            leaders: dict[int, list[TopicPartition]] = {}
            found = self.cluster.leaders(pending)
            for partition in pending:
                leader = found[partition]
                if isinstance(leader, KafkaError):
                    answers[partition] = leader
                else:
                    leaders.setdefault(leader, []).append(partition)
            for broker, group in leaders.items():
                try:
                    answers.update(ask(broker, group))
                except KafkaError as error:
                    answers.update(dict.fromkeys(group, error))
                except (ConnectionFailedError, UnansweredError) as failure:
                    unreachable = error_for(ErrorCode.NETWORK_EXCEPTION, str(failure))
                    answers.update(dict.fromkeys(group, unreachable))
            return answers

        return self.cluster.each(partitions, attempt)


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[TopicPartition]]:
    """Groups partitions by topic, as requests list them."""
    topics: dict[str, list[TopicPartition]] = {}
    for partition in partitions:
        topics.setdefault(partition.topic, []).append(partition)
    return topics
