"""kafka-configs --entity-type users: the credentials of users who log in with SCRAM.

No error shows a password. Quotas of users are in `configs_quotas`.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from gralha.cli.configs_quotas import OF_CLIENTS
from gralha.cli.program import CommandError

if TYPE_CHECKING:
    from gralha.client.admin import Admin
    from gralha.client.scram_calls import ScramUpsertion

_CREDENTIAL: Final = re.compile(r"(?:iterations=(-?[0-9]*),)?password=(.*)", re.DOTALL)


def has_credentials(names: Sequence[str]) -> bool:
    """Returns True if one of these settings is a credential, and not a quota."""
    from gralha.security.sasl.exchange import SCRAM_MECHANISMS

    return any(name in SCRAM_MECHANISMS for name in names)


def alter_user(admin: "Admin", name: str, added: Mapping[str, str], deleted: Sequence[str]) -> None:
    """Sets and removes credentials of one user."""
    _check_names(added, "added")
    _check_names(deleted, "deleted")
    if any(name in OF_CLIENTS for name in [*added, *deleted]):
        raise CommandError(
            "Cannot alter both quota and SCRAM credential configs simultaneously for 'users' using "
            "--bootstrap-server."
        )
    if not name:
        raise CommandError(
            "The use of --entity-default or --user-defaults is not allowed with User SCRAM Credentials using "
            "--bootstrap-server."
        )
    upsertions = [_upsertion(mechanism, value) for mechanism, value in added.items()]
    admin.alter_scram_user(name, upsertions=upsertions, deletions=deleted)


def _check_names(names: Sequence[str] | Mapping[str, str], done: str) -> None:
    from gralha.security.sasl.exchange import SCRAM_MECHANISMS

    unknown = [name for name in names if name not in SCRAM_MECHANISMS and name not in OF_CLIENTS]
    if unknown:
        raise CommandError(
            f"Only quota and SCRAM credential configs can be {done} for 'users' using --bootstrap-server. "
            f"Unexpected config names: {', '.join(unknown)}"
        )


def _upsertion(mechanism: str, value: str) -> "ScramUpsertion":
    from gralha.cli.scram_users import new_salt
    from gralha.client.scram_calls import ScramUpsertion
    from gralha.security.sasl.scram import ITERATIONS_MIN

    found = _CREDENTIAL.fullmatch(value)
    if found is None:
        raise CommandError(
            f"Invalid credential property {mechanism}=...: write {mechanism}=[iterations=8192,password=...]"
        )
    iterations = int(found[1]) if found[1] not in (None, "", "-", "-1") else ITERATIONS_MIN
    if iterations < ITERATIONS_MIN:
        raise CommandError(
            f"Iterations {iterations} is less than the minimum {ITERATIONS_MIN} required for {mechanism}"
        )
    return ScramUpsertion(mechanism, iterations, new_salt(), found[2])


def credentials_of(admin: "Admin", names: list[str], is_quiet: bool) -> dict[str, dict[str, int]]:
    """The mechanisms of users with their iterations. Unless `is_quiet`, users without any are named."""
    from gralha.protocol.errors import ErrorCode, KafkaError

    found: dict[str, dict[str, int]] = {}
    for name, one in admin.describe_scram_users(names).items():
        if not isinstance(one, KafkaError):
            found[name] = one
        elif one.code != ErrorCode.RESOURCE_NOT_FOUND:
            raise one
        elif not is_quiet:
            print(f"The user '{name}' has no SCRAM credentials.", file=sys.stderr)
    return found


def credential_lines(credentials: Mapping[str, Mapping[str, int]]) -> list[str]:
    lines = []
    for name, one in credentials.items():
        text = ", ".join(f"{mechanism}=iterations={iterations}" for mechanism, iterations in one.items())
        lines.append(f"SCRAM credential configs for user-principal '{name}' are {text}")
    return lines


def without_secrets(arguments: Sequence[str]) -> list[str]:
    """The arguments of a command as an error may show them."""
    return [re.sub(r"password=[^\]]*", "password=[hidden]", argument) for argument in arguments]
