"""Data pipelines: functions from topics to topics and tables, run on Spark. Begin with `declaration.py`."""

from gralha.pipelines.declaration import (
    Pipeline,
    TableOutput,
    TopicInput,
    TopicOutput,
    from_topic,
    pipeline,
    to_table,
    to_topic,
)
from gralha.pipelines.errors import CannotStartError, DeclarationError, LoadError, PipelineError

__all__ = [
    "CannotStartError",
    "DeclarationError",
    "LoadError",
    "Pipeline",
    "PipelineError",
    "TableOutput",
    "TopicInput",
    "TopicOutput",
    "from_topic",
    "pipeline",
    "to_table",
    "to_topic",
]
