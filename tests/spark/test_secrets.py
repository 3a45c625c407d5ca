"""References to secrets: their values, and the errors if they cannot be resolved."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gralha.client.errors import SettingsError
from gralha.protocol.properties import properties_text
from gralha.spark.secrets import (
    SecretError,
    client_settings,
    has_reference,
    refer_to_file,
    resolve,
    without_references,
)
from gralha.spark.sink_options import kafka_settings


def test_values_without_references_stay_as_they_are() -> None:
    options = {"topic": "a", "kafka.sasl.jaas.config": 'password="$x{y}" ${z} $env:A }'}
    assert resolve(options) == options


def test_a_variable_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRALHA_TEST_SECRET", "p:w}d")
    assert resolve({"a": "${env:GRALHA_TEST_SECRET}"}) == {"a": "p:w}d"}


def test_several_references_inside_of_a_value_are_each_replaced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONE", "${env:TWO}")
    monkeypatch.setenv("TWO", "2")
    assert resolve({"a": 'x="${env:ONE}" y="${env:TWO}"'}) == {"a": 'x="${env:TWO}" y="2"'}


@pytest.mark.parametrize("text", ["s3cret", "s3cret\n", "s3cret\r\n", "s3cret\n\n"])
def test_a_whole_file_without_the_line_break_at_its_end(tmp_path: Path, text: str) -> None:
    file = tmp_path / "password"
    file.write_bytes(text.encode())
    assert resolve({"a": f"${{file:{file}}}"}) == {"a": "s3cret"}


def test_one_name_of_a_properties_file(tmp_path: Path) -> None:
    file = tmp_path / "secrets.properties"
    file.write_text(
        "# a=comment\n! b=comment\n\nuser = alice\npassword=p=w:d\\\\ \\u00e9\nlong: one\\\n   two\n"
        "sp\\ ace value with spaces\nempty=\n"
    )

    def secret(name: str) -> str:
        return resolve({"a": f"${{file:{file}:{name}}}"})["a"]

    assert secret("user") == "alice"
    assert secret("password") == "p=w:d\\ é"
    assert secret("long") == "onetwo"
    assert secret("sp ace") == "value with spaces"
    assert secret("empty") == ""


def test_a_file_with_a_colon_in_its_path(tmp_path: Path) -> None:
    (tmp_path / "a:b").write_text("x")
    assert resolve({"a": f"${{file:{tmp_path}/a:b}}"}) == {"a": "x"}


def refusal(value: str) -> str:
    with pytest.raises(SecretError) as caught:
        resolve({"kafka.ssl.key.password": value})
    return str(caught.value)


def test_a_missing_variable() -> None:
    assert refusal("${env:GRALHA_NO_SUCH}") == (
        "Option 'kafka.ssl.key.password' refers to ${env:GRALHA_NO_SUCH}, but the environment of this "
        "process has no variable GRALHA_NO_SUCH: set it where Spark's driver and workers are started"
    )


def test_a_missing_file_and_a_missing_name(tmp_path: Path) -> None:
    file = tmp_path / "secrets"
    assert f"the file {file} cannot be read here: No such file or directory" in refusal(f"${{file:{file}}}")
    file.write_text("a=hidden\n")
    said = refusal(f"${{file:{file}:b}}")
    assert said.endswith(f"but the file {file} has no line 'b=...'")
    assert "hidden" not in said


def test_a_path_that_depends_on_the_folder() -> None:
    assert "secrets.txt is not an absolute path" in refusal("${file:secrets.txt}")


def test_a_place_that_does_not_exist() -> None:
    assert "'evn' is unknown: write ${env:NAME}" in refusal("${evn:NAME}")


def test_bytes_that_are_no_text_are_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "binary"
    file.write_bytes(b"hidden\xff")
    said = refusal(f"${{file:{file}}}")
    assert said.endswith("is not UTF-8 text")
    assert "hidden" not in said


def test_a_file_too_large_to_be_a_secret() -> None:
    assert "is larger than 1000000 bytes" in refusal("${file:/dev/zero}")


def test_a_secret_in_the_wrong_place_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIDDEN", " hid(den ")
    for name in ("acks", "batch.size", "security.protocol", "compression.type"):
        with pytest.raises(SettingsError) as caught:
            client_settings({"bootstrap.servers": "localhost:9092", name: "${env:HIDDEN}"})
        assert "${env:HIDDEN}" in str(caught.value)
        assert "hid(den" not in str(caught.value).lower()
    monkeypatch.setenv("BROKER", "localhost:9092")
    assert client_settings({"bootstrap.servers": "${env:BROKER}"}).bootstrap_servers == "localhost:9092"


def test_what_can_be_checked_without_a_secret() -> None:
    options = {"a": "1", "b": "x${env:B}", "c": "${c}"}
    assert without_references(options) == {"a": "1", "c": "${c}"}
    assert has_reference("${file:/a:b}")


@given(st.dictionaries(st.text("abc=: #\\\n\té", min_size=1), st.text("abc=: #\\\n\té")))
def test_any_name_and_value_can_be_written_down(values: dict[str, str]) -> None:
    from gralha.spark.secrets import _properties

    def escaped(text: str) -> str:
        return "".join(f"\\u{ord(character):04x}" for character in text)

    assert _properties("".join(f"{escaped(a)}={escaped(b)}\n" for a, b in values.items())) == values


def test_a_file_is_referred_to_in_place_of_its_secrets(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    secrets = {
        "sasl.jaas.config": 'module required username="eva" password="a\\\\b";',
        "sasl.password": "p=w",
        "ssl.keystore.key": "-----BEGIN PRIVATE KEY-----",
        "ssl.truststore.password": "t",
    }
    others = {"security.protocol": "SASL_SSL", "sasl.username": "eva", "ssl.key.password": "${env:A}"}
    settings = {**secrets, **others}
    file.write_text(properties_text(settings))
    referring = refer_to_file(settings, str(file))
    assert referring == {**{name: f"${{file:{file}:{name}}}" for name in secrets}, **others}
    assert resolve({name: referring[name] for name in secrets}) == secrets


def test_a_secret_that_the_file_does_not_have_stays(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("sasl.password=another\n")
    settings = {"sasl.password": "mine", "ssl.key.password": "yours"}
    assert refer_to_file(settings, str(file)) == settings


def test_a_sink_accepts_references_in_the_settings_of_a_login() -> None:
    """The rest of the settings is checked when the secrets are known."""
    options = {
        "kafka.bootstrap.servers": "localhost:9092",
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": "${env:LOGIN}",
        "kafka.acks": "all",
    }
    assert kafka_settings(options)["sasl.jaas.config"] == "${env:LOGIN}"
    with pytest.raises(SettingsError, match="acks"):
        kafka_settings({**options, "kafka.acks": "many"})
