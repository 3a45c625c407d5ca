"""Keys and certificates: from Kafka's key stores and trust stores to the SSLContext of Python.

Stores are PEM or PKCS12, as files or, for PEM, as text in the settings. The content of a file decides how it
is read, because Java accepts a PKCS12 file under the type JKS, too. Files in Java's own format (JKS) are
refused with the command that converts them. PKCS12 needs the package `cryptography`; PEM does not.

Python's ssl loads a certificate chain only from a file. So keys that are in no PEM file go through a file in
memory, or through a file that only this user may read if the system has no such files.
"""

import os
import ssl
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gralha.security.cipher_suites import TLS_1_3, split_suites
from gralha.security.tls_settings import TRUST_STORE, Store, TlsError, TlsSettings

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_CLIENT_AUTH: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}
_JAVA_STORES: Final = {b"\xfe\xed\xfe\xed": "JKS", b"\xce\xce\xce\xce": "JCEKS"}
_PEM: Final = b"-----BEGIN "
_CERTIFICATE: Final = "-----BEGIN CERTIFICATE-----"
# Bundles of all public authorities have a quarter of that.
STORE_BYTES_MAX: Final = 1024 * 1024
# A client resumes a session with one ticket. OpenSSL's default is two.
_TICKETS: Final = 1


def server_context(settings: TlsSettings) -> ssl.SSLContext:
    """The context of a listener. Raises TlsError."""
    if not settings.has_key:
        raise TlsError(
            "ssl.keystore.location",
            "it is missing: a listener with TLS needs a certificate and its private key",
        )
    context = _context(ssl.PROTOCOL_TLS_SERVER, settings)
    context.num_tickets = _TICKETS
    context.verify_mode = _CLIENT_AUTH[settings.client_auth]
    if settings.client_auth != "none":
        if not settings.has_trust:
            raise TlsError(
                "ssl.truststore.location",
                f"it is missing, but ssl.client.auth={settings.client_auth} needs the certificates that the "
                "certificates of clients are checked with",
            )
        _trust(context, settings)
    return context


def client_context(settings: TlsSettings) -> ssl.SSLContext:
    """The context of a client. Without a trust store it trusts what the system trusts. Raises TlsError."""
    context = _context(ssl.PROTOCOL_TLS_CLIENT, settings)
    context.check_hostname = settings.checks_host_name and settings.verifies
    if not settings.verifies:
        context.verify_mode = ssl.CERT_NONE
    elif settings.has_trust:
        _trust(context, settings)
    else:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    return context


def readable_by_others(settings: TlsSettings) -> list[str]:
    """The files with private keys that every user of the machine may read."""
    found = []
    for path in settings.key_files:
        try:
            if os.stat(path).st_mode & stat.S_IROTH:
                found.append(path)
        except OSError:
            continue  # reading it says why
    return found


def _context(protocol: int, settings: TlsSettings) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.options |= ssl.OP_NO_RENEGOTIATION
    # As in Java, every certificate of the trust store is trusted, also one that another has signed.
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
    context.minimum_version = min(_VERSIONS[name] for name in settings.protocols)
    context.maximum_version = max(_VERSIONS[name] for name in settings.protocols)
    if settings.cipher_suites:
        _choose_ciphers(context, settings.cipher_suites)
    if settings.has_key:
        _load_key(context, settings)
    return context


def _choose_ciphers(context: ssl.SSLContext, names: list[str]) -> None:
    newer, older = split_suites(names)
    setting = "ssl.cipher.suites"
    if older:
        try:
            context.set_ciphers(":".join(older))
        except ssl.SSLError:
            raise TlsError(setting, f"OpenSSL has none of {', '.join(older)}") from None
        known = {cipher["name"] for cipher in context.get_ciphers()}
        for name in older:
            if name not in known:
                raise TlsError(setting, f"OpenSSL has no cipher suite {name}")
    else:
        context.minimum_version = ssl.TLSVersion.TLSv1_3
    if not newer:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    elif hasattr(context, "set_ciphersuites"):  # since Python 3.15
        context.set_ciphersuites(":".join(newer))
    elif set(newer) != set(TLS_1_3):
        raise TlsError(
            setting,
            "this Python cannot choose among the suites of TLS 1.3: list all of them or none "
            f"({', '.join(TLS_1_3)})",
        )
    if context.minimum_version > context.maximum_version:
        raise TlsError(setting, "none of the cipher suites belongs to a version in ssl.enabled.protocols")


# The certificate of this side and its key


