"""Formats an empty folder as the data folder of a node: its identity and the first records of the cluster.

    meta.properties         the identity: cluster.id, node.id and the directory.id of the folder
    bootstrap.checkpoint    the records that the first controller writes into the metadata log
    __cluster_metadata-0/   in a dynamic quorum (KIP-853) a first snapshot of that log, with the voters

`kafka-storage format` formats folders on request, a server on its first start. `meta.properties` is written
last, so a folder without it is not formatted. A folder with partitions but without `meta.properties` has lost
that file, and does not count as empty.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from random import Random
from typing import Final, NamedTuple, Protocol

from gralha.metadata.features import BOOTSTRAP_FEATURES
from gralha.metadata.image import METADATA_VERSION
from gralha.metadata.records import decode_record, encode_record
from gralha.protocol.control_records import (
    KRAFT_VERSION,
    KRAFT_VOTERS,
    SNAPSHOT_FOOTER,
    SNAPSHOT_HEADER,
    control_key,
    encode_control_batch,
)
from gralha.protocol.message import Message
from gralha.protocol.messages.cluster_records import FeatureLevelRecord
from gralha.protocol.messages.raft_records import (
    Endpoint,
    KRaftVersionFeature,
    KRaftVersionRecord,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    Voter,
    VotersRecord,
)
from gralha.protocol.primitives import ZERO_UUID, uuid_from_string, uuid_to_string
from gralha.protocol.properties import parse_properties
from gralha.protocol.records import Record, encode_batch
from gralha.raft.snapshots import SnapshotError, SnapshotId, decode_snapshot, encode_message, encode_snapshot

META_PROPERTIES: Final = "meta.properties"
BOOTSTRAP_CHECKPOINT: Final = "bootstrap.checkpoint"
METADATA_PARTITION: Final = "__cluster_metadata-0"
_FIRST_SNAPSHOT: Final = SnapshotId(0, 0)
_KRAFT_VERSION_MAX: Final = 1
_PARTITION_FOLDER: Final = re.compile(r".+-\d+")
_CLUSTER_ID: Final = re.compile(r"[\w.-]+", re.ASCII)
_VOTER: Final = re.compile(r"(\d+)@(\[[^\]]+\]|[^:\[\]]+):(\d+):([\w-]{22})", re.ASCII)


class FormatError(Exception):
    """A folder cannot be used or formatted. The message says why, and what to do."""


class Files(Protocol):
    """The part of `storage.disk.Disk` that this module needs."""

    def list_folder(self, path: str, /) -> list[str]: ...
    def exists(self, path: str, /) -> bool: ...
    def make_folder(self, path: str, /) -> None: ...
    def read_file(self, path: str, /) -> bytes | None: ...
    def write_file_atomically(self, path: str, data: bytes, /) -> None: ...


class MetaProperties(NamedTuple):
    """The identity of a folder. Folders of old clusters have no directory id."""

    cluster_id: str
    node_id: int
    directory_id: bytes = ZERO_UUID


class InitialVoter(NamedTuple):
    """A voter of the first quorum: its node id, its controller's address, its metadata folder's id."""

    node_id: int
    host: str
    port: int
    directory_id: bytes


class FormatPlan(NamedTuple):
    """The identity to format folders with. With `voters` the quorum is dynamic."""

    cluster_id: str
    node_id: int
    folders: Sequence[str]
    metadata_folder: str
    features: Mapping[str, int] = BOOTSTRAP_FEATURES
    voters: Sequence[InitialVoter] = ()
    controller_listener_name: str = "CONTROLLER"
    # More records that the cluster begins with, such as users of SCRAM.
    records: Sequence[Message] = ()


class FormattedFolder(NamedTuple):
    folder: str
    description: str
    properties: MetaProperties


def random_uuid(random: Random) -> bytes:
    """A UUID of version 4 whose text does not begin with a dash, which a command takes for a flag."""
    while True:
        drawn = bytearray(random.randbytes(16))
        drawn[6] = drawn[6] & 0x0F | 0x40
        drawn[8] = drawn[8] & 0x3F | 0x80
        if not uuid_to_string(bytes(drawn)).startswith("-"):
            return bytes(drawn)


# --- meta.properties ----------------------------------------------------------------------------------


def encode_meta_properties(properties: MetaProperties, now_ms: int) -> bytes:
    written = datetime.fromtimestamp(now_ms // 1000, UTC).strftime("%a %b %d %H:%M:%S UTC %Y")
    lines = [
        "#",
        f"#{written}",
        f"node.id={properties.node_id}",
        f"directory.id={uuid_to_string(properties.directory_id)}",
        "version=1",
        f"cluster.id={properties.cluster_id}",
    ]
    return "".join(f"{line}\n" for line in lines).encode()


def decode_meta_properties(path: str, data: bytes) -> MetaProperties:
    try:
        values = {name: value for name, value, _ in parse_properties(data.decode())}
        version = values.get("version")
        if version != "1":
            raise ValueError(f"version is {version}, but only 1 is supported")
        for name in ("cluster.id", "node.id"):
            if not values.get(name):
                raise ValueError(f"{name} is missing")
        if not values["node.id"].isdecimal():
            raise ValueError(f"node.id={values['node.id']} is not a number")
        directory = values.get("directory.id")
        directory_id = ZERO_UUID if directory is None else uuid_from_string(directory)
    except ValueError as error:
        raise FormatError(f"{path} cannot be used: {error}") from None
    return MetaProperties(values["cluster.id"], int(values["node.id"]), directory_id)


def read_meta_properties(files: Files, folder: str) -> MetaProperties | None:
    """The identity of a folder, or None if it is not formatted."""
    path = f"{folder}/{META_PROPERTIES}"
    data = files.read_file(path)
    return None if data is None else decode_meta_properties(path, data)


def verify(
    found: Mapping[str, MetaProperties | None], node_id: int, cluster_id: str | None = None
) -> str | None:
    """The cluster of all formatted folders. Raises FormatError if a folder is of another node or cluster."""
    directory_ids: dict[bytes, str] = {}
    for folder, properties in found.items():
        if properties is None:
            continue
        path = f"{folder}/{META_PROPERTIES}"
        cluster_id = cluster_id or properties.cluster_id
        if properties.cluster_id != cluster_id:
            raise FormatError(f"{path} says cluster.id={properties.cluster_id}, expected {cluster_id}")
        if properties.node_id != node_id:
            raise FormatError(
                f"{path} says node.id={properties.node_id}, but this node is {node_id}. If you have moved "
                f"the data, set node.id={properties.node_id}. For a new node, use an empty folder."
            )
        other = directory_ids.setdefault(properties.directory_id, folder)
        if other != folder and properties.directory_id != ZERO_UUID:
            raise FormatError(f"{other} and {folder} have the same directory.id: one is a copy of the other")
    return cluster_id


# --- formatting ---------------------------------------------------------------------------------------


def format_folders(files: Files, plan: FormatPlan, now_ms: int, random: Random) -> Iterator[FormattedFolder]:
    """Formats the folders that are not formatted yet, and yields each before it is written. This blocks."""
    if not _CLUSTER_ID.fullmatch(plan.cluster_id):
        raise FormatError(
            f"{plan.cluster_id!r} is not a valid cluster id. Use letters, digits, dots, dashes and "
            "underscores, or an id from kafka-storage random-uuid."
        )
    found = {folder: read_meta_properties(files, folder) for folder in sorted(set(plan.folders))}
    verify(found, plan.node_id, plan.cluster_id)
    taken = {properties.directory_id for properties in found.values() if properties is not None}
    # The metadata folder first: after a crash in between, the others look like new disks.
    for folder in sorted(found, key=lambda folder: folder != plan.metadata_folder):
        if found[folder] is not None:
            continue
        directory_id = _directory_id(plan, folder, taken, random)
        taken.add(directory_id)
        new = MetaProperties(plan.cluster_id, plan.node_id, directory_id)
        yield FormattedFolder(folder, _description(plan, folder), new)
        files.make_folder(folder)
        checkpoint = bootstrap_checkpoint(plan.features, now_ms, plan.records)
        files.write_file_atomically(f"{folder}/{BOOTSTRAP_CHECKPOINT}", checkpoint)
        if plan.voters and folder == plan.metadata_folder:
            partition = f"{folder}/{METADATA_PARTITION}"
            files.make_folder(partition)
            files.write_file_atomically(
                f"{partition}/{_FIRST_SNAPSHOT.file_name}",
                quorum_checkpoint(plan.voters, plan.controller_listener_name, now_ms),
            )
        files.write_file_atomically(f"{folder}/{META_PROPERTIES}", encode_meta_properties(new, now_ms))


def shared_cluster_id(voters: Iterable[str]) -> str:
    """The cluster id that nodes derive from their common list of voters, before they have talked."""
    digest = hashlib.sha256(",".join(sorted(voters)).encode()).digest()
    return uuid_to_string(digest[:16])


def prepare_folders(
    files: Files,
    folders: Sequence[str],
    metadata_folder: str,
    node_id: int,
    now_ms: int,
    random: Random,
    new_cluster_id: str | None = None,
) -> dict[str, MetaProperties]:
    """The identities of a starting server's folders. Empty folders are formatted first. This blocks.

    If some folders are formatted and one is empty (a new disk), the empty one joins their cluster. A node
    without any formatted folder uses `new_cluster_id`, or a random id.
    """
    wanted = sorted({*folders, metadata_folder})
    found = {folder: read_meta_properties(files, folder) for folder in wanted}
    cluster_id = verify(found, node_id)
    for folder, properties in found.items():
        if properties is None:
            _check_empty(files, folder)
    if found[metadata_folder] is None and cluster_id is not None:
        raise FormatError(
            f"{metadata_folder} is empty, but other folders of this node belong to cluster {cluster_id}. "
            "It had the metadata of the cluster. Restore it, or format it with kafka-storage to start again."
        )
    cluster_id = cluster_id or new_cluster_id or uuid_to_string(random_uuid(random))
    plan = FormatPlan(cluster_id, node_id, wanted, metadata_folder)
    for formatted in format_folders(files, plan, now_ms, random):
        found[formatted.folder] = formatted.properties
    return {folder: properties for folder, properties in found.items() if properties is not None}


def _check_empty(files: Files, folder: str) -> None:
    if files.exists(folder) and any(_PARTITION_FOLDER.fullmatch(name) for name in files.list_folder(folder)):
        raise FormatError(
            f"{folder} has partitions but no {META_PROPERTIES}. Restore that file, or give the cluster id "
            "with kafka-storage format --cluster-id."
        )


def _directory_id(plan: FormatPlan, folder: str, taken: set[bytes], random: Random) -> bytes:
    """The id from the node's own voter for the metadata folder, otherwise a new one."""
    if folder == plan.metadata_folder:
        for voter in plan.voters:
            if voter.node_id == plan.node_id:
                return voter.directory_id
    while (directory_id := random_uuid(random)) in taken:
        pass
    return directory_id


