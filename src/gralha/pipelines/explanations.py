"""Explains the errors of Spark that users of pipelines meet most: what is wrong, and what to write instead.

Spark's own sentences are for programs that start their queries themselves, and name parts that a pipeline
does not have. All functions take text and return text.
"""

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Final

ACTION_ON_A_STREAM: Final = "Queries with streaming sources must be executed with writeStream.start()"
NO_SUCH_ATTRIBUTE: Final = "ATTRIBUTE_NOT_SUPPORTED"
QUOTED: Final = re.compile(r"`((?:[^`]|``)*)`")


def explained(condition: str | None, parameters: Mapping[str, str] | None, message: str) -> str | None:
    """A better sentence for an error of Spark, or None. The first two are its error class and its values."""
    values = parameters or {}
    if (condition or "").startswith("UNRESOLVED_COLUMN"):
        return no_column(_name(values.get("objectName", "")), columns_in(values.get("proposal", "")))
    if (condition or "").startswith("STREAMING_OUTPUT_MODE") and "without watermark" in message:
        return (
            "With output_mode='append' (the default) an aggregate needs a watermark: a row is written when "
            'it cannot change any more. Declare from_topic(..., watermark=("at", "10 seconds")) and group by '
            'a window of that column, or use output_mode="update".'
        )
    if message.startswith(ACTION_ON_A_STREAM):
        return (
            "The function describes what happens to each batch, and there are no rows when it is called. "
            "Leave out count(), collect(), show(), toPandas() and write, and return the DataFrame. "
            "To see rows, write a test: gralha pipeline test."
        )
    if message.startswith("Sorting is not supported on streaming"):
        return f"{message.rstrip('.')}. A topic has no order of rows: leave out orderBy()."
    return None


def no_column(name: str, columns: Sequence[str]) -> str:
    """The sentence about a missing column. `columns` are those that exist."""
    own = [one for one in columns if not one.startswith("_")] or list(columns)
    listed = f" The columns are {', '.join(own)}." if own else ""
    return f"There is no column {name}.{did_you_mean(name, columns)}{listed}"


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """` Did you mean ...?` if a known name is similar, or the only one with this beginning."""
    longer = [one for one in known if one.lower().startswith(name.lower())] if len(name) > 2 else []
    if len(longer) == 1:
        return f" Did you mean {longer[0]}?"
    near = difflib.get_close_matches(name.lower(), [one.lower() for one in known], n=1)
    return next((f" Did you mean {one}?" for one in known if near and one.lower() == near[0]), "")


def columns_in(proposal: str) -> list[str]:
    """The names in Spark's list of columns: "`a`, `t`.`b`"."""
    return [_name(part) for part in re.split(r",\s*(?=`)", proposal) if part.strip()]


def _name(quoted: str) -> str:
    parts = QUOTED.findall(quoted)
    return ".".join(part.replace("``", "`") for part in parts) if parts else quoted
