"""kafka-configs: shows and changes configs of topics, brokers, broker loggers, client metrics and groups.

Credentials of users are in `configs_users`, quotas of users, clients and ips in `configs_quotas`.
"""

import sys
from argparse import Namespace
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gralha.cli.configs_options import QUOTA_TYPES, configs_to_add, configs_to_delete, parse_options
from gralha.cli.configs_quotas import alter_quotas, quota_lines, quotas_json, quotas_of
from gralha.cli.configs_users import (
    alter_user,
    credential_lines,
    credentials_of,
    has_credentials,
    without_secrets,
)
from gralha.cli.connect import open_admin
from gralha.cli.json_output import print_json
from gralha.cli.program import CommandError, run

if TYPE_CHECKING:
    from gralha.client.admin import Admin
    from gralha.client.values import ConfigEntry, ConfigResource

# The name of the entity that stands for all brokers.
_DEFAULTS = ""
# The entities that are nodes. Through controllers they are the controllers.
_OF_NODES = ("brokers", "broker-loggers")


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_main, arguments)


def _main(arguments: list[str]) -> int:
    options = parse_options(arguments)
    with open_admin(options, "kafka-configs") as admin:
        try:
            if options.alter:
                _alter(admin, options)
            else:
                _describe(admin, options)
        except Exception as error:
            raise explained(error, arguments) from None
    return 0


def explained(error: Exception, arguments: list[str]) -> Exception:
    """The broker's error together with the arguments of the command, as Kafka shows it."""
    from gralha.protocol.errors import KafkaError

    if not isinstance(error, KafkaError):
        return error
    from gralha.cli.setting_errors import with_advice

    message = with_advice(str(error))
    shown = " ".join(without_secrets(arguments))
    return CommandError(f"Error while executing config command with args '{shown}' : {message}")


def resource_of(entity_type: str, name: str) -> "ConfigResource":
    """The config resource of an entity."""
    from gralha.client.values import ConfigResource, ResourceType

    return ConfigResource(
        {
            "topics": ResourceType.TOPIC,
            "brokers": ResourceType.BROKER,
            "broker-loggers": ResourceType.BROKER_LOGGER,
            "client-metrics": ResourceType.CLIENT_METRICS,
            "groups": ResourceType.GROUP,
        }[entity_type],
        name,
    )


def _alter(admin: "Admin", options: Namespace) -> None:
    from gralha.protocol.errors import ErrorCode, KafkaError

    kind, name = options.entity_types[0], options.entity_names[0]
    added = configs_to_add(options)
    deleted = configs_to_delete(options)
    if kind in QUOTA_TYPES:
        if options.entity_types == ["users"] and has_credentials([*added, *deleted]):
            alter_user(admin, name, added, deleted)
        else:
            alter_quotas(admin, options)
        _print_completed(kind, name)
        return
    if kind == "broker-loggers":
        _check_loggers(admin, name, [*deleted, *added])
    own = _own_names(admin, kind, name) if deleted else set()
    try:
        admin.alter_configs(resource_of(kind, name), set_values=added, delete=deleted)
    except KafkaError as error:
        if error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            _suggest(admin, kind, name)
        raise
    _warn_of_unset(kind, name, [one for one in deleted if one not in own], own)
    _print_completed(kind, name)


def _print_completed(kind: str, name: str) -> None:
    if name == _DEFAULTS:
        print(f"Completed updating default config for {kind} in the cluster.")
    else:
        print(f"Completed updating config for {kind[:-1]} {name}.")


def _own_names(admin: "Admin", kind: str, name: str) -> set[str]:
    """The settings that an entity has of its own, without those that are inherited."""
    if kind == "broker-loggers" or (name != _DEFAULTS and not _exists(admin, kind, name)):
        return set()
    return {entry.name for entry in _entries(admin, kind, name) if _is_own(entry, kind, name)}


def _warn_of_unset(kind: str, name: str, unset: list[str], own: set[str]) -> None:
    """Says that --delete-config had nothing to delete. Kafka says nothing."""
    from gralha.cli.suggestions import did_you_mean

    for setting in unset if kind != "broker-loggers" else []:
        print(
            f"WARN {setting} was not set for {kind[:-1]} {name}.{did_you_mean(setting, own)}",
            file=sys.stderr,
        )


def _suggest(admin: "Admin", kind: str, name: str) -> None:
    """Names the topic or group that was probably meant, on standard error."""
    from gralha.cli.suggestions import did_you_mean

    if kind not in ("topics", "groups") or admin.cluster.through_controllers:
        return
    meant = did_you_mean(name, _existing(admin, kind), repr("{}"))
    if meant:
        print(meant.strip(), file=sys.stderr)


def _check_loggers(admin: "Admin", broker: str, names: list[str]) -> None:
    known = {entry.name for entry in _entries(admin, "broker-loggers", broker)}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise CommandError(f"Invalid broker logger(s): {','.join(unknown)}")


