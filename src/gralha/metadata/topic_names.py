"""The names that a topic may have, and the names of internal topics."""

from typing import Final

MAX_NAME_LENGTH: Final = 249
LEGAL_CHARACTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
CLUSTER_METADATA_TOPIC: Final = "__cluster_metadata"
OFFSETS_TOPIC: Final = "__consumer_offsets"
TRANSACTIONS_TOPIC: Final = "__transaction_state"
INTERNAL_TOPICS: Final = frozenset((OFFSETS_TOPIC, TRANSACTIONS_TOPIC, "__share_group_state"))


def invalid_reason(name: str) -> str | None:
    """Why a topic may not have this name, or None. Check a name before building a path from it."""
    reason = _invalid_reason(name)
    return None if reason is None else f"Topic name is invalid: {reason}"


def _invalid_reason(name: str) -> str | None:
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > MAX_NAME_LENGTH:
        return f"the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}"
    if not LEGAL_CHARACTERS.issuperset(name):
        return f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None


def is_internal(name: str) -> bool:
    """Returns True for topics that clients must not write to."""
    return name in INTERNAL_TOPICS


def unified_name(name: str) -> str | None:
    """The name with `.` replaced by `_`, as metrics have it. None if the name has neither."""
    if "." in name or "_" in name:
        return name.replace(".", "_")
    return None
