"""`format("gralha")`: topics of any Kafka cluster as a source and sink of Spark, batch and streaming.

Options, columns and their meaning are the same as in Spark's own `format("kafka")`; docs/SPARK.md has the
differences. Spark finds it through `pyspark_gralha`; nothing has to be registered.
"""

import logging

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from gralha.spark.options import SourceOptions, include_headers, source_options, warnings
from gralha.spark.schema import check_schema, record_schema

logger = logging.getLogger(__name__)


class GralhaDataSource(DataSource):
    """Records of topics as rows, and rows as records of topics."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "gralha"

    def schema(self) -> StructType:
        """The columns of a read. A write has its own."""
        return record_schema(include_headers(self.options))

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader of a batch query."""
        from gralha.spark.batch_reader import GralhaBatchReader

        return GralhaBatchReader(self._checked(schema, streaming=False))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """The reader of a streaming query."""
        from gralha.spark.stream_reader import stream_reader

        return stream_reader(self._checked(schema, streaming=True))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """The writer of a batch query."""
        from gralha.spark.sink import batch_writer, check_reachable

        writer = batch_writer(self.options, schema, overwrite)
        check_reachable(self.options)
        return writer

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        """The writer of a streaming query."""
        from gralha.spark.sink import check_reachable, stream_writer

        writer = stream_writer(self.options, schema, overwrite)
        check_reachable(self.options)
        return writer

    def _checked(self, schema: StructType, *, streaming: bool) -> SourceOptions:
        options = source_options(self.options, streaming=streaming)
        check_schema(schema, options.include_headers)
        for warning in warnings(self.options, streaming=streaming):
            logger.warning(warning)
        return options
