"""CreateAcls, DeleteAcls, DescribeAcls: the checks of Kafka's AclControlManagerTest, and filters."""

import pytest
from tests.metadata.cluster import context, replay

from gralha.metadata.acls import changed_between
from gralha.metadata.controller.acls import create_acls, delete_acls, described_acls, filter_of
from gralha.metadata.delta import ImageDelta, change_between
from gralha.metadata.image import EMPTY_IMAGE, MetadataError
from gralha.metadata.snapshot import snapshot_records
from gralha.protocol.acls import Acl, Operation, PatternType, Permission, ResourceType
from gralha.protocol.errors import ErrorCode, PolicyViolationError
from gralha.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from gralha.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from gralha.protocol.messages.describe_acls import DescribeAclsRequest
from gralha.protocol.messages.security_records import (
    AccessControlEntryRecord,
    RemoveAccessControlEntryRecord,
)

TOPIC, GROUP, CLUSTER = 2, 3, 4
ANY, MATCH, LITERAL, PREFIXED = 1, 2, 3, 4
READ, WRITE = 3, 4
DENY, ALLOW = 2, 3
NO_COLON = (
    "Could not parse principal from `bob` "
    "(no colon is present separating the principal type from the principal name)"
)


def creation(
    name="orders",
    kind=TOPIC,
    pattern=LITERAL,
    principal="User:bob",
    host="*",
    operation=READ,
    permission=ALLOW,
):
    return AclCreation(kind, name, pattern, principal, host, operation, permission)


def created(image, *creations):
    decision = create_acls(image, CreateAclsRequest(list(creations)), context(seed=len(image.acls.ids)))
    after, change = replay(image, decision.records)
    return after, change, decision.response.results


def wanted(request, kind=ANY, name=None, pattern=ANY, principal=None, host=None, operation=1, permission=1):
    return request(kind, name, pattern, principal, host, operation, permission)


def names(image, **fields):
    found = described_acls(image.acls.ids, filter_of(wanted(DescribeAclsRequest, **fields)))
    return [(one.resource_name, one.pattern_type, len(one.acls)) for one in found]


def test_an_acl_is_created_once():
    image, change, results = created(EMPTY_IMAGE, creation(), creation(), creation(permission=DENY))
    assert [one.error_code for one in results] == [0, 0, 0]
    read = Acl(
        ResourceType.TOPIC, "orders", PatternType.LITERAL, "User:bob", "*", Operation.READ, Permission.ALLOW
    )
    assert list(image.acls.ids) == [read, read._replace(permission=Permission.DENY)]
    assert change.added_acls == list(image.acls.ids)
    assert change.removed_acls == []
    again, change, results = created(image, creation())
    assert [one.error_code for one in results] == [0]
    assert (again.acls, change.added_acls) == (image.acls, [])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (creation(kind=0), "Invalid resourceType UNKNOWN"),
        (creation(kind=1), "Invalid resourceType ANY"),
        (creation(kind=99), "Invalid resourceType UNKNOWN"),
        (creation(pattern=MATCH), "Invalid patternType MATCH"),
        (creation(pattern=ANY), "Invalid patternType ANY"),
        (creation(pattern=99), "Invalid patternType UNKNOWN"),
        (creation(operation=1), "Invalid operation ANY"),
        (creation(operation=99), "Invalid operation UNKNOWN"),
        (creation(permission=1), "Invalid permissionType ANY"),
        (creation(name=""), "Invalid empty resource name"),
        (creation(kind=CLUSTER), "The only valid name for the CLUSTER resource is kafka-cluster"),
        (
            creation(principal="bob"),
            NO_COLON,
        ),
    ],
)
def test_a_wrong_acl_is_refused_and_the_others_are_created(wrong, message):
    image, _, results = created(EMPTY_IMAGE, wrong, creation())
    assert [(one.error_code, one.error_message) for one in results] == [
        (ErrorCode.INVALID_REQUEST, message),
        (0, None),
    ]
    assert len(image.acls.ids) == 1


def test_a_request_creates_and_deletes_at_most_ten_thousand_acls():
    creations = [creation(f"t{number}") for number in range(10_001)]
    with pytest.raises(PolicyViolationError):
        create_acls(EMPTY_IMAGE, CreateAclsRequest(creations), context())
    image, _, _ = created(EMPTY_IMAGE, *creations[:10_000])
    image, _, _ = created(image, creations[-1])
    everything = DeleteAclsRequest([wanted(DeleteAclsFilter)])
    with pytest.raises(PolicyViolationError):
        delete_acls(image, everything)
    one = wanted(DeleteAclsFilter, TOPIC, "t0", LITERAL, "User:bob", "*", READ, ALLOW)
    decision = delete_acls(image, DeleteAclsRequest([one]))
    assert len(decision.records) == 1
    image, _ = replay(image, decision.records)
    decision = delete_acls(image, everything)
    image, change = replay(image, decision.records)
    assert (len(image.acls.ids), len(change.removed_acls)) == (0, 10_000)


