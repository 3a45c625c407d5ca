"""Spark imports modules called `pyspark_*` and registers their `DefaultSource`: here format("gralha")."""

from gralha.spark.data_source import GralhaDataSource as DefaultSource

__all__ = ["DefaultSource"]
