"""The differences of two `.proto` files, and which of them break readers, as Confluent's registry decides.

The original is the older schema and the update is the newer one. Fields are compared by their numbers and
types by their names. Messages of referenced files are compared if the two files are not the same version.
"""

from typing import NamedTuple

from gralha.registry.schemas.interface import PROBLEMS_MAX, READER, TOO_LARGE, WRITER
from gralha.registry.schemas.protobuf.model import (
    SCALARS,
    Enum,
    Field,
    Message,
    ProtoFile,
    map_parts,
)
from gralha.registry.schemas.protobuf.names import Names, Scope, TypeInfo

# Steps of a comparison before it gives up.
STEPS_MAX = 500_000
_DEPTH_MAX = 60

_GENERAL_NUMBER = "general number"
_STRING_OR_BYTES = "string or bytes"
# Scalars of one kind can read each other.
_SCALAR_KINDS = {
    **dict.fromkeys(("int32", "int64", "uint32", "uint64", "bool"), _GENERAL_NUMBER),
    **dict.fromkeys(("sint32", "sint64"), "signed number"),
    **dict.fromkeys(("string", "bytes"), _STRING_OR_BYTES),
    **dict.fromkeys(("fixed32", "sfixed32"), "fixed32"),
    **dict.fromkeys(("fixed64", "sfixed64"), "fixed64"),
    "float": "float",
    "double": "double",
}

_DESCRIPTIONS = {
    "PACKAGE_CHANGED": (
        f"The package at '%s' in the {READER} schema does not match the package in the {WRITER} schema"
    ),
    "MESSAGE_REMOVED": (f"The {READER} schema is missing a MESSAGE type at path '%s' in the {WRITER} schema"),
    "FIELD_KIND_CHANGED": (
        f"The type of a field at path '%s' in the {READER} schema does not match the {WRITER} schema"
    ),
    "FIELD_SCALAR_KIND_CHANGED": (
        f"The kind of a SCALAR field at path '%s' in the {READER} schema does not match its kind "
        f"in the {WRITER} schema"
    ),
    "FIELD_NAMED_TYPE_CHANGED": (
        f"The type of a MESSAGE field at path '%s' in the {READER} schema does not match its type "
        f"in the {WRITER} schema"
    ),
    "FIELD_NUMERIC_LABEL_CHANGED": (
        f"The label for a NUMERIC field at path '%s' in the {READER} schema does not match its "
        f"label in the {WRITER} schema"
    ),
    "REQUIRED_FIELD_ADDED": (
        f"A required field  at path '%s' in the {READER} schema is missing in the {WRITER} schema"
    ),
    "REQUIRED_FIELD_REMOVED": (
        f"The {READER} schema is missing a required field at path: '%s' in the {WRITER} schema"
    ),
    "ONEOF_FIELD_REMOVED": (
        f"The {READER} schema is missing a oneof field at path '%s' in the {WRITER} schema"
    ),
    "MULTIPLE_FIELDS_MOVED_TO_ONEOF": (
        f"Multiple fields in the oneof at path '%s' in the {READER} schema are outside a oneof in "
        f"the {WRITER} schema"
    ),
    "FIELD_MOVED_TO_EXISTING_ONEOF": (
        f"A field in the oneof at path '%s' in the {READER} schema is outside an existing oneof "
        f"in the {WRITER} schema"
    ),
}


class Difference(NamedTuple):
    """A change, and the path to it."""

    kind: str
    path: str

    @property
    def is_compatible(self) -> bool:
        """Whether the update still reads the original's data."""
        return self.kind not in _DESCRIPTIONS


class Side(NamedTuple):
    """A schema: its file, the types that it knows, and the registered version of each direct reference."""

    file: ProtoFile
    names: Names
    versions: dict[str, tuple[str, int]]

    def version_of(self, info: TypeInfo) -> tuple[str, int] | None:
        """The subject and version of the file that has the type; None if the schema does not say it."""
        return self.versions.get(info.file)


class TooLargeError(Exception):
    """The schemas need too many steps."""


