"""The base classes of all messages. The generated classes in `messages` derive from them.

A message is one class for all its versions. `decode` reads the bytes of one version. Fields that this version
lacks have their defaults. `encode` writes one version. It refuses to leave out a field that is set, unless
the definition calls it ignorable.
"""

from typing import Any, ClassVar, Final

from mypy_extensions import i64, mypyc_attr

from gralha.protocol.primitives import ProtocolError, Reader, TaggedField, Writer

# The default of every array. It distinguishes "not given" from None. It is never changed or stored.
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
    """A whole message. Without an API key API_KEY is -1. If no version is flexible, FLEXIBLE_FROM is above
    MAX_VERSION.
    """

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
