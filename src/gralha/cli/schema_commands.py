"""The commands of `gralha schema`."""

import json
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import Any, Final

from gralha.cli.json_output import print_json
from gralha.cli.program import EXIT_FAILED, CommandError
from gralha.cli.schema import TYPES
from gralha.cli.schema_client import SchemaClient, default_registry
from gralha.cli.text_file import read_text

_SUFFIXES: Final = {".avsc": "AVRO", ".avro": "AVRO", ".json": "JSON", ".proto": "PROTOBUF"}
_PAGE: Final = 1000
_EXPORTED: Final = (
    *("subject", "version", "id", "schemaType", "references", "metadata", "ruleSet", "schema"),
)


def run(options: Namespace) -> int:
    client = SchemaClient(options.registry or default_registry(), options.user)
    return _COMMANDS[options.command](client, options)


def _register(client: SchemaClient, options: Namespace) -> int:
    path = ("subjects", options.subject, "versions")
    query = {"normalize": options.normalize}
    answer = client.ask("POST", path, query, _schema_of(options))
    if options.json:
        print_json(subject=options.subject, id=answer["id"], schemaVersion=answer.get("version"))
    else:
        print(f"{options.subject} version {answer.get('version', '?')} has the id {answer['id']}.")
    return 0


def _get(client: SchemaClient, options: Namespace) -> int:
    if (options.id is None) == (options.subject is None):
        raise CommandError("Give a subject or --id, for example: gralha schema get orders-value")
    if options.id is not None:
        found = client.get("schemas", "ids", options.id)
    else:
        found = client.get("subjects", options.subject, "versions", options.version)
    if options.json:
        print_json(schema=found)
    else:
        print(_pretty(found))
    return 0


def _list(client: SchemaClient, options: Namespace) -> int:
    if options.subject is None:
        names = client.get("subjects", deleted=options.deleted)
        if options.json:
            print_json(subjects=names)
        else:
            print("\n".join(names) if names else "There are no subjects.")
        return 0
    numbers = client.get("subjects", options.subject, "versions", deleted=options.deleted)
    versions = [
        client.get("subjects", options.subject, "versions", number, deleted=options.deleted)
        for number in numbers
    ]
    if options.json:
        print_json(subject=options.subject, versions=versions)
        return 0
    for one in versions:
        deleted = "  deleted" if one.get("deleted") else ""
        print(f"version {one['version']:<4} id {one['id']:<6} {one.get('schemaType', 'AVRO')}{deleted}")
    return 0


def _check(client: SchemaClient, options: Namespace) -> int:
    path: tuple[object, ...] = ("compatibility", "subjects", options.subject, "versions")
    if options.version is not None:
        path = (*path, options.version)
    answer = client.ask("POST", path, {"verbose": True}, _schema_of(options))
    is_compatible = bool(answer["is_compatible"])
    if options.json:
        print_json(isCompatible=is_compatible, messages=answer.get("messages", []))
    elif is_compatible:
        print(f"The schema is compatible with {options.subject}.")
    else:
        print(f"The schema is not compatible with {options.subject}:")
        for message in answer.get("messages", ()):
            print(f"  {message}")
    return 0 if is_compatible else EXIT_FAILED


def _diff(client: SchemaClient, options: Namespace) -> int:
    from gralha.registry.differences import differences

    newer = client.get("subjects", options.subject, "versions", options.newer)
    if options.older is None:
        numbers = client.get("subjects", options.subject, "versions")
        before = [number for number in numbers if number < newer["version"]]
        if not before:
            raise CommandError(f"{options.subject} has no version before {newer['version']}")
        options.older = before[-1]
    older = client.get("subjects", options.subject, "versions", options.older)
    types = [one.get("schemaType", "AVRO") for one in (older, newer)]
    if types[0] != types[1]:
        found = [f"the type of the schema changed from {types[0]} to {types[1]}"]
    else:
        found = differences(types[0], older["schema"], newer["schema"])
    if options.json:
        print_json(older=older["version"], newer=newer["version"], differences=found)
        return 0
    title = f"{options.subject}: from version {older['version']} to version {newer['version']}"
    print(title if found else f"{title} nothing changed that readers see.")
    for sentence in found:
        print(f"  {sentence}")
    return 0


