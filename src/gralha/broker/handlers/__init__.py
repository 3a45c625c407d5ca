"""The APIs of a broker. Each has a file in this folder with its name and a function `handle`.

`APIS` are the APIs for clients, `CONTROLLER_APIS` those of controller listeners. The pipeline looks up
requests in these tables, and ApiVersions answers from them. A new API needs a new file and a line in SERVED.
Its versions and listeners are in its definition in `protocol`.

A handler is imported with the first request of its API, which makes the broker start 30 ms faster.
"""

from collections.abc import Awaitable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from gralha.broker.handlers import needs
from gralha.broker.handlers.forwarding import Decided, deciding, forwarding
from gralha.broker.pipeline import Api, Handler, RequestContext
from gralha.protocol import apis
from gralha.protocol.apis import ApiKey
from gralha.protocol.errors import ErrorCode, error_for
from gralha.protocol.message import Message
from gralha.protocol.primitives import Reader

if TYPE_CHECKING:
    from gralha.broker.broker import Broker

SERVED: Final = (
    ApiKey.PRODUCE,
    ApiKey.FETCH,
    ApiKey.LIST_OFFSETS,
    ApiKey.METADATA,
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
    ApiKey.FIND_COORDINATOR,
    ApiKey.JOIN_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.LEAVE_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.DESCRIBE_GROUPS,
    ApiKey.LIST_GROUPS,
    ApiKey.SASL_HANDSHAKE,
    ApiKey.API_VERSIONS,
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.DELETE_RECORDS,
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.OFFSET_FOR_LEADER_EPOCH,
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.END_TXN,
    ApiKey.WRITE_TXN_MARKERS,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.DESCRIBE_ACLS,
    ApiKey.CREATE_ACLS,
    ApiKey.DELETE_ACLS,
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.DESCRIBE_LOG_DIRS,
    ApiKey.SASL_AUTHENTICATE,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.CREATE_DELEGATION_TOKEN,
    ApiKey.RENEW_DELEGATION_TOKEN,
    ApiKey.EXPIRE_DELEGATION_TOKEN,
    ApiKey.DESCRIBE_DELEGATION_TOKEN,
    ApiKey.DELETE_GROUPS,
    ApiKey.ELECT_LEADERS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ApiKey.OFFSET_DELETE,
    ApiKey.DESCRIBE_CLIENT_QUOTAS,
    ApiKey.ALTER_CLIENT_QUOTAS,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    ApiKey.VOTE,
    ApiKey.BEGIN_QUORUM_EPOCH,
    ApiKey.END_QUORUM_EPOCH,
    ApiKey.DESCRIBE_QUORUM,
    ApiKey.ALTER_PARTITION,
    ApiKey.UPDATE_FEATURES,
    ApiKey.ENVELOPE,
    ApiKey.FETCH_SNAPSHOT,
    ApiKey.DESCRIBE_CLUSTER,
    ApiKey.DESCRIBE_PRODUCERS,
    ApiKey.BROKER_REGISTRATION,
    ApiKey.BROKER_HEARTBEAT,
    ApiKey.UNREGISTER_BROKER,
    ApiKey.DESCRIBE_TRANSACTIONS,
    ApiKey.LIST_TRANSACTIONS,
    ApiKey.ALLOCATE_PRODUCER_IDS,
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.CONSUMER_GROUP_DESCRIBE,
    ApiKey.CONTROLLER_REGISTRATION,
    ApiKey.LIST_CONFIG_RESOURCES,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    ApiKey.ADD_RAFT_VOTER,
    ApiKey.REMOVE_RAFT_VOTER,
    ApiKey.UPDATE_RAFT_VOTER,
)

# The APIs of `quorum.py`, besides a Fetch request to a controller.
QUORUM: Final = frozenset(
    {
        ApiKey.VOTE,
        ApiKey.BEGIN_QUORUM_EPOCH,
        ApiKey.END_QUORUM_EPOCH,
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.FETCH_SNAPSHOT,
        ApiKey.ADD_RAFT_VOTER,
        ApiKey.REMOVE_RAFT_VOTER,
        ApiKey.UPDATE_RAFT_VOTER,
    }
)

