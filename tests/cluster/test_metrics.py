"""The metrics of a real broker under real load: Kafka's names with Kafka's meaning, over real HTTP."""

import json
import re
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.scrape import METRICS_ON, Nodes, Scrape, metrics_port, scrape
from tests.separate_roles import BROKER, CONTROLLER, SeparateRoles

from gralha.testing import GralhaCluster

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 60.0
RECORDS = 600
PARTITIONS = 3
COMMITTED = 100


@pytest.fixture(scope="module")
def cluster() -> Iterator[GralhaCluster]:
    with GralhaCluster(config=METRICS_ON) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def admin(cluster: GralhaCluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap})


@pytest.fixture(scope="module")
def loaded(cluster: GralhaCluster, admin: AdminClient) -> Scrape:
    """The metrics after a topic was written, read by a group, and partly committed."""
    admin.create_topics([NewTopic("orders", PARTITIONS, 1)])["orders"].result(TIMEOUT_S)
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    for number in range(RECORDS):
        producer.produce("orders", b"x" * 100, partition=number % PARTITIONS)
    assert producer.flush(TIMEOUT_S) == 0
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "readers",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe(["orders"])
    read = 0
    while read < RECORDS:
        read += len(consumer.consume(RECORDS, TIMEOUT_S))
    consumer.commit(offsets=[TopicPartition("orders", 0, COMMITTED)], asynchronous=False)
    found = scrape(cluster)
    consumer.close()
    return found


def wait_for(cluster: Nodes, node_id: int, is_true: Callable[[Scrape], bool]) -> Scrape:
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        found = scrape(cluster, node_id)
        if is_true(found):
            return found
        assert time.monotonic() < deadline, found.text
        time.sleep(0.05)


def test_the_traffic_of_a_topic_and_of_the_broker(loaded: Scrape) -> None:
    prefix = "kafka_server_brokertopicmetrics"
    assert loaded.value(f"{prefix}_messagesin_total", topic="orders") == RECORDS
    bytes_in = loaded.value(f"{prefix}_bytesin_total", topic="orders")
    assert bytes_in > RECORDS * 100
    assert bytes_in == loaded.sum("kafka_log_log_size", topic="orders")
    assert loaded.value(f"{prefix}_bytesout_total", topic="orders") >= bytes_in
    # The broker's own records count as well: those of the groups.
    assert loaded.value(f"{prefix}_bytesin_total") == bytes_in + loaded.value(
        f"{prefix}_bytesin_total", topic="__consumer_offsets"
    )
    assert loaded.value(f"{prefix}_failedproducerequests_total") == 0
    assert loaded.value(f"{prefix}_failedfetchrequests_total") == 0


def test_the_offsets_of_logs_and_the_lag_of_a_group(loaded: Scrape) -> None:
    end = RECORDS // PARTITIONS
    for index in map(str, range(PARTITIONS)):
        assert loaded.value("kafka_log_log_logendoffset", topic="orders", partition=index) == end
        assert loaded.value("kafka_log_log_logstartoffset", topic="orders", partition=index) == 0
        assert loaded.value("gralha_log_high_watermark", topic="orders", partition=index) == end
    committed = {"consumergroup": "readers", "topic": "orders", "partition": "0"}
    assert loaded.value("kafka_consumergroup_current_offset", **committed) == COMMITTED
    assert loaded.value("kafka_consumergroup_lag", **committed) == end - COMMITTED
    assert loaded.value("kafka_consumergroup_members", consumergroup="readers") == 1
    assert loaded.value("kafka_coordinator_group_groupmetadatamanager_numgroups") == 1
    assert loaded.value("kafka_coordinator_group_groupmetadatamanager_numgroupsstable") == 1
    assert loaded.value("kafka_coordinator_group_groupmetadatamanager_numoffsets") == 1


