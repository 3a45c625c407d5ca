"""The parts of a message of confluent-kafka, for tests in which a message has all of them."""

from confluent_kafka import Message


def place_of(message: Message) -> tuple[int, int]:
    """Partition and offset."""
    partition, offset = message.partition(), message.offset()
    assert partition is not None
    assert offset is not None
    return partition, offset


def key_of(message: Message) -> bytes:
    key = message.key()
    assert isinstance(key, bytes)
    return key


def value_of(message: Message) -> bytes:
    value = message.value()
    assert isinstance(value, bytes)
    return value


def headers_of(message: Message) -> list[tuple[str, bytes | None]]:
    headers = message.headers() or []
    assert isinstance(headers, list)
    found: list[tuple[str, bytes | None]] = []
    for name, value in headers:
        assert not isinstance(value, str)
        found.append((name, value))
    return found


def header_values(message: Message) -> dict[str, bytes]:
    """The headers of a message, if each has a value."""
    found: dict[str, bytes] = {}
    for name, value in headers_of(message):
        assert value is not None
        found[name] = value
    return found
