"""Adds what was probably meant to a broker's answer about a setting of a topic."""

import re
from typing import Final

_UNKNOWN: Final = re.compile(r"Unknown topic config name: (\S+)$")
_NO_NUMBER: Final = re.compile(r"Invalid value (.*) for configuration (\S+): Not a number of type \w+$")


def with_advice(message: str) -> str:
    """The broker's message, with the name or the number that was probably meant."""
    from gralha.cli.suggestions import did_you_mean
    from gralha.metadata.topic_configs import TOPIC_CONFIGS
    from gralha.metadata.units import advice

    if unknown := _UNKNOWN.search(message):
        meant = did_you_mean(unknown[1], TOPIC_CONFIGS)
    elif wrong := _NO_NUMBER.search(message):
        meant = advice(wrong[2], wrong[1])
    else:
        return message
    return f"{message}.{meant}" if meant else message
