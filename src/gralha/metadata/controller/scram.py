"""Decisions about users who log in with SCRAM (KIP-554), and their description.

The handler has made keys of the salted passwords, so no password comes here. The messages are Kafka's.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from gralha.metadata.controller.decision import Decision
from gralha.metadata.image import MetadataImage, ScramCredential
from gralha.protocol.errors import ErrorCode
from gralha.protocol.message import Message
from gralha.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from gralha.protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from gralha.protocol.messages.security_records import (
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)

MECHANISMS: Final = (1, 2)
ITERATIONS_MIN: Final = 4096
ITERATIONS_MAX: Final = 16384

Refusal = tuple[int, str]
_TWICE: Final = (
    ErrorCode.DUPLICATE_RESOURCE,
    "A user credential cannot be altered twice in the same request",
)
_DESCRIBED_TWICE: Final = "Cannot describe SCRAM credentials for the same user twice in a single request"


class ScramDeletion(NamedTuple):
    """Removes the credential of a user for one mechanism."""

    name: str
    mechanism: int


class ScramUpsertion(NamedTuple):
    """Sets the credential of a user for one mechanism."""

    name: str
    mechanism: int
    credential: ScramCredential


def alter_scram_credentials(
    image: MetadataImage, deletions: Sequence[ScramDeletion], upsertions: Sequence[ScramUpsertion]
) -> Decision[AlterUserScramCredentialsResponse]:
    """Changes credentials. A user with an error keeps what it has, and other users are changed."""
    refused: dict[str, Refusal] = {}
    records: dict[str, Message] = {}
    changes: list[ScramDeletion | ScramUpsertion] = [*deletions, *upsertions]
    for change in changes:
        name = change.name
        if name in refused:
            continue
        if name in records:
            del records[name]
            refused[name] = _TWICE
            continue
        refusal = _refusal_of(image, change)
        if refusal is None:
            records[name] = _record(change)
        else:
            refused[name] = refusal
    results = [AlterUserScramCredentialsResult(user=name, error_message=None) for name in records]
    results += [
        AlterUserScramCredentialsResult(user=name, error_code=code, error_message=message)
        for name, (code, message) in refused.items()
    ]
    return Decision(AlterUserScramCredentialsResponse(results=results), list(records.values()))


def _refusal_of(image: MetadataImage, change: ScramDeletion | ScramUpsertion) -> Refusal | None:
    if not change.name:
        return ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"
    if change.mechanism not in MECHANISMS:
        return ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"
    if isinstance(change, ScramDeletion):
        if (change.name, change.mechanism) not in image.scram:
            return (
                ErrorCode.RESOURCE_NOT_FOUND,
                "Attempt to delete a user credential that does not exist",
            )
        return None
    if change.credential.iterations < ITERATIONS_MIN:
        return ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations"
    if change.credential.iterations > ITERATIONS_MAX:
        return ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations"
    return None


def _record(change: ScramDeletion | ScramUpsertion) -> Message:
    if isinstance(change, ScramDeletion):
        return RemoveUserScramCredentialRecord(name=change.name, mechanism=change.mechanism)
    credential = change.credential
    return UserScramCredentialRecord(
        name=change.name,
        mechanism=change.mechanism,
        salt=credential.salt,
        stored_key=credential.stored_key,
        server_key=credential.server_key,
        iterations=credential.iterations,
    )


def describe_scram_credentials(
    image: MetadataImage, names: Sequence[str]
) -> DescribeUserScramCredentialsResponse:
    """The mechanisms of users. Without names, of all users."""
    times = Counter(names)
    wanted = list(dict.fromkeys(names or sorted(name for name, _ in image.scram)))
    results = [_described(image, name, is_twice=times[name] > 1) for name in wanted]
    return DescribeUserScramCredentialsResponse(error_message=None, results=results)


def _described(image: MetadataImage, name: str, is_twice: bool) -> DescribeUserScramCredentialsResult:
    if is_twice:
        return DescribeUserScramCredentialsResult(
            user=name,
            error_code=ErrorCode.DUPLICATE_RESOURCE,
            error_message=f"{_DESCRIBED_TWICE}: {name}",
        )
    found = [
        CredentialInfo(mechanism=mechanism, iterations=image.scram[name, mechanism].iterations)
        for mechanism in MECHANISMS
        if (name, mechanism) in image.scram
    ]
    if not found:
        return DescribeUserScramCredentialsResult(
            user=name,
            error_code=ErrorCode.RESOURCE_NOT_FOUND,
            error_message=f"Attempt to describe a user credential that does not exist: {name}",
        )
    # Kafka's message is empty here and not null.
    return DescribeUserScramCredentialsResult(user=name, credential_infos=found)
