"""The quorum and the controller: Kafka's raft-metrics and KafkaController."""

from collections.abc import Iterator
from typing import Final

from gralha.broker.metrics.exposition import (
    PAUSE,
    SLICE,
    Pieces,
    Sample,
    family_text,
    gauge,
    labels,
    single,
)
from gralha.metadata.image import NO_LEADER, MetadataImage
from gralha.metadata.service import ControllerService
from gralha.raft.role import Role
from gralha.raft.state import RaftState

_RAFT: Final = "kafka_server_raft_metrics"
LEADER: Final = gauge(f"{_RAFT}_current_leader", "The id of the quorum's leader, -1 if it is not known.")
EPOCH: Final = gauge(f"{_RAFT}_current_epoch", "The epoch of the quorum.")
VOTE: Final = gauge(f"{_RAFT}_current_vote", "The node that this one has voted for in the epoch, or -1.")
HIGH_WATERMARK: Final = gauge(f"{_RAFT}_high_watermark", "The metadata log is committed up to this offset.")
LOG_END: Final = gauge(f"{_RAFT}_log_end_offset", "The end offset of this node's metadata log.")
LOG_END_EPOCH: Final = gauge(f"{_RAFT}_log_end_epoch", "The epoch of the last record of the metadata log.")
STATE: Final = gauge(f"{_RAFT}_current_state_info", "1 for the state of this node in the quorum.")
VOTERS: Final = gauge(f"{_RAFT}_number_of_voters", "The voters of the quorum.")
OBSERVERS: Final = gauge(
    f"{_RAFT}_number_of_observers", "Nodes that follow the leader without a vote. Only the leader has it."
)
REPLICA_LAG: Final = gauge(
    "gralha_quorum_replica_lag",
    "Records of the metadata log that a voter has not fetched yet. Only the leader has it.",
)
OBSERVER: Final = "observer"

_CONTROLLER: Final = "kafka_controller_kafkacontroller"
ACTIVE_CONTROLLER: Final = gauge(
    f"{_CONTROLLER}_activecontrollercount", "1 if this node is the active controller."
)
ACTIVE_BROKERS: Final = gauge(f"{_CONTROLLER}_activebrokercount", "Brokers that are not fenced.")
FENCED_BROKERS: Final = gauge(f"{_CONTROLLER}_fencedbrokercount", "Brokers that are registered and fenced.")
TOPICS: Final = gauge(f"{_CONTROLLER}_globaltopiccount", "Topics of the cluster.")
PARTITIONS: Final = gauge(f"{_CONTROLLER}_globalpartitioncount", "Partitions of the cluster.")
OFFLINE: Final = gauge(f"{_CONTROLLER}_offlinepartitionscount", "Partitions without a leader.")
IMBALANCE: Final = gauge(
    f"{_CONTROLLER}_preferredreplicaimbalancecount", "Partitions not led by their first replica."
)
APPLIED: Final = gauge(
    f"{_CONTROLLER}_lastappliedrecordoffset", "The metadata of this node includes this offset."
)
COMMITTED: Final = gauge(
    f"{_CONTROLLER}_lastcommittedrecordoffset", "The last offset that is known to be committed."
)


def quorum_metrics(service: ControllerService) -> Pieces:
    state = service.driver.state
    yield from single(LEADER, service.leader_id)
    yield from single(EPOCH, service.epoch)
    yield from single(VOTE, state.election.voted_id)
    yield from single(HIGH_WATERMARK, service.high_watermark)
    yield from single(LOG_END, service.driver.end_offset)
    yield from single(LOG_END_EPOCH, state.log.last_epoch)
    yield from family_text(STATE, [(labels(state=state_name(state)), 1)])
    yield from single(VOTERS, len(service.driver.voter_ids))
    yield from family_text(OBSERVERS, _observers(state))
    yield from family_text(REPLICA_LAG, _lags(state))


def state_name(state: RaftState) -> str:
    """Kafka's name. A follower without a vote is an observer."""
    if state.role is Role.FOLLOWER and not state.is_voter:
        return OBSERVER
    return state.role.value


def _observers(state: RaftState) -> Iterator[Sample]:
    leadership = state.leadership
    if leadership is not None:
        voters = state.voters.latest
        yield "", sum(voters.match(key) is None for key in leadership.progress)


def _lags(state: RaftState) -> Iterator[Sample]:
    leadership = state.leadership
    if leadership is None:
        return
    for voter in state.voters.latest.voters:
        progress = leadership.progress.get(voter.key)
        if voter.key.id != state.key.id and progress is not None and progress.end_offset >= 0:
            yield labels(replica=voter.key.id), max(state.log.end_offset - progress.end_offset, 0)


def controller_metrics(service: ControllerService) -> Pieces:
    """The metrics of a controller, also of one that is not active."""
    image = service.image
    brokers = image.brokers.values()
    yield from single(ACTIVE_CONTROLLER, int(service.is_active))
    yield from single(ACTIVE_BROKERS, sum(not broker.fenced for broker in brokers))
    yield from single(FENCED_BROKERS, sum(broker.fenced for broker in brokers))
    yield from single(APPLIED, image.offset)
    yield from single(COMMITTED, service.high_watermark - 1)
    yield from single(TOPICS, len(image.topics))
    yield from _partitions(image)


def _partitions(image: MetadataImage) -> Pieces:
    count = offline = imbalanced = 0
    for topic in image.topics.values():
        for partition in topic.partitions.values():
            count += 1
            offline += partition.leader == NO_LEADER
            imbalanced += partition.leader != partition.replicas[0]
            if count % (4 * SLICE) == 0:
                yield PAUSE
    yield from single(PARTITIONS, count)
    yield from single(OFFLINE, offline)
    yield from single(IMBALANCE, imbalanced)
