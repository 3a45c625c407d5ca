"""The rights that each API asks for, as Apache Kafka 4.3 does.

Each served API has a row in NEEDS. A node whose table of APIs has one without a row does not start, so a new
API cannot be forgotten. docs/SECURITY.md has this table, too.

Rights on the cluster that a whole request needs (`guards`) are checked here, before the handler. All other
rights depend on the request, so the handler asks `broker.rights` for them. A request that a broker forwards
is checked by the active controller, as the client that sent it.
"""

from collections.abc import Awaitable, Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from gralha.broker.pipeline import Handler, RequestContext
from gralha.protocol import apis
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.apis import ApiKey
from gralha.protocol.errors import ErrorCode, error_message
from gralha.protocol.message import Message

if TYPE_CHECKING:
    from gralha.broker.broker import Broker

ALTER: Final = Operation.ALTER
ALTER_CONFIGS: Final = Operation.ALTER_CONFIGS
CLUSTER_ACTION: Final = Operation.CLUSTER_ACTION
CREATE: Final = Operation.CREATE
DELETE: Final = Operation.DELETE
DESCRIBE: Final = Operation.DESCRIBE
DESCRIBE_CONFIGS: Final = Operation.DESCRIBE_CONFIGS
CREATE_TOKENS: Final = Operation.CREATE_TOKENS
DESCRIBE_TOKENS: Final = Operation.DESCRIBE_TOKENS
READ: Final = Operation.READ
WRITE: Final = Operation.WRITE

CLUSTER: Final = ResourceType.CLUSTER
DELEGATION_TOKEN: Final = ResourceType.DELEGATION_TOKEN
GROUP: Final = ResourceType.GROUP
TOPIC: Final = ResourceType.TOPIC
TRANSACTIONAL_ID: Final = ResourceType.TRANSACTIONAL_ID
USER: Final = ResourceType.USER

CLUSTER_DENIED: Final = "CLUSTER_AUTHORIZATION_FAILED"
GROUP_DENIED: Final = "GROUP_AUTHORIZATION_FAILED"
TOKEN_DENIED: Final = "DELEGATION_TOKEN_AUTHORIZATION_FAILED"
TOPIC_DENIED: Final = "TOPIC_AUTHORIZATION_FAILED"
TRANSACTIONAL_ID_DENIED: Final = "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
LEFT_OUT: Final = "left out of the response"


class Need(NamedTuple):
    """One right, and what happens without it. `when` says which requests need it."""

    operation: Operation
    resource: ResourceType
    denied: str
    when: str = ""


class Needs(NamedTuple):
    """The row of an API. `controller` is for controller listeners, if it differs there."""

    needs: tuple[Need, ...] = ()
    # One of these operations on the cluster is needed for the whole request.
    guards: tuple[Operation, ...] = ()
    controller_guards: tuple[Operation, ...] = ()
    note: str = ""


def _on_cluster(*operations: Operation) -> Needs:
    """Every request needs one of these operations on the cluster."""
    return Needs(guards=operations, controller_guards=operations)


_OFFSETS_TOPIC: Final = Need(READ, TOPIC, TOPIC_DENIED, "each topic")
_MEMBER: Final = Needs((Need(READ, GROUP, GROUP_DENIED),))
_NOTHING: Final = "Everybody may send it."
_OF_OWNERS: Final = "Only the owner and the renewers of the token may do it."

