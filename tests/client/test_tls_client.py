"""Our own client and the commands over TLS, against a broker that requires certificates."""

import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from gralha.client.addresses import Address, parse_address
from gralha.client.admin import Admin
from gralha.client.bulk_reader import BulkReader
from gralha.client.bulk_writer import BulkWriter
from gralha.client.cluster import Cluster
from gralha.client.connection import Connection, open_socket
from gralha.client.errors import ClientError, ConnectionFailedError, SettingsError
from gralha.client.security import ClientSecurity
from gralha.client.settings import ClientSettings
from gralha.client.values import OffsetRange
from tests.certificates import LONG_AGO, Authority
from tests.security.streams import AUTHORITY, server_tls
from tests.tls_cluster import TlsCluster

TOPIC = "secured"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsCluster]:
    config = {"num.partitions": "1"}
    with TlsCluster(tmp_path_factory.mktemp("tls"), config=config) as cluster:
        yield cluster


def security(cluster: TlsCluster, **changes: str | None) -> ClientSecurity:
    """The client's security with changes; None removes a setting."""
    texts: dict[str, str | None] = {**cluster.properties}
    texts.update({name.replace("_", "."): value for name, value in changes.items()})
    return ClientSecurity.from_kafka({name: value for name, value in texts.items() if value is not None})


def failure(cluster: TlsCluster, host: str = "127.0.0.1", **changes: str | None) -> str:
    address = Address(host, cluster.ports[1])
    with pytest.raises(ClientError) as caught:
        Connection.open(address, security=security(cluster, **changes)).close()
    return str(caught.value)


def test_settings_of_kafka(cluster: TlsCluster) -> None:
    with Admin(Cluster(cluster.bootstrap, security=security(cluster))) as admin:
        assert [node.id for node in admin.describe_cluster().nodes] == [1]


def test_settings_of_librdkafka(cluster: TlsCluster) -> None:
    settings = ClientSettings.from_kafka(cluster.librdkafka)
    assert settings.unknown == ()
    with Admin(Cluster.of(settings, api_timeout_ms=30_000)) as admin:
        assert [node.id for node in admin.describe_cluster().nodes] == [1]


def test_records_in_bulk(cluster: TlsCluster) -> None:
    """Answers of megabytes, and several answers in one TLS record."""
    settings = ClientSettings.from_kafka(cluster.properties)
    values = [bytes([number % 256]) * 20_000 for number in range(400)]
    with BulkWriter(settings, topic="bulk") as writer:
        writer.write(pa.record_batch({"value": pa.array(values, pa.binary())}))
    with BulkReader(settings) as reader:
        batches = list(reader.read(OffsetRange("bulk", 0, 0, len(values))))
    assert pa.Table.from_batches(batches).column("value").to_pylist() == values


def test_authority_that_is_not_trusted(cluster: TlsCluster, tmp_path: Path) -> None:
    other = Authority("Other").write_pem(tmp_path / "other.pem")
    reason = failure(cluster, ssl_truststore_location=other)
    assert "is not trusted (" in reason
    assert "Set ssl.truststore.location to the certificate of the authority" in reason


def test_other_host_name(cluster: TlsCluster) -> None:
    address = Address("127.0.0.2", cluster.ports[1])
    connected = open_socket(Address("127.0.0.1", cluster.ports[1]), 5000)
    with pytest.raises(ConnectionFailedError, match=r"is not for the host name 127\.0\.0\.2"):
        security(cluster).wrap(connected, address)
    unchecked = security(cluster, ssl_endpoint_identification_algorithm="")
    unchecked.wrap(open_socket(Address("127.0.0.1", cluster.ports[1]), 5000), address).close()


def test_missing_certificate(cluster: TlsCluster) -> None:
    assert "requires a certificate of the client" in failure(cluster, ssl_keystore_location=None)
    older = failure(cluster, ssl_enabled_protocols="TLSv1.2", ssl_keystore_location=None)
    assert "refused the TLS handshake. It requires a certificate of the client" in older


def test_certificate_that_the_server_does_not_accept(cluster: TlsCluster, tmp_path: Path) -> None:
    key = Authority("Other").issue("mallory").write_pem(tmp_path / "mallory.pem")
    assert "does not accept the certificate of this client" in failure(cluster, ssl_keystore_location=key)


def test_plaintext_on_a_port_with_tls(cluster: TlsCluster) -> None:
    with pytest.raises(ClientError, match="Check that it is a PLAINTEXT listener"):
        Connection.open(parse_address(cluster.bootstrap))


