"""What records and requests have in common: references, metadata, rules, the configuration of a subject.

The fields of each class are in the order in which Confluent's registry writes them. Collections are ordered,
and an empty collection is the same as none, so equal values have equal JSON.
"""

import hashlib
import re
import uuid
from collections.abc import Iterable, Mapping
from typing import Final, Self

from msgspec import UNSET, Struct, UnsetType, structs

COMPATIBILITY_LEVELS: Final = (
    *("NONE", "BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE"),
    *("FULL", "FULL_TRANSITIVE"),
)
MODES: Final = ("READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT", "FORWARD")
SCHEMA_TYPES: Final = ("AVRO", "JSON", "PROTOBUF")
CONFLUENT_VERSION: Final = "confluent:version"
_MIGRATION_MODES: Final = ("UPGRADE", "DOWNGRADE", "UPDOWN")
_DOMAIN_MODES: Final = ("WRITE", "READ", "WRITEREAD")
_RULE_KINDS: Final = ("TRANSFORM", "CONDITION")
_PLACES: Final = ("ALL", "CLIENT", "GATEWAY", "SERVER", "NONE")
_RULE_NAME: Final = re.compile(r"[^\W\d](?:\w|-){0,63}|_(?:\w|-){0,63}")


class ReferenceValue(Struct, omit_defaults=True, frozen=True):
    """A schema's reference to a version of another subject, which the schema calls `name`."""

    name: str | None = None
    subject: str | None = None
    version: int | None = None

    def hashed(self, digest: "hashlib._Hash") -> None:
        _add(digest, self.name, self.subject)
        if self.version is not None:
            digest.update(self.version.to_bytes(4, "big", signed=True))


class Metadata(Struct, omit_defaults=True):
    """Properties and tags that somebody gives to a schema."""

    tags: dict[str, list[str]] | None = None
    properties: dict[str, str] | None = None
    sensitive: list[str] | None = None

    def __post_init__(self) -> None:
        self.tags = {name: sorted(set(tags)) for name, tags in sorted((self.tags or {}).items())} or None
        self.properties = dict(sorted((self.properties or {}).items())) or None
        self.sensitive = sorted(set(self.sensitive or ())) or None

    def with_defaults_from(self, older: Self) -> "Metadata":
        return Metadata(
            tags={**(older.tags or {}), **(self.tags or {})},
            properties={**(older.properties or {}), **(self.properties or {})},
            sensitive=[*(older.sensitive or ()), *(self.sensitive or ())],
        )

    @property
    def version(self) -> str | None:
        """The version that the schema says it has."""
        return (self.properties or {}).get(CONFLUENT_VERSION)

    def with_version(self, version: int | None) -> "Metadata":
        properties = {**(self.properties or {})}
        properties.pop(CONFLUENT_VERSION, None)
        if version is not None:
            properties[CONFLUENT_VERSION] = str(version)
        return Metadata(self.tags, properties, self.sensitive)

    def hashed(self, digest: "hashlib._Hash") -> None:
        for name, tags in (self.tags or {}).items():
            _add(digest, name, *tags)
        for name, value in (self.properties or {}).items():
            _add(digest, name, value)
        _add(digest, *(self.sensitive or ()))


class Rule(Struct, omit_defaults=True, rename="camel"):
    """A rule that serializers apply."""

    name: str | None = None
    doc: str | None = None
    kind: str | None = None
    mode: str | None = None
    type: str | None = None
    tags: list[str] | None = None
    params: dict[str, str] | None = None
    expr: str | None = None
    on_success: str | None = None
    on_failure: str | None = None
    disabled: bool | UnsetType = UNSET

    def __post_init__(self) -> None:
        self.tags = sorted(set(self.tags or ())) or None
        self.params = dict(sorted((self.params or {}).items())) or None
        # Confluent writes this field always.
        self.disabled = self.disabled is True

    def problem(self, modes: tuple[str, ...], kind_of_rules: str) -> str | None:
        """What is wrong with the rule."""
        if not self.name:
            return "Missing rule name" if self.name is None else "Empty rule name"
        if not _RULE_NAME.fullmatch(self.name):
            return f"Illegal rule name: {self.name}"
        if self.type is None:
            return "Missing rule type"
        if self.kind is not None and self.kind not in _RULE_KINDS:
            return f"Unknown kind of rule: {self.kind}"
        if self.mode not in modes:
            return f"{kind_of_rules} rules can only be {', '.join(modes)}"
        if self.mode not in ("WRITEREAD", "UPDOWN") and "," in f"{self.on_success}{self.on_failure}":
            return "Multiple actions only valid with WRITEREAD and UPDOWN"
        return None

    def hashed(self, digest: "hashlib._Hash") -> None:
        _add(digest, self.name, self.doc, self.kind, self.mode, self.type, *(self.tags or ()))
        for name, value in (self.params or {}).items():
            _add(digest, name, value)
        _add(digest, self.expr, self.on_success, self.on_failure)
        if self.disabled is True:
            digest.update(b"\x01")