NEEDS: Final[dict[ApiKey, Needs]] = {
    ApiKey.PRODUCE: Needs(
        (
            Need(WRITE, TRANSACTIONAL_ID, TRANSACTIONAL_ID_DENIED, "batches of a transaction"),
            Need(WRITE, TOPIC, TOPIC_DENIED, "each topic"),
        )
    ),
    ApiKey.FETCH: Needs(
        (
            Need(READ, TOPIC, TOPIC_DENIED, "each topic, for consumers"),
            Need(CLUSTER_ACTION, CLUSTER, TOPIC_DENIED, "for followers, in place of READ"),
        ),
        controller_guards=(CLUSTER_ACTION,),
    ),
    ApiKey.LIST_OFFSETS: Needs((Need(DESCRIBE, TOPIC, TOPIC_DENIED, "each topic"),)),
    ApiKey.METADATA: Needs(
        (
            Need(DESCRIBE, TOPIC, TOPIC_DENIED, "each named topic"),
            Need(DESCRIBE, TOPIC, LEFT_OUT, "each topic if all topics are asked for"),
            Need(CREATE, CLUSTER, TOPIC_DENIED, "topics that are created automatically"),
            Need(CREATE, TOPIC, TOPIC_DENIED, "the same, in place of CREATE on the cluster"),
            Need(DESCRIBE, CLUSTER, "the bit field is 0", "the cluster's authorized operations"),
        )
    ),
    ApiKey.OFFSET_COMMIT: Needs((Need(READ, GROUP, GROUP_DENIED), _OFFSETS_TOPIC)),
    ApiKey.OFFSET_FETCH: Needs(
        (
            Need(DESCRIBE, GROUP, GROUP_DENIED, "each group"),
            Need(DESCRIBE, TOPIC, TOPIC_DENIED, "each named topic; left out if all are asked for"),
        )
    ),
    ApiKey.FIND_COORDINATOR: Needs(
        (
            Need(DESCRIBE, GROUP, GROUP_DENIED, "coordinators of groups"),
            Need(DESCRIBE, TRANSACTIONAL_ID, TRANSACTIONAL_ID_DENIED, "coordinators of transactions"),
        )
    ),
    ApiKey.JOIN_GROUP: _MEMBER,
    ApiKey.HEARTBEAT: _MEMBER,
    ApiKey.LEAVE_GROUP: _MEMBER,
    ApiKey.SYNC_GROUP: _MEMBER,
    ApiKey.DESCRIBE_GROUPS: Needs((Need(DESCRIBE, GROUP, GROUP_DENIED, "each group"),)),
    ApiKey.LIST_GROUPS: Needs(
        (
            Need(DESCRIBE, CLUSTER, "see the next row", "all groups"),
            Need(DESCRIBE, GROUP, LEFT_OUT, "each group, in place of DESCRIBE on the cluster"),
        )
    ),
    ApiKey.SASL_HANDSHAKE: Needs(note=_NOTHING),
    ApiKey.API_VERSIONS: Needs(note=_NOTHING),
    ApiKey.SASL_AUTHENTICATE: Needs(note=_NOTHING),
    ApiKey.CREATE_TOPICS: Needs(
        (
            Need(CREATE, CLUSTER, "see the next row", "all topics"),
            Need(CREATE, TOPIC, TOPIC_DENIED, "each topic, in place of CREATE on the cluster"),
            Need(DESCRIBE_CONFIGS, TOPIC, "the configs are left out", "the configs in the response"),
        )
    ),
    ApiKey.DELETE_TOPICS: Needs(
        (
            Need(DELETE, CLUSTER, "see the next row", "all topics"),
            Need(DELETE, TOPIC, TOPIC_DENIED, "each topic, in place of DELETE on the cluster"),
            Need(DESCRIBE, TOPIC, "the name is left out", "the name of a topic that is given by id"),
        )
    ),
    ApiKey.DELETE_RECORDS: Needs((Need(DELETE, TOPIC, TOPIC_DENIED, "each topic"),)),
    ApiKey.INIT_PRODUCER_ID: Needs(
        (
            Need(WRITE, TRANSACTIONAL_ID, TRANSACTIONAL_ID_DENIED, "with a transactional id"),
            Need(
                Operation.TWO_PHASE_COMMIT,
                TRANSACTIONAL_ID,
                TRANSACTIONAL_ID_DENIED,
                "with enable2Pc, too",
            ),
            Need(Operation.IDEMPOTENT_WRITE, CLUSTER, CLUSTER_DENIED, "without a transactional id"),
            Need(WRITE, TOPIC, CLUSTER_DENIED, "the same, in place of IDEMPOTENT_WRITE: any topic"),
        )
    ),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: Needs(
        (
            Need(CLUSTER_ACTION, CLUSTER, "see the next row", "all topics"),
            Need(DESCRIBE, TOPIC, TOPIC_DENIED, "each topic, in place of CLUSTER_ACTION"),
        )
    ),
    ApiKey.ADD_PARTITIONS_TO_TXN: Needs(
        (
            Need(WRITE, TRANSACTIONAL_ID, TRANSACTIONAL_ID_DENIED, "versions 0 to 3, of clients"),
            Need(WRITE, TOPIC, TOPIC_DENIED, "each topic, versions 0 to 3"),
            Need(CLUSTER_ACTION, CLUSTER, CLUSTER_DENIED, "versions 4 and 5, of brokers"),
        )
    ),
    ApiKey.ADD_OFFSETS_TO_TXN: Needs(
        (
            Need(WRITE, TRANSACTIONAL_ID, TRANSACTIONAL_ID_DENIED),
            Need(READ, GROUP, GROUP_DENIED),
        )
    ),
    ApiKey.END_TXN: Needs((Need(WRITE, TRANSACTIONAL_ID, TRANSACTIONAL_ID_DENIED),)),
    ApiKey.WRITE_TXN_MARKERS: Needs(
        (
            Need(ALTER, CLUSTER, CLUSTER_DENIED),
            Need(CLUSTER_ACTION, CLUSTER, CLUSTER_DENIED, "in place of ALTER"),
        )
    ),
    ApiKey.TXN_OFFSET_COMMIT: Needs(
        (
            Need(WRITE, TRANSACTIONAL_ID, TRANSACTIONAL_ID_DENIED),
            Need(READ, GROUP, GROUP_DENIED),
            _OFFSETS_TOPIC,
        )
    ),
    ApiKey.DESCRIBE_ACLS: _on_cluster(DESCRIBE),
    ApiKey.CREATE_ACLS: _on_cluster(ALTER),
    ApiKey.DELETE_ACLS: _on_cluster(ALTER),
    ApiKey.DESCRIBE_CONFIGS: Needs(
        (
            Need(DESCRIBE_CONFIGS, TOPIC, TOPIC_DENIED, "each topic"),
            Need(DESCRIBE_CONFIGS, GROUP, GROUP_DENIED, "each group"),
            Need(DESCRIBE_CONFIGS, CLUSTER, CLUSTER_DENIED, "brokers, loggers and client metrics"),
        )
    ),
    ApiKey.ALTER_CONFIGS: Needs(
        (
            Need(ALTER_CONFIGS, TOPIC, TOPIC_DENIED, "each topic"),
            Need(ALTER_CONFIGS, GROUP, GROUP_DENIED, "each group"),
            Need(ALTER_CONFIGS, CLUSTER, CLUSTER_DENIED, "brokers and client metrics"),
        )
    ),
    ApiKey.ALTER_REPLICA_LOG_DIRS: _on_cluster(ALTER),
    ApiKey.DESCRIBE_LOG_DIRS: _on_cluster(DESCRIBE),
    ApiKey.CREATE_PARTITIONS: Needs((Need(ALTER, TOPIC, TOPIC_DENIED, "each topic"),)),
    ApiKey.CREATE_DELEGATION_TOKEN: Needs(
        (Need(CREATE_TOKENS, USER, TOKEN_DENIED, "the owner of the token, if it is not the caller"),)
    ),
    ApiKey.RENEW_DELEGATION_TOKEN: Needs(note=_OF_OWNERS),
    ApiKey.EXPIRE_DELEGATION_TOKEN: Needs(note=_OF_OWNERS),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: Needs(
        (
            Need(DESCRIBE, DELEGATION_TOKEN, LEFT_OUT, "each token of which the caller is no part"),
            Need(DESCRIBE_TOKENS, USER, LEFT_OUT, "the owner of the token, in place of DESCRIBE on it"),
        )
    ),
    ApiKey.DELETE_GROUPS: Needs((Need(DELETE, GROUP, GROUP_DENIED, "each group"),)),
    ApiKey.ELECT_LEADERS: _on_cluster(ALTER),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: Needs(
        (
            Need(ALTER_CONFIGS, TOPIC, TOPIC_DENIED, "each topic"),
            Need(ALTER_CONFIGS, GROUP, GROUP_DENIED, "each group"),
            Need(ALTER_CONFIGS, CLUSTER, CLUSTER_DENIED, "brokers, loggers of brokers, client metrics"),
            Need(CLUSTER_ACTION, CLUSTER, CLUSTER_DENIED, "loggers of controllers"),
        )
    ),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: _on_cluster(ALTER),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: _on_cluster(DESCRIBE),
    ApiKey.OFFSET_DELETE: Needs((Need(DELETE, GROUP, GROUP_DENIED), _OFFSETS_TOPIC)),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: _on_cluster(DESCRIBE_CONFIGS),
    ApiKey.ALTER_CLIENT_QUOTAS: _on_cluster(ALTER_CONFIGS),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: _on_cluster(DESCRIBE),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _on_cluster(ALTER),
    ApiKey.VOTE: _on_cluster(CLUSTER_ACTION),
    ApiKey.BEGIN_QUORUM_EPOCH: _on_cluster(CLUSTER_ACTION),
    ApiKey.END_QUORUM_EPOCH: _on_cluster(CLUSTER_ACTION),
    ApiKey.DESCRIBE_QUORUM: _on_cluster(DESCRIBE),
    ApiKey.ALTER_PARTITION: _on_cluster(CLUSTER_ACTION),
    ApiKey.UPDATE_FEATURES: _on_cluster(ALTER),
    ApiKey.ENVELOPE: _on_cluster(CLUSTER_ACTION),
    ApiKey.FETCH_SNAPSHOT: _on_cluster(CLUSTER_ACTION),
    ApiKey.DESCRIBE_CLUSTER: Needs(
        (Need(DESCRIBE, CLUSTER, "the bit field is 0", "the cluster's authorized operations"),),
        controller_guards=(ALTER,),
        note="Everybody may ask a broker for the cluster's id, its brokers and its controller.",
    ),
    ApiKey.DESCRIBE_PRODUCERS: Needs((Need(READ, TOPIC, TOPIC_DENIED, "each topic"),)),
    ApiKey.BROKER_REGISTRATION: _on_cluster(CLUSTER_ACTION),
    ApiKey.BROKER_HEARTBEAT: _on_cluster(CLUSTER_ACTION),
    ApiKey.UNREGISTER_BROKER: _on_cluster(ALTER),
    ApiKey.DESCRIBE_TRANSACTIONS: Needs(
        (
            Need(DESCRIBE, TRANSACTIONAL_ID, TRANSACTIONAL_ID_DENIED, "each transactional id"),
            Need(DESCRIBE, TOPIC, LEFT_OUT, "each topic of a transaction"),
        )
    ),
    ApiKey.LIST_TRANSACTIONS: Needs((Need(DESCRIBE, TRANSACTIONAL_ID, LEFT_OUT, "each transactional id"),)),
    ApiKey.ALLOCATE_PRODUCER_IDS: _on_cluster(CLUSTER_ACTION),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: Needs(
        (
            Need(READ, GROUP, GROUP_DENIED),
            Need(DESCRIBE, TOPIC, TOPIC_DENIED, "each topic that the member names"),
            Need(DESCRIBE, TOPIC, "not assigned", "each topic that matches its regular expression"),
        )
    ),
    ApiKey.CONSUMER_GROUP_DESCRIBE: Needs(
        (
            Need(DESCRIBE, GROUP, GROUP_DENIED, "each group"),
            Need(DESCRIBE, TOPIC, TOPIC_DENIED, "each topic of the group's members"),
        )
    ),
    ApiKey.CONTROLLER_REGISTRATION: _on_cluster(CLUSTER_ACTION),
    ApiKey.LIST_CONFIG_RESOURCES: _on_cluster(DESCRIBE_CONFIGS),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: Needs(
        (
            Need(DESCRIBE, TOPIC, TOPIC_DENIED, "each named topic"),
            Need(DESCRIBE, TOPIC, LEFT_OUT, "each topic if all topics are asked for"),
        )
    ),
    ApiKey.ADD_RAFT_VOTER: _on_cluster(ALTER),
    ApiKey.REMOVE_RAFT_VOTER: _on_cluster(ALTER),
    ApiKey.UPDATE_RAFT_VOTER: _on_cluster(CLUSTER_ACTION),
}


