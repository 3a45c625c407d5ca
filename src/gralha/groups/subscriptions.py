"""Which topics a consumer group subscribes to: by regular expressions, and what these topics are like.

Regular expressions come from clients. RE2, Kafka's choice too, never takes longer than the expression's size
times the length of what it is matched with; and its size is limited here.
"""

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Final

import re2

from gralha.groups.consumer_group import ConsumerGroup
from gralha.groups.consumer_member import Regex
from gralha.groups.topics import Topic, Topics
from gralha.protocol.errors import InvalidRegularExpressionError

# Room for an alternation of a hundred names. Matching ten thousand topics takes a fraction of a second.
PROGRAM_SIZE_MAX: Final = 5_000
# When topics change, a group's expressions are looked up anew, but no more often than that.
REGEX_REFRESH_MIN_MS: Final = 10_000


def regex_matcher(expression: str) -> Callable[[str], object]:
    """Tells whether a name as a whole matches; INVALID_REGULAR_EXPRESSION if the expression is none."""
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(expression, options)
    except (re2.error, UnicodeError) as error:
        reason = error.args[0].decode(errors="replace") if isinstance(error, re2.error) else str(error)
    else:
        if compiled.programsize <= PROGRAM_SIZE_MAX:
            matches: Callable[[str], object] = compiled.fullmatch
            return matches
        reason = "it is too large"
    raise InvalidRegularExpressionError(
        f"SubscribedTopicRegex `{expression}` is not a valid regular expression: {reason}."
    )


def matching_topics(expression: str, topics: Topics) -> frozenset[str]:
    """The names of all topics that match. An expression that another broker accepted may be invalid here."""
    try:
        matches = regex_matcher(expression)
    except InvalidRegularExpressionError:
        return frozenset()
    return frozenset(name for name in topics.names() if matches(name))


def changed_regexes(
    group: ConsumerGroup, topics: Topics, refresh_interval_ms: int, now_ms: int
) -> dict[str, Regex | None]:
    """The group's regular expressions that stand for other topics now; None: nobody subscribes with it."""
    subscribed = group.subscribed_regexes
    changed: dict[str, Regex | None] = dict.fromkeys(group.regexes.keys() - subscribed)
    version = topics.version()
    refresh = bool(subscribed) and _is_refresh_due(group, version, refresh_interval_ms, now_ms)
    is_up_to_date = True
    for expression in sorted(subscribed):
        before = group.regexes.get(expression)
        if before is None or refresh:
            found = matching_topics(expression, topics)
            if before is None or before.topics != found:
                changed[expression] = Regex(found, version, now_ms)
                is_up_to_date = is_up_to_date and before is None
    if refresh and is_up_to_date:
        group.checks.regexes_version = version
        group.checks.regexes_checked_ms = now_ms
    return changed


def _is_refresh_due(group: ConsumerGroup, version: int, refresh_interval_ms: int, now_ms: int) -> bool:
    """A look-up that found changes does not count: if they were not written down the next one finds them.

    Expressions that are new are looked up in any case. If they counted as changes, a group whose members all
    bring their own would look all of them up with each.
    """
    checks = group.checks
    interval_ms = refresh_interval_ms if checks.regexes_version == version else REGEX_REFRESH_MIN_MS
    return not checks.regexes_checked_ms <= now_ms <= checks.regexes_checked_ms + interval_ms


class MetadataHash:
    """A number that changes when one of a group's topics comes, goes, grows or changes racks (KIP-1101).

    No client sees it. It is not the hash that Kafka uses: a group that moves here from Kafka gets a new
    target assignment once, which hardly ever differs from the old one.
    """

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._version: int | None = None
        self._hashes: dict[str, bytes] = {}

    def of(self, names: Iterable[str]) -> int:
        """The hash of those of the topics that exist; 0 if there are none."""
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
                return b""  # and not remembered: clients may ask for any number of names
            found = self._hashes[name] = _topic_hash(topic)
        return found


def _topic_hash(topic: Topic) -> bytes:
    racks = [sorted(each) for each in topic.racks]
    described = repr((topic.name, topic.id, topic.partition_count, racks))
    return blake2b(described.encode(), digest_size=16).digest()
