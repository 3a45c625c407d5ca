"""server.properties: what starts, what warns, and what a person is told when it does not start."""

import pytest

from gralha.broker.config import ConfigFileError, NodeConfig

MINIMAL = "process.roles=broker,controller\nnode.id=1\n"


def parse(text: str) -> NodeConfig:
    return NodeConfig.parse(text, "server.properties", lambda: "machine")[0]


def complaint(text: str) -> str:
    with pytest.raises(ConfigFileError) as caught:
        parse(text)
    return str(caught.value)


def test_a_security_setting_that_asks_for_nothing_is_no_unknown_name() -> None:
    text = "process.roles=broker,controller\nnode.id=1\nallow.everyone.if.no.acl.found=true\n"
    _, warnings = NodeConfig.parse(text, "server.properties", lambda: "host")
    assert warnings == []


def test_without_listeners_a_node_is_on_loopback_only() -> None:
    config = parse(MINIMAL)
    assert [(one.name, one.host, one.port) for one in config.listeners] == [("PLAINTEXT", "localhost", 9092)]
    assert config.open_listeners == []
    assert config.advertised == config.listeners


def test_kafkas_own_file_for_a_combined_node() -> None:
    config = parse(
        MINIMAL + "controller.quorum.voters=1@localhost:9093\n"
        "listeners=PLAINTEXT://:9092,CONTROLLER://:9093\n"
        "inter.broker.listener.name=PLAINTEXT\n"
        "advertised.listeners=PLAINTEXT://localhost:9092\n"
        "controller.listener.names=CONTROLLER\n"
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL\n"
        "num.network.threads=3\n"
        "log.dirs=/var/a, /var/b\n"
        "log.retention.hours=168\n"
    )
    assert [one.name for one in config.client_listeners] == ["PLAINTEXT"]
    assert [one.name for one in config.open_listeners] == ["PLAINTEXT", "CONTROLLER"]
    assert config.advertised[0].host == "localhost"
    assert config.log_dirs == ["/var/a", "/var/b"]
    assert config.metadata_log_dir == "/var/a"


def test_a_listener_on_all_addresses_is_advertised_by_the_host_name() -> None:
    config = parse(MINIMAL + "listeners=PLAINTEXT://0.0.0.0:9092\n")
    assert [(one.host, one.port) for one in config.advertised] == [("machine", 9092)]


def test_an_ipv6_address_loses_its_brackets() -> None:
    assert parse(MINIMAL + "listeners=PLAINTEXT://[::1]:9092\n").listeners[0].host == "::1"


def test_unknown_names_warn() -> None:
    _, warnings = NodeConfig.parse(MINIMAL + "\nlog.retenshun=5\n", "server.properties", lambda: "machine")
    assert warnings == ["server.properties line 4: unknown name log.retenshun, ignored"]


def test_delegation_tokens_have_kafkas_names_and_defaults_and_the_key_is_not_shown() -> None:
    text = MINIMAL + "delegation.token.secret.key=hunter2\ndelegation.token.master.key=hunter2\n"
    config, warnings = NodeConfig.parse(text, "server.properties", lambda: "machine")
    # Kafka 4 does not know the old name any more.
    assert warnings == ["server.properties line 4: unknown name delegation.token.master.key, ignored"]
    assert "hunter2" not in repr(config)
    assert config.number("delegation.token.max.lifetime.ms") == 604_800_000
    assert config.number("delegation.token.expiry.time.ms") == 86_400_000
    assert config.number("delegation.token.expiry.check.interval.ms") == 3_600_000
    wrong = complaint(text + "delegation.token.expiry.time.ms=0\n")
    assert "delegation.token.expiry.time.ms=0: Value must be at least 1" in wrong
    assert "hunter2" not in wrong


def test_every_wrong_value_is_named_with_its_line_and_what_is_allowed() -> None:
    text = complaint("process.roles=broker,controller\nnode.id=one\nnum.partitions=0\n")
    assert "server.properties line 2: node.id=one: Not a number of type INT; allowed: at least 0" in text
    assert "server.properties line 3: num.partitions=0: Value must be at least 1" in text


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("process.roles=broker,king", "String must be one of: broker, controller"),
        ("num.partitions=0", "Value must be at least 1"),
        ("compression.type=zip", "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"),
    ],
)
def test_a_complaint_does_not_repeat_itself(line: str, why: str) -> None:
    assert complaint(f"node.id=1\nprocess.roles=broker,controller\n{line}\n") == (
        f"server.properties line 3: {line}: {why}"
    )


