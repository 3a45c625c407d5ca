"""The work that the active controller does by itself as time passes.

The object is created when the node becomes leader of the quorum and dropped when the node resigns. `tick` is
called several times a second and returns the decisions that are due. The caller executes them, one after
another:

- fence brokers whose session is over
- give leadership back to preferred replicas (auto.leader.rebalance.enable, leader.imbalance.*)
- elect leaders for partitions without in-sync replicas (unclean.leader.election.enable and .interval.ms)
- remove delegation tokens that have expired (delegation.token.expiry.check.interval.ms)
- write an empty record after a quiet time (metadata.max.idle.interval.ms), so that the quorum's high
  watermark moves and shows that the controller lives
"""

from collections.abc import Callable
from typing import Any

from gralha.metadata.controller.brokers import fence_broker
from gralha.metadata.controller.decision import ControllerContext, Decision
from gralha.metadata.controller.delegation_tokens import CHECK_INTERVAL, remove_expired_tokens
from gralha.metadata.controller.leader_elections import balance_leaders, elect_unclean_leaders
from gralha.metadata.delegation_tokens import DelegationToken
from gralha.metadata.image import MetadataImage
from gralha.protocol.messages.cluster_records import NoOpRecord

Decide = Callable[[MetadataImage], Decision[Any]]


class ActiveController:
    """`image` is the image at the start of leadership. Times are of the clock of `Liveness`."""

    def __init__(self, image: MetadataImage, context: ControllerContext, now_ms: int) -> None:
        self._context = context
        self._balance = context.broker_flag(image, "auto.leader.rebalance.enable")
        self._balance_interval_ms = 1000 * context.broker_number(
            image, "leader.imbalance.check.interval.seconds"
        )
        self._next_balance_ms = now_ms + self._balance_interval_ms
        self._unclean_election_interval_ms = context.broker_number(
            image, "unclean.leader.election.interval.ms"
        )
        self._next_unclean_election_ms = now_ms + self._unclean_election_interval_ms
        self._has_tokens = context.token_key is not None
        self._token_interval_ms = context.broker_number(image, CHECK_INTERVAL)
        self._next_token_check_ms = now_ms + self._token_interval_ms
        self._idle_interval_ms = context.broker_number(image, "metadata.max.idle.interval.ms")
        self._next_idle_check_ms = now_ms + self._idle_interval_ms
        self._offset_checked = -1
        context.liveness.begin(image.brokers, now_ms)

    def tick(self, now_ms: int, wall_clock_ms: int) -> list[Decide]:
        """Returns the decisions that are due."""
        decisions: list[Decide] = []
        for broker_id in self._context.liveness.expired(now_ms):
            decisions.append(self._fence(broker_id, now_ms))
        if self._balance and now_ms >= self._next_balance_ms:
            self._next_balance_ms = now_ms + self._balance_interval_ms
            decisions.append(self._balance_leaders)
        if now_ms >= self._next_unclean_election_ms:
            self._next_unclean_election_ms = now_ms + self._unclean_election_interval_ms
            decisions.append(self._elect_unclean_leaders)
        if self._has_tokens and now_ms >= self._next_token_check_ms:
            self._next_token_check_ms = now_ms + self._token_interval_ms
            decisions.append(lambda image: self._remove_expired_tokens(image, wall_clock_ms))
        if self._idle_interval_ms and now_ms >= self._next_idle_check_ms:
            self._next_idle_check_ms = now_ms + self._idle_interval_ms
            decisions.append(self._end_idleness)
        return decisions

    def _fence(self, broker_id: int, now_ms: int) -> Decide:
        liveness = self._context.liveness
        epoch = liveness.epoch(broker_id)

        def decide(image: MetadataImage) -> Decision[None]:
            broker = image.brokers.get(broker_id)
            if liveness.epoch(broker_id) != epoch or broker_id not in liveness.expired(now_ms):
                return Decision(None, [])  # the broker has started again, or has sent a heartbeat since
            decision: Decision[None] = Decision(None, [])
            if broker is not None and broker.epoch == epoch:
                decision = fence_broker(image, broker_id, self._context)
            liveness.forget(broker_id)
            return decision

        return decide

    def _balance_leaders(self, image: MetadataImage) -> Decision[bool]:
        decision = balance_leaders(image, self._context)
        if decision.response:
            self._next_balance_ms = 0
        return decision

    def _elect_unclean_leaders(self, image: MetadataImage) -> Decision[bool]:
        decision = elect_unclean_leaders(image, self._context)
        if decision.response:
            self._next_unclean_election_ms = 0
        return decision

    def _remove_expired_tokens(
        self, image: MetadataImage, wall_clock_ms: int
    ) -> Decision[list[DelegationToken]]:
        decision = remove_expired_tokens(image, wall_clock_ms)
        if decision.response:
            self._next_token_check_ms = 0
        return decision

    def _end_idleness(self, image: MetadataImage) -> Decision[None]:
        is_idle = image.offset == self._offset_checked
        self._offset_checked = image.offset + (1 if is_idle else 0)
        return Decision(None, [NoOpRecord()] if is_idle else [])
