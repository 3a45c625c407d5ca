"""The parts of a node that request handlers use."""

import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Final, TypeVar, cast

from gralha.broker.audit import Audit
from gralha.broker.config import NodeConfig
from gralha.broker.controller_channel import ControllerChannel
from gralha.broker.departures import Departures
from gralha.broker.fetching.sessions import FetchSessions
from gralha.broker.group_coordination import coordinate_groups, follow_topics
from gralha.broker.peers import PeerConnections
from gralha.broker.pipeline import Peer, RequestContext
from gralha.broker.presence import Presence
from gralha.broker.rights import Rights, new_authorizer
from gralha.broker.throttling import ClientThrottle
from gralha.broker.transactions.coordination import coordinate_transactions
from gralha.broker.transactions.markers import Markers
from gralha.broker.transactions.verifier import Verifier
from gralha.broker.warnings_once import WarningsOnce
from gralha.metadata.controller.decision import Decision
from gralha.metadata.image import MetadataImage
from gralha.metadata.service import ControllerService
from gralha.protocol.errors import NotControllerError
from gralha.protocol.message import Message
from gralha.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from gralha.protocol.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse
from gralha.protocol.peers import PeerError
from gralha.replication.manager import ReplicaManager
from gralha.storage.manager import LogManager
from gralha.transactions.producer_ids import ProducerIds
from gralha.transactions.transaction import Transaction

Response = TypeVar("Response")

READER_THREADS: Final = 8
FORWARD_TIMEOUT_MS: Final = 30_000
BROKER_LANE: Final = "broker"
MARKERS_LANE: Final = "markers"
VERIFY_LANE: Final = "verify"


class Broker:
    """The parts of a running node, by name. `clock` is the wall-clock time in milliseconds."""

    def __init__(
        self,
        config: NodeConfig,
        cluster_id: str,
        controller: ControllerService,
        logs: LogManager,
        replicas: ReplicaManager,
        producer_ids: ProducerIds,
        clock: Callable[[], int],
        random: Random,
        channel: ControllerChannel | None = None,
        presence: Presence | None = None,
        peers: PeerConnections | None = None,
    ) -> None:
        """`peers` are the other brokers."""
        self.config = config
        self.cluster_id = cluster_id
        self.controller = controller
        self.logs = logs
        self.replicas = replicas
        self.producer_ids = producer_ids
        self.clock = clock
        self.random = random
        self.channel = channel
        self.peers = peers
        self._presence = presence
        self.rights = Rights(new_authorizer(config), Audit(clock))
        controller.subscribe(self.rights.follow)
        # Reads that clients can cause have their own threads, so that a slow disk delays neither the metadata
        # log nor the work on files.
        self.readers = ThreadPoolExecutor(READER_THREADS, thread_name_prefix="gralha-read")
        self.fetch_sessions = FetchSessions(
            config.number("max.incremental.fetch.session.cache.slots"), random
        )

        self.groups = coordinate_groups(config, lambda: self.image, replicas, clock, random, self.readers)
        controller.subscribe(lambda change, _image: follow_topics(self.groups, change))
        self._markers = Markers(lambda: self.image, replicas, self._write_markers, self._complete)
        self.transactions = coordinate_transactions(
            config, lambda: self.image, replicas, clock, self.readers, producer_ids, self._markers.send
        )
        self.verifier = Verifier(
            lambda: self.image,
            self._verify_partitions,
            config.number("add.partitions.to.txn.retry.backoff.max.ms") / 1000,
            replicas.on_failure,
        )
        self.departures = Departures()
        self.throttle = ClientThrottle(config, self.rights.acts_as_node)
        controller.subscribe(self.throttle.follow)
        self.warnings = WarningsOnce(logging.getLogger("gralha.broker"))
        controller.subscribe(lambda _change, image: self.departures.follow(image.brokers, clock()))

    async def execute(self, decide: Callable[[MetadataImage], Decision[Response]]) -> Response:
        """Lets the controller decide. Returns when this broker has applied the decision."""
        response = await self.controller.execute(decide)
        await self.replicas.settled()
        return response

    async def decide(
        self,
        request: Message,
        context: RequestContext,
        decide: Callable[[], Awaitable[Message]],
        timeout_ms: int = FORWARD_TIMEOUT_MS,
    ) -> Message:
        """Lets the active controller decide, on any node. `decide` asks the controller of this node."""
        if self.channel is None:
            return await decide()
        return await self.channel.forward(request, context, decide, timeout_ms=timeout_ms)

    async def ask_controller(self, request: Message) -> Message:
        """The active controller's answer to a request of this broker. NOT_CONTROLLER if there is none."""
        if self.channel is None:
            raise NotControllerError
        return await self.channel.ask(request, timeout_ms=FORWARD_TIMEOUT_MS, lane=BROKER_LANE)

    def verifies_transactions(self) -> bool:
        """The setting transaction.partition.verification.enable."""
        return self.config.flag("transaction.partition.verification.enable")

    def close_coordinators(self) -> None:
        """Forget the state of all groups and transactions. Clients are sent to the next coordinators."""
        self.groups.close()
        self.transactions.close()
        self._markers.close()
        self.verifier.close()

    def _complete(self, prepared: Transaction) -> None:
        """All partitions of a transaction have their marker."""
        self.transactions.run(
            prepared.transactional_id, lambda shard, now_ms: shard.complete(prepared, now_ms)
        )

    async def _write_markers(
        self, broker_id: int, request: WriteTxnMarkersRequest
    ) -> WriteTxnMarkersResponse:
        """Writes markers on a broker, which may be this one."""
        if broker_id == self.config.node_id:
            from gralha.broker.handlers import write_txn_markers

            return await write_txn_markers.write(self, request)
        return cast(WriteTxnMarkersResponse, await self._ask_broker(broker_id, request, MARKERS_LANE))

    async def _verify_partitions(self, broker_id: int, request: AddPartitionsToTxnRequest) -> Message:
        """Asks the transaction coordinator on a broker, which may be this one."""
        if broker_id == self.config.node_id:
            from gralha.broker.handlers import add_partitions_to_txn

            return await add_partitions_to_txn.answer_broker(self, request)
        return await self._ask_broker(broker_id, request, VERIFY_LANE)

    async def _ask_broker(self, broker_id: int, request: Message, lane: str) -> Message:
        if self.peers is None:
            raise PeerError("this node has no connections to other brokers")
        timeout_ms = self.config.number("request.timeout.ms")
        return await self.peers.ask(broker_id, request, timeout_ms=timeout_ms, lane=lane)

    def meet(self, peer: Peer, node_id: int) -> None:
        """The other end of a connection is a node of the cluster. This node's own broker does not count."""
        if self._presence is None or node_id in (peer.node_id, self.config.node_id):
            return
        if peer.node_id >= 0:
            self._presence.disconnected(peer.node_id, peer, closed_here=True)
        peer.node_id = node_id
        self._presence.connected(node_id, peer)

    @property
    def image(self) -> MetadataImage:
        """The committed metadata of the cluster."""
        return self.controller.image
