"""Apache Kafka's own command line tools, from its jars, against the broker.

A tool costs a second or two of Java's start, so there are few runs and each shows much.
"""

from __future__ import annotations

import re
import tempfile
import uuid
from pathlib import Path

import pytest

from gralha.testing import GralhaCluster
from tests.apache.kafka import ApacheKafka, run_tool
from tests.clients import access
from tests.clients.driver import Driver, Outgoing

Cluster = GralhaCluster | ApacheKafka


@pytest.fixture
def topic() -> str:
    return f"tools.{uuid.uuid4().hex[:8]}"


def tool(broker: Cluster, name: str, *arguments: str, stdin: str = "") -> str:
    where = ["--bootstrap-server", broker.bootstrap]
    settings = access.java(broker.bootstrap)
    if settings["security.protocol"] == "PLAINTEXT":
        return run_tool(name, *where, *arguments, stdin=stdin).stdout
    with tempfile.NamedTemporaryFile("w", suffix=".properties") as file:
        file.writelines(f"{setting}={value}\n" for setting, value in settings.items())
        file.flush()
        return run_tool(name, *where, "--command-config", file.name, *arguments, stdin=stdin).stdout


def test_topics_are_created_described_and_deleted(broker: Cluster, topic: str) -> None:
    made = tool(broker, "kafka-topics", "--create", "--topic", topic, "--partitions", "3")
    assert f"Created topic {topic}." in made
    described = tool(broker, "kafka-topics", "--describe", "--topic", topic)
    assert re.search(
        rf"Topic: {topic}\s+TopicId: \S{{22}}\s+PartitionCount: 3\s+ReplicationFactor: 1", described
    )
    for partition in range(3):
        assert re.search(rf"Partition: {partition}\s+Leader: 1\s+Replicas: 1\s+Isr: 1", described)
    tool(broker, "kafka-topics", "--delete", "--topic", topic)
    assert topic not in tool(broker, "kafka-topics", "--list").split()


def test_console_producer_and_consumer(broker: Cluster, reference: Driver, topic: str) -> None:
    reference.create_topic(topic)
    keyed = ["--reader-property", "parse.key=true", "--reader-property", "key.separator=:"]
    tool(broker, "kafka-console-producer", "--topic", topic, *keyed, stdin="a:um\nb:dois\n")
    assert [(m.key, m.value) for m in reference.consume(topic, 0, 0, 2)] == [(b"a", b"um"), (b"b", b"dois")]
    reading = ["--partition", "0", "--offset", "earliest", "--max-messages", "2"]
    printing = ["--formatter-property", "print.key=true", "--formatter-property", "key.separator=:"]
    read = tool(broker, "kafka-console-consumer", "--topic", topic, *reading, *printing)
    assert read.splitlines()[:2] == ["a:um", "b:dois"]


def test_offsets_and_deletion_of_records(
    broker: Cluster, reference: Driver, topic: str, tmp_path: Path
) -> None:
    reference.create_topic(topic, partitions=2)
    reference.produce(topic, [Outgoing(b"record")] * 5, partition=1)
    ends = tool(broker, "kafka-get-offsets", "--topic", topic)
    assert sorted(ends.split()) == [f"{topic}:0:0", f"{topic}:1:5"]
    order = tmp_path / "delete.json"
    order.write_text(f'{{"partitions": [{{"topic": "{topic}", "partition": 1, "offset": 3}}], "version": 1}}')
    deleted = tool(broker, "kafka-delete-records", "--offset-json-file", str(order))
    assert f"partition: {topic}-1\tlow_watermark: 3" in deleted
    assert reference.offsets(topic, 1) == (3, 5)


def test_configs_are_altered_and_described(broker: Cluster, reference: Driver, topic: str) -> None:
    reference.create_topic(topic)
    entity = ["--entity-type", "topics", "--entity-name", topic]
    tool(broker, "kafka-configs", *entity, "--alter", "--add-config", "retention.ms=1234567")
    described = tool(broker, "kafka-configs", *entity, "--describe")
    assert (
        "retention.ms=1234567 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=1234567"
        in described
    )


def test_log_dirs_and_api_versions(broker: Cluster, reference: Driver, topic: str) -> None:
    reference.create_topic(topic)
    reference.produce(topic, [Outgoing(b"x" * 1000)], partition=0)
    dirs = tool(broker, "kafka-log-dirs", "--describe", "--topic-list", topic)
    size_bytes = re.search(rf'"partition":"{topic}-0","size":(\d+)', dirs)
    assert size_bytes is not None
    assert 1000 < int(size_bytes[1]) < 1200
    versions = tool(broker, "kafka-broker-api-versions")
    assert re.search(
        r"Produce\(0\): 0 to \d+ \[usable: \d+\]|Produce\(0\): 3 to \d+ \[usable: \d+\]", versions
    )
    assert re.search(r"Fetch\(1\): 4 to \d+ \[usable: \d+\]", versions)


def test_dump_log_reads_what_the_broker_wrote(broker: Cluster, reference: Driver, topic: str) -> None:
    """Segments and indexes are in Kafka's format: its own tool reads and checks them."""
    reference.create_topic(topic, configs={"segment.bytes": "1048576", "index.interval.bytes": "1000"})
    records = [Outgoing(b"%d" % number * 100_000, b"key") for number in range(10)]
    for record in records:
        reference.produce(topic, [record], partition=0)
    reference.produce(topic, records, partition=0, idempotent=True, compression="lz4")
    for record in records[:5]:
        reference.produce(topic, [record], partition=0)
    folder = broker.data_folder() / f"{topic}-0"
    files = sorted(str(path) for path in folder.iterdir() if path.suffix in (".log", ".index", ".timeindex"))
    assert len([path for path in files if path.endswith(".log")]) == 2
    dumped = run_tool("kafka-dump-log", "--deep-iteration", "--files", ",".join(files))
    said = dumped.stdout + dumped.stderr
    assert not re.search(
        "mismatch|out of order|corrupt|isvalid: false|error|exception", said, re.IGNORECASE
    ), said
    # The tool also finds a gap before the first record of every later segment: "-1 is followed by ...".
    assert {before for before, _ in re.findall(r"(-?\d+) is followed by (\d+)", said)} <= {"-1"}, said
    offsets = re.findall(r"^\| offset: (\d+)", dumped.stdout, re.MULTILINE)
    assert [int(offset) for offset in offsets] == list(range(25))
