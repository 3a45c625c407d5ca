"""The life of a node: from its data folders to serving clients, and back.

    addresses bound -> folders locked, formatted if empty -> metadata log opened -> quorum joined
    -> registered with the controller -> logs opened -> partitions placed -> unfenced -> clients accepted

A node that is only a controller stops after the first line. Clients are accepted last and disconnected first.
A broker among several hands over its leadership before it stops. If a background task ends, the node ends: a
broker that cannot sync its disk, or apply its metadata, must not continue.
"""

import asyncio
import errno
import logging
from collections.abc import Awaitable, Callable, Coroutine
from random import Random
from typing import Any, Final, cast

from gralha.broker.active_duties import ActiveDuties
from gralha.broker.authentication import Authentication
from gralha.broker.broker import Broker
from gralha.broker.config import Listener, NodeConfig
from gralha.broker.controller_channel import ControllerChannel
from gralha.broker.folders import NodeFolders
from gralha.broker.handlers import CONTROLLER_APIS, client_apis
from gralha.broker.key_sets import FetchText
from gralha.broker.lifecycle import Lifecycle, RegistrationRefusedError
from gralha.broker.metrics.node_metrics import NodeMetrics
from gralha.broker.metrics.process import ProcessUsage
from gralha.broker.neighbours import Neighbours
from gralha.broker.node_tls import NodeTls
from gralha.broker.part_settings import (
    cleaner_settings,
    configured_voters,
    cordoned_folders,
    fetch_settings,
    lifecycle_times,
    limit_connections,
    limit_listeners,
    metadata_log_config,
    quorum_timeouts,
)
from gralha.broker.pipeline import Api, Peer, RequestContext
from gralha.broker.server import Server
from gralha.broker.start_error import HOST, METRICS, PORT, StartError
from gralha.broker.throttling import ClientThrottle
from gralha.broker.transactions.coordination import TWO_PHASE_COMMIT_ENABLE
from gralha.metadata.config_keys import broker_config_value
from gralha.metadata.features import SUPPORTED_FEATURES
from gralha.metadata.formatting import (
    MetaProperties,
    read_bootstrap_records,
)
from gralha.metadata.image import ImageChange, MetadataError, MetadataImage
from gralha.metadata.service import ControllerService
from gralha.protocol.errors import error_for
from gralha.protocol.message import Message
from gralha.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from gralha.protocol.messages.broker_registration import BrokerRegistrationRequest, Feature
from gralha.protocol.messages.broker_registration import Listener as RegisteredListener
from gralha.raft.driver import QuorumError, QuorumSettings
from gralha.raft.quorum_state import QuorumStateError
from gralha.raft.snapshots import SnapshotError
from gralha.raft.voters import VoterEndpoint
from gralha.replication.manager import ReplicaManager, ReplicationPorts
from gralha.replication.quota import UNLIMITED
from gralha.storage.cleaning import CleaningWorker
from gralha.storage.config import LogConfig
from gralha.storage.disk import Disk, DiskError
from gralha.storage.manager import LogManager
from gralha.transactions.producer_ids import Block, ProducerIds

log = logging.getLogger("gralha.broker")

CONTROLLED_SHUTDOWN_S: Final = 30.0


