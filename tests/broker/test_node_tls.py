"""TLS of a node: what its settings give to each listener, and what a person is told."""

import asyncio
import logging
import os
import ssl
import threading
from pathlib import Path

import pytest

from gralha.broker.config import NodeConfig
from gralha.broker.node_tls import NodeTls
from gralha.broker.start_error import StartError
from gralha.metadata.config_keys import BrokerConfigLayers
from tests.certificates import Authority
from tests.security.streams import AUTHORITY, SERVER

PATIENCE_S = 30
FILE = """\
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://localhost:9092,EXTERNAL://localhost:9093,CONTROLLER://localhost:9094
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,EXTERNAL:SSL,CONTROLLER:SSL
controller.listener.names=CONTROLLER
"""


def node_tls(folder: Path, *lines: str) -> NodeTls:
    text = FILE + f"ssl.truststore.location={AUTHORITY.write_pem(folder / 'ca.pem')}\n"
    return NodeTls(NodeConfig.parse(text + "\n".join(lines), "file", lambda: "host")[0])


def test_listeners_and_peers_with_tls(tmp_path: Path) -> None:
    tls = node_tls(tmp_path, f"ssl.keystore.location={SERVER.write_pem(tmp_path / 'key.pem')}")
    assert tls.is_wanted
    tls.load()
    assert list(tls.listeners) == ["EXTERNAL", "CONTROLLER"]
    assert tls.brokers is None  # brokers use the plaintext listener between each other
    assert tls.controllers is not None


def test_clients_that_log_in_need_no_certificate_unless_their_listener_says_so(tmp_path: Path) -> None:
    map_lines = "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,EXTERNAL:SASL_SSL,CONTROLLER:SSL"
    lines = [
        map_lines,
        f"ssl.keystore.location={SERVER.write_pem(tmp_path / 'key.pem')}",
        "ssl.client.auth=required",
        "sasl.enabled.mechanisms=PLAIN",
        (
            "listener.name.external.plain.sasl.jaas.config="
            'org.apache.kafka.common.security.plain.PlainLoginModule required user_a="b";'
        ),
    ]
    for own_setting, expected in ([], ssl.CERT_NONE), (["requested"], ssl.CERT_OPTIONAL):
        own_lines = [f"listener.name.external.ssl.client.auth={value}" for value in own_setting]
        tls = node_tls(tmp_path, *lines, *own_lines)
        tls.load()
        modes = {name: one.server.context.verify_mode for name, one in tls.listeners.items()}
        assert modes == {"EXTERNAL": expected, "CONTROLLER": ssl.CERT_REQUIRED}
        tls.apply(BrokerConfigLayers(static=tls._config.texts))
        assert tls.listeners["EXTERNAL"].server.context.verify_mode == expected


def test_a_missing_key_store_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"^TLS cannot be used: ssl\.keystore\.location: it is missing"):
        node_tls(tmp_path).load()


def test_wrong_rules_stop_the_start(tmp_path: Path) -> None:
    key = f"ssl.keystore.location={SERVER.write_pem(tmp_path / 'key.pem')}"
    with pytest.raises(StartError, match=r"ssl\.principal\.mapping\.rules: .* is no rule"):
        node_tls(tmp_path, key, "ssl.principal.mapping.rules=lower").load()


def test_key_files_that_everybody_can_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = SERVER.write_pem(tmp_path / "key.pem")
    os.chmod(path, 0o644)
    node_tls(tmp_path, f"ssl.keystore.location={path}").load()
    message = f"every user of this machine can read the private key in {path}: chmod 600 {path}"
    assert message in [one.getMessage() for one in caplog.records]


@pytest.mark.parametrize(
    "name",
    [
        "enable.ssl.certificate.verification",
        "listener.name.controller.enable.ssl.certificate.verification",
        "ssl.endpoint.identification.algorithm",
    ],
)
def test_dynamic_settings_cannot_switch_off_the_check_of_other_nodes(tmp_path: Path, name: str) -> None:
    tls = node_tls(tmp_path, f"ssl.keystore.location={SERVER.write_pem(tmp_path / 'key.pem')}")
    tls.load()
    # A new key makes a new context.
    new = AUTHORITY.issue().write_pem(tmp_path / "new.pem")
    dynamic = {
        name: "false" if "verification" in name else "",
        "listener.name.controller.ssl.keystore.location": new,
    }
    tls.apply(BrokerConfigLayers(dynamic, static=tls._config.texts))
    assert tls.controllers is not None
    assert tls.controllers.client.context.verify_mode == ssl.CERT_REQUIRED
    assert tls.controllers.client.context.check_hostname


@pytest.mark.parametrize("name", ["ssl.ca.pem", "listener.name.controller.ssl.ca.pem"])
def test_dynamic_settings_with_names_of_clients_name_no_other_authority(tmp_path: Path, name: str) -> None:
    tls = node_tls(tmp_path, f"ssl.keystore.location={SERVER.write_pem(tmp_path / 'key.pem')}")
    tls.load()
    assert tls.controllers is not None
    before = tls.controllers.client.context
    tls.apply(BrokerConfigLayers({name: Authority("Other").pem()}, static=tls._config.texts))
    assert tls.controllers.client.context is before


def test_dynamic_settings_of_one_listener(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tls = node_tls(tmp_path, f"ssl.keystore.location={SERVER.write_pem(tmp_path / 'key.pem')}")
    tls.load()
    static = tls._config.texts
    before = {name: one.server.context for name, one in tls.listeners.items()}
    tls.apply(BrokerConfigLayers(static=static))
    name = "listener.name.external.ssl.keystore.location"
    with caplog.at_level(logging.INFO):
        tls.apply(BrokerConfigLayers({name: str(tmp_path / "gone.pem")}, static=static))
        assert {name: one.server.context for name, one in tls.listeners.items()} == before
        new = AUTHORITY.issue().write_pem(tmp_path / "new.pem")
        tls.apply(BrokerConfigLayers({name: new}, static=static))
    assert tls.listeners["EXTERNAL"].server.context is not before["EXTERNAL"]
    assert tls.listeners["CONTROLLER"].server.context is before["CONTROLLER"]
    messages = [one.getMessage() for one in caplog.records]
    assert messages[0].startswith(
        "listener EXTERNAL keeps its settings of TLS: ssl.keystore.location: there is"
    )
    assert messages[1:] == ["listener EXTERNAL uses the new settings of TLS for new connections"]


async def test_new_settings_are_read_in_a_thread(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A slow disk must not stop the event loop."""
    caplog.set_level(logging.INFO)
    tls = node_tls(tmp_path, f"ssl.keystore.location={SERVER.write_pem(tmp_path / 'key.pem')}")
    tls.load()
    listener = tls.listeners["EXTERNAL"]
    before = listener.server.context
    following = asyncio.ensure_future(tls.follow())
    name = "listener.name.external.ssl.keystore.location"
    new = AUTHORITY.issue("localhost").write_pem(tmp_path / "new.pem")
    tls.configure(BrokerConfigLayers({name: new}, static=tls._config.texts))
    assert listener.server.context is before
    async with asyncio.timeout(PATIENCE_S):
        while not caplog.messages:
            await asyncio.sleep(0.001)
    assert caplog.messages == ["listener EXTERNAL uses the new settings of TLS for new connections"]
    assert caplog.records[0].thread != threading.get_ident()
    assert listener.server.context is not before
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
