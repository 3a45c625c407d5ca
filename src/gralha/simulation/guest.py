"""A client of one broker whose password and rights change all the time.

    login-without-user    a login succeeds with a password that the broker does not know, or knows no more
    acts-without-right    a request succeeds although the broker knows no right for it, or knows it no more
    acts-after-session    a request is served after the end of the session (connections.max.reauth.ms)

A guest looks into the broker's metadata when it sends a request and when the answer is there. It judges the
answer only if the metadata has not changed in between.
"""

import asyncio
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from gralha.broker.peer_login import PeerLogin, Send, peer_login
from gralha.broker.peers import PeerConnections
from gralha.broker.sasl_settings import SaslLogin
from gralha.metadata.acls import AclsImage
from gralha.metadata.image import ScramCredential
from gralha.protocol.errors import ErrorCode
from gralha.protocol.message import Message
from gralha.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from gralha.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from gralha.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import Record, encode_batch
from gralha.simulation.administrator import WRITES, WRITES_NOT, Administrator
from gralha.simulation.clients import Bootstrap, Client
from gralha.simulation.loop import START_MS
from gralha.simulation.secured import GUEST, GUEST_PARTITIONS, GUEST_TOPIC, MECHANISM, MECHANISM_NUMBER

if TYPE_CHECKING:
    from gralha.simulation.cluster import SimulatedNode

PAUSE_S: Final = (0.1, 1.0)
TIMEOUT_MS: Final = 3_000
RECONNECT_CHANCE: Final = 0.15
AFTER_REFUSAL_CHANCE: Final = 0.3
LAZY_CHANCE: Final = 0.4
# A version with topic names.
PRODUCE_VERSION: Final = 12


class Knowledge(NamedTuple):
    """What a broker's process knows of the guests."""

    incarnation: int
    acls: AclsImage
    credential: ScramCredential | None

    @property
    def may_write(self) -> bool:
        return WRITES in self.acls.ids and WRITES_NOT not in self.acls.ids

    def is_same(self, later: "Knowledge | None") -> bool:
        """Returns True if nothing has changed in between: a change makes new objects."""
        return (
            later is not None
            and later.incarnation == self.incarnation
            and later.acls is self.acls
            and later.credential is self.credential
        )


def knowledge(node: "SimulatedNode") -> Knowledge | None:
    """What the metadata of a node says now. None if there is no process, or if it does not run now."""
    controller = None if node.node is None else node.node._controller
    if controller is None or not node.is_running or node.is_frozen:
        return None
    image = controller.image
    return Knowledge(node.incarnation, image.acls, image.scram.get((GUEST, MECHANISM_NUMBER)))


class _GuestLogin(PeerLogin):
    """The login of a guest. A lazy one does not log in again before the end of the session."""

    guest: "Guest"

    async def log_in(self, send: Send) -> float | None:
        guest = self.guest
        before = guest.look()
        again_s = await super().log_in(send)
        guest.logged_in(before)
        return None if guest.is_lazy else again_s


