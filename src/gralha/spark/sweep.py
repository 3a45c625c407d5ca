"""Ends the transactions of speculative and dead tasks, which would hold up readers of committed records.

A sweep must never end a transaction that a driver has decided on, or may still decide on:

- Those of its own run of a stream that are not in the decision are lost: the run has one driver, and it has
  no other batch to decide. They are fenced, because a task may still be writing.
- For all others the owner of the log announces what it is about to abort, in the record that says "done".
  If that record is committed, every later owner reads it before it decides, and aborts the same transactions
  first. Then it finds that they are not open any more. Each is aborted by its producer id and epoch, so a
  sweep that is late cannot hit a later transaction.
"""

import logging

from gralha.client.errors import ClientError, KafkaError
from gralha.client.transaction_state import TransactionHandle
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

    def of_own_run(self, decision: Decision | None) -> list[str]:
        """Fences the tasks of this run that are not in the decision. Returns the open ids of others."""
        try:
            decided = () if decision is None else decision.transactions
            kept = {one.handle.transactional_id for one in decided}
            lost = [one for one in self._transactions.ongoing() if one not in kept]
            own = [one for one in lost if one.startswith(self._identity.run_prefix)]
            if self._identity.is_batch_write:
                # All writes of a program have one prefix.
                return lost
            for transactional_id in own:
                self._transactions.fence(transactional_id)
            return [one for one in lost if one not in own]
        except (ClientError, KafkaError, OSError) as error:
            _warn(error)
            return []

    def open_handles(self, ids: list[str]) -> list[TransactionHandle]:
        """The open transactions of these ids."""
        try:
            found = self._transactions.describe(ids) if ids else {}
            return [
                self._transactions.handle_of(one)
                for one in found.values()
                if isinstance(one, TransactionDescription) and one.state == ONGOING
            ]
        except (ClientError, KafkaError, OSError) as error:
            _warn(error)
            return []

    def of_others(self, announced: list[TransactionHandle]) -> None:
        """Aborts transactions that a committed record has announced."""
        try:
            for problem in self._transactions.abort(announced) if announced else ():
                logger.warning("%s", problem)
        except (ClientError, KafkaError, OSError) as error:
            _warn(error)


def _warn(error: Exception) -> None:
    logger.warning("Transactions of lost tasks could not be ended; the next batch tries it: %s", error)
