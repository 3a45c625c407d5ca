"""Parses lines of text as records, as Kafka's LineMessageReader does for the console producer.

A line is `headers <headers.delimiter> key <key.separator> value`. Headers and the key are present only if
`parse.headers` and `parse.key` are set. Headers are `name <headers.key.separator> value` pairs.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from gralha.cli.program import CommandError
from gralha.cli.properties import is_true

Headers = list[tuple[str, str | bytes | None]]


PROPERTIES: Final = (
    *("parse.key", "key.separator", "parse.headers", "headers.delimiter", "headers.separator"),
    *("headers.key.separator", "ignore.error", "null.marker"),
)


class LineRecord(NamedTuple):
    """The record of one line."""

    key: bytes | None
    value: bytes | None
    headers: Headers


class LineReader:
    """Parses lines by the reader's properties. Raises CommandError with the number of a wrong line."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self.parse_key = is_true(properties.get("parse.key", ""))
        self.key_separator = properties.get("key.separator", "\t")
        self.parse_headers = is_true(properties.get("parse.headers", ""))
        self.headers_delimiter = properties.get("headers.delimiter", "\t")
        self.headers_separator = properties.get("headers.separator", ",")
        self.headers_key_separator = properties.get("headers.key.separator", ":")
        self.ignore_error = is_true(properties.get("ignore.error", ""))
        self.null_marker = properties.get("null.marker")
        self.line_number = 0
        self._check_separators()
        # In Kafka only this property is a regular expression.
        self._headers_pattern = re.compile(self.headers_separator)

    def _check_separators(self) -> None:
        separators = {
            "headers.delimiter": self.headers_delimiter,
            "headers.separator": self.headers_separator,
            "headers.key.separator": self.headers_key_separator,
        }
        names = list(separators)
        for index, first in enumerate(names):
            for second in names[index + 1 :]:
                if separators[first] == separators[second]:
                    raise CommandError(f"{first} and {second} may not be equal")
        for name, separator in {"key.separator": self.key_separator, **separators}.items():
            if separator == self.null_marker:
                raise CommandError(f"null.marker and {name} may not be equal")

    def parse(self, line: str) -> LineRecord:
        """Parses one line, without its line break."""
        self.line_number += 1
        position = 0
        headers: str | None = None
        key: str | None = None
        if self.parse_headers:
            headers = self._take(line, position, self.headers_delimiter, "headers delimiter")
            if headers is not None:
                position += len(headers) + len(self.headers_delimiter)
        if self.parse_key:
            key = self._take(line, position, self.key_separator, "key separator")
            if key is not None:
                position += len(key) + len(self.key_separator)
        return LineRecord(self._bytes(key), self._bytes(line[position:]), self._split_headers(headers))

    def _take(self, line: str, start: int, separator: str, separator_name: str) -> str | None:
        end = line.find(separator, start)
        if end >= 0:
            return line[start:end]
        if self.ignore_error:
            return None
        raise CommandError(f"No {separator_name} found on line number {self.line_number}: '{line}'")

    def _bytes(self, text: str | None) -> bytes | None:
        if text is None or text == self.null_marker:
            return None
        return text.encode("utf-8", "surrogateescape")

    def _split_headers(self, headers: str | None) -> Headers:
        if headers is None or headers == self.null_marker:
            return []
        pairs = self._headers_pattern.split(headers)
        while len(pairs) > 1 and not pairs[-1]:
            pairs.pop()
        return [self._header(pair) for pair in pairs]

    def _header(self, pair: str) -> tuple[str, str | bytes | None]:
        name, separator, value = pair.partition(self.headers_key_separator)
        if not separator:
            if self.ignore_error:
                return pair, None
            raise CommandError(
                f"No header key separator found in pair '{pair}' on line number {self.line_number}"
            )
        if name == self.null_marker:
            raise CommandError(
                f"Header keys should not be equal to the null marker '{self.null_marker}' "
                "as they can't be null"
            )
        return name, self._bytes(value)
