"""A bank of real processes: transfers in transactions, while its tellers and brokers are killed.

    python -m tests.cluster.bank --minutes 10 --seed 1 [--apache]

Customers write orders. Tellers (processes of their own) read them as a group and book each to two accounts.
The entries and the offsets of the orders are one transaction. Tellers, leaders of partitions and coordinators
are killed with SIGKILL, one fault after the other. After each fault the orders stop until all are booked. The
total must be what it was then, and every order booked once. At the end another reader reads everything again.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic
from tests.apache.cluster import ApacheCluster
from tests.cluster.bank_books import PATIENCE_S, Customers, Ledger
from tests.cluster.bank_teller import ENTRIES, GROUP, ORDERS, PARTITIONS, SESSION_TIMEOUT_MS, transactional_id

from gralha.client.addresses import parse_bootstrap_servers
from gralha.client.connection import Connection
from gralha.client.errors import ClientError
from gralha.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from gralha.testing import GralhaCluster, ServerProcess

Cluster = GralhaCluster | ApacheCluster
BROKERS = 3
TELLERS = 3
CONFIG = {
    "min.insync.replicas": "2",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.min.isr": "2",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    # A teller that was killed or paused is missed soon.
    "group.min.session.timeout.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
}
GROUP_KEY, TRANSACTION_KEY = 0, 1


class Tellers:
    """The processes of the tellers, by number. One that has ended by itself is started again."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self._bootstrap = bootstrap
        self._folder = folder
        self._running: dict[int, ServerProcess] = {}
        self.ended = 0
        for number in range(TELLERS):
            self._start(number)

    def kill(self, number: int) -> None:
        self._running[number].kill()

    def pause(self, number: int) -> int:
        """Returns the id of the process, which does nothing until it gets SIGCONT."""
        pid = self._running[number].pid
        os.kill(pid, signal.SIGSTOP)
        return pid

    def tend(self) -> None:
        """Starts those again that have ended."""
        for number, process in list(self._running.items()):
            if not process.alive:
                self.ended += 1
                self._start(number)

    def close(self) -> None:
        for process in self._running.values():
            process.kill()

    def last_words(self) -> str:
        return "\n".join(process.log_tail(2000) for process in self._running.values())

    def _start(self, number: int) -> None:
        command = [sys.executable, "-m", "tests.cluster.bank_teller", str(number), self._bootstrap]
        self._running[number] = ServerProcess(command, self._folder / f"teller-{number}.log")


def coordinator(bootstrap: str, key: str, key_type: int) -> int | None:
    """The node that coordinates a group or a transactional id, from the first broker that knows it."""
    for address in parse_bootstrap_servers(bootstrap):
        with contextlib.suppress(ClientError, OSError), Connection.open(address) as connection:
            request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
            (found,) = connection.send(request, FindCoordinatorResponse).coordinators
            if found.error_code == 0:
                return found.node_id
    return None


@dataclass
class Report:
    """The result of a run."""

    seed: int
    seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    orders: int = 0
    audits: int = 0
    restarts: int = 0  # of tellers, those that were killed included
    longest_settling_s: float = 0.0  # from the end of a fault until every order was booked
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        faults = ", ".join(f"{count} {kind}" for kind, count in sorted(self.faults.items()))
        return "\n".join(
            [
                f"seed {self.seed}, {self.seconds:.0f} s, {self.faults.total()} faults ({faults})",
                f"orders booked          {self.orders}",
                f"audits                 {self.audits}",
                f"tellers started again  {self.restarts}",
                f"longest settling       {self.longest_settling_s:.2f} s",
                f"problems               {len(self.problems)}",
            ]
        )


