"""The salts and iterations of users who do not exist."""

import string
from collections import Counter

import pytest

from gralha.security.sasl.exchange import SCRAM_SHA_256, SCRAM_SHA_512
from gralha.security.sasl.scram import ScramCredential
from gralha.security.sasl.scram_fakes import DIGITS, NUMBER_BITS, ScramFakes, kind_of

SECRET = b"a secret of the cluster"
NAMES = [f"nobody-{number}" for number in range(2_000)]
OURS = b"abcdefghijklmnopqrstuv27"
OF_JAVA = b"1" * 26
BYTES = bytes(range(128, 144))


def credential(salt: bytes, iterations: int = 4096) -> ScramCredential:
    return ScramCredential(salt, b"key", b"key", iterations)


def fakes(*credentials: ScramCredential, secret: bytes = SECRET) -> ScramFakes:
    return ScramFakes(secret, SCRAM_SHA_512, credentials)


def test_without_users_the_answer_is_that_of_a_user_with_defaults() -> None:
    salt, iterations = fakes().salt_and_iterations("nobody")
    assert kind_of(credential(salt, iterations)) == kind_of(credential(OURS, 4096))


def test_the_answer_depends_on_the_secret_the_mechanism_and_the_name_alone() -> None:
    answer = fakes().salt_and_iterations("nobody")
    assert fakes().salt_and_iterations("nobody") == answer
    assert fakes(secret=b"another").salt_and_iterations("nobody") != answer
    assert ScramFakes(SECRET, SCRAM_SHA_256, []).salt_and_iterations("nobody") != answer
    assert len({fakes().salt_and_iterations(name) for name in NAMES}) == len(NAMES)


@pytest.mark.parametrize("salt", [OURS, OF_JAVA, b"z" * 25, BYTES, bytes(100)])
@pytest.mark.parametrize("iterations", [4096, 8192])
def test_a_fake_is_of_the_kind_of_the_real_ones(salt: bytes, iterations: int) -> None:
    real = credential(salt, iterations)
    for name in NAMES[:100]:
        assert kind_of(credential(*fakes(real).salt_and_iterations(name))) == kind_of(real)


def test_numbers_are_as_large_as_those_of_java() -> None:
    """A number of 26 digits that is larger than 130 bits would show that nobody has made it."""
    for name in NAMES:
        salt, _ = fakes(credential(OF_JAVA)).salt_and_iterations(name)
        assert len(salt) == 26
        assert not salt.strip(DIGITS)
        assert int(salt, 36) < 1 << NUMBER_BITS


def test_each_kind_is_as_frequent_as_with_real_users() -> None:
    real = [credential(OURS, 4096)] * 3 + [credential(BYTES, 8192)]
    found = Counter(fakes(*real).salt_and_iterations(name)[1] for name in NAMES)
    # The names and the secret are fixed, and so is the result.
    assert 0.72 < found[4096] / len(NAMES) < 0.78
    assert set(found) == {4096, 8192}


def test_a_new_user_changes_few_answers() -> None:
    real = [credential(OURS, 4096)] * 50 + [credential(BYTES, 8192)] * 50
    before = {name: fakes(*real).salt_and_iterations(name) for name in NAMES}
    after = {name: fakes(*real, credential(BYTES, 8192)).salt_and_iterations(name) for name in NAMES}
    changed = sum(before[name] != after[name] for name in NAMES)
    assert changed < len(NAMES) // 50


def test_many_kinds_do_not_slow_logins_down() -> None:
    real = [credential(OURS, 4096 + number) for number in range(1_000)]
    one = fakes(*real)
    assert len({one.salt_and_iterations(name)[1] for name in NAMES}) == 8


def test_letters_of_base32_in_another_length_are_no_salt_of_ours() -> None:
    assert kind_of(credential(string.ascii_lowercase[:20].encode())).alphabet == DIGITS
