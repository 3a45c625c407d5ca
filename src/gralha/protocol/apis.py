"""The APIs of the protocol: their keys, their versions, and the classes of their messages.

`ApiKey` names every API of Kafka 4.3, so that every API of another broker has a name. `APIS` has the APIs
whose messages are defined here. Their modules are imported when they are needed, so a command imports only
the messages that it sends.
"""

from enum import IntEnum
from functools import cached_property
from importlib import import_module
from typing import Final

from gralha.protocol import messages
from gralha.protocol.message import Message
from gralha.protocol.primitives import ProtocolError


class ApiKey(IntEnum):
    """Every API of Kafka 4.3. The keys 4 to 7 were for brokers with ZooKeeper."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    LEADER_AND_ISR = 4
    STOP_REPLICA = 5
    UPDATE_METADATA = 6
    CONTROLLED_SHUTDOWN = 7
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    CREATE_DELEGATION_TOKEN = 38
    RENEW_DELEGATION_TOKEN = 39
    EXPIRE_DELEGATION_TOKEN = 40
    DESCRIBE_DELEGATION_TOKEN = 41
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    VOTE = 52
    BEGIN_QUORUM_EPOCH = 53
    END_QUORUM_EPOCH = 54
    DESCRIBE_QUORUM = 55
    ALTER_PARTITION = 56
    UPDATE_FEATURES = 57
    ENVELOPE = 58
    FETCH_SNAPSHOT = 59
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    BROKER_REGISTRATION = 62
    BROKER_HEARTBEAT = 63
    UNREGISTER_BROKER = 64
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    ALLOCATE_PRODUCER_IDS = 67
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    CONTROLLER_REGISTRATION = 70
    GET_TELEMETRY_SUBSCRIPTIONS = 71
    PUSH_TELEMETRY = 72
    ASSIGN_REPLICAS_TO_DIRS = 73
    LIST_CONFIG_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    SHARE_GROUP_HEARTBEAT = 76
    SHARE_GROUP_DESCRIBE = 77
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79
    ADD_RAFT_VOTER = 80
    REMOVE_RAFT_VOTER = 81
    UPDATE_RAFT_VOTER = 82
    INITIALIZE_SHARE_GROUP_STATE = 83
    READ_SHARE_GROUP_STATE = 84
    WRITE_SHARE_GROUP_STATE = 85
    DELETE_SHARE_GROUP_STATE = 86
    READ_SHARE_GROUP_STATE_SUMMARY = 87
    STREAMS_GROUP_HEARTBEAT = 88
    STREAMS_GROUP_DESCRIBE = 89
    DESCRIBE_SHARE_GROUP_OFFSETS = 90
    ALTER_SHARE_GROUP_OFFSETS = 91
    DELETE_SHARE_GROUP_OFFSETS = 92


class Api:
    """One API, with the versions that are defined here.

    A listener offers only the APIs of its kind, "broker" or "controller".
    """

    def __init__(
        self,
        key: int,
        name: str,
        module: str,
        min_version: int,
        max_version: int,
        flexible_from: int,
        listeners: tuple[str, ...],
    ) -> None:
        self.key = ApiKey(key)
        self.name = name
        self.min_version = min_version
        self.max_version = max_version
        self.flexible_from = flexible_from
        self.listeners = listeners
        self._module = module

    @cached_property
    def request(self) -> type[Message]:
        return _message_class(self._module, f"{self.name}Request")

    @cached_property
    def response(self) -> type[Message]:
        return _message_class(self._module, f"{self.name}Response")

    def __repr__(self) -> str:
        return f"Api({self.name} {self.min_version}-{self.max_version})"


APIS: Final[dict[int, Api]] = {key: Api(key, *row) for key, row in messages.APIS.items()}


def request_header_version(api_key: int, version: int) -> int:
    """The version of a request's header."""
    return 2 if version >= _api(api_key).flexible_from else 1


def response_header_version(api_key: int, version: int) -> int:
    """The version of a response's header.

    ApiVersions always has the oldest one, because its reader does not know the broker's versions yet
    (KIP-511).
    """
    if api_key == ApiKey.API_VERSIONS:
        return 0
    return 1 if version >= _api(api_key).flexible_from else 0


def _api(api_key: int) -> Api:
    api = APIS.get(api_key)
    if api is None:
        raise ProtocolError(f"there is no API with the key {api_key}")
    return api


def _message_class(module: str, name: str) -> type[Message]:
    found: type[Message] = getattr(import_module(f"gralha.protocol.messages.{module}"), name)
    return found