def templates(original: Side, update: Side) -> list[str]:
    """The incompatible differences in Confluent's words."""
    try:
        found = differences(original, update)
    except TooLargeError:
        return [TOO_LARGE]
    incompatible = dict.fromkeys(one for one in found if not one.is_compatible)
    return [_template(difference) for difference in incompatible]


def _template(difference: Difference) -> str:
    description = _DESCRIPTIONS[difference.kind].replace("%s", difference.path)
    return f'{{errorType:"{difference.kind}", description:"{description}"}}'


def differences(original: Side, update: Side) -> list[Difference]:
    """All differences, also the compatible ones."""
    comparison = _Comparison(original, update)
    comparison.compare_files()
    return comparison.found


class _Position(NamedTuple):
    """Where the comparison is: the shown path, and where names are looked up on both sides."""

    path: tuple[str, ...]
    scope: Scope
    original: Names
    update: Names

    def at(self, part: str | int) -> "_Position":
        return self._replace(path=(*self.path, str(part)))

    def inside(self, name: str) -> "_Position":
        return self._replace(path=(*self.path, name), scope=(*self.scope, name))


class _Comparison:
    def __init__(self, original: Side, update: Side) -> None:
        self._original = original
        self._update = update
        self.found: list[Difference] = []
        self._open: set[int] = set()
        self._clean: set[tuple[int, int, str, str]] = set()
        self._steps = 0

    def _add(self, kind: str, position: _Position) -> None:
        difference = Difference(kind, "#/" + "/".join(position.path))
        if difference.is_compatible and len(self.found) >= PROBLEMS_MAX:
            return
        if len(self.found) < 2 * PROBLEMS_MAX:
            self.found.append(difference)

    def _step(self) -> None:
        self._steps += 1
        if self._steps > STEPS_MAX:
            raise TooLargeError

    def compare_files(self) -> None:
        original, update = self._original, self._update
        start = _Position((), (), original.names, update.names)
        if original.file.package != update.file.package:
            self._add("PACKAGE_CHANGED", start)
        self._compare_types(original.file.types, update.file.types, start)

    def _compare_types(
        self, original: list[Message | Enum], update: list[Message | Enum], position: _Position
    ) -> None:
        old_messages, new_messages = _messages(original), _messages(update)
        new_positions = {name: index for index, name in enumerate(new_messages)}
        for index, (name, message) in enumerate(old_messages.items()):
            inside = position.inside(name)
            if name not in new_messages:
                if not message.is_map_entry:
                    self._add("MESSAGE_REMOVED", inside)
                continue
            self._compare_messages(message, new_messages[name], inside)
            if new_positions[name] != index:
                self._add("MESSAGE_MOVED", inside)
        for name in new_messages.keys() - old_messages.keys():
            if not new_messages[name].is_map_entry:
                self._add("MESSAGE_ADDED", position.inside(name))
        self._compare_enums(_enums(original), _enums(update), position)

    def _compare_enums(self, original: dict[str, Enum], update: dict[str, Enum], position: _Position) -> None:
        for name in sorted(original.keys() | update.keys()):
            inside = position.inside(name)
            if name not in update:
                self._add("ENUM_REMOVED", inside)
            elif name not in original:
                self._add("ENUM_ADDED", inside)
            else:
                self._compare_constants(original[name], update[name], inside)

    def _compare_constants(self, original: Enum, update: Enum, position: _Position) -> None:
        old = {constant.number: constant.name for constant in original.constants}
        new = {constant.number: constant.name for constant in update.constants}
        for number in sorted(old.keys() | new.keys()):
            if number not in new:
                self._add("ENUM_CONST_REMOVED", position.at(number))
            elif number not in old:
                self._add("ENUM_CONST_ADDED", position.at(number))
            elif old[number] != new[number]:
                self._add("ENUM_CONST_CHANGED", position.at(number))

    def _compare_messages(self, original: Message, update: Message, position: _Position) -> None:
        self._step()
        # A message that is being compared is not compared again inside of itself.
        if len(self._open) > _DEPTH_MAX:
            raise TooLargeError
        if id(original) not in self._open:
            self._open.add(id(original))
            _MessageComparison(original, update, position).run(self)
            self._open.discard(id(original))
        self._compare_types(original.types, update.types, position)

    def add(self, kind: str, position: _Position) -> None:
        """Notes a difference of two messages."""
        self._add(kind, position)

    def compare_fields(self, original: Field, update: Field, position: _Position) -> None:
        """Compares two fields with the same number."""
        self._step()
        if original.name != update.name:
            self._add("FIELD_NAME_CHANGED", position)
        self._compare_labels_and_types((original.label, original.type), (update.label, update.type), position)

    def _compare_labels_and_types(
        self, original: tuple[str | None, str], update: tuple[str | None, str], position: _Position
    ) -> None:
        old_type = _without_entry(original[1], position.original, position.scope)
        new_type = _without_entry(update[1], position.update, position.scope)
        old_kind = _kind(old_type, position.original, position.scope)
        if old_kind != _kind(new_type, position.update, position.scope):
            self._add("FIELD_KIND_CHANGED", position)
        elif old_kind == "scalar":
            self._compare_scalars((original[0], old_type), (update[0], new_type), position)
        elif old_kind == "message":
            self._compare_message_types(old_type, new_type, position)
        else:
            for old_part, new_part in zip(map_parts(old_type) or (), map_parts(new_type) or (), strict=True):
                self._compare_labels_and_types((None, old_part), (None, new_part), position)

    def _compare_scalars(
        self, original: tuple[str | None, str], update: tuple[str | None, str], position: _Position
    ) -> None:
        # Everything scalar that is not in the table is an enum.
        kind = _SCALAR_KINDS.get(original[1], _GENERAL_NUMBER)
        if kind != _SCALAR_KINDS.get(update[1], _GENERAL_NUMBER):
            self._add("FIELD_SCALAR_KIND_CHANGED", position)
        elif original[0] and update[0] and original[0] != update[0]:
            if kind == _STRING_OR_BYTES:
                self._add("FIELD_STRING_OR_BYTES_LABEL_CHANGED", position)
            else:
                self._add("FIELD_NUMERIC_LABEL_CHANGED", position)

    def _compare_message_types(self, original: str, update: str, position: _Position) -> None:
        old = position.original.find(original, position.scope)
        new = position.update.find(update, position.scope)
        if old is None or new is None:
            if original != update:
                self._add("FIELD_NAMED_TYPE_CHANGED", position)
        elif old.local_name != new.local_name:
            self._add("FIELD_NAMED_TYPE_CHANGED", position)
        elif not self._is_same_version(old, new):
            self._compare_referenced(old, new, position)

    def _is_same_version(self, old: TypeInfo, new: TypeInfo) -> bool:
        if old.type is new.type:
            return True
        if not old.file and not new.file:
            return True
        versions = self._original.version_of(old), self._update.version_of(new)
        return None not in versions and versions[0] == versions[1]

    def _compare_referenced(self, old: TypeInfo, new: TypeInfo, position: _Position) -> None:
        pair = (id(old.type), id(new.type), old.package, new.package)
        if pair in self._clean or not isinstance(old.type, Message) or not isinstance(new.type, Message):
            return
        before = len(self.found)
        scope = tuple(old.local_name.split("."))
        inside = _Position(
            scope,
            scope,
            _in_package(position.original, old.package),
            _in_package(position.update, new.package),
        )
        self._compare_messages(old.type, new.type, inside)
        if any(not difference.is_compatible for difference in self.found[before:]):
            self._add("FIELD_NAMED_TYPE_CHANGED", position)
        else:
            self._clean.add(pair)


