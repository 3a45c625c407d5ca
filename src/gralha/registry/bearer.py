"""Checks the tokens of HTTP's Bearer authentication: JSON Web Tokens that an issuer has signed."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from gralha.registry.config import ConfigError
from gralha.registry.errors import RegistryError

_ALGORITHMS: Final = ["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512"]


def bearer_check(settings: Mapping[str, str]) -> Callable[[str], str]:
    """A function from a token to its principal. Raises ConfigError if the keys cannot be read."""
    import jwt

    location = settings.get("oauthbearer.jwks.endpoint.url", "")
    if not location.startswith("file:"):
        raise ConfigError(
            "oauthbearer.jwks.endpoint.url must name a file with the issuer's keys: file:///etc/registry/jwks.json"
        )
    path = location.removeprefix("file://").removeprefix("file:")
    try:
        keys = jwt.PyJWKSet.from_json(Path(path).read_text())
    except (OSError, ValueError, jwt.PyJWTError) as error:
        raise ConfigError(f"oauthbearer.jwks.endpoint.url: {path} has no keys: {error}") from None
    by_id = {key.key_id: key for key in keys.keys}
    claim = settings.get("oauthbearer.sub.claim.name", "sub")
    audience = settings.get("oauthbearer.expected.audience") or None
    issuer = settings.get("oauthbearer.expected.issuer") or None

    def check(token: str) -> str:
        try:
            header = jwt.get_unverified_header(token)
            key = by_id.get(header.get("kid")) or (keys.keys[0] if len(keys.keys) == 1 else None)
            if key is None:
                raise jwt.InvalidTokenError("the key is not known")
            claims: dict[str, Any] = jwt.decode(
                token,
                key.key,
                algorithms=_ALGORITHMS,
                audience=audience,
                issuer=issuer,
                options={"require": ["exp"], "verify_aud": audience is not None},
            )
        except (jwt.PyJWTError, ValueError, TypeError):
            raise RegistryError(401, "Unauthorized") from None
        principal = claims.get(claim)
        if not isinstance(principal, str) or not principal:
            raise RegistryError(401, "Unauthorized")
        return principal

    return check
