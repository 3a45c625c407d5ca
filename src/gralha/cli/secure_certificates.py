"""The certificates of `gralha secure`: an authority (CA), and a certificate of each node that it signs.

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
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
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
    """An authority with a new key."""

    def __init__(self, now: datetime.datetime) -> None:
        self._begins = now - _TOLERANCE
        self.expires = now + datetime.timedelta(days=365 * VALID_YEARS)
        self._key = ec.generate_private_key(ec.SECP256R1())
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

    def issue(self, name: str, hosts: Sequence[str]) -> str:
        """A new key and its certificate for these hosts, as a PEM key store of Kafka.

        A node uses it as a server, and as a client of other nodes.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            self._builder(name, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(is_authority=False), critical=True)
            .add_extension(
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
                critical=False,
            )
            .add_extension(x509.SubjectAlternativeName([_general_name(one) for one in hosts]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
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


def _key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