def test_requests_have_counts_times_and_errors(loaded: Scrape) -> None:
    prefix = "kafka_network_requestmetrics"
    for request in ("Produce", "OffsetCommit", "JoinGroup"):
        count = loaded.sum(f"{prefix}_requests_total", request=request)
        assert count >= 1
        assert loaded.value(f"{prefix}_totaltimems_count", request=request) == count
        assert loaded.value(f"{prefix}_requestqueuetimems_count", request=request) == count
        assert loaded.value(f"{prefix}_totaltimems_bucket", request=request, le="+Inf") == count
        assert loaded.value(f"{prefix}_totaltimems_sum", request=request) > 0
        assert loaded.value(f"{prefix}_requestbytes_total", request=request) > 0
    # librdkafka joins twice: the first answer gives it its member id (KIP-394).
    assert loaded.value(f"{prefix}_errors_total", request="JoinGroup", error="MEMBER_ID_REQUIRED") == 1
    fetches = loaded.sum(f"{prefix}_requests_total", request="FetchConsumer")
    assert fetches == loaded.sum(f"{prefix}_requests_total", request="Fetch")


def test_refused_records_are_counted(cluster: GralhaCluster, admin: AdminClient) -> None:
    topic = NewTopic("small", 1, 1, config={"max.message.bytes": "1000"})
    admin.create_topics([topic])["small"].result(TIMEOUT_S)
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    refused: list[object] = []
    producer.produce("small", b"x" * 5000, on_delivery=lambda error, _: refused.append(error))
    assert producer.flush(TIMEOUT_S) == 0
    assert [str(error) for error in refused if error] != []
    found = scrape(cluster)
    prefix = "kafka_server_brokertopicmetrics"
    assert found.value(f"{prefix}_bytesrejected_total", topic="small") > 5000
    assert found.value(f"{prefix}_totalproducerequests_total", topic="small") >= 1
    assert found.value(f"{prefix}_messagesin_total", topic="small") == 0
    errors = {"request": "Produce", "error": "MESSAGE_TOO_LARGE"}
    assert found.value("kafka_network_requestmetrics_errors_total", **errors) >= 1


def test_an_error_of_an_admin_request_is_counted_by_its_name(
    cluster: GralhaCluster, admin: AdminClient
) -> None:
    with pytest.raises(KafkaException):
        admin.delete_topics(["nowhere"])["nowhere"].result(TIMEOUT_S)
    labels = {"request": "DeleteTopics", "error": "UNKNOWN_TOPIC_OR_PARTITION"}
    assert scrape(cluster).value("kafka_network_requestmetrics_errors_total", **labels) == 1


def test_a_deleted_topic_has_no_metrics_and_the_totals_stay(
    cluster: GralhaCluster, admin: AdminClient, loaded: Scrape
) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    producer.produce("passing", b"x")
    assert producer.flush(TIMEOUT_S) == 0
    name = "kafka_server_brokertopicmetrics_messagesin_total"
    before = scrape(cluster)
    assert before.value(name, topic="passing") == 1
    admin.delete_topics(["passing"])["passing"].result(TIMEOUT_S)
    after = scrape(cluster)
    assert 'topic="passing"' not in after.text
    assert after.value(name) >= before.value(name) > loaded.value(name)


def test_a_consumer_that_waits_is_in_the_purgatory(cluster: GralhaCluster, loaded: Scrape) -> None:
    assert loaded.value("kafka_server_replicamanager_partitioncount") >= PARTITIONS
    end = RECORDS // PARTITIONS
    consumer = Consumer(
        {"bootstrap.servers": cluster.bootstrap, "group.id": "waiting", "fetch.wait.max.ms": 30_000}
    )
    consumer.assign([TopicPartition("orders", 0, end)])
    name = "kafka_server_delayedoperationpurgatory_purgatorysize"
    consumer.poll(0)
    waiting = wait_for(cluster, 1, lambda found: found.value(name, delayedOperation="Fetch") == 1)
    assert waiting.value("gralha_waiting_requests", request="Fetch") == 1
    assert waiting.value(name, delayedOperation="Produce") == 0
    consumer.close()


