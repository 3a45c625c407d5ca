"""kafka-transactions: Apache Kafka's output on the same transactions, and what is left after each change.

The commands run on a broker of Apache Kafka and on ours. Neither verifies transactions, because only so a
transaction can be made to hang. All calls of the Apache command that are compared run in one Java process.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from confluent_kafka import KafkaException, Producer

from gralha.cli import console_consumer, dump_log, features, producer_perf_test
from gralha.cli.hanging_transactions import OpenTransaction, hanging
from gralha.cli.transactions import main
from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.errors import KafkaError
from gralha.client.transaction_values import ProducerState, TransactionDescription
from gralha.client.values import LATEST, ListedOffset, TopicPartition
from gralha.testing import GralhaCluster
from tests.apache.kafka import DRIVER_CLASSES, TOOL_FLAGS, TOOLS, ApacheKafka, java_command, run_tool
from tests.cli.commands import written
from tests.cli.group_members import create_topic
from tests.cli.open_transactions import begin, hang
from tests.client.live import eventually
from tests.quick_groups import QUICK_GROUPS

ORDERS = TopicPartition("orders", 0)
STOCK = [TopicPartition("stock", 0), TopicPartition("stock", 1)]
LONG_AGO_MS = 20 * 60_000


@pytest.fixture(scope="module", params=["apache", "gralha"])
def broker(request: pytest.FixtureRequest) -> Iterator[ApacheKafka | GralhaCluster]:
    settings = {
        **QUICK_GROUPS,
        "transaction.partition.verification.enable": "false",
        "transaction.state.log.num.partitions": "1",
    }
    started = ApacheKafka(settings) if request.param == "apache" else GralhaCluster(config=settings)
    with started:
        yield started


@pytest.fixture(scope="module")
def address(broker: ApacheKafka | GralhaCluster) -> str:
    return broker.bootstrap


@pytest.fixture(scope="module")
def admin(address: str) -> Iterator[Admin]:
    with Admin(Cluster(address)) as connected:
        yield connected


class Scene(NamedTuple):
    """Ids in several states, and the producer of the open transaction."""

    open: Producer
    hanging_offset: int


def states(admin: Admin) -> dict[str, str]:
    """The state of each transactional id."""
    (listings,) = admin.list_transactions().values()
    return {one.transactional_id: one.state for one in listings}


@pytest.fixture(scope="module")
def scene(address: str, admin: Admin) -> Scene:
    for topic in ("orders", "stock"):
        create_topic(address, topic, partitions=2, records=1)
    producer = begin(address, "pay-open", STOCK)
    begin(address, "pay-done", [ORDERS]).commit_transaction(30)
    begin(address, "ship-undone", [ORDERS]).abort_transaction(30)
    # The coordinator answers before it has written the markers.
    ended = {"pay-done": "CompleteCommit", "ship-undone": "CompleteAbort"}
    assert eventually(lambda: ended.items() <= states(admin).items())
    then_ms = round(time.time() * 1000) - LONG_AGO_MS
    offset = hang(admin, ORDERS, producer_id=7777, transactional_id="gone", timestamp_ms=then_ms)
    return Scene(producer, offset)


@pytest.fixture
def ours(address: str, scene: Scene, capfd: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Runs our command. Returns its exit code and all its output."""

    def run(*words: str) -> tuple[int, str]:
        code = main(["--bootstrap-server", address, *words])
        output = written(capfd)
        return code, output.out + output.err

    return run


# --- the same output ------------------------------------------------------------------------------------

TABLES = (
    "list",
    "list --duration-filter 0",
    "list --duration-filter 99999999999999",
    "list --transactional-id-pattern pay-.*",
    "list --transactional-id-pattern none",
    "describe --transactional-id pay-open",
    "describe --transactional-id ship-undone",
    "describe-producers --topic orders --partition 0",
    "describe-producers --topic orders --partition 1",
    "describe-producers --topic stock --partition 1 --broker-id 1",
    "find-hanging --topic orders",
    "find-hanging --topic orders --partition 1",
    "find-hanging --topic orders --max-transaction-timeout 60",
    "find-hanging --broker-id 1 --max-transaction-timeout 0",
)
FAILURES = (
    "describe --transactional-id nobody",
    "find-hanging",
    "find-hanging --partition 0",
    "find-hanging --broker-id 1 --partition 0",
    "abort --topic orders --partition 0",
    "abort --topic orders --partition 0 --producer-id 5",
    "abort --topic orders --partition 0 --producer-id 5 --producer-epoch 0",
    "abort --topic orders --partition 0 --start-offset 99999",
)