def test_missing_names_are_named() -> None:
    text = complaint("")
    assert "process.roles is missing" in text
    assert "node.id is missing" in text


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("listeners=9092", "not of the form NAME://host:port"),
        (
            "listeners=FOO://localhost:1",
            "add it to listener.security.protocol.map, for example FOO:PLAINTEXT",
        ),
        ("controller.quorum.bootstrap.servers=localhost", "not of the form host:port"),
        ("inter.broker.listener.name=INTERNAL", "INTERNAL is not among the listeners"),
        ("controller.quorum.voters=2@localhost:9093", "does not name this node"),
        ("controller.quorum.voters=localhost:9093", "not of the form id@host:port"),
        ("listeners=PLAINTEXT://a:1,PLAINTEXT://b:2", "PLAINTEXT occurs twice"),
        ("advertised.listeners=PLAINTEXT://0.0.0.0:9092", "no host that a client could connect to"),
        ("broker.id=2", "remove broker.id"),
    ],
)
def test_contradictions_are_explained_with_their_line(line: str, expected: str) -> None:
    text = complaint(MINIMAL + line + "\n")
    assert text.startswith("server.properties line 3: ")
    assert expected in text


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("process.roles=broker", "controller.quorum.voters is missing: a broker must know"),
        (
            "process.roles=broker\ncontroller.quorum.voters=1@localhost:9093",
            "names this node, which is not a controller (process.roles=broker)",
        ),
        (
            (
                "process.roles=broker\ncontroller.quorum.voters=2@localhost:9093\n"
                "controller.listener.names=C\nlisteners=PLAINTEXT://localhost:9092,C://localhost:9093"
            ),
            "C is a listener of controllers, but this node is not a controller",
        ),
        (
            "process.roles=controller\ncontroller.quorum.voters=1@localhost:9093",
            "PLAINTEXT is for clients, but this node is not a broker",
        ),
    ],
)
def test_roles_and_what_they_need(lines: str, expected: str) -> None:
    assert expected in complaint(f"node.id=1\n{lines}\n")


def test_brokers_and_controllers_apart() -> None:
    broker = parse("node.id=1\nprocess.roles=broker\ncontroller.quorum.voters=2@localhost:9093\n")
    assert (broker.is_broker, broker.is_controller, broker.inter_broker_listener) == (
        True,
        False,
        "PLAINTEXT",
    )
    controller = parse(
        "node.id=2\nprocess.roles=controller\ncontroller.quorum.voters=2@localhost:9093,3@localhost:9094\n"
        "controller.listener.names=C\nlisteners=C://localhost:9093\n"
    )
    assert (controller.is_broker, controller.is_controller) == (False, True)
    assert [one.port for one in controller.controller_listeners] == [9093]


def test_what_is_wrong_without_a_line_names_the_file() -> None:
    text = complaint(MINIMAL + "controller.listener.names=PLAINTEXT\n")
    assert text.startswith("server.properties: listeners: there is none for clients")


def test_an_override_replaces_a_line_and_is_named_when_it_is_wrong() -> None:
    def parse_with(override: str) -> NodeConfig:
        return NodeConfig.parse(MINIMAL + "num.partitions=0\n", "f", lambda: "machine", [override])[0]

    assert parse_with("num.partitions=5").number("num.partitions") == 5
    with pytest.raises(ConfigFileError, match=r"^--override: num.partitions=-1: Value must be at least 1$"):
        parse_with("num.partitions=-1")


@pytest.mark.parametrize(
    ("line", "missing"),
    [
        ("ssl.engine.factory.class=org.example.Factory", "TLS by classes of Java"),
        ("listener.name.internal.ssl.engine.factory.class=org.example.Factory", "TLS by classes of Java"),
        ("sasl.kerberos.service.name=kafka", "SASL setting of this name"),
        ("sasl.server.callback.handler.class=com.example.Handler", "SASL setting of this name"),
        ("listener.name.internal.plain.sasl.login.class=com.example.Login", "SASL setting of this name"),
    ],
)
def test_a_node_does_not_start_open_when_its_file_asks_for_security(line: str, missing: str) -> None:
    text = complaint(MINIMAL + line + "\n")
    name = line.partition("=")[0]
    assert text == (
        f"server.properties line 3: {name}: this release has no {missing} yet, and a node without it lets "
        "everybody in. Remove the line only if that is what you want."
    )


def test_super_users_are_separated_by_semicolons() -> None:
    config = parse(MINIMAL + "super.users=User:admin; User:CN=broker,O=Gralha ;\n")
    assert config.super_users == ["User:admin", "User:CN=broker,O=Gralha"]


