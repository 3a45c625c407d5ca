"""Why a node cannot start."""

from typing import Final

# The causes of a `StartError`.
PORT: Final = "port"
HOST: Final = "host"
METRICS: Final = "metrics"
FOLDER: Final = "folder"


class StartError(Exception):
    """A node cannot start. The message says why, and `setting` which setting a person could change.

    The command that has started the node says how, because not everybody writes a properties file.
    """

    def __init__(self, message: str, setting: str | None = None) -> None:
        super().__init__(message)
        self.setting = setting
