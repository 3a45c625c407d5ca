"""A Spark session with what PySpark users forget.

`session()` starts one on this machine; `session("spark://host:7077")` the same on a cluster. It makes the
workers run this interpreter and not the system's, talks to them without delays, sizes shuffles for the
machine, moves rows by Arrow, keeps state in RocksDB (`transformWithState` needs it), gives timestamps one
time zone everywhere, and keeps passwords out of the plans. All of it are Spark's own settings: `config` adds
to them or replaces them.
"""

import os
import shutil
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from gralha.spark.home import home_without_zip
from gralha.spark.java import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL_MASTER: Final = "local[*]"
LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
# Rows reach Python in batches: with 1,000 rows a fifth of the speed, above 50,000 nothing more.
ROWS_PER_BATCH: Final = 20_000
# The default one asks for a process per file on a local disk.
LOCAL_CHECKPOINTS: Final = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
ROCKS_DB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
SECRET_NAMES: Final = "(?i)secret|password|passphrase|token|jaas|credential|access[.]?key|ssl[.].*[.]key"


def session(
    master: str | None = None, name: str = "gralha", config: Mapping[str, str] | None = None
) -> "SparkSession":
    """The running session, or a new one on `master`: by default this machine, or what spark-submit says."""
    from pyspark.sql import SparkSession

    if not _under_spark_submit():
        find_java()
        master = master or LOCAL_MASTER
    prepare_environment(master)
    builder = SparkSession.builder.appName(name)
    if master is not None:
        builder = builder.master(master)
    for key, value in {**settings(master), **(config or {})}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def settings(master: str | None) -> dict[str, str]:
    """What a session on this master is given beyond Spark's defaults."""
    common = {
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS_PER_BATCH),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.stateStore.providerClass": ROCKS_DB,
        "spark.sql.redaction.options.regex": SECRET_NAMES,
        "spark.redaction.regex": SECRET_NAMES,
        # Its progress bar would write over what a program prints.
        "spark.ui.showConsoleProgress": "false",
    }
    if master is None or not is_on_this_machine(master):
        return common
    return common | {
        "spark.sql.shuffle.partitions": str(cores(master)),
        # Over TCP a task waits 40 ms in front of its Python worker: its first words are small, so one end
        # holds them back until the other acknowledges, which waits for more. (Elsewhere the path of a
        # socket may be longer than a socket's path may be.)
        "spark.python.unix.domain.socket.enabled": str(hasattr(socket, "AF_UNIX")).lower(),
        "spark.sql.streaming.checkpointFileManagerClass": LOCAL_CHECKPOINTS,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }


def prepare_environment(master: str | None) -> None:
    """Let Spark's Python processes be ours and quick, and its pages local, if nobody has said otherwise.

    A Python data source runs under one name of the interpreter on the driver and on the executors. On other
    machines a path of this one may not exist; a plain `python3.11` may, if that is what runs here.
    """
    here = master is not None and is_on_this_machine(master)
    python = os.environ.setdefault("PYSPARK_PYTHON", sys.executable if here else _plain_name())
    if here:
        # Without it Spark's web page listens on every address of this machine.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        if "SPARK_HOME" not in os.environ and python == sys.executable:
            home = home_without_zip()
            if home is not None:
                os.environ["SPARK_HOME"] = str(home)


def is_on_this_machine(master: str) -> bool:
    """Whether the executors run here: local[...], or a standalone cluster on the loopback address."""
    if master.startswith("local"):
        return True
    return master.startswith("spark://") and all(
        urlsplit(f"//{address}").hostname in LOOPBACK
        for address in master.removeprefix("spark://").split(",")
    )


def cores(master: str) -> int:
    """How many tasks run at once: the number in local[4], else the cores of this machine."""
    inside = master.partition("[")[2].rstrip("]").partition(",")[0]
    if master == "local":
        return 1
    return int(inside) if inside.isdigit() else os.cpu_count() or 1


def _plain_name() -> str:
    """`python3.11`, if that is this interpreter; compared by folder, for an environment has links."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    found = shutil.which(name)
    return name if found and Path(found).parent == Path(sys.executable).parent else sys.executable


def _under_spark_submit() -> bool:
    return "PYSPARK_GATEWAY_PORT" in os.environ