@pytest.fixture(scope="module")
def theirs(address: str, scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The Apache command's output for all lines."""
    lines = TABLES + FAILURES
    # The security manager, which catches the end of a command, would refuse the metrics of the client.
    policy = tmp_path_factory.mktemp("java") / "policy"
    policy.write_text("grant { permission java.security.AllPermission; };\n")
    flags = [*TOOL_FLAGS, "-Djava.security.manager=allow", f"-Djava.security.policy={policy}"]
    call = f"{TOOLS['kafka-transactions']} --bootstrap-server {address}"
    done = subprocess.run(
        java_command("HelpOfTools", flags, DRIVER_CLASSES),
        input="".join(f"{call} {line}\n" for line in lines),
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    return dict(zip(lines, done.stdout.split("\n\0\n")[:-1], strict=True))


def comparable(text: str) -> list[list[str]]:
    """The cells of a table, without durations. Kafka's rows and partitions have no order."""
    head, *rows = [line.split("\t") for line in text.splitlines()]
    for row in rows:
        for place, column in enumerate(head):
            if column.startswith(("TransactionDurationMs", "Duration(min)")):
                row[place] = re.sub(r"^\d+ *$", "N", row[place])
            elif column.startswith("TopicPartitions"):
                row[place] = ",".join(sorted(row[place].strip().split(",")))
    return [head, *sorted(rows)]


@pytest.mark.parametrize("line", TABLES)
def test_the_same_table(line: str, theirs: dict[str, str], ours: Callable[..., Any]) -> None:
    code, output = ours(*line.split())
    assert (code, comparable(output)) == (0, comparable(theirs[line]))


@pytest.mark.parametrize("line", FAILURES)
def test_the_same_failure(line: str, theirs: dict[str, str], ours: Callable[..., Any]) -> None:
    code, output = ours(*line.split())
    assert (code, output.count("\n")) == (1, 1)
    # Kafka adds that logging can be enabled.
    assert theirs[line].startswith(output.rstrip())


def test_apaches_exit_codes(address: str, scene: Scene, ours: Callable[..., Any]) -> None:
    """One Java process for many calls hides them."""
    for line in ("list", "describe --transactional-id nobody", "list --partition 3"):
        done = run_tool("kafka-transactions", "--bootstrap-server", address, *line.split(), check=False)
        assert ours(*line.split())[0] == done.returncode


def test_a_pattern_that_is_wrong_is_explained(ours: Callable[..., Any]) -> None:
    code, output = ours("list", "--transactional-id-pattern", "(")
    assert code == 1
    assert output.startswith("Failed to list transactions: ListTransactions request sent to broker 1 failed")
    assert "regular expression" in output


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("describe-producers --topic orders --partition 0 --broker-id 7", "has no broker 7"),
        ("describe-producers --topic orders --partition 9", "partition orders-9 on leader: "),
        ("describe-producers --topic orders --partition x", "--partition: 'x' is not a whole number"),
        ("find-hanging --topic nothing", "Failed to describe 1 topics: "),
        (
            "abort --topic orders --partition 0 --producer-id 1 --producer-epoch 70000 --coordinator-epoch 0",
            "--producer-epoch: 70000 is not between -1 and 32767",
        ),
    ],
)
def test_other_failures(line: str, complaint: str, ours: Callable[..., Any]) -> None:
    code, output = ours(*line.split())
    assert (code, output.count("\n")) == (1, 1)
    assert complaint in output


