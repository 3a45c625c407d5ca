"""Key stores: what Kafka's settings name becomes a context that other sides can talk to, or a clear error."""

import os
import ssl
import subprocess
from pathlib import Path

import pytest

from gralha.client.security import ClientSecurity
from gralha.security.cipher_suites import openssl_name
from gralha.security.key_stores import STORE_BYTES_MAX, client_context, readable_by_others, server_context
from gralha.security.tls_settings import TlsError, TlsSettings
from tests.certificates import Authority, Identity

PASSWORD = "open sesame"


@pytest.fixture(scope="module")
def root() -> Authority:
    return Authority("Root")


@pytest.fixture(scope="module")
def identity(root: Authority) -> Identity:
    """A server's identity with an authority in the middle, so that the chain matters."""
    return Authority("Middle", above=root).issue("broker")


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, host: str = "localhost") -> ssl.SSLObject:
    """Lets both sides talk in memory. Returns the client's side."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_hostname=host),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    waiting = set(sides)
    for side in sides * 5:
        if side in waiting:
            try:
                side.do_handshake()
                waiting.discard(side)
            except ssl.SSLWantReadError:
                pass
    assert not waiting
    return sides[0]


def trusting(root: Authority, **more: str) -> ssl.SSLContext:
    return client_context(TlsSettings({"ssl.truststore.certificates": root.pem(), **more}))


def error_of(settings: dict[str, str]) -> str:
    with pytest.raises(TlsError) as caught:
        server_context(TlsSettings(settings))
    return str(caught.value)


def pem_settings(identity: Identity, folder: Path) -> dict[str, str]:
    return {"ssl.keystore.location": identity.write_pem(folder / "server.pem"), "ssl.keystore.type": "PEM"}


def test_pem_file(root: Authority, identity: Identity, tmp_path: Path) -> None:
    shake_hands(server_context(TlsSettings(pem_settings(identity, tmp_path))), trusting(root))


def test_encrypted_pem_file(root: Authority, identity: Identity, tmp_path: Path) -> None:
    path = identity.write_pem(tmp_path / "server.pem", PASSWORD)
    settings = {"ssl.keystore.location": path}
    shake_hands(server_context(TlsSettings({**settings, "ssl.key.password": PASSWORD})), trusting(root))
    assert error_of(settings) == "ssl.key.password: it is missing, and the private key is encrypted"
    assert error_of({**settings, "ssl.key.password": "no"}) == "ssl.key.password: it is wrong"


@pytest.mark.parametrize("line_break", ["\n", " "])
def test_inline_pem(root: Authority, identity: Identity, line_break: str) -> None:
    settings = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": identity.key_pem(PASSWORD).replace("\n", line_break),
        "ssl.keystore.certificate.chain": identity.chain_pem().replace("\n", line_break),
        "ssl.key.password": PASSWORD,
    }
    client = trusting(root, **{"ssl.truststore.certificates": root.pem().replace("\n", line_break)})
    shake_hands(server_context(TlsSettings(settings)), client)


def test_half_of_an_inline_key(identity: Identity) -> None:
    assert "ssl.keystore.certificate.chain: it is missing" in error_of(
        {"ssl.keystore.key": identity.key_pem()}
    )
    chain = identity.chain_pem()
    assert "ssl.keystore.key: it is missing" in error_of({"ssl.keystore.certificate.chain": chain})


@pytest.mark.parametrize("type_", [None, "PKCS12", "JKS"])
def test_pkcs12_file(root: Authority, identity: Identity, tmp_path: Path, type_: str | None) -> None:
    """Java reads PKCS12 files under the type JKS, too, which is Kafka's default."""
    path = identity.write_pkcs12(tmp_path / "server.p12", PASSWORD)
    settings = {"ssl.keystore.location": path, "ssl.keystore.password": PASSWORD}
    if type_ is not None:
        settings["ssl.keystore.type"] = type_
    trust = {
        "ssl.truststore.location": root.write_pkcs12(tmp_path / "trust.p12", PASSWORD),
        "ssl.truststore.password": PASSWORD,
    }
    shake_hands(server_context(TlsSettings(settings)), client_context(TlsSettings(trust)))


def test_pkcs12_passwords(identity: Identity, tmp_path: Path) -> None:
    settings = {"ssl.keystore.location": identity.write_pkcs12(tmp_path / "server.p12", PASSWORD)}
    assert error_of(settings).startswith("ssl.keystore.password: it is missing")
    assert error_of({**settings, "ssl.keystore.password": "no"}).startswith(
        "ssl.keystore.password: it is wrong"
    )


