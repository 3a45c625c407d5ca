"""A secret given by reference reaches the workers only: no plan, log, checkpoint or event log has it.

The cluster has TLS and logins, and the broker's address is given by a reference, too. So a query that works
shows that references are resolved.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gralha.spark.secrets import resolve
from gralha.testing import GralhaCluster

SECRET = "tyrannosaurus-7041"
USER = "eva"
# Everything that Spark logs, which is much more than it shows.
LOGGING = """
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {folder}/spark.log
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %p %c: %m%n%ex
"""
PROGRAM = """
import sys
from gralha.spark.session import session

folder, topic = sys.argv[1:]
spark = session("local[2]", f"about {topic}", {
    "spark.ui.enabled": "false",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.dir": f"file://{folder}/events",
    "spark.local.dir": f"{folder}/local",
    "spark.sql.warehouse.dir": f"{folder}/warehouse",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
    f"-Dlog4j2.configurationFile=file:{folder}/log4j2.properties",
})
spark.sparkContext.setLogLevel("INFO")
options = {
    "kafka.bootstrap.servers": "${env:GRALHA_TEST_BROKER}",
    "kafka.security.protocol": "SASL_SSL",
    "kafka.ssl.truststore.location": f"${{file:{folder}/secret.properties:authority}}",
    "kafka.sasl.mechanism": "SCRAM-SHA-512",
    "kafka.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
    'username="eva" password="${env:GRALHA_TEST_SECRET}";',
}
numbers = spark.range(10).selectExpr("CAST(id AS STRING) AS value")
numbers.write.format("gralha").options(**options, topic=topic).mode("append").save()
rows = spark.read.format("gralha").options(**options, subscribe=topic).load()
rows.explain("extended")
print("rows", rows.count())
stream = spark.readStream.format("gralha").options(**options, subscribe=topic)
stream = stream.option("startingOffsets", "earliest").load()
query = (
    stream.writeStream.format("gralha").options(**options, topic=topic + "-copy")
    .option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start()
)
query.awaitTermination()
query.explain(True)
print("copied", query.lastProgress["numInputRows"], query.lastProgress)
secret = f"${{file:{folder}/secret.properties:password}}"
for broken in (
    {"kafka.bootstrap.servers": "127.0.0.1:1", "kafka.delivery.timeout.ms": "1"},
    {"kafka.sasl.mechanism": f"no-{secret}"},
    {"kafka.sasl.jaas.config": options["kafka.sasl.jaas.config"].replace("env:", "env:ANOTHER_")},
    {"kafka.sasl.jaas.config": options["kafka.sasl.jaas.config"].replace("eva", f"eve {secret}")},
):
    try:
        numbers.write.format("gralha").options(**{**options, **broken}, topic=topic).mode("append").save()
    except Exception as error:
        print("refused", error)
spark.stop()
"""


@pytest.mark.timeout(320)
def test_a_secret_is_nowhere_but_in_the_process_that_connects(
    gralha_secured_cluster: GralhaCluster, new_name: Callable[[str], str], tmp_path: Path
) -> None:
    topic = new_name("secrets")
    gralha_secured_cluster.add_user(USER, SECRET)
    rights = ("READ", "WRITE", "CREATE")
    gralha_secured_cluster.allow(USER, *rights, topic=topic, prefixed=True)
    (tmp_path / "events").mkdir()
    (tmp_path / "log4j2.properties").write_text(LOGGING.format(folder=tmp_path))
    secrets = tmp_path / "secret.properties"
    authority = gralha_secured_cluster.java_config(USER)["ssl.truststore.location"]
    secrets.write_text(f"password={SECRET}\nauthority={authority}\n")
    environment = os.environ | {
        "GRALHA_TEST_BROKER": gralha_secured_cluster.bootstrap,
        "GRALHA_TEST_SECRET": SECRET,
        "ANOTHER_GRALHA_TEST_SECRET": f"wrong-{SECRET}",
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path), topic],
        env=environment,
        capture_output=True,
        timeout=300,
    )
    output = done.stdout.decode()
    assert done.returncode == 0, done.stderr[-4000:]
    assert "rows 10" in output
    assert "copied 10" in output
    assert output.count("refused") == 4
    # The test searches everything that Spark prints and writes. First it checks that there is a lot of it.
    assert (tmp_path / "spark.log").read_text().count("INFO ") > 100
    said_or_written = {"stdout": done.stdout, "stderr": done.stderr}
    for file in tmp_path.rglob("*"):
        if file.is_file() and file != secrets:
            said_or_written[str(file)] = file.read_bytes()
    # A value that is not secret is found everywhere, so a secret would be found, too.
    with_topic = [name for name, data in said_or_written.items() if topic.encode() in data]
    for part in ("stdout", "spark.log", "checkpoint/offsets/0", "events/"):
        assert any(part in name for name in with_topic), (part, with_topic)
    assert [name for name, data in said_or_written.items() if SECRET.encode() in data] == []
    # The reference itself is found.
    assert resolve({"a": f"${{file:{secrets}:password}}"}) == {"a": SECRET}
