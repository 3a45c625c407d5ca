import pytest

from gralha.security.sasl.saslprep import saslprep


@pytest.mark.parametrize(
    ("text", "prepared"),
    [
        # RFC 4013, section 3
        ("I\u00adX", "IX"),
        ("user", "user"),
        ("USER", "USER"),
        ("\u00aa", "a"),
        ("\u2168", "IX"),
        ("a\u00a0b", "a b"),
        ("", ""),
        ("\u0627\u0628", "\u0627\u0628"),
    ],
)
def test_spellings_are_made_equal(text: str, prepared: str) -> None:
    assert saslprep(text) == prepared


@pytest.mark.parametrize("text", ["\u0007", "\u06271", "a\u0627", "\ue000", "\ud800", "\u0221"])
def test_forbidden_characters_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"U\+|right"):
        saslprep(text)
