"""The content of an Envelope (KIP-590): a request or response with its header, without its size."""

from ipaddress import ip_address
from typing import Final, NamedTuple

from gralha.protocol import apis
from gralha.protocol.message import Message
from gralha.protocol.messages.default_principal_data import DefaultPrincipalData
from gralha.protocol.primitives import ProtocolError, Reader, Writer

PRINCIPAL_VERSION: Final = 0


class OpenedRequest(NamedTuple):
    """A request from an envelope, and its header."""

    api_key: int
    version: int
    correlation_id: int
    client_id: str | None
    request: Message


def sealed_request(request: Message, version: int, client_id: str | None) -> bytes:
    """The bytes of a request. The correlation id is 0, because an envelope has one request."""
    writer = Writer()
    writer.write_int16(request.API_KEY)
    writer.write_int16(version)
    writer.write_int32(0)
    writer.write_nullable_string(client_id)
    if apis.request_header_version(request.API_KEY, version) >= 2:
        writer.write_tagged_fields(())
    request.encode(writer, version)
    return writer.to_bytes()


def open_request(data: bytes) -> OpenedRequest:
    """The request in an envelope. Raises ProtocolError if it is malformed."""
    try:
        reader = Reader(data)
        api_key, version, correlation_id = reader.int16(), reader.int16(), reader.int32()
        client_id = reader.nullable_string()
        api = apis.APIS.get(api_key)
        if api is None or not api.min_version <= version <= api.max_version:
            raise ProtocolError(f"an envelope with API key {api_key}, version {version}")
        if apis.request_header_version(api_key, version) >= 2:
            reader.tagged_fields()
        return OpenedRequest(api_key, version, correlation_id, client_id, api.request.decode(reader, version))
    except IndexError:
        raise ProtocolError("the request in an envelope ends too early") from None


def sealed_response(api: apis.Api, version: int, correlation_id: int, response: Message) -> bytes:
    """The bytes of a response."""
    writer = Writer()
    writer.write_int32(correlation_id)
    if apis.response_header_version(api.key, version) == 1:
        writer.write_tagged_fields(())
    response.encode(writer, version)
    return writer.to_bytes()


def open_response(data: bytes, api: apis.Api, version: int) -> Message:
    """The response in an envelope. Raises ProtocolError if it is malformed."""
    try:
        reader = Reader(data)
        reader.int32()
        if apis.response_header_version(api.key, version) == 1:
            reader.tagged_fields()
        return api.response.decode(reader, version)
    except IndexError:
        raise ProtocolError("the response in an envelope ends too early") from None


def principal_bytes(principal: str, token_authenticated: bool = False) -> bytes:
    """The bytes of a principal, as Kafka's DefaultKafkaPrincipalBuilder writes them: version, then fields."""
    kind, _, name = principal.partition(":")
    writer = Writer()
    writer.write_int16(PRINCIPAL_VERSION)
    DefaultPrincipalData(kind, name, token_authenticated).encode(writer, PRINCIPAL_VERSION)
    return writer.to_bytes()


def principal_of(data: bytes) -> DefaultPrincipalData:
    """The principal that a broker has sent. Raises ProtocolError if it cannot be read."""
    try:
        reader = Reader(data)
        if reader.int16() != PRINCIPAL_VERSION:
            raise ProtocolError("an envelope with a principal of an unknown version")
        principal = DefaultPrincipalData.decode(reader, PRINCIPAL_VERSION)
    except IndexError:
        raise ProtocolError("the principal in an envelope ends too early") from None
    if reader.remaining() or not principal.type:
        raise ProtocolError("an envelope with a malformed principal")
    return principal


def address_bytes(host: str) -> bytes:
    """The bytes of an IP address, four or sixteen. A scope (`fe80::1%eth0`) is left out."""
    try:
        return ip_address(host.partition("%")[0]).packed
    except ValueError:
        return bytes(4)


def address_text(packed: bytes) -> str:
    """The IP address of a client. Raises ProtocolError if the bytes are not an address."""
    try:
        return str(ip_address(packed))
    except ValueError:
        raise ProtocolError(f"an envelope with an address of {len(packed)} bytes") from None
