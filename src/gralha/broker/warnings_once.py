"""Warnings about what clients do again and again: the first one is a WARN, the others are INFO."""

import logging
from typing import Final

# Clients choose the reasons, so there is a limit. Later reasons are only INFO.
REASONS_MAX: Final = 1_000


class WarningsOnce:
    """Logs a warning once for each reason."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._reasons: set[str] = set()

    def warn(self, reason: str, text: str, *arguments: object) -> None:
        """Logs the text. It is a WARN if the reason is new."""
        is_new = reason not in self._reasons and len(self._reasons) < REASONS_MAX
        if is_new:
            self._reasons.add(reason)
        self._log.log(logging.WARNING if is_new else logging.INFO, text, *arguments)
