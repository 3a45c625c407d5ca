"""Configuration: the keys, and the value that counts if a key is set in several places.

A topic config has layers, and the first layer that has the config wins:

- the topic's own settings
- the broker's synonyms of the key, set dynamically for this broker
- the same, set dynamically for all brokers
- the same, in `server.properties`
- the default of the key

Broker configs have the same layers without the topic's. DescribeConfigs and CreateTopics show the winner with
its source, and all settings as synonyms.

The keys are data: `TOPIC_CONFIGS`, `BROKER_CONFIGS`, `GROUP_CONFIGS`, each a dict by name. Values are text,
as Kafka stores them; `parse_value` reads them.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from gralha.metadata.broker_configs import BROKER_CONFIGS
from gralha.metadata.config_types import (
    ConfigError,
    ConfigKey,
    ConfigSource,
    ConfigType,
    ConfigValue,
    UpdateMode,
    format_value,
    parse_value,
    split_list,
)
from gralha.metadata.group_configs import GROUP_CONFIGS
from gralha.metadata.listener_configs import PREFIX, broker_config_key, is_of_listener
from gralha.metadata.topic_configs import TOPIC_CONFIGS

__all__ = [
    "BROKER_CONFIGS",
    "GROUP_CONFIGS",
    "TOPIC_CONFIGS",
    "BrokerConfigLayers",
    "ConfigError",
    "ConfigKey",
    "ConfigSource",
    "ConfigSynonym",
    "ConfigType",
    "ConfigValue",
    "EffectiveConfig",
    "UpdateMode",
    "broker_config_value",
    "default_broker_configs",
    "effective_broker_config",
    "effective_broker_configs",
    "effective_group_configs",
    "effective_topic_config",
    "effective_topic_configs",
    "effective_topic_values",
    "format_value",
    "parse_value",
    "split_list",
    "topic_config_value",
    "topic_config_value_and_source",
    "validate",
    "validate_broker_configs",
    "validate_group_configs",
    "validate_topic_configs",
]

_EMPTY: Final[Mapping[str, str]] = {}


class BrokerConfigLayers(NamedTuple):
    """The settings of one broker, as text by name. The strongest layer comes first."""

    dynamic_broker: Mapping[str, str] = _EMPTY
    dynamic_default: Mapping[str, str] = _EMPTY
    static: Mapping[str, str] = _EMPTY


# The source that DescribeConfigs names for each layer of a broker.
_LAYER_SOURCES: Final = (
    ConfigSource.DYNAMIC_BROKER_CONFIG,
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
    ConfigSource.STATIC_BROKER_CONFIG,
)


class ConfigSynonym(NamedTuple):
    """A place where a config is set. The first synonym of a list is the one that counts."""

    name: str
    value: str | None
    source: ConfigSource


class EffectiveConfig(NamedTuple):
    """A config as DescribeConfigs shows it. A sensitive value is None."""

    name: str
    value: str | None
    source: ConfigSource
    read_only: bool
    sensitive: bool
    type: ConfigType
    documentation: str | None
    synonyms: list[ConfigSynonym]


# Topic configs


def effective_topic_config(
    name: str, overrides: Mapping[str, str], layers: BrokerConfigLayers
) -> EffectiveConfig:
    """One topic config with its source and synonyms. Raises KeyError for an unknown name."""
    key = TOPIC_CONFIGS[name]
    value, _ = topic_config_value_and_source(name, overrides, layers)
    synonyms = list(_unit_synonyms(key.synonyms, layers))
    if name in overrides:
        synonyms.insert(0, ConfigSynonym(name, value, ConfigSource.DYNAMIC_TOPIC_CONFIG))
    source = synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG
    return EffectiveConfig(name, value, source, False, False, key.type, key.documentation, synonyms)


def effective_topic_configs(
    overrides: Mapping[str, str], layers: BrokerConfigLayers
) -> list[EffectiveConfig]:
    """All topic configs, sorted by name. Internal ones appear only if they are set."""
    return [
        effective_topic_config(name, overrides, layers)
        for name, key in sorted(TOPIC_CONFIGS.items())
        if not key.internal or name in overrides
    ]


def effective_topic_values(overrides: Mapping[str, str], layers: BrokerConfigLayers) -> dict[str, str]:
    """The values of a topic's configs, by name. The log is configured with them."""
    values = {name: topic_config_value(name, overrides, layers) for name in TOPIC_CONFIGS}
    values["segment.bytes"] = values.pop("internal.segment.bytes") or values["segment.bytes"]
    return {name: value for name, value in values.items() if value is not None}


def topic_config_value(name: str, overrides: Mapping[str, str], layers: BrokerConfigLayers) -> str | None:
    """The value of one topic config."""
    return topic_config_value_and_source(name, overrides, layers)[0]


