"""Spark's errors, made short: the one sentence that a person needs out of pages of plans and stack traces."""

import re
from typing import Final

from pyspark.errors import PySparkException

# Where Spark stops to say what is wrong and begins to draw: the query's context, its plan, its state.
END_OF_MESSAGE: Final = re.compile(
    r"(;\s*\n|\n== |\n===|\nJVM stacktrace|\n?\s*SQLSTATE: \w+|\n\tat |\nDriver stacktrace)"
)
ERROR_CLASS: Final = re.compile(r"^\[[A-Z0-9_.]+\] ")
# The last line of a Python traceback: "gralha.client.errors.ConnectionFailedError: No broker answers ..."
PYTHON_ERROR: Final = re.compile(
    r"^(?P<type>[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Warning)): ?(?P<text>.*)$"
)
PYTHON_FRAME: Final = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+), in ')
# What Python's and Spark's own files are called on the way to the line that matters.
NOT_THE_USERS: Final = ("/pyspark/", "/pyspark.zip/", "/lib/python", "/site-packages/", "/gralha/")


def short(error: BaseException) -> str:
    """What an error says, without what Spark draws around it."""
    if not isinstance(error, PySparkException):
        return str(error) or type(error).__name__
    text = str(error.getMessage() or error).strip()
    return first_sentence(text)


def first_sentence(text: str) -> str:
    """A message of Spark's up to its first drawing, on one line, without its error class."""
    text = ERROR_CLASS.sub("", text.strip())
    text = END_OF_MESSAGE.split(text, maxsplit=1)[0]
    return " ".join(text.split())


def of_query(text: str) -> str:
    """The sentence in the text of a failed query.

    When Python code failed, its own error is what counts: a sentence of ours stands alone, an error of the
    user's code gets its file and line. Otherwise the innermost cause that Spark names.
    """
    found = python_error(text)
    if found is not None:
        return found
    causes = re.findall(r"^Caused by: ([\w.$]+)(?:: (.*))?$", text, re.MULTILINE)
    if causes:
        name, message = causes[-1]
        return first_sentence(message) if message else name.rpartition(".")[2]
    return first_sentence(text)


def python_error(text: str) -> str | None:
    """The error of a Python traceback within a text: the last one, for it is the cause."""
    lines = [line.rstrip() for line in text.splitlines()]
    starts = [i for i, line in enumerate(lines) if line.lstrip().startswith("Traceback (most")]
    if not starts:
        return None
    place = ""
    for line in lines[starts[-1] :]:
        frame = PYTHON_FRAME.match(line)
        if frame and not any(part in frame["file"] for part in NOT_THE_USERS):
            place = f"{frame['file']}:{frame['line']}: "
        error = PYTHON_ERROR.match(line.strip())
        if error:
            own = error["type"].startswith("gralha.")
            name = error["type"].rpartition(".")[2]
            return error["text"] if own else f"{place}{name}: {error['text']}".rstrip(": ")
    return None
