"""Where Spark is, and a home for it from which its Python processes start in half the time.

pip's PySpark has its Python modules twice: as files, and in a zip for machines that have no PySpark. Spark
puts the zip in front of all else that its Python processes import from, and Python compiles what comes out of
a zip anew in each of them: half a second for every streaming query. On this machine the files are there, and
Python keeps them compiled. So Spark is shown a home of links to its folders that has no zip.
"""

import atexit
import functools
import os
import shutil
import site
import tempfile
from pathlib import Path
from typing import Final

#: The folder of a Spark home with the zip.
ZIPPED: Final = "python"


class NoSparkError(RuntimeError):
    """PySpark is not installed, or not whole; the message says what to do."""


def spark_home() -> Path:
    """Where pip put Spark."""
    try:
        import pyspark
    except ImportError:
        raise NoSparkError("PySpark is not installed here: pip install 'gralha[spark]'") from None
    return Path(pyspark.__file__).parent


def scala_version() -> str:
    """The one that Spark's jars are made for: it is in their names, as in spark-core_2.13-4.3.0.jar."""
    core = next((spark_home() / "jars").glob("spark-core_*.jar"), None)
    if core is None:
        raise NoSparkError(f"There is no Spark in {spark_home()}/jars: pip install --force-reinstall pyspark")
    return core.name.removeprefix("spark-core_").partition("-")[0]


def can_do_without_zip() -> bool:
    """Whether every process of this interpreter finds PySpark as files, without being told where."""
    if os.name != "posix":
        return False  # links are not for everybody there
    packages = [*site.getsitepackages(), site.getusersitepackages()]
    return spark_home().parent.resolve() in [Path(folder).resolve() for folder in packages]


@functools.cache
def home_without_zip() -> Path:
    """The home of links; it lasts as long as this process."""
    folder = Path(tempfile.mkdtemp(prefix="gralha-spark-home-"))
    atexit.register(_remove, folder, os.getpid())
    for entry in spark_home().iterdir():
        if entry.is_dir() and entry.name != ZIPPED:
            (folder / entry.name).symlink_to(entry)
    return folder


def _remove(folder: Path, owner: int) -> None:
    """A child that was forked off leaves it to the process whose it is."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
