"""From the model of a definition file to the Python module with its classes.

A field looks alike in a stretch of versions: present or not, compact or not, nullable or not. `segments`
finds these stretches, and `choose` turns them into the tests of the version, so that what is the same
in all versions costs no test at all. The text still wants `ruff format`.
"""

import builtins
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from gralha.protocol.compiler.model import Definition, Field, Kind, Message, Struct, Versions

PYTHON_TYPES = {"bool": "bool", "float64": "float", "string": "str", "uuid": "bytes", "bytes": "bytes"}
# What the generated functions use themselves, and names that would hide a builtin.
RESERVED = {"reader", "version", "flexible", "count", "kept", "tag", "end", "unknown"} | set(dir(builtins))

Lines = list[str]


@dataclass(frozen=True)
class Segment:
    """Versions in which a field is present or absent, nullable or not."""

    versions: Versions
    present: bool
    nullable: bool
    # Whether these versions write it in the compact form; None when only the flexible ones of them do.
    compact: bool | None


def segments(struct: Struct, field: Field) -> list[Segment]:
    """Newest versions first, those without the field last."""
    found: list[list[int]] = []
    for version in struct.versions:
        if found and _alike(field, found[-1][-1], version):
            found[-1].append(version)
        else:
            found.append([version])
    ordered = sorted(found, key=lambda versions: (versions[0] not in field.versions, -versions[0]))
    return [_segment(struct, field, Versions(versions[0], versions[-1])) for versions in ordered]


def _alike(field: Field, one: int, other: int) -> bool:
    same_presence = (one in field.versions) == (other in field.versions)
    return same_presence and (one in field.nullable) == (other in field.nullable)


def _segment(struct: Struct, field: Field, versions: Versions) -> Segment:
    flexible = struct.flexible.intersection(versions)
    compact: bool | None = None if flexible else False
    if flexible == versions:
        compact = True
    if field.classic or not _has_compact_form(field):
        compact = False
    return Segment(versions, versions.low in field.versions, versions.low in field.nullable, compact)


def _has_compact_form(field: Field) -> bool:
    return field.is_array or field.type in ("string", "bytes", "records")


def choose(struct: Struct, field: Field, body: Callable[[Segment], Lines]) -> Lines:
    """The lines for each segment, below the tests of the version that tell the segments apart."""
    remaining = set(struct.versions)
    lines: Lines = []
    stretches = segments(struct, field)
    if len(stretches) > 1 and not body(stretches[-1]):
        stretches.pop()
    for segment in stretches:
        condition = _condition(struct, segment.versions, remaining)
        remaining -= set(segment.versions)
        inner = body(segment)
        if not condition and not lines:
            return inner
        lines += _branch(condition, inner or ["pass"], first=not lines, last=segment is stretches[-1])
    return lines


def _branch(condition: str, inner: Lines, first: bool, last: bool) -> Lines:
    """One branch of a chain of tests; an only `if` inside the last branch becomes part of it."""
    keyword = "if" if first else "elif"
    only_if = inner[0].startswith("if ") and all(line.startswith(" ") for line in inner[1:])
    if only_if and last:
        test = inner[0].removeprefix("if ").removesuffix(":")
        if condition and " or " in test:
            test = f"({test})"
        both = f"{condition} and {test}" if condition else test
        return [f"{keyword} {both}:", *inner[1:]]
    return [f"{keyword} {condition}:" if condition else "else:", *_indent(inner)]


def _condition(struct: Struct, wanted: Versions, remaining: set[int]) -> str:
    """The test that is true for the wanted versions and false for the others that remain."""
    above = any(version > wanted.high for version in remaining)
    below = any(version < wanted.low for version in remaining)
    if above and below:
        exact = wanted.low == wanted.high
        return f"version == {wanted.low}" if exact else f"{wanted.low} <= version <= {wanted.high}"
    if below:
        return "flexible" if wanted.low == _mixed_from(struct) else f"version >= {wanted.low}"
    if above:
        return "not flexible" if wanted.high + 1 == _mixed_from(struct) else f"version <= {wanted.high}"
    return ""


