"""A controller of one partition in a few rules: it elects in-sync and eligible leader replicas."""

from __future__ import annotations

from typing import NamedTuple

from gralha.metadata.image import BrokerRegistration
from gralha.protocol.errors import ErrorCode
from gralha.replication.followers import IsrProposal
from gralha.replication.partition import Partition

REPLICAS = (0, 1, 2)
MIN_IN_SYNC = 2


class Version(NamedTuple):
    """The metadata at one time."""

    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    brokers: dict[int, BrokerRegistration]


class Proposed(NamedTuple):
    """A proposal on its way to the controller."""

    broker: int
    partition: Partition
    proposal: IsrProposal


class Answered(NamedTuple):
    """The controller's answer on its way back."""

    proposed: Proposed
    error_code: int
    version: Version | None


def registration(broker_id: int, epoch: int, fenced: bool) -> BrokerRegistration:
    return BrokerRegistration(broker_id, epoch, bytes(16), (), {}, None, fenced, False, (), None)


class Controller:
    """Decides as a controller does that has eligible leader replicas; `versions` is the metadata log."""

    def __init__(self) -> None:
        brokers = {broker: registration(broker, broker, False) for broker in REPLICAS}
        self.next_broker_epoch = len(REPLICAS)
        self.versions = [Version(0, 0, 0, REPLICAS, (), brokers)]
        # From which version on a broker is the process that it is now.
        self.registered_at = dict.fromkeys(REPLICAS, 0)

    @property
    def now(self) -> Version:
        return self.versions[-1]

    def _add(self, version: Version) -> Version:
        self.versions.append(version)
        return version

    def _with_isr(self, version: Version, isr: tuple[int, ...], unclean: tuple[int, ...] = ()) -> Version:
        """Change the in-sync replicas. The last ones that leave are eligible leader replicas."""
        left = (set(version.isr) | set(version.elr)) - set(isr) - set(unclean)
        elr = () if len(isr) >= MIN_IN_SYNC else tuple(sorted(left))
        return version._replace(isr=isr, elr=elr, partition_epoch=version.partition_epoch + 1)

    def _elected(self, version: Version, leader: int | None = None) -> Version:
        """A leader if there is none that lives: an in-sync replica, or an eligible one."""
        brokers = version.brokers
        if leader is None:
            if version.leader >= 0 and version.leader in version.isr and not brokers[version.leader].fenced:
                return version
            leader = next((one for one in version.isr if not brokers[one].fenced), None)
        if leader is None:
            leader = next((one for one in version.elr if not brokers[one].fenced), None)
            if leader is not None:
                version = version._replace(
                    isr=(leader,), elr=tuple(one for one in version.elr if one != leader)
                )
        if leader is None and version.leader == -1:
            return version
        return version._replace(
            leader=-1 if leader is None else leader,
            leader_epoch=version.leader_epoch + 1,
            partition_epoch=version.partition_epoch + 1,
        )

    def _with_broker(self, version: Version, broker: BrokerRegistration) -> Version:
        return version._replace(brokers={**version.brokers, broker.id: broker})

    def fence(self, broker_id: int) -> None:
        now = self.now
        if now.brokers[broker_id].fenced:
            return
        version = self._with_broker(now, now.brokers[broker_id]._replace(fenced=True))
        if broker_id in version.isr:
            version = self._with_isr(version, tuple(one for one in version.isr if one != broker_id))
        self._add(self._elected(version))

    def register(self, broker_id: int, unclean: bool) -> int:
        """Register a new process, which may have lost records (KIP-966). Returns its broker epoch."""
        self.fence(broker_id)
        epoch = self.next_broker_epoch
        self.next_broker_epoch += 1
        version = self._with_broker(self.now, registration(broker_id, epoch, True))
        if unclean:
            version = self._with_isr(version, version.isr, (broker_id,))
        self._add(self._elected(version))
        self.registered_at[broker_id] = len(self.versions) - 1
        return epoch

    def unfence(self, broker_id: int) -> None:
        now = self.now
        self._add(self._elected(self._with_broker(now, now.brokers[broker_id]._replace(fenced=False))))

    def elect(self, broker_id: int) -> None:
        """Let another in-sync replica lead, or the same one in a new epoch."""
        now = self.now
        if now.leader >= 0 and broker_id in now.isr and not now.brokers[broker_id].fenced:
            self._add(self._elected(now, broker_id))

    def alter_partition(self, proposed: Proposed) -> Answered:
        now = self.now
        proposal = proposed.proposal
        if proposed.broker != now.leader or proposal.leader_epoch != now.leader_epoch:
            return Answered(proposed, ErrorCode.FENCED_LEADER_EPOCH, None)
        if proposal.partition_epoch != now.partition_epoch:
            return Answered(proposed, ErrorCode.INVALID_UPDATE_VERSION, None)
        for replica, epoch in zip(proposal.in_sync_replicas, proposal.broker_epochs, strict=True):
            known = now.brokers[replica]
            if known.fenced or epoch not in (-1, known.epoch):
                return Answered(proposed, ErrorCode.INELIGIBLE_REPLICA, None)
        version = self._add(self._with_isr(now, tuple(proposal.in_sync_replicas)))
        return Answered(proposed, ErrorCode.NONE, version)
