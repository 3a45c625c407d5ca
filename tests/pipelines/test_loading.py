"""Loading the pipelines of a file, and the sentences about files that cannot be loaded."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark import cloudpickle

from gralha.pipelines import DeclarationError, LoadError
from gralha.pipelines.loading import load, named
from gralha.spark.extra import install_command

HEAD = "from gralha.pipelines import pipeline, from_topic, to_topic\n"
ONE = """
@pipeline(inputs={"sales": from_topic("sales")}, output=to_topic("copy"))
def copy(sales):
    return sales
"""
TWO = ONE.replace("def copy", "def other")


def file(folder: Path, text: str, name: str = "shop.py") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_pipelines_come_in_their_order(tmp_path: Path) -> None:
    assert [one.name for one in load(file(tmp_path, HEAD + TWO + ONE))] == ["other", "copy"]


def test_two_files_of_the_same_name_get_on_with_each_other(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = load(file(tmp_path / "a", HEAD + ONE))[0]
    second = load(file(tmp_path / "b", HEAD + TWO))[0]
    assert (first.name, second.name) == ("copy", "other")
    assert first.function.__module__ != second.function.__module__


def test_a_file_may_import_its_neighbours_but_runs_only_its_own_pipelines(tmp_path: Path) -> None:
    file(tmp_path, HEAD + TWO, "gralha_test_neighbour.py")
    path = file(tmp_path, f"from gralha_test_neighbour import other\n{HEAD}{ONE}")
    assert [one.name for one in load(path)] == ["copy"]


def test_a_function_below_a_decorator_of_another_module_is_found(tmp_path: Path) -> None:
    text = """import functools
def logged(function):
    @functools.wraps(function)
    def inner(*arguments, **named):
        return function(*arguments, **named)
    return inner
"""
    file(tmp_path, text, "gralha_test_decorators.py")
    decorated = ONE.replace("def copy", "@logged\ndef copy")
    path = file(tmp_path, f"from gralha_test_decorators import logged\n{HEAD}{decorated}")
    (found,) = load(path)
    assert (found.name, found.file, found.line) == ("copy", str(path), 4)


def test_functions_travel_to_workers_that_have_no_such_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file(tmp_path, "def half(x):\n    return x / 2\n", "gralha_test_halves.py")
    text = f"{HEAD}from gralha_test_halves import half\ndef double(x):\n    return 2 * x\n{ONE}"
    own = load(file(tmp_path, text))[0].function.__globals__
    data = cloudpickle.dumps((own["double"], own["half"]))
    for name in ("double", "half"):
        monkeypatch.delitem(sys.modules, own[name].__module__)
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one != str(tmp_path)])
    double, half = cloudpickle.loads(data)
    assert (double(4), half(4)) == (8, 2.0)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x = (1,\n", "1: syntax error: '(' was never closed."),
        (HEAD + "\n\nprint(undefined)\n", "4: NameError: name 'undefined' is not defined"),
        ("import gralha_no_such_thing\n", "1: ModuleNotFoundError: No module named 'gralha_no_such_thing'"),
        (HEAD + "\nfrom_topic('a b')\n", "3: 'a b' is not a valid topic name"),
        ("raise SystemExit('go away')\n", "1: SystemExit: go away"),
    ],
)
def test_errors_name_the_file_and_the_line(tmp_path: Path, text: str, sentence: str) -> None:
    path = file(tmp_path, text)
    with pytest.raises(LoadError) as error:
        load(path)
    assert str(error.value).startswith(f"{path}:{sentence}")


def test_a_wrong_declaration_names_the_function(tmp_path: Path) -> None:
    path = file(tmp_path, HEAD + ONE.replace("def copy(sales)", "def copy(orders)"))
    with pytest.raises(DeclarationError) as error:
        load(path)
    assert str(error.value).startswith(
        f"{path}:3: pipeline copy: its parameters must be named like its inputs"
    )


def test_files_without_pipelines(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="There is no file"):
        load(tmp_path / "nothing.py")
    with pytest.raises(LoadError, match="is a folder"):
        load(tmp_path)
    with pytest.raises(LoadError, match="has no pipelines: decorate a function"):
        load(file(tmp_path, "x = 1\n"))
    twice = ONE.replace("(inputs", '(name="twice", inputs') + TWO.replace("(inputs", '(name="twice", inputs')
    with pytest.raises(LoadError, match=r"two pipelines are called twice \(lines 3 and 7\)"):
        load(file(tmp_path, HEAD + twice))


def test_pipelines_by_name(tmp_path: Path) -> None:
    pipelines = load(file(tmp_path, HEAD + ONE + TWO))
    assert named(pipelines, "other") is pipelines[1]
    with pytest.raises(LoadError, match=r"There is no pipeline totals .* it has: copy, other"):
        named(pipelines, "totals")


@pytest.mark.parametrize(
    ("line", "settings"),
    [
        ('F.col("amount") > 5', {}),
        ('F.udf("double")(len)', {}),
        ('StructType.fromDDL("a INT")', {}),
        ("SparkSession.active()", {}),
        (
            'SparkSession.builder.appName("mine").config("spark.executor.cores", 3).getOrCreate()',
            {"spark.app.name": "mine", "spark.executor.cores": "3"},
        ),
        ("import gralha_test_needs_spark", {}),
        (
            "try: SparkSession.builder.master('local[1]').getOrCreate()\nexcept Exception: pass",
            {"spark.master": "local[1]"},
        ),
    ],
)
def test_a_file_that_needs_spark_says_so(tmp_path: Path, line: str, settings: dict[str, str]) -> None:
    """In another process, because this one may have a session."""
    imports = (
        "from pyspark.sql import SparkSession, functions as F\nfrom pyspark.sql.types import StructType\n"
    )
    file(tmp_path, f'{imports}F.lit("x")\n', "gralha_test_needs_spark.py")
    path = file(tmp_path, f"{imports}{HEAD}{line}\n{ONE}")
    program = (
        "import sys\n"
        "from gralha.pipelines.errors import SparkNeededError\n"
        "from gralha.pipelines.loading import load\n"
        "try:\n    load(sys.argv[1])\n"
        "except SparkNeededError as error:\n"
        "    print(error, dict(sorted(error.settings.items())), sep='\\n')\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True)
    sentence, found = done.stdout.splitlines()
    assert sentence == f"{path}:4: this line needs a Spark session, and none is running."
    assert found == str(settings)


def test_a_misspelt_name_gets_the_right_one(tmp_path: Path) -> None:
    path = file(tmp_path, HEAD + ONE + TWO)
    with pytest.raises(LoadError, match=r"it has: copy, other\. Did you mean other\?"):
        named(load(path), "othr")
    with pytest.raises(LoadError, match=rf"There is no file {tmp_path}/shp\.py\. Did you mean {path}\?"):
        load(tmp_path / "shp.py")


def test_a_package_of_the_extra_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(LoadError, match=re.escape(install_command())):
        load(file(tmp_path, "import pandas\n"))
