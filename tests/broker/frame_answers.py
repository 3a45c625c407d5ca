"""Checks the answers of a broker to frames that a test has damaged."""

from __future__ import annotations

import struct

from gralha.protocol.apis import APIS, ApiKey, response_header_version
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.api_versions import ApiVersionsResponse
from gralha.protocol.messages.header import ResponseHeader
from gralha.protocol.primitives import Reader
from tests.broker.fuzz_requests import sized

SENTINEL_ID = 0x5EA1
# ApiVersions v0: the answer to it shows that all requests before it are done with.
SENTINEL = sized(struct.pack(">hhih", ApiKey.API_VERSIONS, 0, SENTINEL_ID, -1))


def check_response(frame: bytes, response: bytes) -> None:
    """A response must be that of the request, in its version, to the last byte."""
    api_key, version, correlation_id = struct.unpack_from(">hhi", frame)
    assert struct.unpack_from(">i", response)[0] == correlation_id
    assert api_key in APIS, "an unknown API was answered"
    reader = Reader(response)
    ResponseHeader.decode(
        reader,
        response_header_version(api_key, 0)
        if unsupported(api_key, version)
        else response_header_version(api_key, version),
    )
    if unsupported(api_key, version):
        assert api_key == ApiKey.API_VERSIONS, "an unknown version was answered"
        answer = ApiVersionsResponse.decode(reader, 0)
        assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    else:
        APIS[api_key].response.decode(reader, version)
    assert reader.remaining() == 0


def unsupported(api_key: int, version: int) -> bool:
    return not APIS[api_key].min_version <= version <= APIS[api_key].max_version
