"""Kafka's `quorum-state` file: the epoch, its leader, and the vote of this node.

A voter never gives two votes in one epoch, also if it is restarted in between. So the file is on the device
before anything that follows from it happens. A node does not start if the file cannot be read (KAFKA-16526),
because it could vote twice.
"""

import json
from typing import Any, Final, NamedTuple

from gralha.protocol.primitives import ZERO_UUID, ProtocolError, uuid_from_string, uuid_to_string
from gralha.storage.disk import Disk

QUORUM_STATE_FILE: Final = "quorum-state"
NOBODY: Final = -1
_NEWEST_VERSION: Final = 1


class QuorumStateError(Exception):
    """The quorum-state file cannot be used. The message says what to do."""


class ElectionState(NamedTuple):
    """An epoch, its leader if it is known, and the vote of this node if it has voted."""

    epoch: int
    leader_id: int = NOBODY
    voted_id: int = NOBODY
    voted_directory_id: bytes = ZERO_UUID


def read_quorum_state(disk: Disk, folder: str) -> ElectionState | None:
    """The state that was saved last, or None. May wait."""
    found = _read(disk, folder)
    return None if found is None else found[0]


def check_static_voters(disk: Disk, folder: str, configured: tuple[int, ...]) -> None:
    """Raises QuorumStateError if the configured voters are others than when the state was saved. May wait.

    The new voters could elect a leader while the old voters elect another. Files of dynamic quorums, and
    older files of Gralha, do not have the voters.
    """
    found = _read(disk, folder)
    if found is None or not found[1] or set(found[1]) == set(configured):
        return
    before, now = (", ".join(map(str, sorted(ids))) for ids in (found[1], configured))
    raise QuorumStateError(
        f"The voters of this quorum were {before} before ({folder}/{QUORUM_STATE_FILE}) and are {now} now. "
        "The new voters could elect a leader while the old ones elect another, so the node does not start. "
        f"Name the voters {before} in controller.quorum.voters again, on all nodes (gralha up: with as many "
        "--brokers as before). To change the voters of a running cluster, run kafka-features upgrade "
        "--feature kraft.version=1 and then kafka-metadata-quorum add-controller or remove-controller."
    )


def _read(disk: Disk, folder: str) -> tuple[ElectionState, tuple[int, ...]] | None:
    path = f"{folder}/{QUORUM_STATE_FILE}"
    data = disk.read_file(path)
    if data is None:
        return None
    try:
        return _decode(data)
    except (ValueError, KeyError, TypeError, ProtocolError) as error:
        raise QuorumStateError(
            f"{path} cannot be read ({error}). It has the votes of this controller, so the node does not "
            "start without it. Restore it from a backup. If there are other controllers, you can remove this "
            "node's whole metadata folder instead: the node then copies everything from them."
        ) from error


def _decode(data: bytes) -> tuple[ElectionState, tuple[int, ...]]:
    fields: dict[str, Any] = json.loads(data)
    version = fields["data_version"]
    if not isinstance(version, int) or not 0 <= version <= _NEWEST_VERSION:
        raise ValueError(f"data_version is {version}, but only 0 to {_NEWEST_VERSION} are supported")
    directory = ZERO_UUID
    if version >= 1 or "votedDirectoryId" in fields:
        directory = uuid_from_string(fields["votedDirectoryId"])
    numbers = [fields[name] for name in ("leaderEpoch", "leaderId", "votedId")]
    voters = [one["voterId"] for one in fields.get("currentVoters") or ()]
    if not all(isinstance(number, int) for number in numbers + voters) or numbers[0] < 0:
        raise ValueError("epoch, leader, vote and voters must be numbers")
    return ElectionState(numbers[0], numbers[1], numbers[2], directory), tuple(voters)


def write_quorum_state(
    disk: Disk, folder: str, state: ElectionState, static_voters: tuple[int, ...] = ()
) -> None:
    """Saves the state durably, in a static quorum with its voters. May wait."""
    fields: dict[str, Any] = {
        "leaderId": state.leader_id,
        "leaderEpoch": state.epoch,
        "votedId": state.voted_id,
        "votedDirectoryId": uuid_to_string(state.voted_directory_id),
        "data_version": _NEWEST_VERSION,
    }
    if static_voters:
        # Version 0 is the one with voters. It has no votedDirectoryId in Kafka, which ignores ours.
        voters = [{"voterId": one} for one in static_voters]
        fields |= {"clusterId": "", "appliedOffset": 0, "currentVoters": voters, "data_version": 0}
    data = json.dumps(fields, separators=(",", ":")).encode()
    disk.write_file_atomically(f"{folder}/{QUORUM_STATE_FILE}", data)
