"""Broker configs of one listener: `listener.name.<listener>.<setting>`.

The listener's name is in lower case. Only settings of security and limits of connections may have the prefix.
A setting of SASL may have a mechanism in between.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from gralha.metadata.broker_configs import BROKER_CONFIGS
from gralha.metadata.config_types import ConfigKey

PREFIX: Final = "listener.name."
MAX_CONNECTIONS: Final = "max.connections"
MAX_CONNECTION_RATE: Final = "max.connection.creation.rate"


def without_listener(name: str) -> str:
    """The setting in `listener.name.<listener>.<setting>`. Other names stay as they are."""
    if not name.startswith(PREFIX):
        return name
    own_name = name.removeprefix(PREFIX).partition(".")[2]
    return "sasl." + own_name.partition(".sasl.")[2] if ".sasl." in own_name else own_name


def is_of_listener(name: str) -> bool:
    """Returns True if this is a setting of one listener, or of one mechanism of it."""
    return name.startswith(PREFIX) and without_listener(name) in BROKER_CONFIGS


def broker_config_key(name: str) -> ConfigKey | None:
    """The key of a broker config. Those of TLS and two limits may have the prefix of a listener."""
    key = BROKER_CONFIGS.get(name)
    if key is None and name.startswith(PREFIX):
        own_name = without_listener(name)
        has_prefix = own_name.startswith("ssl.") or own_name in (MAX_CONNECTIONS, MAX_CONNECTION_RATE)
        return BROKER_CONFIGS.get(own_name) if has_prefix else None
    return key


def listener_numbers(
    own_name: str, listeners: Iterable[str], text: Callable[[str], str | None]
) -> dict[str, int]:
    """The numbers of the listeners that have this setting with their prefix. `text` returns a setting."""
    found = ((one, text(f"{PREFIX}{one.lower()}.{own_name}")) for one in listeners)
    return {listener: int(number) for listener, number in found if number is not None}


def listener_texts(listener: str, texts: Mapping[str, str]) -> dict[str, str]:
    """The settings that count for a listener. Those with its prefix are stronger than those without."""
    prefix = f"{PREFIX}{listener.lower()}."
    own = {name.removeprefix(prefix): text for name, text in texts.items() if name.startswith(prefix)}
    return {**{name: text for name, text in texts.items() if not name.startswith(PREFIX)}, **own}
