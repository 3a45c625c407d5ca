"""Shortens Spark's errors from pages of plans and stack traces to one sentence."""

import re
from typing import Final

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from gralha.pipelines.explanations import explained

# How Spark's message ends. After it come the query's context, its plan and its stack.
END_OF_MESSAGE: Final = re.compile(
    r"(;\s*\n|\n== |\n===|\nJVM stacktrace|\s*SQLSTATE: \w+|\n\tat |\n\nDriver stacktrace)"
)
# The part before the message: Java classes, the failed task (with numbers), an error class.
BEFORE_MESSAGE: Final = re.compile(
    r"^(?:[a-z]\w*(?:\.[\w$]+)+: )*"
    r"(?:Job aborted due to stage failure: .*?most recent failure: Lost task [^:]*: (?:[\w.$]+: )?)?"
    r"(?:\[[A-Z0-9_.]+\] )?",
    re.DOTALL,
)
TRACEBACK: Final = "Traceback (most recent call last)"
# The last line of a traceback: "gralha.client.errors.ConnectionFailedError: No broker listens on ..."
PYTHON_ERROR: Final = re.compile(
    r"^(?P<type>[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt))(?:: (?P<text>.*))?$"
)
PYTHON_FRAME: Final = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+), in ')
# Parts of the file names of Python, Spark and Gralha, which are not the user's files.
NOT_THE_USERS: Final = (
    "/pyspark/",
    "/pyspark.zip/",
    "/lib/python",
    "/site-packages/",
    "/src/gralha/",
    "<frozen",
)
# Python's message on machines without Gralha.
NO_GRALHA: Final = "No module named 'gralha"
PLAN: Final = "=== Streaming Query ==="


def short(error: BaseException) -> str:
    """The message of an error, without Spark's plans and stacks."""
    if isinstance(error, PySparkException):
        sentence = first_sentence(str(error.getMessage() or error))
        return explained(error.getCondition(), error.getMessageParameters(), sentence) or sentence
    if isinstance(error, Py4JError):
        return _javas(str(error).partition("\n: ")[2]) or first_sentence(str(error))
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def failure(query: StreamingQuery) -> str | None:
    """The text of a failed query, without its plan. None if the query did not fail.

    `query.exception()` has the same text, but it also writes pages of JSON to the terminal.
    """
    found = query._jsq.exception()
    return None if found.isEmpty() else str(found.get().toString()).partition(PLAN)[0]


def of_query(text: str) -> str:
    """The sentence in the text of a failed query.

    If Python code failed, its error counts. The message of a Gralha error is the whole sentence. An error in
    the user's code gets its file and line.
    """
    return python_error(text) or first_sentence(text)


def first_sentence(text: str) -> str:
    """Spark's message on one line, without the parts before and after it."""
    message = BEFORE_MESSAGE.sub("", text.strip(), count=1)
    return " ".join(END_OF_MESSAGE.split(message, maxsplit=1)[0].split())


def python_error(text: str) -> str | None:
    """The error of the last Python traceback in a text, which caused all others."""
    _before, found, traceback = text.rpartition(TRACEBACK)
    if not found:
        return None
    place = ""
    lines = traceback.splitlines()
    for number, line in enumerate(lines[1:], 1):
        frame = PYTHON_FRAME.match(line)
        error = PYTHON_ERROR.match(line)
        if frame and not any(part in frame["file"] for part in NOT_THE_USERS):
            place = f"{frame['file']}:{frame['line']}: "
        if error:
            return _said(error["type"], error["text"] or "", place, "\n".join(lines[number + 1 :]))
    return None


def _said(kind: str, text: str, place: str, after: str) -> str:
    """A Python error as a sentence. `after` is the text after its line."""
    if kind.startswith("gralha.") and text:
        return text
    if text.startswith(NO_GRALHA):
        return "Spark's executors lack Gralha: install its wheel there, or send it with --ship"
    if kind.startswith("py4j.") and after.startswith(": "):
        # Java failed, and Python only has the number of its call.
        return place + _javas(after.removeprefix(": "))
    if kind.startswith("pyspark."):
        return place + first_sentence(f"{text}\n{after}")
    return f"{place}{kind.rpartition('.')[2]}: {text}".rstrip(": ")


def _javas(trace: str) -> str:
    """The message of the first cause in a Java stack trace."""
    return first_sentence(trace.rpartition("Caused by: ")[2])
