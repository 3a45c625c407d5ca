"""AlterClientQuotas and DescribeClientQuotas: which quotas may be set for whom, and which there are.

Each entity of a request succeeds or fails by itself. The records of all that succeed are appended together.
"""

import math
from collections.abc import Mapping
from typing import Final

from gralha.metadata.controller.decision import Decision
from gralha.metadata.image import MetadataImage
from gralha.metadata.snapshot import quota_record
from gralha.protocol import client_quotas as quotas
from gralha.protocol.client_quotas import CLIENT_ID, IP, USER, QuotaEntity, quota_entity
from gralha.protocol.errors import ErrorCode, InvalidRequestError, KafkaError, UnsupportedVersionError
from gralha.protocol.ip_addresses import addresses_of
from gralha.protocol.message import Message
from gralha.protocol.messages import describe_client_quotas as described
from gralha.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    AlteredEntry,
    EntityData,
    EntryData,
)

_TYPES: Final = (USER, CLIENT_ID, IP)
_LONG: Final = ("a LONG", (1 << 63) - 1)
_INT: Final = ("an INT", (1 << 31) - 1)
_DOUBLE: Final = None
# The quotas of users and client ids, and those of addresses: the type and the greatest value of each.
_OF_CLIENTS: Final[Mapping[str, tuple[str, int] | None]] = {
    quotas.PRODUCER_BYTE_RATE: _LONG,
    quotas.CONSUMER_BYTE_RATE: _LONG,
    quotas.REQUEST_PERCENTAGE: _DOUBLE,
    quotas.CONTROLLER_MUTATION_RATE: _DOUBLE,
}
_OF_ADDRESSES: Final[Mapping[str, tuple[str, int] | None]] = {quotas.CONNECTION_CREATION_RATE: _INT}


# AlterClientQuotas


def alter_client_quotas(
    image: MetadataImage, request: AlterClientQuotasRequest
) -> Decision[AlterClientQuotasResponse]:
    """Decides for each entity. With `validate_only`, nothing is recorded."""
    results: dict[QuotaEntity, KafkaError | None] = {}
    records: list[Message] = []
    for entry in request.entries:
        entity = quota_entity((one.entity_type, one.entity_name) for one in entry.entity)
        try:
            if entity in results or len({op.key for op in entry.ops}) < len(entry.ops):
                # Kafka has this error for a repeated key, too.
                raise InvalidRequestError(f"Ignoring duplicate entity {_entity_text(entity)}")
            records += _alter(image, entity, entry)
            results[entity] = None
        except KafkaError as error:
            results[entity] = error
    response = AlterClientQuotasResponse(entries=[_answer(*result) for result in results.items()])
    return Decision(response, [] if request.validate_only else records)


def refused_alterations(request: AlterClientQuotasRequest, error: KafkaError) -> AlterClientQuotasResponse:
    """The response if the whole request fails: each entity gets the error."""
    entities = [quota_entity((one.entity_type, one.entity_name) for one in e.entity) for e in request.entries]
    return AlterClientQuotasResponse(entries=[_answer(entity, error) for entity in dict.fromkeys(entities)])


def _answer(entity: QuotaEntity, error: KafkaError | None) -> AlteredEntry:
    return AlteredEntry(
        error_code=ErrorCode.NONE if error is None else error.code,
        error_message=None if error is None else error.message,
        entity=[EntityData(*part) for part in entity],
    )


def _alter(image: MetadataImage, entity: QuotaEntity, entry: EntryData) -> list[Message]:
    keys = _keys_of(entity)
    current = image.client_quotas.get(entity, {})
    records: list[Message] = []
    for op in entry.ops:
        if op.remove:
            if op.key in current:
                records.append(quota_record(entity, op.key, None))
            continue
        _check_value(keys, op.key, op.value)
        if current.get(op.key) != op.value:
            records.append(quota_record(entity, op.key, op.value))
    return records


