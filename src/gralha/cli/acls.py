"""kafka-acls: adds, lists and removes access control lists."""

from argparse import Namespace
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gralha.cli.acls_options import Entry, Resource, acl_of, entries_by_resource, parse_options, resources
from gralha.cli.connect import open_admin
from gralha.cli.json_output import print_json
from gralha.cli.program import CommandError, run
from gralha.protocol.acls import Acl, PatternType

if TYPE_CHECKING:
    from gralha.client.admin import Admin


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_main, arguments)


def _main(arguments: list[str]) -> int:
    options = parse_options(arguments)
    asked = {} if options.list else entries_by_resource(options)
    if options.add:
        _check_added(options, asked)
    with open_admin(options, "kafka-acls") as admin:
        if options.add:
            _add(admin, options, asked)
        elif options.remove:
            _remove(admin, options, asked)
        else:
            _list(admin, options)
    return 0


def _check_added(options: Namespace, asked: dict[Resource, list[Entry]]) -> None:
    pattern = options.resource_pattern_type
    if pattern not in (PatternType.LITERAL, PatternType.PREFIXED):
        raise CommandError(
            f"A '--resource-pattern-type' value of '{pattern.name}' is not valid when adding acls."
        )
    if not all(asked.values()):
        raise CommandError(
            "You must specify one of: --allow-principal, --deny-principal when trying to add ACLs."
        )


def _add(admin: "Admin", options: Namespace, asked: dict[Resource, list[Entry]]) -> None:
    for resource, entries in asked.items():
        if not options.json:
            print(f"Adding ACLs for resource `{resource_text(resource)}`: \n {_lines(entries)}\n")
        admin.create_acls([acl_of(resource, entry) for entry in entries])
    if options.json:
        _print_json("added", [acl_of(resource, entry) for resource in asked for entry in asked[resource]])


def _remove(admin: "Admin", options: Namespace, asked: dict[Resource, list[Entry]]) -> None:
    from gralha.client.acl_calls import AclFilter

    removed: list[Acl] = []
    for resource, entries in asked.items():
        pattern = resource_text(resource)
        if entries:
            question = (
                f"Are you sure you want to remove ACLs: \n {_lines(entries)}\n "
                f"from resource filter `{pattern}`? (y/n)"
            )
        else:
            question = f"Are you sure you want to delete all ACLs for resource filter `{pattern}`? (y/n)"
        if options.force or _confirmed(question):
            filters = [AclFilter(*acl_of(resource, entry)) for entry in entries] or [AclFilter(*resource)]
            removed += admin.delete_acls(filters)
    if options.json:
        _print_json("removed", removed)


def _confirmed(question: str) -> bool:
    print(question)
    try:
        return input().strip().lower() == "y"
    except EOFError:
        return False


def _list(admin: "Admin", options: Namespace) -> None:
    from gralha.client.acl_calls import AclFilter

    filters = [AclFilter(*resource) for resource in resources(options)] or [AclFilter()]
    found = dict.fromkeys(acl for one in filters for acl in admin.describe_acls(one))
    if options.json:
        wanted = options.principal
        _print_json("acls", [acl for acl in found if not wanted or acl.principal in wanted])
        return
    if not options.principal:
        _show(found)
    for principal in options.principal:
        print(f"ACLs for principal `{principal}`")
        _show(acl for acl in found if acl.principal == principal)


def _show(acls: Iterable[Acl]) -> None:
    by_resource: dict[Resource, list[Entry]] = {}
    for acl in acls:
        resource = (acl.resource_type, acl.resource_name, acl.pattern_type)
        entry = (acl.principal, acl.host, acl.operation, acl.permission)
        by_resource.setdefault(resource, []).append(entry)
    for resource, entries in by_resource.items():
        print(f"Current ACLs for resource `{resource_text(resource)}`:\n{_lines(entries)}\n")


def resource_text(resource: Resource) -> str:
    """A pattern of resources as Kafka prints it."""
    kind, name, pattern = resource
    return f"ResourcePattern(resourceType={kind.name}, name={name}, patternType={pattern.name})"


def _lines(entries: Iterable[Entry]) -> str:
    return "\n".join(
        f"\t(principal={principal}, host={host}, operation={operation.name}, "
        f"permissionType={permission.name})"
        for principal, host, operation, permission in entries
    )


def _print_json(name: str, acls: Iterable[Acl]) -> None:
    print_json(
        **{
            name: [
                {
                    "resourceType": acl.resource_type.name,
                    "resourceName": acl.resource_name,
                    "patternType": acl.pattern_type.name,
                    "principal": acl.principal,
                    "host": acl.host,
                    "operation": acl.operation.name,
                    "permissionType": acl.permission.name,
                }
                for acl in acls
            ]
        }
    )
