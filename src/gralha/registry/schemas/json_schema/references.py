"""Where a `$ref` leads: inside of the schema, to a registered reference, or to a schema of a draft.

Nothing is fetched. A reference is found by the name under which it is registered, relative to the schema's
`$id`, or by its own `$id`.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin

from gralha.registry.schemas.interface import InvalidSchemaError
from gralha.registry.schemas.json_text import read_json

_DRAFTS = ("http://json-schema.org/", "https://json-schema.org/")
_RELATIVE = "http://registered.invalid/"
_KEYWORDS_WITH_VALUES = ("enum", "const", "default", "examples")


class Place(NamedTuple):
    """A part of a document, and the address that references in it are relative to."""

    value: Any
    base: str


class References:
    """All documents that a schema may refer to."""

    def __init__(self, root: Any, resolved: Mapping[str, str], id_keyword: str) -> None:
        self._id = id_keyword
        self._places: dict[str, Place] = {}
        self.base = _id_of(root, id_keyword, _RELATIVE)
        for name, text in resolved.items():
            document = _with_defs(read_json(text))
            for base in {self.base, _RELATIVE}:
                self._index(document, _joined(base, name))
        self.root = _with_defs(root)
        self._index(self.root, self.base)

    def resolve(self, reference: str, base: str) -> Place | None:
        """The place of a reference. None is a schema of a draft itself, which every schema fits."""
        address, fragment = urldefrag(_joined(base, reference))
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            place = self._places.get(f"{address}#{fragment}")
        else:
            place = self._places.get(address)
        if place is None and address.startswith(_DRAFTS):
            return None
        if place is None:
            raise InvalidSchemaError(f"The reference '{reference}' leads to no registered schema.")
        if fragment.startswith("/"):
            return self._pointed(place, fragment, reference)
        return place

    def _pointed(self, place: Place, pointer: str, reference: str) -> Place:
        value, base = place
        for part in pointer.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(value, list) and key.isascii() and key.isdigit() and int(key[:9]) < len(value):
                value = value[int(key[:9])]
            elif isinstance(value, dict) and key in value:
                value = value[key]
            else:
                raise InvalidSchemaError(f"The reference '{reference}' leads to nothing.")
            base = _id_of(value, self._id, base)
        return Place(value, base)

    def base_of(self, value: Any, base: str) -> str:
        """The address that references inside of a schema are relative to."""
        return _id_of(value, self._id, base)

    def _index(self, document: Any, address: str) -> None:
        """Notes the document, and the parts of it that have an address of their own."""
        self._places.setdefault(address, Place(document, _id_of(document, self._id, address)))
        pending = [Place(document, address)]
        while pending:
            value, base = pending.pop()
            if isinstance(value, list):
                pending.extend(Place(item, base) for item in value)
            if not isinstance(value, dict):
                continue
            own = value.get(self._id)
            if isinstance(own, str):
                whole = _joined(base, own)
                base = urldefrag(whole)[0]
                self._places.setdefault(whole.removesuffix("#"), Place(value, base))
            for keyword in ("$anchor", "$dynamicAnchor"):
                if isinstance(value.get(keyword), str):
                    self._places.setdefault(f"{urldefrag(base)[0]}#{value[keyword]}", Place(value, base))
            pending.extend(
                Place(item, base)
                for key, item in value.items()
                if isinstance(item, dict | list) and key not in _KEYWORDS_WITH_VALUES
            )


def _id_of(value: Any, keyword: str, base: str) -> str:
    own = value.get(keyword) if isinstance(value, dict) else None
    return urldefrag(_joined(base, own))[0] if isinstance(own, str) else base


def _joined(base: str, reference: str) -> str:
    try:
        return urljoin(base, reference)
    except ValueError:
        raise InvalidSchemaError(f"The address '{reference}' is not valid.") from None


def _with_defs(document: Any) -> Any:
    """The document with its definitions under `$defs`, too: Confluent allows both ways to refer to them."""
    if not isinstance(document, dict) or not isinstance(document.get("definitions"), dict):
        return document
    existing = document.get("$defs", {})
    if not isinstance(existing, dict):
        return document
    return {**document, "$defs": {**document["definitions"], **existing}}
