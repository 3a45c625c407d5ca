"""The replica from which a consumer should read: one in its rack, if there is one (KIP-392).

The replica must be in sync and have the offset. A leader in the same rack is the best choice, because it
knows the high watermark first. Among followers the one with the longest log is chosen.
"""

from typing import Final

from gralha.replication.leading import Leading

RACK_AWARE_SELECTOR: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
LEADER: Final = -1


def preferred_read_replica(leading: Leading, rack: str, fetch_offset: int) -> int:
    """The follower that the consumer should read from; -1 if it should stay with the leader."""
    partition = leading.partition
    broker = partition.cluster.broker
    leader = broker(partition.broker_id)
    if leader is not None and leader.rack == rack:
        return LEADER
    best = LEADER
    best_end_offset = -1
    for follower in leading.followers.values():
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
