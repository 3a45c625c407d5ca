"""Decides by access control lists what a principal may do, as Kafka's StandardAuthorizer does.

Super users may do everything. For all others, the rules whose resource pattern matches decide:

    a DENY rule matches                     no
    otherwise an ALLOW rule matches         yes
    no rule at all is about the resource    as `allow.everyone.if.no.acl.found` says
    otherwise                               no

A rule matches if its principal is the caller's or `User:*`, its host is the caller's or `*`, and its
operation is the asked one or ALL. ALLOW rules for READ, WRITE, DELETE and ALTER also allow DESCRIBE, and
ALTER_CONFIGS also allows DESCRIBE_CONFIGS. DENY rules imply nothing.

`AclIndex` is immutable. Its rules are in a map by pattern, principal and host, and each value has two bit
fields of operations. A search looks up the literal name, `*`, and the beginnings of the name that are as
long as some PREFIXED rule of the type. A change of one rule shares the rest of the maps with the last index.
The `Authorizer` remembers decisions until the index changes.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from ipaddress import ip_address
from typing import Final, NamedTuple

from gralha.protocol.acls import (
    ANY_HOST,
    ANY_NAME,
    ANY_PRINCIPAL,
    Acl,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)
from gralha.protocol.shared_map import SharedMap, SharedMapChange

# Decisions that are remembered at most. A principal with this many topics makes its own cost.
MAX_REMEMBERED: Final = 50_000
# Decisions about longer names are not remembered. Topics have at most 249 characters.
NAME_LENGTH_MAX: Final = 256
# A resource name that Kafka uses to ask for super users and wildcard rules.
SOME_NAME: Final = "hardcode"

# (resource type, pattern type, name)
Pattern = tuple[int, int, str]
# (resource type, pattern type, name, principal, host)
RuleKey = tuple[int, int, str, str, str]

_ALL: Final = 1 << Operation.ALL


def _bits(*operations: Operation) -> int:
    return sum(1 << operation for operation in operations)


def _allowing(operation: Operation) -> int:
    """The operations of ALLOW rules that allow this operation."""
    if operation is Operation.DESCRIBE:
        return _ALL | _bits(
            Operation.DESCRIBE, Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER
        )
    if operation is Operation.DESCRIBE_CONFIGS:
        return _ALL | _bits(Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS)
    return _ALL | 1 << operation


_ALLOWING: Final = {operation: _allowing(operation) for operation in Operation}


class Operations(NamedTuple):
    """Bit fields of the operations that rules allow and deny."""

    allowed: int
    denied: int


_NONE: Final = Operations(0, 0)


class AclIndex:
    """Rules, in maps for fast decisions. It never changes; `changed` makes the next one."""

    def __init__(
        self,
        rules: SharedMap[RuleKey, Operations] | None = None,
        counts: SharedMap[Pattern, int] | None = None,
        lengths: Mapping[tuple[int, int], int] | None = None,
        size: int = 0,
    ) -> None:
        self._rules: SharedMap[RuleKey, Operations] = SharedMap() if rules is None else rules
        # How many rules there are about each pattern.
        self._counts: SharedMap[Pattern, int] = SharedMap() if counts is None else counts
        # How many PREFIXED patterns a resource type has with names of each length.
        self._lengths: Mapping[tuple[int, int], int] = {} if lengths is None else lengths
        self._lengths_of = _lengths_by_type(self._lengths)
        self._size = size

    def __len__(self) -> int:
        return self._size

    def changed(self, added: Iterable[Acl], removed: Iterable[Acl]) -> "AclIndex":
        """The index after a change. Added rules must be new, and removed ones must be in this index."""
        change = _IndexChange(self._rules.change(), self._counts.change(), dict(self._lengths), self._size)
        for acl in removed:
            change.remove(acl)
        for acl in added:
            change.add(acl)
        return AclIndex(change.rules.finish(), change.counts.finish(), change.lengths, change.size)

    def is_allowed(
        self,
        principal: str,
        host: str,
        operation: Operation,
        resource_type: ResourceType,
        name: str,
        if_no_rule: bool,
    ) -> bool:
        """The decision for a principal that is no super user."""
        has_rules = False
        allowed = 0
        denied = 0
        for pattern in self._patterns(resource_type, name):
            has_rules = True
            for found in self._matching(pattern, principal, host):
                allowed |= found.allowed
                denied |= found.denied
        if denied & (_ALL | 1 << operation):
            return False
        if allowed & _ALLOWING[operation]:
            return True
        return not has_rules and if_no_rule

    def is_allowed_on_any(
        self, principal: str, host: str, operation: Operation, resource_type: ResourceType
    ) -> bool:
        """Returns True if ALLOW rules name at least one resource that no DENY rule takes away.

        As in Kafka, only rules with this very operation or ALL count here.
        """
        wanted = _ALL | 1 << operation
        allowed: list[Pattern] = []
        denied: set[Pattern] = set()
        for pattern in self._counts:
            if pattern[0] != resource_type:
                continue
            for found in self._matching(pattern, principal, host):
                if found.denied & wanted:
                    denied.add(pattern)
                if found.allowed & wanted:
                    allowed.append(pattern)
        every_name = (int(resource_type), int(PatternType.LITERAL), ANY_NAME)
        if every_name in denied:
            return False
        return every_name in allowed or any(not _is_dominated(pattern, denied) for pattern in allowed)

    def _patterns(self, resource_type: ResourceType, name: str) -> Iterator[Pattern]:
        """The patterns that match a name and have rules."""
        kind = int(resource_type)
        counts = self._counts
        literal = (kind, int(PatternType.LITERAL), name)
        if literal in counts:
            yield literal
        every_name = (kind, int(PatternType.LITERAL), ANY_NAME)
        if name != ANY_NAME and every_name in counts:
            yield every_name
        for length in self._lengths_of.get(kind, ()):
            if length > len(name):
                break
            prefixed = (kind, int(PatternType.PREFIXED), name[:length])
            if prefixed in counts:
                yield prefixed

    def _matching(self, pattern: Pattern, principal: str, host: str) -> Iterator[Operations]:
        """The operations of the rules about a pattern that are for this principal and host."""
        kind, pattern_type, name = pattern
        rules = self._rules
        hosts = (host, ANY_HOST) if ":" not in host else (*_ipv6_forms(host), ANY_HOST)
        for who in (principal, ANY_PRINCIPAL):
            for where in hosts:
                found = rules.get((kind, pattern_type, name, who, where))
                if found is not None:
                    yield found


class _IndexChange:
    """The next index while it is made."""

    def __init__(
        self,
        rules: SharedMapChange[RuleKey, Operations],
        counts: SharedMapChange[Pattern, int],
        lengths: dict[tuple[int, int], int],
        size: int,
    ) -> None:
        self.rules = rules
        self.counts = counts
        self.lengths = lengths
        self.size = size

    def add(self, acl: Acl) -> None:
        key = _key(acl)
        bit = 1 << acl.operation
        old = self.rules.get(key) or _NONE
        if acl.permission is Permission.ALLOW:
            self.rules[key] = old._replace(allowed=old.allowed | bit)
        else:
            self.rules[key] = old._replace(denied=old.denied | bit)
        pattern = key[:3]
        count = self.counts.get(pattern) or 0
        self.counts[pattern] = count + 1
        if not count:
            self._count_length(acl, 1)
        self.size += 1

    def remove(self, acl: Acl) -> None:
        key = _key(acl)
        bit = 1 << acl.operation
        old = self.rules.get(key) or _NONE
        if acl.permission is Permission.ALLOW:
            left = old._replace(allowed=old.allowed & ~bit)
        else:
            left = old._replace(denied=old.denied & ~bit)
        if left == old:
            raise ValueError(f"the index has no rule {acl}")
        if left == _NONE:
            del self.rules[key]
        else:
            self.rules[key] = left
        pattern = key[:3]
        count = self.counts.get(pattern) or 0
        if count > 1:
            self.counts[pattern] = count - 1
        else:
            del self.counts[pattern]
            self._count_length(acl, -1)
        self.size -= 1

    def _count_length(self, acl: Acl, difference: int) -> None:
        if acl.pattern_type is not PatternType.PREFIXED:
            return
        length = (int(acl.resource_type), len(acl.resource_name))
        count = self.lengths.get(length, 0) + difference
        if count:
            self.lengths[length] = count
        else:
            del self.lengths[length]


class Authorizer:
    """The super users, the rules, and the decisions of the current rules so far."""

    def __init__(self, super_users: Iterable[str] = (), allow_if_no_acl: bool = False) -> None:
        self.super_users = frozenset(super_users)
        self._allow_if_no_acl = allow_if_no_acl
        self._index = AclIndex()
        # Before the rules of the metadata log are known, only super users pass.
        self._is_loaded = False
        self._remembered: dict[tuple[str, str, int, str], bool] = {}
        self._remembered_on_any: dict[tuple[str, str, int], bool] = {}

    @property
    def index(self) -> AclIndex:
        return self._index

    @property
    def is_loaded(self) -> bool:
        return self._is_loaded

    def loaded(self) -> None:
        """The rules of the metadata log are known now."""
        self._is_loaded = True
        self._forget()

    def change(self, added: Iterable[Acl], removed: Iterable[Acl]) -> None:
        """Rules have changed."""
        self._index = self._index.changed(added, removed)
        self._forget()

    def allows(
        self, principal: str, host: str, operation: Operation, resource_type: ResourceType, name: str
    ) -> bool:
        """Returns True if the principal may do this from this host."""
        # A number, because the hash of an enumeration's member is slow.
        key = (principal, host, operation << 8 | resource_type, name)
        known = self._remembered.get(key)
        if known is not None:
            return known
        if principal in self.super_users:
            decision = True
        elif not self._is_loaded:
            decision = False
        else:
            decision = self._index.is_allowed(
                principal, host, operation, resource_type, name, self._allow_if_no_acl
            )
        return self._remember(key, decision)

    def allows_on_any(
        self, principal: str, host: str, operation: Operation, resource_type: ResourceType
    ) -> bool:
        """Returns True if there is at least one resource of this type with which the principal may do it."""
        if self.allows(principal, host, operation, resource_type, SOME_NAME):
            return True
        if not self._is_loaded:
            return False
        key = (principal, host, operation << 8 | resource_type)
        known = self._remembered_on_any.get(key)
        if known is None:
            if len(self._remembered_on_any) >= MAX_REMEMBERED:
                self._remembered_on_any.clear()
            known = self._index.is_allowed_on_any(principal, host, operation, resource_type)
            self._remembered_on_any[key] = known
        return known

    def _forget(self) -> None:
        self._remembered.clear()
        self._remembered_on_any.clear()

    def _remember(self, key: tuple[str, str, int, str], decision: bool) -> bool:
        if len(key[3]) > NAME_LENGTH_MAX:
            return decision  # callers choose names, and memory is for the names of real resources
        if len(self._remembered) >= MAX_REMEMBERED:
            self._remembered.clear()
        self._remembered[key] = decision
        return decision


@lru_cache(maxsize=1024)
def _ipv6_forms(host: str) -> tuple[str, ...]:
    """The short form of an address, and Java's, which Kafka compares with."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return (host,)
    groups = (address.packed[at : at + 2] for at in range(0, len(address.packed), 2))
    return tuple(dict.fromkeys((host, str(address), ":".join(f"{int.from_bytes(one):x}" for one in groups))))


def _key(acl: Acl) -> RuleKey:
    return int(acl.resource_type), int(acl.pattern_type), acl.resource_name, acl.principal, acl.host


def _lengths_by_type(lengths: Mapping[tuple[int, int], int]) -> dict[int, list[int]]:
    """The lengths of each resource type, the shortest first."""
    by_type: dict[int, list[int]] = {}
    for kind, length in sorted(lengths):
        by_type.setdefault(kind, []).append(length)
    return by_type


def _is_dominated(pattern: Pattern, denied: set[Pattern]) -> bool:
    """Returns True if DENY rules cover all resources of the pattern."""
    kind, pattern_type, name = pattern
    if pattern_type == PatternType.LITERAL and pattern in denied:
        return True
    prefixes = (name[:length] for length in range(1, len(name) + 1))
    return any((kind, int(PatternType.PREFIXED), prefix) in denied for prefix in prefixes)
