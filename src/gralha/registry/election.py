"""Elects the leader of all instances through Kafka's group protocol, together with Confluent's registries.

Each instance says who it is (`Identity`, as JSON). The member that the group's coordinator chooses decides:
the leader stays, if there is one, and otherwise the eligible instance with the least address leads. Everybody
is assigned the same: the leader's identity.

The group does not stop a leader that was paused and does not know of its successor yet. The transactional id
of the store does (`store.py`).
"""

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Final

import msgspec
from msgspec import Struct

from gralha.client.cluster import Cluster
from gralha.client.errors import ClientError, KafkaError
from gralha.client.group_member import FORGOTTEN, REJOIN, GroupMember, Protocol

PROTOCOL_TYPE: Final = "sr"
PROTOCOL_NAME: Final = "v0"
NO_ERROR: Final = 0
DUPLICATE_URLS: Final = 1
_RETRY_S: Final = 0.2
_log: Final = logging.getLogger(__name__)


class Identity(Struct, omit_defaults=True):
    """An instance. The fields have Confluent's names and order."""

    host: str = ""
    port: int = -1
    master_eligibility: bool | msgspec.UnsetType = msgspec.UNSET
    scheme: str | None = None
    version: int | None = None
    leader: bool | msgspec.UnsetType = msgspec.UNSET

    @classmethod
    def of(cls, scheme: str, host: str, port: int, *, is_eligible: bool) -> "Identity":
        return cls(host, port, is_eligible, scheme, 1, False)

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme or 'http'}://{host}:{self.port}"

    @property
    def is_eligible(self) -> bool:
        return self.master_eligibility is True


class Assignment(Struct, omit_defaults=True):
    """What everybody in the group is told."""

    error: int | msgspec.UnsetType = msgspec.UNSET
    master: str | None = None
    master_identity: Identity | None = None
    version: int | msgspec.UnsetType = msgspec.UNSET


def elect(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """Chooses the leader among the members' identities. Returns what each member is told."""
    identities = {
        member: msgspec.json.decode(metadata, type=Identity) for member, metadata in members.items()
    }
    eligible = {member: one for member, one in identities.items() if one.is_eligible}
    leading = [member for member, one in eligible.items() if one.leader is True]
    if len(leading) == 1:
        master: str | None = leading[0]
    else:
        master = min(eligible, key=lambda member: eligible[member].url, default=None)
    is_ambiguous = len({one.url for one in identities.values()}) < len(identities)
    assignment = Assignment(
        error=DUPLICATE_URLS if is_ambiguous else NO_ERROR,
        master=master,
        master_identity=None if master is None else eligible[master],
        version=1,
    )
    text = msgspec.json.encode(assignment)
    return dict.fromkeys(members, text)


# What the election says: the leader, or None if nobody leads.
OnLeader = Callable[[Identity | None], None]


class Election:
    """This instance's membership in the group, in a thread of its own.

    `on_leader` is called in that thread with each result. `check` is True while this member belongs to the
    group's current generation.
    """

    def __init__(
        self, cluster: Cluster, protocol: Protocol, identity: Identity, heartbeat_ms: int, on_leader: OnLeader
    ) -> None:
        self._cluster = cluster
        self._member = GroupMember(cluster, protocol, elect)
        self._identity = identity
        self._heartbeat_s = heartbeat_ms / 1000
        self._on_leader = on_leader
        self._stopping = threading.Event()
        self._hurry = threading.Event()
        self._leader: Identity | None = None
        self._thread = threading.Thread(target=self._run, name="election", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Leaves the group."""
        self._stopping.set()
        self._hurry.set()
        self._thread.join(1.0)
        if self._thread.is_alive():
            # It waits for the coordinator, which may take as long as a rebalance.
            self._member.interrupt()
            self._thread.join(4.0)

    def check_now(self) -> None:
        """Asks for a heartbeat at once, because another instance seems to lead."""
        self._hurry.set()

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._belong()
        finally:
            self._member.leave()
            self._member.close()
            self._cluster.close()

    def _belong(self) -> None:
        """Joins the group and stays in it until it must join again."""
        try:
            assigned = self._member.join(msgspec.json.encode(self._identity))
            self._learn(msgspec.json.decode(assigned, type=Assignment))
            while not self._stopping.is_set():
                self._hurry.wait(self._heartbeat_s)
                was_hurried = self._hurry.is_set()
                self._hurry.clear()
                if self._stopping.is_set():
                    return
                self._member.heartbeat()
                if was_hurried:
                    # Still in the group's generation: the last result holds.
                    self._on_leader(self._leader)
        except KafkaError as error:
            if error.code in FORGOTTEN:
                # Another instance may lead by now.
                self._identity.leader = False
            if error.code not in REJOIN:
                _log.warning("The group of the registries: %s", error)
                self._stopping.wait(_RETRY_S)
        except (ClientError, msgspec.MsgspecError) as error:
            if not self._stopping.is_set():
                _log.warning("The group of the registries: %s", error)
                self._member.close()
                self._stopping.wait(_RETRY_S)

    def _learn(self, assignment: Assignment) -> None:
        if assignment.error not in (NO_ERROR, msgspec.UNSET):
            _log.error(
                "Two registries of the group say that they have the same address. Give each its own "
                "host.name and listeners"
            )
            self._leader = None
        else:
            self._leader = assignment.master_identity
        is_leader = self._leader is not None and self._leader.url == self._identity.url
        self._identity.leader = is_leader
        self._on_leader(self._leader)