class Guest(Client):
    """`session_s` is how long a session is. `clock` is the time of the run in seconds."""

    def __init__(
        self,
        node: "SimulatedNode",
        administrator: Administrator,
        random: Random,
        session_s: float,
        clock: Callable[[], float],
        complain: Callable[[str], None],
    ) -> None:
        super().__init__(f"{GUEST} of {node.node_id}", Bootstrap([node.address]), GUEST_TOPIC, random)
        self.is_lazy = False
        self.acted = 0
        self.refused = 0
        # Whether the guest has acted since the administrator has finished.
        self.has_acted = False
        self._node = node
        self._administrator = administrator
        self._session_s = session_s
        self._clock = clock
        self._complain = complain
        self._password = ""
        self._logged_in_at = 0.0
        self._reconnect()

    def look(self) -> Knowledge | None:
        return knowledge(self._node)

    async def run(self) -> None:
        while not self.has_acted:
            is_final = self._administrator.is_finished
            if is_final or self.random.random() < RECONNECT_CHANCE:
                self._reconnect()
            has_acted = await self._act()
            self.has_acted = is_final and has_acted
            if not has_acted and self.random.random() < AFTER_REFUSAL_CHANCE:
                self._reconnect()
            await asyncio.sleep(self.random.uniform(*PAUSE_S))

    def _reconnect(self) -> None:
        administrator = self._administrator
        self.peers.close()
        self._password = administrator.draw_password()
        self.is_lazy = self.random.random() < LAZY_CHANCE
        if administrator.is_finished:
            self._password, self.is_lazy = list(administrator.passwords.values())[-1], False
        made = peer_login(SaslLogin(MECHANISM, GUEST, self._password), self.random)
        assert made is not None
        login = _GuestLogin(*made)
        login.guest = self
        self.peers = PeerConnections(self.name, self._address, login=login)

    def logged_in(self, before: Knowledge | None) -> None:
        """A login has succeeded. `before` is what the broker knew when it began."""
        self._logged_in_at = self._clock()
        if before is None or not before.is_same(self.look()):
            return
        credential = before.credential
        known = None if credential is None else self._administrator.passwords.get(credential.salt)
        if known != self._password:
            self._tell("login-without-user", f"logged in with {self._password!r}, the broker knows {known!r}")

    async def _act(self) -> bool:
        """Sends a request. Returns True if it was allowed."""
        chance = self.random.random()
        if chance < 0.4:
            request: Message = MetadataRequest([MetadataRequestTopic(name=GUEST_TOPIC)], False)
        elif chance < 0.8:
            request = self._produce()
        else:
            request = _markers()
        version = PRODUCE_VERSION if isinstance(request, ProduceRequest) else None
        before, began_at, logged_in_at = self.look(), self._clock(), self._logged_in_at
        answer = await self.ask(-1, request, version, TIMEOUT_MS)
        if answer is None:
            self.refused += 1
            return False
        after = self.look()
        is_over = self._logged_in_at == logged_in_at and began_at > logged_in_at + self._session_s
        # A process that was frozen handles what has arrived before it looks at its clock.
        if is_over and before is not None and before.is_same(after):
            self._tell("acts-after-session", f"{began_at - logged_in_at:.3f} s after its login")
        return self._judge(request, answer, before, after)

    def _judge(
        self, request: Message, answer: Message, before: Knowledge | None, after: Knowledge | None
    ) -> bool:
        codes = _codes(answer)
        is_allowed = ErrorCode.NONE in codes
        if not is_allowed:
            self.refused += 1
            return False
        self.acted += 1
        may = not isinstance(request, WriteTxnMarkersRequest)
        if before is not None and before.is_same(after) and not (may and before.may_write):
            self._tell("acts-without-right", f"{type(request).__name__} was answered with {codes}")
        return True

    def _tell(self, kind: str, detail: str) -> None:
        self._complain(f"{kind}: {self.name} at {self._clock():.6f}: {detail}")

    def _produce(self) -> ProduceRequest:
        now_ms = START_MS + int(self._clock() * 1000)
        batch = encode_batch([Record(None, b"a guest was here", now_ms)])
        data = PartitionProduceData(
            self.random.randrange(GUEST_PARTITIONS), RecordBytes(batch, 0, len(batch))
        )
        return ProduceRequest(
            acks=1,
            timeout_ms=TIMEOUT_MS,
            topic_data=[TopicProduceData(name=GUEST_TOPIC, partition_data=[data])],
        )


def _markers() -> WriteTxnMarkersRequest:
    """A request for which a node's right is needed (CLUSTER_ACTION)."""
    topics = [WritableTxnMarkerTopic(GUEST_TOPIC, list(range(GUEST_PARTITIONS)))]
    return WriteTxnMarkersRequest([WritableTxnMarker(1, 0, False, topics)])


def _codes(answer: Message) -> list[int]:
    if isinstance(answer, MetadataResponse):
        return [topic.error_code for topic in answer.topics]
    if isinstance(answer, WriteTxnMarkersResponse):
        markers = [topic for marker in answer.markers for topic in marker.topics]
        return [partition.error_code for topic in markers for partition in topic.partitions]
    produced = cast(ProduceResponse, answer).responses
    return [cast(Any, partition).error_code for topic in produced for partition in topic.partition_responses]
