"""Finds Spark, and makes a home for it from which its Python processes start in half the time.

PySpark from pip has its Python modules twice: as files, and in a zip for machines without PySpark. Spark puts
the zip first on the path of its Python processes, and Python compiles modules from a zip again in each
process. That takes half a second for every streaming query. On this machine the files exist, and Python
caches them compiled. So Spark gets a home of links to its folders, without the zip.
"""

import hashlib
import os
import site
import tempfile
from pathlib import Path
from typing import Final

from gralha.spark.extra import install_command

#: The folder of a Spark home with the zip.
ZIPPED: Final = "python"


class NoSparkError(RuntimeError):
    """PySpark is not installed, or not completely. The message says what to do."""


def spark_home() -> Path:
    """The folder where pip has installed Spark."""
    try:
        import pyspark
    except ImportError:
        raise NoSparkError(f"PySpark is not installed here: {install_command()}") from None
    return Path(pyspark.__file__).parent


def scala_version() -> str:
    """The Scala version in the names of the Spark jars, such as spark-core_2.13-4.3.0.jar."""
    core = next((spark_home() / "jars").glob("spark-core_*.jar"), None)
    if core is None:
        raise NoSparkError(f"There is no Spark in {spark_home()}/jars: pip install --force-reinstall pyspark")
    return core.name.removeprefix("spark-core_").partition("-")[0]


def home_without_zip() -> Path | None:
    """The home of links, made once for each Spark on this machine. None if it would not work."""
    if not _finds_files_of_pyspark():
        return None
    import pyspark

    spark = spark_home()
    try:
        home = _cache() / f"spark-{pyspark.__version__}-{hashlib.sha256(bytes(spark)).hexdigest()[:8]}"
        if not home.exists():
            _make(home, [entry for entry in spark.iterdir() if entry.is_dir() and entry.name != ZIPPED])
    except (OSError, RuntimeError):
        return None  # no home folder, or one that cannot be written: Spark starts as usual
    return home


def _finds_files_of_pyspark() -> bool:
    """Returns True if every process of this interpreter finds PySpark as files without a path setting."""
    packages = [*site.getsitepackages(), site.getusersitepackages()]
    return spark_home().parent.resolve() in [Path(folder).resolve() for folder in packages]


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gralha"


def _make(home: Path, folders: list[Path]) -> None:
    """Makes the home in one step, because several processes may do it at the same time."""
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".spark-", dir=home.parent) as unfinished:
        links = Path(unfinished, "links")
        links.mkdir()
        for folder in folders:
            (links / folder.name).symlink_to(folder)
        try:
            links.rename(home)
        except OSError:
            if not home.exists():  # another process was not faster
                raise
