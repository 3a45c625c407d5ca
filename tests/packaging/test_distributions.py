"""The content of what `make dist` makes, and that it works where it is installed.

Here the wheel has the modules that `make setup` has compiled. The source distribution is installed as on a
machine without a C compiler. `make test-versions` installs it with a compiler, for each Python.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from gralha.testing.process import ServerProcess, free_ports

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")
NOT_PACKED = {".ci/run", ".gitignore"}
MADE_BY_SETUPTOOLS = {"PKG-INFO", "setup.cfg"}
COMPILED = "gralha.storage.log"


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


class Installed:
    """An empty environment with Gralha and what Gralha's own metadata asks for, and nothing else."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "environment" / "bin"
        # Nothing of this test run may show there: neither the tree nor its environment.
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SPARK"))}
        self.environment = kept | {"PATH": f"{self.bin}:{os.environ['PATH']}", "VIRTUAL_ENV": ""}
        self.uv("venv", "--python", sys.executable, self.bin.parent)

    def uv(self, *arguments: str | Path, environment: Mapping[str, str] | None = None) -> None:
        command = [UV, *arguments, "--quiet"]
        subprocess.run(command, check=True, cwd=self.folder, env=environment or self.environment)

    def install(self, requirement: str) -> None:
        """Take the versions of our own environment: uv has kept them, so there is hardly anything to load."""
        freeze = [str(UV), "pip", "freeze", "--exclude-editable", "--python", sys.executable]
        versions = self.folder / "versions.txt"
        versions.write_text(subprocess.run(freeze, capture_output=True, text=True, check=True).stdout)
        self.uv("pip", "install", "--python", self.bin / "python", "--constraint", versions, requirement)
        self.uv("pip", "check", "--python", self.bin / "python")

    def run(self, command: str, *arguments: str, given: str = "") -> str:
        done = subprocess.run(
            [self.bin / command, *arguments],
            input=given,
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=self.environment,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def file_of(self, module: str) -> str:
        return self.run("python", "-c", f"import {module}; print({module}.__file__)").strip()

    @contextmanager
    def broker(self) -> Iterator[str]:
        (port,) = free_ports(1)
        command = [str(self.bin / "gralha"), "up", "--data", str(self.folder / "data"), "--port", str(port)]
        process = ServerProcess(command, self.folder / "broker.log", self.environment)
        try:
            process.wait_ready(port)
            yield f"localhost:{port}"
        finally:
            exit_code = process.stop()
        assert exit_code == 0, process.log_tail()

    def use_a_broker(self) -> None:
        """A topic, a record in it, and the record read from it."""
        with self.broker() as bootstrap:
            server = ("--bootstrap-server", bootstrap)
            self.run("kafka-topics", *server, "--create", "--topic", "pardais", "--partitions", "2")
            self.run("kafka-console-producer", *server, "--topic", "pardais", given="bom dia\n")
            reading = ("--topic", "pardais", "--from-beginning", "--max-messages", "1")
            assert "bom dia" in self.run("kafka-console-consumer", *server, *reading)
            assert "pardais" in self.run("kafka-log-dirs", *server, "--describe")


# They install Spark and start it.
@pytest.mark.timeout(300)
def test_the_wheel_works_with_spark(distributions: Distributions, tmp_path: Path) -> None:
    installed = Installed(tmp_path)
    installed.install(f"gralha[spark] @ {distributions.wheel.as_uri()}")
    file = installed.file_of(COMPILED)
    assert file.endswith(".so")
    assert Path(file).is_relative_to(tmp_path)
    installed.use_a_broker()
    assert "passed" in installed.run("gralha", "pipeline", "test", str(ROOT / "examples/sales/pipelines.py"))


@pytest.mark.timeout(300)
def test_the_source_distribution_works_without_a_compiler(
    distributions: Distributions, tmp_path: Path
) -> None:
    installed = Installed(tmp_path)
    without_compiler = {**installed.environment, "CC": str(tmp_path / "no-compiler")}
    installed.uv(
        "build", "--wheel", "--out-dir", tmp_path, distributions.source, environment=without_compiler
    )
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    installed.install(f"gralha @ {wheel.as_uri()}")
    assert installed.file_of(COMPILED).endswith("log.py")
    installed.use_a_broker()
    missing = subprocess.run(
        [installed.bin / "gralha", "pipeline", "test", ROOT / "examples/sales/pipelines.py"],
        capture_output=True,
        text=True,
        env=installed.environment,
        check=False,
    )
    assert missing.returncode == 1
    # The message has the command that installs the rest, from the same file.
    *_, command = missing.stderr.rstrip().partition("not installed here: ")
    assert command == f'pip install "gralha[spark] @ {wheel.as_uri()}"'
    installed.install(shlex.split(command)[-1])
    assert installed.file_of(COMPILED).endswith("log.py")
    assert "passed" in installed.run("gralha", "pipeline", "test", str(ROOT / "examples/sales/pipelines.py"))
