"""Topics chosen by a regular expression, with Kafka's liberties: commas mean "or", quotes are stripped."""

import re

from gralha.cli.program import CommandError

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})


class TopicFilter:
    """Kafka's IncludeList: a topic passes when its whole name matches."""

    def __init__(self, expression: str) -> None:
        text = expression.strip().replace(",", "|").replace(" ", "")
        text = re.sub(r"[\"']+$", "", re.sub(r"^[\"']+", "", text))
        self._pattern = compile_expression(text)

    def allows(self, topic: str, *, exclude_internal: bool = False) -> bool:
        """Whether the topic passes."""
        if exclude_internal and topic in INTERNAL_TOPICS:
            return False
        return self._pattern.fullmatch(topic) is not None


def compile_expression(text: str) -> re.Pattern[str]:
    """A regular expression that a person typed."""
    try:
        return re.compile(text)
    except re.error as error:
        raise CommandError(f"{text} is an invalid regex: {error}") from None
