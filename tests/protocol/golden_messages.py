"""Messages with the bytes that Apache Kafka 4.3 makes of them, among them records of the metadata log.

The bytes were compared with those that Kafka's own classes write, built from the same values.
"""

from gralha.protocol.message import Message
from gralha.protocol.messages.broker_records import (
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    ControllerEndpoint,
    ControllerFeature,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from gralha.protocol.messages.cluster_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    NoOpRecord,
    ProducerIdsRecord,
)
from gralha.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from gralha.protocol.messages.header import RequestHeader, ResponseHeader
from gralha.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from gralha.protocol.messages.produce import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from gralha.protocol.messages.raft_records import (
    Endpoint,
    KRaftVersionFeature,
    KRaftVersionRecord,
    LeaderChangeMessage,
    LeaderChangeVoter,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    Voter,
    VotersRecord,
)
from gralha.protocol.messages.topic_records import (
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)

ID = bytes(range(16))
OTHER_ID = bytes(range(16, 32))

BROKER = RegisterBrokerRecord(
    broker_id=1,
    incarnation_id=ID,
    broker_epoch=7,
    end_points=[BrokerEndpoint("PLAINTEXT", "localhost", 9092, 0)],
    features=[BrokerFeature("metadata.version", 7, 29)],
    rack=None,
    fenced=True,
)
PARTITION = PartitionRecord(
    partition_id=2,
    topic_id=ID,
    replicas=[1, 2, 3],
    isr=[1, 2],
    leader=1,
    leader_epoch=4,
    partition_epoch=5,
)
ASSIGNED_PARTITION = PartitionRecord(
    partition_id=0,
    topic_id=ID,
    replicas=[1],
    isr=[1],
    removing_replicas=[3],
    adding_replicas=[4],
    leader=-1,
    leader_recovery_state=1,
    leader_epoch=0,
    partition_epoch=0,
    directories=[OTHER_ID],
    eligible_leader_replicas=[1],
    last_known_elr=[],
)
LOCATED_BROKER = RegisterBrokerRecord(
    broker_id=1,
    incarnation_id=ID,
    broker_epoch=7,
    rack="r1",
    fenced=False,
    in_controlled_shutdown=True,
    log_dirs=[OTHER_ID],
    cordoned_log_dirs=[OTHER_ID],
)
CONTROLLER = RegisterControllerRecord(
    controller_id=3000,
    incarnation_id=ID,
    end_points=[ControllerEndpoint("CONTROLLER", "localhost", 65535, 0)],
    features=[ControllerFeature("kraft.version", 0, 1)],
)
PARTITION_CHANGE = PartitionChangeRecord(
    partition_id=2,
    topic_id=ID,
    isr=[2],
    leader=2,
    replicas=[2, 3],
    removing_replicas=[],
    adding_replicas=[3],
    leader_recovery_state=0,
    directories=[ID, OTHER_ID],
    eligible_leader_replicas=[1],
    last_known_elr=[3],
)
FOLLOWER_FETCH = FetchRequest(
    cluster_id="c",
    replica_state=ReplicaState(1, 9),
    max_wait_ms=500,
    min_bytes=1,
    topics=[
        FetchTopic(
            topic_id=ID,
            partitions=[
                FetchPartition(
                    partition=3, fetch_offset=300, replica_directory_id=OTHER_ID, high_watermark=299
                )
            ],
        )
    ],
)
MOVED_LEADER = ProduceResponse(
    responses=[
        TopicProduceResponse(
            name="t",
            partition_responses=[
                PartitionProduceResponse(error_code=6, base_offset=-1, current_leader=LeaderIdAndEpoch(2, 8))
            ],
        )
    ],
    node_endpoints=[NodeEndpoint(2, "h", 9092, None)],
)
QUORUM = VotersRecord(
    voters=[Voter(1, ID, [Endpoint("CONTROLLER", "localhost", 9093)], KRaftVersionFeature(0, 1))]
)

