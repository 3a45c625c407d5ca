"""How Gralha reaches the executors of a cluster that does not have it.

The best way is to have it there: `pip install 'gralha[spark]'` in the image or on the nodes. Where that
cannot be, `package_for_executors` puts Gralha and the compiled packages that it needs into one archive.
Spark copies it to every executor and unpacks it (`spark.archives`), and Python finds it there. Spark's
`py-files` cannot do it: compiled modules do not load out of a zip file. The executors need Python of the same
minor version on the same kind of machine, and pyarrow, which PySpark needs anyway.
"""

import zipfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

# What the code that runs on executors imports, by the names that pip knows.
DEPENDENCIES: Final = ("backports.zstd", "cramjam", "fastcrc", "librt", "lz4", "mypy-extensions")
PACKAGES: Final = ("gralha", "pyspark_gralha")
UNPACKED_FOLDER: Final = "gralha_packages"
LEFT_OUT: Final = (".pyc", ".c", ".pyi")


def package_for_executors(archive: Path) -> dict[str, str]:
    """Write the archive (a .zip) and return the settings with which executors use it, for `session()`."""
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
    """Gralha as it runs here, compiled or not, installed or in a source tree."""
    root = Path(__file__).parents[2]
    # What mypyc compiles shares a library beside the packages.
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