def test_store_of_keytool(tmp_path: Path) -> None:
    """Java's own tool makes the PKCS12 store, and the JKS store that is refused with a command."""
    for type_, path in (("PKCS12", "java.p12"), ("JKS", "java.jks")):
        command = [
            *("keytool", "-genkeypair", "-alias", "broker", "-keyalg", "RSA", "-dname", "CN=broker"),
            *("-ext", "san=dns:localhost", "-storetype", type_, "-keystore", str(tmp_path / path)),
            *("-storepass", PASSWORD, "-keypass", PASSWORD),
        ]
        subprocess.run(command, check=True, capture_output=True)
    settings = {"ssl.keystore.location": str(tmp_path / "java.p12"), "ssl.keystore.password": PASSWORD}
    context = server_context(TlsSettings(settings))
    shake_hands(context, client_context(TlsSettings({"enable.ssl.certificate.verification": "false"})))
    settings["ssl.keystore.location"] = str(tmp_path / "java.jks")
    message = error_of(settings)
    assert "is a JKS file, which only Java can read. Convert it with: keytool -importkeystore" in message
    assert f"-srckeystore {tmp_path}/java.jks -destkeystore java.p12 -deststoretype PKCS12" in message


def test_files_that_cannot_be_used(root: Authority, identity: Identity, tmp_path: Path) -> None:
    assert error_of({}).startswith("ssl.keystore.location: it is missing")
    gone = str(tmp_path / "gone.pem")
    assert error_of({"ssl.keystore.location": gone}) == f"ssl.keystore.location: there is no file {gone}"
    junk = tmp_path / "junk"
    junk.write_bytes(b"what is this?")
    assert "is neither PEM nor a PKCS12 store" in error_of({"ssl.keystore.location": str(junk)})
    alone = tmp_path / "alone.pem"
    alone.write_text(identity.chain_pem())
    assert "has no private key" in error_of({"ssl.keystore.location": str(alone)})
    alone.write_text(identity.key_pem())
    assert "has no certificate" in error_of({"ssl.keystore.location": str(alone)})
    alone.write_text(root.issue().key_pem() + identity.chain_pem())
    assert "the private key does not belong to the first certificate" in error_of(
        {"ssl.keystore.location": str(alone)}
    )
    pem = pem_settings(identity, tmp_path)
    assert "a PEM file has none" in error_of({**pem, "ssl.keystore.password": "x"})
    assert "it is PKCS12, but" in error_of({**pem, "ssl.keystore.type": "PKCS12"})


@pytest.mark.parametrize("setting", ["ssl.keystore.location", "ssl.truststore.location"])
def test_only_files_of_a_reasonable_size_are_read(identity: Identity, tmp_path: Path, setting: str) -> None:
    settings = {**pem_settings(identity, tmp_path), "ssl.client.auth": "required"}
    pipe, large = tmp_path / "pipe", tmp_path / "large"
    os.mkfifo(pipe)
    error = error_of({**settings, setting: str(pipe)})
    assert error == f"{setting}: {pipe} is no file of keys or certificates, but a device or a pipe"
    large.write_bytes(b"-----BEGIN " + bytes(STORE_BYTES_MAX))
    error = error_of({**settings, setting: str(large)})
    assert error == f"{setting}: {large} has more than {STORE_BYTES_MAX} bytes"


def test_librdkafkas_names(root: Authority, identity: Identity, tmp_path: Path) -> None:
    key, chain, authority = tmp_path / "key.pem", tmp_path / "chain.pem", tmp_path / "ca.pem"
    key.write_text(identity.key_pem(PASSWORD))
    chain.write_text(identity.chain_pem())
    security = ClientSecurity.for_socket(
        {
            "security.protocol": "SSL",
            "ssl.ca.location": root.write_pem(authority),
            "ssl.certificate.location": str(chain),
            "ssl.key.location": str(key),
            "ssl.key.password": PASSWORD,
        }
    )
    client = client_context(TlsSettings(dict(security.texts)))
    server = {
        **pem_settings(identity, tmp_path),
        "ssl.client.auth": "required",
        "ssl.truststore.certificates": root.pem(),
    }
    shake_hands(server_context(TlsSettings(server)), client)