def _mixed_from(struct: Struct) -> int | None:
    """The first flexible version of a structure that has other versions too."""
    return struct.flexible.low if struct.flexible and struct.flexible != struct.versions else None


def _indent(lines: Lines) -> Lines:
    return ["    " + line for line in lines]


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
    return [f'"""{about}', "", note, '"""', "", "@@HEAD@@", ""]


def _exceptions(definition: Definition) -> Lines:
    """What the linter has to bear: arguments with Kafka's names, even if those of builtins."""
    names = [field.name for struct in definition.structs.values() for field in struct.fields]
    return ["# ruff: noqa: A002", ""] if any(hasattr(builtins, name) for name in names) else []


def _imports(text: str) -> Lines:
    def used(*names: str) -> str:
        return ", ".join(name for name in names if name in text)

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
    return ["", "@final", f"class {struct.name}({base}):", *_indent(body)]


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
        elif field.default == ():
            value = f"{default} if {field.name} is None else {field.name}"
            default = "None"
        parameter_type = kind if default != "None" or field.is_optional else f"{kind} | None"
        parameters.append(f"{field.name}: {parameter_type} = {default}")
        assignments.append(f"self.{field.name}: {kind} = {value}")
    parameters.append("unknown_tagged_fields: tuple[TaggedField, ...] = ()")
    assignments.append("self.unknown_tagged_fields = unknown_tagged_fields")
    return [f"def __init__({', '.join(parameters)}) -> None:", *_indent(assignments)]


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
    return ["@staticmethod", signature, *_indent(_preamble(struct, whole, body) + body)]


def _preamble(struct: Struct, whole: bool, body: Lines) -> Lines:
    lines: Lines = []
    low, high = struct.versions.low, struct.versions.high
    if whole:
        test = f"version != {low}" if low == high else f"version < {low} or version > {high}"
        lines += [f"if {test}:", f'    raise no_such_version("{struct.name}", version)']
    if any("flexible" in line.replace("flexible_", "") for line in body):
        lines.append(f"flexible = version >= {struct.flexible.low}")
    return lines


def _decode_field(struct: Struct, field: Field) -> Lines:
    name = _local(field)

    def read(segment: Segment) -> Lines:
        if not segment.present:
            return []
        if field.is_array:
            return _decode_array(field, segment.compact, segment.nullable)
        return [f"{name} = {_read(field, segment.compact, segment.nullable)}"]

    lines = choose(struct, field, read)
    if len(segments(struct, field)) > 1:
        return [f"{name}: {_type(field)} = {_default(field)}", *lines]
    if field.is_array:
        lines[-1] = lines[-1].replace(f"{name} =", f"{name}: {_type(field)} =", 1)
    return lines


def _either(compact: bool | None, method: str) -> str:
    """The call of a method of the reader in its compact form, in its plain form, or as the version has it."""
    plain, short = f"reader.{method}()", f"reader.compact_{method.rstrip('_')}()"
    if compact is None:
        return f"{short} if flexible else {plain}"
    return short if compact else plain


def _read(field: Field, compact: bool | None, nullable: bool) -> str:
    """The expression that reads one value."""
    if field.is_struct:
        decode = f"{field.type}.decode(reader, version)"
        return f"{decode} if reader.int8() >= 0 else None" if nullable else decode
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
    mixed = _mixed_from(struct) is not None
    if not struct.flexible:
        return ["unknown: tuple[TaggedField, ...] = ()"]
    if not tagged:
        return [f"unknown = reader.tagged_fields(){' if flexible else ()' if mixed else ''}"]
    lines = [f"{_local(field)}: {_type(field)} = {_default(field)}" for field in tagged]
    lines += ["unknown: tuple[TaggedField, ...] = ()"]
    loop: Lines = []
    for field in tagged:
        others = set(struct.flexible) - set(field.versions)
        condition = _condition(struct, field.versions, others) if others else ""
        test = f"tag == {field.tag}" + (f" and {condition}" if condition else "")
        loop += [f"{'elif' if loop else 'if'} {test}:", *_indent(_decode_tagged_value(field))]
    loop += ["else:", "    kept.append((tag, reader.raw(end - reader.position)))", "reader.expect_end(end)"]
    read = [
        "count = reader.unsigned_varint()",
        "if count > 0:",
        "    kept: list[TaggedField] = []",
        "    tag: i64 = -1",
        "    for _ in range(count):",
        "        tag = reader.next_tag(tag)",
        "        end = reader.tagged_field_end()",
        *_indent(_indent(loop)),
        "    unknown = tuple(kept)",
    ]
    return [*lines, "if flexible:", *_indent(read)] if mixed else [*lines, *read]


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
    return [signature, *_indent(_preamble(struct, whole, body) + (body or ["pass"]))]


