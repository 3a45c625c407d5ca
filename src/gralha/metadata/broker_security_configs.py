"""The broker configs for TLS, in the notation of `config_notation`.

Each `ssl.*` setting may have the prefix `listener.name.<name>.`, with the name of a listener in lower case.
Then it counts for that listener only.
"""

from typing import Final

_TLS: Final = """
ssl.keystore.type: string = JKS; per-broker
    The format of the key store: PEM or PKCS12. Without this setting the content of the file decides. JKS is
    accepted if the file is a PKCS12 store, as in Java; a file in Java's own format is refused.
ssl.keystore.location: string; per-broker
    The file with the certificate of this node, the certificates above it, and the private key.
ssl.keystore.password: password; per-broker
    The password of a PKCS12 key store. A PEM file has none.
ssl.key.password: password; per-broker
    The password of an encrypted private key in PEM form.
ssl.keystore.key: password; per-broker
    The private key as PEM text, instead of a file.
ssl.keystore.certificate.chain: password; per-broker
    The certificate of this node and those above it as PEM text, instead of a file.
ssl.truststore.type: string = JKS; per-broker
    The format of the trust store: PEM or PKCS12. Without this setting the content of the file decides.
ssl.truststore.location: string; per-broker
    The file with the certificates that this node trusts: for clients, and for other nodes.
ssl.truststore.password: password; per-broker
    The password of a PKCS12 trust store. A PEM file has none.
ssl.truststore.certificates: password; per-broker
    The trusted certificates as PEM text, instead of a file.
ssl.client.auth: string = none; one of required, requested, none; per-broker
    Must a client have a certificate? With 'requested', a client without one is User:ANONYMOUS.
ssl.principal.mapping.rules: string = DEFAULT; low
    How the subject of a client's certificate becomes the name of its principal. Rules are separated by
    commas, each RULE:pattern/replacement/[LU] or DEFAULT, which takes the subject itself. The first that
    matches counts.
ssl.endpoint.identification.algorithm: string = https; low; per-broker
    With 'https' this node checks that the certificate of another node has its host name. An empty value
    switches that off.
ssl.enabled.protocols: list = TLSv1.2,TLSv1.3; per-broker
    The versions of TLS: TLSv1.2, TLSv1.3 or both.
ssl.protocol: string = TLSv1.3; per-broker
    TLS, TLSv1.2 or TLSv1.3. It is checked; ssl.enabled.protocols decides.
ssl.cipher.suites: list =; per-broker
    The cipher suites, with the names of Java or OpenSSL. An empty list means those of OpenSSL. The suites of
    TLS 1.3 can be allowed only together, unless Python is 3.15 or newer.
ssl.allow.dn.changes: boolean = false; low
    Accepted without effect: a new certificate may have another subject.
ssl.allow.san.changes: boolean = false; low
    Accepted without effect: a new certificate may have other host names.
ssl.keymanager.algorithm: string = SunX509; per-broker
    Accepted without effect: it names a part of Java.
ssl.trustmanager.algorithm: string = PKIX; per-broker
    Accepted without effect: it names a part of Java.
ssl.provider: string; per-broker
    Accepted without effect: it names a part of Java.
ssl.secure.random.implementation: string; low; per-broker
    Accepted without effect: it names a part of Java.
security.providers: string; low
    Accepted without effect: it names classes of Java.
"""

# docs/CONFIGURATION.md has a table for each section.
SECURITY_SECTIONS: Final[dict[str, str]] = {"TLS": _TLS}