class _MessageComparison:
    """The fields and oneofs of one message. Fields are compared by number, in whichever oneof they are."""

    def __init__(self, original: Message, update: Message, position: _Position) -> None:
        self._position = position
        self._old = {field.number: field for field in original.all_fields()}
        self._new = {field.number: field for field in update.all_fields()}
        self._old_oneofs = {one.name: one for one in original.oneofs}
        self._new_oneofs = {one.name: one for one in update.oneofs}
        self._old_home = {f.number: one.name for one in original.oneofs for f in one.fields}
        self._new_home = {f.number: one.name for one in update.oneofs for f in one.fields}

    def run(self, comparison: _Comparison) -> None:
        """Notes the differences."""
        position = self._position
        for name, oneof in self._new_oneofs.items():
            kind = self._new_exclusivity([field.number for field in oneof.fields])
            if kind is not None:
                comparison.add(kind, position.at(name))
        for name in sorted(self._old_oneofs.keys() | self._new_oneofs.keys()):
            if name not in self._new_oneofs:
                comparison.add("ONEOF_REMOVED", position.at(name))
            elif name not in self._old_oneofs:
                comparison.add("ONEOF_ADDED", position.at(name))
        deleted = self._deleted_oneofs()
        for number in sorted(self._old.keys() | self._new.keys()):
            if number not in self._new:
                self._removed(number, deleted, comparison)
            elif number not in self._old:
                self._added(number, comparison)
            else:
                self._kept(number, comparison)

    def _new_exclusivity(self, numbers: list[int]) -> str | None:
        """The difference if fields that could be set together now exclude each other."""
        groups: set[str | int] = set()
        moved_in = 0
        for number in numbers:
            if number in self._old_home:
                groups.add(self._old_home[number])
            elif number in self._old:
                groups.add(number)
                moved_in += 1
        if len(groups) <= 1:
            return None
        return "MULTIPLE_FIELDS_MOVED_TO_ONEOF" if moved_in > 1 else "FIELD_MOVED_TO_EXISTING_ONEOF"

    def _deleted_oneofs(self) -> set[str]:
        """Oneofs that are gone with all of their fields, which is compatible."""
        return {
            name
            for name, oneof in self._old_oneofs.items()
            if name not in self._new_oneofs and not any(field.number in self._new for field in oneof.fields)
        }

    def _removed(self, number: int, deleted: set[str], comparison: _Comparison) -> None:
        home = self._old_home.get(number)
        if home is None:
            required = self._old[number].label == "required"
            comparison.add(
                "REQUIRED_FIELD_REMOVED" if required else "FIELD_REMOVED", self._position.at(number)
            )
        elif home not in deleted:
            comparison.add("ONEOF_FIELD_REMOVED", self._position.at(home).at(number))

    def _added(self, number: int, comparison: _Comparison) -> None:
        home = self._new_home.get(number)
        if home is None:
            required = self._new[number].label == "required"
            comparison.add("REQUIRED_FIELD_ADDED" if required else "FIELD_ADDED", self._position.at(number))
        else:
            comparison.add("ONEOF_FIELD_ADDED", self._position.at(home).at(number))

    def _kept(self, number: int, comparison: _Comparison) -> None:
        home = self._new_home.get(number)
        if home is None and number in self._old_home:
            comparison.add("ONEOF_FIELD_MOVED_TO_TOP_LEVEL", self._position.at(number))
        position = self._position if home is None else self._position.at(home)
        comparison.compare_fields(self._old[number], self._new[number], position.at(number))


def _messages(types: list[Message | Enum]) -> dict[str, Message]:
    return {one.name: one for one in types if isinstance(one, Message)}


def _enums(types: list[Message | Enum]) -> dict[str, Enum]:
    return {one.name: one for one in types if isinstance(one, Enum)}


def _in_package(names: Names, package: str) -> Names:
    if names.package == package:
        return names
    moved = Names(package)
    moved.types, moved.extensions = names.types, names.extensions
    return moved


def _without_entry(type_name: str, names: Names, scope: Scope) -> str:
    info = None if type_name in SCALARS or map_parts(type_name) else names.find(type_name, scope)
    return (info.map_type if info is not None else None) or type_name


def _kind(type_name: str, names: Names, scope: Scope) -> str:
    if type_name in SCALARS:
        return "scalar"
    if map_parts(type_name) is not None:
        return "map"
    info = names.find(type_name, scope)
    return "scalar" if info is not None and isinstance(info.type, Enum) else "message"
