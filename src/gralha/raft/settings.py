"""What the quorum's driver is given, and what it gives back: settings, listener, appends, errors."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import NamedTuple, Protocol

from gralha.protocol.errors import NotControllerError
from gralha.protocol.message import Message
from gralha.protocol.peers import Peers
from gralha.protocol.primitives import ZERO_UUID
from gralha.raft.log import MetadataLogConfig
from gralha.raft.timeouts import Timeouts
from gralha.raft.voters import ReplicaKey, Voter, VoterEndpoint, VoterSet
from gralha.storage.disk import Disk


class NotLeaderError(NotControllerError):
    """This node does not lead the quorum, so it cannot append."""


class QuorumError(Exception):
    """The quorum cannot be run like this; the message says why."""


class RaftListener(Protocol):
    """Who follows the metadata log."""

    def on_snapshot(self, end_offset: int, epoch: int, records: list[Message]) -> None:
        """Everything below the offset, instead of what came before."""

    def on_commit(self, base_offset: int, next_offset: int, epoch: int, records: list[Message]) -> None:
        """A committed batch; one of control records has none."""

    def on_caught_up(self) -> None:
        """All that is known to be committed has been seen, for now."""

    def on_leader(self, epoch: int) -> None:
        """This node leads, and all that was committed before has been seen."""

    def on_resigned(self) -> None:
        """This node leads no longer: what it appended and has not seen committed may be lost or not."""

    def snapshot_records(self) -> Iterable[Message]:
        """The records of a snapshot at the last committed batch; read while further ones are committed."""


class RecordCodec(NamedTuple):
    """How records become bytes, and back: the quorum does not know what they say."""

    encode: Callable[[Message], bytes]
    decode: Callable[[bytes], Message]


class Append(NamedTuple):
    """Records on their way: their offsets, and a future that is done when they are committed."""

    base_offset: int
    next_offset: int
    epoch: int
    records: list[Message]
    size_bytes: int
    committed: "asyncio.Future[int]"


class QuorumSettings(NamedTuple):
    """Who this node is in the quorum, and the world it lives in.

    `voters` are the configured ones (`controller.quorum.voters`), with host and port where they are known;
    voters that the log records count instead. `bootstrap` are the ids, -2, -3, ..., under which `peers`
    reaches `controller.quorum.bootstrap.servers`. A node that is no controller and never will be has
    `can_vote` off. `folder` holds the folder of the metadata log. `clock` tells the wall-clock time in
    milliseconds, and `on_failure` hears why the driver gave up. `endpoints` is where this node's controller
    listens, and `listener_name` what the listeners of controllers are called.
    """

    node_id: int
    voters: Mapping[int, tuple[str, int]] | Sequence[int]
    folder: str
    disk: Disk
    clock: Callable[[], int]
    on_failure: Callable[[BaseException], None]
    directory_id: bytes = ZERO_UUID
    log_config: MetadataLogConfig = MetadataLogConfig()
    peers: Peers | None = None
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
