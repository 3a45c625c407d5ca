"""What transactional producers did, and the checks of it. `history.py` has the records and what readers saw.

torn-transaction  a reader of committed records saw a part of a transaction
zombie-write      a record was accepted from a producer that a newer one had fenced before
zombie-commit     a transaction was committed by a producer that a newer one had fenced before
counted-twice     an input is in several committed outputs of consume-transform-produce
not-counted       an input is in no committed output
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from gralha.simulation.history import Anomaly, Event, Poll, Send

# Separates the input from the transaction in the value of an output.
OF: Final = "<"


class Began(NamedTuple):
    """InitProducerId gave a life an epoch. From now on all lower ones are fenced."""

    process: str
    transactional_id: str
    producer_id: int
    epoch: int
    at: float


class Used(NamedTuple):
    """A life wrote or committed with success, with this epoch."""

    process: str
    transactional_id: str
    producer_id: int
    epoch: int
    begun_at: float
    what: str


def check_transactions(
    uses: Iterable[Began | Used], history: list[Event], final_readers: tuple[str, ...]
) -> list[Anomaly]:
    return [*_zombies(list(uses)), *_torn(history, final_readers)]


def _zombies(uses: list[Began | Used]) -> Iterator[Anomaly]:
    begun: dict[str, list[Began]] = defaultdict(list)
    for use in uses:
        if isinstance(use, Began):
            begun[use.transactional_id].append(use)
    for use in uses:
        if isinstance(use, Began):
            continue
        for newer in begun[use.transactional_id]:
            is_newer = (newer.producer_id, newer.epoch) > (use.producer_id, use.epoch)
            if newer.process != use.process and is_newer and newer.at < use.begun_at:
                detail = (
                    f"{use.process} with epoch {use.epoch} at {use.begun_at:.3f}; {newer.process} has epoch "
                )
                yield Anomaly(
                    f"zombie-{use.what}", use.transactional_id, f"{detail}{newer.epoch} since {newer.at:.3f}"
                )
                break


def _torn(history: list[Event], final_readers: tuple[str, ...]) -> Iterator[Anomaly]:
    """A transaction of which readers that read everything saw a part."""
    read = _values_read(history, final_readers)
    values: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for event in history:
        if isinstance(event, Send) and event.transaction is not None:
            values[event.transaction].append((event.partition, event.value))
    for name, written in values.items():
        missing = [one for one in written if one not in read]
        if missing and len(missing) < len(written):
            partition, value = missing[0]
            detail = (
                f"{len(written) - len(missing)} of {len(written)} values of {name} were read, {value} was not"
            )
            yield Anomaly("torn-transaction", partition, detail)


def _values_read(history: list[Event], readers: tuple[str, ...]) -> dict[tuple[str, str], int]:
    return {
        (event.partition, value): offset
        for event in history
        if isinstance(event, Poll) and event.process in readers
        for offset, value in event.records
    }


def check_counts(history: list[Event], inputs: str, outputs: str) -> Iterator[Anomaly]:
    """Compare what the reader `inputs` read with the outputs that the reader `outputs` read."""
    counts: dict[str, int] = {}
    for (_, value), _offset in _values_read(history, (outputs,)).items():
        source = value.partition(OF)[0]
        counts[source] = counts.get(source, 0) + 1
    for (partition, value), offset in _values_read(history, (inputs,)).items():
        count = counts.get(value, 0)
        if count != 1:
            kind = "not-counted" if count == 0 else "counted-twice"
            yield Anomaly(kind, partition, f"{value} at offset {offset} is in {count} outputs")
