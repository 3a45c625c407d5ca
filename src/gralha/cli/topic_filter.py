"""Selects topics by a regular expression. As in Kafka, commas mean "or" and quotes are removed."""

import re

from gralha.cli.program import CommandError

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})


class TopicFilter:
    """Kafka's IncludeList: it selects a topic if the whole name matches."""

    def __init__(self, expression: str) -> None:
        text = expression.strip().replace(",", "|").replace(" ", "")
        text = re.sub(r"[\"']+$", "", re.sub(r"^[\"']+", "", text))
        self._pattern = compile_expression(text)

    def allows(self, topic: str, *, exclude_internal: bool = False) -> bool:
        """Returns True if the topic is selected."""
        if exclude_internal and topic in INTERNAL_TOPICS:
            return False
        return self._pattern.fullmatch(topic) is not None


def compile_expression(text: str) -> re.Pattern[str]:
    """Compiles a regular expression that a person typed."""
    try:
        return re.compile(text)
    except re.error as error:
        raise CommandError(f"{text} is an invalid regex: {error}") from None
