"""Reads the text at an address: a file, or an answer over HTTP. Like `run.py`, it uses the outside world."""

from http.client import HTTPException
from typing import Final
from urllib.error import URLError
from urllib.parse import unquote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

TIMEOUT_S: Final = 10.0
BYTES_MAX: Final = 1024 * 1024


class _NoRedirect(HTTPRedirectHandler):
    """Follows no redirection: it could lead to an address that is not allowed."""

    def redirect_request(self, *_arguments: object) -> Request | None:
        return None


def text_at(url: str) -> str:
    """The text. Raises OSError or ValueError."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        with open(unquote(parts.path), "rb") as file:
            data = file.read(BYTES_MAX + 1)
    else:
        try:
            with build_opener(_NoRedirect).open(url, timeout=TIMEOUT_S) as answer:
                data = answer.read(BYTES_MAX + 1)
        except (URLError, HTTPException) as error:
            raise OSError(str(error)) from None
    if len(data) > BYTES_MAX:
        raise ValueError(f"there are more than {BYTES_MAX} bytes")
    return data.decode()
