"""What to do about a missing right, as the end of a sentence for a person."""

from typing import TYPE_CHECKING, Final

from gralha.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from gralha.client.security import ClientSecurity

# The options of kafka-acls by the error that a missing right causes.
_OPTIONS: Final[dict[int, str]] = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "--topic",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "--group",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "--resource-pattern-type prefixed --transactional-id",
}
# The name of a user whom only the brokers know, for example by its certificate.
_SOMEBODY: Final = "NAME"


def how_to_allow(code: int, name: str, operation: str, security: "ClientSecurity | None" = None) -> str:
    """The command that gives the right to the resource, or "" if the error has another reason.

    Clients that choose transactional ids themselves begin them with a name and a dot, so the right is about
    all ids that begin in this way.
    """
    option = _OPTIONS.get(code)
    if option is None:
        return ""
    if code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
        first, dot, _ = name.partition(".")
        name = first + dot
    login = None if security is None else security.login
    user = "" if login is None else login.principal_name
    return (
        f". A super user can allow it: kafka-acls --add --allow-principal User:{user or _SOMEBODY} "
        f"--operation {operation} {option} {name}"
    )
