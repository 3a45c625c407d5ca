"""The folders of nodes that are not running, for kafka-storage and `gralha up`.

As in `run`, the real disk, clock and randomness are used here. Every error is a FormatError with a sentence
for a person.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from random import SystemRandom

from gralha.broker.run import wall_clock_ms
from gralha.metadata.formatting import (
    FormatError,
    FormatPlan,
    FormattedFolder,
    MetaProperties,
    format_folders,
    prepare_folders,
    random_uuid,
    read_meta_properties,
)
from gralha.protocol.messages.security_records import UserScramCredentialRecord
from gralha.protocol.primitives import uuid_to_string
from gralha.security.sasl.scram import MECHANISM_NUMBERS, ScramCredential
from gralha.storage.disk import Disk, DiskError, FolderLock
from gralha.storage.real_disk import RealDisk


def new_uuid() -> bytes:
    return random_uuid(SystemRandom())


def read_identities(folders: Iterable[str]) -> dict[str, MetaProperties | None]:
    """The identities of folders. None for those that are not formatted."""
    with _for_a_person():
        disk = RealDisk()
        return {folder: read_meta_properties(disk, folder) for folder in folders}


def format_now(plan: FormatPlan) -> Iterator[FormattedFolder]:
    """Formats the folders that are not formatted yet. Yields each before it is written."""
    with _for_a_person():
        yield from format_folders(RealDisk(), plan, wall_clock_ms(), SystemRandom())


def format_with_users(
    cluster_id: str, node_id: int, folder: str, mechanism: str, users: Mapping[str, ScramCredential]
) -> None:
    """Formats the only folder of a node. These users of SCRAM exist from the beginning of the cluster."""
    records = [scram_record(name, MECHANISM_NUMBERS[mechanism], one) for name, one in users.items()]
    plan = FormatPlan(cluster_id, node_id, [folder], folder, records=records)
    for _ in format_now(plan):
        pass


def scram_record(name: str, mechanism: int, credential: ScramCredential) -> UserScramCredentialRecord:
    """The record of a user in the metadata log."""
    return UserScramCredentialRecord(
        name=name,
        mechanism=mechanism,
        salt=credential.salt,
        stored_key=credential.stored_key,
        server_key=credential.server_key,
        iterations=credential.iterations,
    )


def prepare_cluster(folders: Mapping[int, str]) -> None:
    """Formats the empty folders of a cluster's nodes, which are given by node id.

    They join the cluster of the folders that are formatted already. If there are none, the cluster id is
    random.
    """
    with _for_a_person(), ExitStack() as locks:
        disk = RealDisk()
        for folder in folders.values():
            locks.callback(_lock(disk, folder).release)
        cluster_id = _one_cluster(read_identities(folders.values())) or uuid_to_string(new_uuid())
        for node_id, folder in folders.items():
            prepare_folders(disk, [folder], folder, node_id, wall_clock_ms(), SystemRandom(), cluster_id)


def _lock(disk: Disk, folder: str) -> FolderLock:
    disk.make_folder(folder)
    lock = disk.lock_folder(folder)
    if lock is None:
        raise FormatError(f"{folder} is in use by another broker. Stop that one, or choose another folder.")
    return lock


def _one_cluster(identities: Mapping[str, MetaProperties | None]) -> str | None:
    """The cluster id of the formatted folders, or None if there are none."""
    first: tuple[str, str] | None = None
    for folder, identity in sorted(identities.items()):
        if identity is None:
            continue
        first = first or (folder, identity.cluster_id)
        if identity.cluster_id != first[1]:
            raise FormatError(
                f"{first[0]} belongs to cluster {first[1]}, but {folder} to cluster {identity.cluster_id}. "
                "Restore the folder that was here, or use an empty one."
            )
    return None if first is None else first[1]


@contextmanager
def _for_a_person() -> Iterator[None]:
    try:
        yield
    except DiskError as error:
        raise FormatError(str(error)) from error