class UndeclaredApiError(Exception):
    """An API has no row in NEEDS, so everybody could use it. The node does not start."""


def check_declared(keys: Iterable[ApiKey]) -> None:
    """Raises UndeclaredApiError if an API declares no rights."""
    missing = [key.name for key in keys if key not in NEEDS]
    if missing:
        raise UndeclaredApiError(
            f"No rights are declared for {', '.join(missing)}: add a row to NEEDS in handlers/needs.py"
        )


def guards(key: ApiKey, listener: str) -> tuple[Operation, ...]:
    """One of these operations on the cluster is needed for every request. Empty: the handler decides."""
    row = NEEDS[key]
    return row.controller_guards if listener == "controller" else row.guards


def guarded(handle: Handler, key: ApiKey, listener: str) -> Handler:
    """The handler, behind the guards of its row."""
    operations = guards(key, listener)
    if not operations:
        return handle

    def check_and_handle(
        broker: "Broker", context: RequestContext, request: Message
    ) -> Message | Awaitable[Message | None] | None:
        if broker.rights.authorizer is not None and not may_on_cluster(broker, context, operations):
            return denied(key)
        return cast("Message | Awaitable[Message | None] | None", handle(broker, context, request))

    return check_and_handle


def may_on_cluster(broker: Any, context: RequestContext, operations: tuple[Operation, ...]) -> bool:
    """Returns True if the caller may do one of the operations. Only the last denial is audited."""
    *others, last = operations
    rights = broker.rights
    return any(rights.sees(context, one, CLUSTER) for one in others) or rights.may_on_cluster(context, last)


def denied(key: ApiKey) -> Message:
    """The response to a request without the rights on the cluster."""
    code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    response = apis.APIS[key].response()
    response.error_code = code  # type: ignore[attr-defined]
    if "error_message" in response.FIELDS:
        response.error_message = error_message(code)  # type: ignore[attr-defined]
    return response
