"""The command line of kafka-configs: an action, an entity, and the configs to change."""

import re
from argparse import Namespace

from gralha.cli.arguments import CommandParser, destination, given
from gralha.cli.json_output import add_json_option
from gralha.cli.program import CommandError
from gralha.cli.properties import load_properties

ENTITY_TYPES = ("topics", "clients", "users", "brokers", "ips", "client-metrics", "groups", "broker-loggers")
# Quotas are not configs of a resource and have APIs of their own.
QUOTA_TYPES = ("users", "clients", "ips")
_TYPES_WITH_DEFAULTS = ("users", "clients", "brokers", "ips")
_ENTITY_FLAGS = {
    "topic": "topics",
    "client": "clients",
    "user": "users",
    "broker": "brokers",
    "broker-logger": "broker-loggers",
    "ip": "ips",
    "client-metrics": "client-metrics",
    "group": "groups",
}
_DEFAULTS_FLAGS = {
    "client-defaults": "clients",
    "user-defaults": "users",
    "broker-defaults": "brokers",
    "ip-defaults": "ips",
}
# Matches only outside of square brackets, which enclose values with commas.
_OUTSIDE_BRACKETS = r"(?=[^\]]*(?:\[|$))"


def _parser() -> CommandParser:
    parser = CommandParser(
        "kafka-configs",
        "Shows and changes the settings of topics, brokers and others.",
        [
            "--bootstrap-server localhost:9092 --describe --topic orders",
            "--bootstrap-server localhost:9092 --alter --topic orders --add-config retention.ms=86400000",
            "--bootstrap-server localhost:9092 --alter --user ana --add-config SCRAM-SHA-512=[password=...]",
        ],
    )
    parser.value("bootstrap-server", "the brokers to connect to", metavar="HOST:PORT,...")
    parser.value("bootstrap-controller", "or the controllers to connect to", metavar="HOST:PORT,...")
    parser.value("command-config", "a file with properties of the admin client", metavar="FILE")
    parser.flag("describe", "show settings")
    parser.flag("alter", "change settings")
    parser.flag("all", "with --describe: also settings that have their default value")
    parser.values(
        "entity-type", help_text=f"what the settings belong to: {', '.join(ENTITY_TYPES)}", metavar="TYPE"
    )
    parser.values("entity-name", help_text="its name: a topic, the id of a broker, ...", metavar="NAME")
    parser.add_argument(
        "--entity-default",
        dest="entity_name",
        action="append_const",
        const="",
        help="instead of --entity-name: the defaults of all brokers, users, clients or ips",
    )
    for flag, entity_type in _ENTITY_FLAGS.items():
        parser.value(flag, f"short for --entity-type {entity_type} --entity-name NAME", metavar="NAME")
    for flag, entity_type in _DEFAULTS_FLAGS.items():
        parser.flag(flag, f"short for --entity-type {entity_type} --entity-default")
    parser.value("add-config", "settings to add: k1=v1,k2=[v1,v2],k3=v3", metavar="SETTINGS")
    parser.value("add-config-file", "a properties file with settings to add", metavar="FILE")
    parser.value("delete-config", "settings to delete: k1,k2", metavar="NAMES")
    add_json_option(parser)
    parser.flag("force", "accepted without effect: this command asks no questions")
    return parser


def parse_options(arguments: list[str]) -> Namespace:
    """Parses and checks the command line. Adds `entity_types` and `entity_names`."""
    parser = _parser()
    options = parser.parse(arguments)
    if options.alter == options.describe:
        parser.error("Command must include exactly one action: --describe, --alter")
    if options.describe:
        parser.exclude(options, "describe", ["add-config", "delete-config"])
    else:
        parser.exclude(options, "json", ["alter"])
    if given(options, "bootstrap-controller") and given(options, "bootstrap-server"):
        raise CommandError("Only one of --bootstrap-server or --bootstrap-controller can be specified.")
    if not given(options, "bootstrap-server") and not given(options, "bootstrap-controller"):
        raise CommandError("Either --bootstrap-server or --bootstrap-controller must be specified.")
    _read_entities(options)
    _check_entity_types(options.entity_types)
    _check_entity_names(options)
    if options.alter:
        _check_changes(options)
    return options


