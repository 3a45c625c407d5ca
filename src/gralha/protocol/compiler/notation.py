"""The notation of message definitions, and its parser.

A file begins with comments about its subject. Then follow lines like these:

    api 0 Produce                        the key and the name, for a file with a request and a response
    api 1 Fetch broker controller        and its listeners, if they are not only those of brokers
    request 3-13 flexible 9+             its versions, and which of them are flexible (or `never`)
    response 3-13 flexible 9+
    record 2 TopicRecord 0 flexible 0+   a record of the metadata log, with its key
    key 2 Name 0 flexible never          a key in the topic of a coordinator, with the kind of record
    value 2 Name 0-4 flexible 4+         the value for such keys
    data VotersRecord 0 flexible 0+      anything else; `header` in the same way
    struct Cursor                        a structure that several fields use

Below each line are its fields, indented by two spaces:

    NAME: TYPE [VERSIONS] [= DEFAULT] [tag N] [ignorable] [classic]

    acks: int16                          in every version
    timeout_ms: int32 = 1000             with a default other than zero
    name: string 0-12 ignorable          in versions 0 to 12, silently left out of the others
    rack: string? 11+ = null             may be null; `string?12+` may be null from version 12 on
    topics: [TopicData]                  an array of structures; their fields follow, indented further
    cluster_id: string? = null tag 0     a tagged field (KIP-482)

The versions of a field may include versions that its structure does not have.

A tagged field with its default value is not written. The default of a nullable field is null only with
`= null`. Without it the default is an empty array or structure, and null is written.
"""

import re
from dataclasses import dataclass, field, replace
from typing import Final

from gralha.protocol.compiler.model import (
    INTEGERS,
    NEVER,
    PRIMITIVES,
    Default,
    Definition,
    Field,
    Kind,
    Message,
    Struct,
    Versions,
)

_FIELD = re.compile(r"([a-z][a-z0-9_]*): (\[?)(\w+)(\]?)(\?(?:\d+(?:\+|-\d+)?)?)?((?: .*)?)")
_HEAD = re.compile(r"(?:(\d+) )?(?:([A-Z]\w*) )?(\d\S*) flexible (\S+)")
_OPTION = re.compile(r' (?:(\d+(?:\+|-\d+)?)|= ("[^"]*"|\S+)|tag (\d+)|(ignorable)|(classic))(?= |$)')
_NUMBERED: Final = (Kind.RECORD, Kind.COORDINATOR_KEY, Kind.COORDINATOR_VALUE)


class NotationError(ValueError):
    """A definition is wrong. The message has the line."""


@dataclass
class _Line:
    number: int
    text: str
    children: list["_Line"] = field(default_factory=list)

    def error(self, why: str) -> NotationError:
        return NotationError(f"line {self.number}: {why}: {self.text!r}")


def parse(name: str, text: str) -> Definition:
    """Parses a definition file."""
    about = [line.removeprefix("#").strip() for line in text.split("\n\n", 1)[0].splitlines()]
    definition = Definition(name, about)
    shared: dict[str, _Line] = {}
    for line in _tree(text):
        keyword, _, rest = line.text.partition(" ")
        if keyword == "api":
            _api(definition, line, rest)
        elif keyword == "struct":
            shared[rest] = line
        else:
            _message(definition, shared, line, keyword, rest)
    return definition


def _api(definition: Definition, line: _Line, rest: str) -> None:
    match = re.fullmatch(r"(\d+) ([A-Z]\w*)( broker)?( controller)?", rest)
    if match is None:
        raise line.error("expected an api, as in `api 1 Fetch broker controller`")
    definition.api_key, definition.api_name = int(match[1]), match[2]
    definition.listeners = tuple(name.strip() for name in match.groups()[2:] if name) or ("broker",)


def _tree(text: str) -> list[_Line]:
    """The lines without comments, as a tree by their indentation."""
    roots: list[_Line] = []
    path: list[_Line] = []
    for number, raw in enumerate(text.splitlines(), 1):
        content = raw.split("#", 1)[0].rstrip()
        if not content:
            continue
        stripped = content.lstrip(" ")
        depth, odd = divmod(len(content) - len(stripped), 2)
        line = _Line(number, stripped)
        if odd or depth > len(path):
            raise line.error("the indentation is not two spaces")
        del path[depth:]
        (path[-1].children if path else roots).append(line)
        path.append(line)
    return roots


def _message(definition: Definition, shared: dict[str, _Line], line: _Line, keyword: str, rest: str) -> None:
    head = _HEAD.fullmatch(rest)
    if keyword not in {kind.value for kind in Kind} or head is None:
        raise line.error("expected a message, as in `request 3-13 flexible 9+`")
    key, name, versions_text, flexible_text = head.groups()
    kind = Kind(keyword)
    if kind in (Kind.REQUEST, Kind.RESPONSE):
        if definition.api_name is None or name is not None:
            raise line.error("a request or response has the name of its api")
        name, key = definition.api_name + keyword.capitalize(), str(definition.api_key)
    elif name is None:
        raise line.error("needs a name")
    elif kind in _NUMBERED and key is None:
        raise line.error("needs a number")
    versions = _versions(versions_text, line)
    flexible = NEVER if flexible_text == "never" else _versions(flexible_text, line)
    body = Struct(name, versions, flexible.intersection(versions))
    _fields(definition, shared, body, body, line)
    _add(definition, body, line)
    definition.messages.append(Message(kind, body, None if key is None else int(key)))


