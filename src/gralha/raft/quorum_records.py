"""The control records of the metadata log: leaders and voters (KIP-595, KIP-853)."""

from typing import Final

from gralha.protocol.control_records import (
    KRAFT_VERSION,
    KRAFT_VOTERS,
    LEADER_CHANGE,
    control_key,
    control_type,
)
from gralha.protocol.errors import CorruptMessageError
from gralha.protocol.messages.raft_records import (
    Endpoint,
    KRaftVersionFeature,
    KRaftVersionRecord,
    LeaderChangeMessage,
    LeaderChangeVoter,
    VotersRecord,
)
from gralha.protocol.messages.raft_records import Voter as VoterRecord
from gralha.protocol.primitives import Reader, RecordBytes
from gralha.protocol.records import Record, batches, crc_is_valid, decode_records, encode_batch
from gralha.raft.events import AppendLeaderChange, AppendVoters, BatchShape
from gralha.raft.snapshots import encode_message
from gralha.raft.voters import ReplicaKey, Voter, VoterEndpoint, VoterSet

TOPIC: Final = "__cluster_metadata"
TOPIC_ID: Final = (1).to_bytes(16, "big")
DYNAMIC_KRAFT_VERSION: Final = 1


def encode_voters(voters: VoterSet) -> bytes:
    """The value of a record that sets the voters."""
    return encode_message(
        VotersRecord(
            voters=[
                VoterRecord(
                    voter_id=voter.key.id,
                    voter_directory_id=voter.key.directory_id,
                    endpoints=[Endpoint(*endpoint) for endpoint in voter.endpoints],
                    kraft_version_feature=KRaftVersionFeature(voter.min_version, voter.max_version),
                )
                for voter in voters.voters
            ]
        )
    )


def decode_voters(value: bytes) -> VoterSet:
    """The voters in the value of a record."""
    return VoterSet.of(
        Voter(
            ReplicaKey(voter.voter_id, voter.voter_directory_id),
            tuple(VoterEndpoint(one.name, one.host, one.port) for one in voter.endpoints),
            voter.kraft_version_feature.min_supported_version,
            voter.kraft_version_feature.max_supported_version,
        )
        for voter in VotersRecord.decode(Reader(value), 0).voters
    )


def voters_batch(change: AppendVoters, now_ms: int) -> bytes:
    """A batch that sets the voters."""
    first = _first_voters() if change.is_first else []
    return _control_batch([*first, (KRAFT_VOTERS, encode_voters(change.voters))], now_ms)


def _first_voters() -> list[tuple[int, bytes]]:
    """The record that says that the voters are records."""
    return [(KRAFT_VERSION, encode_message(KRaftVersionRecord(kraft_version=DYNAMIC_KRAFT_VERSION)))]


def leader_change_batch(change: AppendLeaderChange, now_ms: int) -> bytes:
    """The first batch of an epoch, with the voters if these are to be recorded."""
    version = 1 if any(any(voter.key.directory_id) for voter in change.voters.voters) else 0
    directories = {voter.key.id: voter.key.directory_id for voter in change.voters.voters} if version else {}
    message = LeaderChangeMessage(
        version=version,
        leader_id=change.leader_id,
        voters=[LeaderChangeVoter(one, directories.get(one, bytes(16))) for one in change.voters.ids],
        granting_voters=[
            LeaderChangeVoter(one, directories.get(one, bytes(16))) for one in change.granting_voters
        ],
    )
    records = [(LEADER_CHANGE, encode_message(message, version))]
    if change.record_voters:
        records += [*_first_voters(), (KRAFT_VOTERS, encode_voters(change.voters))]
    return _control_batch(records, now_ms)


def _control_batch(records: list[tuple[int, bytes]], now_ms: int) -> bytes:
    return encode_batch([Record(control_key(kind), value, now_ms) for kind, value in records], control=True)


def batch_shapes(found: RecordBytes, *, check: bool) -> tuple[BatchShape, ...]:
    """The offsets, epochs and voters of whole batches. With `check` a damaged batch raises an error."""
    shapes: list[BatchShape] = []
    for position, header in batches(found.data, found.start, found.end):
        if check and not crc_is_valid(found.data, position, header):
            raise CorruptMessageError(f"The batch at offset {header.base_offset} is damaged")
        voters: VoterSet | None = None
        if header.is_control:
            for record in decode_records(found.data, position, header):
                if control_type(record.key) == KRAFT_VOTERS:
                    voters = decode_voters(record.value or b"")
        shapes.append(
            BatchShape(
                int(header.base_offset), int(header.next_offset), int(header.partition_leader_epoch), voters
            )
        )
    return tuple(shapes)