def _description(plan: FormatPlan, folder: str) -> str:
    if folder != plan.metadata_folder:
        return "data directory"
    if not plan.voters:
        return "metadata directory"
    if any(voter.node_id == plan.node_id for voter in plan.voters):
        return "dynamic metadata voter directory"
    return "dynamic metadata directory"


# --- the first records --------------------------------------------------------------------------------


def bootstrap_records(features: Mapping[str, int]) -> list[Message]:
    """The records of bootstrap.checkpoint: the levels of features, with metadata.version first."""
    names = sorted(features, key=lambda name: (name != METADATA_VERSION, name))
    return [FeatureLevelRecord(name=name, feature_level=features[name]) for name in names]


def bootstrap_checkpoint(features: Mapping[str, int], now_ms: int, records: Iterable[Message] = ()) -> bytes:
    values = [encode_record(record) for record in (*bootstrap_records(features), *records)]
    return b"".join(encode_snapshot(values, 0, now_ms, 0))


def read_bootstrap_records(files: Files, folder: str) -> list[Message]:
    """The records that the first controller writes into its metadata log. This blocks."""
    path = f"{folder}/{BOOTSTRAP_CHECKPOINT}"
    data = files.read_file(path)
    if data is None:
        return bootstrap_records(BOOTSTRAP_FEATURES)
    try:
        return [decode_record(value) for value in decode_snapshot(data).values]
    except (SnapshotError, ValueError) as error:
        raise FormatError(
            f"{path} is damaged: {error}. Format an empty folder, or restore the file."
        ) from error


