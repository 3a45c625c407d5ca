"""The lines of a node's log: one line for each event, whatever is in it.

    2026-11-18 20:27:33,986 WARN gralha.broker: Produce failed: KeyError: 'x', at pipeline.py:310 in _request,
    connection.py:250 in _handle     (in one line)

Levels have Kafka's words, which `kafka-configs --entity-type broker-loggers` uses. Control characters are
escaped, because messages may have text of clients. An exception is its class, its message and the lines of
code that led to it, the innermost first.
"""

import logging
import traceback
from pathlib import Path
from types import TracebackType
from typing import Final, TextIO

FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"
SHORT_FORMAT: Final = "%(levelname)s %(message)s"
# Kafka's words where Python has others.
LEVELS: Final = {"CRITICAL": "FATAL", "WARNING": "WARN", "Level 5": "TRACE"}
_CONTROL: Final = {number: f"\\x{number:02x}" for number in (*range(32), 127)} | {
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
}
ExceptionInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class LineFormatter(logging.Formatter):
    """Formats an event as one line."""

    def format(self, record: logging.LogRecord) -> str:
        record.message = record.getMessage()
        if self.usesTime():
            record.asctime = self.formatTime(record)
        level = record.levelname
        record.levelname = LEVELS.get(level, level)
        try:
            line = self.formatMessage(record)
        finally:
            record.levelname = level  # other handlers get the same record
        if record.exc_info and record.exc_info[1] is not None:
            line += f": {self.formatException(record.exc_info)}"
        return line.translate(_CONTROL)

    def formatException(self, ei: ExceptionInfo) -> str:  # noqa: N802
        """The exception and its causes, in one line."""
        parts = []
        error = ei[1]
        seen: set[int] = set()
        while error is not None and id(error) not in seen:
            seen.add(id(error))
            parts.append(_described(error))
            suppressed = error.__suppress_context__
            error = error.__cause__ or (None if suppressed else error.__context__)
        return "; after ".join(parts)


def _described(error: BaseException) -> str:
    what = "".join(traceback.format_exception_only(error)).strip()
    frames = reversed(traceback.extract_tb(error.__traceback__))
    places = [f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}" for frame in frames]
    return f"{what}, at {', '.join(places)}" if places else what


def log_to(stream: TextIO, level: int, text_format: str = FORMAT) -> None:
    """Writes all events of this process to a stream, from a level on."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(LineFormatter(text_format))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(level)
