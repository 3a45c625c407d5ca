"""The SASL settings of a node: which of them counts, and what a person is told if one is wrong."""

import pytest

from gralha.broker.config import ConfigFileError, NodeConfig
from gralha.broker.sasl_settings import SaslLogin
from gralha.security.sasl.tokens import TokenRules

PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
MINIMAL = """process.roles=broker,controller
node.id=1
listeners=SASL_PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
controller.quorum.voters=1@localhost:9093
security.inter.broker.protocol=SASL_PLAINTEXT
"""
PLAIN = f"""sasl.enabled.mechanisms=PLAIN
sasl.mechanism.inter.broker.protocol=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config={PLAIN_MODULE} required username="admin" \\
  password="hidden" user_admin="hidden" user_alice="hidden too";
"""
JAAS = "listener.name.sasl_plaintext.plain.sasl.jaas.config"
TOKENS = "listener.name.sasl_plaintext.oauthbearer.sasl.oauthbearer"


def parse(text: str) -> tuple[NodeConfig, list[str]]:
    return NodeConfig.parse(text, "f", lambda: "machine")


def complaint(text: str) -> str:
    with pytest.raises(ConfigFileError) as caught:
        parse(text)
    return str(caught.value)


def test_plain_has_its_users_in_the_file() -> None:
    config, warnings = parse(MINIMAL + PLAIN)
    assert warnings == []
    listener = config.sasl_listener(config.listeners[0])
    assert listener is not None
    assert listener.mechanisms["PLAIN"].passwords == {"admin": "hidden", "alice": "hidden too"}
    assert listener.max_receive_bytes == 524288
    assert config.login_to_brokers == SaslLogin("PLAIN", "admin", "hidden")
    assert config.login_to_controllers is None
    assert config.sasl_listener(config.listeners[1]) is None
    assert "hidden" not in repr(listener) + repr(config.login_to_brokers)
    assert not any("hidden" in value for value in config.texts.values())


def test_the_most_exact_setting_wins() -> None:
    config, _ = parse(
        MINIMAL + PLAIN + "connections.max.reauth.ms=1\n"
        "listener.name.sasl_plaintext.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512\n"
        "listener.name.sasl_plaintext.connections.max.reauth.ms=2\n"
        "listener.name.sasl_plaintext.scram-sha-256.connections.max.reauth.ms=3\n"
        "scram-sha-512.connections.max.reauth.ms=4\n"
        "listener.name.other.connections.max.reauth.ms=5\n"
    )
    listener = config.sasl_listener(config.listeners[0])
    assert listener is not None
    found = {name: one.max_reauth_ms for name, one in listener.mechanisms.items()}
    assert found == {"PLAIN": 2, "SCRAM-SHA-256": 3, "SCRAM-SHA-512": 2}


def test_a_controller_listener_can_use_sasl() -> None:
    config, _ = parse(
        MINIMAL + PLAIN + "listener.security.protocol.map=CONTROLLER:SASL_PLAINTEXT\n"
        "sasl.mechanism.controller.protocol=PLAIN\n"
        f'listener.name.controller.plain.sasl.jaas.config={PLAIN_MODULE} required username="c" password="d" '
        'user_c="d";\n'
    )
    assert config.login_to_controllers == SaslLogin("PLAIN", "c", "d")


