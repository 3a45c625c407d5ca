"""Generates the Python module of a definition file.

Each structure becomes a class with a constructor, `decode` and `encode`. The text must still be formatted by
ruff.
"""

import builtins
import re
from collections.abc import Sequence
from functools import partial
from textwrap import wrap

from gralha.protocol.compiler.model import Definition, Field, Kind, Message, Struct
from gralha.protocol.compiler.segments import (
    Lines,
    Segment,
    choose,
    condition_for,
    indent,
    mixed_from,
    segments,
)

PYTHON_TYPES = {"bool": "bool", "float64": "float", "string": "str", "uuid": "bytes", "bytes": "bytes"}
# Names that the generated functions use themselves, and names of builtins.
RESERVED = {"reader", "version", "flexible", "count", "kept", "tag", "tags", "end", "unknown"} | set(
    dir(builtins)
)

# The module


def module(definition: Definition) -> str:
    """The text of the module for a definition file."""
    lines = _docstring(definition)
    for struct in definition.structs.values():
        message = next((m for m in definition.messages if m.name == struct.name), None)
        lines += ["", *_class(struct, message)]
    text = "\n".join(lines)
    return text.replace("@@HEAD@@", "\n".join(_exceptions(definition) + _imports(text)))


def _docstring(definition: Definition) -> Lines:
    about = "\n".join(definition.about)
    source = f"definitions/{definition.name}.kafka"
    note = f"Generated from {source} by gralha.protocol.compiler: change that, not this."
    return [f'"""{about}', "", *wrap(note, 110), '"""', "", "@@HEAD@@", ""]


def _exceptions(definition: Definition) -> Lines:
    """The linter's exceptions: arguments have Kafka's names, even if these are names of builtins."""
    names = [field.name for struct in definition.structs.values() for field in struct.fields]
    return ["# ruff: noqa: A002", ""] if any(hasattr(builtins, name) for name in names) else []


def _imports(text: str) -> Lines:
    def used(*names: str) -> str:
        return ", ".join(name for name in names if re.search(rf"\b{name}\b", text))

    helpers = used("EMPTY", "Message", "Struct", "no_such_version", "not_in_version", "null_in_version")
    primitives = used("ZERO_UUID", "Reader", "RecordBytes", "TaggedField", "Writer")
    return [
        "from typing import ClassVar, final",
        "",
        "from mypy_extensions import i64",
        "",
        f"from gralha.protocol.message import {helpers}",
        f"from gralha.protocol.primitives import {primitives}",
    ]


def _class(struct: Struct, message: Message | None) -> Lines:
    names = [field.name for field in struct.fields]
    lines: Lines = []
    if message is not None:
        flexible_from = struct.flexible.low if struct.flexible else struct.versions.high + 1
        lines += [
            f"API_KEY: ClassVar[int] = {-1 if message.api_key is None else message.api_key}",
            f"MIN_VERSION: ClassVar[int] = {struct.versions.low}",
            f"MAX_VERSION: ClassVar[int] = {struct.versions.high}",
            f"FLEXIBLE_FROM: ClassVar[int] = {flexible_from}",
        ]
    base = "Struct" if message is None else "Message"
    body = [
        f"__slots__ = {tuple(sorted(names))!r}",
        "",
        *lines,
        f"FIELDS: ClassVar[tuple[str, ...]] = {tuple(names)!r}",
        "",
        *_init(struct),
        "",
        *_decode(struct, message is not None),
        "",
        *_encode(struct, message is not None),
    ]
    return ["", "@final", f"class {struct.name}({base}):", *indent(body)]


# The constructor


def _type(field: Field) -> str:
    single = PYTHON_TYPES.get(field.type, "int")
    if field.type == "records":
        single = "RecordBytes"
    elif field.is_struct:
        single = field.type
    whole = f"list[{single}]" if field.is_array else single
    return f"{whole} | None" if field.is_optional else whole


def _default(field: Field) -> str:
    if field.default is None:
        return "None"
    if field.default == ():
        return "[]" if field.is_array else f"{field.type}()"
    return "ZERO_UUID" if field.type == "uuid" else repr(field.default)


