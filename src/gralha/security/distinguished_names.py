"""The subject of a certificate as text, exactly as Java writes it (RFC 2253).

ACLs of a Kafka cluster name principals such as `User:CN=alice,OU=Sales,O=Example`. They must mean the same
here, so the order, the escapes and the attributes without a short name follow Java's X500Principal.

Python's ssl gives the subject of a verified certificate without the types of its strings, which are needed.
So the few fields before the subject are read from the certificate's DER form here.
"""

from typing import Final, NamedTuple

_SEQUENCE: Final = 0x30
_VERSION: Final = 0xA0
# The attributes that have a short name in RFC 2253.
_SHORT_NAMES: Final = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
# The tags of strings: UTF8, Printable, T61, IA5, General, BMP. Java reads all of them as UTF-8.
_STRINGS: Final = (12, 19, 20, 22, 27, 30)
_ESCAPED: Final = ',=+<>#;"\\'


class _Element(NamedTuple):
    """One value of a DER encoding: its tag, its content, and both with the length."""

    tag: int
    content: bytes
    whole: bytes


def subject_of(certificate: bytes) -> str:
    """The subject of a certificate in DER form. Raises ValueError if it is malformed."""
    try:
        body = _elements(_elements(certificate)[0].content)[0]
        fields = _elements(body.content)
        if fields[0].tag == _VERSION:
            fields = fields[1:]
        subject = fields[4]  # after serial number, signature, issuer and validity
        names = [_relative_name(one.content) for one in _elements(subject.content)]
    except IndexError as error:
        raise ValueError(f"the certificate is malformed: {error}") from None
    return ",".join(reversed(names))


def _elements(data: bytes) -> list[_Element]:
    """The values that follow each other in `data`."""
    found = []
    position = 0
    while position < len(data):
        start = position
        tag, length = data[position], data[position + 1]
        position += 2
        if length >= 0x80:
            size = length & 0x7F
            length = int.from_bytes(data[position : position + size])
            position += size
        end = position + length
        if end > len(data):
            raise ValueError("the certificate is malformed: a length is too large")
        found.append(_Element(tag, data[position:end], data[start:end]))
        position = end
    return found


def _relative_name(content: bytes) -> str:
    attributes = []
    for attribute in _elements(content):
        kind, value = _elements(attribute.content)
        attributes.append(_attribute(_dotted(kind.content), value))
    return "+".join(attributes)


def _attribute(kind: str, value: _Element) -> str:
    short = _SHORT_NAMES.get(kind)
    if short is None or value.tag not in _STRINGS:
        return f"{short or kind}=#{value.whole.hex()}"
    return f"{short}={_escaped(value.content.decode('utf-8', 'replace'))}"


def _escaped(text: str) -> str:
    inner = text.strip(" ")
    escaped = "".join("\\00" if one == "\0" else f"\\{one}" if one in _ESCAPED else one for one in inner)
    if not inner:
        return "\\ " * len(text)
    before = len(text) - len(text.lstrip(" "))
    after = len(text) - len(text.rstrip(" "))
    return "\\ " * before + escaped + "\\ " * after


def _dotted(content: bytes) -> str:
    """An object identifier: the first number holds two parts, the others seven bits in each byte."""
    numbers = []
    number = 0
    for byte in content:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(number)
            number = 0
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, [first, numbers[0] - 40 * first, *numbers[1:]]))
