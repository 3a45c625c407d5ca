"""The commands of this installation, as a person types them."""

import shutil
import sys
from pathlib import Path


def installed_command(name: str) -> str:
    """The command as it can be typed in this folder: its name if it is on the PATH, otherwise its path."""
    if shutil.which(name):
        return name
    installed = Path(sys.executable).parent / name
    if not installed.exists():
        program = f"{sys.executable} -m gralha.cli.main"
        return program if name == "gralha" else f"{program} {name.removeprefix('kafka-')}"
    folder = Path.cwd()
    return str(installed.relative_to(folder) if installed.is_relative_to(folder) else installed)