class Bank:
    """One fault at a time, and an audit after each."""

    def __init__(self, cluster: Cluster, folder: Path, chance: random.Random) -> None:
        self._cluster = cluster
        self._chance = chance
        self._admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        topics = [NewTopic(name, PARTITIONS, BROKERS) for name in (ORDERS, ENTRIES)]
        for created in self._admin.create_topics(topics).values():
            created.result(PATIENCE_S)
        self.customers = Customers(cluster.bootstrap, chance.randrange(1 << 30))
        self.tellers = Tellers(cluster.bootstrap, folder)
        self.ledger = Ledger(cluster.bootstrap)
        self.kinds: dict[str, Callable[[], None]] = {
            "kill a teller": lambda: self._kill_tellers([self._chance.randrange(TELLERS)]),
            "kill all tellers": lambda: self._kill_tellers(list(range(TELLERS))),
            "pause a teller": self._pause_teller,
            "kill a leader": lambda: self._kill_broker(self._leader()),
            "kill a transaction coordinator": lambda: self._kill_broker(self._transaction_coordinator()),
            "kill the group coordinator": lambda: self._kill_broker(
                coordinator(cluster.bootstrap, GROUP, GROUP_KEY)
            ),
            "kill a teller and its coordinator": self._kill_both,
        }

    def close(self) -> None:
        self.customers.close()
        self.tellers.close()
        self.ledger.close()

    def strike(self, kind: str) -> None:
        """Does one fault under load, and heals it."""
        self.customers.come()
        self._work(self._chance.uniform(0.5, 2.0))
        self.kinds[kind]()
        self._work(self._chance.uniform(0.5, 2.0))

    def settle(self) -> float:
        """Stops the orders, and waits until all of them are booked. Returns how long this took."""
        self.customers.stop()
        begun_at = time.monotonic()
        while self.ledger.booked < len(self.customers.orders) or self.ledger.half_booked():
            self._work(0)
            waited_s = time.monotonic() - begun_at
            assert waited_s < PATIENCE_S, (
                f"{self.ledger.booked} of {len(self.customers.orders)} orders are booked after "
                f"{waited_s:.0f} s, {self.ledger.half_booked()[:10]} by half\n{self.tellers.last_words()}"
            )
        return time.monotonic() - begun_at

    def _work(self, seconds: float) -> None:
        """The load goes on for that long."""
        end = time.monotonic() + seconds
        while True:
            self.tellers.tend()
            self.ledger.look()
            if time.monotonic() >= end:
                return

    def _leader(self) -> int:
        topic = self._admin.list_topics(ENTRIES, PATIENCE_S).topics[ENTRIES]
        leader: int = topic.partitions[self._chance.randrange(PARTITIONS)].leader
        return leader

    def _transaction_coordinator(self) -> int | None:
        name = transactional_id(self._chance.randrange(TELLERS))
        return coordinator(self._cluster.bootstrap, name, TRANSACTION_KEY)

    def _kill_tellers(self, numbers: list[int]) -> None:
        for number in numbers:
            self.tellers.kill(number)

    def _pause_teller(self) -> None:
        """So long that its group goes on without it. Then it goes on where it was."""
        pid = self.tellers.pause(self._chance.randrange(TELLERS))
        try:
            self._work(1.5 * SESSION_TIMEOUT_MS / 1000)
        finally:
            os.kill(pid, signal.SIGCONT)

    def _kill_broker(self, found: int | None) -> None:
        node_id = found if found in self._cluster.node_ids else self._chance.choice(self._cluster.node_ids)
        self._cluster.kill(node_id)
        self._work(self._chance.uniform(0.1, 2.0))
        self._cluster.start(PATIENCE_S)

    def _kill_both(self) -> None:
        number = self._chance.randrange(TELLERS)
        found = coordinator(self._cluster.bootstrap, transactional_id(number), TRANSACTION_KEY)
        self.tellers.kill(number)
        self._kill_broker(found)


def run_bank(
    seed: int,
    seconds: float = 0,
    kinds: list[str] | None = None,
    apache: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Report:
    """Runs until the time is over, or through a given list of faults."""
    chance = random.Random(seed)
    report = Report(seed)
    started = time.monotonic()
    with contextlib.ExitStack() as stack:
        cluster: Cluster = (ApacheCluster if apache else GralhaCluster)(BROKERS, config=CONFIG)
        stack.enter_context(cluster)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gralha-bank-")))
        bank = stack.enter_context(contextlib.closing(Bank(cluster, folder, chance)))
        plan = iter(kinds) if kinds is not None else None
        while plan is not None or time.monotonic() - started < seconds:
            fault = chance.choice(list(bank.kinds)) if plan is None else next(plan, None)
            if fault is None:
                break
            say(f"{time.monotonic() - started:6.1f} s: {fault}")
            bank.strike(fault)
            report.faults[fault] += 1
            settling_s = audit(bank, report)
            say(f"{time.monotonic() - started:6.1f} s: settled within {settling_s:.1f} s")
            if report.problems:
                break
        read_again(cluster.bootstrap, bank, report)
        report.restarts = bank.tellers.ended
    report.seconds = time.monotonic() - started
    return report


def audit(bank: Bank, report: Report) -> float:
    """Returns how long it took until every order was booked."""
    settling_s = bank.settle()
    report.longest_settling_s = max(report.longest_settling_s, settling_s)
    report.audits += 1
    report.orders = len(bank.customers.orders)
    report.problems = bank.customers.errors + bank.ledger.complaints(bank.customers.orders)
    return settling_s


def read_again(bootstrap: str, bank: Bank, report: Report) -> None:
    """Another reader sees the same."""
    with contextlib.closing(Ledger(bootstrap)) as again:
        again.read_to_the_end()
        report.problems += again.complaints(bank.customers.orders)
    if again.balances != bank.ledger.balances:
        report.problems.append(f"two readers see {again.balances} and {bank.ledger.balances}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.bank", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--apache", action="store_true", help="on Apache Kafka instead of Gralha")
    options = parser.parse_args()
    print(f"seed {options.seed}", file=sys.stderr)  # noqa: T201
    report = run_bank(
        options.seed,
        options.minutes * 60,
        apache=options.apache,
        say=lambda text: print(text, file=sys.stderr),  # noqa: T201
    )
    sys.stdout.write(f"{report}\n")
    for problem in report.problems[:50]:
        sys.stdout.write(f"WRONG: {problem}\n")
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