def _load_key(context: ssl.SSLContext, settings: TlsSettings) -> None:
    store = settings.key_store
    if settings.certificate_location:
        _load_two_files(context, settings, settings.certificate_location)
    elif store.location is None:
        _load_inline(context, settings)
    elif _is_pem(content := _read(store), store):
        if store.password is not None:
            raise TlsError("ssl.keystore.password", "a PEM file has none; use ssl.key.password for its key")
        _check_pem(content, store.names.location, store.location)
        _load_chain(context, store.location, settings, store.names.location)
    else:
        chain = _chain_of_pkcs12(content, store)
        with _as_file(chain) as path:
            _load_chain(context, path, settings, store.names.location)


def _load_two_files(context: ssl.SSLContext, settings: TlsSettings, certificate: str) -> None:
    key = settings.key_location or certificate
    contents = [
        _read_file(certificate, "ssl.certificate.location"),
        _read_file(key, "ssl.key.location"),
    ]
    _check_pem(b"\n".join(contents), "ssl.certificate.location", f"{certificate} and {key}")
    _load_chain(context, certificate, settings, "ssl.certificate.location", key)


def _load_inline(context: ssl.SSLContext, settings: TlsSettings) -> None:
    for setting, text in (
        ("ssl.keystore.key", settings.key),
        ("ssl.keystore.certificate.chain", settings.certificate_chain),
    ):
        if text is None:
            raise TlsError(setting, "it is missing: a key and its certificate chain belong together")
    content = f"{with_lines(settings.key or '')}\n{with_lines(settings.certificate_chain or '')}\n".encode()
    _check_pem(content, "ssl.keystore.key", "the value")
    with _as_file(content) as path:
        _load_chain(context, path, settings, "ssl.keystore.key")


def with_lines(text: str) -> str:
    """PEM text with its line breaks. In a properties file people replace them by blanks, as Kafka allows."""
    lines = []
    for part in text.split("-----"):
        is_label = part.startswith(("BEGIN ", "END "))
        lines.append(f"-----{part}-----" if is_label else "\n".join(part.split()))
    return "\n".join(line for line in lines if line)


def _load_chain(
    context: ssl.SSLContext, path: str, settings: TlsSettings, setting: str, key_path: str | None = None
) -> None:
    asked = False

    def password() -> str:
        # Without a function OpenSSL would ask on the terminal.
        nonlocal asked
        asked = True
        return settings.key_password or ""

    try:
        context.load_cert_chain(path, key_path, password)
    except (ssl.SSLError, OSError, ValueError) as error:
        if asked:
            missing = settings.key_password is None
            why = "it is missing, and the private key is encrypted" if missing else "it is wrong"
            raise TlsError("ssl.key.password", why) from None
        reason = getattr(error, "reason", None)
        if reason == "KEY_VALUES_MISMATCH":
            raise TlsError(
                setting, "the private key does not belong to the first certificate of the chain"
            ) from None
        raise TlsError(setting, f"the certificate or the key cannot be read ({reason or error})") from None


def _check_pem(content: bytes, setting: str, place: str) -> None:
    text = content.decode("utf-8", "replace")
    if "PRIVATE KEY-----" not in text:
        raise TlsError(setting, f"{place} has no private key (-----BEGIN PRIVATE KEY-----)")
    if _CERTIFICATE not in text:
        raise TlsError(setting, f"{place} has no certificate ({_CERTIFICATE})")


# Trusted certificates


def _trust(context: ssl.SSLContext, settings: TlsSettings) -> None:
    location = settings.trust_store.location
    # librdkafka's ssl.ca.location may be a folder.
    if settings.trusted_certificates is None and os.path.isdir(location or ""):
        context.load_verify_locations(capath=location)
        return
    try:
        context.load_verify_locations(cadata=trusted_pem(settings))
    except (ssl.SSLError, ValueError) as error:
        raise TlsError(TRUST_STORE.location, f"a certificate cannot be read ({error})") from None


def trusted_pem(settings: TlsSettings) -> str:
    """The trusted certificates as PEM text. Raises TlsError."""
    store = settings.trust_store
    setting = store.names.location
    if settings.trusted_certificates is not None:
        setting, pem = "ssl.truststore.certificates", with_lines(settings.trusted_certificates)
    elif _is_pem(content := _read(store), store):
        if store.password is not None:
            raise TlsError(store.names.password, "a PEM file has none; remove the line")
        pem = content.decode("utf-8", "replace")
    else:
        pem = _certificates_of_pkcs12(content, store)
    certificates = _certificates(pem)
    if not certificates:
        raise TlsError(setting, f"it has no certificate ({_CERTIFICATE})")
    return certificates


