"""The HTTP of a scrape: what is answered, what is refused, and with which status."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gralha.broker.metrics.http import RefusedError, Request, answer_head, chunk, parse_request, refusal


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"GET /metrics HTTP/1.1", Request(is_head=False, takes_chunks=True)),
        (b"GET /metrics?name[]=up HTTP/1.0", Request(is_head=False, takes_chunks=False)),
        (b"HEAD /metrics HTTP/1.1", Request(is_head=True, takes_chunks=True)),
    ],
)
def test_requests_that_are_answered(line, expected):
    assert parse_request(line + b"\r\nHost: localhost\r\n\r\n") == expected


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"", 400),
        (b"GET /metrics", 400),
        (b"GET /metrics HTTP/2.0", 400),
        (b"GET  /metrics HTTP/1.1", 400),
        (b"\x16\x03\x01\x02\x00\x01", 400),
        (b"POST /metrics HTTP/1.1", 405),
        (b"GET / HTTP/1.1", 404),
        (b"GET /metricsx HTTP/1.1", 404),
        (b"GET http://localhost/metrics HTTP/1.1", 404),
    ],
)
def test_requests_that_are_refused(line, status):
    with pytest.raises(RefusedError) as raised:
        parse_request(line + b"\r\n\r\n")
    assert raised.value.status == status
    answer = refusal(raised.value)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert b"Content-Length: %d" % len(body) in head
    assert (b"Allow: GET, HEAD" in head) == (status == 405)


@given(st.binary(max_size=200))
def test_anything_else_is_refused_too(data):
    # No other exception: the connection would end without an answer.
    with suppress(RefusedError):
        assert parse_request(data).is_head in (True, False)


def test_an_answer_of_unknown_length_comes_in_chunks():
    assert b"Transfer-Encoding: chunked\r\n" in answer_head(200, "text/plain", chunked=True)
    assert b"Content-Length" not in answer_head(200, "text/plain", chunked=True)
    assert chunk(b"x" * 26) == b"1a\r\n" + b"x" * 26 + b"\r\n"
    assert chunk(b"") == b"0\r\n\r\n"