def _fields(
    definition: Definition, shared: dict[str, _Line], body: Struct, struct: Struct, line: _Line
) -> None:
    """Parses the fields of a structure and of its parts. `body` is the structure of the whole message."""
    for child in line.children:
        parsed = _field(struct, child)
        struct.fields.append(parsed)
        if not parsed.is_struct:
            if child.children:
                raise child.error(f"{parsed.type} has no fields")
            continue
        source = child if child.children else shared.get(parsed.type)
        if source is None:
            raise child.error(f"no structure {parsed.type}")
        # A shared structure has all versions of the message, even if only some have the field that uses it.
        versions = parsed.versions if source is child else body.versions
        part = Struct(parsed.type, versions, body.flexible.intersection(versions))
        _fields(definition, shared, body, part, source)
        _add(definition, part, child)
    names = [parsed.name for parsed in struct.fields]
    tags = [parsed.tag for parsed in struct.fields if parsed.tag is not None]
    if len(set(names)) < len(names) or len(set(tags)) < len(tags):
        raise line.error("two fields have the same name or tag")


def _add(definition: Definition, struct: Struct, line: _Line) -> None:
    if definition.structs.setdefault(struct.name, struct) != struct:
        raise line.error(f"there is another structure {struct.name}")


def _field(struct: Struct, line: _Line) -> Field:
    match = _FIELD.fullmatch(line.text)
    if match is None or bool(match[2]) != bool(match[4]):
        raise line.error("expected a field, as in `name: string 0-12 ignorable`")
    name, opened, type_name, _, null, options = match.groups()
    if type_name not in PRIMITIVES and not type_name[0].isupper():
        raise line.error(f"no type {type_name}")
    parsed = Field(name, type_name, bool(opened), struct.versions, NEVER, None)
    default_text: str | None = None
    position = 0
    while position < len(options):
        option = _OPTION.match(options, position)
        if option is None:
            raise line.error(f"cannot read{options[position:]!r}")
        position = option.end()
        if option[1]:
            parsed = replace(parsed, versions=_versions(option[1], line).intersection(struct.versions))
        elif option[2]:
            default_text = option[2]
        elif option[3]:
            parsed = replace(parsed, tag=int(option[3]))
        elif option[4]:
            parsed = replace(parsed, ignorable=True)
        else:
            parsed = replace(parsed, classic=True)
    if null:
        nullable = parsed.versions if null == "?" else _versions(null[1:], line)
        parsed = replace(parsed, nullable=nullable.intersection(parsed.versions))
    parsed = replace(parsed, default=_default(parsed, default_text, line))
    _check(struct, parsed, line)
    return parsed


def _check(struct: Struct, parsed: Field, line: _Line) -> None:
    if not parsed.versions:
        raise line.error("the field is in no version")
    if parsed.tag is not None and parsed.versions.intersection(struct.flexible) != parsed.versions:
        raise line.error("only flexible versions have tagged fields")
    if parsed.ignorable and parsed.versions == struct.versions:
        raise line.error("every version has the field, so `ignorable` has no effect")
    empty_or_null = parsed.is_struct and not parsed.is_array and parsed.default == () and parsed.nullable
    if empty_or_null and parsed.versions != struct.versions:
        raise line.error("not in every version, so it must be null by default")


def _versions(text: str, line: _Line) -> Versions:
    match = re.fullmatch(r"(\d+)(?:(\+)|-(\d+))?", text)
    if match is None:
        raise line.error(f"not a range of versions: {text}")
    low = int(match[1])
    high = 0x7FFF if match[2] else int(match[3] or low)
    if high < low:
        raise line.error(f"not a range of versions: {text}")
    return Versions(low, high)


def _default(parsed: Field, text: str | None, line: _Line) -> Default:
    """The default in the definition, or Kafka's default of the type."""
    if text == "null" or (text is None and parsed.type == "records"):
        if not parsed.is_optional:
            raise line.error("null is the default, but the field is not nullable")
        return None
    if parsed.is_array or parsed.is_struct:
        if text is not None:
            raise line.error("only null is possible as default")
        never_null = not parsed.is_array and parsed.tag is not None and not parsed.nullable
        return None if parsed.is_struct and never_null else ()
    if parsed.type in INTEGERS:
        return int(text or "0", 0)
    if parsed.type == "float64":
        return float(text or "0")
    if parsed.type == "bool":
        return {"true": True, "false": False}[text or "false"]
    if parsed.type == "string":
        return (text or '""').strip('"')
    return bytes(16) if parsed.type == "uuid" else b""
