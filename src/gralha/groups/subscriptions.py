"""The topics that a consumer group subscribes to: regular expressions, and a hash of the topics' metadata.

Regular expressions come from clients. RE2, which Kafka uses as well, needs at most the size of the expression
times the length of the text, and the size is limited here.
"""

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Final

from gralha.coordination.regular_expressions import BadExpressionError, matcher
from gralha.groups.consumer_group import ConsumerGroup
from gralha.groups.consumer_member import Regex
from gralha.groups.topics import Topic, Topics
from gralha.protocol.errors import InvalidRegularExpressionError

# When topics change, a group's expressions are looked up again, but no more often than this.
REGEX_REFRESH_MIN_MS: Final = 10_000


def regex_matcher(expression: str) -> Callable[[str], object]:
    """A function that tells whether a whole name matches. Raises INVALID_REGULAR_EXPRESSION."""
    try:
        return matcher(expression)
    except BadExpressionError as error:
        raise InvalidRegularExpressionError(
            f"SubscribedTopicRegex `{expression}` is not a valid regular expression: {error}."
        ) from None


def matching_topics(
    expression: str, topics: Topics, may_describe: Callable[[str], bool] | None = None
) -> frozenset[str]:
    """The names of the topics that match. Another broker may accept an expression that is invalid here."""
    try:
        matches = regex_matcher(expression)
    except InvalidRegularExpressionError:
        return frozenset()
    found = frozenset(name for name in topics.names() if matches(name))
    return found if may_describe is None else frozenset(filter(may_describe, found))


def changed_regexes(
    group: ConsumerGroup,
    topics: Topics,
    refresh_interval_ms: int,
    now_ms: int,
    may_describe: Callable[[str], bool] | None = None,
) -> dict[str, Regex | None]:
    """The expressions that match other topics now, or None for one that no member subscribes with."""
    subscribed = group.subscribed_regexes
    changed: dict[str, Regex | None] = dict.fromkeys(group.regexes.keys() - subscribed)
    version = topics.version()
    refresh = bool(subscribed) and _is_refresh_due(group, version, refresh_interval_ms, now_ms)
    is_up_to_date = True
    for expression in sorted(subscribed):
        before = group.regexes.get(expression)
        if before is None or refresh:
            found = matching_topics(expression, topics, may_describe)
            if before is None or before.topics != found:
                changed[expression] = Regex(found, version, now_ms)
                is_up_to_date = is_up_to_date and before is None
    if refresh and is_up_to_date:
        group.checks.regexes_version = version
        group.checks.regexes_checked_ms = now_ms
    return changed


def _is_refresh_due(group: ConsumerGroup, version: int, refresh_interval_ms: int, now_ms: int) -> bool:
    """Whether it is time to look all expressions up again.

    A look-up that found changes does not count: if the changes were not written, the next look-up finds them.
    New expressions are looked up in any case, and are no changes. Otherwise a group in which each member has
    an expression of its own would look all of them up for each new member.
    """
    checks = group.checks
    interval_ms = refresh_interval_ms if checks.regexes_version == version else REGEX_REFRESH_MIN_MS
    return not checks.regexes_checked_ms <= now_ms <= checks.regexes_checked_ms + interval_ms


class MetadataHash:
    """A number that changes if a topic of the group is created, deleted, grows or changes racks (KIP-1101).

    No client sees it. Kafka's hash is another one: a group that moves here from Kafka gets a new target
    assignment once, which hardly ever differs from the old one.
    """

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._version: int | None = None
        self._hashes: dict[str, bytes] = {}

    def of(self, names: Iterable[str]) -> int:
        """The hash of the topics that exist; 0 if there are none."""
        if self._version != self._topics.version():
            self._version = self._topics.version()
            self._hashes.clear()
        hashes = b"".join(self._hash(name) for name in sorted(names))
        digest = blake2b(hashes, digest_size=8).digest() if hashes else b""
        return int.from_bytes(digest, "big", signed=True)

    def _hash(self, name: str) -> bytes:
        found = self._hashes.get(name)
        if found is None:
            topic = self._topics.by_name(name)
            if topic is None:
                return b""  # not remembered: clients may send any number of names
            found = self._hashes[name] = _topic_hash(topic)
        return found


def _topic_hash(topic: Topic) -> bytes:
    racks = [sorted(each) for each in topic.racks]
    described = repr((topic.name, topic.id, topic.partition_count, racks))
    return blake2b(described.encode(), digest_size=16).digest()
