"""AlterUserScramCredentials (version 0): sets and removes users who log in with SCRAM (KIP-554).

The client sends a salted password. Only the keys that are computed from it are kept.
"""

from gralha.broker.broker import Broker
from gralha.broker.pipeline import RequestContext
from gralha.metadata.controller.scram import ScramDeletion, ScramUpsertion, alter_scram_credentials
from gralha.metadata.image import ScramCredential
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialUpsertion,
)
from gralha.security.sasl.scram import MECHANISM_NAMES, credential_from


async def decide(
    broker: Broker, context: RequestContext, request: AlterUserScramCredentialsRequest
) -> AlterUserScramCredentialsResponse:
    deletions = [ScramDeletion(one.name, one.mechanism) for one in request.deletions]
    upsertions = [ScramUpsertion(one.name, one.mechanism, _credential(one)) for one in request.upsertions]
    response = await broker.controller.execute(
        lambda image: alter_scram_credentials(image, deletions, upsertions)
    )
    changed = [result.user for result in response.results if not result.error_code]
    if changed:
        broker.rights.audit.changed(context, "SCRAM credentials changed", users=changed)
    return response


def refusal(
    request: AlterUserScramCredentialsRequest, error: KafkaError, version: int
) -> AlterUserScramCredentialsResponse:
    names = dict.fromkeys([one.name for one in request.deletions] + [one.name for one in request.upsertions])
    return AlterUserScramCredentialsResponse(
        results=[
            AlterUserScramCredentialsResult(user=name, error_code=error.code, error_message=error.message)
            for name in names
        ]
    )


def _credential(wanted: ScramCredentialUpsertion) -> ScramCredential:
    mechanism = MECHANISM_NAMES.get(wanted.mechanism)
    if mechanism is None:
        return ScramCredential(b"", b"", b"", wanted.iterations)  # it will be refused
    return ScramCredential(
        *credential_from(mechanism, wanted.salted_password, wanted.salt, wanted.iterations)
    )
