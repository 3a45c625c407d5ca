"""How clients of this node prove who they are, by listener: users, tokens, and the exchanges for them."""

import logging
from collections.abc import Callable, Coroutine
from functools import partial
from random import Random
from typing import Final

from gralha.broker.config import Listener, NodeConfig
from gralha.broker.fake_users import FakeUsers
from gralha.broker.key_sets import FetchText, KeySetSource
from gralha.broker.login import LoginSettings
from gralha.broker.pipeline import Api
from gralha.broker.sasl_settings import MechanismSettings
from gralha.broker.token_users import TokenUsers, fake_of_token
from gralha.broker.warnings_once import WarningsOnce
from gralha.metadata.delegation_tokens import SECRET_KEY, DelegationTokens, token_key
from gralha.metadata.image import ImageChange, MetadataImage
from gralha.security.sasl.exchange import PLAIN, SCRAM_MECHANISMS, ServerExchange
from gralha.security.sasl.oauthbearer import OAuthBearerServer
from gralha.security.sasl.plain import PlainServer
from gralha.security.sasl.scram import MECHANISM_NUMBERS, ScramCredential
from gralha.security.sasl.scram_server import ScramServer, ScramUser, ScramUsers
from gralha.security.sasl.tokens import TokenValidator

SECRET_BYTES: Final = 32


class Authentication:
    """Makes the exchanges of a node."""

    def __init__(
        self,
        config: NodeConfig,
        image: Callable[[], MetadataImage | None],
        clock_ms: Callable[[], int],
        random: Random,
        fetch: FetchText,
    ) -> None:
        """`image` returns None until this node has read its metadata log."""
        self._config = config
        self._image = image
        self._clock_ms = clock_ms
        self._random_bytes = random.randbytes
        self._fetch = fetch
        self._sources: list[KeySetSource] = []
        self._all_token_users: list[TokenUsers] = []
        self._tokens: DelegationTokens = {}

    def login_settings(self, listener: Listener, apis: dict[int, Api]) -> LoginSettings | None:
        """What the logins of a listener share. None if the listener has no SASL."""
        settings = self._config.sasl_listener(listener)
        if settings is None:
            return None
        makers = {name: self._maker(one) for name, one in settings.mechanisms.items()}
        return LoginSettings(
            apis,
            tuple(settings.mechanisms),
            lambda mechanism: makers[mechanism](),
            {name: one.max_reauth_ms for name, one in settings.mechanisms.items()},
            settings.max_receive_bytes,
            self._config.number("connection.failed.authentication.delay.ms") / 1000,
            self._clock_ms,
            WarningsOnce(logging.getLogger("gralha.broker")),
        )

    async def start(self) -> None:
        """Reads the keys of issuers. Raises StartError."""
        for source in self._sources:
            await source.start()

    def tasks(self) -> list[Coroutine[object, object, None]]:
        """What runs as long as the node."""
        return [source.run() for source in self._sources] + [one.run() for one in self._all_token_users]

    def follow(self, _change: ImageChange, image: MetadataImage) -> None:
        """The metadata has changed."""
        if image.delegation_tokens is not self._tokens:
            self._tokens = image.delegation_tokens
            for users in self._all_token_users:
                users.changed()

    def _maker(self, settings: MechanismSettings) -> Callable[[], ServerExchange]:
        if settings.name == PLAIN:
            return lambda: PlainServer(settings.passwords.get)
        if settings.name in SCRAM_MECHANISMS:
            secret = self._random_bytes(SECRET_BYTES)
            users = ScramUsers(
                partial(self._scram_user, MECHANISM_NUMBERS[settings.name]),
                self._token_users(settings.name, secret),
                FakeUsers(settings.name, self._image, secret),
                partial(fake_of_token, secret, settings.name),
            )
            return lambda: ScramServer(settings.name, users, self._random_bytes)
        assert settings.tokens is not None
        source = KeySetSource(settings.tokens, self._fetch)
        self._sources.append(source)
        validator = TokenValidator(settings.tokens.rules, source.keys, self._clock_ms, source.expedite)
        return lambda: OAuthBearerServer(validator)

    def _scram_user(self, mechanism: int, name: str) -> ScramUser | None:
        image = self._image()
        credential = None if image is None else image.scram.get((name, mechanism))
        return None if credential is None else ScramUser(name, ScramCredential(*credential))

    def _token_users(self, mechanism: str, secret: bytes) -> Callable[[str], ScramUser | None]:
        """Where the server looks for delegation tokens."""
        key = token_key(self._config.text(SECRET_KEY))
        if key is None:
            return lambda _token_id: None
        users = TokenUsers(mechanism, key, secret, self._delegation_tokens, self._clock_ms)
        self._all_token_users.append(users)
        return users.find

    def _delegation_tokens(self) -> DelegationTokens:
        image = self._image()
        return {} if image is None else image.delegation_tokens
