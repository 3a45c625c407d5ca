"""Error codes and their exceptions."""

import pytest

from gralha.protocol.errors import (
    CorruptMessageError,
    ErrorCode,
    InvalidTopicError,
    KafkaError,
    error_for,
    error_message,
    error_name,
)

# The codes that Kafka's Java client treats as retriable, in 4.3.
RETRIABLE = {
    *(2, 3, 5, 6, 7, 9, 13, 14, 15, 16, 19, 20, 41, 51, 56, 70, 71, 72, 74, 75, 78, 80, 83, 84, 88, 89),
    *(100, 103, 106, 122, 123, 133),
}


def test_the_codes_are_those_of_kafka_4_3() -> None:
    assert [int(code) for code in ErrorCode] == list(range(-1, 134))
    assert {int(code) for code in ErrorCode if code.retriable} == RETRIABLE
    assert ErrorCode(87) is ErrorCode.INVALID_RECORD
    assert int(ErrorCode.REBOOTSTRAP_REQUIRED) == 129


def test_every_code_has_a_message_of_its_own() -> None:
    messages = [code.message for code in ErrorCode]
    assert all(messages)
    assert len(set(messages)) == len(messages)


def test_every_class_is_found_by_its_code() -> None:
    classes = KafkaError.__subclasses__()
    assert len({cls.CODE for cls in classes}) == len(classes)
    for cls in classes:
        error = error_for(int(cls.CODE))
        assert type(error) is cls
        assert error.code == cls.CODE
        assert error.message == error_message(cls.CODE) == str(error)


def test_an_error_carries_its_own_message_or_that_of_its_code() -> None:
    assert CorruptMessageError("bad batch at 7").message == "bad batch at 7"
    assert CorruptMessageError().code is ErrorCode.CORRUPT_MESSAGE
    assert CorruptMessageError().retriable
    error = error_for(17, "no such name")
    assert isinstance(error, InvalidTopicError)
    assert str(error) == "no such name"
    assert not error.retriable


def test_a_code_without_a_class_and_a_code_of_the_future_are_kafka_errors() -> None:
    error = error_for(93)
    assert type(error) is KafkaError
    assert error.code is ErrorCode.UNACCEPTABLE_CREDENTIAL
    future = error_for(999)
    assert future.code == 999
    assert not future.retriable
    assert "999" in future.message
    assert error_name(999) == "ERROR_999"
    assert error_name(3) == "UNKNOWN_TOPIC_OR_PARTITION"
    with pytest.raises(KafkaError):
        raise future
