"""The log of transactions: Apache's tool reads it, a restart keeps it, and the level may change online.

One difference is intended. After a downgrade to level 0, Apache Kafka refuses every id that has had a
transaction v2 with UNSUPPORTED_VERSION, because a record of version 0 has no field for that. Even
InitProducerId is refused, and then the id answers CONCURRENT_TRANSACTIONS. Here such an id can be used as
before.
"""

import json
import re
from collections.abc import Iterator

import pytest

from gralha.client.cluster import Cluster
from gralha.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from gralha.testing import GralhaCluster
from tests.apache.kafka import ApacheKafka, run_tool
from tests.broker.transactions.story import Side

SETTINGS = {"transaction.state.log.num.partitions": "1", "offsets.topic.num.partitions": "1"}
UPGRADE, SAFE_DOWNGRADE = 1, 2
RECORD = re.compile(r"\| offset: .* key: (?P<key>.*) payload: (?P<payload>.*)")
TIMES = re.compile(r"\b\d{13}\b")

AnyCluster = ApacheKafka | GralhaCluster


@pytest.fixture(scope="module")
def clusters() -> Iterator[tuple[ApacheKafka, GralhaCluster]]:
    with ApacheKafka(SETTINGS) as apache, GralhaCluster(config=SETTINGS) as gralha:
        yield apache, gralha


def each_state(side: Side, has_v2: bool) -> None:
    """Transactions v1 and v2 in all states that stay."""
    producer = side.init()
    side.add(producer, 0, 2)
    side.add_offsets(producer)
    side.end(producer, version=4)
    side.settle()
    side.add(producer, 0)
    side.init()
    side.settle()
    producer = side.init()
    side.add(producer, 1)
    side.end(producer, is_commit=False, version=4)
    side.settle()
    if not has_v2:
        return
    side.produce(producer, partition=1)
    after = side.end(producer, is_commit=False)
    side.settle()
    side.end(after, is_commit=False)
    side.settle()
    fenced = side.init()
    side.produce(fenced)
    side.init()
    side.settle()
    last = side.init()
    side.produce(last)


def set_level(bootstrap: str, level: int, upgrade_type: int) -> int:
    with Cluster(bootstrap) as cluster:
        key = FeatureUpdateKey("transaction.version", level, upgrade_type=upgrade_type)
        request = UpdateFeaturesRequest(20_000, [key])
        return cluster.send_to_controller(request, UpdateFeaturesResponse).error_code


def dumped(cluster: AnyCluster, name: str) -> list[str]:
    """What Apache's tool says about the records of one id, without times and with names for producer ids."""
    (segment,) = (cluster.data_folder() / "__transaction_state-0").glob("*.log")
    output = run_tool("kafka-dump-log", "--transaction-log-decoder", "--files", str(segment)).stdout
    found = [match for line in output.splitlines() if (match := RECORD.search(line)) is not None]
    return [in_order(TIMES.sub('"TIME"', match["payload"])) for match in found if f'"{name}"' in match["key"]]


def in_order(payload: str) -> str:
    """Kafka keeps partitions in a set, so their order means nothing."""
    record = json.loads(payload)
    if topics := record["data"].get("transactionPartitions"):
        for topic in topics:
            topic["partitionIds"].sort()
        topics.sort(key=lambda topic: str(topic["topic"]))
    return json.dumps(record)


def renamed(lines: list[str]) -> list[str]:
    """Producer ids differ between clusters, so they become numbers in the order in which they appear."""
    names: dict[str, str] = {}

    def name(match: "re.Match[str]") -> str:
        return match[1] + names.setdefault(match[2], f"p{len(names)}")

    return [re.sub(r'("?\w*[pP]roducerId"?[:=]\s*)(\d+)', name, line) for line in lines]


