"""Broker configs of one listener: `listener.name.<listener>.<setting>`.

The listener's name is in lower case. Only settings of security may have the prefix. A setting of SASL may
have a mechanism in between.
"""

from collections.abc import Mapping
from typing import Final

from gralha.metadata.broker_configs import BROKER_CONFIGS
from gralha.metadata.config_types import ConfigKey

PREFIX: Final = "listener.name."


def without_listener(name: str) -> str:
    """The setting in `listener.name.<listener>.<setting>`. Other names stay as they are."""
    if not name.startswith(PREFIX):
        return name
    own_name = name.removeprefix(PREFIX).partition(".")[2]
    return "sasl." + own_name.partition(".sasl.")[2] if ".sasl." in own_name else own_name


def broker_config_key(name: str) -> ConfigKey | None:
    """The key of a broker config. Those of TLS may have the prefix of a listener."""
    key = BROKER_CONFIGS.get(name)
    if key is None and name.startswith(PREFIX):
        own_name = without_listener(name)
        return BROKER_CONFIGS.get(own_name) if own_name.startswith("ssl.") else None
    return key


def listener_texts(listener: str, texts: Mapping[str, str]) -> dict[str, str]:
    """The settings that count for a listener. Those with its prefix are stronger than those without."""
    prefix = f"{PREFIX}{listener.lower()}."
    own = {name.removeprefix(prefix): text for name, text in texts.items() if name.startswith(prefix)}
    return {**{name: text for name, text in texts.items() if not name.startswith(PREFIX)}, **own}
