import pytest

from gralha.cli.program import CommandError
from gralha.cli.topic_filter import TopicFilter


@pytest.mark.parametrize(
    ("expression", "allowed", "refused"),
    [
        ("orders", ["orders"], ["orders2", "my-orders"]),
        ("a,b", ["a", "b"], ["ab", "c"]),
        (" a , b ", ["a", "b"], ["c"]),
        ("'t.*'", ["t", "topic"], ["at"]),
        ("x|y", ["x", "y"], ["xy"]),
        (r"test\.topic", ["test.topic"], ["test-topic"]),
    ],
)
def test_whole_names_match(expression: str, allowed: list[str], refused: list[str]) -> None:
    topics = TopicFilter(expression)
    assert all(topics.allows(topic) for topic in allowed)
    assert not any(topics.allows(topic) for topic in refused)


def test_internal_topics_can_be_left_out() -> None:
    topics = TopicFilter(".*")
    assert topics.allows("__consumer_offsets")
    assert not topics.allows("__consumer_offsets", exclude_internal=True)
    assert topics.allows("__mine", exclude_internal=True)


def test_a_broken_expression_is_named() -> None:
    with pytest.raises(CommandError, match=r"\( is an invalid regex"):
        TopicFilter("(")
