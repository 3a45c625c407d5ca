"""Writes docs/CONFIGURATION.md from the definitions of the settings.

`python -m scripts.configuration_page` is a part of `make generate`.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from gralha.broker.config import MISSING_SECURITY
from gralha.cli import up_settings
from gralha.metadata.broker_configs import BROKER_SECTIONS
from gralha.metadata.config_keys import BROKER_CONFIGS, GROUP_CONFIGS, TOPIC_CONFIGS
from gralha.metadata.config_notation import read_keys
from gralha.metadata.config_types import LONG_MAX, WITHOUT_EFFECT, ConfigKey, ConfigType, UpdateMode

PAGE: Final = Path(__file__).parents[1] / "docs" / "CONFIGURATION.md"

# The defaults of Apache Kafka 4.3 that are not Gralha's. A test compares all others with Kafka itself.
KAFKA_DEFAULTS: Final = {
    "group.coordinator.rebalance.protocols": "classic,consumer,streams",
    "max.connections": "2147483647",
    "max.connections.per.ip": "2147483647",
    "metric.reporters": "org.apache.kafka.common.metrics.JmxReporter",
}
# What differs from Kafka besides defaults, and is not in the meaning already.
DIFFERENCES: Final = {
    "listeners": "without this setting a node listens on localhost:9092 only, and listeners do not change "
    "while it runs.",
    "controller.listener.names": "it is needed only if there are other nodes.",
    "replica.selector.class": "the name loads no class.",
}
UNITS_MS: Final = {"day": 86_400_000, "hour": 3_600_000, "minute": 60_000, "second": 1000}
UNITS_BYTES: Final = {"GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10}
LARGEST: Final = {str(LONG_MAX), str(2**31 - 1)}

INTRODUCTION: Final = """\
# Configuration

`make generate` writes this page from the definitions in `src/gralha/metadata`. Do not edit it.

Names, types, defaults and limits are those of Apache Kafka 4.3. A setting that differs from Kafka says so.
Options of Spark are in [SPARK.md](SPARK.md), those of pipelines in [PIPELINES.md](PIPELINES.md).

## Where to set what

| place | counts for | how |
|---|---|---|
| file | one node | a line of `server.properties`, read at the start |
| command line | one node | `gralha server --override NAME=VALUE`; stronger than the file |
| broker | one broker, at once | `kafka-configs --entity-type brokers --entity-name 1` |
| all brokers | all brokers, at once | `kafka-configs --entity-type brokers --entity-default` |
| topic | one topic, at once | `kafka-configs --entity-type topics --entity-name sales` |
| group | one consumer group, at once | `kafka-configs --entity-type groups --entity-name readers` |

If a setting is set in several places, the first of these places wins: topic or group, broker, all brokers,
file, default. So a topic that has its own `retention.ms` ignores `log.retention.ms` of the broker. A new
topic gets its settings with `kafka-topics --create --config NAME=VALUE`.

A file for one node:

```properties
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://localhost:9092
log.dirs=/var/lib/gralha
offsets.topic.replication.factor=1
num.partitions=3
```

`gralha server --config server.properties` runs it. The node checks the whole file first, and names the line
and the allowed values of every mistake. It warns about unknown names and ignores them.

Settings that change while the brokers run:

```console
$ kafka-topics --bootstrap-server localhost:9092 --create --topic sales --config retention.ms=86400000
Created topic sales.

$ kafka-configs --bootstrap-server localhost:9092 --alter --entity-type topics --entity-name sales \\
      --add-config retention.ms=3600000,max.message.bytes=2000000
Completed updating config for topic sales.

$ kafka-configs --bootstrap-server localhost:9092 --describe --entity-type topics --entity-name sales
Dynamic configs for topic sales are:
  max.message.bytes=2000000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:max.message.bytes=2000000, \
DEFAULT_CONFIG:message.max.bytes=1048588}
  retention.ms=3600000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=3600000}

$ kafka-configs --bootstrap-server localhost:9092 --alter --entity-type topics --entity-name sales \\
      --add-config retention.ms=soon
Error while executing config command with args '...' : Invalid value soon for configuration retention.ms: \
Not a number of type LONG

$ kafka-configs --bootstrap-server localhost:9092 --alter --entity-type brokers --entity-default \\
      --add-config log.retention.ms=86400000
Completed updating default config for brokers in the cluster.
```

