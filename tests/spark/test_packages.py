"""The archive for executors: an interpreter that has PySpark and pyarrow, but no Gralha, can work with it."""

import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from gralha.spark.packages import package_for_executors

# The packages of a cluster's own Python, which PySpark needs there.
ON_THE_CLUSTER = ("pyspark", "py4j", "pyarrow", "numpy", "numpy.libs", "pandas", "pytz", "dateutil", "six.py")
PROGRAM = """
import sys
import gralha.spark.sink, gralha.spark.task_reader, gralha.spark.data_source, gralha.client.bulk_reader
from gralha.protocol import compression
for codec in range(5):
    data = bytes(1000)
    assert compression.decompress(codec, compression.compress(codec, data), 2000) == data
print(gralha.__file__)
"""


def test_executors_without_gralha_can_use_the_archive(tmp_path: Path) -> None:
    archive = tmp_path / "gralha.zip"
    settings = package_for_executors(archive)
    assert settings == {
        "spark.archives": f"{archive}#gralha_packages",
        "spark.executorEnv.PYTHONPATH": "gralha_packages",
    }
    cluster = tmp_path / "cluster"
    cluster.mkdir()
    found = importlib.util.find_spec("pyarrow")
    assert found is not None
    assert found.origin is not None
    installed = Path(found.origin).parents[1]
    for name in ON_THE_CLUSTER:
        if (installed / name).exists():
            (cluster / name).symlink_to(installed / name)
    with zipfile.ZipFile(archive) as zipped:
        zipped.extractall(tmp_path / "gralha_packages")
    # Without the site packages and the environment, like another machine.
    done = subprocess.run(
        [sys.executable, "-S", "-c", PROGRAM],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": f"gralha_packages:{cluster}"},
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).resolve() == tmp_path / "gralha_packages" / "gralha" / "__init__.py"


def test_only_a_zip_is_unpacked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"only if its name ends with \.zip"):
        package_for_executors(tmp_path / "gralha.egg")
