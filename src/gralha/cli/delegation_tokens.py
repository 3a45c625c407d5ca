"""kafka-delegation-tokens: creates, renews, expires and describes delegation tokens (KIP-48)."""

import base64
import binascii
from argparse import ArgumentTypeError, Namespace
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from gralha.cli.arguments import CommandParser
from gralha.cli.connect import open_admin
from gralha.cli.json_output import add_json_option, print_json
from gralha.cli.program import CommandError, run

if TYPE_CHECKING:
    from gralha.client.admin import Admin
    from gralha.client.delegation_token_calls import ClientToken

_ACTIONS: Final = ("create", "renew", "expire", "describe")
_REQUIRED: Final = {
    "create": ("max-life-time-period",),
    "renew": ("hmac", "renew-time-period"),
    "expire": ("hmac", "expiry-time-period"),
}
_EXCLUDED: Final = {
    "create": ("hmac", "renew-time-period", "expiry-time-period"),
    "renew": ("renewer-principal", "max-life-time-period", "expiry-time-period", "owner-principal"),
    "expire": ("max-life-time-period", "renew-time-period", "owner-principal"),
    "describe": ("renew-time-period", "max-life-time-period", "hmac", "expiry-time-period"),
}
_ROW: Final = "\n{:<15} {:<30} {:<15} {:<15} {:<25} {:<15} {:<15} {:<15}"
_HEAD: Final = ("TOKENID", "HMAC", "OWNER", "REQUESTER", "RENEWERS", "ISSUEDATE", "EXPIRYDATE", "MAXDATE")


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_main, arguments)


def _parser() -> CommandParser:
    server = "--bootstrap-server localhost:9092 --command-config alice.properties"
    parser = CommandParser(
        "kafka-delegation-tokens",
        "This tool helps to create, renew, expire, or describe delegation tokens.",
        [
            f"{server} --create --max-life-time-period -1 --renewer-principal User:bob",
            f"{server} --describe",
        ],
    )
    parser.value("bootstrap-server", "REQUIRED: the brokers to connect to", metavar="HOST:PORT,...")
    parser.value(
        "command-config",
        "REQUIRED: a file with properties of the admin client. It must log in, and not with a token",
        metavar="FILE",
    )
    parser.flag("create", "create a token")
    parser.flag("renew", "let a token expire later")
    parser.flag("expire", "let a token expire earlier, or at once")
    parser.flag("describe", "show tokens with their secrets: your own, and those that you may describe")
    parser.add_argument(
        "--owner-principal",
        action="append",
        default=[],
        type=_principal,
        metavar="PRINCIPAL",
        help="the owner, such as User:bob. With --describe also renewers, and many of both",
    )
    parser.add_argument(
        "--renewer-principal",
        action="append",
        default=[],
        type=_principal,
        metavar="PRINCIPAL",
        help="who may renew and expire the token, besides its owner",
    )
    _period(parser, "max-life-time-period", "how long the token can be renewed; -1: as the cluster says")
    _period(parser, "renew-time-period", "how long the token is valid from now; -1: as the cluster says")
    _period(parser, "expiry-time-period", "how long the token is valid from now; -1: it is removed at once")
    parser.value("hmac", "the secret of the token, as --create and --describe show it", metavar="HMAC")
    add_json_option(parser)
    return parser


def _period(parser: CommandParser, name: str, help_text: str) -> None:
    parser.value(name, f"{help_text}. In milliseconds", kind=int, metavar="MS")


def _principal(text: str) -> str:
    kind, colon, name = text.strip().partition(":")
    if not kind or not colon or not name:
        raise ArgumentTypeError(f"expected a string in format principalType:principalName but got {text}")
    return text.strip()