def _keys_of(entity: QuotaEntity) -> Mapping[str, tuple[str, int] | None]:
    """The quotas that an entity may have. Raises InvalidRequestError if there is no such entity."""
    if not entity:
        raise InvalidRequestError("Invalid empty client quota entity")
    for kind, name in entity:
        if kind not in _TYPES:
            raise InvalidRequestError(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise InvalidRequestError(f"Empty {kind} not supported")
    names = dict(entity)
    if IP not in names:
        return _OF_CLIENTS
    if len(names) > 1:
        raise InvalidRequestError(
            "Invalid quota entity combination, IP entity should not be combined with User or ClientId"
        )
    address = names[IP]
    if address is not None and not addresses_of(address):
        raise InvalidRequestError(f"{address} is not a valid IP or resolvable host.")
    return _OF_ADDRESSES


def _check_value(keys: Mapping[str, tuple[str, int] | None], key: str, value: float) -> None:
    if key not in keys:
        raise InvalidRequestError(f"Invalid configuration key {key}")
    if math.isnan(value) or value <= 0:
        raise InvalidRequestError(f"Quota {key} must be greater than 0")
    whole = keys[key]
    if whole is None:
        return
    kind, largest = whole
    if value > largest:
        raise InvalidRequestError(f"Proposed value for {key} is too large for {kind}.")
    if value % 1 > 1e-6 or value < 1:
        raise InvalidRequestError(f"{key} cannot be a fractional value.")


def _entity_text(entity: QuotaEntity) -> str:
    names = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in entity)
    return f"ClientQuotaEntity(entries={{{names}}})"


# DescribeClientQuotas


def describe_client_quotas(
    image: MetadataImage, request: described.DescribeClientQuotasRequest
) -> described.DescribeClientQuotasResponse:
    """The quotas of the entities that the filter matches. Raises KafkaError for a filter without sense."""
    exact, any_name = _filter(request)
    entries = [
        _entry(entity, values)
        for entity, values in image.client_quotas.items()
        if _matches(entity, exact, any_name, request.strict)
    ]
    # Kafka's message is empty, not null.
    return described.DescribeClientQuotasResponse(error_message="", entries=entries)


def _filter(
    request: described.DescribeClientQuotasRequest,
) -> tuple[dict[str, str | None], set[str]]:
    """The names that the filter demands, and the types of which it takes any name."""
    exact: dict[str, str | None] = {}
    any_name: set[str] = set()
    for component in request.components:
        kind, match = component.entity_type, component.match
        if not kind:
            raise InvalidRequestError("Invalid empty entity type.")
        if kind in exact or kind in any_name:
            raise InvalidRequestError(f"Entity type {kind} cannot appear more than once in the filter.")
        if kind not in _TYPES:
            raise UnsupportedVersionError(f"Unsupported entity type {kind}")
        if component.match_type == quotas.MATCH_EXACT:
            if match is None:
                raise InvalidRequestError("Request specified MATCH_TYPE_EXACT, but set match string to null.")
            exact[kind] = match
        elif component.match_type == quotas.MATCH_DEFAULT:
            _check_no_match("DEFAULT", match)
            exact[kind] = None
        elif component.match_type == quotas.MATCH_ANY:
            _check_no_match("SPECIFIED", match)
            any_name.add(kind)
        else:
            raise InvalidRequestError(f"Unknown match type {component.match_type}")
    kinds = {*exact, *any_name}
    if IP in kinds and len(kinds) > 1:
        raise InvalidRequestError(
            "Invalid entity filter component combination. IP filter component should not be used with user "
            "or clientId filter component."
        )
    return exact, any_name


def _check_no_match(match_type: str, match: str | None) -> None:
    if match is not None:
        raise InvalidRequestError(
            f"Request specified MATCH_TYPE_{match_type}, but also specified a match string."
        )


def _matches(entity: QuotaEntity, exact: dict[str, str | None], any_name: set[str], strict: bool) -> bool:
    names = dict(entity)
    if strict and len(names) != len(exact) + len(any_name):
        return False
    return all(kind in names and names[kind] == name for kind, name in exact.items()) and all(
        kind in names for kind in any_name
    )


def _entry(entity: QuotaEntity, values: Mapping[str, float]) -> described.EntryData:
    return described.EntryData(
        entity=[described.EntityData(*part) for part in entity],
        values=[described.ValueData(key=key, value=value) for key, value in values.items()],
    )
