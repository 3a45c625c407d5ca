"""A TLS context that is replaced while its owner runs, because settings or files have changed.

New connections use the new context. Connections that exist keep theirs. A replacement that cannot be used is
refused, and the old context stays.
"""

import os
import ssl
from collections.abc import Callable, Mapping

from gralha.security.key_stores import client_context, readable_by_others, server_context
from gralha.security.tls_settings import TlsError, TlsSettings

Make = Callable[[TlsSettings], ssl.SSLContext]
# The time of the last change, the size, and the inode, which a renamed file changes.
_Stamp = tuple[int, int, int] | None


class TlsContext:
    """The context for these settings and the present content of their files."""

    def __init__(self, texts: Mapping[str, str], make: Make) -> None:
        """Raises TlsError."""
        self._make = make
        self._refused: list[_Stamp] | None = None
        self._use(TlsSettings(texts))

    @staticmethod
    def of_server(texts: Mapping[str, str]) -> "TlsContext":
        """The context of a listener."""
        return TlsContext(texts, server_context)

    @staticmethod
    def of_client(texts: Mapping[str, str]) -> "TlsContext":
        """The context of connections to other nodes."""
        return TlsContext(texts, client_context)

    def readable_by_others(self) -> list[str]:
        """The files with private keys that every user of the machine may read."""
        return readable_by_others(self.settings)

    def configure(self, texts: Mapping[str, str]) -> None:
        """Takes new settings. Raises TlsError if they cannot be used."""
        self._use(TlsSettings(texts))

    def refresh(self) -> bool:
        """Reads the files again if they have changed. Returns True if they had.

        Raises TlsError if the new files cannot be used. The same files are not tried twice, because a person
        has to change them.
        """
        stamps = self._stamps_of(self.settings)
        if stamps in (self._stamps, self._refused):
            return False
        try:
            self._use(self.settings)
        except TlsError:
            self._refused = stamps
            raise
        return True

    def _use(self, settings: TlsSettings) -> None:
        # Taken first: a change while the files are read is noticed next time.
        stamps = self._stamps_of(settings)
        self.context = self._make(settings)
        self.settings = settings
        self._stamps = stamps
        self._refused = None

    def _stamps_of(self, settings: TlsSettings) -> list[_Stamp]:
        return [_stamp(path) for path in settings.files]


def _stamp(path: str) -> _Stamp:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
