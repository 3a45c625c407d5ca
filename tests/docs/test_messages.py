"""The check of quoted messages finds words that the code does not have."""

import pytest

from tests.docs.messages import missing

FORMATTING = ["src/gralha/metadata/formatting.py"]
SAID = "/data/meta.properties says node.id=2, but this node is 1. If you have moved the data, set node.id=2."


def test_a_message_of_the_code_has_no_missing_words() -> None:
    assert missing(SAID, FORMATTING) is None


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (SAID.replace("If you have moved", "If somebody has moved"), "If somebody has"),
        (f"{SAID} Then start it again.", "Then start it"),
        (SAID.replace("but this node is 1", "but it should be 1"), "but it should"),
    ],
)
def test_changed_words_are_found(changed: str, words: str) -> None:
    found = missing(changed, FORMATTING)
    assert found is not None
    assert words in found