`--describe --all` shows every setting with its value and where the value comes from.
"""


def page() -> str:
    """The whole page."""
    parts = [INTRODUCTION, _up_section(), "## Topics\n", _table(TOPIC_CONFIGS.values(), "topic")]
    parts += ["## Groups\n", _table(GROUP_CONFIGS.values(), "group"), "## Brokers and controllers\n"]
    for title, text in BROKER_SECTIONS.items():
        keys = [BROKER_CONFIGS[name] for name in read_keys(text)]
        if any(key.has_effect for key in keys):
            parts += [f"### {title}\n", _table(keys, "broker")]
    return "\n".join([*parts, _without_effect_section(), _security_section()])


def _up_section() -> str:
    own = up_settings.single(Path("DATA"), "localhost", 9092)
    rows = [f"| `{name}` | `{value}` |" for name, value in own.items()]
    many = up_settings.replication(3, None)
    three = " and ".join(f"`{name}={value}`" for name, value in many.items())
    return "\n".join(
        [
            "## What `gralha up` sets\n",
            "`gralha up` needs no file. It sets this, and `--override NAME=VALUE` adds to it:\n",
            "| setting | value |",
            "|---|---|",
            *rows,
            f"\nWith `--brokers 3` the internal topics have three replicas, and new topics {three}.\n",
        ]
    )


def _table(keys: Iterable[ConfigKey], kind: str) -> str:
    rows = [_row(key, kind) for key in keys if key.has_effect and not key.internal]
    return "\n".join(
        ["| setting | meaning | type and values | default | set in |", "|---|---|---|---|---|", *rows, ""]
    )


def _row(key: ConfigKey, kind: str) -> str:
    meaning = key.documentation
    if key.name in KAFKA_DEFAULTS:
        meaning += f" **Unlike Kafka:** the default there is `{KAFKA_DEFAULTS[key.name]}`."
    if key.name in DIFFERENCES:
        meaning += f" **Unlike Kafka:** {DIFFERENCES[key.name]}"
    cells = [f"`{key.name}`", _escaped(meaning), _values(key), _default(key), _places(key, kind)]
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    return (
        text.replace("|", "\\|").replace("*", "\\*").replace("\\*\\*Unlike Kafka:\\*\\*", "**Unlike Kafka:**")
    )


def _values(key: ConfigKey) -> str:
    name = key.type.name.lower()
    if key.validator is None:
        return "true or false" if key.type is ConfigType.BOOLEAN else name
    allowed = _escaped(key.allowed)
    return allowed if allowed.startswith("a list") else f"{name}: {allowed}"


def _default(key: ConfigKey) -> str:
    if key.required:
        return "required"
    if key.default_text is None:
        return "not set"
    if not key.default_text:
        return "empty"
    words = _in_words(key)
    return f"`{key.default_text}`" + (f" ({words})" if words else "")


def _in_words(key: ConfigKey) -> str:
    """A number as a person says it: 604800000 ms is 7 days."""
    text = key.default_text or ""
    if text in LARGEST:
        return "no limit"
    if not text.isdigit() or int(text) == 0:
        return ""
    if key.name.endswith(".ms"):
        return next(
            (_counted(int(text), size, unit) for unit, size in UNITS_MS.items() if int(text) % size == 0), ""
        )
    if "bytes" in key.name or key.name.endswith(".buffer.size"):
        found = [f"{int(text) // size} {unit}" for unit, size in UNITS_BYTES.items() if int(text) % size == 0]
        return found[0] if found else ""
    return ""


def _counted(number: int, size: int, unit: str) -> str:
    return f"{number // size} {unit}{'' if number == size else 's'}"


def _places(key: ConfigKey, kind: str) -> str:
    if kind != "broker":
        from_broker = [name for name, _ in key.synonyms if name in BROKER_CONFIGS]
        return f"{kind}; broker's `{from_broker[0]}`" if from_broker else kind
    if key.update_mode is UpdateMode.CLUSTER_WIDE:
        return "file, broker, all brokers"
    return "file, broker" if key.update_mode is UpdateMode.PER_BROKER else "file"


def _without_effect_section() -> str:
    every = [*TOPIC_CONFIGS.values(), *GROUP_CONFIGS.values(), *BROKER_CONFIGS.values()]
    reasons = {
        key.name: key.documentation.removeprefix(WITHOUT_EFFECT).removeprefix(": ")
        for key in every
        if not key.has_effect
    }
    rows = [f"| `{name}` | {_escaped(reason)} |" for name, reason in sorted(reasons.items())]
    return "\n".join(
        [
            "## Accepted without effect\n",
            "These settings are checked and shown, so that a file for Kafka works unchanged. Nothing else",
            "happens.\n",
            "| setting | why |",
            "|---|---|",
            *rows,
            "",
        ]
    )


def _security_section() -> str:
    rows = [
        f"| `{name}{'*' if name.endswith('.') else ''}` | {what} |" for name, what in MISSING_SECURITY.items()
    ]
    return "\n".join(
        [
            "## Refused\n",
            "A node does not start with a setting that asks for security which this release does not have,",
            "because it would let everybody in:\n",
            "| setting | needs |",
            "|---|---|",
            *rows,
            "\nOther settings of Kafka (share groups, streams groups, tiered storage, plug-ins written in",
            "Java) are unknown names: the node starts, logs a warning and ignores them.",
            "",
        ]
    )


if __name__ == "__main__":
    PAGE.write_text(page())
