"""A `.proto` file as text, as Confluent's registry writes it: without comments, in one layout.

The normal form differs: numbers order the fields, names are full, and options are sorted and merged.
"""

import re

from gralha.registry.schemas.protobuf.model import (
    NUMBER_MAX,
    SCALARS,
    Constant,
    Enum,
    Extend,
    Extensions,
    Field,
    Group,
    Message,
    OneOf,
    Option,
    ProtoFile,
    Range,
    Reserved,
    Rpc,
    Service,
    map_parts,
)
from gralha.registry.schemas.protobuf.option_text import bracketed, option_text

_NUMBER = re.compile(r"-?[0-9][A-Za-z0-9_.-]*")


class Writer:
    """Writes the canonical form. `normal.py` has the writer of the normal form."""

    def __init__(self, without_extensions: bool = False) -> None:
        self._without_extensions = without_extensions

    def file(self, file: ProtoFile) -> str:
        """The whole file."""
        parts = [self._head(file)]
        if file.imports or file.public_imports:
            parts.append("\n")
            parts += [f'import "{name}";\n' for name in self._imports(file.imports)]
            parts += [f'import public "{name}";\n' for name in self._imports(file.public_imports)]
        parts.append(_section(self._statements(file.options)))
        parts.append(_section(self._types(file.types)))
        parts.append(_section(self._extends(file.extends)))
        parts.append(_section([self._service(service) for service in file.services]))
        return "".join(parts)

    def _head(self, file: ProtoFile) -> str:
        lines = []
        if file.edition is not None:
            lines.append(f'edition = "{file.edition}";\n')
        elif file.syntax is not None and self._writes_syntax(file.syntax):
            lines.append(f'syntax = "{file.syntax}";\n')
        if file.package is not None:
            lines.append(f"package {file.package};\n")
        return "".join(lines)

    # What the normal form does differently.

    def _writes_syntax(self, syntax: str) -> bool:
        return True

    def _imports(self, names: list[str]) -> list[str]:
        return names

    def _enter(self, name: str) -> None:
        """Called before the inside of a type is written."""

    def _leave(self) -> None:
        """Called after the inside of a type is written."""

    def _is_hidden(self, one: Message | Enum) -> bool:
        return False

    def _fields(self, fields: list[Field]) -> list[Field]:
        return fields

    def _groups(self, groups: list[Group]) -> list[Group]:
        return groups

    def _oneofs(self, oneofs: list[OneOf]) -> list[OneOf]:
        return oneofs

    def _constants(self, constants: list[Constant]) -> list[Constant]:
        return constants

    def _all_reserved(self, reserved: list[Reserved]) -> list[Reserved]:
        return reserved

    def _all_extensions(self, extensions: list[Extensions]) -> list[Extensions]:
        return extensions

    def _all_extends(self, extends: list[Extend]) -> list[Extend]:
        return extends

    def _type_of_rpc(self, name: str) -> str:
        return name

    def _label_and_type(self, field: Field) -> tuple[str | None, str]:
        return field.label, field.type

    def _range(self, value: int | Range) -> str:
        if isinstance(value, Range):
            return f"{value.start} to {value.end if value.end < NUMBER_MAX else 'max'}"
        return str(value)

    def _chosen(self, options: list[Option]) -> list[Option]:
        """The options that are written."""
        if not self._without_extensions:
            return options
        return [o for o in options if not o.parenthesized or o.name.startswith("confluent.")]

    def _option(self, option: Option) -> str:
        return option_text(option)

    # The declarations.

    def _statements(self, options: list[Option]) -> list[str]:
        return [f"option {self._option(option)};\n" for option in self._chosen(options)]

    def _brackets(self, options: list[Option]) -> str:
        chosen = self._chosen(options)
        return " " + bracketed([self._option(option) for option in chosen]) if chosen else ""

    def _types(self, types: list[Message | Enum]) -> list[str]:
        shown = [one for one in types if not self._is_hidden(one)]
        written = []
        for one in [one for one in shown if isinstance(one, Message)]:
            self._enter(one.name)
            written.append(self._message(one))
            self._leave()
        for enum in [one for one in shown if isinstance(one, Enum)]:
            self._enter(enum.name)
            written.append(self._enum(enum))
            self._leave()
        return written

    def _message(self, message: Message) -> str:
        extensions = [] if self._without_extensions else self._all_extensions(message.extensions)
        sections = [
            [self._reserved(reserved) for reserved in self._all_reserved(message.reserved)],
            self._statements(message.options),
            [self._field(field) for field in self._fields(message.fields)],
            [self._oneof(oneof) for oneof in self._oneofs(message.oneofs)],
            [self._group(group) for group in self._groups(message.groups)],
            [self._extensions(one) for one in extensions],
            self._extends(message.extends),
            self._types(message.types),
        ]
        inside = "".join(_section([indented(text) for text in section]) for section in sections)
        return f"message {message.name} {{{inside}}}\n"

    def _extends(self, extends: list[Extend]) -> list[str]:
        if self._without_extensions:
            return []
        return [
            f"extend {extend.name} {{{self._field_block(extend.fields)}}}\n"
            for extend in self._all_extends(extends)
        ]

    def _field_block(self, fields: list[Field]) -> str:
        return _section([indented(self._field(field)) for field in self._fields(fields)])

    def _group(self, group: Group) -> str:
        label = f"{group.label} " if group.label else ""
        return f"{label}group {group.name} = {group.number} {{{self._field_block(group.fields)}}}\n"

    def _oneof(self, oneof: OneOf) -> str:
        sections = [
            self._statements(oneof.options),
            [self._field(field) for field in oneof.fields],
            [self._group(group) for group in self._groups(oneof.groups)],
        ]
        inside = "".join(_section([indented(text) for text in section]) for section in sections)
        return f"oneof {oneof.name} {{{inside}}}\n"

    def _field(self, field: Field) -> str:
        label, type_name = self._label_and_type(field)
        options = list(field.options)
        if field.default is not None:
            options.append(Option("default", _kind_of_default(type_name, field.default), field.default))
        if field.json_name is not None:
            options.append(Option("json_name", "string", field.json_name))
        start = f"{label} " if label else ""
        return f"{start}{type_name} {field.name} = {field.number}{self._brackets(options)};\n"

    def _reserved(self, reserved: Reserved) -> str:
        values = [f'"{value}"' if isinstance(value, str) else self._range(value) for value in reserved]
        return f"reserved {', '.join(values)};\n"

    def _extensions(self, extensions: Extensions) -> str:
        values = ", ".join(self._range(value) for value in extensions.values)
        return f"extensions {values}{self._brackets(extensions.options)};\n"

    def _enum(self, enum: Enum) -> str:
        reserved = [indented(self._reserved(one)) for one in self._all_reserved(enum.reserved)]
        others = self._statements(enum.options)
        for constant in self._constants(enum.constants):
            others.append(f"{constant.name} = {constant.number}{self._brackets(constant.options)};\n")
        # No empty line separates the reserved numbers from the rest of an enum.
        inside = _section([*reserved, *(indented(text) for text in others)])
        if not inside and enum.options:
            inside = "\n"
        return f"enum {enum.name} {{{inside}}}\n"

    def _service(self, service: Service) -> str:
        options = _section([indented(text) for text in self._statements(service.options)])
        rpcs = _section([indented(self._rpc(rpc)) for rpc in service.rpcs])
        return f"service {service.name} {{{options}{rpcs}}}\n"

    def _rpc(self, rpc: Rpc) -> str:
        request = ("stream " if rpc.request_streams else "") + self._type_of_rpc(rpc.request)
        response = ("stream " if rpc.response_streams else "") + self._type_of_rpc(rpc.response)
        options = "".join(indented(text) for text in self._statements(rpc.options))
        end = f" {{\n{options}}}" if options else ""
        return f"rpc {rpc.name} ({request}) returns ({response}){end};\n"


def indented(text: str) -> str:
    """The lines of the text, two columns further to the right; empty lines, too."""
    return "".join(f"  {line}\n" for line in text.rstrip("\n").split("\n"))


def _section(parts: list[str]) -> str:
    return "\n" + "".join(parts) if parts else ""


def _kind_of_default(type_name: str, default: str) -> str:
    if map_parts(type_name) is not None:
        return "enum"
    simple = type_name.rpartition(".")[2]
    if simple == "bytes":
        # Confluent never writes quotes around the default of bytes, and cannot read most of them again.
        return "number" if _NUMBER.fullmatch(default) else "string"
    if simple == "string":
        return "string"
    if simple == "bool":
        return "boolean"
    return "number" if simple in SCALARS else "enum"