def test_tokens_have_rules() -> None:
    config, _ = parse(
        MINIMAL
        + PLAIN.replace("mechanisms=PLAIN", "mechanisms=PLAIN,OAUTHBEARER")
        + f"{TOKENS}.jwks.endpoint.url=file:///keys.json\n"
        f"{TOKENS}.expected.audience=kafka, other\n"
        f"{TOKENS}.expected.issuer=https://issuer\n"
        f"{TOKENS}.sub.claim.name=client\n"
        f"{TOKENS}.clock.skew.seconds=5\n"
    )
    listener = config.sasl_listener(config.listeners[0])
    assert listener is not None
    tokens = listener.mechanisms["OAUTHBEARER"].tokens
    assert tokens is not None
    assert tokens.keys_url == "file:///keys.json"
    assert tokens.rules == TokenRules(("kafka", "other"), "https://issuer", "client", "scope", 5)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("", "f: sasl.enabled.mechanisms is missing: the listener SASL_PLAINTEXT uses SASL"),
        ("sasl.enabled.mechanisms=GSSAPI\n", "f line 7: sasl.enabled.mechanisms: Kerberos (GSSAPI) is not"),
        (
            "sasl.enabled.mechanisms=DIGEST\n",
            "f line 7: sasl.enabled.mechanisms: DIGEST is no SASL mechanism",
        ),
        ("sasl.enabled.mechanisms=PLAIN\n", f"f: {JAAS}: PLAIN has no users. Write {PLAIN_MODULE} required"),
        (
            f"sasl.enabled.mechanisms=PLAIN\n{JAAS}=Module required user_a=hidden;\n",
            f"f line 8: {JAAS}: the login module is not known. Write {PLAIN_MODULE}",
        ),
        (
            f'sasl.enabled.mechanisms=PLAIN\nsasl.jaas.config={PLAIN_MODULE} required user_a="hidden";\n',
            f"f: {JAAS}: PLAIN has no users",
        ),
        (
            PLAIN.replace("protocol=PLAIN", "protocol=GSSAPI"),
            "f line 8: sasl.mechanism.inter.broker.protocol: Kerberos",
        ),
        (
            PLAIN.replace('username="admin"', ""),
            f"f line 9: {JAAS}: the node's own user is missing. Write {PLAIN_MODULE} required username=",
        ),
        (
            PLAIN.replace("mechanisms=PLAIN", "mechanisms=PLAIN,OAUTHBEARER"),
            "f: sasl.oauthbearer.jwks.endpoint.url is missing: OAUTHBEARER needs the public keys",
        ),
        (
            PLAIN.replace("mechanisms=PLAIN", "mechanisms=PLAIN,OAUTHBEARER")
            + f"{TOKENS}.jwks.endpoint.url=https://issuer/keys\n",
            "https://issuer/keys is not allowed. Write gralha.sasl.oauthbearer.allowed.urls=https://issuer/keys",
        ),
        (
            PLAIN.replace("mechanisms=PLAIN", "mechanisms=PLAIN,OAUTHBEARER")
            + f"{TOKENS}.jwks.endpoint.url=ftp://issuer/keys\n",
            "ftp://issuer/keys is no address",
        ),
        (
            PLAIN + "listener.security.protocol.map=CONTROLLER:SASL_PLAINTEXT\n"
            "listener.name.controller.sasl.enabled.mechanisms=SCRAM-SHA-512\n"
            "sasl.mechanism.controller.protocol=SCRAM-SHA-512\n",
            "f line 13: sasl.mechanism.controller.protocol: a controller knows the users of SCRAM only after",
        ),
        (
            PLAIN + "listener.name.sasl_plaintext.plain.connections.max.reauth.ms=soon\n",
            "f line 11: listener.name.sasl_plaintext.plain.connections.max.reauth.ms=soon:",
        ),
        (
            PLAIN + "security.inter.broker.protocol=PLAINTEXT\n",
            "f line 11: security.inter.broker.protocol: no listener is for connections between brokers",
        ),
    ],
)
def test_mistakes_name_the_line_and_say_what_to_write(lines: str, expected: str) -> None:
    text = complaint(MINIMAL + lines)
    assert expected in text
    assert "hidden" not in text


def test_an_allowed_address_of_keys_is_accepted() -> None:
    parse(
        MINIMAL
        + PLAIN.replace("mechanisms=PLAIN", "mechanisms=PLAIN,OAUTHBEARER")
        + f"{TOKENS}.jwks.endpoint.url=https://issuer/keys\n"
        "gralha.sasl.oauthbearer.allowed.urls=https://issuer/keys\n"
    )


def test_settings_without_a_listener_that_uses_them_are_reported() -> None:
    text = "process.roles=broker,controller\nnode.id=1\nsasl.enabled.mechanisms=PLAIN\n"
    assert parse(text)[1] == [
        "f line 3: sasl.enabled.mechanisms has no effect, because no listener uses SASL"
    ]
