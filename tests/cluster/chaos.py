"""Three real brokers under a seeded nemesis, judged by what their clients saw.

    python -m tests.cluster.chaos --minutes 30 --seed 1

Brokers are killed, stopped, paused and cut off from each other, one fault after the other, while clients
write and read. At the end every fault is healed, everything is read once more, and the history checker says
what is wrong. A seed gives the same faults in the same order; what they hit depends on the machine's timing.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import itertools
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.cluster.chaos_clients import SETTLE_S, Clients, Notes, lost_commits
from tests.cluster.fault_proxy import FaultProxy
from tests.cluster.proxied_cluster import BROKERS, ProxiedCluster, open_connection
from tests.cluster.secured_proxied_cluster import SecuredProxiedCluster

from gralha.client.errors import ClientError
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartition,
    DescribeQuorumRequestTopic,
    DescribeQuorumResponse,
)
from gralha.protocol.messages.metadata import MetadataRequest, MetadataResponse
from gralha.simulation.history import Anomaly, summary, to_lines
from gralha.testing import GralhaCluster

ENDINGS = ("SIGKILL", "SIGTERM", "SIGSTOP", "no room")
WEAKENED = " of a weak one"  # of a cluster that still lacks replicas in sync from the fault before


def active_controller(cluster: GralhaCluster) -> int | None:
    """The leader of the quorum, from the first node that knows it."""
    partition = DescribeQuorumRequestTopic("__cluster_metadata", [DescribeQuorumRequestPartition(0)])
    for node_id in cluster.node_ids:
        if not cluster.process(node_id).alive:
            continue
        with contextlib.suppress(ClientError, KafkaError, OSError):
            with open_connection(cluster, node_id) as connection:
                answer = connection.send(DescribeQuorumRequest([partition]), DescribeQuorumResponse)
            if answer.topics and answer.topics[0].partitions[0].error_code == 0:
                return answer.topics[0].partitions[0].leader_id
    return None


def is_whole(cluster: GralhaCluster) -> bool:
    """Whether every partition has all its replicas in sync, by the first node that answers."""
    for node_id in cluster.node_ids:
        with contextlib.suppress(ClientError, KafkaError, OSError):
            with open_connection(cluster, node_id) as connection:
                answer = connection.send(MetadataRequest(topics=None), MetadataResponse)
            partitions = [partition for topic in answer.topics for partition in topic.partitions]
            return all(len(one.isr_nodes) == len(one.replica_nodes) for one in partitions)
    return False


class Nemesis:
    """One fault at a time: done, held for a while, healed."""

    def __init__(
        self, cluster: ProxiedCluster, proxy: FaultProxy, chance: random.Random, say: Callable[[str], None]
    ) -> None:
        self._cluster = cluster
        self._say = say
        self._proxy = proxy
        self._chance = chance
        self.faults: list[tuple[float, str]] = []  # when and what
        self.endings: Counter[str] = Counter()
        self._kinds: dict[str, tuple[int, Callable[[], None]]] = {
            "kill": (5, lambda: self._kill([self._any()])),
            "kill-controller": (4, lambda: self._kill([self._controller()])),
            "kill-all": (1, lambda: self._kill(self._cluster.node_ids)),
            "stop": (3, lambda: self._stop(self._any())),
            "stop-controller": (1, lambda: self._stop(self._controller())),
            "pause": (2, lambda: self._pause(self._any())),
            "pause-controller": (2, lambda: self._pause(self._controller())),
            "cut-one-way": (2, lambda: self._cut(both_ways=False)),
            "cut-both-ways": (2, lambda: self._cut(both_ways=True)),
            "isolate": (2, lambda: self._isolate(self._any())),
            "isolate-controller": (1, lambda: self._isolate(self._controller())),
            "fill-disk": (2, lambda: self._fill_disk(self._any())),
            "fill-disk-controller": (1, lambda: self._fill_disk(self._controller())),
            "delay": (1, self._delay),
            "reset": (1, self._reset),
        }

    @property
    def kinds(self) -> list[str]:
        return list(self._kinds)

    def draw(self) -> str:
        weights = [weight for weight, _ in self._kinds.values()]
        return self._chance.choices(self.kinds, weights)[0]

    def strike(self, kind: str) -> None:
        """Do one fault and heal it."""
        name = kind if is_whole(self._cluster) else kind + WEAKENED
        self.faults.append((time.monotonic(), name))
        self._kinds[kind][1]()

    def heal(self) -> None:
        """Everything runs again and reaches everything."""
        self._proxy.heal()
        for node_id in self._cluster.node_ids:
            self._cluster.disks.empty(self._cluster.data_folder(node_id))
        self._cluster.start(SETTLE_S)

    # Whom

    def _any(self) -> int:
        return self._chance.choice(self._cluster.node_ids)

    def _controller(self) -> int:
        fallback = self._any()  # drawn always, so that a seed's draws do not depend on what is found
        return active_controller(self._cluster) or fallback

    def _pair(self) -> tuple[int, int]:
        one, other = self._chance.sample(self._cluster.node_ids, 2)
        return one, other

    # What

    def _hold(self, shortest_s: float, longest_s: float, *node_ids: int) -> None:
        seconds = self._chance.uniform(shortest_s, longest_s)
        kind = self.faults[-1][1]
        now = datetime.datetime.now().strftime("%H:%M:%S.%f")[:-3]
        self._say(f"{now} {kind} of {', '.join(map(str, node_ids))} for {seconds:.2f} s")
        time.sleep(seconds)

    def _kill(self, node_ids: list[int]) -> None:
        for node_id in node_ids:
            self._cluster.kill(node_id)
            self.endings["SIGKILL"] += 1
        self._hold(0.1, 3.0, *node_ids)
        self._cluster.start(SETTLE_S)

    def _stop(self, node_id: int) -> None:
        self._cluster.stop(node_id)
        self.endings["SIGTERM"] += 1
        self._hold(0.0, 2.0, node_id)
        self._cluster.start(SETTLE_S)

    def _pause(self, node_id: int) -> None:
        pid = self._cluster.process(node_id).pid
        os.kill(pid, signal.SIGSTOP)
        self.endings["SIGSTOP"] += 1
        self._hold(0.3, 5.0, node_id)
        os.kill(pid, signal.SIGCONT)

    def _cut(self, both_ways: bool) -> None:
        one, other = self._pair()
        self._proxy.cut(one, other)
        if both_ways:
            self._proxy.cut(other, one)
        self._hold(0.5, 6.0, one, other)
        self._proxy.heal()

    def _isolate(self, node_id: int) -> None:
        for other in self._cluster.node_ids:
            if other != node_id:
                self._proxy.cut(node_id, other)
                self._proxy.cut(other, node_id)
        self._hold(0.5, 6.0, node_id)
        self._proxy.heal()

    def _fill_disk(self, node_id: int) -> None:
        """A broker whose metadata finds no room ends: then there is one to start again."""
        folder = self._cluster.data_folder(node_id)
        self._cluster.disks.fill(folder)
        self._hold(1.0, 6.0, node_id)
        self._cluster.disks.empty(folder)
        if not self._cluster.process(node_id).alive:
            self.endings["no room"] += 1
        self._cluster.start(SETTLE_S)

    def _delay(self) -> None:
        one, other = self._pair()
        self._proxy.delay(one, other, self._chance.uniform(0.02, 0.3))
        self._hold(1.0, 4.0, one, other)
        self._proxy.heal()

    def _reset(self) -> None:
        one, other = self._pair()
        self._proxy.reset(one, other)
        self._hold(0.0, 1.0, one, other)


@dataclass
class Report:
    """The result of a run."""

    seed: int
    seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    endings: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    unanswered: int = 0
    errors: list[str] = field(default_factory=list)
    anomalies: list[Anomaly] = field(default_factory=list)
    lost_commits: list[str] = field(default_factory=list)
    longest_pause_s: float = 0.0  # of all partitions together
    pauses_s: dict[str, list[float]] = field(default_factory=dict)  # of any one partition, by fault

    def counted(self, *kinds: str) -> int:
        return sum(anomaly.kind in kinds for anomaly in self.anomalies)

    def problems(self) -> list[str]:
        found = [str(anomaly) for anomaly in self.anomalies] + self.lost_commits + self.errors
        return found + ([f"{self.unanswered} records without an answer"] if self.unanswered else [])

    def __str__(self) -> str:
        faults = ", ".join(f"{count} {kind}" for kind, count in sorted(self.faults.items()))
        endings = ", ".join(f"{self.endings[name]} {name}" for name in ENDINGS)
        lines = [
            f"seed {self.seed}, {self.seconds:.0f} s, {self.faults.total()} faults ({faults})",
            f"kills survived         {endings}",
            f"records acknowledged   {self.acknowledged}",
            f"records lost           {self.counted('lost-write', 'unseen')}",
            f"duplicates             {self.counted('duplicate')}",
            f"anomalies              {summary(self.anomalies)}",
            f"commits lost           {len(self.lost_commits)}",
            f"errors seen by clients {len(self.errors) + self.unanswered}",
            f"longest time without progress  {self.longest_pause_s:.2f} s",
            "longest wait of a partition after a fault (times, median, highest of the kind):",
        ]
        for kind, pauses in sorted(self.pauses_s.items()):
            ordered = sorted(pauses)
            middle = ordered[len(ordered) // 2]
            lines.append(f"  {kind:<34} {len(ordered):4} {middle:6.2f} s {ordered[-1]:6.2f} s")
        return "\n".join(lines)


def gaps_after(faults: list[tuple[float, str]], times: Mapping[int, list[float]]) -> dict[str, list[float]]:
    """For each fault, the longest wait for an acknowledgement of one partition, up to the next fault."""
    pauses: dict[str, list[float]] = {}
    for index, (begun_at, kind) in enumerate(faults):
        end = faults[index + 1][0] if index + 1 < len(faults) else float("inf")
        longest = 0.0
        for acknowledged in times.values():
            for before, after in itertools.pairwise(acknowledged):
                longest = max(longest, min(after, end) - max(before, begun_at))
        pauses.setdefault(kind, []).append(longest)
    return pauses


def longest_gap(times: Mapping[int, list[float]]) -> float:
    together = sorted(time for acknowledged in times.values() for time in acknowledged)
    return max((after - before for before, after in itertools.pairwise(together)), default=0.0)


@contextlib.contextmanager
def proxied_cluster(secured: bool) -> Iterator[tuple[ProxiedCluster, FaultProxy]]:
    """A running cluster and its proxy."""
    with contextlib.ExitStack() as stack:
        proxy = FaultProxy(tls=secured)
        stack.callback(proxy.close)
        if secured:
            keys = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            cluster: ProxiedCluster = SecuredProxiedCluster(BROKERS, proxy, keys)
        else:
            cluster = ProxiedCluster(BROKERS, proxy)
        stack.enter_context(cluster)
        cluster.prepare()
        yield cluster, proxy


def run_chaos(
    seed: int,
    seconds: float,
    kinds: list[str] | None = None,
    keep: Path | None = None,
    say: Callable[[str], None] = lambda _: None,
    secured: bool = False,
) -> Report:
    """Run until the time is over, or through a given list of faults. Its traces go to `keep`."""
    chance = random.Random(seed)
    report = Report(seed)
    started = time.monotonic()
    with contextlib.ExitStack() as stack:
        cluster, proxy = stack.enter_context(proxied_cluster(secured))
        nemesis = Nemesis(cluster, proxy, chance, say)
        clients = Clients(cluster.bootstrap, cluster.client_settings)
        with clients:
            clients.progress(20, SETTLE_S)
            plan = iter(kinds) if kinds is not None else None
            while time.monotonic() - started < seconds or plan is not None:
                kind = next(plan, None) if plan is not None else nemesis.draw()
                if kind is None:
                    break
                nemesis.strike(kind)
                time.sleep(chance.uniform(0.5, 3.0))
            nemesis.heal()
            clients.progress(20, SETTLE_S)
        report.anomalies = clients.anomalies()
        report.lost_commits = lost_commits(clients.settings, clients.notes, SETTLE_S)
        report.unanswered = clients.unanswered
        report.seconds = time.monotonic() - started
        judge(report, clients.notes, nemesis)
        if keep is not None:
            save(keep, report, clients.notes, cluster)
    return report


def judge(report: Report, notes: Notes, nemesis: Nemesis) -> None:
    report.faults = Counter(kind for _, kind in nemesis.faults)
    report.endings = nemesis.endings
    report.acknowledged = sum(map(len, notes.acknowledged_at.values()))
    report.errors = notes.errors
    report.longest_pause_s = longest_gap(notes.acknowledged_at)
    report.pauses_s = gaps_after(nemesis.faults, notes.acknowledged_at)


def save(folder: Path, report: Report, notes: Notes, cluster: GralhaCluster) -> None:
    """Save the files that one needs to analyse a run."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.txt").write_text("\n".join([str(report), *report.problems()[:1000]]) + "\n")
    (folder / "history.jsonl").write_text("".join(f"{line}\n" for line in to_lines(notes.events)))
    for node_id in cluster.node_ids:
        (folder / f"node-{node_id}.log").write_bytes(cluster.process(node_id).log_file.read_bytes())


def tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--keep", type=Path, default=Path("build/chaos"), help="where its traces go")
    parser.add_argument("--secured", action="store_true", help="with SASL_SSL and ACLs")
    options = parser.parse_args()
    report = run_chaos(
        options.seed,
        options.minutes * 60,
        keep=options.keep,
        say=tell,
        secured=options.secured,
    )
    sys.stdout.write(f"{report}\n")
    for problem in report.problems()[:50]:
        sys.stdout.write(f"WRONG: {problem}\n")
    return 1 if report.problems() else 0


if __name__ == "__main__":
    sys.exit(main())
