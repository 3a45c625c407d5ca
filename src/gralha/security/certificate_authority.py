"""An authority (CA), and the certificates that it signs: for `gralha secure`, and for clusters of tests.

Keys are on the curve P-256, which Java, OpenSSL and Python read. A certificate is valid as long as that of
its authority.
"""

import datetime
import ipaddress
from collections.abc import Sequence
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_NAME: Final = "Gralha CA"
VALID_YEARS: Final = 10
# The clock of another machine may be behind.
_TOLERANCE: Final = datetime.timedelta(days=1)
_SIGNATURE_ONLY: Final = {
    "content_commitment": False,
    "key_encipherment": False,
    "data_encipherment": False,
    "key_agreement": False,
    "encipher_only": False,
    "decipher_only": False,
}


class CertificateAuthority:
    """An authority with a new key, or with the given one, which was an authority's before."""

    def __init__(self, now: datetime.datetime, key_pem: str | None = None) -> None:
        self._begins = now - _TOLERANCE
        self.expires = now + datetime.timedelta(days=365 * VALID_YEARS)
        self._key = ec.generate_private_key(ec.SECP256R1()) if key_pem is None else _key_of(key_pem)
        self._identifier = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        self._certificate = (
            self._builder(AUTHORITY_NAME, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(is_authority=True), critical=True)
            .sign(self._key, hashes.SHA256())
        )

    def certificate_pem(self) -> str:
        return self._certificate.public_bytes(Encoding.PEM).decode()

    def key_pem(self) -> str:
        return _key_pem(self._key)

    def issue(self, name: str, hosts: Sequence[str] = ()) -> str:
        """A new key and its certificate, as a PEM key store of Kafka.

        A node uses the certificate as a server with these hosts, and as a client of other nodes. Without
        hosts the certificate is for a client only.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        uses = [ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = (
            self._builder(name, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(is_authority=False), critical=True)
        )
        if hosts:
            uses.insert(0, ExtendedKeyUsageOID.SERVER_AUTH)
            names = x509.SubjectAlternativeName([_general_name(one) for one in hosts])
            builder = builder.add_extension(names, critical=False)
        builder = builder.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return _key_pem(key) + certificate.public_bytes(Encoding.PEM).decode()

    def _builder(self, name: str, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(_name(name))
            .issuer_name(_name(AUTHORITY_NAME))
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._begins)
            .not_valid_after(self.expires)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(self._identifier),
                critical=False,
            )
        )


def _usage(*, is_authority: bool) -> x509.KeyUsage:
    """An authority signs certificates. A node signs handshakes."""
    return x509.KeyUsage(
        digital_signature=not is_authority,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        **_SIGNATURE_ONLY,
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _key_of(pem: str) -> ec.EllipticCurvePrivateKey:
    key = load_pem_private_key(pem.encode(), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("the key of the authority is not on an elliptic curve")
    return key


def _key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
