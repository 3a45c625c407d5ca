"""A node's life: from its data folders to serving clients, and back.

    folders locked, formatted if empty -> addresses taken -> metadata log replayed -> logs opened
    -> registered with the controller -> partitions follow the image -> unfenced -> clients let in

Clients are let in last and turned away first. Whatever ends a background task ends the node: a broker that
cannot sync its disk, or apply its metadata, must not go on.
"""

import asyncio
import errno
import logging
from collections.abc import Callable
from random import Random

from gralha.broker.broker import Broker
from gralha.broker.config import Listener, NodeConfig
from gralha.broker.handlers import APIS
from gralha.broker.server import Server
from gralha.metadata.config_keys import broker_config_value
from gralha.metadata.controller.brokers import BrokerIntroduction
from gralha.metadata.formatting import FormatError, MetaProperties, prepare_folders, read_bootstrap_records
from gralha.metadata.image import Endpoint, ImageChange, MetadataError, MetadataImage
from gralha.metadata.service import ControllerService
from gralha.raft.driver import QuorumError, QuorumSettings
from gralha.raft.log import MetadataLogConfig
from gralha.raft.quorum_state import QuorumStateError
from gralha.raft.snapshots import SnapshotError
from gralha.replication.manager import ReplicaManager
from gralha.storage.cleaning import CleanerSettings, CleaningWorker
from gralha.storage.config import LogConfig
from gralha.storage.disk import Disk, FolderLock
from gralha.storage.manager import FolderLockedError, LogManager
from gralha.transactions.producer_ids import Block, ProducerIds

log = logging.getLogger("gralha.broker")

PLAINTEXT = 0


class StartError(Exception):
    """A node cannot start; the message says why and what to do."""