def test_json(ours: Callable[..., Any]) -> None:
    def document(line: str, name: str) -> Any:
        code, output = ours(*line.split(), "--json")
        found = json.loads(output)
        assert (code, found.pop("version"), list(found)) == (0, 1, [name])
        return found[name]

    (listed,) = document("list --transactional-id-pattern pay-open", "transactions")
    assert listed == {
        "transactionalId": "pay-open",
        "coordinator": 1,
        "producerId": listed["producerId"],
        "transactionState": "Ongoing",
    }
    (described,) = document("describe --transactional-id pay-open", "transactions")
    assert described["topicPartitions"] == [{"topic": "stock", "partition": number} for number in (0, 1)]
    assert described["transactionDurationMs"] >= 0
    producers = document("describe-producers --topic stock --partition 0", "producers")
    (mine,) = [one for one in producers if one["producerId"] == listed["producerId"]]
    assert (mine["latestCoordinatorEpoch"], mine["currentTransactionStartOffset"]) == (None, 1)
    (found,) = document("find-hanging --topic orders", "hangingTransactions")
    assert (found["topic"], found["partition"], found["producerId"]) == ("orders", 0, 7777)
    assert (found["coordinatorEpoch"], found["durationMinutes"]) == (None, found["durationMinutes"])
    assert found["durationMinutes"] >= 20


# --- changes --------------------------------------------------------------------------------------------


def last_stable_offset(admin: Admin, partition: TopicPartition) -> int:
    answer = admin.list_offsets({partition: LATEST}, read_committed=True)[partition]
    assert isinstance(answer, ListedOffset)
    return answer.offset


def open_producers(admin: Admin, partition: TopicPartition) -> list[int]:
    producers = admin.describe_producers([partition])[partition]
    assert isinstance(producers, list)
    return [one.producer_id for one in producers if one.transaction_start_offset is not None]


@pytest.mark.parametrize("form", ["--start-offset", "--producer-id"])
@pytest.mark.parametrize("whose", ["ours", "theirs"])
def test_a_hanging_transaction_is_found_and_aborted(
    form: str,
    whose: str,
    address: str,
    admin: Admin,
    ours: Callable[..., Any],
    new_name: Callable[[str], str],
) -> None:
    """It holds the last stable offset until then."""
    topic = new_name("hanging")
    create_topic(address, topic, partitions=1)
    partition = TopicPartition(topic, 0)
    offset = hang(admin, partition, producer_id=8888, transactional_id="gone", timestamp_ms=1)
    assert last_stable_offset(admin, partition) == offset == 10
    assert ours("find-hanging", "--topic", topic)[1].splitlines()[1].split()[2:6] == ["8888", "0", "-1", "10"]
    words = ["abort", "--topic", topic, "--partition", "0"]
    if form == "--start-offset":
        words += ["--start-offset", str(offset)]
    else:
        words += ["--producer-id", "8888", "--producer-epoch", "0", "--coordinator-epoch", "-1"]
    if whose == "ours":
        assert ours(*words) == (0, "")
    else:
        run_tool("kafka-transactions", "--bootstrap-server", address, *words)
    assert open_producers(admin, partition) == []
    assert last_stable_offset(admin, partition) == offset + 2
    assert ours("find-hanging", "--topic", topic)[1].count("\n") == 1


def test_a_marker_of_an_old_coordinator_is_refused_as_by_kafka(
    address: str, admin: Admin, ours: Callable[..., Any], new_name: Callable[[str], str]
) -> None:
    topic = new_name("fenced")
    create_topic(address, topic, partitions=1)
    hang(admin, TopicPartition(topic, 0), producer_id=9999, transactional_id="gone", timestamp_ms=1)
    words = ["abort", "--topic", topic, "--partition", "0", "--producer-id", "9999", "--producer-epoch", "0"]
    assert ours(*words, "--coordinator-epoch", "5") == (0, "")
    code, output = ours(*words, "--coordinator-epoch", "3")
    theirs = run_tool(
        *("kafka-transactions", "--bootstrap-server", address, *words, "--coordinator-epoch", "3"),
        check=False,
    )
    assert code == theirs.returncode == 1
    assert theirs.stderr.startswith(output.rstrip())
    assert "coordinator epoch 3 has been fenced" in output


