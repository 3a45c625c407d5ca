"""Spark's pages of errors, shortened. The texts are from Spark 4.3, without repetitions."""

from __future__ import annotations

import pytest

from gralha.pipelines.restarts import kind_of
from gralha.pipelines.spark_errors import first_sentence, of_query

QUERY = "org.apache.spark.sql.streaming.StreamingQueryException: "
BUG = f"""{QUERY}[PYTHON_EXCEPTION] An exception was thrown from the Python worker: \
Traceback (most recent call last):
  File "/lib/python3.11/site-packages/pyspark/python/lib/pyspark.zip/pyspark/worker.py", line 90, in main
  File "/home/ann/shop.py", line 11, in invert
    return 1/n
           ~^~
  File "/home/ann/.venv/lib/python3.11/site-packages/numpy/core.py", line 5, in divide
ZeroDivisionError: division by zero
 SQLSTATE: 38000
"""
SOURCE = f"""{QUERY}[PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR] Failed when Python streaming data source \
perform initialOffset: Traceback (most recent call last):
  File "/lib/pyspark/python/lib/pyspark.zip/pyspark/sql/streaming/python_source.py", line 267, in main
  File "/home/ann/gralha/src/gralha/spark/stream_reader.py", line 52, in initialOffset
    topics = view.partitions()
             ^^^^^^^^^^^^^^^^^
    raise ConnectionFailedError(
gralha.client.errors.ConnectionFailedError: No broker listens on localhost:1. Start one with `gralha up`.
 SQLSTATE: 38000
"""
NOT_THERE = f"""{QUERY}Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 times, most recent \
failure: Lost task 0.3 in stage 0.0 (TID 3) (10.0.0.7 executor 0): \
org.apache.spark.api.python.PythonException: \
Traceback (most recent call last):
  File "/opt/spark/python/lib/pyspark.zip/pyspark/cloudpickle/cloudpickle.py", line 649, in subimport
    __import__(name)
ModuleNotFoundError: No module named 'gralha'

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:581)
"""
CHAIN = """Traceback (most recent call last):
  File "/home/ann/shop.py", line 3, in f
KeyError: 'x'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/home/ann/shop.py", line 5, in f
ValueError
"""
ANSI = f"""{QUERY}[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate it. SQLSTATE: 22012
== SQL (line 1, position 1) ==
1/(value*0)
^^^^^^^^^^^
"""
STAGE = f"""{QUERY}Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times, most recent \
failure: Lost task 0.0 in stage 1.0 (TID 7) (127.0.0.1 executor driver): org.apache.spark.SparkException: \
Python worker failed to connect back.
\tat org.apache.spark.api.python.PythonWorkerFactory.createSimpleWorker(PythonWorkerFactory.scala:310)
"""
PROXY = f"""{QUERY}An exception was raised by the Python Proxy. Return Message: \
Traceback (most recent call last):
  File "/lib/python3.11/site-packages/py4j/clientserver.py", line 644, in _call_proxy
  File "/home/ann/gralha/src/gralha/pipelines/outputs.py", line 92, in _write
    writer.save(f"{{output.path}}/batch={{name}}")
"""
JAVA = f"""{PROXY}\
py4j.protocol.Py4JJavaError: An error occurred while calling o1071.save.
: org.apache.hadoop.fs.ParentNotDirectoryException: Parent path is not a directory: file:/data/file
\tat org.apache.hadoop.fs.RawLocalFileSystem.mkdirs(RawLocalFileSystem.java:873)
"""
JAVA_CAUSE = f"""{PROXY}\
py4j.protocol.Py4JJavaError: An error occurred while calling o12.save.
: org.apache.spark.SparkException: Job aborted.
\tat org.apache.spark.sql.execution.datasources.FileFormatWriter$.write(FileFormatWriter.scala:168)
Caused by: java.io.IOException: Mkdirs failed to create file:/data/table
\tat org.apache.hadoop.fs.ChecksumFileSystem.create(ChecksumFileSystem.java:456)
\t... 40 more
Caused by: java.io.IOException: No space left on device
\tat java.io.FileOutputStream.writeBytes(Native Method)
\t... 45 more


\tat py4j.Protocol.getReturnValue(Protocol.java:476)
"""
TRANSLATED = f"""{PROXY}\
pyspark.errors.exceptions.captured.ArithmeticException: [DIVIDE_BY_ZERO] Division by zero. Use `try_divide` \
to tolerate it. SQLSTATE: 22012
== DataFrame ==
"divide" was called from
/home/ann/shop.py:11
"""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (JAVA, "Parent path is not a directory: file:/data/file"),
        (JAVA_CAUSE, "No space left on device"),
        (f"{PROXY}py4j.protocol.Py4JNetworkError: Answer is missing", "Py4JNetworkError: Answer is missing"),
        (TRANSLATED, "Division by zero. Use `try_divide` to tolerate it."),
        (BUG, "/home/ann/shop.py:11: ZeroDivisionError: division by zero"),
        (SOURCE, "No broker listens on localhost:1. Start one with `gralha up`."),
        (
            NOT_THERE,
            "Spark's executors lack Gralha: install its wheel there, or send it with --ship",
        ),
        (CHAIN, "/home/ann/shop.py:5: ValueError"),
        (ANSI, "Division by zero. Use `try_divide` to tolerate it."),
        (STAGE, "Python worker failed to connect back."),
        (f"{QUERY}[USER_RAISED_EXCEPTION] my error SQLSTATE: P0001\n", "my error"),
        ("Traceback (most recent call last):\n  cut off", "Traceback (most recent call last): cut off"),
        ("", ""),
    ],
)
def test_sentences(text: str, sentence: str) -> None:
    assert of_query(text) == sentence


def test_an_analysis_without_its_plan() -> None:
    text = "[UNRESOLVED_COLUMN.WITH_SUGGESTION] No column `x`. SQLSTATE: 42703;\n'Project ['x]\n"
    assert first_sentence(text) == "No column `x`."


def test_causes_in_a_row_without_their_classes() -> None:
    text = "java.lang.RuntimeException: java.lang.ClassNotFoundException: Class a.b.C not found\n\tat x.Y\n"
    assert first_sentence(text) == "Class a.b.C not found"


def test_what_a_restart_may_mend() -> None:
    assert [kind_of(text) for text in (SOURCE, STAGE, BUG, ANSI, NOT_THERE)] == [
        "passing",
        "passing",
        "unknown",
        "unknown",
        "hopeless",
    ]
