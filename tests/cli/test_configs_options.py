import re
from pathlib import Path

import pytest

from gralha.cli.configs_options import configs_to_add, configs_to_delete, parse_configs, parse_options
from gralha.cli.program import CommandError

SERVER = ["--bootstrap-server", "localhost:9092"]


@pytest.mark.parametrize(
    ("arguments", "types", "names"),
    [
        (["--topic", "t"], ["topics"], ["t"]),
        (["--entity-type", "topics", "--entity-name", "t"], ["topics"], ["t"]),
        (["--entity-type", "topics"], ["topics"], []),
        (["--broker", "1"], ["brokers"], ["1"]),
        (["--broker-defaults"], ["brokers"], [""]),
        (["--entity-type", "brokers", "--entity-default"], ["brokers"], [""]),
        (["--client-metrics", "m"], ["client-metrics"], ["m"]),
    ],
)
def test_entities(arguments: list[str], types: list[str], names: list[str]) -> None:
    options = parse_options([*SERVER, "--describe", *arguments])
    assert (options.entity_types, options.entity_names) == (types, names)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--topic", "t"], "exactly one action: --describe, --alter"),
        (["--describe", "--alter", "--topic", "t"], "exactly one action: --describe, --alter"),
        (["--describe"], "At least one entity type must be specified"),
        (["--describe", "--entity-type", "trees"], "Invalid entity type trees"),
        (["--describe", "--topic", "t", "--broker", "1"], "Only 'users' and 'clients' entity types may be"),
        (["--describe", "--topic", "t", "--entity-name", "x"], "should not be used in conjunction"),
        (["--describe", "--broker", "one"], "must be a valid integer broker id, but it is: one"),
        (
            ["--describe", "--entity-type", "topics", "--entity-default"],
            "--entity-default must not be specified",
        ),
        (
            ["--describe", "--topic", "t", "--add-config", "a=b"],
            '"[describe]" can\'t be used with option "[add-config]"',
        ),
        (["--alter", "--topic", "t"], "At least one of --add-config, --add-config-file, or --delete-config"),
        (
            ["--alter", "--entity-type", "topics", "--add-config", "a=b"],
            "An entity name must be specified with --alter",
        ),
        (
            ["--alter", "--entity-type", "brokers", "--add-config", "a=b"],
            "An entity-name or default entity must be",
        ),
        (
            ["--alter", "--entity-type", "users", "--user-defaults", "--add-config", "a=1"],
            "--entity-{type,name,default} should not be used in conjunction with specific entity flags",
        ),
        (
            ["--describe", "--ip", "here"],
            "The entity name for ips must be a valid IP or resolvable host, but it is: here",
        ),
    ],
)
def test_wrong_calls(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=re.escape(message)):
        parse_options([*SERVER, *arguments])


def test_the_cluster_must_be_named() -> None:
    with pytest.raises(
        CommandError, match="Either --bootstrap-server or --bootstrap-controller must be specified"
    ):
        parse_options(["--describe", "--topic", "t"])


@pytest.mark.parametrize(
    ("text", "configs"),
    [
        ("a=1", {"a": "1"}),
        ("a = 1 , b=2", {"a": "1", "b": "2"}),
        ("a=[1,2],b=3", {"a": "1,2", "b": "3"}),
        ("a=", {"a": ""}),
    ],
)
def test_settings_to_add(text: str, configs: dict[str, str]) -> None:
    assert parse_configs(text) == configs


@pytest.mark.parametrize("text", ["a", "a=1,b", "a=1=2"])
def test_settings_need_values(text: str) -> None:
    with pytest.raises(CommandError, match='"key=val"'):
        parse_configs(text)


def test_settings_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "settings.properties"
    file.write_text("# comment\nretention.ms: 5\ncleanup.policy=compact,delete\n")
    options = parse_options([*SERVER, "--alter", "--topic", "t", "--add-config-file", str(file)])
    assert configs_to_add(options) == {"retention.ms": "5", "cleanup.policy": "compact,delete"}
    file.unlink()
    with pytest.raises(CommandError, match=r"Cannot read the properties file .*: No such file"):
        configs_to_add(options)


def test_a_wrong_name_never_leaves_the_house() -> None:
    options = parse_options([*SERVER, "--alter", "--topic", "t", "--add-config", "a!=1"])
    with pytest.raises(CommandError, match="Invalid character found for config key: a!"):
        configs_to_add(options)


def test_settings_to_delete() -> None:
    options = parse_options([*SERVER, "--alter", "--topic", "t", "--delete-config", "a, b"])
    assert configs_to_delete(options) == ["a", "b"]
    assert configs_to_add(options) == {}
