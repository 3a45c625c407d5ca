"""The messages of Kafka's protocol, one module for each API, and the tables that lead to them.

Generated from definitions/*.kafka by gralha.protocol.compiler: change those, not this.
"""

from typing import Final

# By key: the name of the API, its module, the first and the last version, the first flexible version.
APIS: Final[dict[int, tuple[str, str, int, int, int]]] = {
    0: ("Produce", "produce", 3, 13, 9),
    1: ("Fetch", "fetch", 4, 18, 12),
    2: ("ListOffsets", "list_offsets", 1, 11, 6),
    3: ("Metadata", "metadata", 0, 13, 9),
    8: ("OffsetCommit", "offset_commit", 2, 10, 8),
    9: ("OffsetFetch", "offset_fetch", 1, 10, 6),
    10: ("FindCoordinator", "find_coordinator", 0, 6, 3),
    11: ("JoinGroup", "join_group", 0, 9, 6),
    12: ("Heartbeat", "heartbeat", 0, 4, 4),
    13: ("LeaveGroup", "leave_group", 0, 5, 4),
    14: ("SyncGroup", "sync_group", 0, 5, 4),
    15: ("DescribeGroups", "describe_groups", 0, 6, 5),
    16: ("ListGroups", "list_groups", 0, 5, 3),
    18: ("ApiVersions", "api_versions", 0, 4, 3),
    19: ("CreateTopics", "create_topics", 2, 7, 5),
    20: ("DeleteTopics", "delete_topics", 1, 6, 4),
    21: ("DeleteRecords", "delete_records", 0, 2, 2),
    22: ("InitProducerId", "init_producer_id", 0, 5, 2),
    23: ("OffsetForLeaderEpoch", "offset_for_leader_epoch", 2, 4, 4),
    32: ("DescribeConfigs", "describe_configs", 1, 4, 4),
    33: ("AlterConfigs", "alter_configs", 0, 2, 2),
    35: ("DescribeLogDirs", "describe_log_dirs", 1, 5, 2),
    37: ("CreatePartitions", "create_partitions", 0, 3, 2),
    42: ("DeleteGroups", "delete_groups", 0, 2, 2),
    44: ("IncrementalAlterConfigs", "incremental_alter_configs", 0, 1, 1),
    47: ("OffsetDelete", "offset_delete", 0, 0, 1),
    60: ("DescribeCluster", "describe_cluster", 0, 2, 0),
    61: ("DescribeProducers", "describe_producers", 0, 0, 0),
    68: ("ConsumerGroupHeartbeat", "consumer_group_heartbeat", 0, 1, 0),
    69: ("ConsumerGroupDescribe", "consumer_group_describe", 0, 1, 0),
    74: ("ListConfigResources", "list_config_resources", 0, 1, 0),
    75: ("DescribeTopicPartitions", "describe_topic_partitions", 0, 0, 0),
}

# By key: the class of the metadata record and its module.
METADATA_RECORDS: Final[dict[int, tuple[str, str]]] = {
    0: ("RegisterBrokerRecord", "broker_records"),
    1: ("UnregisterBrokerRecord", "broker_records"),
    2: ("TopicRecord", "topic_records"),
    3: ("PartitionRecord", "topic_records"),
    4: ("ConfigRecord", "cluster_records"),
    5: ("PartitionChangeRecord", "topic_records"),
    7: ("FenceBrokerRecord", "broker_records"),
    8: ("UnfenceBrokerRecord", "broker_records"),
    9: ("RemoveTopicRecord", "topic_records"),
    12: ("FeatureLevelRecord", "cluster_records"),
    15: ("ProducerIdsRecord", "cluster_records"),
    17: ("BrokerRegistrationChangeRecord", "broker_records"),
    20: ("NoOpRecord", "cluster_records"),
    23: ("BeginTransactionRecord", "cluster_records"),
    24: ("EndTransactionRecord", "cluster_records"),
    25: ("AbortTransactionRecord", "cluster_records"),
    27: ("RegisterControllerRecord", "broker_records"),
}