def _init(struct: Struct) -> Lines:
    parameters, assignments = ["self"], []
    for field in struct.fields:
        kind, default, value = _type(field), _default(field), field.name
        if field.default == () and field.is_array:
            default, value = "EMPTY", f"[] if {field.name} is EMPTY else {field.name}"
        elif field.default == () and field.is_optional:
            # On the wire an absent field means an empty structure, but a caller who gives None means None.
            default = "None"
        elif field.default == ():
            value = f"{default} if {field.name} is None else {field.name}"
            default = "None"
        parameter_type = kind if default != "None" or field.is_optional else f"{kind} | None"
        parameters.append(f"{field.name}: {parameter_type} = {default}")
        assignments.append(f"self.{field.name}: {kind} = {value}")
    parameters.append("unknown_tagged_fields: tuple[TaggedField, ...] = ()")
    assignments.append("self.unknown_tagged_fields = unknown_tagged_fields")
    return [f"def __init__({', '.join(parameters)}) -> None:", *indent(assignments)]


# Decoding


def _local(field: Field) -> str:
    return f"{field.name}_" if field.name in RESERVED else field.name


def _decode(struct: Struct, whole: bool) -> Lines:
    body: Lines = []
    for field in struct.fields:
        if field.tag is None:
            body += _decode_field(struct, field)
    body += _decode_tagged(struct)
    arguments = ", ".join([*(_local(field) for field in struct.fields), "unknown"])
    body.append(f"return {struct.name}({arguments})")
    signature = f'def decode(reader: Reader, version: i64) -> "{struct.name}":'
    return ["@staticmethod", signature, *indent(_preamble(struct, whole, body) + body)]


def _preamble(struct: Struct, whole: bool, body: Lines) -> Lines:
    lines: Lines = []
    low, high = struct.versions.low, struct.versions.high
    if whole:
        test = f"version != {low}" if low == high else f"version < {low} or version > {high}"
        lines += [f"if {test}:", f'    raise no_such_version("{struct.name}", version)']
    if any(re.search(r"\bflexible\b", line) for line in body):
        lines.append(f"flexible = version >= {struct.flexible.low}")
    return lines


def _decode_field(struct: Struct, field: Field) -> Lines:
    name = _local(field)

    def read(segment: Segment) -> Lines:
        if not segment.present:
            return []
        if field.is_array:
            return _decode_array(field, segment.compact, segment.nullable)
        lines = [f"{name} = {_read(field, segment.compact, segment.nullable)}"]
        if field.type == "records" and not segment.nullable:
            refuse = f'raise null_in_version("{struct.name}.{field.name}", version)'
            lines += [f"if {name} is None:", f"    {refuse}"]
        return lines

    lines = choose(struct, field, read)
    if len(segments(struct, field)) > 1:
        return [f"{name}: {_type(field)} = {_default(field)}", *lines]
    if field.is_array:
        lines[-1] = lines[-1].replace(f"{name} =", f"{name}: {_type(field)} =", 1)
    return lines


def _either(compact: bool | None, method: str) -> str:
    """The call of a reader's method: in the compact form, in the plain form, or depending on the version."""
    plain, short = f"reader.{method}()", f"reader.compact_{method.rstrip('_')}()"
    if compact is None:
        return f"{short} if flexible else {plain}"
    return short if compact else plain


def _read(field: Field, compact: bool | None, nullable: bool) -> str:
    """The expression that reads one value."""
    if field.is_struct:
        decode = f"{field.type}.decode(reader, version)"
        is_there = "reader.int8() >= 0" if field.tag is None else "reader.unsigned_varint() > 0"
        return f"{decode} if {is_there} else None" if nullable else decode
    if field.type == "records":
        return _either(compact, "records")
    if field.type in ("string", "bytes"):
        plain = {"bytes": "bytes_"}.get(field.type, field.type)
        return _either(compact, f"nullable_{field.type}" if nullable else plain)
    return f"reader.{'boolean' if field.type == 'bool' else field.type}()"