def uses_pkcs12(store: Store) -> bool:
    """Returns True for a PKCS12 file. Raises TlsError if the file cannot be read."""
    if store.location is None or os.path.isdir(store.location):
        return False
    return not _is_pem(_read(store), store)


def _certificates(pem: str) -> str:
    """The certificates alone. Python refuses text around them."""
    parts = [_CERTIFICATE + part for part in pem.split(_CERTIFICATE)[1:]]
    end = "-----END CERTIFICATE-----"
    return "\n".join(part.partition(end)[0] + end for part in parts) + "\n" if parts else ""


# Files


def _read(store: Store) -> bytes:
    return _read_file(store.location or "", store.names.location)


def _read_file(path: str, setting: str) -> bytes:
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise TlsError(setting, f"{path} is no file of keys or certificates, but a device or a pipe")
            content = file.read(STORE_BYTES_MAX + 1)
    except FileNotFoundError:
        raise TlsError(setting, f"there is no file {path}") from None
    except OSError as error:
        raise TlsError(setting, f"{path} cannot be read ({error.strerror})") from None
    if len(content) > STORE_BYTES_MAX:
        raise TlsError(setting, f"{path} has more than {STORE_BYTES_MAX} bytes")
    return content


def _without_waiting(path: str, flags: int) -> int:
    """Opens a file. A pipe would make the caller wait until somebody writes."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _is_pem(content: bytes, store: Store) -> bool:
    """Returns False for PKCS12. Raises TlsError for other formats."""
    java = _JAVA_STORES.get(content[:4])
    if java is not None:
        path = store.location or ""
        raise TlsError(
            store.names.location,
            f"{path} is a {java} file, which only Java can read. Convert it with: "
            f"keytool -importkeystore -srckeystore {path} -destkeystore {Path(path).stem}.p12 "
            "-deststoretype PKCS12",
        )
    is_pem = _PEM in content
    wanted = store.type
    if (wanted == "PEM" and not is_pem) or (wanted == "PKCS12" and is_pem):
        found = "is PEM" if is_pem else "has no line -----BEGIN ...-----"
        raise TlsError(store.names.type, f"it is {wanted}, but {store.location} {found}")
    return is_pem


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """A file with secret content, for functions that take nothing else."""
    if hasattr(os, "memfd_create"):
        number = os.memfd_create("key")
        path = f"/proc/self/fd/{number}"
        remove: Callable[[], None] | None = None
    else:
        number, path = tempfile.mkstemp()
        remove = Path(path).unlink
    try:
        with open(number, "wb", closefd=False) as file:
            file.write(content)
        yield path
    finally:
        os.close(number)
        if remove is not None:
            remove()


# PKCS12


def _load_pkcs12(content: bytes, store: Store) -> "PKCS12KeyAndCertificates":
    try:
        from cryptography.hazmat.primitives.serialization import pkcs12
    except ImportError:
        raise TlsError(
            store.names.location,
            f"{store.location} is a PKCS12 store, which needs the package cryptography: "
            "pip install cryptography. PEM files need no package",
        ) from None
    password = store.password
    try:
        return pkcs12.load_pkcs12(content, None if password is None else password.encode())
    except ValueError as error:
        text = str(error).lower()
        if "password" in text:
            why = "it is missing" if password is None else "it is wrong"
            raise TlsError(store.names.password, f"{why}, or {store.location} is damaged") from None
        raise TlsError(
            store.names.location, f"{store.location} is neither PEM nor a PKCS12 store ({error})"
        ) from None


def _chain_of_pkcs12(content: bytes, store: Store) -> bytes:
    """The key, its certificate and the certificates above it, as PEM."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    found = _load_pkcs12(content, store)
    if found.key is None or found.cert is None:
        raise TlsError(store.names.location, f"{store.location} has no private key with a certificate")
    others = [one.certificate for one in found.additional_certs]
    certificates = [found.cert.certificate]
    while True:
        issuer = certificates[-1].issuer
        above = [one for one in others if one.subject == issuer and one not in certificates]
        if not above:
            break
        certificates.append(above[0])
    key = found.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return b"".join([key, *(one.public_bytes(Encoding.PEM) for one in certificates)])


def _certificates_of_pkcs12(content: bytes, store: Store) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    found = _load_pkcs12(content, store)
    entries = ([found.cert] if found.cert is not None else []) + list(found.additional_certs)
    return "".join(entry.certificate.public_bytes(Encoding.PEM).decode() for entry in entries)
