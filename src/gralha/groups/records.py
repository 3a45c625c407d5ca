"""Records of `__consumer_offsets`: what groups and their offsets leave behind."""

from typing import NamedTuple

from gralha.protocol.message import Message


class GroupRecord(NamedTuple):
    """A key and what is true of it from now on; no value: nothing any more (a tombstone)."""

    key: Message
    value: Message | None
