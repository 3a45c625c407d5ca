"""What 10,000 access control lists (ACLs) cost: requests per CPU second, with them and without an authorizer.

Two brokers get the same requests in turns. The rules are those of a large company: teams have topics of their
own, services have rules for single topics, some names are forbidden, and everybody may see some topics. The
client has no login, and rules for User:ANONYMOUS allow its requests.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable

from bench.frames import (
    ERROR_BYTES,
    ERROR_MARK,
    METADATA_VERSION,
    Frame,
    batch,
    exchange,
    fetch_frame,
    frame_of,
    position,
    produce_frame,
)
from bench.load import run_load
from bench.measures import (
    CONNECTIONS,
    REMOVE_SOON,
    Say,
    connect,
    cpu_nanoseconds,
    port_of,
    topic_with_partitions,
)
from bench.rounds import Results, turns
from gralha.client.acl_calls import AclFilter
from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.security import ClientSecurity
from gralha.protocol.acls import (
    ANY_HOST,
    ANY_NAME,
    ANY_PRINCIPAL,
    Acl,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)
from gralha.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from gralha.testing import GralhaCluster
from gralha.testing.process import free_ports

RULES = 10_000
CREATED_AT_ONCE = 1_000
TEAMS = 500
ANONYMOUS = "User:ANONYMOUS"
TOPIC = "team-7.orders"
FETCHED = "team-7.returns"  # has one batch in each partition, so that the records cost little
REQUESTS = 20_000  # in a round
FOURS = 8
IN_FLIGHT = 20
RULED, FREE = "ruled", "free"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_NODE = f'{_PLAIN} required username="node" password="x" user_node="x";'


class LoggedInNodes(GralhaCluster):
    """A broker whose nodes log in, so that the clients of the listener PLAINTEXT are no super users."""

    def __init__(self, is_ruled: bool) -> None:
        (self.login_port,) = free_ports(1)
        rights = {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:node",
        }
        super().__init__(1, {**REMOVE_SOON, **(rights if is_ruled else {})})

    def _node_config(self, node_id: int) -> dict[str, str]:
        config = super()._node_config(node_id)
        login = f"NODES://127.0.0.1:{self.login_port}"
        return {
            **config,
            "listeners": f"{config['listeners']},{login}",
            "advertised.listeners": f"{config['advertised.listeners']},{login}",
            "listener.security.protocol.map": (
                "PLAINTEXT:PLAINTEXT,NODES:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT"
            ),
            "inter.broker.listener.name": "NODES",
            "sasl.enabled.mechanisms": "PLAIN",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "sasl.mechanism.controller.protocol": "PLAIN",
            "listener.name.nodes.plain.sasl.jaas.config": _NODE,
            "listener.name.controller.plain.sasl.jaas.config": _NODE,
        }

    def admin(self) -> Admin:
        properties = {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f'{_PLAIN} required username="node" password="x";',
        }
        security = ClientSecurity.from_kafka(properties)
        return Admin(Cluster(f"127.0.0.1:{self.login_port}", security=security))


def rule(
    resource: ResourceType,
    pattern: PatternType,
    name: str,
    principal: str,
    operation: Operation,
    permission: Permission = Permission.ALLOW,
) -> Acl:
    return Acl(resource, name, pattern, principal, ANY_HOST, operation, permission)


def rules() -> list[Acl]:
    """The rules of the client, and others until there are enough."""
    topic, group = ResourceType.TOPIC, ResourceType.GROUP
    literal, prefixed = PatternType.LITERAL, PatternType.PREFIXED
    found = [
        rule(topic, prefixed, "team-7.", ANONYMOUS, Operation.ALL),
        rule(topic, prefixed, "secret.", ANY_PRINCIPAL, Operation.ALL, Permission.DENY),
        rule(topic, literal, "calendar", ANY_PRINCIPAL, Operation.READ),
        rule(group, literal, ANY_NAME, "User:monitoring", Operation.DESCRIBE),
        rule(topic, literal, ANY_NAME, "User:monitoring", Operation.DESCRIBE),
    ]
    for service in range(RULES):
        team = service % TEAMS
        user = f"User:CN=service-{service},OU=team-{team},O=Example"
        found += [
            rule(topic, prefixed, f"team-{team}.", user, Operation.READ),
            rule(topic, literal, f"team-{team}.orders", user, Operation.WRITE),
            rule(topic, literal, f"team-{(team + 1) % TEAMS}.orders", user, Operation.READ),
            rule(group, prefixed, f"team-{team}.", user, Operation.READ),
            rule(topic, prefixed, f"team-{team}.audit.", user, Operation.WRITE, Permission.DENY),
        ]
    return found[:RULES]


def metadata_frame(broker: LoggedInNodes) -> Frame:
    request = MetadataRequest([MetadataRequestTopic(name=TOPIC)])
    with connect(broker) as connection:
        response = exchange(connection, request, METADATA_VERSION)
    assert isinstance(response, MetadataResponse)
    response.topics[0].error_code = ERROR_MARK
    at = position(response, request.API_KEY, METADATA_VERSION, ERROR_BYTES)
    return Frame(frame_of(request, METADATA_VERSION), at)


# The requests of each case, one for each connection.
CASES: dict[str, Callable[[LoggedInNodes], list[Frame]]] = {
    "produce": lambda _: [produce_frame(TOPIC, one, batch(1, 100)) for one in range(CONNECTIONS)],
    "fetch": lambda _: [fetch_frame(FETCHED, one) for one in range(CONNECTIONS)],
    "metadata": lambda broker: [metadata_frame(broker)] * CONNECTIONS,
}


def measure_acls(say: Say, scale: float = 1.0) -> Results:
    """The requests per CPU second with the rules, divided by those without, by case."""
    results: Results = {}
    with LoggedInNodes(is_ruled=True) as ruled, LoggedInNodes(is_ruled=False) as free:
        add_rules(ruled)
        brokers = {RULED: ruled, FREE: free}
        with contextlib.ExitStack() as stack:
            for broker in brokers.values():
                for topic in (TOPIC, FETCHED):
                    stack.enter_context(topic_with_partitions(broker, topic, CONNECTIONS, batch(1, 100)))
            for name, frames_of in CASES.items():
                rates = compared_rates(brokers, frames_of, max(2, int(FOURS * scale)))
                results[f"acls_{name}_per_cpu_s"] = rates[RULED]
                results[f"acls_{name}_share"] = rates[RULED] / rates[FREE]
                say(f"{name}: {rates[RULED]:,.0f} / CPU s with the rules, {rates[FREE]:,.0f} without")
    return results


def compared_rates(
    brokers: dict[str, LoggedInNodes], frames_of: Callable[[LoggedInNodes], list[Frame]], fours: int
) -> dict[str, float]:
    """The median rate of each broker, in requests per CPU second."""
    frames = {name: frames_of(broker) for name, broker in brokers.items()}

    def take(name: str) -> float:
        before = cpu_nanoseconds(brokers[name].process())
        run_load(port_of(brokers[name]), frames[name], REQUESTS, IN_FLIGHT)
        return REQUESTS / (cpu_nanoseconds(brokers[name].process()) - before) * 1e9

    for name in brokers:
        take(name)
    rates: dict[str, list[float]] = {name: [] for name in brokers}
    for name in turns(list(brokers), fours):
        rates[name].append(take(name))
    return {name: statistics.median(taken) for name, taken in rates.items()}


def add_rules(broker: LoggedInNodes) -> None:
    """Creates the rules. Returns when the broker follows them."""
    wanted = rules()
    with broker.admin() as admin:
        for start in range(0, RULES, CREATED_AT_ONCE):
            admin.create_acls(wanted[start : start + CREATED_AT_ONCE])
        while (count := len(admin.describe_acls(AclFilter()))) < RULES:
            time.sleep(0.01)
    if count != RULES:
        raise RuntimeError(f"the broker has {count} rules in place of {RULES}")