def test_wrong_settings_of_rights_stop_a_node() -> None:
    assert complaint(MINIMAL + "authorizer.class.name=com.example.Mine\n") == (
        "server.properties line 3: authorizer.class.name: there is no com.example.Mine here; the only "
        "authorizer is org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    )
    assert complaint(MINIMAL + "super.users=admin\n") == (
        "server.properties line 3: super.users: admin has no type; write User:admin, and separate principals "
        "by semicolons"
    )


@pytest.mark.parametrize(
    "line",
    [
        "authorizer.class.name=",
        "ssl.client.auth=none",
        "ssl.endpoint.identification.algorithm=",
        "security.inter.broker.protocol=PLAINTEXT",
        "listener.name.internal.max.connections=5",
    ],
)
def test_settings_that_ask_for_no_security_do_not_stop_a_node(line: str) -> None:
    parse(MINIMAL + line + "\n")


def test_a_malformed_escape_is_named() -> None:
    assert "malformed" in complaint(MINIMAL + "log.dirs=\\u00zz\n")


def test_listeners_with_tls() -> None:
    config = parse(
        MINIMAL + "listeners=EXTERNAL://0.0.0.0:9092,INTERNAL://0.0.0.0:9094,SSL://localhost:9095\n"
        "listener.security.protocol.map=EXTERNAL:SSL,INTERNAL:SSL,SSL:SSL\n"
        "inter.broker.listener.name=INTERNAL\n"
        "ssl.keystore.location=common.pem\n"
        "ssl.client.auth=requested\n"
        "listener.name.internal.ssl.keystore.location=internal.pem\n"
        "listener.name.internal.ssl.client.auth=required\n"
    )
    assert [one.protocol_number for one in config.listeners] == [1, 1, 1]
    assert config.inter_broker_listener == "INTERNAL"
    locations = [config.listener_texts(one.name)["ssl.keystore.location"] for one in config.listeners]
    assert locations == ["common.pem", "internal.pem", "common.pem"]
    # Only the clients of this listener must have a certificate.
    assert [one.name for one in config.open_listeners] == ["EXTERNAL"]


@pytest.mark.parametrize(
    ("host", "protocol", "is_open"),
    [
        ("0.0.0.0", "PLAINTEXT", True),
        ("localhost", "PLAINTEXT", False),
        ("0.0.0.0", "SSL", True),
        ("localhost", "SSL", False),
    ],
)
def test_controllers_of_clients_that_log_in_are_open_too(host: str, protocol: str, is_open: bool) -> None:
    config = parse(
        MINIMAL + f"listeners=PLAINTEXT://localhost:9092,CONTROLLER://{host}:9093\n"
        "controller.listener.names=CONTROLLER\n"
        f"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:{protocol}\n"
    )
    assert [one.name for one in config.open_listeners] == (["CONTROLLER"] if is_open else [])


@pytest.mark.parametrize("setting", ["ssl.client.auth", "listener.name.controller.ssl.client.auth"])
def test_controllers_that_ask_for_certificates_are_not_open(setting: str) -> None:
    config = parse(
        MINIMAL + "listeners=PLAINTEXT://localhost:9092,CONTROLLER://0.0.0.0:9093\n"
        "controller.listener.names=CONTROLLER\n"
        "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:SSL\n"
        f"{setting}=required\n"
    )
    assert config.open_listeners == []


def test_limits_of_one_listener_are_no_unknown_names() -> None:
    file = MINIMAL + "listener.name.plaintext.max.connections=5\n"
    config, warnings = NodeConfig.parse(file, "server.properties", lambda: "here", ())
    assert config.texts["listener.name.plaintext.max.connections"] == "5"
    assert warnings == []
    assert "listener.name.plaintext.max.connections=x: " in complaint(
        MINIMAL + "listener.name.plaintext.max.connections=x\n"
    )


def test_brokers_use_the_listener_of_their_protocol() -> None:
    listeners = "listeners=PLAINTEXT://localhost:9092,SSL://localhost:9093\n"
    assert parse(MINIMAL + listeners).inter_broker_listener == "PLAINTEXT"
    secured = MINIMAL + listeners + "security.inter.broker.protocol=SSL\n"
    assert parse(secured).inter_broker_listener == "SSL"


def test_wrong_settings_of_tls_are_named_with_their_listener() -> None:
    text = MINIMAL + "listener.name.external.ssl.client.auth=maybe\n"
    assert "line 3: listener.name.external.ssl.client.auth=maybe: String must be one of" in complaint(text)


COMBINED = (
    MINIMAL + "controller.quorum.voters=1@localhost:9093\n"
    "listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093\n"
    "controller.listener.names=CONTROLLER\n"
)


@pytest.mark.parametrize("value", ["CONTROLLER", "controller", "PLAINTEXT, CONTROLLER"])
def test_listeners_that_start_early_are_accepted(value: str) -> None:
    _, warnings = NodeConfig.parse(f"{COMBINED}early.start.listeners={value}\n", "file", lambda: "host")
    assert warnings == []


def test_a_broker_may_name_the_listeners_of_its_controllers() -> None:
    text = (
        "process.roles=broker\nnode.id=2\ncontroller.quorum.voters=1@localhost:9093\n"
        "controller.listener.names=CONTROLLER\nearly.start.listeners=CONTROLLER\n"
    )
    assert NodeConfig.parse(text, "file", lambda: "host")[1] == []


def test_an_unknown_listener_cannot_start_early() -> None:
    said = complaint(f"{COMBINED}early.start.listeners=CONTROLLER,INTERNAL\n")
    assert said == (
        "server.properties line 6: early.start.listeners: INTERNAL is not in listeners or "
        "controller.listener.names; allowed: PLAINTEXT, CONTROLLER"
    )


@pytest.mark.parametrize("value", ["", "PLAINTEXT"])
def test_controllers_start_early_also_if_the_file_leaves_them_out(value: str) -> None:
    _, warnings = NodeConfig.parse(f"{COMBINED}early.start.listeners={value}\n", "file", lambda: "host")
    (warning,) = warnings
    assert warning == (
        "file line 6: early.start.listeners does not have CONTROLLER, which opens early all the same, "
        "because controllers load the ACLs from each other"
    )
