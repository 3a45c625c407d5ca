import pytest

from gralha.security.sasl.exchange import AuthenticationError
from gralha.security.sasl.plain import PlainClient, PlainServer

PASSWORDS = {"alice": "secret", "jürgen": "пароль"}


def server() -> PlainServer:
    return PlainServer(PASSWORDS.get)


@pytest.mark.parametrize("user", PASSWORDS)
def test_a_user_with_the_right_password_is_authenticated(user: str) -> None:
    client, exchange = PlainClient(user, PASSWORDS[user]), server()
    answer = exchange.step(client.first())
    assert client.step(answer) is None
    assert exchange.is_done
    assert exchange.user == user


def test_the_identity_may_repeat_the_user() -> None:
    exchange = server()
    exchange.step(b"alice\0alice\0secret")
    assert exchange.user == "alice"


def test_an_unknown_user_and_a_wrong_password_have_the_same_answer() -> None:
    answers = []
    for token in (b"\0alice\0wrong", b"\0nobody\0secret"):
        exchange = server()
        with pytest.raises(AuthenticationError) as error:
            exchange.step(token)
        assert not exchange.is_done
        answers.append((str(error.value), error.value.told))
    assert answers[0] == answers[1]
    assert answers[0][1] == "Authentication failed: Invalid username or password"


@pytest.mark.parametrize(
    ("token", "told"),
    [
        (b"", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"alice\0secret", "Invalid SASL/PLAIN response: expected 3 tokens, got 2"),
        (b"\0alice\0secret\0", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0\0secret", "Authentication failed: username not specified"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (
            b"bob\0alice\0secret",
            "Authentication failed: Client requested an authorization id that is different from username",
        ),
        (b"\0\xff\0secret", None),
    ],
)
def test_other_messages_are_refused_with_the_words_of_kafka(token: bytes, told: str | None) -> None:
    exchange = server()
    with pytest.raises(AuthenticationError) as error:
        exchange.step(token)
    assert error.value.told == told
    assert "secret" not in str(error.value)
    assert not exchange.is_done


def test_a_message_is_not_accepted_twice() -> None:
    exchange = server()
    exchange.step(b"\0alice\0secret")
    with pytest.raises(AuthenticationError):
        exchange.step(b"\0alice\0secret")


def test_the_client_refuses_characters_that_would_change_the_message() -> None:
    with pytest.raises(AuthenticationError, match="zero character"):
        PlainClient("a\0b", "secret")