def quorum_checkpoint(voters: Iterable[InitialVoter], listener_name: str, now_ms: int) -> bytes:
    """The first snapshot of a metadata log that has its voters as records (KIP-853)."""
    voter_records = [
        Voter(
            voter_id=voter.node_id,
            voter_directory_id=voter.directory_id,
            endpoints=[Endpoint(name=listener_name, host=voter.host, port=voter.port)],
            kraft_version_feature=KRaftVersionFeature(0, _KRAFT_VERSION_MAX),
        )
        for voter in voters
    ]
    messages: list[tuple[int, Message]] = [
        (SNAPSHOT_HEADER, SnapshotHeaderRecord(last_contained_log_timestamp=now_ms)),
        (KRAFT_VERSION, KRaftVersionRecord(kraft_version=_KRAFT_VERSION_MAX)),
        (KRAFT_VOTERS, VotersRecord(voters=voter_records)),
    ]
    records = [Record(control_key(kind), encode_message(message), now_ms) for kind, message in messages]
    footer = encode_message(SnapshotFooterRecord())
    return encode_batch(records, leader_epoch=0, control=True) + encode_control_batch(
        SNAPSHOT_FOOTER, footer, timestamp_ms=now_ms, base_offset=len(records), leader_epoch=0
    )


def parse_initial_voters(text: str) -> list[InitialVoter]:
    """The voters in Kafka's form: id@host:port:directory, separated by commas."""
    voters: list[InitialVoter] = []
    for item in text.split(","):
        parts = _VOTER.fullmatch(item.strip())
        if parts is None or int(parts[3]) > 65535:
            raise FormatError(
                f"{item.strip()!r} is not a controller: expected id@host:port:directory, with a "
                "directory id from kafka-storage random-uuid"
            )
        if any(voter.node_id == int(parts[1]) for voter in voters):
            raise FormatError(f"controller {parts[1]} is named twice")
        try:
            directory_id = uuid_from_string(parts[4])
        except ValueError as error:
            raise FormatError(str(error)) from None
        voters.append(InitialVoter(int(parts[1]), parts[2].strip("[]"), int(parts[3]), directory_id))
    return voters
