"""The content of the wheel: every module and definition, the commands, the pytest plugin, and no tests."""

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    # A copy, because a build leaves files in the folder it builds from.
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(source)], check=True)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    environment = {**os.environ, "GRALHA_COMPILE": "0"}
    subprocess.run([*command, "--wheel-dir", str(folder), str(source)], check=True, env=environment)
    (built,) = folder.glob("gralha-*.whl")
    return zipfile.ZipFile(built)


def test_every_module_and_definition_is_in_it_and_no_test(wheel: zipfile.ZipFile) -> None:
    tracked = subprocess.run(
        ["git", "-C", str(ROOT), "ls-tree", "-r", "--name-only", "HEAD", "src"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert packed == {name.removeprefix("src/") for name in tracked}


def test_the_commands_and_the_pytest_plugin_are_announced(wheel: zipfile.ZipFile) -> None:
    (path,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    announced = wheel.read(path).decode()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for name, target in project["scripts"].items():
        assert f"{name} = {target}" in announced
    assert "[pytest11]" in announced
