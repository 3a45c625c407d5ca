"""The advice about missing rights: a command that gives them, and nothing for other errors."""

import pytest

from gralha.client.denials import how_to_allow
from gralha.client.security import ClientSecurity
from gralha.protocol.errors import ErrorCode

LOGIN = {"security.protocol": "SASL_SSL", "sasl.username": "eva", "sasl.password": "secret"}
ALLOW = ". A super user can allow it: kafka-acls --add --allow-principal User:"


@pytest.mark.parametrize(
    ("code", "name", "options"),
    [
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "sales", "--topic sales"),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, "readers", "--group readers"),
        (
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            "gralha.1234.0",
            "--resource-pattern-type prefixed --transactional-id gralha.",
        ),
        (
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            "payments",
            "--resource-pattern-type prefixed --transactional-id payments",
        ),
    ],
)
def test_the_command_names_the_user_and_the_resource(code: ErrorCode, name: str, options: str) -> None:
    security = ClientSecurity.from_kafka({**LOGIN, "sasl.mechanism": "SCRAM-SHA-512"})
    assert how_to_allow(code, name, "READ", security) == f"{ALLOW}eva --operation READ {options}"


@pytest.mark.parametrize(
    "settings",
    [
        None,
        {"security.protocol": "SSL"},
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.token.endpoint.url": "file:///token",
        },
    ],
)
def test_a_name_that_only_the_brokers_know_is_left_to_the_reader(settings: dict[str, str] | None) -> None:
    security = None if settings is None else ClientSecurity.from_kafka(settings)
    said = how_to_allow(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "sales", "WRITE", security)
    assert said == f"{ALLOW}NAME --operation WRITE --topic sales"


@pytest.mark.parametrize("code", [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 9999])
def test_other_errors_have_no_advice(code: int) -> None:
    assert how_to_allow(code, "sales", "READ") == ""