class RuleSet(Struct, omit_defaults=True, rename="camel"):
    """The rules of a schema."""

    migration_rules: list[Rule] | None = None
    domain_rules: list[Rule] | None = None
    encoding_rules: list[Rule] | None = None
    enable_at: str | None = None

    def __post_init__(self) -> None:
        self.migration_rules = self.migration_rules or None
        self.domain_rules = self.domain_rules or None
        self.encoding_rules = self.encoding_rules or None

    def with_defaults_from(self, older: Self) -> "RuleSet":
        return RuleSet(
            _merged(older.migration_rules, self.migration_rules),
            _merged(older.domain_rules, self.domain_rules),
            _merged(older.encoding_rules, self.encoding_rules),
            self.enable_at or older.enable_at,
        )

    def without(self, names: Iterable[str]) -> "RuleSet":
        removed = set(names)

        def kept(rules: list[Rule] | None) -> list[Rule]:
            return [rule for rule in rules or () if rule.name not in removed]

        return RuleSet(
            kept(self.migration_rules), kept(self.domain_rules), kept(self.encoding_rules), self.enable_at
        )

    def problem(self) -> str | None:
        """What is wrong with the rules."""
        if self.enable_at is not None and self.enable_at not in _PLACES:
            return f"enableAt can only be {', '.join(_PLACES)}"
        for rules, modes, kind in (
            (self.migration_rules, _MIGRATION_MODES, "Migration"),
            (self.domain_rules, _DOMAIN_MODES, "Domain"),
            (self.encoding_rules, _DOMAIN_MODES, "Encoding"),
        ):
            names = [rule.name for rule in rules or ()]
            for rule in rules or ():
                problem = rule.problem(modes, kind)
                if problem is None and names.count(rule.name) > 1:
                    problem = f"Found rule with duplicate name '{rule.name}'"
                if problem is not None:
                    return problem
        return None

    def has_type(self, rule_type: str) -> bool:
        every = (self.migration_rules, self.domain_rules, self.encoding_rules)
        return any(rule.type == rule_type for rules in every for rule in rules or ())

    def hashed(self, digest: "hashlib._Hash") -> None:
        for rules in (self.migration_rules, self.domain_rules, self.encoding_rules):
            for rule in rules or ():
                rule.hashed(digest)
        _add(digest, self.enable_at)


class Config(Struct, omit_defaults=True, rename="camel"):
    """The configuration of a subject, of a context, or of the whole registry (without subject)."""

    subject: str | None = None
    alias: str | None = None
    alias_for_deks: str | None = None
    normalize: bool | None = None
    validate_fields: bool | None = None
    validate_new_schemas: bool | None = None
    validate_rules: bool | None = None
    compatibility_level: str | None = None
    compatibility_policy: str | None = None
    compatibility_group: str | None = None
    default_metadata: Metadata | None = None
    override_metadata: Metadata | None = None
    default_rule_set: RuleSet | None = None
    override_rule_set: RuleSet | None = None

    @property
    def has_defaults_or_overrides(self) -> bool:
        return not (
            self.default_metadata is None
            and self.override_metadata is None
            and self.default_rule_set is None
            and self.override_rule_set is None
        )

    def with_defaults_from(self, global_config: Self) -> "Config":
        """A subject's configuration takes some settings from the global one if it has none."""
        names = (
            *("normalize", "validate_fields", "validate_new_schemas", "validate_rules"),
            *("compatibility_policy", "compatibility_group"),
        )
        missing = {name: getattr(global_config, name) for name in names if getattr(self, name) is None}
        return structs.replace(self, **missing)


def merge_metadata(older: Metadata | None, newer: Metadata | None) -> Metadata | None:
    if older is None or newer is None:
        return newer or older
    return newer.with_defaults_from(older)


def merge_rule_sets(older: RuleSet | None, newer: RuleSet | None) -> RuleSet | None:
    if older is None or newer is None:
        return newer or older
    return newer.with_defaults_from(older)


def fingerprint(
    schema: str,
    references: Iterable[ReferenceValue],
    metadata: Metadata | None,
    rule_set: RuleSet | None,
) -> bytes:
    """The 16 bytes that equal schemas share in all contexts. As a UUID they are the schema's GUID."""
    digest = hashlib.md5(schema.encode("utf-8", "surrogatepass"), usedforsecurity=False)
    for reference in references:
        reference.hashed(digest)
    if metadata is not None:
        digest.update(b"\x01")
        metadata.hashed(digest)
    if rule_set is not None:
        digest.update(b"\x01")
        rule_set.hashed(digest)
    return digest.digest()


def guid_of(found: bytes) -> str:
    return str(uuid.UUID(bytes=found))


def fingerprint_of_guid(guid: str) -> bytes | None:
    try:
        return uuid.UUID(guid).bytes
    except ValueError:
        return None


def _merged(older: list[Rule] | None, newer: list[Rule] | None) -> list[Rule] | None:
    names = {rule.name for rule in newer or ()}
    return [rule for rule in older or () if rule.name not in names] + (newer or [])


def _add(digest: "hashlib._Hash", *texts: str | None) -> None:
    for text in texts:
        if text is not None:
            digest.update(text.encode("utf-8", "surrogatepass"))


def without_nothing(fields: Mapping[str, object]) -> dict[str, object]:
    """The fields that have a value, as Confluent's answers have them."""
    return {name: value for name, value in fields.items() if value is not None and value != []}
