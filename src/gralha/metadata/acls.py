"""The access control lists in an image, and their changes by records.

Each has a random id, by which a record removes it. The same ACL is never there twice.
"""

from typing import NamedTuple

from gralha.metadata.errors import MetadataError
from gralha.protocol.acls import Acl, Operation, PatternType, Permission, ResourceType
from gralha.protocol.messages.security_records import (
    AccessControlEntryRecord,
    RemoveAccessControlEntryRecord,
)
from gralha.protocol.shared_map import SharedMap


class AclsImage(NamedTuple):
    """All ACLs of the cluster."""

    by_id: SharedMap[bytes, Acl]
    ids: SharedMap[Acl, bytes]


EMPTY_ACLS = AclsImage(SharedMap(), SharedMap())


class AclsDelta:
    """Makes the next ACLs of an image."""

    def __init__(self, before: AclsImage) -> None:
        self._by_id = before.by_id.change()
        self._ids = before.ids.change()
        self._before = before
        self._changed: dict[Acl, None] = {}

    def add(self, record: AccessControlEntryRecord) -> None:
        acl = _from_record(record)
        if record.id in self._by_id or acl in self._ids:
            raise MetadataError(f"the ACL {acl_text(acl)} is added twice")
        self._by_id[record.id] = acl
        self._ids[acl] = record.id
        self._changed[acl] = None

    def remove(self, record: RemoveAccessControlEntryRecord) -> None:
        acl = self._by_id.get(record.id)
        if acl is None:
            raise MetadataError("a record removes an ACL that does not exist")
        del self._by_id[record.id]
        del self._ids[acl]
        self._changed[acl] = None

    def finish(self) -> AclsImage:
        return AclsImage(self._by_id.finish(), self._ids.finish())

    def changed(self, after: AclsImage) -> tuple[list[Acl], list[Acl]]:
        """The added and the removed ACLs."""
        before = self._before.ids
        added = [acl for acl in self._changed if acl in after.ids and acl not in before]
        removed = [acl for acl in self._changed if acl in before and acl not in after.ids]
        return added, removed


def changed_between(before: AclsImage, after: AclsImage) -> tuple[list[Acl], list[Acl]]:
    """The added and the removed ACLs, without the records between the images."""
    if before is after:
        return [], []
    return (
        [acl for acl in after.ids if acl not in before.ids],
        [acl for acl in before.ids if acl not in after.ids],
    )


def acl_record(acl_id: bytes, acl: Acl) -> AccessControlEntryRecord:
    """The record that adds an ACL."""
    return AccessControlEntryRecord(
        id=acl_id,
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )


def acl_text(acl: Acl) -> str:
    """One line about an ACL, for errors and logs."""
    return (
        f"{acl.permission.name} {acl.principal} from {acl.host}: {acl.operation.name} "
        f"{acl.resource_type.name}:{acl.pattern_type.name}:{acl.resource_name}"
    )


def _from_record(record: AccessControlEntryRecord) -> Acl:
    try:
        return Acl(
            ResourceType(record.resource_type),
            record.resource_name,
            PatternType(record.pattern_type),
            record.principal,
            record.host,
            Operation(record.operation),
            Permission(record.permission_type),
        )
    except ValueError as error:
        # An ACL that is not understood may deny something, so the node must not ignore it.
        raise MetadataError(f"an ACL cannot be understood: {error}") from None
