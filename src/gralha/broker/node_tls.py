"""TLS of a node: the contexts of its listeners, and of its connections to other nodes.

The settings are `ssl.*` and `listener.name.<name>.ssl.*`. Certificates are replaced without a restart: when a
dynamic setting changes, and when a file changes. A thread reads the files, and looks every few seconds for
those that have changed. So a slow disk does not stop the event loop.
"""

import asyncio
import logging
import ssl
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from gralha.broker.config import NodeConfig, uses_tls
from gralha.broker.start_error import StartError
from gralha.metadata.config_keys import BrokerConfigLayers
from gralha.metadata.listener_configs import PREFIX, broker_config_key, listener_texts
from gralha.security.distinguished_names import subject_of
from gralha.security.principal_mapping import PrincipalMapping, RuleError
from gralha.security.tls_contexts import TlsContext
from gralha.security.tls_settings import TlsError
from gralha.security.tls_stream import CiphertextBuffer

CHECK_SECONDS: Final = 3.0

log = logging.getLogger("gralha.broker")


class ListenerTls:
    """TLS of one listener."""

    def __init__(self, listener: str, texts: Mapping[str, str]) -> None:
        self.listener = listener
        self.server = TlsContext.of_server(texts)
        rules = texts.get("ssl.principal.mapping.rules", "DEFAULT")
        try:
            self._mapping = PrincipalMapping(rules)
        except RuleError as error:
            raise TlsError("ssl.principal.mapping.rules", str(error)) from None
        self.buffer = CiphertextBuffer()

    def principal_of(self, tls: ssl.SSLObject) -> str:
        """The principal with the certificate of this client. Raises NoRuleError or ValueError."""
        certificate = tls.getpeercert(binary_form=True)
        if certificate is None:
            return "User:ANONYMOUS"
        return f"User:{self._mapping.name_of(subject_of(certificate))}"


class PeerTls:
    """TLS of the connections to other nodes through one of their listeners."""

    def __init__(self, listener: str, texts: Mapping[str, str]) -> None:
        self.listener = listener
        self.client = TlsContext.of_client(texts)
        self.buffer = CiphertextBuffer()


class NodeTls:
    """All of it. Nothing is read before `load`."""

    def __init__(self, config: NodeConfig) -> None:
        self._config = config
        self.listeners: dict[str, ListenerTls] = {}
        # Of the connections to brokers and to controllers, if they use TLS.
        self.brokers: PeerTls | None = None
        self.controllers: PeerTls | None = None
        # The settings that were used last, by listener.
        self._texts: dict[str, dict[str, str]] = {}
        # Dynamic settings that are not followed yet.
        self._newest: BrokerConfigLayers | None = None
        self._is_awaited = asyncio.Event()

    def load(self) -> None:
        """Reads the files. Raises StartError with what a person must change."""
        try:
            self._load()
        except TlsError as error:
            raise StartError(f"TLS cannot be used: {error}") from None

    def _load(self) -> None:
        for listener in self._config.listeners:
            if listener.uses_tls:
                self.listeners[listener.name] = ListenerTls(listener.name, self._texts_of(listener.name))
                self._warn_of_open_files(self.listeners[listener.name])
        self.brokers = self._peers(self._config.inter_broker_listener)
        self.controllers = self._peers(next(iter(self._config.controller_listener_names), None))

    @property
    def is_wanted(self) -> bool:
        """True if a listener of this node, or of the other nodes, uses TLS."""
        peers = self._config.controller_listener_names[:1]
        return any(one.uses_tls for one in self._config.listeners) or any(map(self._uses_tls, peers))

    def configure(self, layers: BrokerConfigLayers) -> None:
        """Lets `follow` take these settings at once."""
        self._newest = layers
        self._is_awaited.set()

    async def follow(self) -> None:
        """Takes new settings, and new certificates when their files change. The owner runs this as a task."""
        loop = asyncio.get_running_loop()
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_awaited.wait(), CHECK_SECONDS)
            self._is_awaited.clear()
            layers, self._newest = self._newest, None
            await loop.run_in_executor(None, self._update, layers)

    def _update(self, layers: BrokerConfigLayers | None) -> None:
        if layers is not None:
            self.apply(layers)
        self.refresh()

    def apply(self, layers: BrokerConfigLayers) -> None:
        """Follows dynamic settings. A change that cannot be used is logged and has no effect."""
        dynamic = {**layers.dynamic_default, **layers.dynamic_broker}
        # As in Kafka, only the settings of one listener are dynamic.
        of_listeners = {name: text for name, text in dynamic.items() if name.startswith(PREFIX)}
        texts = {**layers.static, **of_listeners}
        for listener, one in self._contexts():
            wanted = self._wanted(listener, texts)
            if _tls_part(wanted) == self._texts[listener]:
                continue
            try:
                one.configure(wanted)
                log.info("listener %s uses the new settings of TLS for new connections", listener)
            except TlsError as error:
                log.error("listener %s keeps its settings of TLS: %s", listener, error)
        for listener in self._texts:
            self._texts[listener] = _tls_part(self._wanted(listener, texts))

    def refresh(self) -> None:
        """Reads files that have changed."""
        for listener, one in self._contexts():
            try:
                if one.refresh():
                    log.info("listener %s uses the new certificates for new connections", listener)
            except TlsError as error:
                log.error(
                    "listener %s keeps its certificates, because the new ones are wrong: %s", listener, error
                )

    def _contexts(self) -> list[tuple[str, TlsContext]]:
        found = [(one.listener, one.server) for one in self.listeners.values()]
        peers = [one for one in (self.brokers, self.controllers) if one is not None]
        return found + [(one.listener, one.client) for one in peers]

    def _texts_of(self, listener: str) -> dict[str, str]:
        texts = self._wanted(listener, self._config.texts)
        self._texts[listener] = _tls_part(texts)
        return texts

    def _wanted(self, listener: str, texts: Mapping[str, str]) -> dict[str, str]:
        """The settings of a listener, without names that Kafka does not know: a client has more of them.

        As in Kafka, clients that log in need a certificate only if a setting of their listener says so.
        """
        known = {name: text for name, text in texts.items() if broker_config_key(name) is not None}
        wanted = listener_texts(listener, known)
        own_setting = f"{PREFIX}{listener.lower()}.ssl.client.auth"
        if self._config.protocol_of(listener) == "SASL_SSL" and own_setting not in texts:
            wanted["ssl.client.auth"] = "none"
        return wanted

    def _peers(self, listener: str | None) -> PeerTls | None:
        if listener is None or not self._uses_tls(listener):
            return None
        return PeerTls(listener, self._texts_of(listener))

    def _uses_tls(self, listener: str) -> bool:
        return uses_tls(self._config.protocol_of(listener))

    def _warn_of_open_files(self, listener: ListenerTls) -> None:
        for path in listener.server.readable_by_others():
            log.warning("every user of this machine can read the private key in %s: chmod 600 %s", path, path)


def _tls_part(texts: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in texts.items() if name.startswith("ssl.")}
