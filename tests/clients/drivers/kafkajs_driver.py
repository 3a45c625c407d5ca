"""kafkajs, by tests/clients/kafkajs/driver.js."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.clients.drivers.remote import RemoteDriver

FOLDER = Path(__file__).resolve().parents[1] / "kafkajs"


class KafkajsDriver(RemoteDriver):
    NAME = "kafkajs"
    CANNOT = {
        "null_headers": "its encoder refuses a header without a value",
        "no_offset_past_the_last_time": "it turns 'no such offset' into the end offset",
        "offset_of_the_newest_record": "it asks ListOffsets only by time, for earliest and for latest",
    }

    @classmethod
    def command(cls) -> list[str]:
        if shutil.which("node") is None:
            raise RuntimeError("node not found; run scripts/setup_system")
        if not (FOLDER / "node_modules" / ".stamp").exists():
            raise RuntimeError(f"no kafkajs in {FOLDER}; run scripts/setup_node")
        return ["node", str(FOLDER / "driver.js")]
