"""Which replica a consumer is sent to: one in its rack, if it may (KIP-392).

A replica will do if it is in sync and has the offset. The leader is as good as any other in the same rack,
and better, since it knows the high watermark first; among followers the one that is furthest.
"""

from typing import Final

from gralha.replication.partition import Partition

RACK_AWARE_SELECTOR: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
LEADER: Final = -1


def preferred_read_replica(partition: Partition, rack: str, fetch_offset: int) -> int:
    """The follower that the consumer should read from; -1 if it should stay with the leader."""
    broker = partition.cluster.broker
    leader = broker(partition.broker_id)
    if leader is not None and leader.rack == rack:
        return LEADER
    best = LEADER
    best_end_offset = -1
    for follower in partition.followers.values():
        if follower.broker_id not in partition.in_sync_replicas:
            continue
        if not follower.log_start_offset <= fetch_offset <= follower.log_end_offset:
            continue
        registration = broker(follower.broker_id)
        if registration is None or registration.fenced or registration.rack != rack:
            continue
        if follower.log_end_offset > best_end_offset:
            best = follower.broker_id
            best_end_offset = follower.log_end_offset
    return best