@pytest.mark.parametrize(
    "words", ["forceTerminateTransaction --transactionalId", "force-terminate --transactional-id"]
)
def test_terminating_a_transaction_fences_its_producer(
    words: str, address: str, admin: Admin, ours: Callable[..., Any], new_name: Callable[[str], str]
) -> None:
    name = new_name("terminated")
    create_topic(address, name, partitions=1, records=0)
    partition = TopicPartition(name, 0)
    producer = begin(address, name, [partition])
    assert len(open_producers(admin, partition)) == 1
    assert ours(*words.split(), name) == (0, "")
    assert open_producers(admin, partition) == []
    described = admin.describe_transactions([name])[name]
    assert isinstance(described, TransactionDescription)
    assert described.partitions == []
    with pytest.raises(KafkaException, match=r"newer producer|fenced|epoch"):
        producer.commit_transaction(30)


def test_terminating_an_id_that_does_not_exist_creates_none(admin: Admin, ours: Callable[..., Any]) -> None:
    code, output = ours("force-terminate", "--transactional-id", "pay-opne")
    assert code == 0
    assert output.startswith("WARN There is no transactional id `pay-opne`")
    assert isinstance(admin.describe_transactions(["pay-opne"])["pay-opne"], KafkaError)


# --- the choice, without a broker -----------------------------------------------------------------------


def candidate(producer_id: int, partition: TopicPartition) -> OpenTransaction:
    return OpenTransaction(partition, ProducerState(producer_id, 0, 0, 5, None, 3))


def test_only_transactions_that_no_coordinator_will_end_hang() -> None:
    description = TransactionDescription(1, "known", 2, 0, "Ongoing", 60_000, 5, [STOCK[0]])
    candidates = [candidate(3, ORDERS), *(candidate(2, one) for one in STOCK), candidate(1, ORDERS)]
    found = hanging(candidates, {2: "known", 3: "expired"}, {"known": description})
    # Producer 1 has no id, the id of producer 3 is gone, and one partition of producer 2 was left behind.
    assert found == [candidate(1, ORDERS), candidate(2, STOCK[1]), candidate(3, ORDERS)]


# --- the log of transactions, and reading committed records ---------------------------------------------


def test_the_log_of_transactions_is_shown_as_by_kafka(
    broker: ApacheKafka | GralhaCluster, scene: Scene, capfd: pytest.CaptureFixture[str]
) -> None:
    log = broker.data_folder() / "__transaction_state-0" / "00000000000000000000.log"
    copy = broker.folder / log.name
    copy.write_bytes(log.read_bytes())
    words = ["--transaction-log-decoder", "--files", str(copy)]
    assert dump_log.main(words) == 0
    output = written(capfd).out
    assert output == run_tool("kafka-dump-log", *words).stdout
    assert '"transactionalId":"pay-done"' in output
    # Tagged fields of version 1 (KIP-890).
    assert '"clientTransactionVersion":2' in output


FORMATTER = "org.apache.kafka.tools.consumer.TransactionLogMessageFormatter"


def test_the_formatter_shows_records_as_kafkas_does(
    address: str, scene: Scene, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["--bootstrap-server", address, "--topic", "__transaction_state", "--from-beginning"]
    words += ["--formatter", FORMATTER, "--max-messages", "5"]
    assert console_consumer.main(words) == 0
    ours = [json.loads(line) for line in written(capfd).out.splitlines()]
    text, theirs = run_tool("kafka-console-consumer", *words).stdout, []
    while text:
        document, end = json.JSONDecoder().raw_decode(text)
        theirs.append(document)
        text = text[end:].lstrip()
    assert len(ours) == 5
    assert ours == theirs


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("read_uncommitted", ["0", "of a transaction", "of a transaction", "hangs"]),
        ("read_committed", ["0", "of a transaction"]),
    ],
)
def test_the_isolation_level_decides_what_the_console_consumer_reads(
    level: str, expected: list[str], address: str, scene: Scene, capfd: pytest.CaptureFixture[str]
) -> None:
    """The partition has a record, a committed transaction, an aborted one, and one that hangs."""
    words = ["--bootstrap-server", address, "--topic", "orders", "--partition", "0", "--offset", "earliest"]
    words += ["--isolation-level", level, "--max-messages", str(len(expected))]
    assert console_consumer.main(words) == 0
    assert written(capfd).out.splitlines() == expected


def test_a_hanging_transaction_holds_the_last_stable_offset(admin: Admin, scene: Scene) -> None:
    """Readers of committed records stop there. The page about trouble tells to compare these two offsets."""
    latest = admin.list_offsets({ORDERS: LATEST})[ORDERS]
    assert isinstance(latest, ListedOffset)
    assert last_stable_offset(admin, ORDERS) == scene.hanging_offset == latest.offset - 1


