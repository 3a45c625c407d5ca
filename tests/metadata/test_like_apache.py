"""Apache Kafka reads our metadata: with its dump tool, and as a broker that continues with our folder."""

import json
import re
from pathlib import Path
from random import Random

from tests.apache.kafka import ApacheKafka, run_tool
from tests.metadata.cluster import allocate_ids
from tests.metadata.test_service import Controller

from gralha.metadata.formatting import BOOTSTRAP_CHECKPOINT, prepare_folders
from gralha.storage.real_disk import RealDisk


def dump(paths: list[Path]) -> dict[Path, str]:
    """The tool's output for each file, with one start of Java for all."""
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
    await allocate_ids(controller, 1)
    for number in range(9):
        await controller.create(f"e{number}")
    await controller.close()
    # Without another snapshot, so that the last segment surely has these records.
    controller = await Controller(RealDisk(), folder=str(tmp_path)).join()
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
    assert "LeaderChange" in printed[logs[-1]]
    assert "REMOVE_TOPIC_RECORD" in kinds(printed[logs[-1]])


async def test_apache_kafka_goes_on_with_our_metadata_and_we_with_its(tmp_path):
    kafka = ApacheKafka()
    folder = str(kafka.data_folder())
    try:
        prepare_folders(RealDisk(), [folder], folder, 1, 1000, Random(1))
        controller = Controller(RealDisk(), folder=folder, max_record_bytes_between_snapshots=300)
        await controller.join()
        await controller.create("a", "b.c")
        await controller.configure("a", "retention.ms", "5000000")
        await controller.create("d")
        await controller.close()
        kafka.start()
        listed = run_tool("kafka-topics", "--bootstrap-server", kafka.bootstrap, "--describe").stdout
        assert re.search(r"Topic: a\s.*PartitionCount: 1\s.*Configs: .*retention.ms=5000000", listed)
        assert re.search(r"Topic: b\.c\s+Partition: 0\s+Leader: 1\s+Replicas: 1\s+Isr: 1", listed)
        kafka.kill()
        again = await Controller(RealDisk(), folder=folder).join()
        assert set(again.image.topics) == {"a", "b.c", "d"}
        assert again.image.topic_configs("a") == {"retention.ms": "5000000"}
        assert {one.leader for topic in again.image.topics.values() for one in topic.partitions.values()} == {
            1
        }
        assert again.epoch > controller.epoch + 1
        await again.close()
    finally:
        kafka.close()
