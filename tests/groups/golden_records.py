"""Records of `__consumer_offsets` with the bytes that Apache Kafka 4.3 makes of them.

The bytes were made by Kafka's own classes (GroupCoordinatorRecordSerde) from the same values.
"""

from gralha.groups.records import GroupRecord
from gralha.protocol.messages.group_records import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
    PartitionMetadata,
    TopicMetadata,
    TopicPartition,
    TopicPartitions,
)

ID = bytes(range(16))
OTHER_ID = bytes(range(16, 32))
TIME_MS = 1_700_000_000_000
LATER_MS = 1_800_000_000_000
OFFSET_KEY = OffsetCommitKey("gähn", "orders", 3)
MEMBER = MemberMetadata("m1", "i1", "c", "/127.0.0.1", 300000, 45000, b"\1\2\3", b"\4\5")

WRITTEN = [
    (
        GroupRecord(OFFSET_KEY, OffsetCommitValue(42, 7, "note", TIME_MS, topic_id=ID)),
        "0001000567c3a4686e00066f726465727300000003",
        "0004000000000000002a00000007056e6f74650000018bcfe56800010010000102030405060708090a0b0c0d0e0f",
    ),
    (
        GroupRecord(OFFSET_KEY, OffsetCommitValue(0, -1, "", 1)),
        "0001000567c3a4686e00066f726465727300000003",
        "00040000000000000000ffffffff01000000000000000100",
    ),
    (GroupRecord(OFFSET_KEY, None), "0001000567c3a4686e00066f726465727300000003", None),
    (
        GroupRecord(
            GroupMetadataKey("g"), GroupMetadataValue("consumer", 5, "range", "m1", TIME_MS, [MEMBER])
        ),
        "0002000167",
        (
            "00030008636f6e73756d657200000005000572616e676500026d310000018bcfe568000000000100026d3100026931000163"
            "000a2f3132372e302e302e31000493e00000afc800000003010203000000020405"
        ),
    ),
    (
        GroupRecord(GroupMetadataKey("g"), GroupMetadataValue("", 0, None, None, -1, [])),
        "0002000167",
        "0003000000000000ffffffffffffffffffffffff00000000",
    ),
    (GroupRecord(GroupMetadataKey("g"), None), "0002000167", None),
    (
        GroupRecord(ConsumerGroupMetadataKey("g"), ConsumerGroupMetadataValue(9)),
        "0003000167",
        "00000000000900",
    ),
    (
        GroupRecord(ConsumerGroupMetadataKey("g"), ConsumerGroupMetadataValue(9, -77777777777)),
        "0003000167",
        "000000000009010008ffffffede4154b8f",
    ),
    (
        GroupRecord(
            ConsumerGroupPartitionMetadataKey("g"),
            ConsumerGroupPartitionMetadataValue(
                [TopicMetadata(ID, "orders", 2, [PartitionMetadata(1, ["r1", "r2"])])]
            ),
        ),
        "0004000167",
        "000002000102030405060708090a0b0c0d0e0f076f726465727300000002020000000103037231037232000000",
    ),
    (
        GroupRecord(
            ConsumerGroupMemberMetadataKey("g", "m"),
            ConsumerGroupMemberMetadataValue(None, None, "c", "/127.0.0.1", ["a", "b"], None, 300000, None),
        ),
        "000500016700016d",
        "0000000002630b2f3132372e302e302e31030261026200000493e00001000100",
    ),
    (
        GroupRecord(
            ConsumerGroupMemberMetadataKey("g", "m"),
            ConsumerGroupMemberMetadataValue(
                "i",
                "r",
                "c",
                "h",
                [],
                "a.*",
                -1,
                "uniform",
                ClassicMemberMetadata(45000, [ClassicProtocol("range", b"\x09\x08")]),
            ),
        ),
        "000500016700016d",
        "000002690272026302680104612e2affffffff08756e69666f726d010011010000afc8020672616e67650309080000",
    ),
    (
        GroupRecord(
            ConsumerGroupTargetAssignmentMetadataKey("g"), ConsumerGroupTargetAssignmentMetadataValue(9)
        ),
        "0006000167",
        "00000000000900",
    ),
    (
        GroupRecord(
            ConsumerGroupTargetAssignmentMetadataKey("g"),
            ConsumerGroupTargetAssignmentMetadataValue(9, TIME_MS),
        ),
        "0006000167",
        "0000000000090100080000018bcfe56800",
    ),
    (
        GroupRecord(
            ConsumerGroupTargetAssignmentMemberKey("g", "m"),
            ConsumerGroupTargetAssignmentMemberValue([TopicPartition(ID, [0, 2])]),
        ),
        "000700016700016d",
        "000002000102030405060708090a0b0c0d0e0f0300000000000000020000",
    ),
    (
        GroupRecord(
            ConsumerGroupCurrentMemberAssignmentKey("g", "m"),
            ConsumerGroupCurrentMemberAssignmentValue(
                9,
                8,
                1,
                [TopicPartitions(ID, [0, 2], [5, 9])],
                [TopicPartitions(OTHER_ID, [1]), TopicPartitions(OTHER_ID, [1], None)],
            ),
        ),
        "000800016700016d",
        (
            "000000000009000000080102000102030405060708090a0b0c0d0e0f0300000000000000020100090300000005000000090310"
            "1112131415161718191a1b1c1d1e1f020000000100101112131415161718191a1b1c1d1e1f02000000010100010000"
        ),
    ),
    (
        GroupRecord(
            ConsumerGroupRegularExpressionKey("g", "a.*"),
            ConsumerGroupRegularExpressionValue(["a1", "a2"], 33, TIME_MS),
        ),
        "00100001670003612e2a",
        "00000303613103613200000000000000210000018bcfe5680000",
    ),
]

