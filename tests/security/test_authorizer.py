"""Decisions by rules: against a model that looks at every rule, and Kafka's own cases."""

from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from gralha.protocol.acls import (
    ANY_HOST,
    ANY_NAME,
    ANY_PRINCIPAL,
    CLUSTER_NAME,
    Acl,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)
from gralha.security.authorizer import MAX_REMEMBERED, AclIndex, Authorizer

HOST: Final = "127.0.0.1"
BOB: Final = "User:bob"
OPERATIONS: Final = [one for one in Operation if one > Operation.ANY]
IMPLIED: Final = {
    Operation.DESCRIBE: {Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER},
    Operation.DESCRIBE_CONFIGS: {Operation.ALTER_CONFIGS},
}

names = st.sampled_from(["a", "ab", "abc", "b", "*", "*a", "ba"])
kinds = st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP])
principals = st.sampled_from(["User:a", "User:b", "User:*", "Group:a"])
hosts = st.sampled_from(["1.1.1.1", "2.2.2.2", "*"])
operations = st.sampled_from(OPERATIONS)
acls = st.builds(
    Acl,
    kinds,
    names,
    st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    principals,
    hosts,
    operations,
    st.sampled_from([Permission.ALLOW, Permission.DENY]),
)


def matches(acl: Acl, kind: ResourceType, name: str) -> bool:
    if acl.resource_type != kind:
        return False
    if acl.pattern_type is PatternType.PREFIXED:
        return name.startswith(acl.resource_name)
    return acl.resource_name in (name, ANY_NAME)


def is_for(acl: Acl, principal: str, host: str) -> bool:
    return acl.principal in (principal, ANY_PRINCIPAL) and acl.host in (host, ANY_HOST)


def model(
    rules: set[Acl],
    principal: str,
    host: str,
    operation: Operation,
    kind: ResourceType,
    name: str,
    if_no_rule: bool,
) -> bool:
    about = [acl for acl in rules if matches(acl, kind, name)]
    mine = [acl for acl in about if is_for(acl, principal, host)]
    if any(acl.permission is Permission.DENY and acl.operation in (operation, Operation.ALL) for acl in mine):
        return False
    allowing = {operation, Operation.ALL, *IMPLIED.get(operation, ())}
    if any(acl.permission is Permission.ALLOW and acl.operation in allowing for acl in mine):
        return True
    return not about and if_no_rule


def model_on_any(
    rules: set[Acl], principal: str, host: str, operation: Operation, kind: ResourceType
) -> bool:
    """Like the search in Kafka's interface Authorizer."""
    mine = [
        acl
        for acl in rules
        if acl.resource_type == kind
        and is_for(acl, principal, host)
        and acl.operation in (operation, Operation.ALL)
    ]
    denied = {(acl.pattern_type, acl.resource_name) for acl in mine if acl.permission is Permission.DENY}
    allowed = {(acl.pattern_type, acl.resource_name) for acl in mine if acl.permission is Permission.ALLOW}
    if (PatternType.LITERAL, ANY_NAME) in denied:
        return False
    return (PatternType.LITERAL, ANY_NAME) in allowed or any(
        not (pattern is PatternType.LITERAL and (pattern, name) in denied)
        and not any((PatternType.PREFIXED, name[:length]) in denied for length in range(1, len(name) + 1))
        for pattern, name in allowed
    )


@given(st.sets(acls, max_size=12), principals, hosts, operations, kinds, names, st.booleans())
def test_decides_like_a_model_that_looks_at_every_rule(
    rules: set[Acl],
    principal: str,
    host: str,
    operation: Operation,
    kind: ResourceType,
    name: str,
    if_no_rule: bool,
) -> None:
    index = AclIndex().changed(rules, [])
    assert index.is_allowed(principal, host, operation, kind, name, if_no_rule) == model(
        rules, principal, host, operation, kind, name, if_no_rule
    )
    assert index.is_allowed_on_any(principal, host, operation, kind) == model_on_any(
        rules, principal, host, operation, kind
    )


@given(st.lists(st.sets(acls, max_size=6), max_size=8), st.data())
def test_each_change_makes_the_next_index_and_leaves_the_last_one_as_it_was(
    states: list[set[Acl]], data: st.DataObject
) -> None:
    index, rules = AclIndex(), set[Acl]()
    history = [(index, rules)]
    for state in states:
        index = index.changed(state - rules, rules - state)
        rules = state
        history.append((index, rules))
    principal, host, name = data.draw(principals), data.draw(hosts), data.draw(names)
    operation, kind = data.draw(operations), data.draw(kinds)
    for index, rules in history:
        assert len(index) == len(rules)
        assert index.is_allowed(principal, host, operation, kind, name, True) == model(
            rules, principal, host, operation, kind, name, True
        )


