"""The interface of all exchanges.

    server:  answer = exchange.step(token), until exchange.is_done; then exchange.user is the client's name
    client:  token = exchange.first(), then token = exchange.step(challenge) until that returns None

Each exchange is used once. A message that does not belong to the exchange raises AuthenticationError, and so
do wrong credentials. After an error the exchange accepts nothing more.
"""

from typing import Final, Protocol

PLAIN: Final = "PLAIN"
SCRAM_SHA_256: Final = "SCRAM-SHA-256"
SCRAM_SHA_512: Final = "SCRAM-SHA-512"
OAUTHBEARER: Final = "OAUTHBEARER"
GSSAPI: Final = "GSSAPI"
SCRAM_MECHANISMS: Final = (SCRAM_SHA_256, SCRAM_SHA_512)
MECHANISMS: Final = (PLAIN, *SCRAM_MECHANISMS, OAUTHBEARER)


class AuthenticationError(Exception):
    """The exchange has failed. No message has a password, a key or a token in it.

    The message is for the log. `told` is for the client. It is None if a client may only know that its
    credentials are wrong: a more exact reason would tell which users exist.
    """

    def __init__(self, reason: str, told: str | None = None) -> None:
        super().__init__(reason)
        self.told = told


class ServerExchange(Protocol):
    """The server's side of one exchange."""

    @property
    def is_done(self) -> bool:
        """True if the client has proved who it is."""

    @property
    def user(self) -> str:
        """The name of the authenticated client."""

    @property
    def expires_ms(self) -> int | None:
        """The time at which the client's credentials expire, if they do."""

    @property
    def is_token_authenticated(self) -> bool:
        """True if a delegation token was used instead of a password."""

    def step(self, token: bytes) -> bytes:
        """The answer to a token of the client. Raises AuthenticationError."""


class ClientExchange(Protocol):
    """The client's side of one exchange."""

    def first(self) -> bytes:
        """The first token."""

    def step(self, challenge: bytes) -> bytes | None:
        """The next token, or None if the exchange is complete. Raises AuthenticationError."""
