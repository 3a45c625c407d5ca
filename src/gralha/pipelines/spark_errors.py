"""Spark's errors, made short: the one sentence that a person needs out of pages of plans and stack traces."""

import re
from typing import Final

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

# Where Spark stops to say what is wrong and begins to draw: the query's context, its plan, its stack.
END_OF_MESSAGE: Final = re.compile(
    r"(;\s*\n|\n== |\n===|\nJVM stacktrace|\s*SQLSTATE: \w+|\n\tat |\n\nDriver stacktrace)"
)
# What comes before the message: classes of Java's, the task that failed (with numbers), a class of errors.
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
# What Python's, Spark's and our own files are called on the way to the line that matters.
NOT_THE_USERS: Final = (
    "/pyspark/",
    "/pyspark.zip/",
    "/lib/python",
    "/site-packages/",
    "/src/gralha/",
    "<frozen",
)
# What Python says on machines that do not have us.
NO_GRALHA: Final = "No module named 'gralha"
PLAN: Final = "=== Streaming Query ==="


def short(error: BaseException) -> str:
    """What an error says, without what Spark draws around it."""
    if isinstance(error, PySparkException):
        return first_sentence(str(error.getMessage() or error))
    if isinstance(error, Py4JError):
        return _javas(str(error).partition("\n: ")[2]) or first_sentence(str(error))
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def failure(query: StreamingQuery) -> str | None:
    """What Spark says of a query that failed, without its plan; None when it did not fail.

    `query.exception()` would say the same, and write pages of JSON to the terminal.
    """
    found = query._jsq.exception()
    return None if found.isEmpty() else str(found.get().toString()).partition(PLAN)[0]


def of_query(text: str) -> str:
    """The sentence in the text of a failed query.

    When Python code failed, its own error is what counts: a sentence of ours stands alone, an error of the
    user's code gets its file and line.
    """
    return python_error(text) or first_sentence(text)


def first_sentence(text: str) -> str:
    """A message of Spark's up to its first drawing, on one line, without what stands before it."""
    message = BEFORE_MESSAGE.sub("", text.strip(), count=1)
    return " ".join(END_OF_MESSAGE.split(message, maxsplit=1)[0].split())


def python_error(text: str) -> str | None:
    """The error of a Python traceback within a text: of the last one, which comes of all others."""
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
    """An error of Python's in a sentence; `after` is what follows its line."""
    if kind.startswith("gralha.") and text:
        return text
    if text.startswith(NO_GRALHA):
        return "Spark's executors lack Gralha: pip install 'gralha[spark]' there, or send it along by --ship"
    if kind.startswith("py4j.") and after.startswith(": "):
        # Java failed, and Python only says which call of its own it was, by a number.
        return place + _javas(after.removeprefix(": "))
    if kind.startswith("pyspark."):
        return place + first_sentence(f"{text}\n{after}")
    return f"{place}{kind.rpartition('.')[2]}: {text}".rstrip(": ")


def _javas(trace: str) -> str:
    """What a stack trace of Java's says of its first cause."""
    return first_sentence(trace.rpartition("Caused by: ")[2])
