"""A Gralha node follows a quorum of Apache Kafka, as an observer that knows only a bootstrap server."""

import asyncio
import time
from random import Random

from tests.apache.kafka import CLUSTER_ID, ApacheKafka, run_tool

from gralha.broker.peers import PeerConnections
from gralha.metadata.service import ControllerService
from gralha.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartition,
    DescribeQuorumRequestTopic,
    DescribeQuorumResponse,
)
from gralha.raft.driver import QuorumSettings
from gralha.storage.real_disk import RealDisk

DESCRIPTION = DescribeQuorumRequest(
    topics=[DescribeQuorumRequestTopic("__cluster_metadata", [DescribeQuorumRequestPartition(0)])]
)


def new_follower(folder, controllers, failures):
    quorum = QuorumSettings(
        7,
        [],
        folder,
        RealDisk(),
        lambda: int(time.time() * 1000),
        failures.append,
        directory_id=bytes(range(16)),
        peers=controllers,
        cluster_id=CLUSTER_ID,
        bootstrap=(-2,),
        can_vote=False,
    )
    return ControllerService(quorum, {}, [], Random(1))


async def test_our_node_follows_the_quorum_of_apache_kafka(tmp_path):
    with ApacheKafka({"metadata.log.max.record.bytes.between.snapshots": "1000"}) as kafka:
        controllers = PeerConnections("test", lambda node_id: ("127.0.0.1", kafka._controller_port))
        failures: list[BaseException] = []
        create = ("kafka-topics", "--bootstrap-server", kafka.bootstrap, "--create", "--topic")
        await asyncio.to_thread(run_tool, *create, "first", "--partitions", "9")
        # A node that is late gets a snapshot first.
        async with asyncio.timeout(20):
            while not [*kafka.data_folder().glob("__cluster_metadata-0/*[1-9]-*.checkpoint")]:
                await asyncio.sleep(0.1)
        follower = new_follower(str(tmp_path), controllers, failures)
        await follower.start()
        try:
            await asyncio.to_thread(run_tool, *create, "second")
            async with asyncio.timeout(20):
                while not {"first", "second"} <= follower.image.topics.keys():
                    await asyncio.sleep(0.02)
            assert (follower.leader_id, follower.is_active) == (1, False)
            assert follower.driver.log.snapshots
            described = await controllers.ask(-2, DESCRIPTION, timeout_ms=5000)
            assert isinstance(described, DescribeQuorumResponse)
            observers = described.topics[0].partitions[0].observers
            assert [(one.replica_id, one.replica_directory_id) for one in observers] == [
                (7, bytes(range(16)))
            ]
            assert failures == []
        finally:
            await follower.close()
            controllers.close()
