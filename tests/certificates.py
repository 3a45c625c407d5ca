"""Certificates for tests: an authority that signs, and the files that Kafka's settings name."""

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
LONG_AGO = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
FAR_AWAY = datetime.datetime(2120, 1, 1, tzinfo=datetime.UTC)


def name_of(common_name: str, organization: str | None = None) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    if organization is not None:
        attributes.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(attributes)


class Identity:
    """A private key with its certificate, and the certificates above it."""

    def __init__(self, key: Key, certificate: x509.Certificate, above: list[x509.Certificate]) -> None:
        self.key = key
        self.certificate = certificate
        self.above = above

    def chain_pem(self) -> str:
        return "".join(one.public_bytes(Encoding.PEM).decode() for one in [self.certificate, *self.above])

    def key_pem(self, password: str | None = None) -> str:
        secrecy = BestAvailableEncryption(password.encode()) if password else NoEncryption()
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, secrecy).decode()

    def write_pem(self, path: Path, password: str | None = None) -> str:
        """Writes the key and the chain as Kafka's PEM key stores have them."""
        path.touch(mode=0o600)
        path.write_text(self.key_pem(password) + self.chain_pem())
        return str(path)

    def write_pkcs12(self, path: Path, password: str) -> str:
        path.touch(mode=0o600)
        secrecy = BestAvailableEncryption(password.encode())
        path.write_bytes(
            pkcs12.serialize_key_and_certificates(
                b"key", self.key, self.certificate, self.above[::-1], secrecy
            )
        )
        return str(path)


class Authority:
    """Signs certificates. Every authority has its own key."""

    def __init__(self, common_name: str = "Test Authority", above: "Authority | None" = None) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.certificate: x509.Certificate
        self.above = above
        issuer = above or self
        builder = _builder(name_of(common_name), self.key, LONG_AGO, FAR_AWAY)
        builder = builder.issuer_name(issuer.certificate.subject if above else name_of(common_name))
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self.certificate = builder.sign(issuer.key, hashes.SHA256())

    def issue(
        self,
        common_name: str = "localhost",
        names: tuple[str, ...] = ("localhost", "127.0.0.1"),
        *,
        subject: x509.Name | None = None,
        is_rsa: bool = False,
        expires: datetime.datetime = FAR_AWAY,
    ) -> Identity:
        """A certificate for these host names and addresses."""
        key: Key = ec.generate_private_key(ec.SECP256R1())
        if is_rsa:
            key = rsa.generate_private_key(65537, 2048)
        builder = _builder(subject or name_of(common_name), key, LONG_AGO, expires)
        builder = builder.issuer_name(self.certificate.subject)
        if names:
            builder = builder.add_extension(
                x509.SubjectAlternativeName(map(_general_name, names)), critical=False
            )
        above = [self.certificate] if self.above is not None else []
        return Identity(key, builder.sign(self.key, hashes.SHA256()), above)

    def pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def write_pem(self, path: Path) -> str:
        path.write_text(self.pem())
        return str(path)

    def write_pkcs12(self, path: Path, password: str) -> str:
        secrecy = BestAvailableEncryption(password.encode())
        entry = pkcs12.PKCS12Certificate(self.certificate, b"authority")
        path.write_bytes(pkcs12.serialize_java_truststore([entry], secrecy))
        return str(path)


def _builder(
    subject: x509.Name, key: Key, begins: datetime.datetime, expires: datetime.datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(expires)
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
