"""Pipelines on a cluster with TLS, logins and rights. Secrets are references, in the file and for Spark."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from gralha.pipelines import Pipeline, from_topic, pipeline, to_topic
from gralha.pipelines.errors import CannotStartError, DeclarationError
from gralha.spark.secrets import refer_to_file
from gralha.testing import GralhaCluster
from tests.pipelines.runner import Runner
from tests.pipelines.terminal import gralha
from tests.pipelines.test_cli_spark import QUICK
from tests.received import value_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PATIENCE_S = 60.0
SALES = "product STRING NOT NULL, amount DOUBLE"
LITERAL = (
    "kafka has a secret, sasl.password: write where it is and not what it is, for example "
    '{"sasl.password": "${file:/run/secrets/kafka.properties:sasl.password}"} or "${env:NAME}".'
)
FILE = """
from gralha.pipelines import from_topic, pipeline, to_topic

@pipeline(name="{name}", inputs={{"sales": from_topic("{sales}", schema="{schema}")}},
          output=to_topic("{totals}"))
def copied(sales):
    return sales.select("product", "amount")
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[GralhaCluster]:
    with GralhaCluster(security="sasl_ssl", config={"auto.create.topics.enable": "false"}) as cluster:
        yield cluster


class Shop:
    """A pipeline with its topics, and a user with the rights that docs/SECURITY.md lists for it."""

    def __init__(self, cluster: GralhaCluster, name: str) -> None:
        self.cluster = cluster
        self.name = name
        self.sales, self.totals = f"{name}-sales", f"{name}-totals"
        admin = AdminClient(cluster.client_config("admin"))
        admin.create_topics([NewTopic(self.sales, 1, 1)])[self.sales].result(PATIENCE_S)
        producer = confluent_kafka.Producer(cluster.client_config("admin"))
        for value in (b'{"product": "tea", "amount": 2.0}', b"no JSON"):
            producer.produce(self.sales, value)
        assert producer.flush(PATIENCE_S) == 0
        cluster.add_user(name)

    def allow_all_but_the_output(self) -> None:
        self.cluster.allow(self.name, "READ", topic=self.sales)
        # The command that replays dead letters has a group of its own.
        self.cluster.allow(self.name, "READ", group=self.name, prefixed=True)
        self.cluster.allow(self.name, "READ", "WRITE", "CREATE", topic=f"{self.name}.dead-letters")

    def allow_output(self) -> None:
        self.cluster.allow(self.name, "WRITE", "CREATE", topic=self.totals)

    def settings(self) -> dict[str, str]:
        """The settings of clients without the address, with references in place of secrets."""
        settings = self.cluster.java_config(self.name)
        del settings["bootstrap.servers"]
        return refer_to_file(settings, str(self.cluster.properties_file(self.name)))

    def pipeline(self, kafka: dict[str, str]) -> Pipeline:
        @pipeline(
            name=self.name,
            inputs={"sales": from_topic(self.sales, schema=SALES)},
            output=to_topic(self.totals),
            kafka=kafka,
        )
        def copied(sales: DataFrame) -> DataFrame:
            return sales.select("product", "amount")

        return copied

    def first_total(self) -> object:
        settings = {**self.cluster.client_config("admin"), "group.id": "none"}
        consumer = confluent_kafka.Consumer(settings)
        try:
            consumer.assign([confluent_kafka.TopicPartition(self.totals, 0, 0)])
            (message,) = consumer.consume(1, PATIENCE_S)
            return json.loads(value_of(message))
        finally:
            consumer.close()


@pytest.fixture
def shop(cluster: GralhaCluster, new_name: Callable[[str], str]) -> Shop:
    return Shop(cluster, new_name("shop"))


@pytest.fixture
def runner(spark: SparkSession, cluster: GralhaCluster, tmp_path: Path) -> Runner:
    return Runner(spark, cluster.bootstrap, tmp_path / "checkpoints")


def test_a_pipeline_whose_file_refers_to_its_secrets(shop: Shop, runner: Runner) -> None:
    settings = shop.settings()
    assert settings["sasl.jaas.config"].startswith("${file:")
    declared = shop.pipeline(settings)
    shop.allow_all_but_the_output()
    with pytest.raises(CannotStartError) as refused:
        runner(declared)
    assert str(refused.value) == (
        f"pipeline {shop.name}: The topic {shop.totals} cannot be used: Access to the topic is denied. A "
        f"super user can allow it: kafka-acls --add --allow-principal User:{shop.name} --operation WRITE "
        f"--topic {shop.totals}"
    )
    shop.allow_output()
    (result,) = runner(declared)
    assert result.error is None
    assert shop.first_total() == {"product": "tea", "amount": 2.0}
    password = shop.cluster.client_config(shop.name)["sasl.password"]
    for path in runner.checkpoints.rglob("*"):
        assert path.is_dir() or password.encode() not in path.read_bytes(), path


def test_a_wrong_password(shop: Shop, runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    right = shop.cluster.java_config(shop.name)["sasl.jaas.config"]
    monkeypatch.setenv("GRALHA_TEST_LOGIN", right.replace('password="', 'password="x'))
    with pytest.raises(CannotStartError) as refused:
        runner(shop.pipeline({**shop.settings(), "sasl.jaas.config": "${env:GRALHA_TEST_LOGIN}"}))
    assert "does not accept the login with SCRAM-SHA-512" in str(refused.value)
    assert "Check the user and the password" in str(refused.value)


@pytest.mark.parametrize(
    ("kafka", "complaint"),
    [
        ({"sasl.password": "secret"}, LITERAL),
        ({"bootstrap.servers": "here:9092"}, "kafka cannot have bootstrap.servers: use --bootstrap-server."),
    ],
)
def test_a_secret_in_the_file_is_refused(kafka: dict[str, str], complaint: str) -> None:
    with pytest.raises(DeclarationError) as refused:

        @pipeline(inputs={"a": from_topic("a")}, output=to_topic("b"), kafka=kafka)
        def copied(a: DataFrame) -> DataFrame:
            return a

    assert complaint in str(refused.value)


@pytest.mark.timeout(400)
def test_a_command_with_a_properties_file(shop: Shop, tmp_path: Path) -> None:
    """The password is in the file of --command-config alone: not in Spark's log, nor in the checkpoints."""
    shop.allow_all_but_the_output()
    shop.allow_output()
    file = tmp_path / "pipelines.py"
    file.write_text(FILE.format(name=shop.name, sales=shop.sales, totals=shop.totals, schema=SALES))
    access = ["--bootstrap-server", shop.cluster.bootstrap]
    access += ["--command-config", str(shop.cluster.properties_file(shop.name))]
    line = gralha("pipeline", "run", str(file), "--available-now", *access, *QUICK)
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert shop.first_total() == {"product": "tea", "amount": 2.0}
    password = shop.cluster.client_config(shop.name)["sasl.password"]
    assert password not in done.stdout + done.stderr
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "spark.log" for path in written)
    assert [path for path in written if password.encode() in path.read_bytes()] == []
    # It needs neither Spark nor the password.
    replay = gralha("pipeline", "replay-dead-letters", shop.name, "--dry-run", *access)
    shown = subprocess.run(replay, capture_output=True, text=True, timeout=PATIENCE_S, cwd=tmp_path)
    assert "the value is not JSON" in shown.stdout, shown.stderr
