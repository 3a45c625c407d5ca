"""Admin calls about users who log in with SCRAM (KIP-554)."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gralha.client.calls import Calls, raise_for
from gralha.protocol.errors import KafkaError, error_for
from gralha.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from gralha.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    UserName,
)
from gralha.security.sasl.scram import HASHES, MECHANISM_NAMES, MECHANISM_NUMBERS, salted_password


class ScramUpsertion(NamedTuple):
    """A new password of a user for one mechanism. Only the salted password is sent."""

    mechanism: str
    iterations: int
    salt: bytes
    password: str

    def __repr__(self) -> str:
        return f"ScramUpsertion({self.mechanism}, {self.iterations})"


class ScramCalls(Calls):
    """Calls that describe and change the users of SCRAM."""

    def describe_scram_users(self, names: Sequence[str]) -> dict[str, dict[str, int] | KafkaError]:
        """The iterations of each mechanism by user. Without names, of all users."""
        request = DescribeUserScramCredentialsRequest(users=[UserName(name=name) for name in names] or None)

        def attempt() -> DescribeUserScramCredentialsResponse:
            connection = self.cluster.any_connection()
            response = connection.send(request, DescribeUserScramCredentialsResponse)
            raise_for(response.error_code, response.error_message)
            return response

        return {
            one.user: error_for(one.error_code, one.error_message)
            if one.error_code
            else {
                MECHANISM_NAMES.get(info.mechanism, "UNKNOWN"): info.iterations
                for info in one.credential_infos
            }
            for one in self.cluster.once(attempt).results
        }

    def alter_scram_user(
        self, name: str, *, upsertions: Iterable[ScramUpsertion] = (), deletions: Iterable[str] = ()
    ) -> None:
        """Sets passwords of a user, and removes mechanisms."""
        request = AlterUserScramCredentialsRequest(
            deletions=[ScramCredentialDeletion(name, MECHANISM_NUMBERS[one]) for one in deletions],
            upsertions=[
                ScramCredentialUpsertion(
                    name,
                    MECHANISM_NUMBERS[one.mechanism],
                    one.iterations,
                    one.salt,
                    salted_password(HASHES[one.mechanism], one.password, one.salt, one.iterations),
                )
                for one in upsertions
            ],
        )

        def attempt() -> None:
            connection = self.cluster.admin_connection()
            for result in connection.send(request, AlterUserScramCredentialsResponse).results:
                raise_for(result.error_code, result.error_message)

        self.cluster.once(attempt, is_change=True)
