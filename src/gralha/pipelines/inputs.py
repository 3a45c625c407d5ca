"""From the records of topics to the typed rows that a pipeline's function gets."""

from typing import TYPE_CHECKING

from gralha.pipelines.declaration import TopicInput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


def value_schema(declared: TopicInput, session: "SparkSession") -> "StructType":
    """The columns of the values, without those of the record; `value BINARY` when none are declared."""
    raise NotImplementedError


def typed(records: "DataFrame", declared: TopicInput, session: "SparkSession") -> "DataFrame":
    """Typed rows, with their watermark, out of records with the columns of Spark's Kafka source (and headers).

    Works on a stream and on a batch alike, so that tests give rows of their own. Records that do not fit
    are left out here; `dead_letters.py` catches them on the way when a pipeline runs.
    """
    raise NotImplementedError
