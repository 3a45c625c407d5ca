"""The matrix of rights: each API with each operation, resource type and pattern, as sets of rules.

Each set of rules is for a client address of its own, because a loopback client may have any of 127.0.0.0/8.
So all sets are in a cluster at the same time, and nobody has to log in.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from gralha.protocol.messages.create_acls import AclCreation
from tests.broker.rights_cases import CASES, CLUSTER, GROUP, NAMES, TOPIC, TRANSACTIONAL_ID, Case

ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = 2, 3, 4, 5, 6, 7, 8
CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE = 9, 10, 11, 12
LITERAL, PREFIXED = 3, 4
DENY, ALLOW = 2, 3
ANONYMOUS: Final = "User:ANONYMOUS"
OPERATIONS: Final = {
    TOPIC: (ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS),
    GROUP: (ALL, READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS),
    CLUSTER: (
        ALL,
        CREATE,
        ALTER,
        DESCRIBE,
        CLUSTER_ACTION,
        DESCRIBE_CONFIGS,
        ALTER_CONFIGS,
        IDEMPOTENT_WRITE,
    ),
    TRANSACTIONAL_ID: (ALL, WRITE, DESCRIBE),
}
KINDS: Final = (TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID)


class Rule(NamedTuple):
    kind: int
    name: str
    pattern: int
    operation: int
    permission: int = ALLOW
    principal: str = ANONYMOUS
    is_for_others: bool = False

    def creation(self, host: str) -> AclCreation:
        where = "10.9.8.7" if self.is_for_others else host
        return AclCreation(
            self.kind, self.name, self.pattern, self.principal, where, self.operation, self.permission
        )


Rules = tuple[Rule, ...]


def rule_sets() -> list[Rules]:
    """All sets of rules, each once."""
    return list(dict.fromkeys([(), *_single(), *_patterns(), *_pairs(), *_denials()]))


def _literal(kind: int, operation: int, permission: int = ALLOW) -> Rule:
    return Rule(kind, NAMES[kind], LITERAL, operation, permission)


def _single() -> Iterator[Rules]:
    """One operation on one resource."""
    for kind in KINDS:
        for operation in OPERATIONS[kind]:
            yield (_literal(kind, operation),)


def _patterns() -> Iterator[Rules]:
    """All operations, through each kind of pattern, principal and host."""
    for kind in KINDS:
        name = NAMES[kind]
        yield (Rule(kind, "*", LITERAL, ALL),) if kind != CLUSTER else ()
        if kind != CLUSTER:
            yield (Rule(kind, name[:1], PREFIXED, ALL),)
            yield (Rule(kind, name + "x", LITERAL, ALL),)
        yield (Rule(kind, name, LITERAL, ALL, principal="User:*"),)
        yield (Rule(kind, name, LITERAL, ALL, principal="User:somebody"),)
        yield (Rule(kind, name, LITERAL, ALL, is_for_others=True),)


def _pairs() -> Iterator[Rules]:
    """All rights on some types of resources, and on none of the others."""
    for chosen in range(1, 1 << len(KINDS)):
        kinds = [kind for number, kind in enumerate(KINDS) if chosen >> number & 1]
        yield tuple(_literal(kind, ALL) for kind in kinds)
    yield (_literal(GROUP, READ), _literal(TOPIC, DESCRIBE))
    yield (_literal(GROUP, READ), _literal(TOPIC, READ))
    yield (_literal(GROUP, DELETE), _literal(TOPIC, READ))
    yield (_literal(TRANSACTIONAL_ID, WRITE), _literal(GROUP, READ), _literal(TOPIC, READ))


def _denials() -> Iterator[Rules]:
    """All rights, except what a rule takes away."""
    everything = tuple(_literal(kind, ALL) for kind in KINDS)
    for kind in KINDS:
        for operation in OPERATIONS[kind]:
            yield (*everything, _literal(kind, operation, DENY))
    for kind in (TOPIC, GROUP, TRANSACTIONAL_ID):
        yield (*everything, Rule(kind, "*", LITERAL, ALL, DENY))
        yield (*everything, Rule(kind, NAMES[kind][:1], PREFIXED, DESCRIBE, DENY))
        yield (*everything, Rule(kind, NAMES[kind] + "x", PREFIXED, ALL, DENY))
        yield (*everything, Rule(kind, NAMES[kind], LITERAL, ALL, DENY, "User:somebody"))
        yield (*everything, Rule(kind, NAMES[kind], LITERAL, ALL, DENY, is_for_others=True))


def host_of(number: int) -> str:
    """The address of the clients to which a set of rules applies."""
    return f"127.1.{number // 250}.{number % 250 + 2}"


def is_of_interest(case: Case, rules: Rules) -> bool:
    """Returns True if the rules are about what the request asks for. The rest is the same for many sets."""
    return not rules or any(rule.kind in case.kinds for rule in rules)


def matrix() -> Iterator[tuple[Case, int, Rules]]:
    """Each request with each set of rules that may matter for it, and the number of the set."""
    sets = rule_sets()
    for case in CASES:
        for number, rules in enumerate(sets):
            if is_of_interest(case, rules):
                yield case, number, rules