# The message, its version, its bytes.
GOLDEN: list[tuple[Message, int, str]] = [
    (
        BROKER,
        0,
        (
            "00000001000102030405060708090a0b0c0d0e0f0000000000000007020a504c41494e544558540a"
            "6c6f63616c686f7374238400000002116d657461646174612e76657273696f6e0007001d00000100"
        ),
    ),
    (
        BROKER,
        1,
        (
            "00000001000102030405060708090a0b0c0d0e0f0000000000000007020a504c41494e544558540a"
            "6c6f63616c686f7374238400000002116d657461646174612e76657273696f6e0007001d00000100"
            "00"
        ),
    ),
    (
        BROKER,
        2,
        (
            "0000000100000102030405060708090a0b0c0d0e0f0000000000000007020a504c41494e54455854"
            "0a6c6f63616c686f7374238400000002116d657461646174612e76657273696f6e0007001d000001"
            "0000"
        ),
    ),
    (
        BROKER,
        3,
        (
            "0000000100000102030405060708090a0b0c0d0e0f0000000000000007020a504c41494e54455854"
            "0a6c6f63616c686f7374238400000002116d657461646174612e76657273696f6e0007001d000001"
            "0000"
        ),
    ),
    (
        LOCATED_BROKER,
        4,
        (
            "0000000100000102030405060708090a0b0c0d0e0f00000000000000070101037231000102001102"
            "101112131415161718191a1b1c1d1e1f011102101112131415161718191a1b1c1d1e1f"
        ),
    ),
    (UnregisterBrokerRecord(broker_id=1, broker_epoch=-1), 0, "00000001ffffffffffffffff00"),
    (FenceBrokerRecord(id=1, epoch=7), 0, "00000001000000000000000700"),
    (UnfenceBrokerRecord(id=1, epoch=7), 0, "00000001000000000000000700"),
    (
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=7, fenced=-1),
        0,
        "000000010000000000000007010001ff",
    ),
    (
        BrokerRegistrationChangeRecord(1, 7, in_controlled_shutdown=1, log_dirs=[ID]),
        2,
        "00000001000000000000000702010101021102000102030405060708090a0b0c0d0e0f",
    ),
    (BrokerRegistrationChangeRecord(1, 7, cordoned_log_dirs=[]), 3, "00000001000000000000000701030101"),
    (
        CONTROLLER,
        0,
        (
            "00000bb8000102030405060708090a0b0c0d0e0f00020b434f4e54524f4c4c45520a6c6f63616c68"
            "6f7374ffff000000020e6b726166742e76657273696f6e000000010000"
        ),
    ),
    (TopicRecord(name="orders", topic_id=ID), 0, "076f7264657273000102030405060708090a0b0c0d0e0f00"),
    (
        PARTITION,
        0,
        (
            "00000002000102030405060708090a0b0c0d0e0f0400000001000000020000000303000000010000"
            "0002010100000001000000040000000500"
        ),
    ),
    (
        PARTITION,
        1,
        (
            "00000002000102030405060708090a0b0c0d0e0f0400000001000000020000000303000000010000"
            "000201010000000100000004000000050100"
        ),
    ),
    (
        ASSIGNED_PARTITION,
        2,
        (
            "00000000000102030405060708090a0b0c0d0e0f0200000001020000000102000000030200000004"
            "ffffffff000000000000000002101112131415161718191a1b1c1d1e1f0300010101050200000001"
            "020101"
        ),
    ),
    (
        PartitionChangeRecord(partition_id=2, topic_id=ID, isr=[1]),
        0,
        "00000002000102030405060708090a0b0c0d0e0f0100050200000001",
    ),
    (
        PARTITION_CHANGE,
        2,
        (
            "00000002000102030405060708090a0b0c0d0e0f0900050200000002010400000002020903000000"
            "02000000030301010405020000000305010006050200000001070502000000030821030001020304"
            "05060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
        ),
    ),
    (RemoveTopicRecord(topic_id=ID), 0, "000102030405060708090a0b0c0d0e0f00"),
    (
        ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value="1"),
        0,
        "02076f72646572730d726574656e74696f6e2e6d73023100",
    ),
    (ConfigRecord(resource_type=4, resource_name="", name="a", value=None), 0, "040102610000"),
    (
        FeatureLevelRecord(name="metadata.version", feature_level=29),
        0,
        "116d657461646174612e76657273696f6e001d00",
    ),
    (
        ProducerIdsRecord(broker_id=1, broker_epoch=7, next_producer_id=1000),
        0,
        "00000001000000000000000700000000000003e800",
    ),
    (NoOpRecord(), 0, "00"),
    (BeginTransactionRecord(name="n"), 0, "010002026e"),
    (BeginTransactionRecord(), 0, "00"),
    (EndTransactionRecord(), 0, "00"),
    (AbortTransactionRecord(reason="r"), 0, "0100020272"),
    (
        LeaderChangeMessage(0, 1, [LeaderChangeVoter(1)], [LeaderChangeVoter(1)]),
        0,
        "00000000000102000000010002000000010000",
    ),
    (
        LeaderChangeMessage(1, 1, [LeaderChangeVoter(1, ID)], []),
        1,
        "0001000000010200000001000102030405060708090a0b0c0d0e0f000100",
    ),
    (
        SnapshotHeaderRecord(version=0, last_contained_log_timestamp=1_700_000_000_000),
        0,
        "00000000018bcfe5680000",
    ),
    (SnapshotFooterRecord(version=0), 0, "000000"),
    (KRaftVersionRecord(version=0, kraft_version=1), 0, "0000000100"),
    (
        QUORUM,
        0,
        (
            "00000200000001000102030405060708090a0b0c0d0e0f020b434f4e54524f4c4c45520a6c6f6361"
            "6c686f737423850000000001000000"
        ),
    ),
    (RequestHeader(3, 12, 5, "me"), 1, "0003000c0000000500026d65"),
    (RequestHeader(3, 12, 5, None), 2, "0003000c00000005ffff00"),
    (ResponseHeader(5), 0, "00000005"),
    (ResponseHeader(5), 1, "0000000500"),
    (MetadataRequest(topics=None), 1, "ffffffff"),
    (MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 9, "0202740001000000"),
    (
        MetadataRequest(topics=[MetadataRequestTopic(topic_id=ID, name=None)]),
        12,
        "02000102030405060708090a0b0c0d0e0f0000010000",
    ),
    (
        FOLLOWER_FETCH,
        18,
        (
            "000001f4000000017fffffff0000000000ffffffff02000102030405060708090a0b0c0d0e0f0200"
            "000003ffffffff000000000000012cffffffffffffffffffffffff00000000020010101112131415"
            "161718191a1b1c1d1e1f0108000000000000012b0001010200020263010d00000001000000000000"
            "000900"
        ),
    ),
    (
        MOVED_LEADER,
        10,
        (
            "02027402000000000006ffffffffffffffffffffffffffffffffffffffffffffffff010001000900"
            "0000020000000800000000000001000d02000000020268000023840000"
        ),
    ),
]
