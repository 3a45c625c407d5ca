"""SaslHandshake: a client chooses a SASL mechanism (KIP-43).

After version 0 the tokens of the mechanism follow without Kafka's headers. After version 1 they are in
SaslAuthenticate requests (KIP-152).

Generated from definitions/sasl_handshake.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class SaslHandshakeRequest(Message):
    __slots__ = ("mechanism",)

    API_KEY: ClassVar[int] = 17
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("mechanism",)

    def __init__(self, mechanism: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()) -> None:
        self.mechanism: str = mechanism
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "SaslHandshakeRequest":
        if version < 0 or version > 1:
            raise no_such_version("SaslHandshakeRequest", version)
        mechanism = reader.string()
        unknown: tuple[TaggedField, ...] = ()
        return SaslHandshakeRequest(mechanism, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 1:
            raise no_such_version("SaslHandshakeRequest", version)
        writer.write_string(self.mechanism)


@final
class SaslHandshakeResponse(Message):
    __slots__ = ("error_code", "mechanisms")

    API_KEY: ClassVar[int] = 17
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "mechanisms")

    def __init__(
        self,
        error_code: int = 0,
        mechanisms: list[str] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code: int = error_code
        self.mechanisms: list[str] = [] if mechanisms is EMPTY else mechanisms
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "SaslHandshakeResponse":
        if version < 0 or version > 1:
            raise no_such_version("SaslHandshakeResponse", version)
        error_code = reader.int16()
        mechanisms: list[str] = [reader.string() for _ in range(reader.array_length())]
        unknown: tuple[TaggedField, ...] = ()
        return SaslHandshakeResponse(error_code, mechanisms, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 1:
            raise no_such_version("SaslHandshakeResponse", version)
        writer.write_int16(self.error_code)
        writer.write_array_length(len(self.mechanisms))
        for mechanisms_element in self.mechanisms:
            writer.write_string(mechanisms_element)
