"""What all messages of the protocol have in common; the generated classes in `messages` derive from it.

A message is one class for all its versions. `decode` takes the bytes of one version and leaves the fields
that this version lacks at their defaults. `encode` writes one version and refuses to drop a field that has
been set, unless the definition calls it ignorable.
"""

from typing import Any, ClassVar, Final

from mypy_extensions import i64, mypyc_attr

from gralha.protocol.primitives import ProtocolError, Reader, TaggedField, Writer

# The default of every array: it tells "not given" from None. Never changed, never kept in a message.
EMPTY: Final[list[Any]] = []


@mypyc_attr(allow_interpreted_subclasses=True)
class Struct:
    """A group of fields; compares and prints by their values."""

    __slots__ = ("unknown_tagged_fields",)

    FIELDS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, unknown_tagged_fields: tuple[TaggedField, ...] = ()) -> None:
        self.unknown_tagged_fields: tuple[TaggedField, ...] = unknown_tagged_fields

    def encode(self, writer: Writer, version: i64) -> None:
        raise NotImplementedError

    @staticmethod
    def decode(reader: Reader, version: i64) -> "Struct":
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or not isinstance(other, Struct):
            return NotImplemented
        for name in self.FIELDS:
            if getattr(self, name) != getattr(other, name):
                return False
        return self.unknown_tagged_fields == other.unknown_tagged_fields

    def __repr__(self) -> str:
        values = [f"{name}={getattr(self, name)!r}" for name in self.FIELDS]
        if self.unknown_tagged_fields:
            values.append(f"unknown_tagged_fields={self.unknown_tagged_fields!r}")
        return f"{type(self).__name__}({', '.join(values)})"


@mypyc_attr(allow_interpreted_subclasses=True)
class Message(Struct):
    """A whole message. API_KEY is -1 where there is none, FLEXIBLE_FROM is above MAX_VERSION if none is."""

    __slots__ = ()

    API_KEY: ClassVar[int] = -1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    @staticmethod
    def decode(reader: Reader, version: i64) -> "Message":
        raise NotImplementedError


def no_such_version(message: str, version: i64) -> ProtocolError:
    return ProtocolError(f"{message} has no version {version}")


def not_in_version(field: str, version: i64) -> ProtocolError:
    return ProtocolError(f"{field} is set, but version {version} cannot carry it")


def null_in_version(field: str, version: i64) -> ProtocolError:
    return ProtocolError(f"{field} is null, which version {version} does not allow")
