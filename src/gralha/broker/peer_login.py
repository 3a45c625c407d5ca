"""How this node logs in to other nodes: SASL on a connection of `peers.py`."""

from collections.abc import Awaitable, Callable
from random import Random
from typing import Final, NamedTuple, cast

from gralha.broker.sasl_settings import SaslLogin
from gralha.protocol.message import Message
from gralha.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from gralha.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from gralha.protocol.peers import PeerError
from gralha.security.sasl.exchange import PLAIN, AuthenticationError, ClientExchange
from gralha.security.sasl.plain import PlainClient
from gralha.security.sasl.scram import ITERATIONS_MAX
from gralha.security.sasl.scram_client import ScramClient

HANDSHAKE_VERSION: Final = 1
# A node logs in again when this part of its session is over.
SESSION_PART: Final = 0.85

Send = Callable[[Message, int], Awaitable[Message]]


class LoginRefusedError(PeerError):
    """The other node does not accept this node's mechanism or password, so trying again does not help."""


class PeerLogin(NamedTuple):
    """The mechanism, and what makes an exchange of it."""

    mechanism: str
    new_exchange: Callable[[], ClientExchange]

    async def log_in(self, send: Send) -> float | None:
        """Logs in with requests that `send` sends in a version. Returns after how many seconds the node must
        log in again, if it must. Raises PeerError.
        """
        chosen = cast(
            SaslHandshakeResponse,
            await send(SaslHandshakeRequest(mechanism=self.mechanism), HANDSHAKE_VERSION),
        )
        if chosen.error_code:
            offered = ", ".join(chosen.mechanisms) or "none"
            raise LoginRefusedError(
                f"the node does not offer the SASL mechanism {self.mechanism}, but {offered}"
            )
        lifetime_ms = 0
        try:
            exchange = self.new_exchange()
            token: bytes | None = exchange.first()
            while token is not None:
                request = SaslAuthenticateRequest(auth_bytes=token)
                response = cast(SaslAuthenticateResponse, await send(request, request.MAX_VERSION))
                if response.error_code:
                    raise AuthenticationError(response.error_message or f"error {response.error_code}")
                lifetime_ms = response.session_lifetime_ms
                token = exchange.step(response.auth_bytes)
        except AuthenticationError as error:
            raise LoginRefusedError(f"the login with {self.mechanism} has failed: {error}") from None
        return lifetime_ms / 1000 * SESSION_PART if lifetime_ms > 0 else None


def peer_login(settings: SaslLogin | None, random: Random) -> PeerLogin | None:
    """How a node with these settings logs in."""
    if settings is None:
        return None
    mechanism, user, password, is_token = settings
    if mechanism == PLAIN:
        return PeerLogin(mechanism, lambda: PlainClient(user, password))

    def new_scram() -> ScramClient:
        # A node does nothing else while it derives keys, so no other node may demand more than Kafka allows.
        return ScramClient(
            mechanism,
            user,
            password,
            random.randbytes,
            with_token=is_token,
            iterations_max=ITERATIONS_MAX,
        )

    return PeerLogin(mechanism, new_scram)
