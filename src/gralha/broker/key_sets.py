"""The public keys of issuers of tokens (JWKS), read from files and addresses, and read again now and then.

A broker does not start without the keys. If they cannot be read later, the broker keeps the last ones, and
tries again after a pause that grows. A token with an unknown key makes the broker read the keys soon, because
an issuer may have a new key.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from gralha.broker.sasl_settings import TokenSettings
from gralha.broker.start_error import StartError
from gralha.security.sasl.tokens import KeySet, parse_key_set

# Unknown keys make the broker read at most this often, whatever clients send.
EXPEDITED_PAUSE_S: Final = 10.0

log = logging.getLogger("gralha.broker")

FetchText = Callable[[str], str]


class KeySetSource:
    """The keys of one address."""

    def __init__(self, settings: TokenSettings, fetch: FetchText) -> None:
        """`fetch` returns the text at an address. It runs in a thread, and raises OSError."""
        self._settings = settings
        self._fetch = fetch
        self._keys = KeySet({})
        self._wanted = asyncio.Event()

    def keys(self) -> KeySet:
        """The newest keys."""
        return self._keys

    def expedite(self) -> None:
        """A token has an unknown key."""
        self._wanted.set()

    async def start(self) -> None:
        """Reads the keys for the first time. Raises StartError."""
        try:
            await self._read()
        except (OSError, ValueError) as error:
            raise StartError(
                f"sasl.oauthbearer.jwks.endpoint.url={self._settings.keys_url}: {error}"
            ) from None

    async def run(self) -> None:
        """Reads the keys again and again. The owner runs this as a task."""
        pause_ms = float(self._settings.refresh_ms)
        failures = 0
        while True:
            await self._pause(pause_ms / 1000)
            self._wanted.clear()
            try:
                await self._read()
            except (OSError, ValueError) as error:
                log.warning("The keys at %s cannot be read: %s", self._settings.keys_url, error)
                pause_ms = min(self._settings.retry_ms * 2.0**failures, self._settings.retry_max_ms)
                failures = min(failures + 1, 30)
            else:
                pause_ms = float(self._settings.refresh_ms)
                failures = 0

    async def _pause(self, pause_s: float) -> None:
        """Waits, but not for long if a token has an unknown key."""
        shortest_s = min(pause_s, EXPEDITED_PAUSE_S)
        await asyncio.sleep(shortest_s)
        try:
            async with asyncio.timeout(pause_s - shortest_s):
                await self._wanted.wait()
        except TimeoutError:
            pass

    async def _read(self) -> None:
        text = await asyncio.get_running_loop().run_in_executor(None, self._fetch, self._settings.keys_url)
        self._keys = parse_key_set(text)
