"""The manifest beside a checkpoint: it describes the pipeline that wrote the checkpoint.

Spark continues from a checkpoint even if the query has changed, and fails later, or never notices. A manifest
is written when a pipeline starts. Before the next start it is compared with the current pipeline. Every
difference becomes a sentence, and says whether the pipeline can continue from the checkpoint.
"""

import json
import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Self

import pyspark

import gralha
from gralha.pipelines.building import Built
from gralha.pipelines.declaration import Output, TopicOutput
from gralha.pipelines.sources import Sources, sources
from gralha.pipelines.stateful import StatefulOperator, stateful_operators

VERSION: Final = 1


@dataclass(frozen=True)
class Change:
    """A difference since the last run: a sentence, and whether the checkpoint still fits."""

    sentence: str
    can_resume: bool


@dataclass(frozen=True)
class InputManifest:
    """An input at the time of the manifest."""

    name: str
    topics: tuple[str, ...]
    schema: str
    watermark: tuple[str, str] | None
    starting_offsets: str


@dataclass(frozen=True)
class Manifest:
    """Everything that a checkpoint depends on."""

    pipeline: str
    inputs: tuple[InputManifest, ...]
    stateful: tuple[StatefulOperator, ...]
    outputs: tuple[str, ...]
    output_mode: str
    output_schema: str
    shuffle_partitions: int
    state_store: str
    # The topics of each source, in Spark's order (sources.py). The offsets in the checkpoint have no names.
    sources: Sources = ()
    # The id of the cluster. "" if it is not known.
    cluster_id: str = ""
    gralha: str = gralha.__version__
    spark: str = pyspark.__version__
    # An id of the checkpoint. The folders of tables have it in their names.
    checkpoint_id: str = field(default_factory=lambda: uuid.uuid4().hex[:8])

    def to_json(self) -> str:
        """The text of manifest.json."""
        return json.dumps({"version": VERSION, **asdict(self)}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Parses the text of `to_json`. Raises ValueError if it is something else."""
        try:
            values = json.loads(text)
            if values.pop("version") != VERSION:
                raise ValueError("its version is not supported")
            values["inputs"] = tuple(_input(one) for one in values["inputs"])
            values["stateful"] = tuple(_operator(one) for one in values["stateful"])
            values["outputs"] = tuple(values["outputs"])
            values["sources"] = tuple(tuple(one) for one in values.get("sources", ()))
            return cls(**values)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{type(error).__name__}: {error}") from error

    def after(self, old: Self) -> Self:
        """The manifest for an existing checkpoint. If the cluster has no id, the old id stays."""
        return replace(self, checkpoint_id=old.checkpoint_id, cluster_id=self.cluster_id or old.cluster_id)


def manifest(built: Built, conf: Mapping[str, str], cluster_id: str = "") -> Manifest:
    """The manifest of a built pipeline. `conf` has the Spark settings of the start."""
    pipeline = built.pipeline
    return Manifest(
        pipeline=pipeline.name,
        inputs=tuple(
            InputManifest(
                name,
                tuple(sorted(one.topics)),
                built.schemas[name].simpleString(),
                one.watermark,
                one.starting_offsets,
            )
            for name, one in pipeline.inputs.items()
        ),
        stateful=stateful_operators(built.rows),
        outputs=tuple(describe(one) for one in pipeline.outputs),
        output_mode=pipeline.output_mode,
        output_schema=built.rows.schema.simpleString(),
        shuffle_partitions=int(conf["spark.sql.shuffle.partitions"]),
        state_store=conf["spark.sql.streaming.stateStore.providerClass"].rpartition(".")[2],
        sources=sources(built.rows),
        cluster_id=cluster_id,
    )


def describe(output: Output) -> str:
    """An output in the manifest: `topic sums`, `table /data (parquet, partitioned by day)`."""
    if isinstance(output, TopicOutput):
        return f"topic {output.topic}"
    by = f", partitioned by {_list(output.partition_by)}" if output.partition_by else ""
    return f"table {output.path.rstrip('/')} ({output.format}{by})"


def compare(old: Manifest, new: Manifest) -> list[Change]:
    """The differences between two manifests. Those that prevent a start come first."""
    parts = (_inputs(old, new), _state(old, new), _output(old, new), _environment(old, new))
    changes = [change for part in parts for change in part]
    return sorted(changes, key=lambda change: change.can_resume)


def _inputs(old: Manifest, new: Manifest) -> Iterator[Change]:
    if old.cluster_id and new.cluster_id and old.cluster_id != new.cluster_id:
        yield Change(
            f"The checkpoint was made with the cluster {old.cluster_id}, but this is {new.cluster_id}: "
            "offsets of one cluster mean nothing in another. Is --bootstrap-server right?",
            can_resume=False,
        )
    before, after = [one.name for one in old.inputs], [one.name for one in new.inputs]
    if len(before) != len(after):
        yield Change(
            f"The pipeline had the inputs {_list(before)} and now has {_list(after)}: the offsets in the "
            "checkpoint belong to the old ones.",
            can_resume=False,
        )
        return
    for was, now in zip(old.inputs, new.inputs, strict=True):
        yield from _input_changes(was, now, is_stateful=bool(new.stateful))
    if all(set(was.topics) <= set(now.topics) for was, now in zip(old.inputs, new.inputs, strict=True)):
        yield from _order(old.sources, new.sources)


def _order(was: Sources, now: Sources) -> Iterator[Change]:
    fits = len(was) == len(now) and all(set(one) <= set(other) for one, other in zip(was, now, strict=True))
    if was and not fits:  # manifests of older versions do not have it
        before, after = (", then ".join(_list(one) for one in some) for some in (was, now))
        yield Change(
            f"The query read {before} and now reads {after}: "
            "the offsets in the checkpoint have the old order, and no names.",
            can_resume=False,
        )


def _input_changes(was: InputManifest, now: InputManifest, *, is_stateful: bool) -> Iterator[Change]:
    if was.topics != now.topics:
        # New topics are read from their start. A checkpoint with a removed topic cannot be used.
        yield Change(
            f"Input {now.name} read {_list(was.topics)} and now reads {_list(now.topics)}"
            + (": the new ones are read from their start." if set(was.topics) < set(now.topics) else "."),
            can_resume=set(was.topics) < set(now.topics),
        )
    elif was.name != now.name:
        yield Change(f"Input {was.name} is called {now.name} now.", can_resume=True)
    if was.schema != now.schema:
        yield Change(
            f"The schema of input {now.name} changed: {_columns_changed(was.schema, now.schema)}.",
            can_resume=True,
        )
    if was.watermark != now.watermark:
        yield Change(
            f"The watermark of input {now.name} was {_watermark(was.watermark)} and is "
            f"{_watermark(now.watermark)} now"
            + ("; the new one counts for new rows." if is_stateful else "."),
            can_resume=not is_stateful or bool(was.watermark and now.watermark),
        )
    if was.starting_offsets != now.starting_offsets:
        yield Change(
            f"Input {now.name} would start from {now.starting_offsets}, but its checkpoint counts.",
            can_resume=True,
        )


def _state(old: Manifest, new: Manifest) -> Iterator[Change]:
    if len(old.stateful) != len(new.stateful):
        before, after = _operators(old.stateful), _operators(new.stateful)
        yield Change(
            f"The state between batches changed: it was {before}, now it is {after}.",
            can_resume=False,
        )
        return
    for was, now in zip(old.stateful, new.stateful, strict=True):
        if was != now:
            yield Change(f"The state was {was}, now it would be {now}.", can_resume=False)
    if new.stateful and old.state_store != new.state_store:
        yield Change(
            f"The state was written by {old.state_store}, and {new.state_store} cannot read it.",
            can_resume=False,
        )


def _output(old: Manifest, new: Manifest) -> Iterator[Change]:
    before, after = _by_path(old.outputs), _by_path(new.outputs)
    yield from _tables(before, after)
    if before.keys() != after.keys():
        yield Change(
            f"The output was {_list(sorted(before))} and is {_list(sorted(after))} now: "
            "rows that were written before stay there.",
            can_resume=True,
        )
    if old.output_schema != new.output_schema:
        changed = _columns_changed(old.output_schema, new.output_schema)
        yield Change(f"The rows that are written changed: {changed}.", can_resume=True)
    if old.output_mode != new.output_mode:
        yield Change(
            f"output_mode was {old.output_mode!r} and is {new.output_mode!r} now.",
            can_resume=not new.stateful,
        )


def _tables(before: dict[str, str], after: dict[str, str]) -> Iterator[Change]:
    """Tables with the same path, but with another format or other partition columns."""
    for path in before.keys() & after.keys():
        if before[path] and before[path] != after[path]:
            yield Change(
                f"The {path} was {before[path]} and would be {after[path]} now; "
                "a table with both cannot be read.",
                can_resume=False,
            )


def _by_path(outputs: tuple[str, ...]) -> dict[str, str]:
    """The format of each output by its path. Empty for topics, and for outputs of older manifests."""
    parts = (one.rpartition(" (") if one.endswith(")") else (one, "", "") for one in outputs)
    return {path: shape.removesuffix(")") for path, _, shape in parts}


def _environment(old: Manifest, new: Manifest) -> Iterator[Change]:
    if _numbers(new.spark) < _numbers(old.spark):
        yield Change(
            f"The checkpoint was written by Spark {old.spark}, which is newer than this one, {new.spark}.",
            can_resume=False,
        )
    elif old.spark != new.spark:
        yield Change(f"Spark was {old.spark} and is {new.spark} now.", can_resume=True)
    if old.gralha != new.gralha:
        yield Change(f"Gralha was {old.gralha} and is {new.gralha} now.", can_resume=True)
    if new.stateful and old.shuffle_partitions != new.shuffle_partitions:
        yield Change(
            f"The state has {old.shuffle_partitions} partitions and keeps them; "
            f"spark.sql.shuffle.partitions={new.shuffle_partitions} has no effect here.",
            can_resume=True,
        )


def _columns_changed(was: str, now: str) -> str:
    """The differences between the columns of two struct types."""
    before, after = columns_of(was), columns_of(now)
    gone = [name for name in before if name not in after]
    new = [f"{name} {after[name]}" for name in after if name not in before]
    other = [
        f"{name} was {before[name]} and is {after[name]}"
        for name in before
        if name in after and before[name] != after[name]
    ]
    parts = [f"{_list(gone)} is gone" if gone else "", f"{_list(new)} is new" if new else "", *other]
    return "; ".join(part for part in parts if part) or "the order of the columns"


def columns_of(struct: str) -> dict[str, str]:
    """The outer columns of `struct<a:int,b:struct<c:string>>`."""
    inner = struct.removeprefix("struct<").removesuffix(">")
    columns: list[str] = [""]
    depth = 0
    for character in inner:
        depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0:
            columns.append("")
        else:
            columns[-1] += character
    return {name: kind.upper() for name, _, kind in (one.partition(":") for one in columns if one)}


def _operators(operators: tuple[StatefulOperator, ...]) -> str:
    return " and ".join(str(one) for one in operators) or "nothing"


def _watermark(watermark: tuple[str, str] | None) -> str:
    return "none" if watermark is None else f"{watermark[0]}, {watermark[1]}"


def _list(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(names)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def _input(values: dict[str, Any]) -> InputManifest:
    watermark = values["watermark"]
    return InputManifest(
        **{
            **values,
            "topics": tuple(values["topics"]),
            "watermark": None if watermark is None else (watermark[0], watermark[1]),
        }
    )


def _operator(values: dict[str, Any]) -> StatefulOperator:
    return StatefulOperator(values["kind"], tuple(values["keys"]), tuple(values["values"]))
