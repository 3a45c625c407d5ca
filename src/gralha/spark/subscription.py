"""The topics and partitions to read: `subscribe`, `subscribePattern` or `assign`."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from gralha.client.values import TopicPartition
from gralha.spark.option_values import OptionError, Options, partition_numbers

SUBSCRIBE: Final = "subscribe"
SUBSCRIBE_PATTERN: Final = "subscribePattern"
ASSIGN: Final = "assign"
STRATEGIES: Final = (SUBSCRIBE, SUBSCRIBE_PATTERN, ASSIGN)


@dataclass(frozen=True)
class Topics:
    """All partitions of the named topics."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"{SUBSCRIBE}={','.join(self.names)}"


@dataclass(frozen=True)
class Pattern:
    """All partitions of topics whose whole name matches a regular expression, also of later topics."""

    expression: str

    def matching(self, names: Iterable[str]) -> list[str]:
        """The names that match."""
        expression = re.compile(self.expression)
        return [name for name in names if expression.fullmatch(name)]

    def __str__(self) -> str:
        return f"{SUBSCRIBE_PATTERN}={self.expression}"


@dataclass(frozen=True)
class Assignment:
    """The given partitions only."""

    partitions: tuple[TopicPartition, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The topics of the partitions."""
        return tuple(sorted({partition.topic for partition in self.partitions}))

    def __str__(self) -> str:
        return f"{ASSIGN}={','.join(str(partition) for partition in self.partitions)}"


Subscription = Topics | Pattern | Assignment


def includes(subscription: Subscription, topic: str) -> bool:
    """Returns True if the subscription includes a topic, no matter if it exists."""
    if isinstance(subscription, Pattern):
        return bool(subscription.matching([topic]))
    return topic in subscription.names


def subscription(options: Options) -> Subscription:
    """The subscription of exactly one of the three options."""
    given = [name for name in STRATEGIES if name in options]
    if not given:
        raise OptionError(
            "No topic to read: set the option subscribe (for example 'sales,returns'), subscribePattern "
            """(for example 'sales\\..*') or assign (for example '{"sales": [0, 1]}')."""
        )
    if len(given) > 1:
        raise OptionError(
            f"Only one of {', '.join(STRATEGIES)} can be set, but {' and '.join(given)} are: remove one."
        )
    if given == [SUBSCRIBE]:
        return _topics(options[SUBSCRIBE])
    if given == [SUBSCRIBE_PATTERN]:
        return _pattern(options[SUBSCRIBE_PATTERN])
    partitions = partition_numbers(options, ASSIGN)
    if not partitions:
        raise OptionError("""Option 'assign' names no partition: write JSON such as {"sales": [0, 1]}.""")
    return Assignment(tuple(partitions))


def _topics(text: str) -> Topics:
    names = sorted({name.strip() for name in text.split(",") if name.strip()})
    if not names:
        raise OptionError(f"Option 'subscribe' is '{text}': write a topic, or several separated by commas.")
    return Topics(tuple(names))


def _pattern(text: str) -> Pattern:
    if not text.strip():
        raise OptionError("Option 'subscribePattern' is empty: write a regular expression such as sales-.*")
    try:
        re.compile(text.strip())
    except re.error as error:
        raise OptionError(
            f"Option 'subscribePattern' is '{text}', which is not a regular expression: {error}."
        ) from None
    return Pattern(text.strip())
