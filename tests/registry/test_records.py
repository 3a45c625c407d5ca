"""The records have the very bytes that Confluent's registry writes, so that each can take over the topic."""

import pytest

from gralha.registry import records
from gralha.registry.records import Record, SchemaVersion
from gralha.registry.state import RegistryState
from gralha.registry.values import Config, Metadata, ReferenceValue, Rule, RuleSet

# The order of the fields is that of Jackson: the parameters of a value's constructor, in their order. Keys
# name their order. Empty values are left out, but not numbers and booleans.
GOLDEN = [
    (
        records.schema_record(SchemaVersion("orders-value", 1, 7, schema='"string"')),
        b'{"keytype":"SCHEMA","subject":"orders-value","version":1,"magic":1}',
        b'{"subject":"orders-value","version":1,"id":7,"schemaType":"AVRO","schema":"\\"string\\"","deleted":false}',
    ),
    (
        records.schema_record(
            SchemaVersion(
                ":.sales:a",
                3,
                9,
                schema_type="JSON",
                references=[ReferenceValue("b.json", "b", 2)],
                metadata=Metadata({"**.x": ["PII", "A"]}, {"owner": "é", "app": "1"}, ["owner"]),
                rule_set=RuleSet(
                    domain_rules=[Rule(name="r", kind="CONDITION", mode="WRITE", type="CEL", expr="1 == 1")],
                    enable_at="CLIENT",
                ),
                schema="{}",
                deleted=True,
            )
        ),
        b'{"keytype":"SCHEMA","subject":":.sales:a","version":3,"magic":1}',
        '{"subject":":.sales:a","version":3,"id":9,"schemaType":"JSON",'
        '"references":[{"name":"b.json","subject":"b","version":2}],'
        '"metadata":{"tags":{"**.x":["A","PII"]},"properties":{"app":"1","owner":"é"},"sensitive":["owner"]},'
        '"ruleSet":{"domainRules":[{"name":"r","kind":"CONDITION","mode":"WRITE","type":"CEL",'
        '"expr":"1 == 1","disabled":false}],"enableAt":"CLIENT"},"schema":"{}","deleted":true}'.encode(),
    ),
    (
        records.schema_tombstone("orders-value", 1),
        b'{"keytype":"SCHEMA","subject":"orders-value","version":1,"magic":1}',
        None,
    ),
    (
        records.config_record(Config(compatibility_level="FULL")),
        b'{"keytype":"CONFIG","magic":0}',
        b'{"compatibilityLevel":"FULL"}',
    ),
    (
        records.config_record(Config("a", alias="b", normalize=False, compatibility_level="NONE")),
        b'{"keytype":"CONFIG","subject":"a","magic":0}',
        b'{"subject":"a","alias":"b","normalize":false,"compatibilityLevel":"NONE"}',
    ),
    (
        records.config_record(
            Config(
                "a",
                validate_fields=True,
                compatibility_policy="LENIENT",
                compatibility_group="major",
                default_metadata=Metadata(properties={"a": "b"}),
                override_rule_set=RuleSet(migration_rules=[Rule(name="m", mode="UPGRADE", type="JSONATA")]),
            )
        ),
        b'{"keytype":"CONFIG","subject":"a","magic":0}',
        (
            b'{"subject":"a","validateFields":true,"compatibilityPolicy":"LENIENT",'
            b'"compatibilityGroup":"major","defaultMetadata":{"properties":{"a":"b"}},'
            b'"overrideRuleSet":{"migrationRules":[{"name":"m","mode":"UPGRADE","type":"JSONATA",'
            b'"disabled":false}]}}'
        ),
    ),
    (
        records.mode_record(None, "READONLY"),
        b'{"keytype":"MODE","magic":0}',
        b'{"mode":"READONLY"}',
    ),
    (
        records.mode_record("a", "IMPORT"),
        b'{"keytype":"MODE","subject":"a","magic":0}',
        b'{"subject":"a","mode":"IMPORT"}',
    ),
    (records.mode_record("a", None), b'{"keytype":"MODE","subject":"a","magic":0}', None),
    (
        records.delete_subject_record("a", 4),
        b'{"keytype":"DELETE_SUBJECT","subject":"a","magic":0}',
        b'{"subject":"a","version":4}',
    ),
    (records.clear_subject_record(None), b'{"keytype":"CLEAR_SUBJECT","magic":0}', b"{}"),
    (
        records.clear_subject_record("a"),
        b'{"keytype":"CLEAR_SUBJECT","subject":"a","magic":0}',
        b'{"subject":"a"}',
    ),
    (
        records.context_record(".sales"),
        b'{"keytype":"CONTEXT","tenant":"default","context":".sales","magic":0}',
        b'{"tenant":"default","context":".sales"}',
    ),
    (records.noop_record(), b'{"keytype":"NOOP","magic":0}', None),
]


