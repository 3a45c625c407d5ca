"""Differential tests against kafka-python, for the messages and versions that it has."""

import uuid
from importlib import import_module
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.protocol.message_strategies import API_CASES, Case, decoded, encoded, messages

from gralha.protocol.compiler.model import Struct
from gralha.protocol.messages.api_versions import ApiVersionsResponse
from gralha.protocol.primitives import RecordBytes

few = settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
PACKAGES = ("metadata", "producer", "consumer", "admin", "sasl")
# kafka-python speaks the classic protocol of groups only. It has no delegation tokens, and nothing that only
# nodes say to each other.
UNKNOWN_APIS = (
    "AddRaftVoter",
    "ConsumerGroupDescribe",
    "ConsumerGroupHeartbeat",
    "CreateDelegationToken",
    "DescribeDelegationToken",
    "ExpireDelegationToken",
    "RemoveRaftVoter",
    "RenewDelegationToken",
    "UnregisterBroker",
)
OPERATION_BITS = ("cluster_authorized_operations", "topic_authorized_operations", "authorized_operations")


def kafka_python_class(name: str) -> Any:
    for package in PACKAGES:
        found = getattr(import_module(f"kafka.protocol.{package}"), name, None)
        if found is not None:
            return found
    raise LookupError(name)


THEIR_NAMES = {"enable_2pc": "enable2_pc"}


def has_version(case: Case) -> bool:
    if case.definition.api_name in UNKNOWN_APIS or "broker" not in case.definition.listeners:
        return False
    return case.version in range(kafka_python_class(case.message.name).max_version + 1)


def fields_of(case: Case, struct: Struct, value: Any) -> list[Any]:
    """The fields that the version has, in plain terms, for messages of either make."""
    result = []
    for field in struct.fields:
        # kafka-python has other names for these and makes sets of their bits; the bytes are compared anyway.
        if case.version not in field.versions or field.name in OPERATION_BITS:
            continue
        part = getattr(value, field.name if hasattr(value, field.name) else THEIR_NAMES[field.name])
        if field.is_struct and part is not None:
            inner = case.definition.structs[field.type]
            parts = [fields_of(case, inner, element) for element in (part if field.is_array else [part])]
            part = parts if field.is_array else parts[0]
        elif isinstance(part, list):
            part = [plain(element) for element in part]
        result.append(plain(part))
    return result


def plain(value: Any) -> Any:
    if isinstance(value, RecordBytes):
        return value.to_bytes()
    if isinstance(value, uuid.UUID):
        return value.bytes
    return bytes(value) if isinstance(value, memoryview) else value


@pytest.mark.parametrize("case", [case for case in API_CASES if has_version(case)], ids=str)
@few
@given(st.data())
def test_kafka_python_reads_and_writes_the_same(case: Case, data: st.DataObject) -> None:
    message = data.draw(messages(case, tame=True))
    if isinstance(message, ApiVersionsResponse):
        # With an error kafka-python takes it for version 0, whatever was asked for.
        message.error_code = 0
    ours = encoded(message, case.version)
    cls = kafka_python_class(case.message.name)
    theirs = cls.decode(ours, version=case.version)
    assert fields_of(case, case.message.body, theirs) == fields_of(case, case.message.body, message)
    theirs.with_header()
    again = bytes(theirs.encode())
    assert again == ours
    assert decoded(case.cls, again, case.version) == message
