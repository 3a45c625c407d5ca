"""`gralha pipeline init NAME`: writes a small project that runs at once."""

import re
from argparse import Namespace
from pathlib import Path
from typing import Final

from gralha.cli.connect import default_bootstrap_servers
from gralha.cli.program import CommandError

NAME: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,99}")
TEMPLATES: Final = Path(__file__).parent / "templates"
# A template's name -> the file of the project.
FILES: Final = {
    "pipelines.py.txt": "pipelines.py",
    "sales.jsonl.txt": "sales.jsonl",
    "test_pipelines.py.txt": "test_pipelines.py",
}


def command(options: Namespace) -> int:
    """Writes the project and says what to do next."""
    folder = Path(options.name)
    if not NAME.fullmatch(folder.name):
        raise CommandError(
            f"{folder.name!r} cannot be the name of a pipeline: use letters, digits, '.', '_' and '-'."
        )
    try:
        folder.mkdir(parents=True)
        for template, name in FILES.items():
            text = (TEMPLATES / template).read_text("utf-8")
            (folder / name).write_text(text.replace("@NAME@", folder.name), "utf-8")
    except FileExistsError:
        raise CommandError(f"{folder} exists already: choose another name, or remove it first.") from None
    except OSError as error:
        raise CommandError(f"{folder} cannot be written: {error.strerror or error}") from None
    print(_next_steps(folder))
    return 0


def _next_steps(folder: Path) -> str:
    name, server = folder.name, default_bootstrap_servers()
    broker = f"--bootstrap-server {server}"
    return f"""Wrote {folder}/: {", ".join(FILES.values())}

Next:
  cd {folder}
  gralha pipeline test pipelines.py        (needs no broker)
  gralha up                                (in another terminal, if no broker runs on {server})
  kafka-console-producer {broker} --topic {name}.sales < sales.jsonl
  gralha pipeline run pipelines.py         (until Ctrl-C)
  kafka-console-consumer {broker} --topic {name}.totals --from-beginning"""
