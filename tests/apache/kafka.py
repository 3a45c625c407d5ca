"""Apache Kafka 4.3 beside Gralha: a broker with the face of `GralhaCluster`, and its own tools.

The jars come from Maven Central by `scripts/setup_java`. `scripts/keep_classes` keeps Kafka's loaded classes
in an archive, from which broker and tools start in half the time. With `BROKER_FLAGS` the broker runs as
Kafka's start script would run it with a heap of 1 GB. `format()` writes the empty data folder's identity
beforehand, as `kafka-storage format` demands.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from gralha.testing.process import ServerProcess, StartError, free_ports

REPOSITORY = Path(__file__).resolve().parents[2]
JARS = REPOSITORY / "build" / "apache-kafka" / "libs"
DRIVER_CLASSES = REPOSITORY / "build" / "java-driver"
ARCHIVE = REPOSITORY / "build" / "apache-kafka" / "classes.jsa"
LOG_CONFIG = Path(__file__).with_name("log4j2.properties")
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"

BROKER_FLAGS = [
    "-Xms1G",
    "-Xmx1G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
]
# A test's broker and a tool live for seconds: the quick compiler and a small collector start them soonest.
QUICK_FLAGS = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]
KEPT_CLASSES = [f"-XX:SharedArchiveFile={ARCHIVE}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]
QUICK_BROKER_FLAGS = ["-Xmx1G", *QUICK_FLAGS, *KEPT_CLASSES]
TOOL_FLAGS = ["-Xmx256M", *QUICK_FLAGS, *KEPT_CLASSES]

TOOLS = {
    "kafka-storage": "kafka.tools.StorageTool",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-acls": "org.apache.kafka.tools.AclCommand",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-producer-perf-test": "org.apache.kafka.tools.ProducerPerformance",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-groups": "org.apache.kafka.tools.GroupsCommand",
    "kafka-delegation-tokens": "org.apache.kafka.tools.DelegationTokenCommand",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-cluster": "org.apache.kafka.tools.ClusterTool",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "kafka-consumer-perf-test": "org.apache.kafka.tools.ConsumerPerformance",
    "kafka-e2e-latency": "org.apache.kafka.tools.EndToEndLatency",
    "kafka-metadata-shell": "org.apache.kafka.shell.MetadataShell",
    "kafka-streams-application-reset": "org.apache.kafka.tools.StreamsResetter",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
    "kafka-verifiable-consumer": "org.apache.kafka.tools.VerifiableConsumer",
    "kafka-verifiable-producer": "org.apache.kafka.tools.VerifiableProducer",
}


def java_command(
    main_class: str, flags: Sequence[str] = TOOL_FLAGS, classes: Path | None = None
) -> list[str]:
    """The command that runs a class of Apache Kafka's jars, or one of `classes` that uses them."""
    missing = [what for what in ("java", "javac", "mvn") if shutil.which(what) is None]
    if missing:
        raise RuntimeError(f"{', '.join(missing)} not found; run scripts/setup_system")
    if not (JARS / ".stamp").exists():
        raise RuntimeError(f"no Apache Kafka in {JARS}; run scripts/setup_java")
    # Kafka's first: the archive counts where the class path begins as it did when the archive was made.
    class_path = f"{JARS}/*" if classes is None else f"{JARS}/*:{classes}"
    return ["java", *flags, f"-Dlog4j2.configurationFile={LOG_CONFIG}", "-cp", class_path, main_class]


def run_tool(
    tool: str, *arguments: str, stdin: str = "", timeout_s: float = 60.0, check: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run one of Apache Kafka's own commands (a key of TOOLS) to its end; a failure shows its output."""
    command = [*java_command(TOOLS[tool]), *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=timeout_s)
    if check and done.returncode != 0:
        raise RuntimeError(
            f"{tool} {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        )
    return done


class ApacheKafka:
    """One Apache Kafka node, broker and controller at once, on free loopback ports."""

    def __init__(
        self, config: Mapping[str, str] | None = None, flags: Sequence[str] = QUICK_BROKER_FLAGS
    ) -> None:
        self._flags = flags
        self.folder = Path(tempfile.mkdtemp(prefix="apache-kafka-"))
        self.port, self._controller_port = free_ports(2)
        self._properties = self.folder / "server.properties"
        self._process: ServerProcess | None = None
        self.configure(config or {})

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def node_ids(self) -> list[int]:
        return [1]

    def process(self, node_id: int = 1) -> ServerProcess:
        if self._process is None or node_id != 1:
            raise KeyError(node_id)
        return self._process

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.alive

    def data_folder(self, node_id: int = 1) -> Path:
        return self.folder / "data"

    @property
    def controller_address(self) -> str:
        return f"127.0.0.1:{self._controller_port}"

    def configure(self, config: Mapping[str, str]) -> None:
        """Lines that are added to its server.properties or replace some there; before it starts."""
        lines = {**self._node_config(), **config}
        self._properties.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))

    def format(self) -> None:
        """Write meta.properties and the first snapshot, unless that has been done."""
        if not (self.data_folder() / "meta.properties").exists():
            run_tool("kafka-storage", "format", "-t", CLUSTER_ID, "-c", str(self._properties))

    def spawn(self) -> None:
        """Start the process and return without waiting for it."""
        command = [*java_command("kafka.Kafka", self._flags), str(self._properties)]
        self._process = ServerProcess(command, self.folder / "server.log")

    def start(self, timeout_s: float = 60.0) -> Self:
        self.format()
        try:
            self.spawn()
            self.process().wait_ready(self.port, timeout_s=timeout_s)
        except StartError:
            self.kill()
            raise
        return self

    def stop(self) -> None:
        if self._process is not None:
            self._process.stop()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()

    def restart(self, timeout_s: float = 60.0) -> None:
        self.stop()
        self.start(timeout_s)

    def close(self) -> None:
        # Its data goes with it, so there is nothing for a slow clean shutdown to save.
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _node_config(self) -> dict[str, str]:
        client_listener = f"PLAINTEXT://127.0.0.1:{self.port}"
        controller = self.controller_address
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{controller}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"{client_listener},CONTROLLER://{controller}",
            "advertised.listeners": client_listener,
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(self.data_folder()),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
        }
