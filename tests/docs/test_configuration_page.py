"""docs/CONFIGURATION.md has what the definitions say, and the definitions say what Kafka and the code do."""

import html
import re
import subprocess
from pathlib import Path

import pytest
from scripts.configuration_page import DIFFERENCES, KAFKA_DEFAULTS, PAGE, page

from gralha.metadata.config_keys import BROKER_CONFIGS, GROUP_CONFIGS, TOPIC_CONFIGS, ConfigKey
from tests.apache.kafka import JARS, TOOL_FLAGS
from tests.docs.pages import ROOT

# The class of Kafka that prints its definitions as HTML, and ours.
DEFINITIONS = {
    "kafka.server.KafkaConfig": BROKER_CONFIGS,
    "org.apache.kafka.storage.internals.log.LogConfig": TOPIC_CONFIGS,
    "org.apache.kafka.coordinator.group.GroupConfig": GROUP_CONFIGS,
}
# Settings that Kafka changes while a broker runs.
ONLY_IN_THE_FILE = (
    "listeners",
    "sasl.enabled.mechanisms",
    "sasl.jaas.config",
    "sasl.mechanism.inter.broker.protocol",
)
# Rooms whose code may use a setting of a node.
ROOMS = ("broker", "coordination", "groups", "metadata", "raft", "replication", "security", "storage")
# `config_keys` puts the names of these together: they limit what a group may set.
LIMITS = re.compile(r"group\.consumer\.(min|max)\..*\.ms")
# Kafka's authorizer reads these by itself, so Kafka's definitions lack them.
OF_AUTHORIZER = ("super.users", "allow.everyone.if.no.acl.found")


def keys_of_kafka(class_name: str) -> dict[str, dict[str, str]]:
    """The definitions of Apache Kafka: type, default, importance and update mode of each key."""
    command = ["java", *TOOL_FLAGS, "-cp", f"{JARS}/*", class_name]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    found = {}
    for entry in printed.split("<h4>")[1:]:
        name = re.search(r'<a id="([^"]+)"', entry)
        assert name is not None
        rows = re.findall(r"<tr><th>([^<]+):</th><td>(.*?)</td></tr>", entry, flags=re.DOTALL)
        found[name[1]] = {title: html.unescape(text) for title, text in rows}
    return found


def facts(key: ConfigKey) -> tuple[str, str, str]:
    default = KAFKA_DEFAULTS.get(key.name, key.default_text or "")
    return key.type.name.lower(), default, key.importance.lower()


def facts_of_kafka(rows: dict[str, str]) -> tuple[str, str, str]:
    # The page of Kafka adds words to large numbers: 1048588 (1 mebibyte).
    default = re.sub(r" \(.*\)$", "", rows["Default"]).strip()
    return rows["Type"], "" if default in ("null", '""') else default, rows["Importance"]


def test_the_page_is_that_of_the_definitions() -> None:
    assert PAGE.read_text() == page(), "run make generate"


@pytest.mark.parametrize("class_name", DEFINITIONS)
def test_definitions_are_those_of_kafka(class_name: str) -> None:
    kafka, ours = keys_of_kafka(class_name), DEFINITIONS[class_name]
    # Kafka leaves its internal settings out.
    common = sorted(kafka.keys() & ours.keys())
    own = sum(name.startswith("gralha.") or name in OF_AUTHORIZER for name in ours)
    assert len(common) >= len(ours) - own - 4
    assert {name: facts(ours[name]) for name in common} == {
        name: facts_of_kafka(kafka[name]) for name in common
    }
    modes = {name: ours[name].update_mode.name.lower().replace("_", "-") for name in common}
    others = {name: mode for name, mode in modes.items() if mode != kafka[name].get("Update Mode", mode)}
    # The page says that these may change in Kafka while a broker runs.
    assert others == {name: "read-only" for name in ONLY_IN_THE_FILE if name in modes}


def test_a_setting_has_an_effect_or_says_that_it_has_none() -> None:
    code = "".join(
        path.read_text()
        for room in ROOMS
        for path in (ROOT / "src" / "gralha" / room).rglob("*.py")
        if not path.name.endswith("_configs.py")
    )
    # storage/config.py lists the defaults of all settings of a log, so this one is named and not read.
    not_read = {"preallocate"}
    every = {**GROUP_CONFIGS, **TOPIC_CONFIGS, **BROKER_CONFIGS}
    defaults = {name for key in every.values() if key.has_effect for name, _ in key.synonyms}
    read = {name for name in every if f'"{name}"' in code or name in defaults or LIMITS.fullmatch(name)}
    assert {name for name, key in every.items() if key.has_effect} == read - not_read


def test_differences_are_those_of_settings_that_exist() -> None:
    assert set(DIFFERENCES) | set(KAFKA_DEFAULTS) <= set(BROKER_CONFIGS)


def test_make_generate_writes_the_page() -> None:
    assert "python -m scripts.configuration_page" in Path(ROOT / "Makefile").read_text()