def test_the_node_the_process_and_the_quorum(loaded: Scrape) -> None:
    assert loaded.sum("gralha_node_info", node_id="1", roles="broker,controller") == 1
    assert loaded.value("process_cpu_seconds_total") > 0
    assert loaded.value("process_resident_memory_bytes") > 10_000_000
    assert 10 < loaded.value("process_open_fds") < loaded.value("process_max_fds")
    assert abs(loaded.value("process_start_time_seconds") - time.time()) < 3600
    assert loaded.value("gralha_event_loop_delay_seconds_count") > 0
    assert loaded.sum("kafka_server_socket_server_metrics_connection_count", listener="PLAINTEXT") >= 2
    assert loaded.value("kafka_controller_kafkacontroller_activecontrollercount") == 1
    assert loaded.value("kafka_controller_kafkacontroller_activebrokercount") == 1
    assert loaded.value("kafka_controller_kafkacontroller_offlinepartitionscount") == 0
    assert loaded.value("kafka_server_raft_metrics_current_leader") == 1
    assert loaded.value("kafka_server_raft_metrics_current_state_info", state="leader") == 1
    assert loaded.value("kafka_server_raft_metrics_number_of_voters") == 1


def test_a_quiet_broker_serves_no_requests_for_its_metrics(cluster: GralhaCluster) -> None:
    with GralhaCluster(config=METRICS_ON) as quiet:
        name = "kafka_network_requestmetrics_requests_total"
        first, second = scrape(quiet), scrape(quiet)
        assert {key: value for key, value in first.samples.items() if key[0] == name} == {
            key: value for key, value in second.samples.items() if key[0] == name
        }
        assert first.families() == second.families() == scrape(cluster).families()


def test_a_node_that_is_only_a_controller_counts_partitions_without_a_leader(tmp_path: Path) -> None:
    with SeparateRoles(tmp_path, METRICS_ON) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.broker})
        admin.create_topics([NewTopic("orders", PARTITIONS, 1)])["orders"].result(TIMEOUT_S)
        prefix = "kafka_controller_kafkacontroller"
        healthy = scrape(cluster, CONTROLLER)
        assert healthy.sum("gralha_node_info", node_id=str(CONTROLLER), roles="controller") == 1
        assert healthy.value(f"{prefix}_globalpartitioncount") == PARTITIONS
        assert healthy.value(f"{prefix}_offlinepartitionscount") == 0
        cluster.process(BROKER).kill()
        lost = wait_for(
            cluster, CONTROLLER, lambda found: found.value(f"{prefix}_offlinepartitionscount") == PARTITIONS
        )
        assert lost.value(f"{prefix}_activebrokercount") == 0
        assert lost.value(f"{prefix}_fencedbrokercount") == 1
        assert lost.value(f"{prefix}_activecontrollercount") == 1
        # It has no partitions of its own.
        assert "kafka_cluster_partition_replicascount{" not in lost.text


# What the documentation and the dashboard promise


def test_the_docs_have_every_metric_with_its_type(cluster: GralhaCluster, loaded: Scrape) -> None:
    text = (ROOT / "docs" / "METRICS.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|", text, re.MULTILINE)
    assert len(rows) == len(dict(rows))
    assert dict(rows) == loaded.families()


