"""Three brokers with many open files that are all told to stop at once."""

import os
import signal
import socket
import subprocess
import time

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from gralha.broker.node import CONTROLLED_SHUTDOWN_S
from gralha.testing import GralhaCluster
from gralha.testing.process import ServerProcess

TIMEOUT_S = 120.0
PARTITIONS = 450
LONG_SESSION = {"broker.session.timeout.ms": "600000"}


def write_to_all(cluster: GralhaCluster, topic: str) -> None:
    """Create a topic and write a record to each of its partitions, so that all replicas open their files."""
    client = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    client.create_topics([NewTopic(topic, PARTITIONS, 3)], request_timeout=TIMEOUT_S)[topic].result(TIMEOUT_S)
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "log_level": 0})
    for partition in range(PARTITIONS):
        producer.produce(topic, b"record", partition=partition)
    assert producer.flush(TIMEOUT_S) == 0


def open_files(process: ServerProcess) -> int:
    return len(os.listdir(f"/proc/{process.pid}/fd"))


def serves(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), TIMEOUT_S).close()
    except OSError:
        return False
    return True


def ends_well(process: ServerProcess) -> bool:
    try:
        return process._popen.wait(TIMEOUT_S) == 0
    except subprocess.TimeoutExpired:
        return False


def stop(cluster: GralhaCluster, *node_ids: int) -> None:
    """Tell brokers to stop. Each must close its listener in less time than a controlled shutdown may take."""
    processes = {node_id: cluster.process(node_id) for node_id in node_ids}
    deadline = time.monotonic() + CONTROLLED_SHUTDOWN_S
    for process in processes.values():
        os.kill(process.pid, signal.SIGTERM)
    waiting = list(node_ids)
    while waiting:
        waiting = [node_id for node_id in waiting if serves(cluster.ports[node_id])]
        assert time.monotonic() < deadline, f"brokers {waiting} wait for brokers that have stopped"
        time.sleep(0.02)
    for node_id, process in processes.items():
        assert ends_well(process), process.log_tail()
        assert (cluster.data_folder(node_id) / ".kafka_cleanshutdown").exists()


def test_brokers_that_stop_together_do_not_wait_for_each_other() -> None:
    """A broker closes its listener when others lead its partitions, or when nobody is left to lead them.

    The session timeout is long, so a broker that waited for a stopped one would wait for the whole time of a
    controlled shutdown. How long the brokers sync their files after that is the disk's affair.
    """
    with GralhaCluster(brokers=3, config=LONG_SESSION) as cluster:
        write_to_all(cluster, "wide")
        assert all(open_files(cluster.process(node_id)) > PARTITIONS for node_id in cluster.node_ids)
        stop(cluster, *cluster.node_ids)


def test_the_last_broker_does_not_wait_for_those_that_have_stopped() -> None:
    with GralhaCluster(brokers=3, config=LONG_SESSION) as cluster:
        stop(cluster, 1, 2)
        stop(cluster, 3)
