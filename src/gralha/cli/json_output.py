"""`--json`: the output of a command for programs. docs/COMMANDS.md has the forms.

Each document is one line with a version. Names are Kafka's, in camel case. A form may get new fields with the
same version, but no field changes its meaning or goes away.
"""

import json
from typing import Any, Final

from gralha.cli.arguments import ProgramParser

VERSION: Final = 1


def add_json_option(parser: ProgramParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def print_json(**fields: Any) -> None:
    """Prints one document."""
    print(json.dumps({"version": VERSION, **fields}, ensure_ascii=False))
