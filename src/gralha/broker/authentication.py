"""How clients of this node prove who they are, by listener: users, tokens, and the exchanges for them."""

import logging
from collections.abc import Callable, Coroutine
from functools import partial
from random import Random
from typing import Final

from gralha.broker.config import Listener, NodeConfig
from gralha.broker.key_sets import FetchText, KeySetSource
from gralha.broker.login import LoginSettings
from gralha.broker.pipeline import Api
from gralha.broker.sasl_settings import MechanismSettings
from gralha.broker.warnings_once import WarningsOnce
from gralha.metadata.image import MetadataImage
from gralha.security.sasl.exchange import PLAIN, SCRAM_MECHANISMS, ServerExchange
from gralha.security.sasl.oauthbearer import OAuthBearerServer
from gralha.security.sasl.plain import PlainServer
from gralha.security.sasl.scram import MECHANISM_NUMBERS, ScramCredential
from gralha.security.sasl.scram_fakes import ScramFakes
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
        return [source.run() for source in self._sources]

    def _maker(self, settings: MechanismSettings) -> Callable[[], ServerExchange]:
        if settings.name == PLAIN:
            return lambda: PlainServer(settings.passwords.get)
        if settings.name in SCRAM_MECHANISMS:
            users = ScramUsers(
                partial(self._scram_user, MECHANISM_NUMBERS[settings.name]),
                _no_token,
                FakeUsers(settings.name, self._image, self._random_bytes(SECRET_BYTES)),
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


class FakeUsers:
    """The salts and iterations of names that no user of a mechanism has. All nodes give the same.

    The secret of a cluster is the least id of its folders. Only users who may list the users of SCRAM can
    find it out (both need DESCRIBE on the cluster). A broker with an even lesser id changes it.
    """

    def __init__(self, mechanism: str, image: Callable[[], MetadataImage | None], own_secret: bytes) -> None:
        """`own_secret` is that of a node which knows no cluster yet."""
        self._mechanism = mechanism
        self._image = image
        self._secret = own_secret
        self._fakes = ScramFakes(own_secret, mechanism, ())
        self._seen: MetadataImage | None = None

    def __call__(self, name: str) -> tuple[bytes, int]:
        image, seen = self._image(), self._seen
        if image is not None and (
            seen is None or image.scram is not seen.scram or image.brokers is not seen.brokers
        ):
            self._seen = image
            self._fakes = self._made_for(image)
        return self._fakes.salt_and_iterations(name)

    def _made_for(self, image: MetadataImage) -> ScramFakes:
        folders = [folder for broker in image.brokers.values() for folder in broker.log_dirs]
        number = MECHANISM_NUMBERS[self._mechanism]
        credentials = [ScramCredential(*one) for (_, kind), one in image.scram.items() if kind == number]
        return ScramFakes(min(folders, default=self._secret), self._mechanism, credentials)


def _no_token(_token_id: str) -> ScramUser | None:
    """There are no delegation tokens yet."""
    return None