# The APIs that only the active controller decides. `forwarding.py` explains how other nodes answer them.
DECIDED: Final = frozenset(
    {
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.CREATE_ACLS,
        ApiKey.DELETE_ACLS,
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        ApiKey.ALTER_CONFIGS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.ELECT_LEADERS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.ALTER_CLIENT_QUOTAS,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        ApiKey.UPDATE_FEATURES,
        ApiKey.UNREGISTER_BROKER,
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.ADD_RAFT_VOTER,
        ApiKey.REMOVE_RAFT_VOTER,
    }
)
# Brokers check the connection of the client before they forward these.
OF_TOKENS: Final = frozenset(
    {ApiKey.CREATE_DELEGATION_TOKEN, ApiKey.RENEW_DELEGATION_TOKEN, ApiKey.EXPIRE_DELEGATION_TOKEN}
)
# Brokers handle these first, because a part of such a request may be for this broker itself.
SPLIT: Final = frozenset({ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS}) | OF_TOKENS
# On a controller listener these differ from what is decided for brokers.
ON_CONTROLLER: Final = frozenset({ApiKey.INCREMENTAL_ALTER_CONFIGS}) | OF_TOKENS

# A connection may have eight fetches in the broker. Clients have one or two.
FETCH_WEIGHT: Final = 32

# The APIs that tell clients which broker to use. See `Api.in_turn`.
WHO_LEADS: Final = (
    ApiKey.METADATA,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    ApiKey.DESCRIBE_CLUSTER,
    ApiKey.FIND_COORDINATOR,
)

# The last version for clients, where a later one has to be enabled (transaction.two.phase.commit.enable).
LAST_STABLE_VERSIONS: Final = {ApiKey.INIT_PRODUCER_ID: 5}

Answer = Message | Awaitable[Message | None] | None


def _row(key: ApiKey, listener: str, max_version: int | None = None) -> Api:
    """An API that imports its handler when it is used for the first time."""
    definition = apis.APIS[key]

    def load() -> None:
        row.handle = _handler(key, listener)
        row.decode = definition.request.decode

    def decode(reader: Reader, version: int) -> Message:
        load()
        return row.decode(reader, version)

    def handle(broker: "Broker", context: RequestContext, request: Message | None) -> Answer:
        load()
        return row.handle(broker, context, request)

    row = Api(
        int(key),
        definition.name,
        definition.min_version,
        definition.max_version if max_version is None else max_version,
        definition.flexible_from,
        decode,
        handle,
        FETCH_WEIGHT if key is ApiKey.FETCH else 1,
        in_turn=key in WHO_LEADS,
    )
    return row


def _handler(key: ApiKey, listener: str) -> Handler:
    if listener == "broker" and key in DECIDED and key not in SPLIT:
        return forwarding(decided_api(key))
    if listener == "controller" and key in ON_CONTROLLER:
        on_controller: Handler = _module(key.name.lower()).handle_on_controller
        return on_controller
    if listener == "controller" and key in DECIDED and key not in QUORUM:
        return deciding(decided_api(key))
    # On a controller listener, a Fetch is always for the metadata log.
    is_of_quorum = key in QUORUM or (listener == "controller" and key is ApiKey.FETCH)
    handle: Handler = _module("quorum" if is_of_quorum else key.name.lower()).handle
    return needs.guarded(handle, key, listener)


def _module(name: str) -> Any:
    return import_module(f"gralha.broker.handlers.{name}")


def decided_api(key: ApiKey) -> Decided:
    """The functions of an API that the active controller decides."""
    module = _module("quorum" if key in QUORUM else key.name.lower())
    operations = needs.guards(key, "controller")
    if not operations:
        return Decided(module.decide, module.refusal)

    async def decide(node: "Broker", context: RequestContext, request: Message) -> Message:
        if node.rights.authorizer is not None and not needs.may_on_cluster(node, context, operations):
            raise error_for(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        answer: Message = await module.decide(node, context, request)
        return answer

    return Decided(decide, module.refusal)


def _table(listener: str) -> dict[int, Api]:
    return {
        int(key): _row(key, listener, LAST_STABLE_VERSIONS.get(key))
        for key in SERVED
        if listener in apis.APIS[key].listeners
    }


needs.check_declared(SERVED)
APIS: Final = _table("broker")
CONTROLLER_APIS: Final = _table("controller")


def client_apis(has_two_phase_commit: bool) -> dict[int, Api]:
    """The APIs of a broker with this setting."""
    if not has_two_phase_commit:
        return APIS
    return APIS | {int(ApiKey.INIT_PRODUCER_ID): _row(ApiKey.INIT_PRODUCER_ID, "broker")}
