"""Loads the pipelines of a Python file.

The file is an ordinary module. Its pipelines are the decorated functions at its top level, in their order. It
may import modules from its folder. An error is reported with the file and the line to look at.

The file is loaded without Spark, so that its mistakes are found at once. Some files need Spark while they are
loaded: `F.col("amount") > 5` or `@udf("double")` at their top level ask Java, or the file makes a session
itself. Then `load` raises SparkNeededError, with the settings of the file's own session if it makes one. The
caller starts Spark with these settings and loads the file again.

Spark's workers do not have the file, so its functions and classes are sent to them by value, together with
those of modules from its folder.
"""

import hashlib
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Final

from gralha.pipelines.declaration import Pipeline
from gralha.pipelines.errors import DeclarationError, LoadError, SparkNeededError
from gralha.pipelines.explanations import did_you_mean
from gralha.spark.extra import install_command

# PySpark's conditions of a missing session.
NO_SPARK: Final = ("SESSION_OR_CONTEXT_NOT_EXISTS", "NO_ACTIVE_OR_DEFAULT_SESSION")
# The packages of the extra `spark`.
NEEDED_PACKAGES: Final = ("pyspark", "pyarrow", "pandas", "py4j")
EXAMPLE = 'decorate a function with @pipeline(inputs={"sales": from_topic("sales")}, output=to_topic("copy"))'


def load(path: str | Path) -> list[Pipeline]:
    """The pipelines of a file, at least one. Raises LoadError or DeclarationError."""
    file = Path(path)
    if not file.exists():
        near = [str(one) for one in sorted(file.parent.glob("*.py"))]
        raise LoadError(f"There is no file {file}.{did_you_mean(str(file), near)}")
    if file.is_dir():
        raise LoadError(f"{file} is a folder. Give the Python file with the pipelines.")
    module = _run(file.resolve(), str(file))
    found = [value for value in vars(module).values() if isinstance(value, Pipeline)]
    # Pipelines that the file imports from other files do not count.
    own = list(dict.fromkeys(one for one in found if Path(one.file).resolve() == file.resolve()))
    if not own:
        raise LoadError(f"{file} has no pipelines: {EXAMPLE}.")
    _check_names(own, str(file))
    return own


def named(pipelines: Sequence[Pipeline], name: str) -> Pipeline:
    """The pipeline with this name. Raises LoadError with all names if there is none."""
    for one in pipelines:
        if one.name == name:
            return one
    known = [one.name for one in pipelines]
    raise LoadError(
        f"There is no pipeline {name} in {pipelines[0].file}; it has: {', '.join(known)}."
        f"{did_you_mean(name, known)}"
    )


def where(error: BaseException, file: str) -> int | None:
    """The last line of a file in the traceback of an error."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename) == Path(file)
    ]
    return lines[-1] if lines else None


def _run(file: Path, shown: str) -> ModuleType:
    # Every path has its own module name, so that two files called pipeline.py do not collide.
    name = f"gralha_pipeline_{file.stem}_{hashlib.sha1(str(file).encode()).hexdigest()[:8]}"
    spec = spec_from_file_location(name, file, loader=SourceFileLoader(name, str(file)))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    if str(file.parent) not in sys.path:
        sys.path.insert(0, str(file.parent))
    try:
        with _no_other_spark():
            spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        raise _explained(error, file, shown) from error
    for one in [module, *_neighbours(file.parent)]:
        _send_by_value(one)
    return module


def _explained(error: BaseException, file: Path, shown: str) -> BaseException:
    if isinstance(error, SyntaxError) and Path(error.filename or "") == file:
        return LoadError(f"{shown}:{error.lineno}: syntax error: {error.msg}.")
    settings = _wanted_spark(error)
    if settings is not None:
        place = f"{shown}:{where(error, str(file))}"
        return SparkNeededError(f"{place}: this line needs a Spark session, and none is running.", settings)
    if isinstance(error, DeclarationError):
        return error if str(file) in str(error) else LoadError(f"{shown}:{where(error, str(file))}: {error}")
    if not isinstance(error, Exception | SystemExit):
        return error
    line = where(error, str(file))
    what = f"{type(error).__name__}: {error}".rstrip(": ")
    if isinstance(error, ModuleNotFoundError) and error.name in NEEDED_PACKAGES:
        what = f"{what}. Install it with: {install_command()}"
    return LoadError(f"{shown}{'' if line is None else f':{line}'}: {what}")


class _SessionWantedError(BaseException):
    """The file makes a session of its own. Nobody sees this, and `except Exception` in the file must not."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        super().__init__("a Spark session is needed")
        self.settings = settings


@contextmanager
def _no_other_spark() -> Iterator[None]:
    """Without Spark, a file that makes its own session stops there, so that Gralha's settings count, too."""
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError:
        yield
        return
    if SparkContext._active_spark_context is not None:
        yield
        return
    builder = SparkSession.Builder
    get_or_create = builder.getOrCreate

    def refuse(asked: SparkSession.Builder) -> SparkSession:
        raise _SessionWantedError({name: str(value) for name, value in asked._options.items()})

    builder.getOrCreate = refuse  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        builder.getOrCreate = get_or_create  # type: ignore[method-assign]


def _wanted_spark(error: BaseException | None) -> Mapping[str, str] | None:
    """The settings of the session that the file asked for, or None if it failed for another reason."""
    while error is not None:
        if isinstance(error, _SessionWantedError):
            return error.settings
        if _condition(error) in NO_SPARK or _is_assertion_of_pyspark(error):
            return {}
        error = error.__cause__ or error.__context__
    return None


def _condition(error: BaseException) -> str | None:
    """The error class of an error of PySpark. Without PySpark, declarations can still be read."""
    condition: str | None = error.getCondition() if hasattr(error, "getCondition") else None
    return condition


def _is_assertion_of_pyspark(error: BaseException) -> bool:
    """Returns True if PySpark asserts that a session exists: without a word, in one of its own lines."""
    frames = traceback.extract_tb(error.__traceback__)
    is_silent = isinstance(error, AssertionError) and not str(error)
    return is_silent and bool(frames) and "_active_spark_context" in (frames[-1].line or "")


def _check_names(pipelines: list[Pipeline], shown: str) -> None:
    names = [one.name for one in pipelines]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        lines = " and ".join(str(one.line) for one in pipelines if one.name == twice)
        raise LoadError(f"{shown}: two pipelines are called {twice} (lines {lines}); rename one of them.")


def _neighbours(folder: Path) -> list[ModuleType]:
    """The modules that were loaded from a folder, except installed ones."""
    found = []
    for name, module in list(sys.modules.items()):
        file = Path(getattr(module, "__file__", None) or "/")
        is_inside = folder in file.parents and "site-packages" not in file.parts
        if is_inside and name.partition(".")[0] not in ("__main__", "gralha"):
            found.append(module)
    return found


def _send_by_value(module: ModuleType) -> None:
    try:
        from pyspark import cloudpickle
    except ImportError:
        return  # without Spark, declarations can still be read
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