@pytest.mark.parametrize("level", [2, 1, 0])
def test_apaches_tool_sees_the_same_log(clusters: tuple[ApacheKafka, GralhaCluster], level: int) -> None:
    """All records of an id, whatever the level of the feature was when they were written."""
    stories, logs = [], []
    for cluster in clusters:
        if level < 2:
            assert set_level(cluster.bootstrap, level, SAFE_DOWNGRADE) == 0
        side = Side(cluster.bootstrap)
        side.begin_story(f"level-{level}")
        each_state(side, has_v2=level > 0)
        side.cluster.close()
        stories.append(side.story)
        logs.append(renamed(dumped(cluster, f"level-{level}")))
    assert stories[1] == stories[0]
    assert len(logs[0]) > 10, logs
    assert logs[1] == logs[0]


def test_the_level_changes_while_transactions_are_open(clusters: tuple[ApacheKafka, GralhaCluster]) -> None:
    stories = []
    for cluster in clusters:
        set_level(cluster.bootstrap, 2, UPGRADE)
        side = Side(cluster.bootstrap)
        side.begin_story("changes")
        producer = side.init()
        side.produce(producer)
        side.tell("level 1", set_level(cluster.bootstrap, 1, SAFE_DOWNGRADE))
        producer = side.end(producer)
        side.settle()
        side.add(producer, 0)
        side.produce(producer, version=11)
        side.tell("level 2", set_level(cluster.bootstrap, 2, UPGRADE))
        side.end(producer, version=4)
        side.settle()
        side.produce(producer, 1, partition=1)
        side.produce(producer, partition=1)
        side.init()
        side.settle()
        side.read()
        side.producers(0, 1)
        side.cluster.close()
        stories.append(side.story)
    assert stories[1] == stories[0]


def test_after_a_downgrade_to_level_0_ids_can_be_used() -> None:
    """Also those with an open transaction v2. Apache Kafka refuses them."""
    with GralhaCluster(config=SETTINGS) as cluster:
        side = Side(cluster.bootstrap)
        side.begin_story("downgraded")
        producer = side.init()
        side.produce(producer)
        assert set_level(cluster.bootstrap, 0, SAFE_DOWNGRADE) == 0
        producer = side.end(producer)
        side.settle()
        side.add(producer, 1)
        side.end(producer, version=4)
        side.settle()
        side.init()
        side.read()
        side.cluster.close()
        assert side.story[2] == ("commit v5", "NONE", "p0", 1)
        assert side.story[5] == ("commit v4", "NONE", "-1", -1)
        assert side.story[7] == ("init v5", "NONE", "p0", 2)
        assert side.story[-1] == ("list offsets", "NONE", 2)


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_restart_keeps_everything(is_killed: bool) -> None:
    with GralhaCluster(config=SETTINGS) as cluster:
        side = Side(cluster.bootstrap)
        side.begin_story("restart")
        done = side.init(transactional_id="restart-done")
        side.produce(done, txn="restart-done")
        done = side.end(done, txn="restart-done")
        side.settle("restart-done")
        producer = side.init()
        side.produce(producer, partition=1)
        side.commit_offsets(producer)
        side.story.clear()
        show_all(side)
        before = list(side.story)
        if is_killed:
            cluster.kill()
        cluster.restart()
        side.cluster.close()
        again = Side(cluster.bootstrap)
        again.topic, again.topic_id, again.txn = side.topic, side.topic_id, side.txn
        again._names = side._names
        show_all(again)
        assert again.story == before
        again.story.clear()
        again.end(done, is_commit=True, txn="restart-done")
        again.produce(producer, 1, partition=1)
        again.end(producer)
        again.settle()
        again.read(1)
        again.offsets()
        assert [told[1] for told in again.story if told[0] != "fetch"][:3] == [
            "INVALID_TXN_STATE",  # nothing is open
            "NONE",
            "NONE",
        ]
        assert again.story[-1] == ("offsets", "NONE", "NONE", 7)
        assert len(again.story[-3][-1]) == 3  # two batches and a marker


def show_all(side: Side) -> None:
    side.describe()
    side.describe("restart-done")
    side.show()
    side.producers(0, 1)
    for index in (0, 1):
        side.read(index)
    side.offsets()