def topic_config_value_and_source(
    name: str, overrides: Mapping[str, str], layers: BrokerConfigLayers
) -> tuple[str | None, ConfigSource]:
    """The value of one topic config and its source. It is cheaper than `effective_topic_config`."""
    if name in overrides:
        return overrides[name], ConfigSource.DYNAMIC_TOPIC_CONFIG
    key = TOPIC_CONFIGS[name]
    for layer, source in zip(layers, _LAYER_SOURCES, strict=True):
        if layer:
            for synonym, factor in key.synonyms:
                if synonym in layer:
                    return _convert(layer[synonym], factor), source
    return key.default_text, ConfigSource.DEFAULT_CONFIG


def _convert(value: str | None, factor: int) -> str | None:
    """Converts a value from the synonym's unit to the topic config's. Negative hours mean no limit."""
    if value is None or factor == 1:
        return value
    number = int(value)
    return str(number * factor if number >= 0 else -1)


def _unit_synonyms(names: tuple[tuple[str, int], ...], layers: BrokerConfigLayers) -> list[ConfigSynonym]:
    """The places where a config is set that has several units, such as log.retention.ms, .minutes and .hours.

    As in Kafka, the list begins with the first place where the first unit is set.
    """
    synonyms = list(_broker_synonyms(names, layers))
    while synonyms and synonyms[0].name != names[0][0]:
        del synonyms[0]
    return synonyms


def _broker_synonyms(
    names: tuple[tuple[str, int], ...], layers: BrokerConfigLayers
) -> Iterator[ConfigSynonym]:
    for layer, source in zip(layers, _LAYER_SOURCES, strict=True):
        for name, _ in names:
            if name in layer:
                yield ConfigSynonym(name, layer[name], source)
    for name, _ in names:
        key = BROKER_CONFIGS.get(name)
        if key is not None and key.default is not None:
            yield ConfigSynonym(name, key.default_text, ConfigSource.DEFAULT_CONFIG)


# Broker configs

# A broker config with several units shows its own unit first and then the others.
_UNIT_SYNONYMS: Final[dict[str, tuple[tuple[str, int], ...]]] = {
    name: key.synonyms[index:]
    for key in TOPIC_CONFIGS.values()
    if len(key.synonyms) > 1
    for index, (name, _) in enumerate(key.synonyms)
}


def broker_config_value(name: str, layers: BrokerConfigLayers) -> str | None:
    """The value of one broker config. Synonyms do not count here."""
    for layer in layers:
        if name in layer:
            return layer[name]
    key = BROKER_CONFIGS.get(name)
    return key.default_text if key is not None else None


def effective_broker_config(name: str, layers: BrokerConfigLayers) -> EffectiveConfig:
    """One broker config with its source and synonyms. An unknown name may hold a secret, so it is hidden."""
    key = broker_config_key(name)
    sensitive = key is None or key.sensitive
    units = _UNIT_SYNONYMS.get(name, ((name, 1),))
    synonyms = _unit_synonyms(units, layers)
    if sensitive:
        synonyms = [synonym._replace(value=None) for synonym in synonyms]
    return EffectiveConfig(
        name,
        None if sensitive else broker_config_value(name, layers),
        synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
        key is None or key.read_only,
        sensitive,
        key.type if key is not None else ConfigType.UNKNOWN,
        key.documentation if key is not None else None,
        synonyms,
    )


def effective_broker_configs(layers: BrokerConfigLayers) -> list[EffectiveConfig]:
    """All configs of one broker, sorted by name. Internal and unknown ones appear only if they are set."""
    names = {name for name, key in BROKER_CONFIGS.items() if not key.internal}
    names.update(*layers)
    return [effective_broker_config(name, layers) for name in sorted(names)]


def default_broker_configs(dynamic_default: Mapping[str, str]) -> list[EffectiveConfig]:
    """The settings for all brokers, as DescribeConfigs shows them for the broker with the empty name."""
    layers = BrokerConfigLayers(dynamic_default=dynamic_default)
    return [
        config._replace(synonyms=[synonym for synonym in config.synonyms if synonym.source is config.source])
        for config in (effective_broker_config(name, layers) for name in sorted(dynamic_default))
    ]


# Group configs


def effective_group_configs(
    overrides: Mapping[str, str], layers: BrokerConfigLayers
) -> list[EffectiveConfig]:
    """All configs of one group, sorted by name."""
    return [_effective_group_config(key, overrides, layers) for _, key in sorted(GROUP_CONFIGS.items())]


def _effective_group_config(
    key: ConfigKey, overrides: Mapping[str, str], layers: BrokerConfigLayers
) -> EffectiveConfig:
    synonyms = list(_broker_synonyms(key.synonyms, layers))
    value = synonyms[0].value if synonyms else key.default_text
    if key.name in overrides:
        value = overrides[key.name]
        synonyms.insert(0, ConfigSynonym(key.name, value, ConfigSource.GROUP_CONFIG))
    source = synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG
    return EffectiveConfig(key.name, value, source, False, False, key.type, key.documentation, synonyms)