# --- the performance test and the feature ---------------------------------------------------------------


LACKING = (
    "WARN The cluster does not have share.version and streams.version. Only the other features are changed.\n"
)


def level_of_the_feature(address: str, capfd: pytest.CaptureFixture[str]) -> int:
    assert features.main(["--bootstrap-server", address, "describe", "--json"]) == 0
    found = json.loads(written(capfd).out)["features"]
    levels: dict[str, int] = {one["feature"]: one["finalizedVersionLevel"] for one in found}
    return levels["transaction.version"]


@pytest.mark.parametrize("level", [0, 1, 2])
def test_the_performance_test_writes_in_transactions(
    level: int,
    broker: ApacheKafka | GralhaCluster,
    address: str,
    admin: Admin,
    new_name: Callable[[str], str],
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Transactions v1 (levels 0 and 1) and v2. Nothing stays open, and each commit leaves a marker."""
    change = ["downgrade", "--feature", f"transaction.version={level}"]
    if level < 2:
        assert features.main(["--bootstrap-server", address, *change]) == 0
    topic = new_name("measured")
    create_topic(address, topic, partitions=2, records=0)
    words = ["--topic", topic, "--num-records", "3000", "--payload-monotonic", "--throughput", "-1"]
    words += ["--transaction-duration-ms", "1", "--transactional-id", topic]
    try:
        assert producer_perf_test.main(["--bootstrap-server", address, *words]) == 0
        assert written(capfd).out.splitlines()[-1].startswith("3000 records sent, ")
        assert eventually(lambda: states(admin)[topic] == "CompleteCommit")
        described = admin.describe_transactions([topic])[topic]
        assert isinstance(described, TransactionDescription)
        # The producer has a new epoch for each transaction in v2.
        assert (described.producer_epoch > 0) == (level == 2)
        markers = 0
        for number in (0, 1):
            partition = TopicPartition(topic, number)
            latest = admin.list_offsets({partition: LATEST})[partition]
            assert isinstance(latest, ListedOffset)
            assert latest.offset == last_stable_offset(admin, partition)
            markers += latest.offset
        assert markers >= 3000 + 2
    finally:
        raised = ["upgrade", "--release-version", "4.3"]
        assert features.main(["--bootstrap-server", address, *raised]) == 0
        told = written(capfd)
        assert "transaction.version was upgraded to 2." in told.out
        assert told.err == ("" if isinstance(broker, ApacheKafka) else LACKING)
    assert level_of_the_feature(address, capfd) == 2


def test_the_performance_test_chooses_an_id(
    address: str, admin: Admin, new_name: Callable[[str], str], capfd: pytest.CaptureFixture[str]
) -> None:
    topic = new_name("measured")
    create_topic(address, topic, partitions=1, records=0)
    words = ["--bootstrap-server", address, "--topic", topic, "--num-records", "5", "--record-size", "9"]
    words += ["--throughput", "-1"]
    assert producer_perf_test.main([*words, "--transaction-duration-ms", "5000"]) == 0
    ((listing,),) = admin.list_transactions(pattern="performance-producer-.*").values()
    assert eventually(lambda: states(admin)[listing.transactional_id] == "CompleteCommit")
    assert last_stable_offset(admin, TopicPartition(topic, 0)) == 6
    written(capfd)


def test_a_performance_test_that_is_interrupted_leaves_no_transaction_open(
    address: str, admin: Admin, new_name: Callable[[str], str]
) -> None:
    topic = new_name("interrupted")
    create_topic(address, topic, partitions=1, records=0)
    partition = TopicPartition(topic, 0)
    words = ["--bootstrap-server", address, "--topic", topic, "--num-records", "1000000"]
    words += ["--record-size", "9", "--throughput", "50", "--transaction-duration-ms", "60000"]
    program = f"import sys\nfrom gralha.cli.producer_perf_test import main\nsys.exit(main({words!r}))"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.DEVNULL) as process:
        try:
            assert eventually(lambda: open_producers(admin, partition) != [], timeout_s=30)
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130
        finally:
            process.kill()
    assert eventually(lambda: open_producers(admin, partition) == [])
