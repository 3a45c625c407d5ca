"""Moves of replicas to another folder of their broker."""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from gralha.cli.program import CommandError
from gralha.cli.reassign_partitions_options import RefusedError
from gralha.cli.reassignment_file import Replica
from gralha.client.errors import UnsupportedApiError
from gralha.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from gralha.client.admin import Admin

_PAUSE_SECONDS = 0.1


class Folders(NamedTuple):
    """The folder of a replica, and the folder that it is copied to."""

    current: str | None = None
    future: str | None = None


def folders_of(admin: "Admin", replicas: Iterable[Replica]) -> dict[Replica, Folders]:
    """The folders of replicas, as their brokers report them."""
    found = dict.fromkeys(replicas, Folders())
    for broker in sorted({replica.broker for replica in found}):
        for folder in admin.describe_log_dirs(broker):
            for held in folder.replicas:
                replica = Replica(broker, held.partition)
                if replica not in found:
                    continue
                one = found[replica]
                found[replica] = (
                    one._replace(future=folder.path) if held.is_future else one._replace(current=folder.path)
                )
    return found


def state_text(replica: Replica, folders: Folders, target: str) -> str:
    """The line of --verify for a replica and its target folder."""
    place = f"Partition {replica.partition} on broker {replica.broker}"
    if folders.current is None:
        return (
            f"Partition {replica.partition} is not found in any live log dir on broker {replica.broker}. "
            "There is likely an offline log directory on the broker."
        )
    if folders.future is not None:
        if folders.future == target:
            return f"Reassignment of replica {replica} is still in progress."
        return f"{place} is being moved to log dir {folders.future} instead of {target}."
    if folders.current == target:
        return f"Reassignment of replica {replica} completed successfully."
    return f"{place} is not being moved from log dir {folders.current} to {target}."


def is_moving(folders: Folders) -> bool:
    return folders.current is not None and folders.future is not None


def begin_moves(
    admin: "Admin",
    targets: Mapping[Replica, str],
    timeout_ms: int,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Begins all moves. If a replica is not on its broker yet, its move is tried again for a while."""
    deadline = time.monotonic() + timeout_ms / 1000
    pending = dict(targets)
    while True:
        for replica in sorted(_begun(admin, pending)):
            # A blank at the end, as Kafka prints.
            print(
                f"Successfully started moving log directory to {pending.pop(replica)} for replica "
                f"{replica.partition} with broker {replica.broker} ",
                flush=True,
            )
        if not pending:
            return
        if time.monotonic() >= deadline:
            listed = ",".join(map(str, sorted(pending)))
            plural = "" if len(pending) == 1 else "s"
            raise RefusedError(f"Timed out before log directory move{plural} could be started for: {listed}")
        sleep(_PAUSE_SECONDS)


def _begun(admin: "Admin", targets: Mapping[Replica, str]) -> list[Replica]:
    """Begins moves and returns their replicas. Replicas that do not exist yet are left out."""
    begun = []
    for broker in sorted({replica.broker for replica in targets}):
        wanted = {replica: folder for replica, folder in targets.items() if replica.broker == broker}
        try:
            results = admin.alter_replica_log_dirs(
                broker, {replica.partition: folder for replica, folder in wanted.items()}
            )
        except UnsupportedApiError as error:
            begun += _in_place(admin, wanted, error)
            continue
        for partition, failure in results.items():
            replica = Replica(broker, partition)
            if failure is None:
                begun.append(replica)
            elif failure.code != ErrorCode.REPLICA_NOT_AVAILABLE:
                raise CommandError(f"Failed to alter dir for {replica}: {failure}")
    return begun


def _in_place(admin: "Admin", targets: Mapping[Replica, str], error: UnsupportedApiError) -> list[Replica]:
    """For a broker that cannot move replicas: the replicas that are in the right folder already."""
    done = []
    for replica, folders in folders_of(admin, targets).items():
        if folders.current == targets[replica]:
            done.append(replica)
        elif folders.current is not None:
            raise CommandError(f"Failed to alter dir for {replica}: {error}")
    return done
