"""Finds the stateful operators of a query, in Spark's analysed plan.

The state of a query is in its checkpoint. It fits only operators of the same kind, with the same keys and
values, in the same order. Spark compares only the stored types. It does not notice that a window of one
minute became a window of five, or that a sum became a maximum: it continues with wrong numbers. So this
module describes the operators in words. The manifest has the description, and it is compared before a start.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import DataFrame

from gralha.spark.versions import spark_version

# Column ids ("amount#12", "count#3L") and watermarks ("at#4-T10000ms") differ in every run.
IDS: Final = re.compile(r"#\d+L?(-T\d+ms)?")
# Random seeds differ, too: "rand(-8800311636925407752)", "uuid(Some(42))".
SEEDS: Final = re.compile(r"\b(randn?|uuid)\((?:-?\d+|Some\(-?\d+\))\)")
WINDOW_START_AND_SLIDE: Final = re.compile(r"LongType\) - (-?\d+)\) % (\d+)\)")
WINDOW_DURATION: Final = re.compile(r"END\) - 0\) \+ (\d+)\), LongType, Timestamp")
WINDOW_TYPE: Final = " STRUCT<START:TIMESTAMP"
SESSION_GAP: Final = re.compile(r"cast\(([^()]+) as interval\)")
UNITS: Final = (
    (86_400_000_000, "day"),
    (3_600_000_000, "hour"),
    (60_000_000, "minute"),
    (1_000_000, "second"),
)

KINDS: Final = {
    "Aggregate": "aggregate",
    "Join": "stream-stream join",
    "Deduplicate": "de-duplication",
    "DeduplicateWithinWatermark": "de-duplication within the watermark",
    "TransformWithStateInPySpark": "transformWithState",
    "TransformWithStateInPandas": "transformWithState",
    "FlatMapGroupsInPandasWithState": "applyInPandasWithState",
    "GlobalLimit": "limit",
}
# Before version 4.3 Spark's operators did not tell whether they have state. All that PySpark can make:
STATEFUL: Final = frozenset([*KINDS, "Distinct"])
TELLS_STATE: Final = (4, 3)


@dataclass(frozen=True)
class StatefulOperator:
    """An operator with state: its kind, its keys and its values."""

    kind: str
    keys: tuple[str, ...] = ()
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        text = self.kind
        if self.keys:
            text += f" by {', '.join(self.keys)}"
        if self.values:
            text += f": {', '.join(self.values)}"
        return text


def stateful_operators(rows: DataFrame) -> tuple[StatefulOperator, ...]:
    """The stateful operators of a streaming DataFrame, outermost first."""
    found: list[StatefulOperator] = []
    _walk(rows._jdf.queryExecution().analyzed(), found)
    return tuple(found)


def _walk(node: Any, found: list[StatefulOperator]) -> None:
    if is_stateful(node):
        found.append(_operator(node))
    for child in _items(node.children()):
        _walk(child, found)


def is_stateful(node: Any) -> bool:
    """Returns True if this operator of a plan has state."""
    return bool(node.isStateful()) if spark_version() >= TELLS_STATE else is_stateful_by_name(node)


def is_stateful_by_name(node: Any) -> bool:
    """The same without Spark's answer. A stream has state where its rows meet others of it or of a stream."""
    if str(node.nodeName()) not in STATEFUL or not node.isStreaming():
        return False
    return all(child.isStreaming() for child in _items(node.children()))


def _operator(node: Any) -> StatefulOperator:
    name = str(node.nodeName())
    kind = KINDS.get(name, name)
    match name:
        case "Aggregate":
            keys = [_key(one, node) for one in _items(node.groupingExpressions())]
            own = {_text(one) for one in _items(node.groupingExpressions())}
            sums = [_typed(one) for one in _items(node.aggregateExpressions()) if _text(one) not in own]
            return StatefulOperator(kind, tuple(keys), tuple(sums))
        case "Join":
            condition = node.condition()
            text = _text(condition.get()) if condition.isDefined() else ""
            sides = [_columns(node.left()), _columns(node.right())]
            return StatefulOperator(f"{kind} ({_text(node.joinType())})", (text,), tuple(sides))
        case "Deduplicate" | "DeduplicateWithinWatermark":
            return StatefulOperator(kind, tuple(_typed(one) for one in _items(node.keys())))
        case "TransformWithStateInPySpark" | "TransformWithStateInPandas":
            columns = _items(node.left().output())[: node.groupingAttributesLen()]
            mode = f"time mode {node.timeMode()}"
            return StatefulOperator(kind, tuple(_typed(one) for one in columns), (mode,))
        case "FlatMapGroupsInPandasWithState":
            keys = [_typed(one) for one in _items(node.groupingAttributes())]
            return StatefulOperator(kind, tuple(keys), (str(node.stateType().simpleString()),))
        case _:
            return StatefulOperator(kind, (_plain(str(node.simpleString(1_000))),))


def _key(expression: Any, aggregate: Any) -> str:
    """A grouping key. For a window it includes the length, which its type does not have."""
    text = _typed(expression)
    name = text.partition(" ")[0]
    if "window" not in name and WINDOW_TYPE not in text:
        return text
    made = _made_below(aggregate.child(), name)
    return f"{name} of {made}" if made else text


def _made_below(node: Any, name: str) -> str | None:
    """The length of a window, from the expressions below its aggregate."""
    while True:
        text = str(node.simpleString(1_000))
        if str(node.nodeName()) in ("Project", "Expand") and "precisetimestampconversion" in text:
            # A window that cannot be described is compared by Spark's text.
            return _window(text) or _plain(text.partition(f" AS {name}")[0])
        children = _items(node.children())
        if len(children) != 1 or is_stateful(node):
            return None
        node = children[0]


def _window(text: str) -> str | None:
    duration, found = WINDOW_DURATION.search(text), WINDOW_START_AND_SLIDE.search(text)
    if duration and found:
        start, slide = int(found[1]), int(found[2])
        every = "" if int(duration[1]) == slide else f" every {_interval(slide)}"
        begins = f" from {_interval(start)}" if start else ""
        return f"{_interval(int(duration[1]))}{every}{begins}"
    gap = SESSION_GAP.search(text)
    return f"gap {gap[1]}" if gap else None


def _interval(microseconds: int) -> str:
    for unit, name in UNITS:
        if microseconds % unit == 0:
            count = microseconds // unit
            return f"{count} {name}{'' if count == 1 else 's'}"
    return f"{microseconds / 1000:g} milliseconds"


def _typed(expression: Any) -> str:
    return f"{_text(expression)} {str(expression.dataType().simpleString()).upper()}"


def _columns(node: Any) -> str:
    return "(" + ", ".join(_typed(one) for one in _items(node.output())) + ")"


def _text(expression: Any) -> str:
    """An expression without its alias, because the name of a column does not matter for state."""
    is_alias = str(expression.getClass().getSimpleName()) == "Alias"
    return _plain(str((expression.child() if is_alias else expression).toString()))


def _plain(text: str) -> str:
    """Spark's text without the parts that differ in every run."""
    return SEEDS.sub(r"\1()", IDS.sub("", text))


def _items(sequence: Any) -> list[Any]:
    """A Scala sequence as a list."""
    return [sequence.apply(index) for index in range(sequence.size())]
