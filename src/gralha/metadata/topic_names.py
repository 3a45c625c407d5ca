"""Which names a topic may have, and which of them are the cluster's own."""

from typing import Final

MAX_NAME_LENGTH: Final = 249
LEGAL_CHARACTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
CLUSTER_METADATA_TOPIC: Final = "__cluster_metadata"
OFFSETS_TOPIC: Final = "__consumer_offsets"
TRANSACTIONS_TOPIC: Final = "__transaction_state"
INTERNAL_TOPICS: Final = frozenset((OFFSETS_TOPIC, TRANSACTIONS_TOPIC, "__share_group_state"))


def invalid_reason(name: str) -> str | None:
    """Why a topic may not have this name, or None. Checked before a path is built from it."""
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
    """Topics that clients must not write to by themselves."""
    return name in INTERNAL_TOPICS


def unified_name(name: str) -> str | None:
    """The name with `.` as `_`, under which metrics would mix two topics up; None when it has neither."""
    if "." in name or "_" in name:
        return name.replace(".", "_")
    return None