# Validation


def validate(keys: Mapping[str, ConfigKey], name: str, value: str) -> str | None:
    """Returns what is wrong with `value` for the key `name` of `keys`, or None."""
    key = keys.get(name)
    if key is None:
        return f"Unknown config name: {name}"
    try:
        parse_value(key, value)
    except ConfigError as error:
        return str(error)
    return None


def validate_topic_configs(configs: Mapping[str, str]) -> str | None:
    """Returns what is wrong with a topic's settings, alone or together, or None."""
    for name in configs:
        if name not in TOPIC_CONFIGS:
            return f"Unknown topic config name: {name}"
    for name, value in configs.items():
        why = validate(TOPIC_CONFIGS, name, value)
        if why is not None:
            return why
    return _topic_conflict(configs)


def _topic_conflict(configs: Mapping[str, str]) -> str | None:
    shortest, longest = (
        int(configs.get(name, TOPIC_CONFIGS[name].default_text or 0))
        for name in ("min.compaction.lag.ms", "max.compaction.lag.ms")
    )
    if shortest > longest:
        return (
            f"conflict topic config setting min.compaction.lag.ms ({shortest}) > "
            f"max.compaction.lag.ms ({longest})"
        )
    if configs.get("remote.storage.enable", "").strip().lower() == "true":
        return "This broker has no tiered storage: remote.storage.enable cannot be true"
    return None


def validate_group_configs(configs: Mapping[str, str], layers: BrokerConfigLayers) -> str | None:
    """Returns what is wrong with a group's settings, or None."""
    for name, value in configs.items():
        if name not in GROUP_CONFIGS:
            return f"Unknown group config name: {name}"
        why = validate(GROUP_CONFIGS, name, value)
        if why is not None:
            return why
    values = {config.name: config.value for config in effective_group_configs(configs, layers)}
    return _out_of_bounds(values, layers) or _group_conflict(values)


def _out_of_bounds(values: Mapping[str, str | None], layers: BrokerConfigLayers) -> str | None:
    """The broker configs group.consumer.min.X and group.consumer.max.X limit a group's consumer.X."""
    for name, value in values.items():
        kind, _, rest = name.partition(".")
        for bound, relation, sign in (("min", "greater", 1), ("max", "less", -1)):
            limit_name = f"group.{kind}.{bound}.{rest}"
            limit = broker_config_value(limit_name, layers)
            if value is not None and limit is not None and sign * int(value) < sign * int(limit):
                return f"{name} must be {relation} than or equal to {limit_name}"
    return None


def _group_conflict(values: Mapping[str, str | None]) -> str | None:
    for kind in ("consumer", "share", "streams"):
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if int(values[session] or 0) <= int(values[heartbeat] or 0):
            return f"{session} must be greater than {heartbeat}"
    return None


def validate_broker_configs(configs: Mapping[str, str], per_broker: bool) -> str | None:
    """Returns what is wrong with dynamic settings of one broker, or of all brokers, or None.

    Unknown names are accepted, as in Kafka: a plugin or a later version may know them.
    """
    known = {name: key for name in configs if (key := broker_config_key(name)) is not None}
    fixed_of_listeners = sorted(name for name in configs if name not in known and is_of_listener(name))
    if fixed_of_listeners:
        return (
            "Configs cannot be updated dynamically for an existing listener, change the file of the broker "
            f"and restart it: [{', '.join(fixed_of_listeners)}]"
        )
    common = sorted(name for name in known if name.startswith("ssl.") and not known[name].read_only)
    if common:
        return (
            "These security configs can be dynamically updated only per-listener using the listener prefix "
            f"({PREFIX}<listener>.): [{', '.join(common)}]"
        )
    fixed = sorted(name for name, key in known.items() if key.read_only)
    if fixed:
        return f"Cannot update these configs dynamically: [{', '.join(fixed)}]"
    for name, key in known.items():
        try:
            parse_value(key, configs[name])
        except ConfigError as error:
            return str(error)
    local = sorted(name for name, key in known.items() if key.update_mode is UpdateMode.PER_BROKER)
    if local and not per_broker:
        return (
            "Cannot update these configs at default cluster level, broker id must be specified: "
            f"[{', '.join(local)}]"
        )
    return _broker_conflict(configs)


def _broker_conflict(configs: Mapping[str, str]) -> str | None:
    for name in ("log.retention.ms", "log.retention.minutes", "log.retention.hours"):
        if name in configs and int(configs[name]) == 0:
            return f"requirement failed: {name} must be unlimited (-1) or, greater than or equal to 1"
    return None
