"""Plans a pipeline without running it. `gralha pipeline plan` prints the plan.

The plan uses the same code as a run: it looks up the topics, calls the function with streaming DataFrames,
lets Spark analyse the result, and reads the checkpoint. A problem is a sentence, and a plan with problems
cannot start. All problems are found at once, so that a person can fix them together.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from gralha.pipelines.building import Built, build
from gralha.pipelines.checkpoints import Checkpoint, inspect
from gralha.pipelines.configuration import conf_of, configured, kafka_settings
from gralha.pipelines.declaration import AVAILABLE_NOW, Output, Pipeline, TopicOutput
from gralha.pipelines.errors import PipelineError
from gralha.pipelines.folders import folder, full_path, usable
from gralha.pipelines.inputs import row_schema
from gralha.pipelines.manifests import Change, Manifest, compare, manifest
from gralha.pipelines.stateful import StatefulOperator
from gralha.pipelines.topics import topics_of
from gralha.spark.checkpoint_files import is_on_this_machine
from gralha.spark.options import BATCH_LIMITS
from gralha.spark.session import is_on_this_machine as master_is_here
from gralha.spark.versions import LIMITS_BATCHES, ends_early, spark_version

if TYPE_CHECKING:
    from gralha.pipelines.running import RunOptions

Verdict = Literal["new", "resume", "cannot resume"]

__all__ = ["Change", "InputPlan", "OutputPlan", "Plan", "StatefulOperator", "TopicPlan", "Verdict", "plan"]


@dataclass(frozen=True)
class TopicPlan:
    """A topic that a pipeline reads or writes. `partitions` is None if it does not exist yet."""

    topic: str
    partitions: int | None


@dataclass(frozen=True)
class InputPlan:
    """An input of the plan. `schema` is the DDL of the columns that the function gets."""

    name: str
    topics: tuple[TopicPlan, ...]
    schema: str
    watermark: tuple[str, str] | None


@dataclass(frozen=True)
class OutputPlan:
    """An output of the plan. `topic` is None for a table."""

    description: str
    topic: TopicPlan | None


@dataclass(frozen=True)
class Plan:
    """The plan of a pipeline."""

    pipeline: Pipeline
    inputs: tuple[InputPlan, ...] = ()
    outputs: tuple[OutputPlan, ...] = ()
    dead_letters: TopicPlan | None = None
    output_schema: str | None = None
    stateful: tuple[StatefulOperator, ...] = ()
    checkpoint: str = ""
    verdict: Verdict = "new"
    # The first batch of a query that continues.
    next_batch: int = 0
    changes: tuple[Change, ...] = ()
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = field(default=())
    # The new manifest. None if the pipeline could not be built.
    manifest: Manifest | None = None
    # The pipeline that was built for the plan. The first start uses it.
    built: Built | None = field(default=None, repr=False, compare=False)

    @property
    def can_start(self) -> bool:
        return not self.problems


def plan(pipeline: Pipeline, session: SparkSession, options: "RunOptions") -> Plan:
    """Makes the plan of a pipeline. Errors that a person can fix do not raise: see `problems`."""
    problems: list[str] = []
    kafka = kafka_settings(pipeline, options)
    cluster_id, partitions, has_group = _topics(pipeline, kafka, problems)
    conf = conf_of(pipeline, session)
    inputs = _inputs(pipeline, session, partitions)
    built = _built(pipeline, session, conf, kafka, problems)
    checkpoint = _checkpoint(pipeline, session, options, problems)
    new = manifest(built, conf, cluster_id) if built is not None else None
    changes = _changes(checkpoint, new)
    problems += _checkpoint_problems(pipeline, checkpoint, changes)
    if new is not None and checkpoint.manifest is not None:
        new = new.after(checkpoint.manifest)
    dead_letters = pipeline.dead_letters if _has_schema(pipeline) else None
    return Plan(
        pipeline=pipeline,
        inputs=inputs,
        outputs=tuple(_output(one, partitions) for one in pipeline.outputs),
        dead_letters=TopicPlan(dead_letters, partitions.get(dead_letters)) if dead_letters else None,
        # Whether Spark thinks that a computed column can be null is nobody's declaration.
        output_schema=ddl(built.rows.schema, is_declared=False) if built is not None else None,
        stateful=new.stateful if new is not None else (),
        checkpoint=_path(pipeline, options),
        verdict=_verdict(checkpoint, changes),
        next_batch=checkpoint.next_batch,
        changes=tuple(changes),
        problems=tuple(problems),
        warnings=(
            *_warnings(session, options, new, checkpoint),
            *_forgotten(pipeline, options, checkpoint, has_group=has_group),
            *_too_early(pipeline, options),
        ),
        manifest=new,
        built=built,
    )


def _topics(
    pipeline: Pipeline, kafka: Mapping[str, str], problems: list[str]
) -> tuple[str, dict[str, int | None], bool]:
    """The cluster's id, the partitions of all topics, and whether the pipeline's consumer group exists.

    Adds a problem for every missing input topic.
    """
    try:
        with topics_of(kafka) as topics:
            found = topics.partitions(pipeline.topics, "READ")
            found |= topics.partitions(written_topics(pipeline), "WRITE")
            missing = [name for name in pipeline.topics if found[name] is None]
            problems += [f"pipeline {pipeline.name}: {topics.missing(name)}" for name in missing]
            return topics.cluster_id(), found, topics.has_group(pipeline.name)
    except PipelineError as error:
        problems.append(f"pipeline {pipeline.name}: {error}")
        return "", {}, False


def _built(
    pipeline: Pipeline,
    session: SparkSession,
    conf: Mapping[str, str],
    kafka: Mapping[str, str],
    problems: list[str],
) -> Built | None:
    """The pipeline on the session. None, with a problem, if it cannot be built."""
    try:
        with configured(session, conf):
            return _build(pipeline, session, kafka, problems)
    except PipelineError as error:
        problems.append(f"pipeline {pipeline.name}: {error}")
        return None


def _build(
    pipeline: Pipeline, session: SparkSession, kafka: Mapping[str, str], problems: list[str]
) -> Built | None:
    try:
        return build(pipeline, session, kafka)
    except PipelineError as error:
        problems.append(str(error))
        return None


def _checkpoint(
    pipeline: Pipeline, session: SparkSession, options: "RunOptions", problems: list[str]
) -> Checkpoint:
    """The checkpoint. A new one, with a problem, if its folder cannot be read."""
    try:
        with usable(options.checkpoints):
            place = folder(_path(pipeline, options), session)
            return Checkpoint() if options.fresh else inspect(place)
    except PipelineError as error:
        problems.append(f"pipeline {pipeline.name}: {error}")
        return Checkpoint()


def _path(pipeline: Pipeline, options: "RunOptions") -> str:
    return full_path(f"{options.checkpoints.rstrip('/')}/{pipeline.name}")


def written_topics(pipeline: Pipeline) -> list[str]:
    """The topics that a pipeline writes to, with dead letters."""
    names = [one.topic for one in pipeline.outputs if isinstance(one, TopicOutput)]
    if pipeline.dead_letters is not None and _has_schema(pipeline):
        names.append(pipeline.dead_letters)
    return names


def _has_schema(pipeline: Pipeline) -> bool:
    return any(one.schema is not None for one in pipeline.inputs.values())


def _inputs(
    pipeline: Pipeline, session: SparkSession, partitions: Mapping[str, int | None]
) -> tuple[InputPlan, ...]:
    plans = []
    for name, declared in pipeline.inputs.items():
        try:
            schema = ddl(row_schema(declared, session))
        except PipelineError:
            schema = str(declared.schema)  # building reports what is wrong with it
        topics = tuple(TopicPlan(topic, partitions.get(topic)) for topic in declared.topics)
        plans.append(InputPlan(name, topics, schema, declared.watermark))
    return tuple(plans)


def _output(output: Output, partitions: Mapping[str, int | None]) -> OutputPlan:
    topic = TopicPlan(output.topic, partitions.get(output.topic)) if isinstance(output, TopicOutput) else None
    return OutputPlan(str(output), topic)


def _changes(checkpoint: Checkpoint, new: Manifest | None) -> list[Change]:
    if checkpoint.manifest is None or new is None:
        return []
    return compare(checkpoint.manifest, new)


def _checkpoint_problems(pipeline: Pipeline, checkpoint: Checkpoint, changes: list[Change]) -> list[str]:
    advice = "Start again with --fresh (it moves the old checkpoint away)"
    if checkpoint.broken is not None:
        return [f"pipeline {pipeline.name}: {checkpoint.broken} {advice}, or restore a copy of it."]
    return [
        f"pipeline {pipeline.name}: {change.sentence} The checkpoint does not fit any more. "
        f"{advice}, or change the pipeline back."
        for change in changes
        if not change.can_resume
    ]


def _verdict(checkpoint: Checkpoint, changes: list[Change]) -> Verdict:
    if checkpoint.is_new:
        return "new"
    fits = checkpoint.broken is None and all(change.can_resume for change in changes)
    return "resume" if fits else "cannot resume"


def _warnings(
    session: SparkSession, options: "RunOptions", new: Manifest | None, checkpoint: Checkpoint
) -> list[str]:
    warnings = []
    if is_on_this_machine(options.checkpoints) and not master_is_here(str(session.sparkContext.master)):
        warnings.append(
            f"{options.checkpoints} is a folder of this machine. On a Spark cluster all machines must "
            "share it: use a shared mount, hdfs://, s3a:// or the like with --checkpoints."
        )
    if checkpoint.is_repeated:
        warnings.append(f"Batch {checkpoint.next_batch} was started and not finished. It will be repeated.")
    if new is not None and any(not one.keys and one.kind == "aggregate" for one in new.stateful):
        warnings.append("One aggregate over all rows is computed by a single task.")
    return warnings


def _forgotten(
    pipeline: Pipeline, options: "RunOptions", checkpoint: Checkpoint, *, has_group: bool
) -> list[str]:
    """A warning if the pipeline has run before with other checkpoints: it would read everything again."""
    if options.fresh or not checkpoint.is_new or not has_group:
        return []
    sentence = (
        f"The consumer group {pipeline.name} exists, so the pipeline has run before, but "
        f"{_path(pipeline, options)} has no checkpoint: it reads from starting_offsets again. "
        "Is --checkpoints right?"
    )
    return [sentence]


def _too_early(pipeline: Pipeline, options: "RunOptions") -> list[str]:
    """A warning if Spark cannot keep both: limited batches, and all records that exist now."""
    if spark_version() >= LIMITS_BATCHES or not is_available_now(pipeline, options):
        return []
    limits = {limit for one in pipeline.inputs.values() for limit in BATCH_LIMITS if limit in one.options}
    return [ends_early(limit) for limit in sorted(limits)]


def is_available_now(pipeline: Pipeline, options: "RunOptions") -> bool:
    """Returns True if a run ends with the records that exist at its start."""
    return options.available_now or pipeline.trigger == AVAILABLE_NOW


def ddl(schema: StructType, *, is_declared: bool = True) -> str:
    """A struct type as people declare columns: `a INT NOT NULL, b STRING`."""
    return ", ".join(
        f"{field.name} {_type(field.dataType)}{'' if field.nullable or not is_declared else ' NOT NULL'}"
        for field in schema.fields
    )


def _type(kind: DataType) -> str:
    """A type in capital letters. The names of fields inside keep theirs."""
    match kind:
        case StructType():
            return f"STRUCT<{', '.join(f'{field.name}: {_type(field.dataType)}' for field in kind.fields)}>"
        case ArrayType():
            return f"ARRAY<{_type(kind.elementType)}>"
        case MapType():
            return f"MAP<{_type(kind.keyType)}, {_type(kind.valueType)}>"
        case _:
            return kind.simpleString().upper()
