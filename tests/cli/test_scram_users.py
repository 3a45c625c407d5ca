"""Users of SCRAM in values of commands."""

import base64

import pytest

from gralha.cli.program import CommandError
from gralha.cli.scram_users import parse_new_user
from gralha.security.sasl.scram import new_credential, salted_password

SALT = base64.b64encode(b"salt").decode()


def test_a_password_becomes_keys() -> None:
    user = parse_new_user(f'SCRAM-SHA-512=[name=alice,password="a=b",salt={SALT},iterations=8192]')
    assert (user.name, user.mechanism) == ("alice", 2)
    assert user.credential == new_credential("SCRAM-SHA-512", "a=b", b"salt", 8192)
    assert "a=b" not in repr(user)


def test_a_salted_password_is_taken_as_it_is() -> None:
    salted = base64.b64encode(salted_password("sha256", "secret", b"salt", 4096)).decode()
    user = parse_new_user(f"SCRAM-SHA-256=[name=alice,saltedpassword={salted},salt={SALT}]")
    assert user.credential == new_credential("SCRAM-SHA-256", "secret", b"salt", 4096)


def test_a_salt_is_drawn_for_each_user() -> None:
    salts = {parse_new_user("SCRAM-SHA-256=[name=a,password=b]").credential.salt for _ in range(3)}
    assert len(salts) == 3
    assert {len(salt) for salt in salts} == {24}


@pytest.mark.parametrize(
    ("argument", "error"),
    [
        ("hidden", "Failed to find equals sign in SCRAM argument"),
        ("PLAIN=[name=a,password=hidden]", "The add-scram mechanism PLAIN is not supported."),
        ("SCRAM-SHA-256=name=a,password=hidden]", "Expected configuration string to start with ["),
        ("SCRAM-SHA-256=[name=a,password=hidden", "Expected configuration string to end with ]"),
        ("SCRAM-SHA-256=[password=hidden]", "You must supply 'name' to add-scram"),
        ("SCRAM-SHA-256=[name=,password=hidden]", "The name of a user must not be empty"),
        ("SCRAM-SHA-256=[name=a]", "You must supply one of 'password' or 'saltedpassword' to add-scram"),
        ("SCRAM-SHA-256=[name=a,saltedpassword=AAAA]", "You must supply 'salt' with 'saltedpassword'"),
        ("SCRAM-SHA-256=[name=a,password=b,salt=!]", "Failed to decode given salt"),
        ("SCRAM-SHA-256=[name=a,password=b,hidden]", "No equals sign found in SCRAM component"),
        ("SCRAM-SHA-256=[name=a,password=b,x=y]", "Unknown SCRAM configurations: x"),
        (
            "SCRAM-SHA-256=[name=a,password=b,iterations=4095]",
            "must be >= 4096 for add-scram using SCRAM_SHA_256",
        ),
        (
            "SCRAM-SHA-512=[name=a,password=b,iterations=16385]",
            "must be <= 16384 for add-scram using SCRAM_SHA",
        ),
        ("SCRAM-SHA-512=[name=a,password=b,iterations=x]", "Failed to parse iterations count: x"),
    ],
)
def test_mistakes_have_the_words_of_kafka_and_no_password(argument: str, error: str) -> None:
    with pytest.raises(CommandError) as caught:
        parse_new_user(argument)
    assert error in str(caught.value)
    assert "hidden" not in str(caught.value)
