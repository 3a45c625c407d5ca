"""Requests of security for the test of every version."""

from gralha.protocol.apis import ApiKey
from gralha.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from gralha.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from gralha.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from gralha.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from gralha.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from gralha.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from gralha.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from gralha.protocol.messages.sasl_handshake import SaslHandshakeRequest

REQUESTS = {
    ApiKey.SASL_HANDSHAKE: lambda version, _: SaslHandshakeRequest(mechanism="PLAIN"),
    ApiKey.SASL_AUTHENTICATE: lambda version, _: SaslAuthenticateRequest(auth_bytes=b"\0a\0b"),
    ApiKey.CREATE_DELEGATION_TOKEN: lambda version, _: CreateDelegationTokenRequest(max_lifetime_ms=-1),
    ApiKey.RENEW_DELEGATION_TOKEN: lambda version, _: RenewDelegationTokenRequest(b"no secret", -1),
    ApiKey.EXPIRE_DELEGATION_TOKEN: lambda version, _: ExpireDelegationTokenRequest(b"no secret", -1),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: lambda version, _: DescribeDelegationTokenRequest(
        [DescribeDelegationTokenOwner("User", "alice")]
    ),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: lambda version, _: DescribeUserScramCredentialsRequest(
        users=[UserName(name="nobody")]
    ),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: lambda version, _: AlterUserScramCredentialsRequest(
        deletions=[ScramCredentialDeletion(name="nobody", mechanism=1)],
        upsertions=[ScramCredentialUpsertion("alice", 2, 4096, b"salt", b"salted")],
    ),
}