def _describe(admin: "Admin", options: Namespace) -> None:
    kind = options.entity_types[0]
    if kind in QUOTA_TYPES:
        _describe_clients(admin, options)
        return
    if options.entity_names:
        name = options.entity_names[0]
        if not options.all and not _exists(admin, kind, name):
            if options.json:
                print_json(configs=[])
                return
            print(f"The {kind[:-1]} '{name}' doesn't exist and doesn't have dynamic config.")
            _suggest(admin, kind, name)
            return
        names = [name]
    else:
        names = _existing(admin, kind)
    chosen = {
        name: [entry for entry in _entries(admin, kind, name) if options.all or _is_own(entry, kind, name)]
        for name in names
    }
    if options.json:
        print_json(configs=[entity_json(kind, name, entries) for name, entries in chosen.items()])
        return
    for name, entries in chosen.items():
        if name == _DEFAULTS:
            print(f"Default configs for {kind} in the cluster are:")
        else:
            print(f"{'All' if options.all else 'Dynamic'} configs for {kind[:-1]} {name} are:")
        for entry in entries:
            print(entry_line(entry))


def _describe_clients(admin: "Admin", options: Namespace) -> None:
    """Shows quotas of users, clients and ips, and credentials of users."""
    quotas = quotas_of(admin, options)
    credentials: dict[str, dict[str, int]] = {}
    if options.entity_types == ["users"] and _DEFAULTS not in options.entity_names:
        credentials = credentials_of(admin, options.entity_names, is_quiet=bool(quotas))
    if options.json:
        users = [{"user": name, "scram": one} for name, one in credentials.items()]
        shown = {"users": users} if options.entity_types == ["users"] else {}
        print_json(quotas=quotas_json(quotas), **shown)
        return
    for line in [*quota_lines(quotas), *credential_lines(credentials)]:
        print(line)


def entity_json(kind: str, name: str, entries: "Iterable[ConfigEntry]") -> dict[str, object]:
    """An entity of --describe. The name of the defaults of all brokers is null."""
    return {
        "entityType": kind,
        "entityName": name or None,
        "configs": [
            {
                "name": entry.name,
                "value": entry.value,
                "source": entry.source.name,
                "isSensitive": entry.is_sensitive,
                "isReadOnly": entry.is_read_only,
                "synonyms": [
                    {"source": one.source.name, "name": one.name, "value": one.value}
                    for one in entry.synonyms
                ],
            }
            for entry in entries
        ],
    }


def _exists(admin: "Admin", kind: str, name: str) -> bool:
    """Returns True if there is such an entity. Controllers have no list of topics and groups."""
    from gralha.protocol.errors import ErrorCode, KafkaError

    if kind in _OF_NODES or not admin.cluster.through_controllers:
        return name in _existing(admin, kind)
    resource = resource_of(kind, name)
    found = admin.describe_configs([resource])[resource]
    return not (isinstance(found, KafkaError) and found.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def _existing(admin: "Admin", kind: str) -> list[str]:
    """The names of all entities of a type. For brokers the name of the defaults comes last."""
    from gralha.client.values import ResourceType

    if kind not in _OF_NODES and admin.cluster.through_controllers:
        raise CommandError(f"Controllers have no list of {kind}: name one of them, or use --bootstrap-server")
    if kind == "topics":
        return [topic.name for topic in admin.list_topics()]
    if kind in _OF_NODES:
        return [*map(str, admin.describe_cluster().broker_ids), _DEFAULTS]
    if kind == "client-metrics":
        return admin.list_config_resources(ResourceType.CLIENT_METRICS)
    return admin.list_config_resources(ResourceType.GROUP)


def _entries(admin: "Admin", kind: str, name: str) -> "list[ConfigEntry]":
    from gralha.protocol.errors import KafkaError

    resource = resource_of(kind, name)
    entries = admin.describe_configs([resource], include_synonyms=True)[resource]
    if isinstance(entries, KafkaError):
        raise entries
    return sorted(entries)


def _is_own(entry: "ConfigEntry", kind: str, name: str) -> bool:
    """Returns True if a config is set dynamically for this entity itself."""
    from gralha.client.values import ConfigSource

    if kind == "broker-loggers":
        return True
    own = {
        "topics": ConfigSource.DYNAMIC_TOPIC_CONFIG,
        "brokers": ConfigSource.DYNAMIC_BROKER_CONFIG if name else ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
        "client-metrics": ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG,
        "groups": ConfigSource.DYNAMIC_GROUP_CONFIG,
    }
    return entry.source == own[kind]


def entry_line(entry: "ConfigEntry") -> str:
    """A config with its synonyms."""
    synonyms = ", ".join(
        f"{synonym.source.name}:{synonym.name}={_text(synonym.value)}" for synonym in entry.synonyms
    )
    sensitive = str(entry.is_sensitive).lower()
    return f"  {entry.name}={_text(entry.value)} sensitive={sensitive} synonyms={{{synonyms}}}"


def _text(value: str | None) -> str:
    return "null" if value is None else value
