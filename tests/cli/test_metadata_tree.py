"""The tree of the metadata shell, from images that no test's cluster has."""

from collections import Counter

from gralha.cli.metadata_file import ReadMetadata
from gralha.cli.metadata_tree import tree_of
from gralha.metadata.delta import ImageDelta
from gralha.metadata.image import BROKER_RESOURCE, EMPTY_IMAGE, ScramCredential
from gralha.protocol.messages.security_records import AccessControlEntryRecord


def test_quotas_are_directories_of_entities() -> None:
    image = EMPTY_IMAGE._replace(
        client_quotas={
            (("client-id", "app(1)"), ("user", "alice")): {"producer_byte_rate": 10485760.0},
            (("user", None),): {"request_percentage": 12.5},
            (("ip", "10.0.0.1"),): {"connection_creation_rate": 5.0},
        }
    )
    tree = tree_of(ReadMetadata(image, 0, Counter()))["image"]
    assert isinstance(tree, dict)
    assert tree["clientQuotas"] == {
        r"clientId(app\(1\))_user(alice)": {"producer_byte_rate": "1.048576E7"},
        "user()": {"request_percentage": "12.5"},
        "ip(10.0.0.1)": {"connection_creation_rate": "5.0"},
    }


def test_acls_are_shown_as_kafka_does() -> None:
    record = AccessControlEntryRecord(bytes(15) + b"\1", 2, "orders", 3, "User:bob", "*", 3, 3)
    delta = ImageDelta(EMPTY_IMAGE)
    delta.apply(record)
    image, _ = delta.finish(1, 1)
    tree = tree_of(ReadMetadata(image, 0, Counter()))["image"]
    assert isinstance(tree, dict)
    assert tree["acls"] == {
        "byId": {
            "AAAAAAAAAAAAAAAAAAAAAQ": (
                "StandardAcl(resourceType=TOPIC, resourceName=orders, patternType=LITERAL, "
                "principal=User:bob, host=*, operation=READ, permissionType=ALLOW)"
            )
        }
    }


def test_no_secret_is_shown() -> None:
    image = EMPTY_IMAGE._replace(
        scram={("alice", 2): ScramCredential(b"salt", b"stored", b"server", 8192)},
        configs={
            (BROKER_RESOURCE, "1"): {
                "listener.name.external.ssl.keystore.password": "hidden",
                "listener.name.external.plain.sasl.jaas.config": "hidden",
                "log.cleaner.threads": "2",
            }
        },
    )
    tree = tree_of(ReadMetadata(image, 0, Counter()))["image"]
    assert isinstance(tree, dict)
    shown = (
        "ScramCredentialData(salt=[redacted], storedKey=[redacted], serverKey=[redacted], iterations=8192)"
    )
    assert tree["scram"] == {"SCRAM-SHA-256": {}, "SCRAM-SHA-512": {"alice": shown}}
    assert tree["configs"] == {
        "BROKER:1": {
            "listener.name.external.ssl.keystore.password": "[redacted]",
            "listener.name.external.plain.sasl.jaas.config": "[redacted]",
            "log.cleaner.threads": "2",
        }
    }
