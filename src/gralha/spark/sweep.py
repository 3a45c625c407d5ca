"""Ends the transactions of speculative and dead tasks, which would hold up readers of committed records.

A sweep must never end a transaction that a driver has decided on, or may still decide on:

- Those of its own run that are not in the decision are lost: the run has one driver, and it has no other
  batch to decide. They are fenced, because a task may still be writing.
- Those of other runs are lost if two things are true: this driver has just decided their batch, and nobody
  has owned the log since then. (A run of a stream cannot be further: for that it must have owned the log.)
  They are listed first, and then the ownership is checked. A run whose transactions were in the list before
  that check can only find that its batch is decided. Each is aborted by its producer id and epoch, so a sweep
  that is late cannot hit a later transaction.
"""

import logging
from collections.abc import Callable

from gralha.client.errors import ClientError, KafkaError
from gralha.client.transaction_values import TransactionDescription
from gralha.spark.decisions import Decision
from gralha.spark.sink_transactions import ONGOING, SinkTransactions
from gralha.spark.transactional_ids import BatchIdentity

logger = logging.getLogger(__name__)


class Sweep:
    """Sweeps after one batch. A failed sweep is only logged: the next batch sweeps again."""

    def __init__(self, transactions: SinkTransactions, identity: BatchIdentity) -> None:
        self._transactions = transactions
        self._identity = identity

    def after(self, decision: Decision | None, still_owns: Callable[[], bool] | None) -> None:
        """Fences the tasks of this run that are not in the decision. With `still_owns`, other runs, too."""
        try:
            self._sweep(decision, still_owns)
        except (ClientError, KafkaError, OSError) as error:
            logger.warning(
                "Transactions of lost tasks could not be ended; the next batch tries it: %s", error
            )

    def _sweep(self, decision: Decision | None, still_owns: Callable[[], bool] | None) -> None:
        decided = () if decision is None else decision.transactions
        kept = {one.handle.transactional_id for one in decided}
        lost = [one for one in self._transactions.ongoing() if one not in kept]
        own = [one for one in lost if one.startswith(self._identity.run_prefix)]
        for transactional_id in own:
            self._transactions.fence(transactional_id)
        others = [one for one in lost if one not in own and self._identity.may_sweep(one)]
        if still_owns is not None and others:
            self._abort_others(others, still_owns)

    def _abort_others(self, ids: list[str], still_owns: Callable[[], bool]) -> None:
        described = self._transactions.describe(ids)
        handles = [
            self._transactions.handle_of(found)
            for found in described.values()
            if isinstance(found, TransactionDescription) and found.state == ONGOING
        ]
        if still_owns():
            for problem in self._transactions.abort(handles):
                logger.warning("%s", problem)
