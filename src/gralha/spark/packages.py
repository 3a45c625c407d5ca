"""Sends Gralha to the executors of a Spark cluster that does not have it.

It is best to install the wheel in the image or on the nodes. If that is not possible, `package_for_executors`
puts Gralha and its compiled dependencies into one archive. Spark copies it to every executor and unpacks it
(`spark.archives`), and Python finds it there. Spark's `py-files` would not work, because compiled modules do
not load from a zip file. The executors need the same minor version of Python on the same kind of machine, and
pyarrow, which PySpark needs anyway.
"""

import zipfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

# The imports of code that runs on executors, by their names on PyPI.
DEPENDENCIES: Final = ("backports.zstd", "cramjam", "fastcrc", "librt", "lz4", "mypy-extensions")
PACKAGES: Final = ("gralha", "pyspark_gralha")
UNPACKED_FOLDER: Final = "gralha_packages"
LEFT_OUT: Final = (".pyc", ".c", ".pyi")


def package_for_executors(archive: Path) -> dict[str, str]:
    """Writes the archive (a .zip) and returns the settings for `session()`."""
    if archive.suffix != ".zip":
        raise ValueError(f"Spark unpacks {archive} only if its name ends with .zip")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, file in {**dict(_own_files()), **dict(_files_of_dependencies())}.items():
            zipped.write(file, name)
    return {
        "spark.archives": f"{archive.resolve()}#{UNPACKED_FOLDER}",
        "spark.executorEnv.PYTHONPATH": UNPACKED_FOLDER,
    }


def _own_files() -> Iterator[tuple[str, Path]]:
    """The files of Gralha, compiled or not, installed or in a source tree."""
    root = Path(__file__).parents[2]
    # Modules that mypyc compiles share a library beside the packages.
    for library in root.glob("*__mypyc*.so"):
        yield library.name, library
    for package in PACKAGES:
        for file in (root / package).rglob("*"):
            if file.is_file() and file.suffix not in LEFT_OUT:
                yield str(file.relative_to(root)), file


def _files_of_dependencies() -> Iterator[tuple[str, Path]]:
    for name in DEPENDENCIES:
        try:
            files = distribution(name).files or []
        except PackageNotFoundError:
            # backports.zstd is part of newer Pythons.
            continue
        for file in files:
            located = Path(str(file.locate()))
            if ".." not in file.parts and file.suffix not in LEFT_OUT and located.is_file():
                yield str(file), located