def test_files_that_cannot_be_used(cluster: TlsCluster, tmp_path: Path) -> None:
    assert "there is no file" in failure(cluster, ssl_truststore_location=str(tmp_path / "gone"))
    with pytest.raises(SettingsError, match=r"security\.protocol=TLS is not allowed"):
        ClientSecurity.from_kafka({"security.protocol": "TLS"})
    with pytest.raises(SettingsError, match=r"ssl\.truststore\.type: DER is unknown"):
        ClientSecurity.from_kafka({"security.protocol": "SSL", "ssl.truststore.type": "DER"})


def test_no_secret_in_the_settings(cluster: TlsCluster) -> None:
    settings = ClientSettings.from_kafka({**cluster.properties, "ssl.key.password": "open sesame"})
    assert "open sesame" not in repr(settings)
    assert "protocol='SSL'" in repr(settings)


def run(cluster: TlsCluster, name: str, *arguments: str, data: str = "", trust: str = "") -> str:
    """Runs a command of Kafka with the client's properties in --command-config. Returns its output."""
    file = cluster.folder / "client.properties"
    properties = {**cluster.properties, "ssl.truststore.location": trust or cluster.authority_file}
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    module = f"gralha.cli.{name.replace('-', '_')}"
    code = f"import sys; from {module} import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "--bootstrap-server", cluster.bootstrap]
    command += ["--command-config", str(file), *arguments]
    done = subprocess.run(command, input=data, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def test_commands(cluster: TlsCluster) -> None:
    run(cluster, "topics", "--create", "--topic", TOPIC, "--partitions", "2")
    assert f"Topic: {TOPIC}" in run(cluster, "topics", "--describe", "--topic", TOPIC)
    run(cluster, "console-producer", "--topic", TOPIC, data="one\ntwo\n")
    consumed = run(
        cluster,
        "console-consumer",
        *("--topic", TOPIC, "--group", "readers", "--from-beginning", "--max-messages", "2"),
    )
    assert sorted(consumed.split()) == ["one", "two"]
    assert "readers" in run(cluster, "consumer-groups", "--list")
    assert TOPIC in run(cluster, "consumer-groups", "--describe", "--group", "readers")
    assert f"{TOPIC}:0:" in run(cluster, "get-offsets", "--topic", TOPIC)
    assert TOPIC in run(cluster, "log-dirs", "--describe")
    assert "ApiVersions(18)" in run(cluster, "broker-api-versions")
    performance = ("--num-records", "100", "--record-size", "100", "--throughput", "-1")
    assert "100 records sent" in run(cluster, "producer-perf-test", "--topic", TOPIC, *performance)
    run(cluster, "consumer-perf-test", "--topic", TOPIC, "--num-records", "100")
    described = run(
        cluster, "configs", "--describe", "--entity-type", "brokers", "--entity-name", "1", "--all"
    )
    assert cluster.key_file in described


def test_new_certificate_by_a_dynamic_setting(cluster: TlsCluster, tmp_path: Path) -> None:
    """Kafka's way: set the location for one broker and listener. Connections that exist go on."""
    newcomer = Authority("Newcomer")
    key = newcomer.issue().write_pem(tmp_path / "new.pem")
    trust = newcomer.write_pem(tmp_path / "new-ca.pem")
    name = "listener.name.plaintext.ssl.keystore.location"
    alter = ("--alter", "--entity-type", "brokers", "--entity-name", "1")
    with Connection.open(parse_address(cluster.bootstrap), security=security(cluster)) as kept:
        run(cluster, "configs", *alter, "--add-config", f"{name}={key}")
        assert "is not trusted" in failure(cluster)
        after = security(cluster, ssl_truststore_location=trust)
        with Cluster(cluster.bootstrap, security=after) as changed:
            assert list(changed.brokers()) == [1]
        assert kept.serves(3)
        with Admin(Cluster(cluster.bootstrap, security=after)) as admin:
            assert [node.id for node in admin.describe_cluster().nodes] == [1]
        run(cluster, "configs", *alter, "--delete-config", name, trust=trust)
    Connection.open(parse_address(cluster.bootstrap), security=security(cluster)).close()


def test_expired_certificate() -> None:
    expired = AUTHORITY.issue(expires=LONG_AGO.replace(year=2021))
    context = server_tls(
        ssl_keystore_key=expired.key_pem(), ssl_keystore_certificate_chain=expired.chain_pem()
    )

    def serve(listener: socket.socket) -> None:
        accepted, _ = listener.accept()
        with contextlib.suppress(OSError):
            context.wrap_socket(accepted, server_side=True).close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        trusting = ClientSecurity("SSL", (("ssl.truststore.certificates", AUTHORITY.pem()),))
        with pytest.raises(ConnectionFailedError, match=r"has expired\. The server needs a new one"):
            open_socket(Address("127.0.0.1", listener.getsockname()[1]), 5000, trusting)
        thread.join()
