"""confluent-kafka's own client and serializers work with the registry as they are."""

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.schema_registry import (
    Metadata,
    MetadataProperties,
    RegisteredSchema,
    Rule,
    RuleKind,
    RuleMode,
    RuleSet,
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    ServerConfig,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.common.schema_registry_client import ConfigCompatibilityLevel
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.struct_pb2 import Struct

from tests.registry.instances import Instance

NewSubject = Callable[[str], str]

CUSTOMER = '{"type":"record","name":"Customer","namespace":"shop","fields":[{"name":"id","type":"long"}]}'
ORDER = (
    '{"type":"record","name":"Order","namespace":"shop","fields":['
    '{"name":"number","type":"long"},{"name":"customer","type":"shop.Customer"}]}'
)


@pytest.fixture
def client(registry: Instance) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": registry.url}) as client:
        yield client


def record_with(*fields: str) -> Schema:
    return Schema(
        f'{{"type":"record","name":"Event","fields":[{",".join(fields)}]}}',
        "AVRO",
    )


ID = '{"name":"id","type":"long"}'
NOTE = '{"name":"note","type":"string"}'
NOTE_WITH_DEFAULT = '{"name":"note","type":"string","default":""}'


def test_versions_and_ids(client: SchemaRegistryClient, new_subject: NewSubject) -> None:
    subject, other = new_subject("a"), new_subject("b")
    first = client.register_schema(subject, record_with(ID))
    assert client.register_schema(subject, record_with(ID)) == first
    second = client.register_schema(subject, record_with(ID, NOTE_WITH_DEFAULT))
    assert second > first
    assert client.register_schema(other, record_with(ID)) == first
    assert client.get_versions(subject) == [1, 2]
    assert {subject, other} <= set(client.get_subjects())
    latest = client.get_latest_version(subject)
    assert isinstance(latest, RegisteredSchema)
    assert (latest.schema_id, latest.version, latest.subject) == (second, 2, subject)
    found = client.lookup_schema(subject, record_with(ID))
    assert (found.schema_id, found.version) == (first, 1)
    assert client.get_schema(first).schema_str == record_with(ID).schema_str


def test_an_incompatible_schema_is_refused(client: SchemaRegistryClient, new_subject: NewSubject) -> None:
    subject = new_subject("a")
    client.register_schema(subject, record_with(ID))
    assert not client.test_compatibility(subject, record_with(ID, NOTE))
    with pytest.raises(SchemaRegistryError) as raised:
        client.register_schema(subject, record_with(ID, NOTE))
    assert (raised.value.http_status_code, raised.value.error_code) == (409, 40901)
    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in raised.value.error_message
    client.set_compatibility(subject, "FORWARD")
    assert client.get_compatibility(subject) == "FORWARD"
    client.register_schema(subject, record_with(ID, NOTE))


def test_deleted_versions(client: SchemaRegistryClient, new_subject: NewSubject) -> None:
    subject = new_subject("a")
    first = client.register_schema(subject, record_with(ID))
    client.register_schema(subject, record_with(ID, NOTE_WITH_DEFAULT))
    assert client.delete_version(subject, 1) == 1
    assert client.get_versions(subject) == [2]
    # A schema can be read by its id as long as some record may need it.
    assert client.get_schema(first).schema_str == record_with(ID).schema_str
    assert client.delete_subject(subject) == [2]
    assert subject not in client.get_subjects()
    assert client.delete_subject(subject, permanent=True) == [1, 2]


def test_references_and_the_avro_serializers(client: SchemaRegistryClient, new_subject: NewSubject) -> None:
    customer, topic = new_subject("customer"), new_subject("orders")
    client.register_schema(customer, Schema(CUSTOMER, "AVRO"))
    reference = SchemaReference("shop.Customer", customer, 1)
    schema = Schema(ORDER, "AVRO", references=[reference])
    serialize = AvroSerializer(client, schema, conf={"auto.register.schemas": True})
    deserialize = AvroDeserializer(client)
    context = SerializationContext(topic, MessageField.VALUE)
    value = {"number": 3, "customer": {"id": 7}}
    data = serialize(value, context)
    assert data[:1] == b"\0"
    assert deserialize(data, context) == value
    with pytest.raises(SchemaRegistryError) as raised:
        client.delete_version(customer, 1)
    assert raised.value.error_code == 42206


def test_contexts(registry: Instance, client: SchemaRegistryClient, new_subject: NewSubject) -> None:
    subject = new_subject("a")
    in_context = f":.{subject}:{subject}"
    assert client.register_schema(in_context, record_with(ID)) == 1, "each context has its own ids"
    assert client.register_schema(f":.{subject}:other", record_with(NOTE)) == 2
    with SchemaRegistryClient({"url": f"{registry.url}/contexts/.{subject}"}) as within:
        assert within.get_schema(1).schema_str == record_with(ID).schema_str
        assert sorted(within.get_subjects()) == sorted([in_context, f":.{subject}:other"])
        assert within.get_latest_version("other").schema_id == 2
    assert client.get_latest_version(subject).subject == in_context, "found although the name has no context"


def test_metadata_and_rules_are_kept(client: SchemaRegistryClient, new_subject: NewSubject) -> None:
    subject = new_subject("a")
    rule = Rule(
        "checkId",
        None,
        RuleKind.CONDITION,
        RuleMode.WRITE,
        "CEL",
        None,
        None,
        "message.id > 0",
        None,
        None,
        False,
    )
    schema = Schema(
        record_with(ID).schema_str,
        "AVRO",
        metadata=Metadata(None, MetadataProperties({"owner": "team"}), None),
        rule_set=RuleSet(None, [rule]),
    )
    client.register_schema(subject, schema)
    latest = client.get_latest_version(subject)
    metadata, rules = latest.schema.metadata, latest.schema.rule_set
    assert metadata is not None
    assert metadata.properties is not None
    assert metadata.properties.properties == {"owner": "team"}
    assert rules is not None
    assert [one.name for one in rules.domain_rules or ()] == ["checkId"]
    found = client.get_latest_with_metadata(subject, {"owner": "team"})
    assert found.version == 1


def test_configuration(registry: Instance, client: SchemaRegistryClient, new_subject: NewSubject) -> None:
    subject, alias = new_subject("real"), new_subject("alias")
    client.register_schema(subject, record_with(ID))
    with registry.client() as http:
        http.put(f"/config/{alias}", json={"alias": subject}).raise_for_status()
    assert client.get_latest_version(alias).subject == subject
    client.set_config(subject, ServerConfig(ConfigCompatibilityLevel.FULL, compatibility_group="major"))
    config = client.get_config(subject)
    assert (config.compatibility_group, config.compatibility_level) == ("major", "FULL")


def test_the_json_schema_serializers(client: SchemaRegistryClient, new_subject: NewSubject) -> None:
    topic = new_subject("json")
    text = (
        '{"$schema":"http://json-schema.org/draft-07/schema#","title":"Order","type":"object",'
        '"properties":{"number":{"type":"integer"}},"required":["number"]}'
    )
    serialize, deserialize = JSONSerializer(text, client), JSONDeserializer(text)
    context = SerializationContext(topic, MessageField.VALUE)
    assert deserialize(serialize({"number": 3}, context), context) == {"number": 3}
    assert client.get_latest_version(f"{topic}-value").schema.schema_type == "JSON"


def test_the_protobuf_serializers(client: SchemaRegistryClient, new_subject: NewSubject) -> None:
    """`Struct` is a well-known type, and its own file, so that the test needs no compiler."""
    topic = new_subject("protobuf")
    serialize = ProtobufSerializer(Struct, client, {"use.deprecated.format": False})
    deserialize = ProtobufDeserializer(Struct, {"use.deprecated.format": False})
    context = SerializationContext(topic, MessageField.VALUE)
    value = Struct()
    value.update({"number": 3.0})
    data = serialize(value, context)
    assert deserialize(data, context) == value
    assert client.get_latest_version(f"{topic}-value").schema.schema_type == "PROTOBUF"
