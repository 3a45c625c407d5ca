"""What both performance tests share: the settings of their client, and the table of its metrics."""

import sys
from collections.abc import Mapping

from gralha.cli.suggestions import did_you_mean
from gralha.client.known_settings import KNOWN_SETTINGS
from gralha.client.settings import ClientSettings


def settings_of(properties: Mapping[str, str]) -> ClientSettings:
    """The settings in properties with Kafka's names. A name that Kafka's clients do not know is reported."""
    settings = ClientSettings.from_kafka(properties)
    for name in settings.unknown:
        meant = did_you_mean(name, KNOWN_SETTINGS)
        print(f"Ignoring the property {name}: Kafka's clients do not know it.{meant}", file=sys.stderr)
    return settings


def metrics_table(metrics: Mapping[str, float], group: str, client_id: str) -> str:
    """The metrics as Kafka's performance tests print them."""
    named = {f"{group}:{name}:{{client-id={client_id}}}": value for name, value in sorted(metrics.items())}
    width = max(map(len, named))
    lines = ["", f"{'Metric Name':<{width}}   Value"]
    lines += [f"{name:<{width}} : {value:.3f}" for name, value in named.items()]
    return "\n".join(lines)
