"""kafka-configs for users, clients and ips: shows and changes quotas."""

from argparse import Namespace
from typing import TYPE_CHECKING, Final

from gralha.cli.configs_options import configs_to_add, configs_to_delete
from gralha.cli.program import CommandError
from gralha.protocol.client_quotas import (
    CLIENT_ID,
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    IP,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    USER,
    QuotaEntity,
    quota_entity,
)

if TYPE_CHECKING:
    from gralha.client.admin import Admin

EntityQuotas = tuple[QuotaEntity, dict[str, float]]

_TYPES: Final = {"users": USER, "clients": CLIENT_ID, "ips": IP}
_LABELS: Final = {USER: "user-principal", CLIENT_ID: "client-id", IP: "ip"}
OF_CLIENTS: Final = (
    PRODUCER_BYTE_RATE,
    CONSUMER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    CONTROLLER_MUTATION_RATE,
)


def alter_quotas(admin: "Admin", options: Namespace) -> None:
    """--alter: adds and deletes quotas of one entity."""
    added, deleted = configs_to_add(options), configs_to_delete(options)
    _check_keys(options.entity_types, list(added), deleted)
    names = [name or None for name in options.entity_names]
    entity = quota_entity(zip((_TYPES[kind] for kind in options.entity_types), names, strict=True))
    changes: dict[str, float | None] = {name: _number(name, value) for name, value in added.items()}
    if deleted:
        present = admin.describe_quotas(dict(entity)).get(entity, {})
        missing = [name for name in deleted if name not in present]
        if missing:
            raise CommandError(f"Invalid config(s): {','.join(missing)}")
    admin.alter_quotas(entity, {**changes, **dict.fromkeys(deleted)})


def _check_keys(types: list[str], added: list[str], deleted: list[str]) -> None:
    known = (CONNECTION_CREATION_RATE,) if types[0] == "ips" else OF_CLIENTS
    if types[0] == "ips":
        unknown = [name for name in [*added, *deleted] if name not in known]
        if unknown:
            raise CommandError(
                "Only connection quota configs can be added for 'ips' using --bootstrap-server. Unexpected "
                f"config names: {','.join(unknown)}"
            )
        return
    kind = "clients" if "clients" in types else "users"
    what = "quota" if kind == "clients" else "quota and SCRAM credential"
    for names, verb in ((added, "added"), (deleted, "deleted")):
        unknown = [name for name in names if name not in known]
        if unknown:
            raise CommandError(
                f"Only {what} configs can be {verb} for '{kind}' using --bootstrap-server. Unexpected config "
                f"names: {','.join(unknown)}"
            )


def _number(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise CommandError(f"Cannot parse quota configuration value for {name}: {value}") from None


def quotas_of(admin: "Admin", options: Namespace) -> list[EntityQuotas]:
    """--describe: the quotas of the entities that have these types, and these names if there are any."""
    from gralha.client.quota_calls import ANY_NAME

    filters: dict[str, object] = dict.fromkeys((_TYPES[kind] for kind in options.entity_types), ANY_NAME)
    for kind, name in zip(list(filters), options.entity_names, strict=False):
        filters[kind] = name or None
    return sorted(admin.describe_quotas(filters).items(), key=lambda one: _in_order(one[0]))


def quotas_json(quotas: list[EntityQuotas]) -> list[dict[str, object]]:
    return [_entity_json(entity, values) for entity, values in quotas]


def quota_lines(quotas: list[EntityQuotas]) -> list[str]:
    return [_line(entity, values) for entity, values in quotas]


def _in_order(entity: QuotaEntity) -> list[tuple[str, str]]:
    """Names before defaults."""
    return [(kind, "\U0010ffff" if name is None else name) for kind, name in reversed(entity)]


def _line(entity: QuotaEntity, values: dict[str, float]) -> str:
    from gralha.cli.java_numbers import double_text

    names = dict(entity)
    parts = [
        f"the default {label}" if names[kind] is None else f"{label} '{names[kind]}'"
        for kind, label in _LABELS.items()
        if kind in names
    ]
    quotas = ", ".join(f"{name}={double_text(value)}" for name, value in sorted(values.items()))
    return f"Quota configs for {', '.join(parts)} are {quotas}"


def _entity_json(entity: QuotaEntity, values: dict[str, float]) -> dict[str, object]:
    """An entity of --describe. The name of a default is null."""
    return {
        "entity": [{"entityType": kind, "entityName": name} for kind, name in reversed(entity)],
        "values": dict(sorted(values.items())),
    }
