"""The differences of two JSON schemas, as Confluent's registry finds them.

The original is the older schema, and the update is the newer one, which reads the older one's data. A pair
of schemas is compared once. A pair inside of itself counts as compatible, unless an earlier pass found that
it is not: the comparison is repeated until no pass finds another incompatible pair.

The comparison runs on a stack of generators of its own, because definitions may refer to each other in
chains that are longer than Python's stack.
"""

from collections.abc import Generator

from gralha.registry.schemas.interface import TOO_LARGE
from gralha.registry.schemas.json_schema.arrays import compare_arrays
from gralha.registry.schemas.json_schema.differences import Difference, compatible_kinds
from gralha.registry.schemas.json_schema.matching import largest_matching
from gralha.registry.schemas.json_schema.model import (
    ALL,
    ANY,
    ARRAY,
    COMBINED,
    CONST,
    ENUM,
    FALSE,
    NOT,
    NUMBER,
    OBJECT,
    ONE,
    STRING,
    Node,
    frozen,
    referred,
)
from gralha.registry.schemas.json_schema.objects import compare_objects
from gralha.registry.schemas.json_schema.scalars import compare_numbers, compare_strings
from gralha.registry.schemas.json_schema.steps import Collected, Found, Step, below

# Pairs that a comparison looks at before it gives up.
STEPS_MAX = 500_000
# Compatible differences that are kept for each pair of parts.
_SHOWN_MAX = 20


class TooLargeError(Exception):
    """The schemas need too many steps."""


def templates(original: Node, update: Node, policy: str) -> list[str]:
    """The incompatible differences in Confluent's words."""
    compatible = compatible_kinds(policy)
    try:
        found = differences(original, update, policy)
    except TooLargeError:
        return [TOO_LARGE]
    return [difference.template() for difference in found if difference.kind not in compatible]


def differences(original: Node, update: Node, policy: str) -> Found:
    """All differences, also the compatible ones."""
    known: dict[tuple[int, int], Found] = {}
    steps = 0
    while True:
        comparison = Comparison(policy, known, STEPS_MAX - steps)
        found = comparison.run(original, update)
        steps += comparison.steps
        incompatible = comparison.incompatible_pairs()
        if not comparison.assumed or incompatible.keys() == known.keys():
            return found
        known = incompatible


