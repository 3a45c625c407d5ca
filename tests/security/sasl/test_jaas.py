import pytest

from gralha.security.sasl.jaas import JaasError, parse_jaas

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def test_options_are_read_as_java_reads_them() -> None:
    module = parse_jaas(
        f"""{PLAIN} required
            username="admin" password='a "b"; c'
            user_alice="se\\"cret=" user_bob = plain ;""",
        "PLAIN",
    )
    assert module.name == PLAIN
    assert dict(module.options) == {
        "username": "admin",
        "password": 'a "b"; c',
        "user_alice": 'se"cret=',
        "user_bob": "plain",
    }
    assert "secret" not in repr(module)


def test_a_module_may_have_no_options() -> None:
    assert parse_jaas(f"{SCRAM} required;", "SCRAM-SHA-512").options == {}


@pytest.mark.parametrize(
    ("text", "mechanism", "advice"),
    [
        ("", "PLAIN", "semicolon"),
        (f'{PLAIN} required username="a"', "PLAIN", "semicolon"),
        (f"{PLAIN};", "PLAIN", "semicolon"),
        (f'{PLAIN} username="hidden";', "PLAIN", "required"),
        ('com.example.Module required password="hidden";', "PLAIN", f"Write {PLAIN}"),
        (f'{SCRAM} required password="hidden";', "PLAIN", f"Write {PLAIN}"),
        (f'{PLAIN} required password="hidden";', "SCRAM-SHA-256", f"Write {SCRAM}"),
        (f'{PLAIN} required password="hidden;', "PLAIN", "quotation mark"),
        (f'{PLAIN} required password "hidden";', "PLAIN", "form"),
        (f'{PLAIN} required a="hidden"; {PLAIN} required b="hidden";', "PLAIN", "form"),
    ],
)
def test_mistakes_have_advice_and_show_no_value(text: str, mechanism: str, advice: str) -> None:
    with pytest.raises(JaasError) as error:
        parse_jaas(text, mechanism)
    assert advice in str(error.value)
    assert "hidden" not in str(error.value)
