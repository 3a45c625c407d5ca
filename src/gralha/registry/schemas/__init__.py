"""Schemas as Confluent's registry has them, without any I/O: parsing, texts and compatibility.

`parse` makes a schema of a text, and `problems` compares it with the previous versions of its subject.
Each format has a folder: `schema.py` is what the registry sees, `compatibility.py` finds the differences.
"""

from collections.abc import Mapping, Sequence

from gralha.registry.schemas.avro.schema import parse_avro
from gralha.registry.schemas.interface import (
    LENIENT,
    STRICT,
    InvalidSchemaError,
    ParsedSchema,
    Parser,
    Reference,
)
from gralha.registry.schemas.json_schema.schema import parse_json_schema
from gralha.registry.schemas.levels import (
    BACKWARD,
    BACKWARD_TRANSITIVE,
    FORWARD,
    FORWARD_TRANSITIVE,
    FULL,
    FULL_TRANSITIVE,
    LEVELS,
    NONE,
    problems,
)
from gralha.registry.schemas.protobuf.schema import parse_protobuf

__all__ = [
    "BACKWARD",
    "BACKWARD_TRANSITIVE",
    "FORWARD",
    "FORWARD_TRANSITIVE",
    "FULL",
    "FULL_TRANSITIVE",
    "LENIENT",
    "LEVELS",
    "NONE",
    "SCHEMA_TYPES",
    "STRICT",
    "InvalidSchemaError",
    "ParsedSchema",
    "Reference",
    "parse",
    "problems",
]

_PARSERS: dict[str, Parser] = {"AVRO": parse_avro, "PROTOBUF": parse_protobuf, "JSON": parse_json_schema}
SCHEMA_TYPES = tuple(_PARSERS)


def parse(
    schema_type: str,
    text: str,
    references: Sequence[Reference] = (),
    resolved: Mapping[str, str] = {},
    *,
    new: bool = True,
) -> ParsedSchema:
    """The schema of a text, or InvalidSchemaError.

    `resolved` has the text of each schema that this one refers to, also through others, under the name of
    the reference. A schema comes after those that it depends on. `new` is False for a registered schema,
    which is valid even if today's rules refuse it.
    """
    parser = _PARSERS.get(schema_type)
    if parser is None:
        raise InvalidSchemaError(f"The schema type '{schema_type}' is none of {', '.join(_PARSERS)}.")
    return parser(text, references, resolved, new=new)
