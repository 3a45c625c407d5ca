"""Requests of `gralha schema` to a registry. An error becomes one sentence."""

import base64
import json
import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

from gralha.cli.program import CommandError

ENVIRONMENT: Final = "GRALHA_SCHEMA_REGISTRY"
ADDRESS_OF_UP: Final = "http://localhost:8081"
TIMEOUT_S: Final = 60.0
_CONTENT_TYPE: Final = "application/vnd.schemaregistry.v1+json"


def default_registry() -> str:
    return os.environ.get(ENVIRONMENT) or ADDRESS_OF_UP


class SchemaClient:
    """A registry, as one command uses it."""

    def __init__(self, url: str, user: str | None = None) -> None:
        self._url = url.rstrip("/")
        self._headers = {"accept": _CONTENT_TYPE, "content-type": _CONTENT_TYPE}
        if user is not None:
            self._headers["authorization"] = f"Basic {base64.b64encode(user.encode()).decode()}"

    def get(self, *parts: object, **query: object) -> Any:
        return self.ask("GET", parts, query)

    def ask(
        self, method: str, parts: tuple[object, ...], query: Mapping[str, object] = {}, body: Any = None
    ) -> Any:
        """The JSON of the answer. Raises CommandError."""
        path = "/".join(quote(str(part), safe=":") for part in parts)
        given = {name: str(value).lower() for name, value in query.items() if value not in (None, False)}
        url = f"{self._url}/{path}" + (f"?{urlencode(given)}" if given else "")
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, self._headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            raise CommandError(_reason(error)) from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise CommandError(
                f"No registry answers at {self._url}: {reason}. Start one with `gralha up` or `gralha "
                "registry`, or give its address with --registry"
            ) from None
        return json.loads(text) if text else None


def _reason(error: urllib.error.HTTPError) -> str:
    try:
        answer = json.loads(error.read())
        return f"{answer['message']} (error {answer['error_code']})"
    except (ValueError, KeyError, TypeError):
        return f"The registry answered with {error.code} {error.reason}"
