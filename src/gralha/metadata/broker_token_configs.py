"""The broker configs for delegation tokens, in the notation of `config_notation`."""

from typing import Final

_TOKENS: Final = """
delegation.token.secret.key: password
    The key of the secrets of all tokens. All brokers and controllers of a cluster need the same one. Without
    it there are no delegation tokens.
delegation.token.max.lifetime.ms: long = 604800000; at least 1
    A token can be renewed until it is this old. A client may ask for less.
delegation.token.expiry.time.ms: long = 86400000; at least 1
    A token expires after this long if nobody renews it.
delegation.token.expiry.check.interval.ms: long = 3600000; at least 1; low
    How often the controller removes tokens that have expired. An expired token is refused before that, too.
"""

TOKEN_SECTIONS: Final[dict[str, str]] = {"Delegation tokens": _TOKENS}
