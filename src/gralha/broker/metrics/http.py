"""The little of HTTP that a scrape needs: one request per connection, GET or HEAD of /metrics."""

from typing import Final, NamedTuple

MAX_HEAD_BYTES: Final = 8 * 1024
PATH: Final = "/metrics"
_REASONS: Final = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}


class RefusedError(Exception):
    """The request cannot be answered. The message is for the person who sent it."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Request(NamedTuple):
    """A valid request for the metrics."""

    is_head: bool
    # HTTP/1.1: the length of the answer need not be known in advance.
    takes_chunks: bool


def parse_request(head: bytes) -> Request:
    """Parses a request up to its empty line. Raises RefusedError."""
    line = head.split(b"\r\n", 1)[0].split(b"\n", 1)[0]
    parts = line.decode("latin-1").split(" ")
    if len(parts) != 3 or parts[2] not in ("HTTP/1.0", "HTTP/1.1"):
        raise RefusedError(400, "this is not an HTTP/1.1 request")
    method, target, version = parts
    if method not in ("GET", "HEAD"):
        raise RefusedError(405, f"{PATH} can only be read: use GET")
    if target.split("?", 1)[0] != PATH:
        raise RefusedError(404, f"the metrics are at {PATH}")
    return Request(method == "HEAD", version == "HTTP/1.1")


def answer_head(status: int, content_type: str, *, length: int | None = None, chunked: bool = False) -> bytes:
    """The status line and the headers. The connection is closed after the answer."""
    lines = [f"HTTP/1.1 {status} {_REASONS[status]}", f"Content-Type: {content_type}", "Connection: close"]
    if status == 405:
        lines.append("Allow: GET, HEAD")
    if length is not None:
        lines.append(f"Content-Length: {length}")
    if chunked:
        lines.append("Transfer-Encoding: chunked")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def refusal(error: RefusedError) -> bytes:
    """The whole answer to a request that is refused."""
    body = f"{error}\n".encode()
    return answer_head(error.status, "text/plain; charset=utf-8", length=len(body)) + body


def chunk(data: bytes) -> bytes:
    """A part of an answer of unknown length. The empty part is the last one."""
    return b"%x\r\n%b\r\n" % (len(data), data)
