"""Hides the secrets of the metadata log from those who look into it.

Passwords can be guessed from the keys of SCRAM. Kafka's commands print these keys. Kafka's log hides them, in
the same words.
"""

from typing import TYPE_CHECKING, Final

from gralha.metadata.image import BROKER_RESOURCE
from gralha.metadata.listener_configs import broker_config_key

if TYPE_CHECKING:
    from gralha.protocol.message_json import Json

REDACTED: Final = "(redacted)"
_KEYS_OF_USERS: Final = ("salt", "storedKey", "serverKey")


def is_secret(resource_type: int, name: str) -> bool:
    """Returns True if the value of a config is a secret. An unknown config of a broker may be one."""
    if resource_type != BROKER_RESOURCE:
        return False
    key = broker_config_key(name)
    return key is None or key.sensitive


def without_secrets(record: "dict[str, Json]") -> "dict[str, Json]":
    """A record of the metadata log as JSON, without its secrets."""
    data = record["data"]
    assert isinstance(data, dict)
    if record["type"] == "USER_SCRAM_CREDENTIAL_RECORD":
        return {**record, "data": {**data, **dict.fromkeys(_KEYS_OF_USERS, REDACTED)}}
    if record["type"] == "CONFIG_RECORD":
        resource_type, name = data["resourceType"], data["name"]
        assert isinstance(resource_type, int)
        assert isinstance(name, str)
        if data["value"] is not None and is_secret(resource_type, name):
            return {**record, "data": {**data, "value": REDACTED}}
    return record
