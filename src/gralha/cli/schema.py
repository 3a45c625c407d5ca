"""`gralha schema COMMAND`: registers, shows, checks and compares the schemas of a Schema Registry."""

import argparse
from typing import TYPE_CHECKING, Final

from gralha.cli.arguments import ProgramParser
from gralha.cli.json_output import add_json_option
from gralha.cli.pipeline import command_first
from gralha.cli.program import EXIT_FAILED, run
from gralha.cli.schema_client import ENVIRONMENT, default_registry

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[ProgramParser]

TYPES: Final = {"avro": "AVRO", "json": "JSON", "protobuf": "PROTOBUF"}
# Each command, what it does, and an example.
COMMANDS: Final = {
    "register": (
        "register the schema of a file",
        "gralha schema register orders-value order.avsc",
    ),
    "get": ("print a schema, by subject and version or by id", "gralha schema get orders-value --version 2"),
    "list": ("list subjects, or the versions of one", "gralha schema list orders-value"),
    "check": (
        "say whether a schema is compatible with the registered ones",
        "gralha schema check orders-value order.avsc",
    ),
    "diff": ("say what has changed between two versions", "gralha schema diff orders-value 1 2"),
    "delete": ("delete a version or a whole subject", "gralha schema delete orders-value --version 1"),
    "export": ("print all schemas as JSON lines", "gralha schema export > schemas.jsonl"),
    "import": (
        "register the schemas of an export, with their ids and versions",
        "gralha schema import schemas.jsonl",
    ),
}


def main(arguments: list[str] | None = None) -> int:
    return run(_schema, arguments)


def _schema(arguments: list[str]) -> int:
    words = command_first(arguments, COMMANDS)
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    if not words:
        parser().print_help()
        return EXIT_FAILED
    options = parser().parse_args(words)
    from gralha.cli import schema_commands

    return schema_commands.run(options)


def parser() -> ProgramParser:
    """The parser of all commands."""
    main = ProgramParser(
        prog="gralha schema",
        description="The schemas of a Schema Registry.",
        epilog="`gralha schema COMMAND --help` shows the options of a command.",
        examples=("gralha schema list",),
    )
    commands = main.add_subparsers(dest="command", metavar="COMMAND", required=True)
    register = _added(commands, "register")
    _add_schema(register)
    register.add_argument("--normalize", action="store_true", help="store the schema's normal form")
    get = _added(commands, "get")
    get.add_argument("subject", metavar="SUBJECT", nargs="?", help="the subject, unless --id is given")
    get.add_argument("--version", metavar="N", default="latest", help="the version (default latest)")
    get.add_argument("--id", type=int, metavar="N", help="the id of the schema")
    listing = _added(commands, "list")
    listing.add_argument("subject", metavar="SUBJECT", nargs="?", help="list the versions of this subject")
    listing.add_argument("--deleted", action="store_true", help="list soft-deleted ones, too")
    check = _added(commands, "check")
    _add_schema(check)
    check.add_argument("--version", metavar="N", help="compare with this version only")
    diff = _added(commands, "diff")
    diff.add_argument("subject", metavar="SUBJECT", help="the subject")
    diff.add_argument("older", metavar="N", nargs="?", help="a version (default: the one before the latest)")
    diff.add_argument("newer", metavar="M", nargs="?", default="latest", help="a version (default latest)")
    delete = _added(commands, "delete")
    delete.add_argument("subject", metavar="SUBJECT", help="the subject")
    delete.add_argument("--version", metavar="N", help="delete only this version")
    delete.add_argument("--permanent", action="store_true", help="for good, after a first delete without it")
    export = _added(commands, "export")
    export.add_argument("--prefix", metavar="P", help="only subjects whose names begin so")
    importing = _added(commands, "import")
    importing.add_argument("file", metavar="FILE", help="the file of the export, or - for standard input")
    for one in (register, get, listing, check, diff, delete, export, importing):
        _add_connection(one)
    return main


def _added(commands: "Commands", name: str) -> ProgramParser:
    text, example = COMMANDS[name]
    return commands.add_parser(
        name, help=text, description=f"{text[0].upper()}{text[1:]}.", examples=(example,)
    )


def _add_schema(parser: ProgramParser) -> None:
    parser.add_argument("subject", metavar="SUBJECT", help="the subject, for example orders-value")
    parser.add_argument("file", metavar="FILE", help="the file with the schema, or - for standard input")
    parser.add_argument(
        "--type", choices=tuple(TYPES), help="its type (default: by the file's name, otherwise avro)"
    )
    parser.add_argument(
        "--reference",
        action="append",
        default=[],
        metavar="NAME=SUBJECT:VERSION",
        help="another schema that this one uses; may be given many times",
    )


def _add_connection(parser: ProgramParser) -> None:
    parser.add_argument(
        "--registry", metavar="URL", help=f"the registry (default {default_registry()}, or {ENVIRONMENT})"
    )
    parser.add_argument("--user", metavar="NAME:PASSWORD", help="log in (HTTP's Basic authentication)")
    add_json_option(parser)
