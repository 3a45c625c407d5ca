"""Starts a node with a listener whose meters do nothing: `silent_broker.py server --config FILE`."""

from __future__ import annotations

import sys

from gralha.broker import server
from gralha.broker.connection import ConnectionLimits, ConnectionSettings
from gralha.broker.login import LoginSettings
from gralha.broker.pipeline import Api
from gralha.broker.request_meters import RequestMeters
from gralha.broker.silent_meters import SilentMeters
from gralha.cli.main import main

SILENT_LISTENER = "SILENT"


class Settings(ConnectionSettings):
    def __init__(
        self,
        apis: dict[int, Api],
        listener: str,
        max_request_bytes: int,
        limits: ConnectionLimits,
        meters: RequestMeters,
        login: LoginSettings | None = None,
    ) -> None:
        if listener == SILENT_LISTENER:
            meters = SilentMeters(meters.clock)
        super().__init__(apis, listener, max_request_bytes, limits, meters, login)


if __name__ == "__main__":
    vars(server)["ConnectionSettings"] = Settings
    sys.exit(main(sys.argv[1:]))
