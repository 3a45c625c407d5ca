"""The names and numbers of client quotas in Kafka's messages and records.

An entity says whose quota it is: a user, a client id, both, or an address. A name of None is the default for
all users, client ids or addresses that have no quota of their own.
"""

from collections.abc import Iterable, Mapping
from typing import Final

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"

PRODUCER_BYTE_RATE: Final = "producer_byte_rate"
CONSUMER_BYTE_RATE: Final = "consumer_byte_rate"
REQUEST_PERCENTAGE: Final = "request_percentage"
CONTROLLER_MUTATION_RATE: Final = "controller_mutation_rate"
CONNECTION_CREATION_RATE: Final = "connection_creation_rate"

# How a component of a filter of DescribeClientQuotas matches.
MATCH_EXACT: Final = 0
MATCH_DEFAULT: Final = 1
MATCH_ANY: Final = 2

# The types and names of an entity, sorted by type.
QuotaEntity = tuple[tuple[str, str | None], ...]
ClientQuotas = Mapping[QuotaEntity, Mapping[str, float]]


def quota_entity(parts: Iterable[tuple[str, str | None]]) -> QuotaEntity:
    """The entity with these types and names. If a type is there twice, the last one counts."""
    return tuple(sorted(dict(parts).items()))
