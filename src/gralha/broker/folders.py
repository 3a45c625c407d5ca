"""The data folders of a node: locked for it alone, formatted if empty, marked after a failed sync."""

from collections.abc import Callable
from random import Random

from gralha.broker.config import NodeConfig
from gralha.broker.start_error import FOLDER, StartError
from gralha.metadata.formatting import (
    FormatError,
    MetaProperties,
    prepare_folders,
    read_meta_properties,
    shared_cluster_id,
)
from gralha.storage.disk import Disk, DiskError, FolderLock
from gralha.storage.failed_sync import mark_failed_sync, write_unsynced_again
from gralha.storage.manager import FolderLockedError, LogManager


class NodeFolders:
    """The folders of the logs, and the one of the metadata log, which may be one of them."""

    def __init__(
        self, config: NodeConfig, disk: Disk, logs: LogManager, clock: Callable[[], int], random: Random
    ) -> None:
        self._config = config
        self._disk = disk
        self._logs = logs
        self._clock = clock
        self._random = random
        self._metadata_lock: FolderLock | None = None
        self._names = sorted({*config.log_dirs, config.metadata_log_dir})

    def take(self) -> dict[str, MetaProperties]:
        """Locks the folders, then reads their identity. This blocks."""
        config = self._config
        try:
            self._logs.lock()
            if config.metadata_log_dir not in config.log_dirs:
                self._disk.make_folder(config.metadata_log_dir)
                self._metadata_lock = self._disk.lock_folder(config.metadata_log_dir)
                if self._metadata_lock is None:
                    raise FolderLockedError(f"{config.metadata_log_dir} is in use by another broker")
            write_unsynced_again(self._disk, self._names)
            return prepare_folders(
                self._disk,
                config.log_dirs,
                config.metadata_log_dir,
                config.node_id,
                self._clock(),
                self._random,
                self._shared_cluster_id(),
            )
        except FolderLockedError as error:
            raise StartError(str(error), FOLDER) from None
        except FormatError as error:
            raise StartError(str(error)) from None

    def _shared_cluster_id(self) -> str | None:
        """The cluster id that nodes derive when they format their own folders. None if this node is alone."""
        config = self._config
        voters = config.voters
        if not voters and config.quorum_servers:
            if read_meta_properties(self._disk, config.metadata_log_dir) is None:
                raise FormatError(
                    f"{config.metadata_log_dir} is empty, and controller.quorum.bootstrap.servers does not "
                    "tell its cluster. Run kafka-storage format --cluster-id ID --no-initial-controllers "
                    "with this configuration first."
                )
            return None
        if len(voters) <= 1 and config.is_controller:
            return None
        return shared_cluster_id(f"{one.node_id}@{one.host}:{one.port}" for one in voters)

    def note_failed_sync(self, error: BaseException) -> None:
        """After a failed sync: marks the folders, so that the next process does not trust the page cache."""
        if isinstance(error, DiskError) and error.is_fatal:
            mark_failed_sync(self._disk, self._names)

    def release(self) -> None:
        """Unlocks the folder of the metadata log. The logs unlock theirs when they are closed."""
        if self._metadata_lock is not None:
            self._metadata_lock.release()
