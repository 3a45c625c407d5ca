"""Configuration keys: parsing values, error messages, and the setting that counts."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gralha.metadata.config_keys import (
    BROKER_CONFIGS,
    GROUP_CONFIGS,
    TOPIC_CONFIGS,
    BrokerConfigLayers,
    ConfigError,
    ConfigSource,
    ConfigType,
    default_broker_configs,
    effective_broker_config,
    effective_broker_configs,
    effective_group_configs,
    effective_topic_config,
    effective_topic_configs,
    effective_topic_values,
    format_value,
    parse_value,
    topic_config_value,
    validate,
    validate_broker_configs,
    validate_group_configs,
    validate_topic_configs,
)
from gralha.metadata.config_notation import read_keys

NOTHING_SET = BrokerConfigLayers()
ALL_KEYS = [*TOPIC_CONFIGS.values(), *BROKER_CONFIGS.values(), *GROUP_CONFIGS.values()]


@pytest.mark.parametrize("key", ALL_KEYS, ids=lambda key: key.name)
def test_every_default_is_a_value_that_its_key_takes(key):
    if key.default is not None:
        assert parse_value(key, key.default_text) == key.default
    assert key.documentation.endswith(".") or key.documentation.endswith("?")


def test_every_synonym_of_a_topic_config_is_a_broker_config_with_the_same_default():
    for key in TOPIC_CONFIGS.values():
        defaults = [
            (BROKER_CONFIGS[name].default, factor)
            for name, factor in key.synonyms
            if BROKER_CONFIGS[name].default is not None
        ]
        if defaults:
            value, factor = defaults[0]
            if factor != 1:
                assert isinstance(value, int)
                value *= factor
            assert value == key.default, key.name


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("retention.ms", " 5 ", 5),
        ("retention.ms", "+5", 5),
        ("retention.ms", "-1", -1),
        ("preallocate", "TRUE", True),
        ("cleanup.policy", "", []),
        ("cleanup.policy", "compact, delete", ["compact", "delete"]),
        ("min.cleanable.dirty.ratio", "1", 1.0),
        ("compression.gzip.level", "-1", -1),
        ("compression.type", " lz4 ", "lz4"),
        ("leader.replication.throttled.replicas", "*", ["*"]),
        ("leader.replication.throttled.replicas", "0:1,1:2", ["0:1", "1:2"]),
        ("leader.replication.throttled.replicas", "", []),
    ],
)
def test_values_are_read_as_kafka_reads_them(name, text, value):
    assert parse_value(TOPIC_CONFIGS[name], text) == value


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("retention.ms", "x", "Not a number of type LONG"),
        ("retention.ms", "", "Not a number of type LONG"),
        ("retention.ms", "1_000", "Not a number of type LONG"),
        ("retention.ms", "9" * 5000, "Not a number of type LONG"),
        ("retention.ms", "-2", "Value must be at least -1"),
        ("segment.bytes", "99999999999", "Not a number of type INT"),
        ("segment.bytes", "100", "Value must be at least 1048576"),
        ("min.cleanable.dirty.ratio", "2.0", "Value must be no more than 1"),
        ("min.cleanable.dirty.ratio", "NaN", "Value must be at least 0"),
        ("min.cleanable.dirty.ratio", "0_1", "Not a number of type DOUBLE"),
        ("preallocate", "yes", "Expected value to be either true or false"),
        (
            "compression.type",
            "GZIP",
            "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer",
        ),
        ("compression.gzip.level", "0", "Value must be between 1 and 9 or equal to -1"),
        ("cleanup.policy", "Compact", "String must be one of: compact, delete"),
    ],
)
def test_a_wrong_value_is_refused_with_its_reason(name, text, why):
    with pytest.raises(ConfigError) as refused:
        parse_value(TOPIC_CONFIGS[name], text)
    assert refused.value.name == name
    assert refused.value.value == text
    assert refused.value.why.startswith(why)
    assert refused.value.allowed
    assert str(refused.value).startswith(f"Invalid value {text} for configuration {name}: {why}")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("process.roles", ""),
        ("process.roles", "broker,zookeeper"),
        ("process.roles", "broker,broker"),
        ("log.dirs", "/a,,/b"),
        ("log.dirs", "/a,/a"),
        ("listeners", ""),
        ("node.id", "-1"),
        ("offsets.topic.replication.factor", "70000"),
        ("group.consumer.migration.policy", "sideways"),
    ],
)
def test_a_wrong_broker_value_is_refused(name, text):
    with pytest.raises(ConfigError):
        parse_value(BROKER_CONFIGS[name], text)


def test_migration_policy_takes_any_case():
    assert parse_value(BROKER_CONFIGS["group.consumer.migration.policy"], "Upgrade") == "Upgrade"


@given(st.integers() | st.integers(-(2**63) - 2, -(2**63) + 2) | st.integers(2**63 - 2, 2**63 + 2))
def test_numbers_are_taken_exactly_within_their_bits(number):
    key = TOPIC_CONFIGS["retention.bytes"]
    if -(2**63) <= number < 2**63:
        assert parse_value(key, str(number)) == number
    else:
        with pytest.raises(ConfigError):
            parse_value(key, str(number))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_survive_the_text_form(value):
    text = format_value(value)
    assert text is not None
    assert float(text) == value
    assert "e" not in text  # Java writes a capital E


def test_doubles_look_as_java_writes_them():
    assert format_value(1.7976931348623157e308) == "1.7976931348623157E308"
    assert format_value(0.5) == "0.5"


def test_the_topic_setting_comes_before_all_broker_layers():
    layers = BrokerConfigLayers(
        dynamic_broker={"log.retention.ms": "2"},
        dynamic_default={"log.retention.ms": "3"},
        static={"log.retention.hours": "4"},
    )
    config = effective_topic_config("retention.ms", {"retention.ms": "1"}, layers)
    assert (config.value, config.source) == ("1", ConfigSource.DYNAMIC_TOPIC_CONFIG)
    assert [(s.name, s.value, int(s.source)) for s in config.synonyms] == [
        ("retention.ms", "1", 1),
        ("log.retention.ms", "2", 2),
        ("log.retention.ms", "3", 3),
        ("log.retention.hours", "4", 4),
        ("log.retention.hours", "168", 5),
    ]


def test_the_synonyms_begin_with_the_finest_unit():
    """As in Kafka: hours in server.properties count, but are not shown while milliseconds are not set."""
    config = effective_topic_config(
        "retention.ms", {}, BrokerConfigLayers(static={"log.retention.hours": "4"})
    )
    assert (config.value, config.source, config.synonyms) == ("14400000", ConfigSource.DEFAULT_CONFIG, [])


@pytest.mark.parametrize(
    ("static", "value"),
    [
        ({"log.retention.hours": "2"}, "7200000"),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, "180000"),
        ({"log.retention.hours": "2", "log.retention.minutes": "3", "log.retention.ms": "4"}, "4"),
        ({"log.retention.hours": "-1"}, "-1"),
        ({}, "604800000"),
    ],
)
def test_units_are_converted_and_the_finest_counts(static, value):
    layers = BrokerConfigLayers(static=static)
    assert topic_config_value("retention.ms", {}, layers) == value
    config = effective_topic_config("retention.ms", {}, layers)
    assert config.value == value
    is_shown = "log.retention.ms" in static
    assert config.source is (ConfigSource.STATIC_BROKER_CONFIG if is_shown else ConfigSource.DEFAULT_CONFIG)


_ONE_SETTING = st.dictionaries(
    st.sampled_from(["log.retention.ms", "log.retention.minutes", "log.retention.hours"]),
    st.integers(-1, 1000).map(str),
)


@given(
    st.dictionaries(st.just("retention.ms"), st.integers(-1, 9).map(str)),
    _ONE_SETTING,
    _ONE_SETTING,
    _ONE_SETTING,
)
def test_the_quick_look_up_agrees_with_the_full_one(overrides, broker, default, static):
    layers = BrokerConfigLayers(broker, default, static)
    config = effective_topic_config("retention.ms", overrides, layers)
    assert config.value == topic_config_value("retention.ms", overrides, layers)
    assert effective_topic_values(overrides, layers)["retention.ms"] == config.value
    sources = [synonym.source for synonym in config.synonyms] + [ConfigSource.DEFAULT_CONFIG]
    assert sources[0] is config.source


def test_all_topic_configs_are_described_and_internal_ones_hide():
    names = [config.name for config in effective_topic_configs({}, NOTHING_SET)]
    assert names == sorted(names)
    assert set(names) == {name for name, key in TOPIC_CONFIGS.items() if not key.internal}
    assert "internal.segment.bytes" in {
        config.name for config in effective_topic_configs({"internal.segment.bytes": "100"}, NOTHING_SET)
    }


def test_tests_may_have_segments_smaller_than_anybody_else():
    values = effective_topic_values({"internal.segment.bytes": "100"}, NOTHING_SET)
    assert values["segment.bytes"] == "100"
    assert effective_topic_values({}, NOTHING_SET)["segment.bytes"] == "1073741824"


def test_a_broker_config_shows_where_it_was_set():
    layers = BrokerConfigLayers(dynamic_default={"log.segment.bytes": "2000000"}, static={"node.id": "7"})
    segment = effective_broker_config("log.segment.bytes", layers)
    assert (segment.value, int(segment.source), segment.read_only) == ("2000000", 3, False)
    assert [int(synonym.source) for synonym in segment.synonyms] == [3, 5]
    node_id = effective_broker_config("node.id", layers)
    assert (node_id.value, int(node_id.source), node_id.read_only) == ("7", 4, True)
    minutes = effective_broker_config(
        "log.retention.minutes", BrokerConfigLayers(static={"log.retention.hours": "1"})
    )
    assert (minutes.value, minutes.source, minutes.synonyms) == (None, ConfigSource.DEFAULT_CONFIG, [])


def test_an_internal_broker_config_shows_where_it_is_set():
    name = "unclean.leader.election.interval.ms"
    assert name not in {config.name for config in effective_broker_configs(NOTHING_SET)}
    layers = BrokerConfigLayers(static={name: "1000"})
    assert name in {config.name for config in effective_broker_configs(layers)}


def test_a_setting_nobody_knows_may_be_a_secret_and_is_hidden():
    layers = BrokerConfigLayers(static={"my.password": "hunter2"})
    config = effective_broker_config("my.password", layers)
    assert config.sensitive
    assert config.value is None
    assert config.type is ConfigType.UNKNOWN
    assert "hunter2" not in repr(effective_broker_configs(layers))


def test_the_key_of_delegation_tokens_is_hidden():
    layers = BrokerConfigLayers(static={"delegation.token.secret.key": "hunter2"})
    config = effective_broker_config("delegation.token.secret.key", layers)
    assert (config.sensitive, config.value, config.read_only) == (True, None, True)
    assert "hunter2" not in repr(effective_broker_configs(layers))


def test_settings_for_all_brokers_show_nothing_else():
    (config,) = default_broker_configs({"log.retention.ms": "5"})
    assert [(s.name, s.value, int(s.source)) for s in config.synonyms] == [("log.retention.ms", "5", 3)]


def test_group_configs_come_from_the_group_then_from_the_broker():
    layers = BrokerConfigLayers(static={"group.consumer.session.timeout.ms": "50000"})
    configs = {
        config.name: config
        for config in effective_group_configs({"share.isolation.level": "read_committed"}, layers)
    }
    assert configs["consumer.session.timeout.ms"].value == "50000"
    assert configs["consumer.session.timeout.ms"].source is ConfigSource.STATIC_BROKER_CONFIG
    assert configs["share.isolation.level"].source is ConfigSource.GROUP_CONFIG


def test_a_list_that_is_refused_as_a_whole_is_shown_in_brackets():
    name = "leader.replication.throttled.replicas"
    with pytest.raises(ConfigError, match=r"Invalid value \[1:2, 1:x\] for .*: leader.* must be the literal"):
        parse_value(TOPIC_CONFIGS[name], "1:2,1:x")


def refusal(reason: str | None) -> str:
    """Why values are refused."""
    assert reason is not None
    return reason


def test_topic_settings_are_checked_together():
    assert validate_topic_configs({"retention.ms": "1", "cleanup.policy": "compact"}) is None
    assert "Unknown topic config name: nope" in refusal(validate_topic_configs({"nope": "1"}))
    assert "min.compaction.lag.ms" in refusal(
        validate_topic_configs({"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"})
    )
    assert "tiered" in refusal(validate_topic_configs({"remote.storage.enable": "true"}))
    assert validate(TOPIC_CONFIGS, "retention.ms", "5") is None
    assert "nope" in refusal(validate(TOPIC_CONFIGS, "nope", "5"))


def test_dynamic_broker_settings_are_checked():
    assert validate_broker_configs({"log.retention.ms": "5"}, per_broker=False) is None
    assert validate_broker_configs({"some.plugin.setting": "5"}, per_broker=False) is None
    assert validate_broker_configs({"node.id": "5"}, per_broker=True) == (
        "Cannot update these configs dynamically: [node.id]"
    )
    assert "Not a number" in refusal(validate_broker_configs({"log.retention.ms": "x"}, per_broker=True))
    # Kafka can change them while it runs. Here a change would have no effect, so it is refused.
    assert "[listeners]" in refusal(validate_broker_configs({"listeners": "A://:1"}, per_broker=True))
    assert "must be unlimited" in refusal(
        validate_broker_configs({"log.retention.ms": "0"}, per_broker=False)
    )


def test_settings_of_tls_change_for_one_listener_only():
    name = "listener.name.external.ssl.keystore.location"
    assert validate_broker_configs({name: "new.pem"}, per_broker=True) is None
    assert "broker id must be specified" in (validate_broker_configs({name: "new.pem"}, False) or "")
    refused = validate_broker_configs({"ssl.keystore.location": "new.pem"}, per_broker=True)
    assert refused is not None
    assert refused.startswith("These security configs can be dynamically updated only per-listener")
    wrong = {"listener.name.external.ssl.client.auth": "perhaps"}
    assert "must be one of: required, requested, none" in (validate_broker_configs(wrong, True) or "")


def test_a_setting_of_one_listener_is_described_like_the_common_one():
    values = {
        "listener.name.external.ssl.keystore.location": "key.pem",
        "listener.name.external.ssl.key.password": "secret",
    }
    location, password = (effective_broker_config(name, BrokerConfigLayers(static=values)) for name in values)
    assert (location.value, location.sensitive, location.type) == ("key.pem", False, ConfigType.STRING)
    assert (password.value, password.sensitive, password.type) == (None, True, ConfigType.PASSWORD)
    assert "secret" not in repr(password)


def test_group_settings_are_checked():
    layers = BrokerConfigLayers()
    assert validate_group_configs({"consumer.session.timeout.ms": "50000"}, layers) is None
    assert "Unknown group config name" in refusal(validate_group_configs({"nope": "1"}, layers))
    assert "at least 1" in refusal(validate_group_configs({"consumer.session.timeout.ms": "0"}, layers))


def test_brokers_bound_the_settings_of_groups():
    layers = BrokerConfigLayers(
        static={
            "group.consumer.min.session.timeout.ms": "100",
            "group.consumer.min.heartbeat.interval.ms": "1",
        }
    )

    def why(**configs):
        return validate_group_configs(
            {name.replace("_", "."): text for name, text in configs.items()}, layers
        )

    assert why(consumer_session_timeout_ms="99") == (
        "consumer.session.timeout.ms must be greater than or equal to group.consumer.min.session.timeout.ms"
    )
    assert why(consumer_session_timeout_ms="60001") == (
        "consumer.session.timeout.ms must be less than or equal to group.consumer.max.session.timeout.ms"
    )
    assert why(consumer_session_timeout_ms="100", consumer_heartbeat_interval_ms="100") == (
        "consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms"
    )
    assert why(consumer_session_timeout_ms="100", consumer_heartbeat_interval_ms="99") is None


@pytest.mark.parametrize(
    "text",
    [
        "a: int; sometimes\n    Doc.\n",
        "a: integer = 1\n    Doc.\n",
        "a: int = 1\n    D.\na: int = 2\n    D.\n",
    ],
)
def test_broken_notation_is_noticed(text):
    with pytest.raises((ValueError, KeyError)):
        read_keys(text)


def test_importing_the_keys_needs_little():
    """Commands and the broker import this at their start, so it must not import anything heavy."""
    code = "import sys; import gralha.metadata.config_keys; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"asyncio", "dataclasses", "inspect", "logging", "json"} & set(loaded)


@pytest.mark.parametrize(
    "name",
    ["listener.name.external.sasl.enabled.mechanisms", "listener.name.external.plain.sasl.jaas.config"],
)
def test_settings_of_a_login_need_a_restart(name: str) -> None:
    """As in Kafka, where only a new listener would have the new settings."""
    assert validate_broker_configs({name: "PLAIN"}, per_broker=True) == (
        "Configs cannot be updated dynamically for an existing listener, change the file of the broker and "
        f"restart it: [{name}]"
    )


def test_limits_of_one_listener_are_dynamic_for_one_broker_and_for_all() -> None:
    for name in ("max.connections", "max.connection.creation.rate"):
        for per_broker in (True, False):
            full = f"listener.name.external.{name}"
            assert validate_broker_configs({full: "5"}, per_broker=per_broker) is None
            assert validate_broker_configs({full: "-5"}, per_broker=per_broker) is not None
