"""kafka-configs --entity-type users: the credentials of users who log in with SCRAM.

Quotas of users are not supported yet. No error shows a password.
"""

import re
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from gralha.cli.json_output import print_json
from gralha.cli.program import CommandError

if TYPE_CHECKING:
    from gralha.client.admin import Admin
    from gralha.client.scram_calls import ScramUpsertion

_CREDENTIAL: Final = re.compile(r"(?:iterations=(-?[0-9]*),)?password=(.*)", re.DOTALL)
_QUOTAS: Final = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
)


def alter_user(admin: "Admin", name: str, added: Mapping[str, str], deleted: Sequence[str]) -> None:
    """Sets and removes credentials of one user."""
    _check_names(added, "added")
    _check_names(deleted, "deleted")
    if not name:
        raise CommandError(
            "The use of --entity-default or --user-defaults is not allowed with User SCRAM Credentials using "
            "--bootstrap-server."
        )
    upsertions = [_upsertion(mechanism, value) for mechanism, value in added.items()]
    admin.alter_scram_user(name, upsertions=upsertions, deletions=deleted)
    print(f"Completed updating config for user {name}.")


def _check_names(names: Sequence[str] | Mapping[str, str], done: str) -> None:
    from gralha.security.sasl.exchange import SCRAM_MECHANISMS

    if any(name in _QUOTAS for name in names):
        raise CommandError("Quotas of users cannot be changed yet")
    unknown = [name for name in names if name not in SCRAM_MECHANISMS]
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


def describe_users(admin: "Admin", options: Namespace) -> None:
    """Shows the mechanisms and iterations of users."""
    from gralha.protocol.errors import ErrorCode, KafkaError

    if "" in options.entity_names:
        return  # the defaults of users are only quotas
    found: dict[str, dict[str, int]] = {}
    for name, one in admin.describe_scram_users(options.entity_names).items():
        if not isinstance(one, KafkaError):
            found[name] = one
        elif one.code == ErrorCode.RESOURCE_NOT_FOUND:
            print(f"The user '{name}' has no SCRAM credentials.", file=sys.stderr)
        else:
            raise one
    if options.json:
        print_json(users=[{"user": name, "scram": one} for name, one in found.items()])
        return
    for name, one in found.items():
        text = ", ".join(f"{mechanism}=iterations={iterations}" for mechanism, iterations in one.items())
        print(f"SCRAM credential configs for user-principal '{name}' are {text}")


def without_secrets(arguments: Sequence[str]) -> list[str]:
    """The arguments of a command as an error may show them."""
    return [re.sub(r"password=[^\]]*", "password=[hidden]", argument) for argument in arguments]
