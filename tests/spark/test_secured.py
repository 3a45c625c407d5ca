"""format("gralha") on a cluster with TLS, logins and rights: users with only the rights that they need.

The rights are those that docs/SPARK.md lists.
"""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from gralha.cli import acls
from gralha.pipelines.spark_errors import failure, of_query
from gralha.testing import GralhaCluster
from tests.certificates import Authority
from tests.received import value_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

PATIENCE_S = 60.0
EXACTLY_ONCE = {"deliveryGuarantee": "exactly-once"}
DECISIONS = "_gralha_decisions"


@pytest.fixture(scope="module")
def cluster() -> Iterator[GralhaCluster]:
    with GralhaCluster(security="sasl_ssl", config={"auto.create.topics.enable": "false"}) as cluster:
        yield cluster


class Secured:
    """Queries of one user, with an input topic of ten records and an output topic."""

    def __init__(self, spark: SparkSession, cluster: GralhaCluster, name: str, folder: Path) -> None:
        self.spark = spark
        self.cluster = cluster
        self.user = name
        self.input, self.output = f"{name}-in", f"{name}-out"
        self._folder = folder
        admin = AdminClient(cluster.client_config("admin"))
        for topic in (self.input, self.output):
            admin.create_topics([NewTopic(topic, 2, 1)])[topic].result(PATIENCE_S)
        producer = confluent_kafka.Producer(cluster.client_config("admin"))
        for number in range(10):
            producer.produce(self.input, str(number))
        assert producer.flush(PATIENCE_S) == 0
        cluster.add_user(name)
        self.options = cluster.spark_options(name)

    def read(self, **options: str) -> int:
        rows = self.spark.read.format("gralha").options(**{**self.options, **options})
        return rows.option("subscribe", self.input).load().count()

    def write(self, **options: str) -> None:
        rows = self.spark.range(10).selectExpr("CAST(id AS STRING) AS value").coalesce(1)
        writer = rows.write.format("gralha").options(**{**self.options, **options})
        writer.option("topic", self.output).mode("append").save()

    def stream(self, group: str | None = None, **sink: str) -> StreamingQuery:
        """Copies all records, and fails if the query fails."""
        rows = self.spark.readStream.format("gralha").options(**self.options)
        rows = rows if group is None else rows.option("groupId", group)
        rows = rows.option("subscribe", self.input).option("startingOffsets", "earliest")
        written = rows.load().writeStream.format("gralha").options(**self.options, **sink)
        written = written.option("topic", self.output).trigger(availableNow=True)
        query = written.option("checkpointLocation", str(self._folder / "checkpoint")).start()
        try:
            query.awaitTermination()
        except Exception:
            raise RuntimeError(failure(query)) from None
        return query

    def allow(self, *operations: str, **resource: Any) -> None:
        self.cluster.allow(self.user, *operations, **resource)

    def allow_exactly_once(self) -> None:
        """The rights of an exactly-once sink, beside those on its topic."""
        self.allow("WRITE", transactional_id="gralha.", prefixed=True)
        self.allow("READ", "WRITE", "CREATE", topic=DECISIONS)

    def written(self) -> list[bytes]:
        """The committed values in the output topic, in order."""
        settings = {
            **self.cluster.client_config("admin"),
            "group.id": "none",
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
        consumer = confluent_kafka.Consumer(settings)
        try:
            consumer.assign([confluent_kafka.TopicPartition(self.output, one, 0) for one in range(2)])
            found: list[bytes] = []
            ended = 0
            while ended < 2:
                message = consumer.poll(PATIENCE_S)
                assert message is not None, f"only {found} came"
                if message.error() is None:
                    found.append(value_of(message))
                else:
                    ended += 1
            return sorted(found)
        finally:
            consumer.close()


@pytest.fixture
def secured(
    spark: SparkSession, cluster: GralhaCluster, new_name: Callable[[str], str], tmp_path: Path
) -> Secured:
    return Secured(spark, cluster, new_name("user"), tmp_path)


TEN = sorted(b"%d" % number for number in range(10))


def test_batch_queries(secured: Secured) -> None:
    secured.allow("READ", topic=secured.input)
    secured.allow("WRITE", topic=secured.output)
    assert secured.read() == 10
    secured.write()
    assert secured.written() == TEN


def test_a_stream(secured: Secured) -> None:
    secured.allow("READ", topic=secured.input)
    secured.allow("WRITE", topic=secured.output)
    secured.allow("READ", group=secured.user)
    query = secured.stream(group=secured.user)
    assert query.lastProgress is not None
    assert secured.written() == TEN


def test_an_exactly_once_stream_with_its_group(secured: Secured, tmp_path: Path) -> None:
    secured.allow("READ", topic=secured.input)
    secured.allow("READ", "WRITE", topic=secured.output)
    secured.allow("READ", group=secured.user)
    secured.allow_exactly_once()
    secured.stream(groupId=secured.user, **EXACTLY_ONCE)
    assert secured.written() == TEN
    group = confluent_kafka.Consumer({**secured.cluster.client_config("admin"), "group.id": secured.user})
    places = [confluent_kafka.TopicPartition(secured.input, number) for number in range(2)]
    assert sum(place.offset for place in group.committed(places, PATIENCE_S)) == 10
    group.close()


def test_an_exactly_once_batch_write(secured: Secured) -> None:
    secured.allow("READ", "WRITE", topic=secured.output)
    secured.allow_exactly_once()
    for _ in range(2):
        secured.write(txnAppId=secured.user, txnVersion="1", **EXACTLY_ONCE)
    assert secured.written() == TEN


def sentence(call: Callable[[], object]) -> str:
    """What a person reads of the error."""
    with pytest.raises(Exception) as raised:
        call()
    return of_query(str(raised.value))


def follow_the_advice(text: str, cluster: GralhaCluster) -> None:
    """Runs the command in the sentence, as a super user."""
    found = re.search(r"A super user can allow it: kafka-acls (.*?);?$", text)
    assert found, text
    access = ["--bootstrap-server", cluster.bootstrap]
    access += ["--command-config", str(cluster.properties_file("admin"))]
    with redirect_stdout(io.StringIO()):
        assert acls.main([*access, *shlex.split(found[1])]) == 0


@pytest.mark.parametrize(
    ("call", "steps"),
    [
        (lambda one: one.read(), 1),
        (lambda one: one.write(), 1),
        (lambda one: one.stream(), 2),
        # Input, decisions (to write, to read, to create), transactional ids, and the output.
        (lambda one: one.stream(**EXACTLY_ONCE), 6),
    ],
    ids=["read", "write", "stream", "exactly-once"],
)
def test_missing_rights_can_be_given_one_after_the_other(
    secured: Secured, call: Callable[[Secured], object], steps: int
) -> None:
    """Each error has a command that gives the missing right. In the end the query works."""
    seen: list[str] = []
    while len(seen) <= steps:
        try:
            call(secured)
            break
        except Exception as error:
            seen.append(of_query(str(error)))
            assert f"User:{secured.user} " in seen[-1]
            follow_the_advice(seen[-1], secured.cluster)
    assert len(seen) in range(1, steps + 1), seen


@pytest.mark.parametrize(
    "call", [lambda one, new: one.read(**new), lambda one, new: one.write(**new)], ids=["read", "write"]
)
def test_a_wrong_password(
    secured: Secured, tmp_path: Path, call: Callable[[Secured, dict[str, str]], object]
) -> None:
    file = tmp_path / "wrong.properties"
    right = secured.cluster.java_config(secured.user)["sasl.jaas.config"]
    file.write_text("sasl.jaas.config=" + right.replace('password="', 'password="x') + "\n")
    said = sentence(lambda: call(secured, {"kafka.sasl.jaas.config": f"${{file:{file}:sasl.jaas.config}}"}))
    assert "does not accept the login with SCRAM-SHA-512" in said
    assert "Check the user and the password (sasl.jaas.config, or sasl.username and sasl.password)" in said
    assert 'password="' not in said


def test_an_authority_that_is_not_trusted(secured: Secured, tmp_path: Path) -> None:
    other = Authority().write_pem(tmp_path / "other.pem")
    said = sentence(lambda: secured.write(**{"kafka.ssl.truststore.location": other}))
    assert "is not trusted" in said
    assert "Set ssl.truststore.location" in said


def test_a_secret_that_does_not_exist(secured: Secured) -> None:
    said = sentence(lambda: secured.read(**{"kafka.sasl.jaas.config": "${env:NOT_THERE}"}))
    assert "refers to ${env:NOT_THERE}, but the environment of this process has no variable" in said


def test_a_plan_does_not_show_the_password(secured: Secured) -> None:
    secured.allow("READ", topic=secured.input)
    password = secured.cluster.client_config(secured.user)["sasl.password"]
    rows = secured.spark.read.format("gralha").options(**secured.options).option("subscribe", secured.input)
    with redirect_stdout(io.StringIO()) as plan:
        rows.load().explain("extended")
    assert "gralha" in plan.getvalue()
    assert password not in plan.getvalue()
