"""Admin calls about delegation tokens (KIP-48, KIP-373). The client must have logged in without a token."""

from collections.abc import Sequence
from typing import NamedTuple

from gralha.client.calls import Calls, raise_for
from gralha.protocol.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from gralha.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from gralha.protocol.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from gralha.protocol.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)

DEFAULT_PERIOD_MS = -1


class ClientToken(NamedTuple):
    """A token with its secret. Principals have the form `User:alice`."""

    id: str
    hmac: bytes
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp_ms: int
    expiry_timestamp_ms: int
    max_timestamp_ms: int

    def __repr__(self) -> str:
        return f"ClientToken({self.id}, {self.owner}, secret hidden)"


class DelegationTokenCalls(Calls):
    """Calls that create, renew, expire and describe tokens."""

    def create_delegation_token(
        self,
        renewers: Sequence[str] = (),
        *,
        owner: str | None = None,
        max_lifetime_ms: int = DEFAULT_PERIOD_MS,
    ) -> ClientToken:
        """Creates a token of this client, or of another owner. The default life is the cluster's."""
        kind, name = _parts(owner) if owner else ("", "")
        request = CreateDelegationTokenRequest(
            kind, name, [CreatableRenewers(*_parts(one)) for one in renewers], max_lifetime_ms
        )

        def attempt() -> ClientToken:
            response = self.cluster.any_connection().send(request, CreateDelegationTokenResponse)
            raise_for(response.error_code)
            made_for = f"{response.principal_type}:{response.principal_name}"
            requester = _principal(
                response.token_requester_principal_type, response.token_requester_principal_name
            )
            return ClientToken(
                response.token_id,
                response.hmac,
                made_for,
                requester or made_for,
                tuple(renewers),
                response.issue_timestamp_ms,
                response.expiry_timestamp_ms,
                response.max_timestamp_ms,
            )

        return self.cluster.once(attempt, is_change=True)

    def renew_delegation_token(self, hmac: bytes, period_ms: int = DEFAULT_PERIOD_MS) -> int:
        """A token expires later. Returns the time in milliseconds."""
        request = RenewDelegationTokenRequest(hmac, period_ms)

        def attempt() -> int:
            response = self.cluster.any_connection().send(request, RenewDelegationTokenResponse)
            raise_for(response.error_code)
            return response.expiry_timestamp_ms

        return self.cluster.once(attempt, is_change=True)

    def expire_delegation_token(self, hmac: bytes, period_ms: int = DEFAULT_PERIOD_MS) -> int:
        """A token expires earlier, by default at once. Returns the time in milliseconds."""
        request = ExpireDelegationTokenRequest(hmac, period_ms)

        def attempt() -> int:
            response = self.cluster.any_connection().send(request, ExpireDelegationTokenResponse)
            raise_for(response.error_code)
            return response.expiry_timestamp_ms

        return self.cluster.once(attempt, is_change=True)

    def describe_delegation_tokens(self, owners: Sequence[str] = ()) -> list[ClientToken]:
        """The tokens that this client may see, of these owners and renewers or of all."""
        asked = [DescribeDelegationTokenOwner(*_parts(one)) for one in owners]
        request = DescribeDelegationTokenRequest(asked or None)

        def attempt() -> list[ClientToken]:
            response = self.cluster.any_connection().send(request, DescribeDelegationTokenResponse)
            raise_for(response.error_code)
            return [
                ClientToken(
                    one.token_id,
                    one.hmac,
                    f"{one.principal_type}:{one.principal_name}",
                    _principal(one.token_requester_principal_type, one.token_requester_principal_name),
                    tuple(f"{renewer.principal_type}:{renewer.principal_name}" for renewer in one.renewers),
                    one.issue_timestamp,
                    one.expiry_timestamp,
                    one.max_timestamp,
                )
                for one in response.tokens
            ]

        return self.cluster.once(attempt)


def _parts(principal: str) -> tuple[str, str]:
    kind, _, name = principal.partition(":")
    return kind, name


def _principal(kind: str, name: str) -> str:
    """A principal. It is empty if the broker is too old to tell it."""
    return f"{kind}:{name}" if kind else ""
