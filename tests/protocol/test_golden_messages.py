"""The bytes of chosen messages, and of every record of the metadata log, are Kafka's."""

from importlib import import_module

import pytest
from tests.protocol import golden_cluster_messages, golden_messages
from tests.protocol.message_strategies import decoded, encoded

from gralha.protocol.message import Message
from gralha.protocol.messages import METADATA_RECORDS

GOLDEN = golden_messages.GOLDEN + golden_cluster_messages.GOLDEN
# Key, first and last version, of Kafka 4.3's metadata records.
RECORDS = {
    "RegisterBrokerRecord": (0, 0, 4),
    "UnregisterBrokerRecord": (1, 0, 0),
    "TopicRecord": (2, 0, 0),
    "PartitionRecord": (3, 0, 2),
    "ConfigRecord": (4, 0, 0),
    "PartitionChangeRecord": (5, 0, 2),
    "FenceBrokerRecord": (7, 0, 0),
    "UnfenceBrokerRecord": (8, 0, 0),
    "RemoveTopicRecord": (9, 0, 0),
    "DelegationTokenRecord": (10, 0, 0),
    "UserScramCredentialRecord": (11, 0, 0),
    "FeatureLevelRecord": (12, 0, 0),
    "ClientQuotaRecord": (14, 0, 0),
    "ProducerIdsRecord": (15, 0, 0),
    "BrokerRegistrationChangeRecord": (17, 0, 3),
    "AccessControlEntryRecord": (18, 0, 0),
    "RemoveAccessControlEntryRecord": (19, 0, 0),
    "NoOpRecord": (20, 0, 0),
    "ZkMigrationStateRecord": (21, 0, 0),
    "RemoveUserScramCredentialRecord": (22, 0, 0),
    "BeginTransactionRecord": (23, 0, 0),
    "EndTransactionRecord": (24, 0, 0),
    "AbortTransactionRecord": (25, 0, 0),
    "RemoveDelegationTokenRecord": (26, 0, 0),
    "RegisterControllerRecord": (27, 0, 0),
    "ClearElrRecord": (28, 0, 0),
}


@pytest.mark.parametrize(
    ("message", "version", "expected"),
    GOLDEN,
    ids=[f"{type(message).__name__}-v{version}" for message, version, _ in GOLDEN],
)
def test_the_bytes_are_those_of_apache_kafka(message: Message, version: int, expected: str) -> None:
    assert encoded(message, version).hex() == expected
    assert decoded(type(message), bytes.fromhex(expected), version) == message


def test_metadata_records_have_kafkas_keys_and_versions() -> None:
    classes = [
        getattr(import_module(f"gralha.protocol.messages.{module}"), name)
        for name, module in METADATA_RECORDS.values()
    ]
    found = {cls.__name__: (cls.API_KEY, cls.MIN_VERSION, cls.MAX_VERSION) for cls in classes}
    assert found == RECORDS
    assert {type(message).__name__ for message, _, _ in GOLDEN} >= set(RECORDS)
    # All of them are flexible in all versions.
    assert {cls.FLEXIBLE_FROM for cls in classes} == {0}
