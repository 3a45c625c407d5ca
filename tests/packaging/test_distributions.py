"""The content of what `make dist` makes. The wheel has the modules that `make setup` has compiled."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOT_PACKED = {".ci/run", ".gitignore"}
MADE_BY_SETUPTOOLS = {"PKG-INFO", "setup.cfg"}


@dataclass
class Distributions:
    wheel: Path
    source: Path


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    """What `make dist` makes."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([ROOT / "scripts" / "dist", folder], check=True)
    (wheel,) = folder.glob("gralha-*.whl")
    (source,) = folder.glob("gralha-*.tar.gz")
    return Distributions(wheel, source)


def tracked(*folders: str) -> set[str]:
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--", *folders]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {name for name in listing.split("\0") if name and (ROOT / name).exists()}


def packed(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


def test_the_source_distribution_has_what_git_tracks(distributions: Distributions) -> None:
    with tarfile.open(distributions.source) as archive:
        names = {member.name.partition("/")[2] for member in archive if member.isfile()}
    names = {name for name in names if ".egg-info/" not in name}
    assert names - MADE_BY_SETUPTOOLS == tracked() - NOT_PACKED


def test_the_wheel_has_each_module_and_definition_and_no_test(distributions: Distributions) -> None:
    names = packed(distributions.wheel)
    modules = {name for name in names if ".dist-info/" not in name and not name.endswith(".so")}
    assert modules == {name.removeprefix("src/") for name in tracked("src")}
    assert any(name.endswith("/licenses/LICENSE") for name in names)


def test_the_wheel_has_the_compiled_modules_and_says_so(distributions: Distributions) -> None:
    compiled = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*.so")}
    assert compiled
    assert {name for name in packed(distributions.wheel) if name.endswith(".so")} == compiled
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = r"manylinux_2_\d+_\w+" if sys.platform == "linux" else r"macosx_\w+"
    assert re.search(rf"-{python}-{python}-.*{platform}\.whl$", distributions.wheel.name)


def test_the_wheel_announces_the_commands_the_plugin_and_the_readme(distributions: Distributions) -> None:
    with zipfile.ZipFile(distributions.wheel) as archive:
        (entry_points,) = (name for name in archive.namelist() if name.endswith("entry_points.txt"))
        (metadata,) = (name for name in archive.namelist() if name.endswith("METADATA"))
        announced = archive.read(entry_points).decode()
        facts = archive.read(metadata).decode()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for name, target in project["scripts"].items():
        assert f"{name} = {target}" in announced
    assert "[pytest11]" in announced
    assert (ROOT / "README.md").read_text() in facts
