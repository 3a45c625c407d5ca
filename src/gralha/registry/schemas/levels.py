"""Compatibility levels: which of the previous schemas a new one is compared with, and in which direction."""

from collections.abc import Sequence

from gralha.registry.schemas.interface import STRICT, ParsedSchema, fill

NONE = "NONE"
BACKWARD = "BACKWARD"
BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
FORWARD = "FORWARD"
FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
FULL = "FULL"
FULL_TRANSITIVE = "FULL_TRANSITIVE"
LEVELS = (NONE, BACKWARD, BACKWARD_TRANSITIVE, FORWARD, FORWARD_TRANSITIVE, FULL, FULL_TRANSITIVE)

DIFFERENT_TYPE = "Incompatible because of different schema type"
# Messages quote at most so many characters of the old schema.
OLD_SCHEMA_MAX = 10 * 1024


def problems(
    level: str,
    new: ParsedSchema,
    previous: Sequence[tuple[int, ParsedSchema]],
    *,
    policy: str = STRICT,
    validate_fields: bool = False,
) -> list[str]:
    """Reasons why the new schema breaks the level, or an empty list. The previous versions are oldest first.

    The newest version that the new schema does not fit decides. A level that is not transitive looks only at
    the newest version. `policy` is Confluent's compatibilityPolicy. `validate_fields` only appears in the
    last message.
    """
    if level == NONE or not previous:
        return []
    compared = previous if level.endswith("_TRANSITIVE") else previous[-1:]
    for version, old in reversed(compared):
        found = _problems_with(level.removesuffix("_TRANSITIVE"), new, version, old, policy)
        if found:
            fields = "true" if validate_fields else "false"
            return [*found, f"{{validateFields: '{fields}', compatibility: '{level}'}}"]
    return []


def _problems_with(
    direction: str, new: ParsedSchema, version: int, old: ParsedSchema, policy: str
) -> list[str]:
    if new.schema_type != old.schema_type:
        return [DIFFERENT_TYPE]
    forward: list[str] = []
    backward: list[str] = []
    if direction in (FORWARD, FULL):
        forward = [fill(template, "old", "new") for template in old.templates(new, policy)]
    if direction in (BACKWARD, FULL):
        backward = [fill(template, "new", "old") for template in new.templates(old, policy)]
    # Confluent quotes the old schema after the problems of one direction only: for FULL, of BACKWARD.
    if backward or (forward and direction == FORWARD):
        return [*forward, *backward, f"{{oldSchemaVersion: {version}}}", _quoted(old.canonical)]
    return forward


def _quoted(text: str) -> str:
    if len(text) <= OLD_SCHEMA_MAX:
        return f"{{oldSchema: '{text}'}}"
    return f"{{oldSchema: <truncated> '{text[:OLD_SCHEMA_MAX]}...'}}"
