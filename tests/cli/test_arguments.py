import pytest

from gralha.cli.arguments import CommandParser, given
from gralha.cli.program import CommandError


@pytest.fixture
def parser() -> CommandParser:
    parser = CommandParser("kafka-thing", "Does things.")
    parser.value("topic", "the topic")
    parser.value("count", "how many", kind=int)
    parser.value("codec", "which one", nargs="?", const="gzip")
    parser.flag("sync", "at once")
    parser.values("reader-property", "property", help_text="properties")
    return parser


def test_values_flags_and_lists(parser: CommandParser) -> None:
    options = parser.parse(
        ["--topic", "t", "--count=-1", "--sync", "--property", "a=1", "--reader-property", "b=2"]
    )
    assert (options.topic, options.count, options.sync) == ("t", -1, True)
    assert options.reader_property == ["a=1", "b=2"]


def test_an_option_without_its_optional_value(parser: CommandParser) -> None:
    assert parser.parse(["--codec", "--topic", "t"]).codec == "gzip"
    assert parser.parse(["--topic", "t"]).codec is None


def test_unambiguous_beginnings_are_enough(parser: CommandParser) -> None:
    assert parser.parse(["--top", "t"]).topic == "t"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--topic", "a", "--topic", "b"], "Found multiple arguments for option topic"),
        (["--count", "many"], "--count: invalid int value: 'many'"),
        (["--nonsense"], "unrecognized arguments: --nonsense"),
        (["--topic"], "--topic: expected one argument"),
    ],
)
def test_a_wrong_call_is_one_sentence(parser: CommandParser, arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        parser.parse(arguments)


def test_help_and_version_need_nothing_else(
    parser: CommandParser, capsys: pytest.CaptureFixture[str]
) -> None:
    for option, expected in (("--help", "--topic"), ("--version", "Gralha")):
        with pytest.raises(SystemExit) as ended:
            parser.parse([option])
        assert ended.value.code == 0
        assert expected in capsys.readouterr().out


def test_a_call_without_anything_shows_the_help_and_fails(
    parser: CommandParser, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parser.parse([])
    assert ended.value.code == 1
    assert "--topic" in capsys.readouterr().err


def test_checks_between_options_speak_kafkas_words(parser: CommandParser) -> None:
    options = parser.parse(["--topic", "t", "--sync"])
    assert given(options, "topic")
    assert not given(options, "reader-property")
    parser.require(options, "topic")
    parser.require_one_of(options, "topic", "count")
    with pytest.raises(
        CommandError, match=r'Missing required argument "\[count\]" \(see kafka-thing --help\)'
    ):
        parser.require(options, "count")
    with pytest.raises(
        CommandError, match=r"Exactly one of the following arguments is required: \[topic\], \[sync\]"
    ):
        parser.require_one_of(options, "topic", "sync")
    with pytest.raises(CommandError, match=r'Option "\[sync\]" can\'t be used with option "\[topic\]"'):
        parser.exclude(options, "sync", ["count", "topic"])
