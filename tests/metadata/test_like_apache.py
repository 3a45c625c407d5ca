"""Apache Kafka's own kafka-dump-log reads the metadata log and its snapshots."""

import json
import re
from pathlib import Path
from random import Random

from tests.apache.kafka import run_tool
from tests.metadata.test_service import Controller

from gralha.metadata.formatting import BOOTSTRAP_CHECKPOINT, prepare_folders
from gralha.storage.disk import RealDisk


def dump(paths: list[Path]) -> dict[Path, str]:
    """What the tool prints for each file; one start of Java for all."""
    files = ",".join(map(str, paths))
    printed = run_tool("kafka-dump-log", "--cluster-metadata-decoder", "--files", files).stdout
    assert printed.count("isvalid: true") == printed.count("baseOffset:") > 0, printed
    parts = re.split(r"^Dumping (.*)$", printed, flags=re.MULTILINE)
    return dict(zip(map(Path, parts[1::2]), parts[2::2], strict=True))


def kinds(printed: str) -> set[str]:
    return {json.loads(payload)["type"] for payload in re.findall(r"payload: (\{.*\})", printed)}


async def test_kafka_dump_log_reads_log_snapshot_and_bootstrap(tmp_path):
    prepare_folders(RealDisk(), [str(tmp_path)], str(tmp_path), 1, 1000, Random(1))
    controller = Controller(RealDisk(), folder=str(tmp_path), max_record_bytes_between_snapshots=600)
    await controller.join()
    await controller.create("a", "b", "c.d")
    await controller.configure("a", "retention.ms", "5")
    await controller.allocate_producer_ids(1, controller.image.brokers[1].epoch)
    for number in range(9):
        await controller.create(f"e{number}")
    await controller.delete("b")
    await controller.close()
    folder = tmp_path / "__cluster_metadata-0"
    snapshot = sorted(folder.glob("*.checkpoint"))[-1]
    logs = [path for path in sorted(folder.glob("*.log")) if path.stat().st_size]
    bootstrap = tmp_path / BOOTSTRAP_CHECKPOINT
    printed = dump([snapshot, bootstrap, *logs])
    assert "SnapshotHeader" in printed[snapshot]
    assert "SnapshotFooter" in printed[snapshot]
    assert {
        "CONFIG_RECORD",
        "FEATURE_LEVEL_RECORD",
        "PARTITION_RECORD",
        "PRODUCER_IDS_RECORD",
        "REGISTER_BROKER_RECORD",
        "TOPIC_RECORD",
    } <= kinds(printed[snapshot])
    assert kinds(printed[bootstrap]) == {"FEATURE_LEVEL_RECORD"}
    assert "LeaderChange" in "".join(printed.values())
    assert "REMOVE_TOPIC_RECORD" in kinds(printed[logs[-1]])