def _delete(client: SchemaClient, options: Namespace) -> int:
    path: tuple[object, ...] = ("subjects", options.subject)
    if options.version is not None:
        path = (*path, "versions", options.version)
    answer = client.ask("DELETE", path, {"permanent": options.permanent})
    numbers = answer if isinstance(answer, list) else [answer]
    if options.json:
        print_json(subject=options.subject, versions=numbers)
    else:
        versions = ", ".join(map(str, numbers))
        how = " for good" if options.permanent else ""
        print(f"Deleted{how}: {options.subject} version {versions}.")
    return 0


def _export(client: SchemaClient, options: Namespace) -> int:
    for one in _all(client, options.prefix or ":*:"):
        kept = {name: one[name] for name in _EXPORTED if one.get(name) not in (None, [])}
        print(json.dumps(kept, ensure_ascii=False))
    return 0


def _all(client: SchemaClient, prefix: str) -> Iterator[dict[str, Any]]:
    offset = 0
    while page := client.get("schemas", subjectPrefix=prefix, offset=offset, limit=_PAGE):
        yield from page
        offset += len(page)


def _import(client: SchemaClient, options: Namespace) -> int:
    """The ids stay the same, because records have them. A subject is in the mode IMPORT meanwhile."""
    schemas = _lines(options.file)
    # By id, so that a schema comes after those that it refers to.
    schemas.sort(key=lambda one: (one["id"], one["version"]))
    subjects = list(dict.fromkeys(one["subject"] for one in schemas))
    known = set(client.get("subjects", deleted=True))
    there = [subject for subject in subjects if subject in known]
    if there:
        raise CommandError(
            f"The registry has the subject {there[0]} already. An import keeps ids and versions, so its "
            "subjects must be new"
        )
    for subject in subjects:
        client.ask("PUT", ("mode", subject), {}, {"mode": "IMPORT"})
    try:
        for one in schemas:
            body = {name: value for name, value in one.items() if name != "subject"}
            client.ask("POST", ("subjects", one["subject"], "versions"), {}, body)
    finally:
        for subject in subjects:
            client.ask("DELETE", ("mode", subject))
    if options.json:
        print_json(schemas=len(schemas), subjects=len(subjects))
    else:
        print(f"Imported {len(schemas)} schemas of {len(subjects)} subjects.")
    return 0


def _lines(path: str) -> list[dict[str, Any]]:
    schemas = []
    for number, line in enumerate(_read(path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            one = json.loads(line)
            schemas.append({**one, "id": int(one["id"]), "version": int(one["version"])})
            _ = one["subject"], one["schema"]
        except (ValueError, KeyError, TypeError):
            raise CommandError(
                f"{path}, line {number}: no schema. Use a file of `gralha schema export`"
            ) from None
    return schemas


def _schema_of(options: Namespace) -> dict[str, Any]:
    schema: dict[str, Any] = {"schema": _read(options.file)}
    suffix = PurePath(options.file).suffix
    schema["schemaType"] = TYPES[options.type] if options.type else _SUFFIXES.get(suffix, "AVRO")
    references = [_reference(text) for text in options.reference]
    return schema | ({"references": references} if references else {})


def _reference(text: str) -> dict[str, Any]:
    name, equals, rest = text.partition("=")
    subject, colon, version = rest.rpartition(":")
    if not equals or not colon or not version.lstrip("-").isdigit():
        raise CommandError(f"--reference {text}: write NAME=SUBJECT:VERSION")
    return {"name": name, "subject": subject, "version": int(version)}


def _read(path: str) -> str:
    return sys.stdin.read() if path == "-" else read_text(path, "the schema")


def _pretty(found: dict[str, Any]) -> str:
    text = str(found["schema"])
    if found.get("schemaType", "AVRO") == "PROTOBUF":
        return text.rstrip("\n")
    return json.dumps(json.loads(text), indent=2, ensure_ascii=False)


_COMMANDS: Final[dict[str, Callable[[SchemaClient, Namespace], int]]] = {
    "register": _register,
    "get": _get,
    "list": _list,
    "check": _check,
    "diff": _diff,
    "delete": _delete,
    "export": _export,
    "import": _import,
}
