"""Validates tokens of OAUTHBEARER: signed JWTs (RFC 7519), by the public keys of their issuer (RFC 7517).

Only signatures with public keys are accepted. A token that is not signed, or signed with a shared secret,
proves nothing here. The rules are those of Kafka's settings `sasl.oauthbearer.*` (KIP-768).
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from gralha.security.sasl.oauthbearer import InvalidTokenError, ValidToken

# The algorithms of each type of key.
ALGORITHMS: Final = {
    "RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    "EC": ("ES256", "ES384", "ES512"),
    "OKP": ("EdDSA",),
}
_TOKEN_BYTES_MAX: Final = 64 * 1024


class TokenRules(NamedTuple):
    """What a token must say."""

    audiences: tuple[str, ...] = ()
    issuer: str | None = None
    subject_claim: str = "sub"
    scope_claim: str = "scope"
    clock_skew_s: int = 30


class VerificationKey(NamedTuple):
    """A public key, and the algorithms that may be used with it."""

    key: Any
    algorithms: tuple[str, ...]


class KeySet:
    """The public keys of an issuer by their ids. A key without an id has the id ""."""

    def __init__(self, keys: Mapping[str, VerificationKey]) -> None:
        self._keys = dict(keys)

    def get(self, key_id: str) -> VerificationKey | None:
        """The key with this id. A token may leave the id out if there is only one key."""
        found = self._keys.get(key_id)
        if found is None and not key_id and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return found

    def __len__(self) -> int:
        return len(self._keys)


def parse_key_set(text: str) -> KeySet:
    """Reads a JSON web key set. Keys for other purposes are left out. Raises ValueError if none is left."""
    from jwt import PyJWK, PyJWTError

    try:
        entries = json.loads(text)["keys"]
        keys = {}
        for entry in entries:
            allowed = ALGORITHMS.get(entry.get("kty"), ())
            if entry.get("use", "sig") != "sig" or not allowed:
                continue
            named = entry.get("alg")
            algorithms = tuple(one for one in allowed if named in (None, one))
            if algorithms:
                key = PyJWK(entry, algorithm=algorithms[0]).key
                keys[str(entry.get("kid", ""))] = VerificationKey(key, algorithms)
    except (ValueError, KeyError, TypeError, AttributeError, PyJWTError) as error:
        raise ValueError(f"this is not a JSON web key set (JWKS): {type(error).__name__}") from None
    if not keys:
        raise ValueError("the key set has no public key for signatures")
    return KeySet(keys)


class TokenValidator:
    """`keys` returns the current keys. `on_unknown_key` is told if a token names a key that is not there."""

    def __init__(
        self,
        rules: TokenRules,
        keys: Callable[[], KeySet],
        clock_ms: Callable[[], int],
        on_unknown_key: Callable[[], None] = lambda: None,
    ) -> None:
        self._rules = rules
        self._keys = keys
        self._clock_ms = clock_ms
        self._on_unknown_key = on_unknown_key

    def __call__(self, token: str) -> ValidToken:
        """What the token says. Raises InvalidTokenError."""
        claims = self._verified_claims(token)
        rules = self._rules
        self._check_time(claims)
        if rules.issuer is not None and claims.get("iss") != rules.issuer:
            raise InvalidTokenError("the token is of another issuer")
        self._check_audience(claims.get("aud"))
        user = claims.get(rules.subject_claim)
        if not isinstance(user, str) or not user.strip():
            raise InvalidTokenError(f"the token has no claim {rules.subject_claim}")
        return ValidToken(user.strip(), int(claims["exp"] * 1000), _scope(claims.get(rules.scope_claim)))

    def _verified_claims(self, token: str) -> dict[str, Any]:
        import jwt

        if len(token) > _TOKEN_BYTES_MAX:
            raise InvalidTokenError("the token is too long")
        try:
            header = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, ValueError):
            raise InvalidTokenError("the token is not a JWT") from None
        key_id = header.get("kid", "")
        key = self._keys().get(key_id if isinstance(key_id, str) else "")
        if key is None:
            self._on_unknown_key()
            raise InvalidTokenError("the token is signed with an unknown key")
        algorithm = header.get("alg")
        if algorithm not in key.algorithms:
            raise InvalidTokenError("the token is signed with an algorithm that its key does not allow")
        unchecked = {
            "verify_signature": True,
            **dict.fromkeys(
                (
                    "verify_exp",
                    "verify_nbf",
                    "verify_iat",
                    "verify_aud",
                    "verify_iss",
                    "verify_sub",
                    "verify_jti",
                ),
                False,
            ),
        }
        try:
            claims = jwt.decode(token, key.key, algorithms=[algorithm], options=unchecked)  # type: ignore[arg-type]
        except (jwt.PyJWTError, ValueError, TypeError):
            raise InvalidTokenError("the signature of the token is wrong") from None
        return dict(claims)

    def _check_time(self, claims: Mapping[str, Any]) -> None:
        now_s = self._clock_ms() / 1000
        skew_s = self._rules.clock_skew_s
        if _seconds(claims, "exp", is_required=True) + skew_s <= now_s:
            raise InvalidTokenError("the token has expired")
        if _seconds(claims, "nbf") - skew_s > now_s:
            raise InvalidTokenError("the token is not valid yet")
        if _seconds(claims, "iat") - skew_s > now_s:
            raise InvalidTokenError("the token was issued in the future")

    def _check_audience(self, audience: object) -> None:
        named = [audience] if isinstance(audience, str) else audience
        wanted = self._rules.audiences
        if named is None and not wanted:
            return
        if not isinstance(named, list) or not any(one in wanted for one in named):
            raise InvalidTokenError("the token is for another audience")


def _seconds(claims: Mapping[str, Any], name: str, is_required: bool = False) -> float:
    value = claims.get(name)
    if value is None and not is_required:
        return 0.0
    # NaN and the infinities are no numbers of JSON, but Python reads them.
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e12:
        raise InvalidTokenError(f"the token has no valid claim {name}")
    return float(value)


def _scope(value: object) -> frozenset[str]:
    if value is None:
        return frozenset()
    parts = value.split() if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(one, str) and one.strip() for one in parts):
        raise InvalidTokenError("the scope of the token is malformed")
    return frozenset(parts)