def _encode_segment(struct: Struct, field: Field, segment: Segment) -> Lines:
    if not segment.present:
        if field.ignorable:
            return []
        refuse = f'raise not_in_version("{struct.name}.{field.name}", version)'
        return [f"if {_is_set(field)}:", f"    {refuse}"]
    null_is_wrong = field.is_optional and not segment.nullable and field.type != "records"
    lines: Lines = []
    if null_is_wrong:
        refuse = f'raise null_in_version("{struct.name}.{field.name}", version)'
        lines += [f"if self.{field.name} is None:", f"    {refuse}"]
    return lines + _write_field(field, "writer", segment.compact, segment.nullable)


def _is_set(field: Field) -> str:
    """The expression that is true when the field has another value than its default."""
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
        return [
            f"if {value} is None:",
            f"    {writer}.write_int8(-1)",
            "else:",
            f"    {writer}.write_int8(1)",
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
        *_indent(_write(field, writer, element, compact, False)),
    ]
    if not nullable:
        return lines
    null = _write_either(compact, writer, "array_length", "-1")
    return [f"if {value} is None:", *_indent(null), "else:", *_indent(lines)]


def _encode_tagged(struct: Struct) -> Lines:
    tagged = [field for field in struct.fields if field.tag is not None]
    lines: Lines = []
    for field in tagged:
        lines += choose(struct, field, partial(_encode_tagged_segment, struct, field))
    if not struct.flexible:
        return lines
    known = "tagged" if tagged else "self.unknown_tagged_fields"
    write = [f"writer.write_tagged_fields({known})"]
    if _mixed_from(struct) is not None:
        write = ["if flexible:", *_indent(write)]
    return [*(["tagged = self.unknown_tagged_fields"] if tagged else []), *lines, *write]


def _encode_tagged_segment(struct: Struct, field: Field, segment: Segment) -> Lines:
    if not segment.present:
        return _encode_segment(struct, field, segment)
    if field.default is None and field.is_optional:
        # Null is the default, so what gets written is not null.
        write = _write_field(field, "part", True, False)
        if field.is_struct and field.nullable:
            write.insert(0, "part.write_int8(1)")
    else:
        write = _write_field(field, "part", True, bool(field.nullable))
    return [
        f"if {_is_set(field)}:",
        "    part = Writer()",
        *_indent(write),
        f"    tagged = (*tagged, ({field.tag}, part.to_bytes()))",
    ]


# The tables


def index(definitions: list[Definition]) -> str:
    """The text of `messages/__init__.py`: which module has which message, without importing any."""
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
            )
            apis.append((definition.api_key, row))
        for message in definition.messages:
            if message.kind is Kind.RECORD:
                records.append((message.api_key, (message.name, definition.name)))
    return f'''"""The messages of Kafka's protocol, one module for each API, and the tables that lead to them.

Generated from definitions/*.kafka by gralha.protocol.compiler: change those, not this.
"""

from typing import Final

# By key: the name of the API, its module, the first and the last version, the first flexible version.
APIS: Final[dict[int, tuple[str, str, int, int, int]]] = {{{_rows(apis)}}}

# By key: the class of the metadata record and its module.
METADATA_RECORDS: Final[dict[int, tuple[str, str]]] = {{{_rows(records)}}}
'''


def _rows(rows: Sequence[tuple[int | None, tuple[object, ...]]]) -> str:
    return "".join(f"{key}: {row!r},\n" for key, row in sorted(rows, key=lambda row: row[0] or 0))
