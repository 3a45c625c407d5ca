"""Finds the Java for Spark. If it is missing or too old, an error says what to do."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

OLDEST_VERSION: Final = 17
INSTALL: Final = (
    "install it (Debian and Ubuntu: apt-get install openjdk-17-jre-headless, macOS: brew install openjdk@17) "
    "or set JAVA_HOME to its folder"
)


class JavaError(RuntimeError):
    """There is no Java that Spark can use. The message says what to do."""


def find_java() -> str:
    """The java command that Spark will use: from JAVA_HOME, otherwise the first on the PATH."""
    home = os.environ.get("JAVA_HOME")
    if home:
        command = Path(home) / "bin" / "java"
        if not os.access(command, os.X_OK):
            raise JavaError(f"JAVA_HOME is {home}, but there is no {command}: correct or unset JAVA_HOME")
        return _checked(str(command))
    found = shutil.which("java")
    if found is None:
        raise JavaError(f"Spark needs Java {OLDEST_VERSION} or newer, and there is no java here: {INSTALL}")
    return _checked(found)


def _checked(command: str) -> str:
    try:
        said = subprocess.run([command, "-version"], capture_output=True, text=True, timeout=30).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        raise JavaError(f"{command} does not run ({error}): {INSTALL}") from None
    version = java_version(said)
    if version is not None and version < OLDEST_VERSION:
        raise JavaError(
            f"Spark needs Java {OLDEST_VERSION} or newer, and {command} is Java {version}: {INSTALL}"
        )
    return command


def java_version(said: str) -> int | None:
    """The major version in the output of `java -version`, or None."""
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found[1]) if found else None
