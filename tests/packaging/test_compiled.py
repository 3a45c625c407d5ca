"""The tests run on the modules that they should: compiled ones, or plain ones."""

import importlib
import os
import runpy
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOT_MODULES: list[str] = runpy.run_path(str(ROOT / "setup.py"))["HOT_MODULES"]
EXPECT_PLAIN = "GRALHA_EXPECT_PLAIN" in os.environ or shutil.which("cc") is None


@pytest.mark.parametrize("path", HOT_MODULES)
def test_hot_modules_are_compiled(path: str) -> None:
    name = path.removeprefix("src/").removesuffix(".py").replace("/", ".")
    file = importlib.import_module(name).__file__
    assert file is not None
    assert file.endswith(".py" if EXPECT_PLAIN else ".so"), "run make setup"
