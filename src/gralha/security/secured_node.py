"""The settings that secure a node: TLS, logins, and who may do everything.

The listener for clients has the name of its protocol, and brokers use it to reach each other. Brokers log in
to each other with SCRAM and to controllers with PLAIN, because controllers know the users of SCRAM only after
they have elected a leader. Where certificates take the place of logins, the common name is the user.
"""

from pathlib import Path
from typing import Final

from gralha.security.client_access import MECHANISM

AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
# The nodes log in as `node`, and people as `admin`.
NODE, ADMIN = "node", "admin"
_MODULES: Final = "org.apache.kafka.common.security"


def secured_node(
    protocol: str, node_password: str, key_file: Path | None, authority_file: Path | None
) -> dict[str, str]:
    """The lines of server.properties, apart from the listeners. The files are None without TLS."""
    settings = {
        "listener.security.protocol.map": f"{protocol}:{protocol},CONTROLLER:{protocol}",
        "security.inter.broker.protocol": protocol,
        "authorizer.class.name": AUTHORIZER,
        "super.users": f"User:{NODE};User:{ADMIN}",
    }
    if key_file is not None:
        settings["ssl.keystore.type"] = "PEM"
        settings["ssl.keystore.location"] = str(key_file)
    if authority_file is not None:
        settings["ssl.truststore.type"] = "PEM"
        settings["ssl.truststore.location"] = str(authority_file)
    if protocol == "SSL":
        settings["ssl.client.auth"] = "required"
        settings["ssl.principal.mapping.rules"] = "RULE:^CN=([^,]+)$/$1/,DEFAULT"
    else:
        settings |= _logins(protocol, node_password)
    return settings


def _logins(protocol: str, password: str) -> dict[str, str]:
    of_brokers = f'{_MODULES}.scram.ScramLoginModule required username="{NODE}" password="{password}";'
    of_controllers = (
        f'{_MODULES}.plain.PlainLoginModule required username="{NODE}" password="{password}" '
        f'user_{NODE}="{password}";'
    )
    return {
        "sasl.enabled.mechanisms": MECHANISM,
        "sasl.mechanism.inter.broker.protocol": MECHANISM,
        f"listener.name.{protocol.lower()}.{MECHANISM.lower()}.sasl.jaas.config": of_brokers,
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.controller.plain.sasl.jaas.config": of_controllers,
    }
