import pytest

from gralha.cli.line_reader import LineReader, LineRecord
from gralha.cli.program import CommandError


def parse(line: str, **properties: str) -> LineRecord:
    return LineReader({name.replace("_", "."): value for name, value in properties.items()}).parse(line)


def test_a_line_is_a_value() -> None:
    assert parse("a\tb:c,d") == LineRecord(None, b"a\tb:c,d", [])
    assert parse("") == LineRecord(None, b"", [])


def test_a_key_ends_at_the_first_separator() -> None:
    assert parse("k\tv\tw", parse_key="true") == LineRecord(b"k", b"v\tw", [])
    assert parse("k::v", parse_key="TRUE", key_separator="::") == LineRecord(b"k", b"v", [])
    assert parse("\tv", parse_key="true") == LineRecord(b"", b"v", [])


def test_headers_come_first() -> None:
    record = parse("h1:v1,h2:v2\tk\tv", parse_headers="true", parse_key="true")
    assert record == LineRecord(b"k", b"v", [("h1", b"v1"), ("h2", b"v2")])
    assert parse("a:b:c\tv", parse_headers="true") == LineRecord(None, b"v", [("a", b"b:c")])


def test_all_separators_can_be_chosen() -> None:
    record = parse(
        "a=1;b=2|k/v",
        parse_headers="true",
        parse_key="true",
        headers_delimiter="|",
        headers_separator=";",
        headers_key_separator="=",
        key_separator="/",
    )
    assert record == LineRecord(b"k", b"v", [("a", b"1"), ("b", b"2")])


def test_the_null_marker_makes_nulls() -> None:
    options = {"parse_headers": "true", "parse_key": "true", "null_marker": "NULL"}
    assert parse("h:NULL\tNULL\tNULL", **options) == LineRecord(None, None, [("h", None)])
    assert parse("NULL\tk\tv", **options) == LineRecord(b"k", b"v", [])
    assert parse("h:x\tk\tNULLs", **options).value == b"NULLs"


def test_a_line_that_lacks_a_separator_stops_with_its_number() -> None:
    reader = LineReader({"parse.key": "true"})
    reader.parse("k\tv")
    with pytest.raises(CommandError, match="No key separator found on line number 2: 'no key'"):
        reader.parse("no key")
    with pytest.raises(CommandError, match="No headers delimiter found on line number 1"):
        parse("v", parse_headers="true")
    with pytest.raises(CommandError, match="No header key separator found in pair 'h' on line number 1"):
        parse("h\tv", parse_headers="true")


def test_errors_can_be_ignored() -> None:
    assert parse("v", parse_key="true", ignore_error="true") == LineRecord(None, b"v", [])
    assert parse("h\tv", parse_headers="true", ignore_error="true") == LineRecord(None, b"v", [("h", None)])


def test_a_header_has_a_name() -> None:
    with pytest.raises(CommandError, match="Header keys should not be equal to the null marker"):
        parse("NULL:v\tx", parse_headers="true", null_marker="NULL")


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"headers_delimiter": ","}, "headers.delimiter and headers.separator may not be equal"),
        ({"headers_separator": ":"}, "headers.separator and headers.key.separator may not be equal"),
        ({"null_marker": "\t"}, "null.marker and key.separator may not be equal"),
        ({"null_marker": ","}, "null.marker and headers.separator may not be equal"),
    ],
)
def test_separators_must_differ(properties: dict[str, str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        parse("v", **properties)


def test_bytes_that_are_no_text_pass_unchanged() -> None:
    line = b"\xff\xfe".decode("utf-8", "surrogateescape")
    assert parse(line).value == b"\xff\xfe"
