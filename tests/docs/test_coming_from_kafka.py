"""docs/COMING_FROM_KAFKA.md names all that is missing, and nothing that exists."""

import re
import tomllib

from gralha.broker.handlers import SERVED
from gralha.protocol.apis import ApiKey
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "COMING_FROM_KAFKA.md").read_text()
ZOOKEEPER = {ApiKey.LEADER_AND_ISR, ApiKey.STOP_REPLICA, ApiKey.UPDATE_METADATA, ApiKey.CONTROLLED_SHUTDOWN}
# The commands in the bin folder of Apache Kafka 4.3.
COMMANDS_OF_KAFKA = """
connect-distributed connect-mirror-maker connect-plugin-path connect-standalone kafka-acls
kafka-broker-api-versions kafka-client-metrics kafka-cluster kafka-configs kafka-console-consumer
kafka-console-producer kafka-console-share-consumer kafka-consumer-groups kafka-consumer-perf-test
kafka-delegation-tokens kafka-delete-records kafka-dump-log kafka-e2e-latency kafka-features
kafka-get-offsets kafka-groups kafka-jmx kafka-leader-election kafka-log-dirs kafka-metadata-quorum
kafka-metadata-shell kafka-producer-perf-test kafka-reassign-partitions kafka-replica-verification
kafka-run-class kafka-server-start kafka-server-stop kafka-share-consumer-perf-test kafka-share-groups
kafka-storage kafka-streams-application-reset kafka-streams-groups kafka-topics kafka-transactions
kafka-verifiable-consumer kafka-verifiable-producer kafka-verifiable-share-consumer trogdor
"""


def table_after(sentence: str) -> set[str]:
    """The names in the last column of the table below a sentence."""
    table = PAGE.partition(sentence)[2].strip().partition("\n\n")[0]
    rows = [line.split("|")[2] for line in table.splitlines()[2:]]
    # In parentheses is what to use instead.
    return {name for row in rows for name in re.findall(r"`([\w-]+)`", re.sub(r"\(.*?\)", "", row))}


def test_missing_apis_are_those_that_no_broker_serves() -> None:
    missing = set(ApiKey) - set(SERVED) - ZOOKEEPER
    names = {"".join(part.capitalize() for part in key.name.split("_")) for key in missing}
    assert table_after("The APIs of Kafka 4.3 that brokers do not serve:") == names


def test_missing_commands_are_those_without_a_script() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    missing = set(COMMANDS_OF_KAFKA.split()) - set(scripts)
    assert table_after("The commands of Kafka 4.3 that Gralha does not have:") == missing