def _read_entities(options: Namespace) -> None:
    flags = {flag: kind for flag, kind in _ENTITY_FLAGS.items() if given(options, flag)}
    defaults = {flag: kind for flag, kind in _DEFAULTS_FLAGS.items() if given(options, flag)}
    options.entity_types = [*options.entity_type, *flags.values(), *defaults.values()]
    options.entity_names = [
        *options.entity_name,
        *(getattr(options, destination(flag)) for flag in flags),
        *("" for _ in defaults),
    ]
    if (options.entity_type or options.entity_name) and (flags or defaults):
        raise CommandError(
            "--entity-{type,name,default} should not be used in conjunction with specific entity flags"
        )


def _check_entity_types(types: list[str]) -> None:
    if len(types) != len(set(types)):
        repeated = ",".join(sorted({kind for kind in types if types.count(kind) > 1}))
        raise CommandError(f"Duplicate entity type(s) specified: {repeated}")
    for kind in types:
        if kind not in ENTITY_TYPES:
            raise CommandError(
                f"Invalid entity type {kind}, the entity type must be one of {', '.join(ENTITY_TYPES)} "
                "with a --bootstrap-server or --bootstrap-controller argument"
            )
    if not types:
        raise CommandError("At least one entity type must be specified")
    if len(types) > 1 and set(types) != {"users", "clients"}:
        raise CommandError("Only 'users' and 'clients' entity types may be specified together")


def _check_entity_names(options: Namespace) -> None:
    kind = options.entity_types[0]
    named = any(options.entity_names)
    if len(options.entity_names) > len(options.entity_types):
        raise CommandError("More entity names specified than entity types")
    if options.alter and 0 < len(options.entity_names) < len(options.entity_types):
        raise CommandError("An entity name must be specified for every entity type")
    if kind == "ips":
        _check_addresses(options.entity_names)
    if named and kind in ("brokers", "broker-loggers"):
        name = options.entity_names[0]
        if not name.lstrip("-").isdigit():
            raise CommandError(
                f"The entity name for {kind} must be a valid integer broker id, but it is: {name}"
            )
    if options.describe:
        if "" in options.entity_names and kind not in _TYPES_WITH_DEFAULTS:
            raise CommandError(f"--entity-default must not be specified with --describe of {kind}")
        if kind == "broker-loggers" and not named:
            raise CommandError(f"An entity name must be specified with --describe of {kind}")
    elif kind in _TYPES_WITH_DEFAULTS:
        if not options.entity_names:
            raise CommandError(
                "An entity-name or default entity must be specified with --alter of users, clients, brokers "
                "or ips"
            )
    elif not named:
        raise CommandError(f"An entity name must be specified with --alter of {kind}")


def _check_addresses(names: list[str]) -> None:
    from gralha.protocol.ip_addresses import addresses_of

    for name in filter(None, names):
        if not addresses_of(name):
            raise CommandError(
                f"The entity name for ips must be a valid IP or resolvable host, but it is: {name}"
            )


def _check_changes(options: Namespace) -> None:
    if options.add_config is not None and options.add_config_file is not None:
        raise CommandError("Only one of --add-config or --add-config-file must be specified")
    if options.add_config is None and options.add_config_file is None and options.delete_config is None:
        raise CommandError(
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with "
            "--alter"
        )


def configs_to_add(options: Namespace) -> dict[str, str]:
    """The settings in --add-config or --add-config-file."""
    if options.add_config_file is not None:
        configs = load_properties(options.add_config_file)
    elif options.add_config is not None:
        configs = parse_configs(options.add_config)
    else:
        configs = {}
    for name in configs:
        if not re.fullmatch(r"[$a-zA-Z0-9._-]*", name):
            raise CommandError(f"Invalid character found for config key: {name}")
    return configs


def parse_configs(text: str) -> dict[str, str]:
    """The settings in `k1=v1,k2=[v1,v2]`."""
    configs = {}
    for assignment in re.split("," + _OUTSIDE_BRACKETS, text):
        parts = re.split(r"\s*=\s*" + _OUTSIDE_BRACKETS, assignment)
        if len(parts) != 2:
            raise CommandError(
                'Invalid entity config: all configs to be added must be in the format "key=val" or '
                '"key=[val1,val2]" to group values which contain commas.'
            )
        configs[parts[0].strip()] = parts[1].replace("[", "").replace("]", "").strip()
    return configs


def configs_to_delete(options: Namespace) -> list[str]:
    """The names in --delete-config."""
    return [name.strip() for name in (options.delete_config or "").split(",") if name.strip()]
