"""`gralha registry`: runs the Schema Registry in the foreground."""

import asyncio
import contextlib
import logging
import socket
import ssl
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from gralha.cli.arguments import ProgramParser
from gralha.cli.bootstrap import default_bootstrap_servers
from gralha.cli.log_lines import log_to
from gralha.cli.program import CommandError, run
from gralha.cli.properties import load_properties, parse_assignments, warn_of_misspelt
from gralha.cli.text_file import read_text

if TYPE_CHECKING:
    from gralha.registry.config import RegistryConfig
    from gralha.registry.http.access import Access

READY: Final = "ready: the registry serves "
_EXAMPLES: Final = (
    "gralha registry --bootstrap-server localhost:9092",
    "gralha registry --bootstrap-server localhost:9092 --listeners http://0.0.0.0:8081",
    "gralha registry --config schema-registry.properties",
)


def main(arguments: list[str] | None = None) -> int:
    return run(_serve, arguments)


def _serve(arguments: list[str]) -> int:
    parser = ProgramParser(
        prog="gralha registry",
        description="Run the Schema Registry for a Kafka cluster, with Confluent's HTTP API, until Ctrl-C.",
        examples=_EXAMPLES,
    )
    parser.may_add_servers = False  # the file may name them
    parser.add_argument("--bootstrap-server", metavar="HOST:PORT,...", help="the brokers of the cluster")
    parser.add_argument(
        "--listeners",
        metavar="URL,...",
        help="where clients reach the registry (default http://0.0.0.0:8081)",
    )
    parser.add_argument("--config", metavar="FILE", help="a properties file with Confluent's names")
    parser.add_argument(
        "--override",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting that replaces that of the file; may be given many times",
    )
    options = parser.parse_args(arguments)
    properties = load_properties(options.config) if options.config else {}
    properties |= parse_assignments(options.override)
    if options.bootstrap_server or "kafkastore.bootstrap.servers" not in properties:
        properties["kafkastore.bootstrap.servers"] = options.bootstrap_server or default_bootstrap_servers()
    if options.listeners:
        properties["listeners"] = options.listeners
    log_to(sys.stderr, logging.INFO)
    return serve(properties)


def serve(properties: Mapping[str, str]) -> int:
    """Runs an instance with these settings. Returns the exit code."""
    from gralha.registry.config import KNOWN, ConfigError, parse_config

    warn_of_misspelt((name for name in properties if not name.startswith("kafkastore.")), KNOWN)
    try:
        config = parse_config(properties, socket.gethostname())
        access = _access(config)
    except ConfigError as error:
        raise CommandError(str(error)) from None
    for listener in config.listeners:
        if config.authentication == "NONE" and listener.host not in ("localhost", "127.0.0.1", "::1"):
            logging.getLogger("gralha").warning(
                "ANYBODY who reaches %s:%s can change schemas: there is no authentication",
                listener.host or "*",
                listener.port,
            )
    return _run(config, access)


def _run(config: "RegistryConfig", access: "Access") -> int:
    from confluent_kafka import KafkaException

    from gralha.cli.librdkafka import to_librdkafka
    from gralha.registry.errors import RegistryError
    from gralha.registry.http.server import ListenError, RegistryServer

    server_tls, client_tls = _tls(config)
    server = RegistryServer(config, to_librdkafka(config.client), access, server_tls, client_tls)
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(server.run(_announce))
    except (ListenError, RegistryError) as error:
        raise CommandError(str(error)) from None
    except KafkaException as error:
        raise CommandError(f"The Kafka cluster: {error.args[0].str()}") from None
    return 0


def _announce(addresses: Sequence[str]) -> None:
    print(f"{READY}{','.join(addresses)}", flush=True)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    with contextlib.suppress(ImportError):
        import uvloop

        return uvloop.new_event_loop
    return None


def _tls(config: "RegistryConfig") -> tuple[ssl.SSLContext | None, ssl.SSLContext | None]:
    """What the listeners encrypt with, and what this instance trusts when it asks another one."""
    if all(listener.scheme == "http" for listener in config.listeners):
        return None, None
    from gralha.security.key_stores import client_context, server_context
    from gralha.security.tls_settings import TlsError, TlsSettings

    try:
        settings = TlsSettings(config.tls)
        return server_context(settings), client_context(settings)
    except TlsError as error:
        raise CommandError(str(error)) from None


def _access(config: "RegistryConfig") -> "Access":
    """Who may do what. Raises ConfigError or CommandError."""
    from gralha.registry.bearer import bearer_check
    from gralha.registry.config import ConfigError
    from gralha.registry.http.access import Access, parse_rights, parse_users

    try:
        users = rights = None
        if config.authentication == "BASIC":
            if config.users_file is None:
                raise ConfigError("authentication.method=BASIC needs authentication.users.file")
            users = parse_users(read_text(config.users_file, "the users"))
        if config.rights_file is not None:
            rights = parse_rights(read_text(config.rights_file, "the rights"))
    except ValueError as error:
        raise ConfigError(f"{config.users_file} or {config.rights_file}: {error}") from None
    bearer = bearer_check(config.oauthbearer) if config.authentication == "BEARER" else None
    return Access(users, bearer, rights)


if __name__ == "__main__":
    sys.exit(main())
