"""Starts the query of a pipeline: its output topics, the manifest, the writer, the trigger."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from gralha.client.values import NewTopic
from gralha.pipelines import outputs
from gralha.pipelines.building import build
from gralha.pipelines.checkpoints import MANIFEST, SPARK
from gralha.pipelines.configuration import conf_of, configured, kafka_settings
from gralha.pipelines.dead_letters import TOPIC_MESSAGE_BYTES_MAX, Counter
from gralha.pipelines.declaration import EXACTLY_ONCE, Pipeline, TopicOutput
from gralha.pipelines.folders import folder
from gralha.pipelines.group_progress import rides_with_decisions
from gralha.pipelines.planning import Plan, is_available_now
from gralha.pipelines.topics import topics_of
from gralha.spark.checkpoint_files import is_on_this_machine
from gralha.spark.input_progress import InputProgress, progress_of

if TYPE_CHECKING:
    from gralha.pipelines.running import RunOptions


@dataclass(frozen=True)
class Running:
    """A started query, and the counter of its bad records."""

    query: StreamingQuery
    unfit: Counter


def prepare(plan: Plan, session: SparkSession, options: "RunOptions") -> None:
    """Creates what a query needs before its first start: output topics, and the manifest."""
    wanted = _topics(plan)
    if wanted:
        with topics_of(kafka_settings(plan.pipeline, options)) as topics:
            topics.create(wanted)
    assert plan.manifest is not None
    folder(plan.checkpoint, session).write(MANIFEST, plan.manifest.to_json())


def start(plan: Plan, session: SparkSession, options: "RunOptions", *, is_first: bool) -> Running:
    """Starts the query of a pipeline: first the planned one, after a failure a new one."""
    pipeline = plan.pipeline
    kafka = kafka_settings(pipeline, options)
    with configured(session, conf_of(pipeline, session)):
        built = plan.built if is_first and plan.built is not None else build(pipeline, session, kafka)
        writer = _writer(plan, built.rows, kafka).queryName(pipeline.name).outputMode(pipeline.output_mode)
        writer = writer.option("checkpointLocation", f"{plan.checkpoint}/{SPARK}")
        return Running(_triggered(writer, pipeline, options).start(), built.unfit)


def _topics(plan: Plan) -> list[NewTopic]:
    """The output topics that do not exist yet."""
    missing = {
        output.topic.topic for output in plan.outputs if output.topic and output.topic.partitions is None
    }
    new = [
        NewTopic(one.topic, partitions=one.partitions or -1)
        for one in plan.pipeline.outputs
        if isinstance(one, TopicOutput) and one.topic in missing
    ]
    letters = plan.dead_letters
    if letters is not None and letters.partitions is None:
        configs = {"max.message.bytes": str(TOPIC_MESSAGE_BYTES_MAX)}
        new.append(NewTopic(letters.topic, partitions=1, configs=configs))
    return new


def _writer(plan: Plan, rows: DataFrame, kafka: Mapping[str, str]) -> DataStreamWriter:
    only = plan.pipeline.outputs[0]
    # In Spark a sink in Python can only append. Other modes are written batch by batch.
    appends = plan.pipeline.output_mode == "append" and len(plan.pipeline.outputs) == 1
    has_offsets = rides_with_decisions(plan.pipeline)
    # The sink cannot read a checkpoint on another file system. The driver can, through Spark.
    is_readable = not has_offsets or is_on_this_machine(plan.checkpoint)
    if appends and is_readable and isinstance(only, TopicOutput):
        options = outputs.topic_options(only, kafka)
        if plan.pipeline.guarantee == EXACTLY_ONCE:
            options["deliveryGuarantee"] = outputs.EXACTLY_ONCE_OPTION
        if has_offsets:
            options["groupId"] = plan.pipeline.name
        return outputs.records(rows, only).writeStream.format("gralha").options(**options)
    assert plan.manifest is not None
    checkpoint_id = plan.manifest.checkpoint_id
    write = outputs.batch_writer(
        plan.pipeline,
        checkpoint_id=checkpoint_id,
        kafka=kafka,
        progress=partial(_progress, plan) if has_offsets else None,
        is_like_sink=appends and isinstance(only, TopicOutput),
    )
    return rows.writeStream.foreachBatch(write)


def _progress(plan: Plan, batch: DataFrame, number: int) -> InputProgress:
    """The offsets of a batch, for the group of the pipeline."""
    files = folder(plan.checkpoint, batch.sparkSession)
    return progress_of(plan.pipeline.name, number, lambda name: files.read(f"{SPARK}/{name}"))


def _triggered(writer: DataStreamWriter, pipeline: Pipeline, options: "RunOptions") -> DataStreamWriter:
    if is_available_now(pipeline, options):
        return writer.trigger(availableNow=True)
    return writer if pipeline.trigger is None else writer.trigger(processingTime=pipeline.trigger)