def parse_options(arguments: Sequence[str]) -> Namespace:
    """Parses and checks the command line. The errors are Kafka's."""
    parser = _parser()
    options = parser.parse(arguments)
    chosen = [action for action in _ACTIONS if getattr(options, action)]
    if len(chosen) != 1:
        raise CommandError(
            "Command must include exactly one action: --create, --renew, --expire or --describe"
        )
    (action,) = chosen
    parser.require(options, "bootstrap-server", "command-config", *_REQUIRED.get(action, ()))
    parser.exclude(options, action, _EXCLUDED[action])
    if options.create and len(options.owner_principal) > 1:
        raise CommandError("A token has one owner: give --owner-principal only once")
    return options


def _main(arguments: list[str]) -> int:
    options = parse_options(arguments)
    with open_admin(options, "kafka-delegation-tokens") as admin:
        if options.create:
            _create(admin, options)
        elif options.describe:
            _describe(admin, options)
        else:
            _change(admin, options)
    return 0


def _create(admin: "Admin", options: Namespace) -> None:
    renewers = options.renewer_principal
    if not options.json:
        print(
            f"Calling create token operation with renewers :{_listed(renewers)} , "
            f"max-life-time-period :{options.max_life_time_period}"
        )
    token = admin.create_delegation_token(
        renewers,
        owner=next(iter(options.owner_principal), None),
        max_lifetime_ms=options.max_life_time_period,
    )
    if options.json:
        print_json(tokens=[_document(token)])
        return
    print(f"Created delegation token with tokenId : {token.id}")
    _show([token])


def _describe(admin: "Admin", options: Namespace) -> None:
    owners = options.owner_principal
    if not options.json:
        print(
            f"Calling describe token operation for owners: {_listed(owners)}"
            if owners
            else "Calling describe token operation for current user."
        )
    tokens = admin.describe_delegation_tokens(owners)
    if options.json:
        print_json(tokens=[_document(one) for one in tokens])
        return
    print(f"Total number of tokens : {len(tokens)}", end="")
    _show(tokens)


def _change(admin: "Admin", options: Namespace) -> None:
    """Renews or expires a token."""
    what = "renew" if options.renew else "expire"
    period_ms = options.renew_time_period if options.renew else options.expiry_time_period
    secret = _decoded(options.hmac)
    if not options.json:
        print(f"Calling {what} token operation with hmac :{options.hmac} , {what}-time-period :{period_ms}")
    change = admin.renew_delegation_token if options.renew else admin.expire_delegation_token
    expires_ms = change(secret, period_ms)
    if options.json:
        print_json(expiryTimestamp=expires_ms)
    else:
        print(f"Completed {what} operation. New expiry date : {_date(expires_ms)}")


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise CommandError("--hmac is not base64: give the value that --create has printed") from None


def _show(tokens: "Sequence[ClientToken]") -> None:
    """Prints the table. Each row begins with an empty line, as Kafka's."""
    print(_ROW.format(*_HEAD))
    for token in tokens:
        print(
            _ROW.format(
                token.id,
                base64.b64encode(token.hmac).decode(),
                token.owner,
                token.requester,
                _listed(token.renewers),
                _date(token.issue_timestamp_ms),
                _date(token.expiry_timestamp_ms),
                _date(token.max_timestamp_ms),
            )
        )


def _document(token: "ClientToken") -> dict[str, object]:
    return {
        "tokenId": token.id,
        "hmac": base64.b64encode(token.hmac).decode(),
        "owner": token.owner,
        "requester": token.requester,
        "renewers": list(token.renewers),
        "issueTimestamp": token.issue_timestamp_ms,
        "expiryTimestamp": token.expiry_timestamp_ms,
        "maxTimestamp": token.max_timestamp_ms,
    }


def _listed(items: Sequence[str]) -> str:
    return f"[{', '.join(items)}]"


def _date(timestamp_ms: int) -> str:
    """The minute, in the zone of this machine."""
    try:
        return datetime.fromtimestamp(timestamp_ms // 1000).strftime("%Y-%m-%dT%H:%M")
    except (ValueError, OverflowError, OSError):
        return str(timestamp_ms)  # a cluster without a limit has times that no calendar has