def test_every_metric_of_the_dashboard_exists(loaded: Scrape) -> None:
    dashboard = json.loads((ROOT / "examples" / "grafana" / "gralha.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    assert len(queries) >= 15
    served = set(loaded.families())
    for base, kind in loaded.families().items():
        if kind == "histogram":
            served |= {f"{base}_bucket", f"{base}_sum", f"{base}_count"}
    for query in queries:
        named = set(re.findall(r"\b(?:kafka|gralha|process)_\w+", query))
        assert named, query
        assert named <= served, query


# HTTP


def exchange(port: int, data: bytes) -> bytes:
    """Everything that the broker answers to some bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as answer:
            return answer.read()


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\x00\x00\x00\x08nonsense\r\n\r\n", b"400 Bad Request"),
        (b"GET /metrics HTTP/1.1\r\nHost: ", b"400 Bad Request"),
        (
            b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 10_000 + b"\r\n\r\n",
            b"431 Request Header Fields Too Large",
        ),
        (b"POST /metrics HTTP/1.1\r\n\r\n", b"405 Method Not Allowed"),
        (b"GET /config HTTP/1.1\r\n\r\n", b"404 Not Found"),
    ],
)
def test_bad_requests_get_an_answer(cluster: GralhaCluster, data: bytes, status: bytes) -> None:
    assert exchange(metrics_port(cluster), data).startswith(b"HTTP/1.1 " + status + b"\r\n")


def test_old_clients_get_no_chunks_and_head_no_body(cluster: GralhaCluster) -> None:
    port = metrics_port(cluster)
    head, _, body = exchange(port, b"GET /metrics HTTP/1.0\r\n\r\n").partition(b"\r\n\r\n")
    assert b"chunked" not in head
    assert body.startswith(b"# HELP ")
    head, _, body = exchange(port, b"HEAD /metrics HTTP/1.1\r\n\r\n").partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK")
    assert body == b""


def test_too_many_connections_are_told_so_and_a_client_that_leaves_does_no_harm(
    cluster: GralhaCluster,
) -> None:
    port = metrics_port(cluster)
    silent = [socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S) for _ in range(8)]
    try:
        assert exchange(port, b"GET /metrics HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 503 ")
    finally:
        for one in silent:
            one.close()
    deadline = time.monotonic() + TIMEOUT_S
    while not exchange(port, b"GET /metrics HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 200 OK\r\n"):
        assert time.monotonic() < deadline  # the broker has not seen all eight leave yet
    assert scrape(cluster).sum("gralha_node_info") == 1


# Several brokers


def test_a_killed_follower_shows_and_a_restarted_one_too() -> None:
    with GralhaCluster(brokers=3, config=METRICS_ON) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        topic = NewTopic("kept", 2, 3, config={"min.insync.replicas": "2"})
        admin.create_topics([topic])["kept"].result(TIMEOUT_S)
        leader = admin.list_topics("kept", TIMEOUT_S).topics["kept"].partitions[0].leader
        follower, other = [node_id for node_id in cluster.node_ids if node_id != leader]
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "log_level": 0})
        producer.produce("kept", b"x" * 1000, partition=0)
        assert producer.flush(TIMEOUT_S) == 0
        healthy = wait_for(cluster, leader, lambda found: found.value(UNDER_REPLICATED) == 0)
        assert healthy.sum("kafka_cluster_partition_insyncreplicascount", topic="kept", partition="0") == 3
        bytes_out = healthy.value("kafka_server_brokertopicmetrics_replicationbytesout_total")
        assert bytes_out >= 2000
        assert (
            scrape(cluster, other).value("kafka_server_brokertopicmetrics_replicationbytesin_total") >= 1000
        )
        active = [
            scrape(cluster, node_id).value("kafka_controller_kafkacontroller_activecontrollercount")
            for node_id in cluster.node_ids
        ]
        assert sorted(active) == [0, 0, 1]

        cluster.kill(follower)
        hurt = wait_for(cluster, leader, lambda found: found.value(UNDER_REPLICATED) >= 1)
        assert hurt.value("kafka_cluster_partition_underreplicated", topic="kept", partition="0") == 1
        assert hurt.value("kafka_cluster_partition_underminisr", topic="kept", partition="0") == 0
        assert hurt.value("kafka_cluster_partition_atminisr", topic="kept", partition="0") == 1
        assert hurt.value("kafka_server_replicamanager_isrshrinks_total") >= 1
        assert hurt.value("kafka_controller_kafkacontroller_activebrokercount") == 2
        assert hurt.value("kafka_controller_kafkacontroller_fencedbrokercount") == 1
        assert hurt.value("kafka_server_raft_metrics_number_of_voters") == 3

        cluster.start()
        mended = wait_for(cluster, leader, lambda found: found.value(UNDER_REPLICATED) == 0)
        assert mended.value("kafka_server_replicamanager_isrexpands_total") >= 1
        assert mended.value("kafka_controller_kafkacontroller_fencedbrokercount") == 0


UNDER_REPLICATED = "kafka_server_replicamanager_underreplicatedpartitions"