def _decode_array(field: Field, compact: bool | None, nullable: bool) -> Lines:
    name = _local(field)
    length = _either(compact, "nullable_array_length" if nullable else "array_length")
    element = _read(field, compact, False)
    if nullable:
        return [
            f"count = {length}",
            f"{name} = [{element} for _ in range(count)] if count >= 0 else None",
        ]
    return [f"{name} = [{element} for _ in range({length})]"]


def _decode_tagged(struct: Struct) -> Lines:
    tagged = sorted(
        (field for field in struct.fields if field.tag is not None), key=lambda field: field.tag or 0
    )
    mixed = mixed_from(struct) is not None
    if not struct.flexible:
        return ["unknown: tuple[TaggedField, ...] = ()"]
    if not tagged:
        return [f"unknown = reader.tagged_fields(){' if flexible else ()' if mixed else ''}"]
    lines = [f"{_local(field)}: {_type(field)} = {_default(field)}" for field in tagged]
    lines += ["unknown: tuple[TaggedField, ...] = ()"]
    loop: Lines = []
    for field in tagged:
        others = set(struct.flexible) - set(field.versions)
        condition = condition_for(struct, field.versions, others) if others else ""
        test = f"tag == {field.tag}" + (f" and {condition}" if condition else "")
        loop += [f"{'elif' if loop else 'if'} {test}:", *indent(_decode_tagged_value(field))]
    loop += ["else:", "    kept.append((tag, reader.raw(end - reader.position)))", "reader.expect_end(end)"]
    read = [
        "tags = reader.unsigned_varint()",
        "if tags > 0:",
        "    kept: list[TaggedField] = []",
        "    tag: i64 = -1",
        "    for _ in range(tags):",
        "        tag = reader.next_tag(tag)",
        "        end = reader.tagged_field_end()",
        *indent(indent(loop)),
        "    unknown = tuple(kept)",
    ]
    return [*lines, "if flexible:", *indent(read)] if mixed else [*lines, *read]


def _decode_tagged_value(field: Field) -> Lines:
    if field.is_array:
        return _decode_array(field, True, bool(field.nullable))
    return [f"{_local(field)} = {_read(field, True, bool(field.nullable))}"]


# Encoding


def _encode(struct: Struct, whole: bool) -> Lines:
    body: Lines = []
    for field in struct.fields:
        if field.tag is None:
            body += choose(struct, field, partial(_encode_segment, struct, field))
    body += _encode_tagged(struct)
    signature = "def encode(self, writer: Writer, version: i64) -> None:"
    return [signature, *indent(_preamble(struct, whole, body) + (body or ["pass"]))]


def _encode_segment(struct: Struct, field: Field, segment: Segment) -> Lines:
    if not segment.present:
        if field.ignorable:
            return []
        refuse = f'raise not_in_version("{struct.name}.{field.name}", version)'
        return [f"if {_is_set(field)}:", f"    {refuse}"]
    null_is_wrong = field.is_optional and not segment.nullable
    lines: Lines = []
    if null_is_wrong:
        refuse = f'raise null_in_version("{struct.name}.{field.name}", version)'
        lines += [f"if self.{field.name} is None:", f"    {refuse}"]
    return lines + _write_field(field, "writer", segment.compact, segment.nullable)


def _is_set(field: Field) -> str:
    """The expression that is true if the field does not have its default value."""
    value = f"self.{field.name}"
    if field.default is None:
        return f"{value} is not None"
    if field.default == ():
        if not field.is_array:
            return f"{value} != {field.type}()"
        return f"{value} is None or {value}" if field.is_optional else value
    if isinstance(field.default, bool):
        return f"not {value}" if field.default else value
    return f"{value} != {_default(field)}"


def _write_field(field: Field, writer: str, compact: bool | None, nullable: bool) -> Lines:
    value = f"self.{field.name}"
    if field.is_array:
        return _write_array(field, writer, compact, nullable)
    if field.is_struct and nullable:
        null, there = ("int8(-1)", "int8(1)")
        if field.tag is not None:
            null, there = ("unsigned_varint(0)", "unsigned_varint(1)")
        return [
            f"if {value} is None:",
            f"    {writer}.write_{null}",
            "else:",
            f"    {writer}.write_{there}",
            f"    {value}.encode({writer}, version)",
        ]
    return _write(field, writer, value, compact, nullable)


