"""The types and extensions that a file knows, and the rules by which a name finds one of them.

All referenced files count, imported or not, as they do for Confluent's registry.
"""

from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gralha.registry.schemas.protobuf.model import Enum, Extend, Field, Message, ProtoFile

Scope = tuple[str, ...]


class TypeInfo(NamedTuple):
    """A type, its full name, and the file that has it: "" is the schema itself."""

    full_name: str
    package: str
    file: str
    type: Message | Enum

    @property
    def local_name(self) -> str:
        """The name without the package."""
        return self.full_name.removeprefix(f"{self.package}.") if self.package else self.full_name

    @property
    def map_type(self) -> str | None:
        """The type of the map field that a compiler made this message for."""
        if not isinstance(self.type, Message) or not self.type.is_map_entry:
            return None
        types = {field.name: field.type for field in self.type.fields}
        return f"map<{types.get('key', '')}, {types.get('value', '')}>"


class Names:
    """Types and extensions by their full names."""

    def __init__(self, package: str, parents: Sequence["Names"] = ()) -> None:
        self.package = package
        # Later files hide types of the same name in earlier ones.
        self.types: ChainMap[str, TypeInfo] = ChainMap({}, *(m for p in parents for m in p.types.maps))
        self.extensions: ChainMap[str, Field] = ChainMap({}, *(m for p in parents for m in p.extensions.maps))

    def add(self, file: ProtoFile, name: str) -> None:
        """Adds what a file declares."""
        package = file.package or ""
        scope: Scope = tuple(package.split(".")) if package else ()
        self._add_extends(file.extends, scope)
        for found, message in walk(file.types, scope):
            self.types[".".join(found)] = TypeInfo(".".join(found), package, name, message)
            if isinstance(message, Message):
                self._add_extends(message.extends, found)

    def _add_extends(self, extends: list[Extend], scope: Scope) -> None:
        for extend in extends:
            for field in extend.fields:
                self.extensions[".".join((*scope, field.name))] = field

    def resolve(self, name: str, scope: Scope) -> str | None:
        """The full name of a type. The scope is the path of messages inside of the package."""
        return self._resolve(self.types, name, scope)

    def resolve_extension(self, name: str, scope: Scope) -> str | None:
        """The full name of an extension."""
        return self._resolve(self.extensions, name, scope)

    def find(self, name: str, scope: Scope) -> TypeInfo | None:
        """The type of this name."""
        full_name = self.resolve(name, scope)
        return self.types[full_name] if full_name is not None else None

    def _resolve(self, known: Mapping[str, object], name: str, scope: Scope) -> str | None:
        if name.startswith("."):
            return name[1:] if name[1:] in known else None
        prefix = [*self.package.split("."), *scope] if self.package else [*scope]
        while prefix:
            candidate = f"{'.'.join(prefix)}.{name}"
            if candidate in known:
                return candidate
            prefix.pop()
        return name if name in known else None


def walk(types: Sequence[Message | Enum], scope: Scope) -> Iterator[tuple[Scope, Message | Enum]]:
    """All types, with their paths."""
    for one in types:
        path = (*scope, one.name)
        yield path, one
        if isinstance(one, Message):
            yield from walk(one.types, path)
