import pytest

from gralha.cli.arguments import CommandParser, ProgramParser, given, parser_of
from gralha.cli.bootstrap import as_gralha, default_bootstrap_servers
from gralha.cli.program import CommandError


@pytest.fixture
def parser() -> CommandParser:
    parser = CommandParser("kafka-thing", "Does things.", ["--topic orders --sync"])
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


@pytest.mark.parametrize(
    ("word", "complaint"),
    [
        ("--topics", "--topics is not a recognized option. Did you mean --topic?"),
        ("--top", "--top is not a recognized option. Did you mean --topic?"),
        ("--Topic", "--Topic is not a recognized option. Did you mean --topic?"),
        ("--nonsense", "--nonsense is not a recognized option"),
        ("-topic", "-topic is not a recognized option. Did you mean --topic?"),
        ("-help", "-help is not a recognized option. Did you mean --help?"),
        ("\u2013-topic", "\u2013-topic begins with a long dash, as in printed text: type --topic"),
        ("\u2014topic", "\u2014topic begins with a long dash, as in printed text: type --topic"),
        ("topic", "'topic' is not an option. Did you mean --topic?"),
        ("words", "'words' is one argument too many. Did you mean --topic words?"),
        (
            "--zookeeper",
            (
                "--zookeeper is not a recognized option: Kafka has no ZooKeeper any more: "
                "use --bootstrap-server localhost:9092"
            ),
        ),
    ],
)
def test_an_option_that_does_not_exist_is_never_taken_for_another(
    parser: CommandParser, word: str, complaint: str
) -> None:
    with pytest.raises(CommandError) as refused:
        parser.parse([word, "x"] if word.startswith("--") else [word])
    assert str(refused.value) == f"{complaint} (see kafka-thing --help)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--topic", "a", "--topic", "b"], "Found multiple arguments for option topic"),
        (["--count", "many"], "--count: 'many' is not a whole number"),
        (["--topic"], "--topic needs a value"),
    ],
)
def test_a_wrong_call_is_one_sentence(parser: CommandParser, arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        parser.parse(arguments)


def test_help_and_version_need_nothing_else(
    parser: CommandParser, capsys: pytest.CaptureFixture[str]
) -> None:
    for option, expected in (("--help", "--topic"), ("-h", "--topic"), ("--version", "Gralha")):
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


def test_the_help_has_a_usage_an_example_and_the_defaults(
    parser: CommandParser, capsys: pytest.CaptureFixture[str]
) -> None:
    parser.value("wait-ms", "how long to wait", kind=int, default=500)
    parser.value("key", "REQUIRED: the key", metavar="KEY")
    with pytest.raises(SystemExit):
        parser.parse(["-h"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "usage: kafka-thing --key KEY [OPTIONS]"
    assert lines[-2:] == ["example:", "  kafka-thing --topic orders --sync"]
    assert "how long to wait (default: 500)" in " ".join(" ".join(lines).split())


@pytest.fixture
def program() -> ProgramParser:
    """A program with subcommands."""
    program = ProgramParser(prog="kafka-parts")
    servers = program.add_mutually_exclusive_group(required=True)
    servers.add_argument("--bootstrap-server")
    servers.add_argument("--bootstrap-controller")
    commands = program.add_subparsers(dest="command", required=True)
    describe = commands.add_parser("describe")
    describe.add_argument("--status", action="store_true")
    describe.add_argument("-c", "--config")
    commands.add_parser("upgrade")
    return program


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ["descrbe"],
            "kafka-parts has no command 'descrbe'. Did you mean describe? (see kafka-parts --help)",
        ),
        (["x"], "kafka-parts has no command 'x'. Give one of: describe, upgrade (see kafka-parts --help)"),
        ([], "Which command? Give one of: describe, upgrade (see kafka-parts --help)"),
        (
            ["describe", "--bootstrap-controller", "x"],
            (
                "--bootstrap-controller must come before describe: kafka-parts --bootstrap-controller ... "
                "describe (see kafka-parts --help)"
            ),
        ),
        (
            ["--status", "describe"],
            "--status must come after describe: kafka-parts describe --status (see kafka-parts --help)",
        ),
        (
            ["-c=x", "describe"],
            "-c must come after describe: kafka-parts describe -c (see kafka-parts --help)",
        ),
        (
            ["--status"],
            (
                "--status is an option of describe. The command comes first: kafka-parts describe --status "
                "(see kafka-parts --help)"
            ),
        ),
        (["--status", "upgrade"], "--status is not a recognized option (see kafka-parts --help)"),
        (
            ["describe", "--stats"],
            "--stats is not a recognized option. Did you mean --status? (see kafka-parts describe --help)",
        ),
    ],
)
def test_a_wrong_call_of_a_program_with_commands(
    program: ProgramParser, arguments: list[str], complaint: str
) -> None:
    with pytest.raises(CommandError) as refused:
        program.parse_args(
            arguments if "describe" in arguments else ["--bootstrap-server", "b:1", *arguments]
        )
    assert str(refused.value) == complaint


def test_only_gralha_has_brokers_by_default(program: ProgramParser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRALHA_BOOTSTRAP_SERVERS", raising=False)
    with pytest.raises(CommandError, match="--bootstrap-server --bootstrap-controller is required"):
        program.parse_args(["describe"])
    with as_gralha():
        assert program.parse_args(["describe"]).bootstrap_server == "localhost:9092"
        controller = program.parse_args(["--bootstrap-controller", "c:1", "describe"])
    assert (controller.bootstrap_server, controller.bootstrap_controller) == (None, "c:1")


def test_the_environment_names_the_brokers_of_all_commands(
    program: ProgramParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRALHA_BOOTSTRAP_SERVERS", "far:9092")
    assert default_bootstrap_servers() == "far:9092"
    assert program.parse_args(["describe"]).bootstrap_server == "far:9092"
    assert program.parse_args(["--bootstrap-server", "b:1", "describe"]).bootstrap_server == "b:1"
    monkeypatch.setenv("GRALHA_BOOTSTRAP_SERVERS", "")
    assert default_bootstrap_servers() == "localhost:9092"


def test_a_command_gives_away_its_parser_without_running(parser: CommandParser) -> None:
    def command(arguments: list[str]) -> int:
        return len(parser.parse(arguments).topic)

    assert parser_of(command) is parser
    assert parser_of(len) is None
    assert parser.parse(["--topic", "t"]).topic == "t"