# What older brokers wrote: the same values, less what their versions had no room for.
READ = [
    (
        GroupRecord(OffsetCommitKey("gähn", "t", 3), OffsetCommitValue(42, -1, "note", TIME_MS)),
        "0000000567c3a4686e00017400000003",
        "0000000000000000002a00046e6f74650000018bcfe56800",
    ),
    (GroupRecord(OffsetCommitKey("gähn", "t", 3), None), "0000000567c3a4686e00017400000003", None),
    (
        GroupRecord(OFFSET_KEY, OffsetCommitValue(42, -1, "note", TIME_MS)),
        "0001000567c3a4686e00066f726465727300000003",
        "0000000000000000002a00046e6f74650000018bcfe56800",
    ),
    (
        GroupRecord(OFFSET_KEY, OffsetCommitValue(42, -1, "note", TIME_MS, LATER_MS)),
        "0001000567c3a4686e00066f726465727300000003",
        "0001000000000000002a00046e6f74650000018bcfe56800000001a3185c5000",
    ),
    (
        GroupRecord(OFFSET_KEY, OffsetCommitValue(42, -1, "note", TIME_MS)),
        "0001000567c3a4686e00066f726465727300000003",
        "0002000000000000002a00046e6f74650000018bcfe56800",
    ),
    (
        GroupRecord(OFFSET_KEY, OffsetCommitValue(42, 7, "note", TIME_MS)),
        "0001000567c3a4686e00066f726465727300000003",
        "0003000000000000002a0000000700046e6f74650000018bcfe56800",
    ),
    (
        GroupRecord(
            GroupMetadataKey("g"),
            GroupMetadataValue(
                "consumer",
                5,
                "range",
                "m1",
                -1,
                [MemberMetadata("m1", None, "c", "/127.0.0.1", -1, 45000, b"\1\2\3", b"\4\5")],
            ),
        ),
        "0002000167",
        (
            "00000008636f6e73756d657200000005000572616e676500026d310000000100026d31000163000a2f3132372e302e302e31"
            "0000afc800000003010203000000020405"
        ),
    ),
    (
        GroupRecord(
            GroupMetadataKey("g"),
            GroupMetadataValue(
                "consumer",
                5,
                "range",
                "m1",
                TIME_MS,
                [MemberMetadata("m1", None, "c", "/127.0.0.1", 300000, 45000, b"\1\2\3", b"\4\5")],
            ),
        ),
        "0002000167",
        (
            "00020008636f6e73756d657200000005000572616e676500026d310000018bcfe568000000000100026d31000163000a2f31"
            "32372e302e302e31000493e00000afc800000003010203000000020405"
        ),
    ),
    # Not to say whether a member is a classic one is to say that it is; to say that it is not takes a null.
    (
        GroupRecord(
            ConsumerGroupMemberMetadataKey("g", "m"),
            ConsumerGroupMemberMetadataValue(
                None, None, "c", "/127.0.0.1", ["a", "b"], None, 300000, None, ClassicMemberMetadata()
            ),
        ),
        "000500016700016d",
        "0000000002630b2f3132372e302e302e31030261026200000493e00000",
    ),
    # The flexible version, which brokers can read but do not write yet.
    (
        GroupRecord(
            GroupMetadataKey("g"), GroupMetadataValue("consumer", 5, "range", "m1", TIME_MS, [MEMBER])
        ),
        "0002000167",
        (
            "000409636f6e73756d6572000000050672616e6765036d310000018bcfe5680002036d3103693102630b2f3132372e302e30"
            "2e31000493e00000afc8040102030304050000"
        ),
    ),
]
