"""This broker's loggers as config resources. Their levels can be read and changed while the broker runs.

Names are those of Python's loggers below `gralha`, and `root` for the rest. Levels are Kafka's words. A
change lasts until the broker stops. If the level of a logger is deleted, it follows its parent again.
"""

import logging
from collections.abc import Iterable
from typing import Final, NamedTuple

from gralha.protocol.errors import InvalidConfigError, InvalidRequestError

ROOT: Final = "root"
PREFIX: Final = "gralha"
LEVELS: Final = {
    "FATAL": logging.CRITICAL,
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": 5,
}
SET: Final = 0
DELETE: Final = 1


class LevelChange(NamedTuple):
    logger: str
    operation: int
    level: str | None


def levels() -> dict[str, str]:
    """The effective level of each logger."""
    known = logging.root.manager.loggerDict
    names = [ROOT, *sorted(name for name in known if name.partition(".")[0] == PREFIX)]
    return {name: _word(_logger(name).getEffectiveLevel()) for name in names}


def change(changes: Iterable[LevelChange], validate_only: bool) -> None:
    """Change levels, all of them or none."""
    checked = list(changes)
    for one in checked:
        _check(one)
    if not validate_only:
        for one in checked:
            _logger(one.logger).setLevel(LEVELS[one.level] if one.level is not None else logging.NOTSET)


def _check(one: LevelChange) -> None:
    if one.operation not in (SET, DELETE):
        raise InvalidRequestError("The level of a logger can only be set or deleted")
    if one.logger not in levels():
        raise InvalidConfigError(f"Logger {one.logger} does not exist!")
    if one.operation == SET and one.level not in LEVELS:
        raise InvalidConfigError(
            f"Cannot set the log level of {one.logger} to {one.level}: allowed: {', '.join(LEVELS)}"
        )
    if one.operation == DELETE and one.logger == ROOT:
        raise InvalidRequestError(f"The level of the {ROOT} logger can be changed, but not deleted")


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(None if name == ROOT else name)


def _word(level: int) -> str:
    """The most verbose level name that does not claim more than the logger logs."""
    return next((word for word, number in reversed(LEVELS.items()) if number >= level), "FATAL")