class Node:
    """`run` is its whole life. Time, chance and files come from whoever makes it."""

    def __init__(
        self,
        config: NodeConfig,
        disk: Disk,
        clock: Callable[[], int],
        random: Random,
        cleaning_worker: CleaningWorker | None = None,
    ) -> None:
        self.config = config
        # Where clients reach it, once it runs.
        self.addresses: list[Listener] = []
        self._disk = disk
        self._clock = clock
        self._random = random
        self._failure: asyncio.Future[None] | None = None
        self._broker_epoch = -1
        self._metadata_lock: FolderLock | None = None
        self._logs = LogManager(
            disk,
            config.log_dirs,
            LogConfig(),
            random=random,
            retention_check_interval_ms=config.number("log.retention.check.interval.ms"),
            checkpoint_interval_ms=config.number("log.flush.offset.checkpoint.interval.ms"),
            high_watermark_checkpoint_interval_ms=config.number(
                "replica.high.watermark.checkpoint.interval.ms"
            ),
            producer_expiration_ms=config.number("producer.id.expiration.ms"),
            cleaner_settings=_cleaner_settings(config, lambda name: config.text(name) or ""),
            cleaning_worker=cleaning_worker,
        )
        self._replicas = ReplicaManager(config.node_id, self._logs, self._log_config, clock, self._fail)
        self._controller: ControllerService | None = None
        self._server: Server | None = None
        self._broker: Broker | None = None

    async def run(self, stop: asyncio.Event, on_ready: "Callable[[Node], None]") -> None:
        """Start, serve until `stop` is set or something fails for good, then close."""
        loop = asyncio.get_running_loop()
        self._failure = loop.create_future()
        tasks: list[asyncio.Future[object]] = []
        try:
            server = await self._start()
            tasks = [
                asyncio.ensure_future(work)
                for work in (self._logs.run(self._clock), server.sweep(), stop.wait(), self._failure)
            ]
            on_ready(self)
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except BaseException:
            await self._abandon(tasks)
            raise
        await self._close(tasks)

    # Starting

    async def _start(self) -> Server:
        loop = asyncio.get_running_loop()
        server = self._server = await self._bind()
        folders = await loop.run_in_executor(None, self._take_folders)
        previous_epoch = await loop.run_in_executor(None, self._logs.clean_shutdown_epoch)
        controller = self._controller = self._new_controller(folders[self.config.metadata_log_dir])
        try:
            await controller.start()
        except (QuorumError, QuorumStateError, SnapshotError, MetadataError) as error:
            raise StartError(str(error)) from error
        await loop.run_in_executor(None, self._load_logs, controller)
        self._broker_epoch = await controller.register_broker(self._introduction(folders, previous_epoch))
        controller.subscribe(self._follow)
        await self._replicas.settled()
        self._report_strays()
        await controller.unfence_broker(self.config.node_id, self._broker_epoch)
        self._broker = Broker(
            self.config,
            folders[self.config.metadata_log_dir].cluster_id,
            controller,
            self._logs,
            self._replicas,
            ProducerIds(self._allocate_producer_ids),
            self._clock,
            self._random,
        )
        await server.serve(self._broker)
        return server

    async def _bind(self) -> Server:
        config = self.config
        server = Server(
            APIS,
            max_request_bytes=config.number("socket.request.max.bytes"),
            max_connections=config.number("max.connections"),
            max_connections_per_ip=config.number("max.connections.per.ip"),
            max_idle_ms=config.number("connections.max.idle.ms"),
        )
        for listener in config.client_listeners:
            try:
                port = await server.bind(listener.name, listener.host, listener.port)
            except OSError as error:
                advice = "Name an address of this machine in listeners."
                if error.errno == errno.EADDRINUSE:
                    advice = "Stop what uses the port, or take another one."
                address = f"{listener.host or '*'}:{listener.port}"
                reason = error.strerror or error
                raise StartError(f"Cannot listen on {address}: {reason}. {advice}") from None
            advertised = next((one for one in config.advertised if one.name == listener.name), listener)
            self.addresses.append(advertised._replace(port=advertised.port or port))
        return server

    def _take_folders(self) -> dict[str, MetaProperties]:
        """Lock the folders, so that no other process touches them, then see whose they are. May wait."""
        config = self.config
        try:
            self._logs.lock()
            if config.metadata_log_dir not in config.log_dirs:
                self._disk.make_folder(config.metadata_log_dir)
                self._metadata_lock = self._disk.lock_folder(config.metadata_log_dir)
                if self._metadata_lock is None:
                    raise FolderLockedError(f"{config.metadata_log_dir} is in use by another broker")
            return prepare_folders(
                self._disk,
                config.log_dirs,
                config.metadata_log_dir,
                config.node_id,
                self._clock(),
                self._random,
            )
        except FolderLockedError as error:
            raise StartError(f"{error}. Stop that one, or name another folder in log.dirs.") from None
        except FormatError as error:
            raise StartError(str(error)) from None

    def _new_controller(self, metadata_folder: MetaProperties) -> ControllerService:
        config = self.config
        quorum = QuorumSettings(
            config.node_id,
            [config.node_id],
            config.metadata_log_dir,
            self._disk,
            self._clock,
            self._fail,
            metadata_folder.directory_id,
            MetadataLogConfig(
                segment_bytes=config.number("metadata.log.segment.bytes"),
                segment_ms=config.number("metadata.log.segment.ms"),
                max_record_bytes_between_snapshots=config.number(
                    "metadata.log.max.record.bytes.between.snapshots"
                ),
                max_snapshot_interval_ms=config.number("metadata.log.max.snapshot.interval.ms"),
                max_retention_bytes=config.number("metadata.max.retention.bytes"),
                max_retention_ms=config.number("metadata.max.retention.ms"),
            ),
        )
        bootstrap = read_bootstrap_records(self._disk, config.metadata_log_dir)
        return ControllerService(quorum, config.texts, bootstrap, self._random)

    def _load_logs(self, controller: ControllerService) -> None:
        self._logs.load(self._clock(), controller.topic_config_values)

    def _introduction(self, folders: dict[str, MetaProperties], previous_epoch: int) -> BrokerIntroduction:
        return BrokerIntroduction(
            self.config.node_id,
            self._random.randbytes(16),
            tuple(Endpoint(one.name, one.host, one.port, PLAINTEXT) for one in self.addresses),
            tuple(sorted({folders[folder].directory_id for folder in self.config.log_dirs})),
            self.config.rack,
            previous_epoch=previous_epoch,
        )

    def _report_strays(self) -> None:
        """Logs without a topic are left alone: they may be all that remains of somebody's data."""
        for topic, index in self._logs.logs:
            if self._replicas.find(topic, index) is None:
                log.warning("The folder of %s-%d belongs to no topic; it is left as it is", topic, index)

    # Running

    def _follow(self, change: ImageChange, image: MetadataImage) -> None:
        self._replicas.apply(change)
        if change.broker_configs_changed:
            self._configure()

    def _configure(self) -> None:
        assert self._controller is not None
        assert self._server is not None
        layers = self._controller.context.config_layers(self._controller.image)
        self._logs.cleaner.configure(
            _cleaner_settings(self.config, lambda name: broker_config_value(name, layers) or "")
        )
        limits = self._server.limits
        limits.max_connections = int(broker_config_value("max.connections", layers) or 0)
        limits.max_connections_per_ip = int(broker_config_value("max.connections.per.ip", layers) or 0)

    def _log_config(self, topic: str) -> LogConfig:
        assert self._controller is not None
        return LogConfig(self._controller.topic_config_values(topic))

    async def _allocate_producer_ids(self) -> Block:
        assert self._controller is not None
        return await self._controller.allocate_producer_ids(self.config.node_id, self._broker_epoch)

    def _fail(self, error: BaseException) -> None:
        if self._failure is not None and not self._failure.done():
            self._failure.set_exception(error)

    # Stopping

    async def _close(self, tasks: "list[asyncio.Future[object]]") -> None:
        """In order: clients, metadata (nothing is decided any more), work on files, logs with a clean end."""
        assert self._server is not None
        assert self._controller is not None
        await self._server.close()
        if self._broker is not None:
            self._broker.groups.close()
        await self._controller.close()
        await self._replicas.settled()
        await _cancel(tasks)
        await asyncio.get_running_loop().run_in_executor(None, self._logs.close, self._broker_epoch)
        if self._metadata_lock is not None:
            self._metadata_lock.release()

    async def _abandon(self, tasks: "list[asyncio.Future[object]]") -> None:
        """After a failure: let go of everything, and leave no mark of a clean end."""
        if self._server is not None:
            await self._server.close()
        if self._broker is not None:
            self._broker.groups.close()
        await _cancel(tasks)
        self._logs.release()
        if self._metadata_lock is not None:
            self._metadata_lock.release()


def _cleaner_settings(config: NodeConfig, value_of: Callable[[str], str]) -> CleanerSettings:
    return CleanerSettings(
        enabled=config.flag("log.cleaner.enable"),
        backoff_ms=int(value_of("log.cleaner.backoff.ms")),
        dedupe_buffer_bytes=int(value_of("log.cleaner.dedupe.buffer.size")),
        io_buffer_bytes=int(value_of("log.cleaner.io.buffer.size")),
        io_max_bytes_per_second=float(value_of("log.cleaner.io.max.bytes.per.second")),
    )


async def _cancel(tasks: "list[asyncio.Future[object]]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
