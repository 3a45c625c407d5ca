"""Mutated frames against a broker process: before a login, after it, and inside TLS.

    python -m tests.broker.mutated_frames --frames 1000000 --seed 7

There are four lanes, and each has its share of the frames:

    before the login    requests of a login, and others, on a connection that nobody has logged in on
    after the login     requests of all APIs and versions, of a user who may read and write one topic
    inside TLS          the same, of a client without a name
    TLS records         bytes of the handshake, and of encrypted requests

A frame counts when the broker has answered it, or has closed the connection because of it. Several
connections of a lane wait at the same time, because some requests ask the broker to wait. After each round
the broker must be the same process, serve a new client, and have little more memory than at the start. The
seed decides all frames.
"""

from __future__ import annotations

import argparse
import random
import re
import ssl
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.security import ClientSecurity
from gralha.client.values import NewTopic
from gralha.protocol.acls import (
    ANY_HOST,
    ANY_PRINCIPAL,
    Acl,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)
from gralha.testing.process import free_ports
from tests.broker.frame_answers import SENTINEL, SENTINEL_ID
from tests.broker.mutation_lanes import (
    TOPIC,
    Lane,
    LoginLane,
    RecordLane,
    RequestLane,
    Tally,
    connect,
    good_frames,
    log_in,
)
from tests.certificates import Authority
from tests.sasl_cluster import NODE, NODE_PASSWORD, SaslCluster

CONNECTIONS: Final = 4  # of a lane
ROUND: Final = 20_000  # frames until the broker is looked at
GROWTH_LIMIT_BYTES: Final = 100 << 20
SHARES: Final = {"before": 0.4, "after": 0.35, "tls": 0.15, "records": 0.1}


class MutationCluster(SaslCluster):
    """A broker with the listeners SASL (a login without TLS) and TLS (no login), and rights."""

    def __init__(self, folder: Path) -> None:
        authority = Authority()
        (self.tls_port,) = free_ports(1)
        self.authority = authority.write_pem(folder / "ca.pem")
        self._key_file = authority.issue("broker").write_pem(folder / "broker.pem")
        super().__init__(1, None, folder / "nodes")

    def _node_config(self, node_id: int) -> dict[str, str]:
        config = super()._node_config(node_id)
        tls = f"TLS://127.0.0.1:{self.tls_port}"
        return {
            **config,
            "listeners": f"{config['listeners']},{tls}",
            "advertised.listeners": f"{config['advertised.listeners']},{tls}",
            "listener.security.protocol.map": config["listener.security.protocol.map"] + ",TLS:SSL",
            "ssl.keystore.location": self._key_file,
            "connection.failed.authentication.delay.ms": "0",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:{NODE};User:node",
        }

    def prepare(self) -> None:
        """Creates the topic, and allows clients to use it."""
        properties = {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": (
                "org.apache.kafka.common.security.scram.ScramLoginModule required "
                f'username="{NODE}" password="{NODE_PASSWORD}";'
            ),
        }
        allowed = [
            (ResourceType.TOPIC, Operation.READ),
            (ResourceType.TOPIC, Operation.WRITE),
            (ResourceType.GROUP, Operation.READ),
            (ResourceType.TRANSACTIONAL_ID, Operation.WRITE),
        ]
        rules = [
            Acl(kind, TOPIC, PatternType.LITERAL, ANY_PRINCIPAL, ANY_HOST, operation, Permission.ALLOW)
            for kind, operation in allowed
        ]
        with Admin(Cluster(self.bootstrap, security=ClientSecurity.from_kafka(properties))) as admin:
            admin.create_topics([NewTopic(TOPIC, 1, 1)])
            admin.create_acls(rules)

    def memory_bytes(self, name: str) -> int:
        status = Path(f"/proc/{self.process().pid}/status").read_text()
        found = re.search(rf"^{name}:\s+(\d+) kB", status, re.MULTILINE)
        assert found is not None
        return int(found[1]) * 1024


class Run:
    """All lanes against one broker."""

    def __init__(self, cluster: MutationCluster, seed: int) -> None:
        self._cluster = cluster
        (self._sasl_port,) = cluster.sasl_ports.values()
        self._tls = ssl.create_default_context(cafile=cluster.authority)
        self._of_logins = good_frames(of_logins=True)
        self._of_clients = good_frames(of_logins=False)
        self.lanes = {
            name: [
                self._player(name, random.Random(f"{seed} {name} {number}")) for number in range(CONNECTIONS)
            ]
            for name in SHARES
        }
        self._pid = cluster.process().pid
        self._memory_at_start = 0
        self.peak_bytes = 0

    def _player(self, lane: str, chance: random.Random) -> Lane:
        tls_port = self._cluster.tls_port
        if lane == "before":
            return LoginLane(self._sasl_port, self._of_logins, chance)
        if lane == "after":
            return RequestLane(lambda: log_in(self._sasl_port), self._of_clients, chance)
        if lane == "tls":
            return RequestLane(lambda: connect(tls_port, self._tls), self._of_clients, chance)
        return RecordLane(tls_port, self._tls, chance)

    def tally(self, lane: str) -> Tally:
        """How all frames of a lane have ended."""
        tallies = [player.tally for player in self.lanes[lane]]
        return Tally(
            sum(one.answered for one in tallies),
            sum(one.closed for one in tallies),
            sum(one.waited for one in tallies),
        )

    def play(self, frames: int, say: Callable[[str], None] = lambda text: None) -> None:
        """Plays that many frames of all lanes."""
        self._look()
        self._memory_at_start = self._cluster.memory_bytes("VmRSS")
        started = time.monotonic()
        left = frames
        with ThreadPoolExecutor(CONNECTIONS * len(SHARES)) as threads:
            while left:
                of_round = min(ROUND, left)
                left -= of_round
                playing = [
                    threads.submit(player.play, max(1, round(of_round * SHARES[name] / CONNECTIONS)))
                    for name, players in self.lanes.items()
                    for player in players
                ]
                for one in playing:
                    one.result()
                self._look()
                done = sum(self.tally(name).frames for name in self.lanes)
                rate = done / (time.monotonic() - started)
                growth = (self._cluster.memory_bytes("VmRSS") - self._memory_at_start) / (1 << 20)
                say(f"{done:,} frames, {rate:,.0f} / s; memory {growth:+.1f} MiB")

    def _look(self) -> None:
        """The broker is the same process, has used little more memory, and serves a new client."""
        process = self._cluster.process()
        assert process.alive, process.log_tail()
        assert process.pid == self._pid
        if self._memory_at_start:
            self.peak_bytes = self._cluster.memory_bytes("VmHWM") - self._memory_at_start
            assert self.peak_bytes < GROWTH_LIMIT_BYTES, f"memory grew by {self.peak_bytes >> 20} MiB"
        line = log_in(self._sasl_port)
        line.send(SENTINEL)
        assert struct.unpack_from(">i", line.response())[0] == SENTINEL_ID
        line.close()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.broker.mutated_frames", description=__doc__)
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    chosen = parser.parse_args()
    say(f"mutated frames: {chosen.frames:,} with seed {chosen.seed}")
    with (
        tempfile.TemporaryDirectory(prefix="gralha-mutated-") as folder,
        MutationCluster(Path(folder)) as cluster,
    ):
        cluster.prepare()
        run = Run(cluster, chosen.seed)
        run.play(chosen.frames, say)
        for name in run.lanes:
            say(f"{name}: {run.tally(name)}")
        say(f"peak of the memory: {run.peak_bytes / (1 << 20):+.1f} MiB")
    return 0


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
