"""Scrapes a node's metrics with a real HTTP client, and reads them with Prometheus's own parser."""

import re
import time
import urllib.request
from typing import NamedTuple, Protocol

from prometheus_client.parser import text_string_to_metric_families

from gralha.testing.process import ServerProcess

# Any free port: the node's log says which one.
METRICS_ON = {"gralha.metrics.listener": "http://127.0.0.1:0"}
TIMEOUT_S = 60.0
_ADDRESS = re.compile(r"ready: .* metrics at (http://127\.0\.0\.1:(\d+)/metrics)")


class Nodes(Protocol):
    """A cluster whose nodes are processes."""

    def process(self, node_id: int, /) -> ServerProcess: ...


class Scrape(NamedTuple):
    """The samples of one scrape, and its text."""

    text: str
    samples: dict[tuple[str, frozenset[tuple[str, str]]], float]

    def value(self, name: str, **labels: str) -> float:
        """The sample with exactly these labels."""
        return self.samples[name, frozenset(labels.items())]

    def sum(self, name: str, **labels: str) -> float:
        """The sum of the samples with these labels, and maybe others."""
        wanted = labels.items()
        found = [value for (known, all_), value in self.samples.items() if known == name and wanted <= all_]
        assert found, f"there is no {name} {labels}"
        return sum(found)

    def families(self) -> dict[str, str]:
        """All families with their types."""
        return dict(re.findall(r"^# TYPE (\S+) (\S+)$", self.text, re.MULTILINE))


def parse(text: str) -> Scrape:
    samples = {}
    for family in text_string_to_metric_families(text):
        for one in family.samples:
            key = (one.name, frozenset(one.labels.items()))
            assert key not in samples, f"{one.name} {one.labels} occurs twice"
            samples[key] = one.value
    return Scrape(text, samples)


def metrics_url(cluster: Nodes, node_id: int = 1) -> str:
    """Where the newest process of a node serves its metrics."""
    return _addresses(cluster, node_id)[-1][0]


def metrics_port(cluster: Nodes, node_id: int = 1) -> int:
    return int(_addresses(cluster, node_id)[-1][1])


def _addresses(cluster: Nodes, node_id: int) -> list[tuple[str, str]]:
    process = cluster.process(node_id)
    deadline = time.monotonic() + TIMEOUT_S
    while not (found := _ADDRESS.findall(process.log_file.read_text())):
        # The broker answers clients a moment before it says that it is ready.
        assert time.monotonic() < deadline, process.log_tail()
        time.sleep(0.01)
    return [(url, port) for url, port in found]


def scrape(cluster: Nodes, node_id: int = 1) -> Scrape:
    with urllib.request.urlopen(metrics_url(cluster, node_id), timeout=TIMEOUT_S) as answer:
        assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        return parse(answer.read().decode())
