"""Apache Kafka's own Java client, by tests/clients/java/Driver.java."""

from __future__ import annotations

from tests.apache.kafka import DRIVER_CLASSES, java_command
from tests.clients.drivers.remote import RemoteDriver


class JavaDriver(RemoteDriver):
    NAME = "java"

    @classmethod
    def command(cls) -> list[str]:
        if not (DRIVER_CLASSES / "Driver.class").exists():
            raise RuntimeError(f"no Java driver in {DRIVER_CLASSES}; run scripts/setup_java")
        return java_command("Driver", classes=DRIVER_CLASSES)