@pytest.mark.parametrize(
    ("client_auth", "needs"), [("none", False), ("requested", False), ("required", True)]
)
def test_client_certificates(
    root: Authority, identity: Identity, tmp_path: Path, client_auth: str, needs: bool
) -> None:
    server = server_context(
        TlsSettings(
            {
                **pem_settings(identity, tmp_path),
                "ssl.client.auth": client_auth,
                "ssl.truststore.certificates": root.pem(),
            }
        )
    )
    own = {
        "ssl.keystore.key": identity.key_pem(),
        "ssl.keystore.certificate.chain": identity.chain_pem(),
    }
    shake_hands(server, trusting(root, **own))
    if needs:
        with pytest.raises(ssl.SSLError, match="PEER_DID_NOT_RETURN_A_CERTIFICATE"):
            shake_hands(server, trusting(root))
    else:
        shake_hands(server, trusting(root))


def test_client_certificates_need_trust(identity: Identity, tmp_path: Path) -> None:
    message = error_of({**pem_settings(identity, tmp_path), "ssl.client.auth": "required"})
    assert message.startswith("ssl.truststore.location: it is missing")
    message = error_of(
        {
            **pem_settings(identity, tmp_path),
            "ssl.client.auth": "required",
            "ssl.truststore.certificates": "nothing",
        }
    )
    assert message.startswith("ssl.truststore.certificates: it has no certificate")


def test_other_authority_and_other_host(root: Authority, identity: Identity, tmp_path: Path) -> None:
    server = server_context(TlsSettings(pem_settings(identity, tmp_path)))
    with pytest.raises(ssl.SSLCertVerificationError, match=r"unable to get local issuer|self-signed"):
        shake_hands(server, trusting(Authority("Other")))
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        shake_hands(server, trusting(root), "kafka.example.org")
    shake_hands(server, trusting(root, **{"ssl.endpoint.identification.algorithm": ""}), "kafka.example.org")
    shake_hands(server, trusting(Authority("Other"), **{"enable.ssl.certificate.verification": "false"}))


def test_protocols(root: Authority, identity: Identity, tmp_path: Path) -> None:
    server = server_context(TlsSettings(pem_settings(identity, tmp_path)))
    assert shake_hands(server, trusting(root)).version() == "TLSv1.3"
    older = trusting(root, **{"ssl.enabled.protocols": "TLSv1.2"})
    assert shake_hands(server, older).version() == "TLSv1.2"
    with pytest.raises(TlsError, match=r"TLSv1.1 is not supported; use TLSv1.2, TLSv1.3 or both"):
        TlsSettings({"ssl.enabled.protocols": "TLSv1.1,TLSv1.2"})


def test_cipher_suites(root: Authority, identity: Identity, tmp_path: Path) -> None:
    server = server_context(TlsSettings(pem_settings(identity, tmp_path)))
    suite = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
    client = shake_hands(server, trusting(root, **{"ssl.cipher.suites": suite}))
    assert client.cipher() == ("ECDHE-ECDSA-AES128-GCM-SHA256", "TLSv1.2", 128)
    newest = "TLS_AES_256_GCM_SHA384,TLS_CHACHA20_POLY1305_SHA256,TLS_AES_128_GCM_SHA256"
    assert shake_hands(server, trusting(root, **{"ssl.cipher.suites": newest})).version() == "TLSv1.3"
    with pytest.raises(TlsError, match="OpenSSL has"):
        trusting(root, **{"ssl.cipher.suites": f"{suite},TLS_RSA_WITH_ROT13"})
    with pytest.raises(TlsError, match="none of the cipher suites belongs"):
        trusting(root, **{"ssl.cipher.suites": suite, "ssl.enabled.protocols": "TLSv1.3"})


@pytest.mark.parametrize(
    ("java", "openssl"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"),
        ("TLS_DHE_RSA_WITH_AES_128_CBC_SHA256", "DHE-RSA-AES128-SHA256"),
        ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"),
        ("TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256"),
        ("ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-AES256-GCM-SHA384"),
    ],
)
def test_names_of_cipher_suites(java: str, openssl: str) -> None:
    assert openssl_name(java) == openssl
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_ciphers(openssl_name(java))
    assert openssl in {cipher["name"] for cipher in context.get_ciphers()}


def test_readable_by_others(identity: Identity, tmp_path: Path) -> None:
    settings = TlsSettings(pem_settings(identity, tmp_path))
    assert readable_by_others(settings) == []
    path = tmp_path / "server.pem"
    os.chmod(path, 0o644)
    assert readable_by_others(settings) == [str(path)]


def test_no_secret_in_a_repr(identity: Identity) -> None:
    settings = TlsSettings(
        {
            "ssl.keystore.key": identity.key_pem(),
            "ssl.key.password": PASSWORD,
            "ssl.keystore.location": "server.p12",
            "ssl.keystore.password": PASSWORD,
            "ssl.truststore.password": PASSWORD,
        }
    )
    assert PASSWORD not in repr(settings)
    assert "PRIVATE" not in repr(settings)