class Node:
    """A node. `run` is its whole life. Time, randomness and files are given by the caller."""

    def __init__(
        self,
        config: NodeConfig,
        disk: Disk,
        clock: Callable[[], int],
        random: Random,
        cleaning_worker: CleaningWorker | None = None,
        stopwatch: Callable[[], float] = lambda: asyncio.get_running_loop().time(),
        process_usage: Callable[[], ProcessUsage] = ProcessUsage,
        fetch_text: FetchText | None = None,
    ) -> None:
        """`fetch_text` reads the text at an address, in a thread."""
        self.config = config
        # The addresses for clients, and those of the controller, once the node runs.
        self.addresses: list[Listener] = []
        self.controller_addresses: list[Listener] = []
        self._disk = disk
        self._clock = clock
        self._random = random
        self._failure: asyncio.Future[None] | None = None
        self._logs = self._new_logs(cleaning_worker)
        self._folders = NodeFolders(config, disk, self._logs, clock, random)
        self._tls = NodeTls(config)
        self._neighbours = Neighbours(
            config, self._tls, lambda: self._controller, self._peer_lost, self._peer_died, self._fail, random
        )
        self._authentication = Authentication(
            config,
            lambda: None if self._controller is None else self._controller.image,
            clock,
            random,
            fetch_text or _no_text,
        )
        self._replicas = ReplicaManager(
            config.node_id, self._logs, self._log_config, clock, self._fail, self._replication_ports()
        )
        self._controller: ControllerService | None = None
        self._duties: ActiveDuties | None = None
        self._lifecycle: Lifecycle | None = None
        self._directory_ids: dict[str, bytes] = {}
        self._loading: asyncio.Future[None] | None = None  # of opening the logs, in a thread
        self.metrics = NodeMetrics(
            config,
            stopwatch,
            process_usage,
            lambda: self._broker,
            lambda: self._server.listeners + self._controller_server.listeners,
        )
        # One server for clients and other brokers, one for controller requests.
        self._server = self._new_server()
        self._controller_server = self._new_server()
        if config.broker_listener is not None:
            self._server.protect(config.broker_listener)
        self._broker: Broker | None = None
        self._tasks: list[asyncio.Future[Any]] = []

    async def run(self, stop: asyncio.Event, on_ready: "Callable[[Node], None]") -> None:
        """Starts, serves until `stop` is set or a failure, then closes."""
        loop = asyncio.get_running_loop()
        self._failure = loop.create_future()
        self._tasks = [asyncio.ensure_future(stop.wait()), self._failure]
        starting = asyncio.ensure_future(self._start())
        try:
            if await self._ended_before(starting):
                await _cancel([starting])
            else:
                on_ready(self)
                await self._ended_before(None)
            await self._hand_over()
        except BaseException as error:
            await _cancel([starting])
            await self._abandon(error)
            raise
        try:
            await self._close()
        except DiskError as error:
            self._folders.note_failed_sync(error)
            raise

    async def _ended_before(self, work: "asyncio.Future[None] | None") -> bool:
        """Waits for some work, or for the end of the node. Returns True if the end came first. Raises a
        failure.
        """
        waited_for = [*self._tasks, work] if work is not None else self._tasks
        done, _ = await asyncio.wait(waited_for, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        return work is None or work not in done

    # Starting

    async def _start(self) -> None:
        loop = asyncio.get_running_loop()
        config = self.config
        if self._tls.is_wanted:
            await loop.run_in_executor(None, self._tls.load)
        served = client_apis(config.flag(TWO_PHASE_COMMIT_ENABLE))
        await self._bind(self._server, config.client_listeners, served, self.addresses)
        await self._bind(
            self._controller_server, config.controller_listeners, CONTROLLER_APIS, self.controller_addresses
        )
        await self._bind_metrics()
        await self._authentication.start()
        for keeping_keys in self._authentication.tasks():
            self._watch(keeping_keys)
        folders = await loop.run_in_executor(None, self._folders.take)
        self._controller = self._new_controller(folders[config.metadata_log_dir])
        try:
            await self._controller.start()
        except (QuorumError, QuorumStateError, SnapshotError, MetadataError) as error:
            raise StartError(str(error)) from error
        channel = ControllerChannel(self._controller, self._neighbours.controllers, self._answer_here)
        self._controller.driver.leader_listeners.append(channel.leader_changed)
        cluster_id = folders[config.metadata_log_dir].cluster_id
        self._broker = self._new_broker(self._controller, cluster_id, channel)
        self._limit_listeners(self._broker.throttle, config.texts.get)
        self._controller.subscribe(self._authentication.follow)
        presence = self._neighbours.presence
        self._duties = ActiveDuties(self._controller, lambda: presence.dead, self._fail, self._clock)
        await self._controller_server.serve(self._broker, presence, self._broker.throttle)
        if self.metrics.address is not None:
            self._watch(self.metrics.run())
        self._watch(self._controller_server.sweep())
        if self._tls.is_wanted:
            self._watch(self._tls.follow())
        if config.is_broker:
            await self._join(self._controller, self._broker, folders)

    async def _join(
        self, controller: ControllerService, broker: Broker, folders: dict[str, MetaProperties]
    ) -> None:
        """Joins the cluster as a broker, and accepts clients."""
        loop = asyncio.get_running_loop()
        self._directory_ids = {folder: one.directory_id for folder, one in folders.items()}
        previous_epoch = await loop.run_in_executor(None, self._logs.clean_shutdown_epoch)
        assert broker.channel is not None
        lifecycle = self._lifecycle = Lifecycle(
            broker.channel,
            self._introduction(broker.cluster_id, folders, previous_epoch),
            lambda: controller.image.offset,
            lifecycle_times(self.config),
            self._has_quorum,
        )
        try:
            await lifecycle.register()
        except RegistrationRefusedError as error:
            raise StartError(str(error)) from None
        await controller.wait_for_offset(self._broker_epoch)
        self._loading = loop.run_in_executor(None, self._load_logs, controller)
        # The thread goes on even if the node is stopped meanwhile, so a stop must wait for it.
        await asyncio.shield(self._loading)
        controller.driver.leader_listeners.append(lifecycle.controller_changed)
        self._watch(self._logs.run(self._clock))
        self._watch(self._replicas.run())
        self._watch(lifecycle.run())
        self._configure()
        controller.subscribe(self._follow)
        await self._replicas.settled()
        await self._set_strays_aside()
        lifecycle.ready()
        await lifecycle.wait_until_running()
        await self._server.serve(broker, self._neighbours.presence, broker.throttle)
        self._watch(self._server.sweep())

    def _watch(self, work: Coroutine[object, object, None]) -> None:
        """Runs work in the background. If it ends, the node ends."""
        self._tasks.append(asyncio.ensure_future(work))

    def _new_logs(self, cleaning_worker: CleaningWorker | None) -> LogManager:
        config = self.config
        return LogManager(
            self._disk,
            config.log_dirs,
            LogConfig(),
            random=self._random,
            retention_check_interval_ms=config.number("log.retention.check.interval.ms"),
            checkpoint_interval_ms=config.number("log.flush.offset.checkpoint.interval.ms"),
            high_watermark_checkpoint_interval_ms=config.number(
                "replica.high.watermark.checkpoint.interval.ms"
            ),
            producer_expiration_ms=config.number("producer.id.expiration.ms"),
            cleaner_settings=cleaner_settings(config, lambda name: config.text(name) or ""),
            cleaning_worker=cleaning_worker,
        )

    def _new_server(self) -> Server:
        config = self.config
        return Server(
            max_request_bytes=config.number("socket.request.max.bytes"),
            max_connections=config.number("max.connections"),
            max_connections_per_ip=config.number("max.connections.per.ip"),
            max_idle_ms=config.number("connections.max.idle.ms"),
            meters=self.metrics.requests,
        )

    async def _bind(
        self, server: Server, listeners: list[Listener], apis: dict[int, Api], addresses: list[Listener]
    ) -> None:
        for listener in listeners:
            try:
                tls = self._tls.listeners.get(listener.name)
                login = self._authentication.login_settings(listener, apis)
                port = await server.bind(listener.name, listener.host, listener.port, apis, tls, login)
            except OSError as error:
                is_used = error.errno == errno.EADDRINUSE
                raise _not_bound(listener, error, PORT if is_used else HOST) from None
            advertised = next((one for one in self.config.advertised if one.name == listener.name), listener)
            addresses.append(advertised._replace(port=advertised.port or port))

    async def _bind_metrics(self) -> None:
        try:
            await self.metrics.bind()
        except OSError as error:
            assert self.config.metrics_listener is not None
            raise _not_bound(self.config.metrics_listener, error, METRICS) from None

    def _new_broker(
        self, controller: ControllerService, cluster_id: str, channel: ControllerChannel
    ) -> Broker:
        return Broker(
            self.config,
            cluster_id,
            controller,
            self._logs,
            self._replicas,
            ProducerIds(self._allocate_producer_ids),
            self._clock,
            self._random,
            channel,
            self._neighbours.presence,
            self._neighbours.brokers,
        )

    def _new_controller(self, metadata_folder: MetaProperties) -> ControllerService:
        config = self.config
        quorum = QuorumSettings(
            config.node_id,
            configured_voters(config),
            config.metadata_log_dir,
            self._disk,
            self._clock,
            self._fail,
            metadata_folder.directory_id,
            metadata_log_config(config),
            self._neighbours.controllers,
            quorum_timeouts(config),
            self._random,
            metadata_folder.cluster_id,
            bootstrap=[-2 - number for number in range(len(config.quorum_servers))],
            can_vote=config.is_controller,
            # Configured voters have their addresses in the configuration.
            endpoints=()
            if config.voters
            else tuple(VoterEndpoint(one.name, one.host, one.port) for one in config.controller_endpoints),
            listener_name=next(iter(config.controller_listener_names), ""),
        )
        bootstrap = read_bootstrap_records(self._disk, config.metadata_log_dir)
        return ControllerService(quorum, config.texts, bootstrap, self._random)

    def _load_logs(self, controller: ControllerService) -> None:
        self._logs.load(self._clock(), controller.topic_config_values)

    def _introduction(
        self, cluster_id: str, folders: dict[str, MetaProperties], previous_epoch: int
    ) -> BrokerRegistrationRequest:
        return BrokerRegistrationRequest(
            broker_id=self.config.node_id,
            cluster_id=cluster_id,
            incarnation_id=self._random.randbytes(16),
            listeners=[
                RegisteredListener(one.name, one.host, one.port, one.protocol_number)
                for one in self.addresses
            ],
            features=[Feature(name, low, high) for name, (low, high) in SUPPORTED_FEATURES.items()],
            rack=self.config.rack,
            log_dirs=sorted({folders[folder].directory_id for folder in self.config.log_dirs}),
            previous_broker_epoch=previous_epoch,
        )

    def _replication_ports(self) -> ReplicationPorts:
        config = self.config
        return ReplicationPorts(
            self._neighbours.brokers,
            self._ask_controller,
            lambda: self._broker_epoch,
            self._neighbours.registration,
            config.number("replica.lag.time.max.ms"),
            fetch_settings(config),
        )

    async def _ask_controller(self, request: Message) -> Message:
        assert self._broker is not None
        return await self._broker.ask_controller(request)

    @property
    def _broker_epoch(self) -> int:
        """The epoch of the newest registration. The controller may ask for a new one at any time."""
        return -1 if self._lifecycle is None else self._lifecycle.epoch

    async def _set_strays_aside(self) -> None:
        """Renames the folders of partitions that do not belong to this broker any more, as Kafka does.

        Their topic was deleted, or they were moved, while this broker was down. That is certain, because the
        metadata is as new as this broker's registration. But the folders are not deleted: they may be the
        last copy of somebody's data.
        """
        assert self._controller is not None
        for topic, index in [*self._logs.logs, *self._logs.offline]:
            partition = self._controller.image.partition(topic, index)
            if partition is None or self.config.node_id not in partition.replicas:
                path = await self._logs.set_aside_in_thread(topic, index)
                log.warning(
                    "%s-%d does not belong to this broker any more. Its folder was renamed to %s. Remove it "
                    "if nobody needs its records.",
                    topic,
                    index,
                    path,
                )

    # Running

    def _follow(self, change: ImageChange, image: MetadataImage) -> None:
        controller = self._controller
        assert controller is not None
        # First the settings: they say which folders get new partitions.
        if change.broker_configs_changed:
            self._configure()
        self._replicas.apply(change)
        for broker_id in change.changed_brokers:
            if (broker := image.brokers.get(broker_id)) is not None and not broker.fenced:
                self._neighbours.presence.alive(broker_id)
                if broker.in_controlled_shutdown and self._lifecycle is not None:
                    self._lifecycle.others_wait()

    def _configure(self) -> None:
        assert self._controller is not None
        layers = self._controller.context.config_layers(self._controller.image)
        self._logs.cleaner.configure(
            cleaner_settings(self.config, lambda name: broker_config_value(name, layers) or "")
        )
        self._replicas.leader_quota.bytes_per_second = int(
            broker_config_value("leader.replication.throttled.rate", layers) or UNLIMITED
        )
        self._replicas.follower_quota.bytes_per_second = int(
            broker_config_value("follower.replication.throttled.rate", layers) or UNLIMITED
        )
        self._logs.expire_producers_after(int(broker_config_value("producer.id.expiration.ms", layers) or 0))
        self._cordon(broker_config_value("cordoned.log.dirs", layers) or "")
        self._tls.configure(layers)
        assert self._broker is not None
        throttle = self._broker.throttle
        limit_connections(self._server.limits, throttle, lambda name: broker_config_value(name, layers))
        self._limit_listeners(throttle, lambda name: broker_config_value(name, layers))

    def _limit_listeners(self, throttle: ClientThrottle, text: Callable[[str], str | None]) -> None:
        limits = [self._server.limits, self._controller_server.limits]
        limit_listeners(self.config, limits, throttle, text)

    def _cordon(self, value: str) -> None:
        cordoned = self._logs.cordoned = cordoned_folders(value, self.config.log_dirs)
        if self._lifecycle is not None:
            self._lifecycle.cordon(sorted({self._directory_ids[folder] for folder in cordoned}))

    def _log_config(self, topic: str) -> LogConfig:
        assert self._controller is not None
        return LogConfig(self._controller.topic_config_values(topic))

    async def _allocate_producer_ids(self) -> Block:
        assert self._broker is not None
        request = AllocateProducerIdsRequest(broker_id=self.config.node_id, broker_epoch=self._broker_epoch)
        response = cast(AllocateProducerIdsResponse, await self._broker.ask_controller(request))
        if response.error_code:
            raise error_for(response.error_code)
        return response.producer_id_start, response.producer_id_len

    # Other nodes

    def _answer_here(self, request: Message) -> Message | Awaitable[Message]:
        """The answer of this node's controller to this node's broker."""
        api = CONTROLLER_APIS[request.API_KEY]
        peer = Peer("127.0.0.1", 0, "", "User:ANONYMOUS", CONTROLLER_APIS)
        peer.is_this_node = True
        context = RequestContext(peer, api.max_version, None)
        answer = api.handle(self._broker, context, request)
        assert answer is not None
        return cast(Message | Awaitable[Message], answer)

    def _peer_lost(self, node_id: int) -> None:
        """A node has closed its last connection with this one. The controller gets a heartbeat."""
        assert self._controller is not None
        self._controller.context.liveness.disconnected(node_id)
        if node_id == self._controller.leader_id and self._lifecycle is not None:
            self._lifecycle.controller_lost()

    def _peer_died(self, node_id: int) -> None:
        """The process of a node has ended. The quorum may need a new leader, and partitions may, too."""
        assert self._controller is not None
        assert self._duties is not None
        self._controller.context.liveness.died(node_id)
        self._controller.driver.peer_lost(node_id)
        self._duties.wake()
        if self._lifecycle is not None:
            self._lifecycle.peer_died()

    def _has_quorum(self) -> bool:
        """Returns True if enough controllers may live to elect one of them."""
        assert self._controller is not None
        voters = self._controller.driver.voter_ids
        dead = self._neighbours.presence.dead
        return 2 * sum(voter not in dead for voter in voters) > len(voters)

    def _fail(self, error: BaseException) -> None:
        if self._failure is not None and not self._failure.done():
            self._failure.set_exception(error)

    # Stopping

    async def _hand_over(self) -> None:
        """Waits until other brokers lead this broker's partitions. Raises a failure that comes first."""
        if self._lifecycle is None or not self._has_successors():
            return
        assert self._failure is not None
        relieved = asyncio.ensure_future(self._lifecycle.stop(CONTROLLED_SHUTDOWN_S))
        ends: list[asyncio.Future[Any]] = [relieved, self._failure]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _cancel([relieved])
        self._raise_failure()

    def _raise_failure(self) -> None:
        failure = self._failure
        if failure is not None and failure.done() and not failure.cancelled():
            failure.result()

    async def _close(self) -> None:
        """Closes in order: clients, metadata (no more decisions), work on files, logs."""
        await self.metrics.close()
        await self._server.close()
        if self._broker is not None:
            self._broker.close_coordinators()
        await self._replicas.close()
        if self._duties is not None:
            self._duties.close()
        if self._controller is not None:
            await self._controller.close()
        await self._controller_server.close()
        self._neighbours.close()
        await _cancel(self._tasks)
        self._raise_failure()
        await self._close_logs()
        self._folders.release()

    async def _close_logs(self) -> None:
        """Writes the marks of a clean stop only if all logs were opened. Others may need recovery after a
        crash.
        """
        if await self._are_logs_open():
            await asyncio.get_running_loop().run_in_executor(None, self._logs.close, self._broker_epoch)
        else:
            self._logs.release()

    async def _are_logs_open(self) -> bool:
        """Waits for the thread that opens the logs, if there is one."""
        if self._loading is None:
            return False
        await asyncio.wait([self._loading])
        return self._loading.exception() is None

    def _has_successors(self) -> bool:
        """Returns True if another broker could lead this broker's partitions."""
        assert self._controller is not None
        brokers = self._controller.image.brokers.values()
        return any(broker.is_active and broker.id != self.config.node_id for broker in brokers)

    async def _abandon(self, error: BaseException) -> None:
        """After a failure: closes everything, without the marks of a clean stop."""
        await self.metrics.close()
        await self._server.close()
        await self._controller_server.close()
        if self._broker is not None:
            self._broker.close_coordinators()
        self._replicas.checks.close()
        if self._duties is not None:
            self._duties.close()
        self._neighbours.close()
        await _cancel(self._tasks)
        await self._are_logs_open()
        self._logs.release()
        self._folders.note_failed_sync(error)
        self._folders.release()


def _not_bound(listener: Listener, error: OSError, setting: str) -> StartError:
    address = f"{listener.host or '*'}:{listener.port}"
    return StartError(f"Cannot listen on {address}: {error.strerror or error}", setting)


def _no_text(url: str) -> str:
    raise OSError("this node reads nothing from addresses")


async def _cancel(tasks: "list[asyncio.Future[Any]]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