class Comparison:
    """One pass over two schemas."""

    def __init__(self, policy: str, known: dict[tuple[int, int], Found], steps_max: int) -> None:
        self._compatible = compatible_kinds(policy)
        self._known = known
        self._results: dict[tuple[int, int], Found | None] = {}
        self._steps_max = steps_max
        self.steps = 0
        # Whether a pair inside of itself was taken for compatible.
        self.assumed = False

    def is_compatible(self, found: Found) -> bool:
        """Whether all differences are compatible."""
        return all(difference.kind in self._compatible for difference in found)

    def incompatible_pairs(self) -> dict[tuple[int, int], Found]:
        """The pairs that are not compatible, and why."""
        return {
            pair: found
            for pair, found in self._results.items()
            if found is not None and not self.is_compatible(found)
        }

    def run(self, original: Node, update: Node) -> Found:
        """The differences between the two roots."""
        stack: list[tuple[tuple[int, int], Step]] = []
        asked: tuple[Node, Node] | None = (original, update)
        answer: Found = ()
        while True:
            if asked is not None:
                first, second = referred(asked[0]), referred(asked[1])
                pair = (id(first), id(second))
                earlier = self._earlier(pair)
                if earlier is not None:
                    answer, asked = earlier, None
                else:
                    self._results[pair] = None
                    stack.append((pair, self._compare(first, second)))
            try:
                step = stack[-1][1]
                asked = next(step) if asked is not None else step.send(answer)
            except StopIteration as done:
                pair, _ = stack.pop()
                collected = Collected(self)
                collected.add(done.value)
                self._results[pair] = answer = collected.all()
                asked = None
                if not stack:
                    return answer

    def _earlier(self, pair: tuple[int, int]) -> Found | None:
        self.steps += 1
        if self.steps > self._steps_max:
            raise TooLargeError
        if pair not in self._results:
            return None
        found = self._results[pair]
        if found is not None:
            return found
        if pair not in self._known:
            self.assumed = True
        return self._known.get(pair, ())

    def _compare(self, original: Node, update: Node) -> Step:
        alternative = yield from self._compare_with_parts(original, update)
        if alternative is not None:
            return alternative
        if original.kind != update.kind:
            if original.kind == FALSE or update.is_empty:
                return ()
            if original.connect_type == "bytes" == update.connect_type:
                return ()
            return (Difference("TYPE_CHANGED", ()),)
        found: Found = _common(original, update)
        kind = original.kind
        if kind == STRING:
            return found + compare_strings(original, update)
        if kind == NUMBER:
            return found + compare_numbers(original, update)
        if kind in (ENUM, CONST):
            return found + _compare_values(original, update)
        if kind == COMBINED:
            return found + (yield from self._compare_combined(original, update))
        if kind == NOT:
            return found + (yield from self._compare_not(original, update))
        if kind == OBJECT:
            return found + (yield from compare_objects(self, original, update))
        if kind == ARRAY:
            return found + (yield from compare_arrays(self, original, update))
        return found

    def _compare_with_parts(
        self, original: Node, update: Node
    ) -> Generator[tuple[Node, Node], Found, Found | None]:
        """The result if one of the two is combined and a part of it fits the other one."""
        criteria: tuple[str, ...]
        if original.kind != COMBINED and update.kind == COMBINED:
            combined, difference, criteria = update, "SUM_TYPE_EXTENDED", (ANY, ONE)
        elif original.kind == COMBINED and update.kind != COMBINED:
            combined, difference, criteria = original, "PRODUCT_TYPE_NARROWED", (ALL,)
        else:
            return None
        is_single = len(combined.parts) == 1
        if not is_single and combined.criterion not in criteria:
            return None
        for part in combined.parts:
            found = yield (original, part) if combined is update else (part, update)
            if self.is_compatible(found):
                return found if is_single else (*found, Difference(difference, ()))
        return None

    def _compare_combined(self, original: Node, update: Node) -> Step:
        found = _compare_criteria(original, update)
        if any(difference.kind == "COMBINED_TYPE_CHANGED" for difference in found):
            return found
        first, second = _distinct(original.parts), _distinct(update.parts)
        if len(first) < len(second):
            kind = "PRODUCT_TYPE_EXTENDED" if update.criterion == ALL else "SUM_TYPE_EXTENDED"
            found += (Difference(kind, ()),)
        elif len(first) > len(second):
            kind = "SUM_TYPE_NARROWED" if original.criterion in (ANY, ONE) else "PRODUCT_TYPE_NARROWED"
            found += (Difference(kind, ()),)
        edges: dict[int, dict[int, Found]] = {}
        for index, part in enumerate(first):
            for other_index, other in enumerate(second):
                between = yield (part, other)
                if self.is_compatible(between):
                    path = f"{original.criterion}/{index}"
                    edges.setdefault(index, {})[other_index] = below(between[:_SHOWN_MAX], path)
        matching = largest_matching(len(first), {index: list(others) for index, others in edges.items()})
        collected = Collected(self)
        collected.add(found)
        for index, other_index in sorted(matching.items()):
            collected.add(edges[index][other_index])
        if len(matching) < min(len(first), len(second)):
            collected.add((Difference("COMBINED_TYPE_SUBSCHEMAS_CHANGED", ()),))
        return collected.all()

    def _compare_not(self, original: Node, update: Node) -> Step:
        # What the update refuses must be less than what the original refuses.
        found = yield (update.parts[0], original.parts[0])
        kind = "NOT_TYPE_NARROWED" if self.is_compatible(found) else "NOT_TYPE_EXTENDED"
        return (Difference(kind, ("not",)),)


def _common(original: Node, update: Node) -> Found:
    found = []
    if original.id != update.id:
        found.append(Difference("ID_CHANGED", ()))
    if original.title != update.title:
        found.append(Difference("TITLE_CHANGED", ()))
    if original.description != update.description:
        found.append(Difference("DESCRIPTION_CHANGED", ()))
    if frozen(original.default) != frozen(update.default):
        found.append(Difference("DEFAULT_CHANGED", ()))
    return tuple(found)


def _compare_values(original: Node, update: Node) -> Found:
    old = {frozen(value) for value in original.values}
    new = {frozen(value) for value in update.values}
    if old == new:
        return ()
    if original.kind == CONST:
        return (Difference("ENUM_ARRAY_CHANGED", ("const",)),)
    if old < new:
        return (Difference("ENUM_ARRAY_EXTENDED", ("enum",)),)
    return (Difference("ENUM_ARRAY_NARROWED" if new < old else "ENUM_ARRAY_CHANGED", ("enum",)),)


def _compare_criteria(original: Node, update: Node) -> Found:
    old, new = original.criterion, update.criterion
    if old == new:
        return ()
    from_one, to_one = len(original.parts) == 1, len(update.parts) == 1
    extended = new == ANY or (from_one and (to_one or new == ONE)) or (to_one and old == ALL)
    return (Difference("COMBINED_TYPE_EXTENDED" if extended else "COMBINED_TYPE_CHANGED", ()),)


def _distinct(parts: list[Node]) -> list[Node]:
    """The parts without those that are written in the same way as an earlier one."""
    written: dict[object, Node] = {}
    for part in parts:
        written.setdefault(part.fingerprint(), part)
    return list(written.values())
