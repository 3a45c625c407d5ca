"""The broker configs for SASL, in the notation of `config_notation`.

Each may have the prefix `listener.name.<listener>.<mechanism>.`, in lower case. `broker/sasl_settings.py`
reads those.
"""

from typing import Final

_SASL: Final = """
sasl.enabled.mechanisms: list = GSSAPI
    The SASL mechanisms of a listener: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER. Kerberos (GSSAPI) is
    Kafka's default and is not supported, so a node with a SASL listener needs this setting.
sasl.jaas.config: password
    The login module of a mechanism with its options, with the prefix listener.name.<listener>.<mechanism>.:
    the users of PLAIN (user_<name>="password"), and the user name and password of this node itself.
sasl.mechanism.inter.broker.protocol: string = GSSAPI
    The mechanism with which this broker logs in to other brokers.
sasl.mechanism.controller.protocol: string = GSSAPI; high
    The mechanism with which this node logs in to controllers. It cannot be SCRAM, because a controller knows
    the users of SCRAM only after the quorum has a leader.
sasl.server.max.receive.size: int = 524288
    The largest request in bytes before a client has logged in.
connections.max.reauth.ms: long = 0
    A client must log in again after this long, or the broker closes its connection; 0 means never. The prefix
    listener.name.<listener>.<mechanism>. sets it for one mechanism.
connection.failed.authentication.delay.ms: int = 100; at least 0; low
    How long the broker waits before it answers a failed login and closes the connection.
sasl.oauthbearer.jwks.endpoint.url: string
    Where the public keys for tokens are (a JWKS): file:///path, or an address that
    gralha.sasl.oauthbearer.allowed.urls has.
sasl.oauthbearer.jwks.endpoint.refresh.ms: long = 3600000; low
    How often the public keys are read again.
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms: long = 100; low
    The first pause before the broker tries again to read the public keys.
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms: long = 10000; low
    The longest pause before the broker tries again to read the public keys.
sasl.oauthbearer.expected.audience: list; low
    A token must be for one of these audiences. Without it, tokens with an audience are refused.
sasl.oauthbearer.expected.issuer: string; low
    A token must have this issuer. Without it, the issuer is not checked.
sasl.oauthbearer.scope.claim.name: string = scope; low
    The claim with the scope of a token.
sasl.oauthbearer.sub.claim.name: string = sub; low
    The claim with the name of the user.
sasl.oauthbearer.clock.skew.seconds: int = 30; low
    How far the clocks of the broker and of the issuer may differ.
gralha.sasl.oauthbearer.allowed.urls: list =; low
    The addresses that sasl.oauthbearer.jwks.endpoint.url may name. Kafka has a system property of Java for
    them, org.apache.kafka.sasl.oauthbearer.allowed.urls.
"""

SASL_SECTIONS: Final[dict[str, str]] = {"SASL": _SASL}
