"""The broker configs about rights; see `broker_configs`. Kafka's authorizer reads the last two by itself."""

from typing import Final

_RIGHTS: Final = """
authorizer.class.name: string =; low
    Kafka's class name of the authorizer, org.apache.kafka.metadata.authorizer.StandardAuthorizer. With it,
    access control lists decide what each client may do. Without it, every client may do everything.
super.users: string =; internal
    Principals that may do everything, separated by semicolons, such as User:admin;User:broker. The principals
    of brokers and controllers belong here, because they must pass before the ACLs are loaded.
allow.everyone.if.no.acl.found: boolean = false; internal
    Whether everybody may use a resource that no ACL is about. Otherwise only super users may.
"""

RIGHTS_SECTIONS: Final[dict[str, str]] = {"Rights": _RIGHTS}
