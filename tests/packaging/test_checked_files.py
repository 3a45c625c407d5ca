"""`make check` refuses tracked files that only make sense on one machine."""

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "check_files"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with only the script."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(SCRIPT, tmp_path / "scripts")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    return tmp_path


def check(checkout: Path) -> "subprocess.CompletedProcess[str]":
    subprocess.run(["git", "add", "--all"], cwd=checkout, check=True)
    return subprocess.run([checkout / "scripts" / "check_files"], capture_output=True, text=True, check=False)


def test_files_that_make_sense_everywhere_pass(checkout: Path) -> None:
    (checkout / "notes.md").write_text("data in /home/you/data, docs in docs/home/page, a log in /var/log\n")
    result = check(checkout)
    assert (result.returncode, result.stderr) == (0, "")


def test_a_link_is_refused(checkout: Path) -> None:
    (checkout / "node_modules").symlink_to(checkout / "scripts")
    result = check(checkout)
    assert result.returncode == 1
    assert "node_modules is a link" in result.stderr


@pytest.mark.parametrize("folder", ["root", "home/somebody", "Users/somebody", "work"])
def test_a_folder_of_one_machine_is_refused(checkout: Path, folder: str) -> None:
    (checkout / "test_it.py").write_text(f'\nPATH = "/{folder}/main"\n')
    result = check(checkout)
    assert result.returncode == 1
    assert "test_it.py:2 names" in result.stderr


def test_the_folder_of_the_checkout_is_refused(checkout: Path) -> None:
    (checkout / "notes.md").write_text(f"see {checkout}/README.md\n")
    result = check(checkout)
    assert result.returncode == 1
    assert "notes.md:1 names" in result.stderr
