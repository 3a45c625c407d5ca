"""The types around the quorum's driver: settings, listener, appends, errors."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import NamedTuple, Protocol

from gralha.protocol.errors import NotControllerError
from gralha.protocol.message import Message
from gralha.protocol.peers import AskingPeers
from gralha.protocol.primitives import ZERO_UUID
from gralha.raft.log import MetadataLogConfig
from gralha.raft.timeouts import Timeouts
from gralha.raft.voters import ReplicaKey, Voter, VoterEndpoint, VoterSet
from gralha.storage.disk import Disk


class NotLeaderError(NotControllerError):
    """This node does not lead the quorum, so it cannot append."""


class QuorumError(Exception):
    """The quorum cannot run with these settings. The message says why."""


class RaftListener(Protocol):
    """A part of the node that follows the metadata log."""

    def on_snapshot(self, end_offset: int, epoch: int, records: list[Message]) -> None:
        """These records replace everything below the offset."""

    def on_commit(self, base_offset: int, next_offset: int, epoch: int, records: list[Message]) -> None:
        """A batch is committed. A batch of control records has no records here."""

    def on_caught_up(self) -> None:
        """The listener has seen everything up to the high watermark."""

    def on_leader(self, epoch: int) -> None:
        """This node leads, and the listener has seen everything that was committed before."""

    def on_resigned(self) -> None:
        """This node does not lead any more. Records that it appended may be committed later, or lost."""

    def snapshot_records(self) -> Iterable[Message]:
        """The records of a snapshot at the last committed batch. More batches are committed meanwhile."""


class RecordCodec(NamedTuple):
    """How records become bytes and back. The quorum does not look into them."""

    encode: Callable[[Message], bytes]
    decode: Callable[[bytes], Message]


class Append(NamedTuple):
    """Records that were appended, and a future that is done when they are committed."""

    base_offset: int
    next_offset: int
    epoch: int
    records: list[Message]
    size_bytes: int
    committed: "asyncio.Future[int]"


class QuorumSettings(NamedTuple):
    """What the driver of one node needs.

    `voters` are the configured voters (`controller.quorum.voters`), with host and port if these are known. If
    the log records voters, those count instead. `bootstrap` has the ids (-2, -3, ...) under which `peers`
    reaches `controller.quorum.bootstrap.servers`. `can_vote` is False for a node that can never be a
    controller. `folder` is the parent of the folder of the metadata log. `clock` returns the wall-clock time
    in milliseconds. `on_failure` is called with the error if the driver fails. `endpoints` are the listeners
    of this node's controller, and `listener_name` is the name that the listeners of all controllers have.
    """

    node_id: int
    voters: Mapping[int, tuple[str, int]] | Sequence[int]
    folder: str
    disk: Disk
    clock: Callable[[], int]
    on_failure: Callable[[BaseException], None]
    directory_id: bytes = ZERO_UUID
    log_config: MetadataLogConfig = MetadataLogConfig()
    peers: AskingPeers | None = None
    timeouts: Timeouts = Timeouts()
    random: Random | None = None
    cluster_id: str | None = None
    bootstrap: Sequence[int] = ()
    can_vote: bool = True
    endpoints: tuple[VoterEndpoint, ...] = ()
    listener_name: str = ""

    def static_voters(self) -> VoterSet:
        """The configured voters."""
        voters = self.voters
        if not isinstance(voters, Mapping):
            return VoterSet.of(Voter(ReplicaKey(one)) for one in voters)
        return VoterSet.of(
            Voter(ReplicaKey(one), (VoterEndpoint(self.listener_name, host, port),))
            for one, (host, port) in voters.items()
        )
