"""The values of access control lists, with the numbers that Kafka's messages and records have."""

from enum import IntEnum
from typing import Final, NamedTuple, TypeVar

CLUSTER_NAME: Final = "kafka-cluster"
ANY_NAME: Final = "*"
ANY_HOST: Final = "*"
ANY_PRINCIPAL: Final = "User:*"

E = TypeVar("E", bound=IntEnum)


class ResourceType(IntEnum):
    """The types of resources that ACLs name. ANY is for filters only."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """How an ACL names its resources. ANY and MATCH are for filters only."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Operation(IntEnum):
    """What a principal does with a resource. ANY is for filters only."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class Permission(IntEnum):
    """What an ACL says. ANY is for filters only."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class Acl(NamedTuple):
    """One rule: a principal on a host may, or may not, do an operation with resources."""

    resource_type: ResourceType
    resource_name: str
    pattern_type: PatternType
    principal: str
    host: str
    operation: Operation
    permission: Permission


def enumerated(kind: type[E], number: int) -> E:
    """A member of an enumeration above, UNKNOWN if there is none with this number."""
    try:
        return kind(number)
    except ValueError:
        return kind(0)
