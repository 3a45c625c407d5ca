"""Names of subjects and contexts.

A subject `:.sales:orders-value` is the subject `orders-value` in the context `.sales`. A subject without
such a prefix is in the default context, which is named `.`. Each context has schema ids of its own. The
context `.__GLOBAL` has no schemas: its configuration and its mode hold for all contexts that have none.
"""

import re
from typing import Final, NamedTuple

DEFAULT_CONTEXT: Final = "."
GLOBAL_CONTEXT: Final = ".__GLOBAL"
CONTEXT_WILDCARD: Final = ":*:"
_PREFIX: Final = ":."
_RESERVED: Final = ("__GLOBAL", "__EMPTY")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Subject(NamedTuple):
    """The two parts of a subject's name."""

    context: str
    name: str

    @property
    def is_default_context(self) -> bool:
        return self.context == DEFAULT_CONTEXT

    @property
    def full(self) -> str:
        """The name with its context, unless that is the default context."""
        return context_prefix(self.context) + self.name


def split(full: str) -> Subject:
    """The context and the name of a subject."""
    if full.startswith(_PREFIX):
        context, _, name = full[1:].partition(":")
        return Subject(context, name)
    if full.startswith(CONTEXT_WILDCARD):
        return Subject("*", full[len(CONTEXT_WILDCARD) :])
    return Subject(DEFAULT_CONTEXT, full)


def context_of(full: str | None) -> str:
    return DEFAULT_CONTEXT if full is None else split(full).context


def context_prefix(context: str) -> str:
    """What precedes the names of a context's subjects. It also names the context in requests."""
    return "" if context == DEFAULT_CONTEXT else f":{context}:"


def normalized(full: str) -> str:
    """The one way to write a subject: the default context has no prefix."""
    return split(full).full


def prefix_of_path(context: str) -> str:
    """The prefix for a context in the path of a request: `/contexts/sales/subjects`.

    Raises ValueError if the name of the context has a colon.
    """
    context = context.removeprefix(":").removesuffix(":")
    if ":" in context:
        raise ValueError(f"Context name '{context}' cannot contain a colon")
    if not context.startswith(DEFAULT_CONTEXT):
        context = DEFAULT_CONTEXT + context
    return context_prefix(context)


def has_context(full: str) -> bool:
    return full.startswith((_PREFIX, CONTEXT_WILDCARD))


def within(parent: str | None, full: str) -> str:
    """The subject that a reference or an alias of `parent` means: in the parent's context, if it has none."""
    subject = split(full)
    if subject.is_default_context and parent is not None:
        return context_prefix(split(parent).context) + full
    return subject.full


def is_valid(full: str, *, for_settings: bool = False) -> bool:
    """Returns True if schemas (or, `for_settings`, a configuration and a mode) may have this subject."""
    if _CONTROL.search(full):
        return False
    subject = split(full)
    if subject.name in _RESERVED:
        return False
    return for_settings or subject.context != GLOBAL_CONTEXT


def is_context(full: str | None) -> bool:
    """Returns True if the name is that of a whole context."""
    return full is None or not split(full).name


def is_default(full: str | None) -> bool:
    """Returns True if the name is that of the whole default context."""
    return full is None or split(full) == (DEFAULT_CONTEXT, "")


def matches(wanted: str | None, full: str) -> bool:
    """Returns True if a subject is the wanted one, or in the wanted context."""
    if wanted is None or wanted == full:
        return True
    subject = split(wanted)
    return not subject.name and subject.context in (GLOBAL_CONTEXT, split(full).context)
