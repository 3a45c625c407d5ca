"""Requests and responses inside of envelopes."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gralha.protocol import apis
from gralha.protocol.apis import ApiKey
from gralha.protocol.envelopes import (
    address_bytes,
    address_text,
    open_request,
    open_response,
    sealed_request,
    sealed_response,
)
from gralha.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from gralha.protocol.primitives import ProtocolError

API = apis.APIS[ApiKey.CREATE_TOPICS]
VERSIONS = st.integers(API.min_version, API.max_version)


@given(VERSIONS, st.none() | st.text(max_size=20), st.lists(st.text(max_size=10)))
def test_a_request_comes_out_as_it_went_in(version: int, client_id: str | None, names: list[str]) -> None:
    request = CreateTopicsRequest(topics=[CreatableTopic(name=name) for name in names])
    opened = open_request(sealed_request(request, version, client_id))
    assert opened == (ApiKey.CREATE_TOPICS, version, 0, client_id, request)


@given(VERSIONS, st.integers(0, 2**31 - 1))
def test_a_response_comes_out_as_it_went_in(version: int, correlation_id: int) -> None:
    response = CreateTopicsResponse(throttle_time_ms=7)
    assert open_response(sealed_response(API, version, correlation_id, response), API, version) == response


@given(st.data())
def test_a_request_that_is_cut_is_refused(data: st.DataObject) -> None:
    whole = sealed_request(CreateTopicsRequest(topics=[CreatableTopic(name="a")]), API.max_version, "me")
    with pytest.raises(ProtocolError):
        open_request(whole[: data.draw(st.integers(0, len(whole) - 1))])


@given(st.binary(max_size=100))
def test_garbage_is_refused_or_read(data: bytes) -> None:
    with suppress(ProtocolError):
        open_request(data)


def test_an_api_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ProtocolError):
        open_request((999).to_bytes(2, "big") + bytes(20))


@pytest.mark.parametrize("host", ["127.0.0.1", "10.1.2.3", "::1", "fe80::1"])
def test_addresses(host: str) -> None:
    assert address_text(address_bytes(host)) == host


def test_addresses_that_are_none() -> None:
    assert address_bytes("") == bytes(4)
    assert address_bytes("fe80::1%eth0") == address_bytes("fe80::1")
    with pytest.raises(ProtocolError):
        address_text(b"abc")
