"""Reads the settings file of a controller, for the command that makes it a voter."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gralha.cli.program import CommandError

if TYPE_CHECKING:
    from gralha.client.quorum_values import VoterEndpoint

_LISTENER = re.compile(r"(?P<name>[^:]*)://\[?(?P<host>[0-9a-zA-Z\-%._:]*?)\]?:(?P<port>[0-9]+)")
_HINT = "Is this a valid controller configuration file?"


class ControllerFile:
    """A controller's id, the folder of its metadata log and the addresses of its controller listeners."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self.id = _node_id(properties)
        self.metadata_directory = _metadata_directory(properties)
        self.endpoints = _endpoints(properties)


def _node_id(properties: Mapping[str, str]) -> int:
    text = properties.get("node.id")
    if text is None:
        raise CommandError(f"node.id not found in configuration file. {_HINT}")
    try:
        node_id = int(text)
    except ValueError:
        raise CommandError(f"node.id is '{text}' in configuration file, not a number. {_HINT}") from None
    if node_id < 0:
        raise CommandError(f"node.id was negative in configuration file. {_HINT}")
    if "controller" not in properties.get("process.roles", ""):
        raise CommandError(f"process.roles did not contain 'controller' in configuration file. {_HINT}")
    return node_id


def _metadata_directory(properties: Mapping[str, str]) -> str:
    if "metadata.log.dir" in properties:
        return properties["metadata.log.dir"]
    if "log.dirs" in properties:
        return properties["log.dirs"].strip().split(",")[0]
    raise CommandError(f"Neither metadata.log.dir nor log.dirs were found. {_HINT}")


def _endpoints(properties: Mapping[str, str]) -> "list[VoterEndpoint]":
    from gralha.client.quorum_values import VoterEndpoint

    listeners: dict[str, VoterEndpoint] = {}
    # Advertised listeners override listeners of the same name.
    for setting in ("listeners", "advertised.listeners"):
        for text in filter(None, (part.strip() for part in properties.get(setting, "").split(","))):
            match = _LISTENER.fullmatch(text)
            if match is None:
                raise CommandError(f"Unable to parse {text} in {setting} to an endpoint. {_HINT}")
            name = match["name"].upper()
            listeners[name] = VoterEndpoint(name, match["host"] or "localhost", int(match["port"]))
    names = properties.get("controller.listener.names")
    if names is None:
        raise CommandError(f"controller.listener.names was not found. {_HINT}")
    endpoints = []
    for name in (part.strip().upper() for part in names.split(",")):
        if name not in listeners:
            raise CommandError(f"Cannot find information about controller listener name: {name}")
        endpoints.append(listeners[name])
    return endpoints
