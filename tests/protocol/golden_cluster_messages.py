"""Messages between nodes, and records about security and quotas, with the bytes that Apache Kafka 4.3 makes.

The bytes are those that Kafka's own classes write, built from the same values.
"""

from gralha.protocol.message import Message
from gralha.protocol.messages import begin_quorum_epoch, end_quorum_epoch, fetch_snapshot, vote
from gralha.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartition,
    AlterPartitionRequestTopic,
    BrokerState,
)
from gralha.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from gralha.protocol.messages.cluster_records import ClientQuotaRecord, EntityData, ZkMigrationStateRecord
from gralha.protocol.messages.security_records import (
    AccessControlEntryRecord,
    DelegationTokenRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from gralha.protocol.messages.topic_records import ClearElrRecord
from gralha.protocol.messages.update_raft_voter import CurrentLeader, UpdateRaftVoterResponse
from gralha.protocol.primitives import RecordBytes

ID = bytes(range(16))
OTHER_ID = bytes(range(16, 32))

TOKEN = DelegationTokenRecord(
    owner="User:a",
    requester="User:b",
    renewers=["User:c"],
    issue_timestamp=1,
    max_timestamp=3,
    expiration_timestamp=2,
    token_id="t",
)
CREDENTIAL = UserScramCredentialRecord(
    name="a", mechanism=2, salt=b"\x01", stored_key=b"\x02\x03", server_key=b"", iterations=4096
)
RULE = AccessControlEntryRecord(
    id=ID,
    resource_type=2,
    resource_name="orders",
    pattern_type=3,
    principal="User:a",
    host="*",
    operation=4,
    permission_type=3,
)
QUOTA = ClientQuotaRecord(
    entity=[EntityData("user", "a"), EntityData("client-id", None)],
    key="producer_byte_rate",
    value=1024.5,
)
PRE_VOTE = vote.VoteRequest(
    cluster_id="c",
    voter_id=2,
    topics=[
        vote.VoteRequestTopic(
            "t",
            [
                vote.VoteRequestPartition(
                    replica_epoch=5,
                    replica_id=1,
                    replica_directory_id=ID,
                    voter_directory_id=OTHER_ID,
                    last_offset_epoch=4,
                    last_offset=300,
                    pre_vote=True,
                )
            ],
        )
    ],
)
GRANTED_VOTE = vote.VoteResponse(
    topics=[
        vote.VoteResponseTopic(
            "t", [vote.VoteResponsePartition(leader_id=3, leader_epoch=5, vote_granted=True)]
        )
    ],
    node_endpoints=[vote.NodeEndpoint(3, "h", 65535)],
)
NEW_LEADER = begin_quorum_epoch.BeginQuorumEpochRequest(
    cluster_id="c",
    voter_id=2,
    topics=[
        begin_quorum_epoch.BeginQuorumEpochRequestTopic(
            "t",
            [
                begin_quorum_epoch.BeginQuorumEpochRequestPartition(
                    voter_directory_id=ID, leader_id=1, leader_epoch=5
                )
            ],
        )
    ],
    leader_endpoints=[begin_quorum_epoch.LeaderEndpoint("CONTROLLER", "h", 9093)],
)
RESIGNATION = end_quorum_epoch.EndQuorumEpochRequest(
    topics=[
        end_quorum_epoch.EndQuorumEpochRequestTopic(
            "t",
            [
                end_quorum_epoch.EndQuorumEpochRequestPartition(
                    leader_id=1,
                    leader_epoch=5,
                    preferred_candidates=[end_quorum_epoch.ReplicaInfo(2, OTHER_ID)],
                )
            ],
        )
    ],
)
SNAPSHOT_REQUEST = fetch_snapshot.FetchSnapshotRequest(
    cluster_id="c",
    replica_id=2,
    max_bytes=100,
    topics=[
        fetch_snapshot.FetchSnapshotRequestTopic(
            "t",
            [
                fetch_snapshot.FetchSnapshotRequestPartition(
                    current_leader_epoch=2,
                    snapshot_id=fetch_snapshot.SnapshotId(9, 2),
                    position=4,
                    replica_directory_id=ID,
                )
            ],
        )
    ],
)
SNAPSHOT_PART = fetch_snapshot.FetchSnapshotResponse(
    topics=[
        fetch_snapshot.FetchSnapshotResponseTopic(
            "t",
            [
                fetch_snapshot.FetchSnapshotResponsePartition(
                    snapshot_id=fetch_snapshot.SnapshotId(9, 2),
                    current_leader=fetch_snapshot.LeaderIdAndEpoch(1, 2),
                    size=7,
                    position=4,
                    unaligned_records=RecordBytes(b"\x01\x02\x03", 0, 3),
                )
            ],
        )
    ],
)
ISR_CHANGE = AlterPartitionRequest(
    broker_id=1,
    broker_epoch=7,
    topics=[
        AlterPartitionRequestTopic(
            ID,
            [
                AlterPartitionRequestPartition(
                    partition_index=3,
                    leader_epoch=4,
                    new_isr_with_epochs=[BrokerState(2, 8)],
                    leader_recovery_state=1,
                    partition_epoch=5,
                )
            ],
        )
    ],
)
HEARTBEAT = BrokerHeartbeatRequest(
    broker_id=1,
    broker_epoch=7,
    current_metadata_offset=300,
    want_fence=True,
    offline_log_dirs=[ID],
    cordoned_log_dirs=[],
)

# The message, its version, its bytes.
GOLDEN: list[tuple[Message, int, str]] = [
    (
        TOKEN,
        0,
        (
            "07557365723a6107557365723a620207557365723a63000000000000000100000000000000030000"
            "000000000002027400"
        ),
    ),
    (
        RemoveDelegationTokenRecord(token_id="t"),
        0,
        "027400",
    ),
    (
        CREDENTIAL,
        0,
        "0261020201030203010000100000",
    ),
    (
        RemoveUserScramCredentialRecord(name="a", mechanism=1),
        0,
        "02610100",
    ),
    (
        RULE,
        0,
        ("000102030405060708090a0b0c0d0e0f02076f72646572730307557365723a61022a040300"),
    ),
    (
        RemoveAccessControlEntryRecord(id=ID),
        0,
        "000102030405060708090a0b0c0d0e0f00",
    ),
    (
        QUOTA,
        0,
        (
            "0305757365720261000a636c69656e742d696400001370726f64756365725f627974655f72617465"
            "40900200000000000000"
        ),
    ),
    (
        ClearElrRecord(topic_name="orders"),
        0,
        "076f726465727300",
    ),
    (
        ZkMigrationStateRecord(zk_migration_state=3),
        0,
        "0300",
    ),
    (
        PRE_VOTE,
        2,
        (
            "02630000000202027402000000000000000500000001000102030405060708090a0b0c0d0e0f1011"
            "12131415161718191a1b1c1d1e1f00000004000000000000012c01000000"
        ),
    ),
    (
        GRANTED_VOTE,
        1,
        ("000002027402000000000000000000030000000501000001000a02000000030268ffff00"),
    ),
    (
        NEW_LEADER,
        1,
        (
            "0263000000020202740200000000000102030405060708090a0b0c0d0e0f00000001000000050000"
            "020b434f4e54524f4c4c4552026823850000"
        ),
    ),
    (
        RESIGNATION,
        1,
        ("00020274020000000000000001000000050200000002101112131415161718191a1b1c1d1e1f0000000100"),
    ),
    (
        SNAPSHOT_REQUEST,
        1,
        (
            "00000002000000640202740200000000000000020000000000000009000000020000000000000000"
            "04010010000102030405060708090a0b0c0d0e0f000100020263"
        ),
    ),
    (
        SNAPSHOT_PART,
        1,
        (
            "00000000000002027402000000000000000000000000000900000002000000000000000007000000"
            "0000000004040102030100090000000100000002000000"
        ),
    ),
    (
        HEARTBEAT,
        2,
        ("000000010000000000000007000000000000012c010002001102000102030405060708090a0b0c0d0e0f010101"),
    ),
    (
        ISR_CHANGE,
        3,
        (
            "00000001000000000000000702000102030405060708090a0b0c0d0e0f0200000003000000040200"
            "0000020000000000000008000100000005000000"
        ),
    ),
    (
        UpdateRaftVoterResponse(current_leader=CurrentLeader(3, 5, "h", 9093)),
        0,
        "00000000000001000f000000030000000502680000238500",
    ),
]
