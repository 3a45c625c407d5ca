"""A Spark session with good settings.

`session()` starts one on this machine, `session("spark://host:7077")` on a cluster. The workers run this
interpreter and not the system's, and Spark talks to them without delays. Shuffles have the size of the
machine, rows move by Arrow, state is in RocksDB (`transformWithState` needs it), timestamps have one time
zone everywhere, and passwords stay out of plans. All of these are Spark settings: `config` adds to them or
replaces them.
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
# Rows go to Python in batches. 1,000 rows have a fifth of the speed; more than 50,000 bring nothing.
ROWS_PER_BATCH: Final = 20_000
# Spark's default starts a process for each file on a local disk.
LOCAL_CHECKPOINTS: Final = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
ROCKS_DB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
SECRET_NAMES: Final = "(?i)secret|password|passphrase|token|jaas|credential|access[.]?key|ssl[.].*[.]key"


def session(
    master: str | None = None, name: str = "gralha", config: Mapping[str, str] | None = None
) -> "SparkSession":
    """The running session, or a new one on `master`. The default is this machine, or that of spark-submit."""
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
    """The settings of a session on this master, in addition to Spark's defaults."""
    common = {
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS_PER_BATCH),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.stateStore.providerClass": ROCKS_DB,
        "spark.sql.redaction.options.regex": SECRET_NAMES,
        "spark.redaction.regex": SECRET_NAMES,
        # The progress bar would overwrite the output of a program.
        "spark.ui.showConsoleProgress": "false",
    }
    if master is None or not is_on_this_machine(master):
        return common
    return common | {
        "spark.sql.shuffle.partitions": str(cores(master)),
        # Over TCP a task waits 40 ms for its Python worker: the first packets are small, and Nagle's
        # algorithm waits for a delayed acknowledgement. (On other machines the path of a Unix socket may be
        # too long.)
        "spark.python.unix.domain.socket.enabled": str(hasattr(socket, "AF_UNIX")).lower(),
        "spark.sql.streaming.checkpointFileManagerClass": LOCAL_CHECKPOINTS,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }


def prepare_environment(master: str | None) -> None:
    """Sets the Python for the Spark processes, its home and its address, unless they are set already.

    A Python data source uses one name of the interpreter on the driver and on the executors. On other
    machines a path of this machine may not exist. A plain name such as `python3.11` may exist, if it runs
    here.
    """
    here = master is not None and is_on_this_machine(master)
    python = os.environ.setdefault("PYSPARK_PYTHON", sys.executable if here else _plain_name())
    if here:
        # Without this, Spark's web page listens on every address of this machine.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        if "SPARK_HOME" not in os.environ and python == sys.executable:
            home = home_without_zip()
            if home is not None:
                os.environ["SPARK_HOME"] = str(home)


def is_on_this_machine(master: str) -> bool:
    """Returns True if the executors run here: local[...], or a standalone cluster on the loopback address."""
    if master.startswith("local"):
        return True
    return master.startswith("spark://") and all(
        urlsplit(f"//{address}").hostname in LOOPBACK
        for address in master.removeprefix("spark://").split(",")
    )


def cores(master: str) -> int:
    """The number of parallel tasks: the number in local[4], otherwise the cores of this machine."""
    inside = master.partition("[")[2].rstrip("]").partition(",")[0]
    if master == "local":
        return 1
    return int(inside) if inside.isdigit() else os.cpu_count() or 1


def _plain_name() -> str:
    """`python3.11` if that is this interpreter. Folders are compared, because environments use links."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    found = shutil.which(name)
    return name if found and Path(found).parent == Path(sys.executable).parent else sys.executable


def _under_spark_submit() -> bool:
    return "PYSPARK_GATEWAY_PORT" in os.environ