def test_filters_name_patterns_or_the_resource_that_falls_under_them():
    image, _, _ = created(
        EMPTY_IMAGE,
        creation("orders"),
        creation("orders", operation=WRITE),
        creation("ord", pattern=PREFIXED),
        creation("*", host="10.0.0.1"),
        creation("orders", GROUP, principal="User:ann"),
        creation("payments", permission=DENY),
    )
    assert len(names(image)) == 5
    assert names(image, kind=TOPIC, name="orders") == [("orders", LITERAL, 2)]
    assert names(image, kind=TOPIC, name="orders", pattern=LITERAL) == [("orders", LITERAL, 2)]
    assert names(image, kind=TOPIC, name="orders", pattern=MATCH) == [
        ("orders", LITERAL, 2),
        ("ord", PREFIXED, 1),
        ("*", LITERAL, 1),
    ]
    assert names(image, pattern=PREFIXED) == [("ord", PREFIXED, 1)]
    assert names(image, name="ord", pattern=MATCH) == [("ord", PREFIXED, 1), ("*", LITERAL, 1)]
    assert names(image, principal="User:ann") == [("orders", LITERAL, 1)]
    assert names(image, host="10.0.0.1") == [("*", LITERAL, 1)]
    assert names(image, operation=WRITE) == [("orders", LITERAL, 1)]
    assert names(image, permission=DENY) == [("payments", LITERAL, 1)]
    assert names(image, kind=99) == []


def test_deleted_acls_are_listed_by_filter():
    image, _, _ = created(EMPTY_IMAGE, creation("a"), creation("b"), creation("c"))
    filters = [
        wanted(DeleteAclsFilter, name="a"),
        wanted(DeleteAclsFilter, name="nothing"),
        wanted(DeleteAclsFilter, kind=99),
        wanted(DeleteAclsFilter, operation=99),
        wanted(DeleteAclsFilter, TOPIC, "b", LITERAL, "User:bob", "*", READ, ALLOW),
    ]
    decision = delete_acls(image, DeleteAclsRequest(filters))
    results = decision.response.filter_results
    assert [(one.error_code, one.error_message) for one in results] == [
        (0, None),
        (0, None),
        (ErrorCode.INVALID_REQUEST, "Unknown patternFilter."),
        (ErrorCode.INVALID_REQUEST, "Unknown entryFilter."),
        (0, None),
    ]
    assert [[acl.resource_name for acl in one.matching_acls] for one in results] == [["a"], [], [], [], ["b"]]
    after, change = replay(image, decision.records)
    assert [acl.resource_name for acl in after.acls.ids] == ["c"]
    assert [acl.resource_name for acl in change.removed_acls] == ["a", "b"]


def test_a_snapshot_has_the_acls_with_their_ids():
    image, _, _ = created(EMPTY_IMAGE, creation("a"), creation("b", GROUP, PREFIXED, permission=DENY))
    again, change = replay(EMPTY_IMAGE, list(snapshot_records(image)))
    assert again.acls.by_id == image.acls.by_id
    assert list(change.added_acls) == list(image.acls.ids)


def test_the_change_between_two_images_has_the_acls():
    first, _, _ = created(EMPTY_IMAGE, creation("a"), creation("b"))
    second, _, _ = created(first, creation("c"))
    removed = delete_acls(second, DeleteAclsRequest([wanted(DeleteAclsFilter, name="a")]))
    third, _ = replay(second, removed.records)
    change = change_between(first, third)
    assert [acl.resource_name for acl in change.added_acls] == ["c"]
    assert [acl.resource_name for acl in change.removed_acls] == ["a"]
    assert changed_between(third.acls, third.acls) == ([], [])


def test_an_acl_that_comes_and_goes_at_once_is_no_change():
    made = create_acls(EMPTY_IMAGE, CreateAclsRequest([creation("a")]), context()).records
    assert isinstance(made[0], AccessControlEntryRecord)
    gone = RemoveAccessControlEntryRecord(id=made[0].id)
    _, change = replay(EMPTY_IMAGE, [*made, gone])
    assert (change.added_acls, change.removed_acls) == ([], [])


@pytest.mark.parametrize(
    "record",
    [
        RemoveAccessControlEntryRecord(id=b"x" * 16),
        AccessControlEntryRecord(b"y" * 16, TOPIC, "a", LITERAL, "User:bob", "*", READ, ALLOW),
        AccessControlEntryRecord(b"z" * 16, TOPIC, "b", LITERAL, "User:bob", "*", 99, DENY),
    ],
)
def test_contradicting_records_stop_the_node(record):
    image, _, _ = created(EMPTY_IMAGE, creation("a"))
    with pytest.raises(MetadataError):
        ImageDelta(image).apply(record)