def topic(
    name: str,
    operation: Operation,
    permission: Permission = Permission.ALLOW,
    pattern: PatternType = PatternType.LITERAL,
    principal: str = BOB,
    host: str = ANY_HOST,
) -> Acl:
    return Acl(ResourceType.TOPIC, name, pattern, principal, host, operation, permission)


def authorizer(*rules: Acl, super_users: tuple[str, ...] = (), allow_if_no_acl: bool = False) -> Authorizer:
    made = Authorizer(super_users, allow_if_no_acl)
    made.change(rules, [])
    made.loaded()
    return made


def may(one: Authorizer, operation: Operation, name: str, principal: str = BOB, host: str = HOST) -> bool:
    return one.allows(principal, host, operation, ResourceType.TOPIC, name)


def test_super_users_may_do_what_rules_deny() -> None:
    deny_all = topic(ANY_NAME, Operation.ALL, Permission.DENY, principal=ANY_PRINCIPAL)
    one = authorizer(deny_all, super_users=("User:root",))
    assert may(one, Operation.WRITE, "orders", "User:root")
    assert one.allows("User:root", HOST, Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME)
    assert not may(one, Operation.WRITE, "orders", "User:ROOT")


def test_only_super_users_pass_until_the_rules_are_loaded() -> None:
    one = Authorizer(["User:root"], allow_if_no_acl=True)
    one.change([topic("orders", Operation.READ)], [])
    assert not may(one, Operation.READ, "orders")
    assert not one.allows_on_any(BOB, HOST, Operation.READ, ResourceType.TOPIC)
    assert may(one, Operation.READ, "orders", "User:root")
    assert one.allows_on_any("User:root", HOST, Operation.READ, ResourceType.TOPIC)
    one.loaded()
    assert may(one, Operation.READ, "orders")


def test_without_rules_about_a_resource_the_setting_decides() -> None:
    rule = topic("orders", Operation.READ, principal="User:ann")
    open_one, closed = authorizer(rule, allow_if_no_acl=True), authorizer(rule)
    assert may(open_one, Operation.WRITE, "payments")
    assert not may(closed, Operation.WRITE, "payments")
    # There is a rule about this topic, although it is for somebody else.
    assert not may(open_one, Operation.WRITE, "orders")


def test_deny_counts_more_than_allow_whatever_the_pattern() -> None:
    one = authorizer(
        topic("orders", Operation.READ),
        topic("ord", Operation.READ, Permission.DENY, PatternType.PREFIXED),
        topic(ANY_NAME, Operation.WRITE, Permission.DENY),
        topic("orders", Operation.WRITE),
    )
    assert not may(one, Operation.READ, "orders")
    assert not may(one, Operation.WRITE, "orders")


def test_a_denied_operation_does_not_deny_what_it_implies() -> None:
    one = authorizer(
        topic("orders", Operation.READ, Permission.DENY), topic("orders", Operation.WRITE, host=HOST)
    )
    assert not may(one, Operation.READ, "orders")
    assert may(one, Operation.DESCRIBE, "orders")
    assert not may(one, Operation.DESCRIBE, "orders", host="10.0.0.1")


def test_which_operations_imply_describe() -> None:
    describing = [one for one in OPERATIONS if may(authorizer(topic("a", one)), Operation.DESCRIBE, "a")]
    expected = ["ALL", "READ", "WRITE", "DELETE", "ALTER", "DESCRIBE"]
    assert [one.name for one in describing] == expected
    configs = [one for one in OPERATIONS if may(authorizer(topic("a", one)), Operation.DESCRIBE_CONFIGS, "a")]
    assert [one.name for one in configs] == ["ALL", "DESCRIBE_CONFIGS", "ALTER_CONFIGS"]


def test_prefixes_of_every_length() -> None:
    """The table of names from Kafka's StandardAuthorizerTest, with the nearest rules between them."""
    one = authorizer(
        topic("foo", Operation.READ, pattern=PatternType.PREFIXED),
        topic("foob", Operation.READ),
        topic("foobar", Operation.WRITE, pattern=PatternType.PREFIXED),
        topic("fb", Operation.READ, pattern=PatternType.PREFIXED),
        topic("f", Operation.DESCRIBE, pattern=PatternType.PREFIXED),
        topic("eeee", Operation.READ),
        topic("gar", Operation.READ, pattern=PatternType.PREFIXED),
    )
    assert may(one, Operation.READ, "foobar")
    assert may(one, Operation.WRITE, "foobarbaz")
    assert not may(one, Operation.WRITE, "foob")
    assert may(one, Operation.DESCRIBE, "fa")
    assert not may(one, Operation.READ, "fa")
    assert may(one, Operation.READ, "gar")
    assert not may(one, Operation.READ, "ga")
    assert not may(one, Operation.READ, "eeeee")


