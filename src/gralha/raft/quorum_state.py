"""Who this voter voted for and who leads: Kafka's `quorum-state` file.

It is the one promise of a voter that outlives it: never two votes in one epoch. So it is on the device before
anything that follows from it happens, and a file that cannot be read stops the node (KAFKA-16526): to start
without it could mean to vote twice.
"""

import json
from typing import Any, Final, NamedTuple

from gralha.protocol.primitives import ZERO_UUID, ProtocolError, uuid_from_string, uuid_to_string
from gralha.storage.disk import Disk

QUORUM_STATE_FILE: Final = "quorum-state"
NOBODY: Final = -1
_NEWEST_VERSION: Final = 1


class QuorumStateError(Exception):
    """The quorum-state file cannot be used. The message says what a person can do."""


class ElectionState(NamedTuple):
    """An epoch, its leader if known, and whom this voter voted for if it did."""

    epoch: int
    leader_id: int = NOBODY
    voted_id: int = NOBODY
    voted_directory_id: bytes = ZERO_UUID


def read_quorum_state(disk: Disk, folder: str) -> ElectionState | None:
    """The state that was saved last, None if there never was one. May wait."""
    path = f"{folder}/{QUORUM_STATE_FILE}"
    data = disk.read_file(path)
    if data is None:
        return None
    try:
        return _decode(data)
    except (ValueError, KeyError, TypeError, ProtocolError) as error:
        raise QuorumStateError(
            f"{path} cannot be read ({error}). It says which votes this controller has given, so the node "
            "does not start without it. Restore it from a backup; in a quorum of several, remove this node's "
            "whole metadata folder instead, to let it copy everything from the others."
        ) from error


def _decode(data: bytes) -> ElectionState:
    fields: dict[str, Any] = json.loads(data)
    version = fields["data_version"]
    if not isinstance(version, int) or not 0 <= version <= _NEWEST_VERSION:
        raise ValueError(f"data_version is {version}; 0 to {_NEWEST_VERSION} are known")
    directory = uuid_from_string(fields["votedDirectoryId"]) if version >= 1 else ZERO_UUID
    numbers = [fields[name] for name in ("leaderEpoch", "leaderId", "votedId")]
    if not all(isinstance(number, int) for number in numbers) or numbers[0] < 0:
        raise ValueError("epoch, leader and vote must be numbers")
    return ElectionState(numbers[0], numbers[1], numbers[2], directory)


def write_quorum_state(disk: Disk, folder: str, state: ElectionState) -> None:
    """Saves the state durably. May wait."""
    fields = {
        "leaderId": state.leader_id,
        "leaderEpoch": state.epoch,
        "votedId": state.voted_id,
        "votedDirectoryId": uuid_to_string(state.voted_directory_id),
        "data_version": _NEWEST_VERSION,
    }
    data = json.dumps(fields, separators=(",", ":")).encode()
    disk.write_file_atomically(f"{folder}/{QUORUM_STATE_FILE}", data)