@pytest.mark.parametrize(
    ("record", "key", "value"), GOLDEN, ids=[str(number) for number in range(len(GOLDEN))]
)
def test_records_have_the_bytes_of_confluents_registry(
    record: Record, key: bytes, value: bytes | None
) -> None:
    assert record.key == key
    assert record.value == value


def test_older_records_of_confluents_registry_are_understood() -> None:
    state = RegistryState()
    for key, value in (
        # Before 5.5 keys have null subjects, and schemas neither a type nor references.
        (b'{"keytype":"CONFIG","subject":null,"magic":0}', b'{"compatibilityLevel":"NONE"}'),
        (b'{"keytype":"CONFIG","subject":"old","magic":0}', b'{"compatibilityLevel":"FULL"}'),
        (
            b'{"keytype":"SCHEMA","subject":"old","version":1,"magic":1}',
            b'{"subject":"old","version":1,"id":3,"schema":"\\"int\\"","deleted":false}',
        ),
        (
            b'{"keytype":"SCHEMA","subject":"new","version":1,"magic":1}',
            (
                b'{"subject":"new","version":1,"id":4,"md5":"AAAAAAAAAAAAAAAAAAAAAA==","schemaType":"AVRO",'
                b'"schema":"\\"long\\"","deleted":false,"offset":12,"ts":13}'
            ),
        ),
        # A key of a type that is newer than this registry.
        (b'{"keytype":"ASSOC","tenant":"default","resourceName":"r"}', b"{}"),
        (b"no JSON", b"{}"),
    ):
        state.replay(Record(key, value, 5))
    assert state.config_in_scope("other").compatibility_level == "NONE"
    assert state.config_in_scope("old").compatibility_level == "FULL"
    old, new = state.latest("old"), state.latest("new")
    assert old is not None
    assert (old.id, old.type, old.schema) == (3, "AVRO", '"int"')
    assert new is not None
    assert new.guid == "00000000-0000-0000-0000-000000000000"


def test_a_guid_is_the_md5_sum_of_all_that_makes_a_schema() -> None:
    """The sums were computed by hand from Confluent's rule."""
    import hashlib
    import uuid

    plain = SchemaVersion("a", 1, 1, schema='"string"')
    assert plain.guid == str(uuid.UUID(bytes=hashlib.md5(b'"string"').digest()))
    full = SchemaVersion(
        "a",
        1,
        1,
        schema="S",
        references=[ReferenceValue("n", "s", 258)],
        metadata=Metadata({"t": ["2", "1"]}, {"k": "v"}, ["z"]),
        rule_set=RuleSet(
            domain_rules=[Rule(name="r", mode="WRITE", type="CEL", params={"p": "q"}, disabled=True)]
        ),
    )
    summed = b"S" + b"ns\x00\x00\x01\x02" + b"\x01t12kvz" + b"\x01rWRITECELpq\x01"
    assert full.fingerprint == hashlib.md5(summed).digest()
