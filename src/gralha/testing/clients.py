"""How the clients of a test reach a cluster, and who may do what in it.

Every method of settings works without security, too, so that a test can run both ways.
"""

import abc
import ssl
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from gralha.client.acl_calls import AclFilter
from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.errors import ClientError, KafkaError
from gralha.client.scram_calls import ScramUpsertion
from gralha.client.security import ClientSecurity
from gralha.protocol.acls import (
    ANY_HOST,
    CLUSTER_NAME,
    Acl,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)
from gralha.protocol.properties import properties_text
from gralha.security.client_access import MECHANISM, ClientAccess
from gralha.security.sasl.scram import ITERATIONS_MIN
from gralha.security.secured_node import ADMIN
from gralha.testing.users import APP, APP_PREFIX, Users, new_salt, write_private

ANSWER_TIMEOUT_MS = 5_000
# All brokers apply a change of the metadata in this time, also on a busy machine.
PATIENCE_S = 60.0
POLL_INTERVAL_S = 0.01


class Clients(abc.ABC):
    """The part of `GralhaCluster` for clients. Without security all users are the same."""

    folder: Path
    ports: dict[int, int]
    _users: Users | None

    @property
    @abc.abstractmethod
    def bootstrap(self) -> str:
        """The value for a client's `bootstrap.servers`."""

    @abc.abstractmethod
    def _running(self) -> list[int]:
        """The ids of the nodes that run."""

    def client_config(self, user: str = APP) -> dict[str, Any]:
        """The settings of confluent-kafka and other clients that use librdkafka."""
        return dict(self._access(user).librdkafka())

    def python_config(self, user: str = APP) -> dict[str, Any]:
        """The arguments of the clients of kafka-python and aiokafka."""
        access = self._access(user)
        return {**access.python(), **({"ssl_context": _context(access)} if access.uses_tls else {})}

    def kafkajs_config(self, user: str = APP) -> dict[str, Any]:
        """The argument of `new Kafka(...)`. It can be written as JSON."""
        return self._access(user).kafkajs()

    def java_config(self, user: str = APP) -> dict[str, str]:
        """The settings of Java's clients."""
        return self._access(user).java()

    def properties_file(self, user: str = APP) -> Path:
        """The same as a file, for Java's clients and for `--command-config` of the commands."""
        path = self.folder / f"{user}.client.properties"
        write_private(path, properties_text(self.java_config(user)))
        return path

    def spark_options(self, user: str = APP) -> dict[str, str]:
        """The options of `format("gralha")`. The password is a reference, so Spark never shows it."""
        options = {f"kafka.{name}": value for name, value in self.java_config(user).items()}
        secret = "sasl.jaas.config"
        if f"kafka.{secret}" in options:
            options[f"kafka.{secret}"] = f"${{file:{self.properties_file(user)}:{secret}}}"
        return options

    def add_user(self, user: str, password: str | None = None) -> None:
        """Adds a user without rights, or changes a password. Without `password` it is random.

        Returns when the user can log in at every broker. The cluster must run.
        """
        users = self._secured()
        password = users.add(user, password)
        if not users.uses_login:
            return
        with self._admin() as admin:
            new = ScramUpsertion(MECHANISM, ITERATIONS_MIN, new_salt(), password)
            admin.alter_scram_user(user, upsertions=[new])
        access = self._access(user)
        for node_id in self._running():
            knows = partial(_brokers_seen, access, self.ports[node_id])
            _wait(knows, f"broker {node_id} knows {user}")

    def allow(
        self,
        user: str,
        *operations: str,
        topic: str | None = None,
        group: str | None = None,
        transactional_id: str | None = None,
        prefixed: bool = False,
    ) -> None:
        """Gives a user rights, for example `allow("app", "READ", "DESCRIBE", topic="orders")`.

        The names of operations are Kafka's. Without a topic, group or transactional id the rights are about
        the cluster. With `prefixed` the name is the beginning of names. Returns when all brokers know the
        rights.
        """
        self._secured()
        named = [
            (kind, name)
            for kind, name in (
                (ResourceType.TOPIC, topic),
                (ResourceType.GROUP, group),
                (ResourceType.TRANSACTIONAL_ID, transactional_id),
            )
            if name is not None
        ]
        pattern = PatternType.PREFIXED if prefixed else PatternType.LITERAL
        resources = [(kind, name, pattern) for kind, name in named]
        resources = resources or [(ResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL)]
        self._add_acls(
            [
                Acl(*resource, f"User:{user}", ANY_HOST, _operation(one), Permission.ALLOW)
                for resource in resources
                for one in operations
            ]
        )

    def _add_first_rights(self) -> None:
        """Gives the user `app` its rights, after the first start."""
        if self._users is None or not self._users.is_new:
            return
        self._users.is_new = False
        rights = {"topic": ("READ", "WRITE", "CREATE", "DESCRIBE"), "group": ("READ",)}
        rights["transactional_id"] = ("WRITE", "DESCRIBE")
        for kind, operations in rights.items():
            self.allow(APP, *operations, **{kind: APP_PREFIX}, prefixed=True)

    def _add_acls(self, acls: list[Acl]) -> None:
        with self._admin() as admin:
            admin.create_acls(acls)
            for node_id in self._running():
                for acl in acls:
                    knows = partial(admin.describe_acls, AclFilter(*acl), broker_id=node_id)
                    _wait(knows, f"broker {node_id} knows the rights of {acl.principal}")

    def _brokers_seen_by_admin(self, port: int) -> int:
        return _brokers_seen(self._access(ADMIN), port)

    def _admin(self) -> Admin:
        access = self._access(ADMIN)
        return Admin(Cluster(access.bootstrap, security=ClientSecurity.from_kafka(access.java())))

    def _access(self, user: str) -> ClientAccess:
        return (
            ClientAccess(self.bootstrap) if self._users is None else self._users.access(user, self.bootstrap)
        )

    def _secured(self) -> Users:
        if self._users is None:
            raise ValueError('the cluster has no users: create it with GralhaCluster(security="sasl_ssl")')
        return self._users


def _operation(name: str) -> Operation:
    possible = [one.name for one in Operation if one > Operation.ANY]
    if name.upper() not in possible:
        raise ValueError(f"{name!r} is not an operation: use one of {', '.join(possible)}")
    return Operation[name.upper()]


def _brokers_seen(access: ClientAccess, port: int) -> int:
    """The number of live brokers that the broker at this port knows. 0 if the user cannot log in there."""
    security = ClientSecurity.from_kafka(access.java())
    try:
        with Cluster(
            f"127.0.0.1:{port}",
            security=security,
            connect_timeout_ms=ANSWER_TIMEOUT_MS,
            request_timeout_ms=ANSWER_TIMEOUT_MS,
        ) as cluster:
            return len(cluster.metadata([]).brokers)
    except (ClientError, KafkaError):
        return 0


def _context(access: ClientAccess) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=access.authority_file)
    if access.key_file is not None:
        context.load_cert_chain(access.key_file)
    return context


def _wait(is_true: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_true():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {PATIENCE_S:g} s in vain until {what}")
        time.sleep(POLL_INTERVAL_S)
