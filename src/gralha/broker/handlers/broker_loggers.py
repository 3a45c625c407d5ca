"""This node's loggers as config resources. Their levels can be read and changed while the node runs.

Names are those of the Python loggers below `gralha`, and `root` for the rest. Levels are Kafka's words. A
change lasts until the node stops. If the level of a logger is deleted, it follows its parent again.
"""

import logging
from collections.abc import Container, Iterable
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
APPEND: Final = 2
SUBTRACT: Final = 3

log = logging.getLogger("gralha.broker")


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
    """Change levels, all of them or none. The errors are Kafka's."""
    checked = list(changes)
    _check_together(checked)
    known = levels()
    for one in checked:
        _check(one, known)
    if not validate_only:
        for one in checked:
            _apply(one)


def _check_together(changes: list[LevelChange]) -> None:
    names = [one.logger for one in changes]
    if len(set(names)) < len(names):
        raise InvalidRequestError("Error due to duplicate config keys")
    without_level = [one.logger for one in changes if one.operation != DELETE and one.level is None]
    if without_level:
        raise InvalidRequestError(f"Null value not supported for : {', '.join(without_level)}")


def _check(one: LevelChange, known: Container[str]) -> None:
    if one.operation in (APPEND, SUBTRACT):
        name = "APPEND" if one.operation == APPEND else "SUBTRACT"
        raise InvalidRequestError(f"{name} operation is not allowed for the BROKER_LOGGER resource")
    if one.operation not in (SET, DELETE):
        raise InvalidRequestError(
            f"Unknown operation type {one.operation} is not allowed for the BROKER_LOGGER resource"
        )
    if one.logger not in known:
        raise InvalidConfigError(f"Logger {one.logger} does not exist!")
    if one.operation == SET and one.level not in LEVELS:
        raise InvalidConfigError(
            f"Cannot set the log level of {one.logger} to {one.level} as it is not a supported log level. "
            f"Valid log levels are {', '.join(sorted(LEVELS))}"
        )
    if one.operation == DELETE and one.logger == ROOT:
        raise InvalidRequestError(f"Removing the log level of the {ROOT} logger is not allowed")


def _apply(one: LevelChange) -> None:
    logger = _logger(one.logger)
    if one.operation == SET and one.level is not None:
        logger.setLevel(LEVELS[one.level])
        log.warning("Updated the log level of %s to %s", one.logger, one.level)
    else:
        logger.setLevel(logging.NOTSET)
        log.warning("Unset the log level of %s", one.logger)


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(None if name == ROOT else name)


def _word(level: int) -> str:
    """The most verbose level name that does not claim more than the logger logs."""
    return next((word for word, number in reversed(LEVELS.items()) if number >= level), "FATAL")