def test_an_ipv6_address_may_have_javas_form() -> None:
    for written in ("::1", "0:0:0:0:0:0:0:1"):
        one = authorizer(topic("a", Operation.READ, host=written))
        assert may(one, Operation.READ, "a", host="::1")
        assert not may(one, Operation.READ, "a", host="::2")
    scoped = authorizer(topic("a", Operation.READ, host="fe80:0:0:0:0:0:0:5"))
    assert may(scoped, Operation.READ, "a", host="fe80::5%eth0")


def test_some_resource_with_which_a_principal_may_do_it() -> None:
    """The dominance of DENY rules, from Kafka's AuthorizerTest."""

    def on_any(*rules: Acl, allow_if_no_acl: bool = False) -> bool:
        one = authorizer(*rules, allow_if_no_acl=allow_if_no_acl)
        return one.allows_on_any(BOB, HOST, Operation.WRITE, ResourceType.TOPIC)

    write = Operation.WRITE
    deny, prefixed = Permission.DENY, PatternType.PREFIXED
    assert not on_any()
    assert on_any(allow_if_no_acl=True)
    assert on_any(topic("foobar", write))
    assert on_any(topic("foobar", Operation.ALL))
    assert not on_any(topic("foobar", Operation.READ))
    assert not on_any(topic("foobar", write, host="10.0.0.1"))
    assert not on_any(topic("foobar", write), topic("foobar", write, deny))
    assert not on_any(topic("foobar", write), topic("foo", write, deny, prefixed))
    assert on_any(topic("foobar", write), topic("foob", write, deny))
    assert on_any(topic("foo", write, pattern=prefixed), topic("foo", write, deny))
    assert on_any(topic("foo", write, pattern=prefixed), topic("foobar", write, deny, prefixed))
    assert not on_any(topic("foobar", write, pattern=prefixed), topic("foo", write, deny, prefixed))
    assert not on_any(topic(ANY_NAME, write), topic(ANY_NAME, write, deny))
    assert not on_any(topic("foobar", write), topic(ANY_NAME, Operation.ALL, deny, principal=ANY_PRINCIPAL))
    assert on_any(topic(ANY_NAME, write), topic("foo", write, deny, prefixed))


def test_a_remembered_decision_ends_with_the_rules_that_led_to_it() -> None:
    rule = topic("orders", Operation.READ)
    one = authorizer(rule)
    assert may(one, Operation.READ, "orders")
    assert one.allows_on_any(BOB, HOST, Operation.READ, ResourceType.TOPIC)
    one.change([], [rule])
    assert not may(one, Operation.READ, "orders")
    assert not one.allows_on_any(BOB, HOST, Operation.READ, ResourceType.TOPIC)


def test_remembered_decisions_have_a_limit() -> None:
    one = authorizer(topic("t", Operation.READ, pattern=PatternType.PREFIXED))
    for number in range(MAX_REMEMBERED + 10):
        assert may(one, Operation.READ, f"t{number}")
    assert len(one._remembered) <= MAX_REMEMBERED


def test_decisions_about_names_that_no_topic_can_have_are_not_remembered() -> None:
    one = authorizer(topic("t", Operation.READ, pattern=PatternType.PREFIXED))
    assert may(one, Operation.READ, "t" * 30_000)
    assert not may(one, Operation.READ, "u" * 30_000)
    assert len(one._remembered) == 0


def test_ten_thousand_single_changes_share_most_of_the_maps() -> None:
    """Counted, not timed: the entries that all changes copy together."""
    index = AclIndex()
    copied = 0
    for number in range(10_000):
        index = index.changed([topic(f"topic-{number}", Operation.READ)], [])
        copied += len(index._rules._changes)
        if not index._rules._changes:
            copied += len(index._rules._base)
    assert len(index) == 10_000
    # Ten thousand copies of the whole map would be fifty million entries.
    assert copied < 2_500_000
    assert index.is_allowed(BOB, HOST, Operation.READ, ResourceType.TOPIC, "topic-9999", False)
