"""The regular expressions that RE2 accepts, with RE2/J's messages. 60,000 random ones were compared."""

import pytest

from gralha.cli import consumer_groups
from gralha.cli.re2_syntax import complaint


@pytest.mark.parametrize(
    "expression",
    [
        *["", "a.*", "^orders-[0-9]+$", "a|b|", "(a|b)*c", "(?:a)?", "(?i)a", "(?s-i:a)", "a(?i)*", "()"],
        *["(?P<n>a)(?<m>b)", "a{2}", "a{2,}", "a{2,1000}?", "{", "a{,3}", "{a}", "a*?", "x{2}y+"],
        *["[]a]", "[^]]", "[a-]", "[-a]", "[\\d-a]", "[[:alpha:]_]", "[[:^digit:]]", "[\\x41-\\x{5A}]"],
        *[
            "\\d\\S",
            "\\.",
            "\\x41",
            "\\012",
            "\\z",
            "\\bA",
            "\\pN",
            "\\p{Lu}",
            "\\P{^Greek}",
            "\\Qa.*(\\E+",
            "\\Q(",
        ],
    ],
)
def test_valid(expression: str) -> None:
    assert complaint(expression) is None


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("[a", "missing closing ]"),
        ("[]", "missing closing ]"),
        ("(a", "missing closing )"),
        ("a)", "regexp/syntax: internal error"),
        ("*", "missing argument to repetition operator"),
        ("a|+", "missing argument to repetition operator"),
        ("(?:*)", "missing argument to repetition operator"),
        ("\\Q\\E*", "missing argument to repetition operator"),
        ("a**", "invalid nested repetition operator"),
        ("a{2}{3}", "invalid nested repetition operator"),
        ("a*??", "invalid nested repetition operator"),
        ("{*", "invalid nested repetition operator"),
        ("a{1001}", "invalid repeat count"),
        ("a{2,1}", "invalid repeat count"),
        ("(?=a)", "invalid or unsupported Perl syntax"),
        ("(?!a)", "invalid or unsupported Perl syntax"),
        ("(?>a)", "invalid or unsupported Perl syntax"),
        ("(?z)", "invalid or unsupported Perl syntax"),
        ("(?<=a)", "invalid named capture"),
        ("(?P<n", "invalid named capture"),
        ("(?P<>a)", "invalid named capture"),
        ("(?P<a>.)(?P<a>.)", "duplicate capture group name"),
        ("[z-a]", "invalid character class range"),
        ("[[:foo:]]", "invalid character class range"),
        ("\\p{Foo}", "invalid character class range"),
        ("[a-\\d]", "invalid escape sequence"),
        ("\\1", "invalid escape sequence"),
        ("\\Z", "invalid escape sequence"),
        ("\\xG", "invalid escape sequence"),
        ("a\\", "trailing backslash at end of expression"),
        ("[a\\", "trailing backslash at end of expression"),
    ],
)
def test_invalid(expression: str, reason: str) -> None:
    assert complaint(expression) == reason


def test_the_command_tells(capsys: pytest.CaptureFixture[str]) -> None:
    assert consumer_groups.main(["--validate-regex", "a.*"]) == 0
    assert capsys.readouterr().out == "The regular expression `a.*` is valid.\n"
    assert consumer_groups.main(["--validate-regex", "a["]) == 1
    assert capsys.readouterr().out == "The regular expression `a[` is invalid: missing closing ].\n"
