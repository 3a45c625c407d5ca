"""Loads the pipelines of a Python file.

The file is an ordinary module; its pipelines are the decorated functions at its top level, in their order.
What goes wrong while it is loaded is said with the file and the line that a person has to look at.
"""

from pathlib import Path

from gralha.pipelines.declaration import Pipeline


def load(path: str | Path) -> list[Pipeline]:
    """The pipelines of a file, at least one; LoadError or DeclarationError when something is wrong."""
    raise NotImplementedError
