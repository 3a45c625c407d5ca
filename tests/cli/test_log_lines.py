"""The lines of a node's log: one for each event, with Kafka's levels."""

import io
import logging
import re
import sys

import pytest

from gralha.cli.log_lines import FORMAT, SHORT_FORMAT, LineFormatter


def formatted(message: str, *arguments: object, level: int = logging.INFO, error: bool = False) -> str:
    found = sys.exc_info() if error else None
    record = logging.LogRecord("gralha.test", level, __file__, 1, message, arguments, found)
    return LineFormatter(SHORT_FORMAT).format(record)


def test_a_line_has_time_level_logger_and_message() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(LineFormatter(FORMAT))
    handler.handle(logging.LogRecord("gralha.raft", logging.INFO, __file__, 1, "node %d leads", (3,), None))
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} INFO gralha\.raft: node 3 leads\n", stream.getvalue()
    )


@pytest.mark.parametrize(
    ("level", "word"),
    [
        (logging.CRITICAL, "FATAL"),
        (logging.ERROR, "ERROR"),
        (logging.WARNING, "WARN"),
        (logging.INFO, "INFO"),
        (logging.DEBUG, "DEBUG"),
        (5, "TRACE"),
    ],
)
def test_levels_have_kafkas_words(level: int, word: str) -> None:
    assert formatted("x", level=level) == f"{word} x"


def test_text_of_a_client_cannot_make_a_line_of_its_own() -> None:
    assert formatted("client %s", "a\n2026 FATAL b\r\x1b[31m\t") == (
        "INFO client a\\n2026 FATAL b\\r\\x1b[31m\\t"
    )


def fail() -> None:
    raise ValueError("one\ntwo")


def test_an_exception_is_in_the_line_of_its_event() -> None:
    try:
        fail()
    except ValueError:
        line = formatted("it failed", level=logging.ERROR, error=True)
    assert re.fullmatch(
        r"ERROR it failed: ValueError: one\\ntwo, at test_log_lines\.py:\d+ in fail, "
        r"test_log_lines\.py:\d+ in test_an_exception_is_in_the_line_of_its_event",
        line,
    )


def test_an_exception_names_its_cause() -> None:
    try:
        try:
            fail()
        except ValueError as error:
            raise KeyError("x") from error
    except KeyError:
        line = formatted("it failed", error=True)
    assert re.search(r"it failed: KeyError: 'x', at .+; after ValueError: one\\ntwo, at .+ in fail, ", line)


def test_a_cause_that_is_no_news_is_left_out() -> None:
    try:
        try:
            fail()
        except ValueError:
            raise KeyError("x") from None
    except KeyError:
        line = formatted("it failed", error=True)
    assert "after" not in line


def test_no_exception_is_no_text() -> None:
    assert formatted("nothing", error=True) == "INFO nothing"