def _write(field: Field, writer: str, value: str, compact: bool | None, nullable: bool) -> Lines:
    """The lines that write one value."""
    if field.is_struct:
        return [f"{value}.encode({writer}, version)"]
    method = "boolean" if field.type == "bool" else field.type
    if field.type == "records":
        return _write_either(compact, writer, method, value)
    if field.type in ("string", "bytes"):
        return _write_either(compact, writer, f"nullable_{method}" if nullable else method, value)
    return [f"{writer}.write_{method}({value})"]


def _write_either(compact: bool | None, writer: str, method: str, value: str) -> Lines:
    plain, short = f"{writer}.write_{method}({value})", f"{writer}.write_compact_{method}({value})"
    if compact is None:
        return ["if flexible:", f"    {short}", "else:", f"    {plain}"]
    return [short if compact else plain]


def _write_array(field: Field, writer: str, compact: bool | None, nullable: bool) -> Lines:
    value, element = f"self.{field.name}", f"{field.name}_element"
    lines = [
        *_write_either(compact, writer, "array_length", f"len({value})"),
        f"for {element} in {value}:",
        *indent(_write(field, writer, element, compact, False)),
    ]
    if not nullable:
        return lines
    null = _write_either(compact, writer, "array_length", "-1")
    return [f"if {value} is None:", *indent(null), "else:", *indent(lines)]


def _encode_tagged(struct: Struct) -> Lines:
    tagged = [field for field in struct.fields if field.tag is not None]
    lines: Lines = []
    for field in tagged:
        lines += choose(struct, field, partial(_encode_tagged_segment, struct, field))
    if not struct.flexible:
        return lines
    known = "tagged" if tagged else "self.unknown_tagged_fields"
    write = [f"writer.write_tagged_fields({known})"]
    if mixed_from(struct) is not None:
        write = ["if flexible:", *indent(write)]
    return [*(["tagged = self.unknown_tagged_fields"] if tagged else []), *lines, *write]


def _encode_tagged_segment(struct: Struct, field: Field, segment: Segment) -> Lines:
    if not segment.present:
        return _encode_segment(struct, field, segment)
    if field.default is None and field.is_optional:
        # Null is the default, so a written value is not null.
        write = _write_field(field, "part", True, False)
        if field.is_struct and field.nullable:
            write.insert(0, "part.write_unsigned_varint(1)")
    else:
        write = _write_field(field, "part", True, bool(field.nullable))
    return [
        f"if {_is_set(field)}:",
        "    part = Writer()",
        *indent(write),
        f"    tagged = (*tagged, ({field.tag}, part.to_bytes()))",
    ]


# The tables


def index(definitions: list[Definition]) -> str:
    """The text of `messages/__init__.py`: the module of each message, without importing it."""
    apis, records = [], []
    for definition in definitions:
        if definition.api_name is not None:
            request = next(m.body for m in definition.messages if m.kind is Kind.REQUEST)
            flexible_from = request.flexible.low if request.flexible else request.versions.high + 1
            row = (
                definition.api_name,
                definition.name,
                request.versions.low,
                request.versions.high,
                flexible_from,
                definition.listeners,
            )
            apis.append((definition.api_key, row))
        for message in definition.messages:
            if message.kind is Kind.RECORD:
                records.append((message.api_key, (message.name, definition.name)))
    return f'''"""The messages of Kafka's protocol, one module for each API, and the tables that lead to them.

Generated from definitions/*.kafka by gralha.protocol.compiler: change those, not this.
"""

from typing import Final

# By key: the name of the API, its module, the first and the last version, the first flexible version, and the
# kinds of listeners that serve it.
APIS: Final[dict[int, tuple[str, str, int, int, int, tuple[str, ...]]]] = {{{_rows(apis)}}}

# By key: the class of the metadata record and its module.
METADATA_RECORDS: Final[dict[int, tuple[str, str]]] = {{{_rows(records)}}}
'''


def _rows(rows: Sequence[tuple[int | None, tuple[object, ...]]]) -> str:
    return "".join(f"{key}: {row!r},\n" for key, row in sorted(rows, key=lambda row: row[0] or 0))
