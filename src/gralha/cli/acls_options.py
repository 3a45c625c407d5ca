"""The command line of kafka-acls: an action, resources, principals and operations."""

from argparse import ArgumentTypeError, Namespace
from collections.abc import Sequence
from typing import Final

from gralha.cli.arguments import CommandParser, given
from gralha.cli.json_output import add_json_option
from gralha.cli.program import CommandError
from gralha.protocol.acls import CLUSTER_NAME, Acl, Operation, PatternType, Permission, ResourceType

ANY_HOST: Final = "*"
# The operations that make sense for each type of resource, as Kafka lists them in its error.
SUPPORTED: Final = {
    ResourceType.TOPIC: (
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DESCRIBE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.GROUP: (
        Operation.READ,
        Operation.DESCRIBE,
        Operation.DELETE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.CLUSTER: (
        Operation.CREATE,
        Operation.CLUSTER_ACTION,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
        Operation.ALTER,
        Operation.DESCRIBE,
    ),
    ResourceType.TRANSACTIONAL_ID: (Operation.DESCRIBE, Operation.WRITE, Operation.TWO_PHASE_COMMIT),
    ResourceType.DELEGATION_TOKEN: (Operation.DESCRIBE,),
    ResourceType.USER: (Operation.CREATE_TOKENS, Operation.DESCRIBE_TOKENS),
}

Resource = tuple[ResourceType, str, PatternType]
# Principal, host, operation and permission.
Entry = tuple[str, str, Operation, Permission]


def operation_name(operation: Operation) -> str:
    """Kafka's word, such as `DescribeConfigs`."""
    return "".join(word.capitalize() for word in operation.name.split("_"))


def _operation(text: str) -> Operation:
    wanted = text.strip().replace("_", "").lower()
    for operation in Operation:
        if operation > Operation.ANY and operation_name(operation).lower() == wanted:
            return operation
    raise ArgumentTypeError(f"{text} is not one of {', '.join(_operation_names())}")


def _operation_names() -> list[str]:
    return [operation_name(operation) for operation in Operation if operation > Operation.ANY]


def _pattern_type(text: str) -> PatternType:
    try:
        pattern_type = PatternType[text.upper()]
    except KeyError:
        pattern_type = PatternType.UNKNOWN
    if pattern_type is PatternType.UNKNOWN:
        raise ArgumentTypeError(f"Unknown resource-pattern-type: {text}")
    return pattern_type


def _principal(text: str) -> str:
    kind, colon, name = text.strip().partition(":")
    if not kind or not colon or not name:
        raise ArgumentTypeError(f"expected a string in format principalType:principalName but got {text}")
    return text.strip()


def _parser() -> CommandParser:
    parser = CommandParser(
        "kafka-acls",
        "This tool helps to manage acls on kafka.",
        [
            "--bootstrap-server localhost:9092 --add --allow-principal User:bob --producer --topic orders",
            "--bootstrap-server localhost:9092 --list --topic orders",
        ],
    )
    parser.value("bootstrap-server", "the brokers to connect to", metavar="HOST:PORT,...")
    parser.value("bootstrap-controller", "or the controllers to connect to", metavar="HOST:PORT,...")
    parser.value("command-config", "a file with properties of the admin client", metavar="FILE")
    parser.flag("add", "add ACLs")
    parser.flag("remove", "remove ACLs: the given ones, or all of the given resources")
    parser.flag("list", "list ACLs of the given resources, or all")
    _add_resources(parser)
    _add_entries(parser)
    parser.flag("force", "do not ask before removing")
    add_json_option(parser)
    return parser


def _add_resources(parser: CommandParser) -> None:
    parser.values("topic", help_text="a topic; '*' means all topics", metavar="TOPIC")
    parser.flag("cluster", "the cluster")
    parser.values("group", help_text="a group; '*' means all groups", metavar="GROUP")
    parser.values("transactional-id", help_text="a transactional id; '*' means all", metavar="ID")
    parser.values("delegation-token", help_text="a delegation token; '*' means all", metavar="TOKEN")
    parser.values("user-principal", help_text="a user, for whom tokens may be created", metavar="PRINCIPAL")
    parser.value(
        "resource-pattern-type",
        "literal or prefixed: how ACLs name their resources. With --list and --remove also any, for all "
        "patterns with this very name, or match, for all patterns that the name falls under",
        kind=_pattern_type,
        default=PatternType.LITERAL,
        metavar="TYPE",
    )


def _add_entries(parser: CommandParser) -> None:
    parser.add_argument(
        "--operation",
        action="append",
        type=_operation,
        metavar="OPERATION",
        help=f"what is allowed or denied: {', '.join(_operation_names())} (default: All)",
    )
    for name, text in (
        ("allow-principal", "who is allowed to do it, such as User:bob; 'User:*' means everybody"),
        ("deny-principal", "who is denied it; that counts more than any ALLOW"),
        ("principal", "with --list: only the ACLs of this principal"),
    ):
        parser.add_argument(
            f"--{name}", action="append", default=[], type=_principal, metavar="PRINCIPAL", help=text
        )
    parser.values("allow-host", help_text="the address of --allow-principal, by default all", metavar="HOST")
    parser.values("deny-host", help_text="the address of --deny-principal, by default all", metavar="HOST")
    parser.flag("producer", "the rights of a producer: WRITE, DESCRIBE and CREATE on --topic")
    parser.flag("consumer", "the rights of a consumer: READ and DESCRIBE on --topic, READ on --group")
    parser.flag("idempotent", "with --producer: also IDEMPOTENT_WRITE on the cluster")


def parse_options(arguments: Sequence[str]) -> Namespace:
    """Parses and checks the command line. The errors are Kafka's."""
    parser = _parser()
    options = parser.parse(arguments)
    if given(options, "bootstrap-server") and given(options, "bootstrap-controller"):
        raise CommandError("Only one of --bootstrap-server or --bootstrap-controller must be specified")
    if not given(options, "bootstrap-server") and not given(options, "bootstrap-controller"):
        raise CommandError("One of --bootstrap-server or --bootstrap-controller must be specified")
    if sum((options.add, options.remove, options.list)) != 1:
        raise CommandError("Command must include exactly one action: --list, --add, --remove. ")
    principals = ["allow-host", "allow-principal", "deny-host", "deny-principal"]
    parser.exclude(options, "list", ["producer", "consumer", *principals])
    for role in ("producer", "consumer"):
        parser.exclude(options, role, ["operation", "deny-principal", "deny-host"])
    if options.principal and not options.list:
        raise CommandError("The --principal option is only available if --list is set")
    _check_roles(options)
    return options


def _check_roles(options: Namespace) -> None:
    if options.producer and not options.topic:
        raise CommandError("With --producer you must specify a --topic")
    if options.idempotent and not options.producer:
        raise CommandError("The --idempotent option is only available if --producer is set")
    foreign = not options.producer and (options.cluster or options.transactional_id)
    if options.consumer and (not options.topic or not options.group or foreign):
        raise CommandError(
            "With --consumer you must specify a --topic and a --group and no --cluster or "
            "--transactional-id option should be specified."
        )


def resources(options: Namespace) -> list[Resource]:
    """The resources, or patterns of resources, of the command line."""
    pattern = options.resource_pattern_type
    found: list[Resource] = [(ResourceType.TOPIC, name.strip(), pattern) for name in options.topic]
    if pattern is PatternType.LITERAL and (options.cluster or options.idempotent):
        found.append((ResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL))
    for kind, names in (
        (ResourceType.GROUP, options.group),
        (ResourceType.TRANSACTIONAL_ID, options.transactional_id),
        (ResourceType.DELEGATION_TOKEN, options.delegation_token),
        (ResourceType.USER, options.user_principal),
    ):
        found += [(kind, name.strip(), pattern) for name in names]
    return list(dict.fromkeys(found))


def entries_by_resource(options: Namespace) -> dict[Resource, list[Entry]]:
    """The ACLs to add or to remove. Without entries, all ACLs of the resource are meant."""
    asked = resources(options)
    if not asked:
        raise CommandError(
            "You must provide at least one resource: --topic <topic> or --cluster or --group <group> or "
            "--delegation-token <Delegation Token ID>"
        )
    found: dict[Resource, list[Entry]] = {}
    if not options.producer and not options.consumer:
        found = {one: _entries(options, options.operation or [Operation.ALL]) for one in asked}
    if options.producer:
        _add_role(found, options, asked, PRODUCER)
        if options.idempotent:
            cluster = (ResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL)
            found[cluster] = _entries(options, [Operation.IDEMPOTENT_WRITE])
    if options.consumer:
        _add_role(found, options, asked, CONSUMER)
    _check_operations(found)
    return found


PRODUCER: Final = {
    ResourceType.TOPIC: (Operation.WRITE, Operation.DESCRIBE, Operation.CREATE),
    ResourceType.TRANSACTIONAL_ID: (Operation.WRITE, Operation.DESCRIBE),
}
CONSUMER: Final = {
    ResourceType.TOPIC: (Operation.READ, Operation.DESCRIBE),
    ResourceType.GROUP: (Operation.READ,),
}


def _add_role(
    found: dict[Resource, list[Entry]],
    options: Namespace,
    asked: list[Resource],
    role: dict[ResourceType, tuple[Operation, ...]],
) -> None:
    for one in asked:
        if one[0] in role:
            entries = found.setdefault(one, [])
            entries += [entry for entry in _entries(options, role[one[0]]) if entry not in entries]


def _entries(options: Namespace, operations: Sequence[Operation]) -> list[Entry]:
    sides = (
        (options.allow_principal, options.allow_host, Permission.ALLOW),
        (options.deny_principal, options.deny_host, Permission.DENY),
    )
    return [
        (principal, host.strip(), operation, permission)
        for principals, hosts, permission in sides
        for principal in dict.fromkeys(principals)
        for operation in dict.fromkeys(operations)
        for host in dict.fromkeys(hosts or [ANY_HOST])
    ]


def _check_operations(found: dict[Resource, list[Entry]]) -> None:
    for (kind, _, _), entries in found.items():
        valid = (*SUPPORTED[kind], Operation.ALL)
        if any(operation not in valid for _, _, operation, _ in entries):
            names = ", ".join(operation_name(operation) for operation in valid)
            raise CommandError(f"ResourceType {kind.name} only supports operations {names}")


def acl_of(resource: Resource, entry: Entry) -> Acl:
    kind, name, pattern = resource
    principal, host, operation, permission = entry
    return Acl(kind, name, pattern, principal, host, operation, permission)
