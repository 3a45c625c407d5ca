"""A principal as brokers send it to the controller in an envelope (KIP-590). Its version comes before it.

Generated from definitions/default_principal_data.kafka by gralha.protocol.compiler: change that, not this.
"""

# ruff: noqa: A002

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import Message, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class DefaultPrincipalData(Message):
    __slots__ = ("name", "token_authenticated", "type")

    API_KEY: ClassVar[int] = -1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("type", "name", "token_authenticated")

    def __init__(
        self,
        type: str = "",
        name: str = "",
        token_authenticated: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.type: str = type
        self.name: str = name
        self.token_authenticated: bool = token_authenticated
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DefaultPrincipalData":
        if version != 0:
            raise no_such_version("DefaultPrincipalData", version)
        type_ = reader.compact_string()
        name = reader.compact_string()
        token_authenticated = reader.boolean()
        unknown = reader.tagged_fields()
        return DefaultPrincipalData(type_, name, token_authenticated, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("DefaultPrincipalData", version)
        writer.write_compact_string(self.type)
        writer.write_compact_string(self.name)
        writer.write_boolean(self.token_authenticated)
        writer.write_tagged_fields(self.unknown_tagged_fields)
