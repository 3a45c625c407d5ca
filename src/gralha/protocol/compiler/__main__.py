"""Generates the modules of `messages` from the definitions."""

import subprocess
import sys
from pathlib import Path

from gralha.protocol.compiler import generate, notation

PROTOCOL = Path(__file__).parent.parent


def generated_modules() -> dict[Path, str]:
    """The text of every generated module."""
    definitions = [
        notation.parse(path.stem, path.read_text(encoding="utf-8"))
        for path in sorted((PROTOCOL / "definitions").glob("*.kafka"))
    ]
    folder = PROTOCOL / "messages"
    modules = {folder / f"{definition.name}.py": generate.module(definition) for definition in definitions}
    modules[folder / "__init__.py"] = generate.index(definitions)
    return {path: _formatted(path, text) for path, text in modules.items()}


def _formatted(path: Path, text: str) -> str:
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(path), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def main() -> None:
    modules = generated_modules()
    for path in (PROTOCOL / "messages").glob("*.py"):
        if path not in modules:
            path.unlink()
    for path, text in modules.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
