"""`gralha schema` against a real registry."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gralha.cli.schema import main
from tests.registry.instances import Instance

NewSubject = Callable[[str], str]
OLDER = '{"type":"record","name":"Order","fields":[{"name":"id","type":"int"}]}'
NEWER = '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}'
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(registry: Instance, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command against the registry. Returns its exit code, output and errors."""

    def call(*words: str) -> tuple[int, str, str]:
        code = main([*words, "--registry", registry.url])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    older, newer = tmp_path / "older.avsc", tmp_path / "newer.avsc"
    older.write_text(OLDER)
    newer.write_text(NEWER)
    return str(older), str(newer)


def test_the_life_of_a_schema(run: Run, files: tuple[str, str], new_subject: NewSubject) -> None:
    subject, (older, newer) = new_subject("orders"), files
    code, said, _ = run("register", subject, older)
    assert (code, said.split(" has the id ")[0]) == (0, f"{subject} version 1")
    assert run("check", subject, newer)[:2] == (0, f"The schema is compatible with {subject}.\n")
    run("register", subject, newer)
    code, said, _ = run("check", subject, older)
    assert code == 1
    assert said.startswith(f"The schema is not compatible with {subject}:\n  {{errorType:")
    code, said, _ = run("diff", subject)
    assert (code, said) == (
        0,
        f"{subject}: from version 1 to version 2\n  field id changed from int to long\n",
    )
    assert json.loads(run("get", subject)[1]) == json.loads(NEWER)
    assert json.loads(run("diff", subject, "2", "1", "--json")[1]) == {
        "version": 1,
        "older": 2,
        "newer": 1,
        "differences": ["field id changed from long to int"],
    }
    checked = json.loads(run("check", subject, older, "--json")[1])
    assert (set(checked), checked["isCompatible"]) == ({"version", "isCompatible", "messages"}, False)
    assert [line.split()[:2] for line in run("list", subject)[1].splitlines()] == [
        ["version", "1"],
        ["version", "2"],
    ]
    assert subject in json.loads(run("list", "--json")[1])["subjects"]
    assert run("delete", subject, "--version", "1")[:2] == (0, f"Deleted: {subject} version 1.\n")
    assert run("delete", subject)[1] == f"Deleted: {subject} version 2.\n"
    assert run("delete", subject, "--permanent")[1] == f"Deleted for good: {subject} version 1, 2.\n"


def test_an_export_can_be_imported(
    run: Run, files: tuple[str, str], new_subject: NewSubject, tmp_path: Path
) -> None:
    subject, (older, newer) = new_subject("exported"), files
    for file in (older, newer):
        run("register", subject, file)
    before = json.loads(run("list", subject, "--json")[1])["versions"]
    export = tmp_path / "export.jsonl"
    export.write_text(run("export", "--prefix", subject)[1])
    assert len(export.read_text().splitlines()) == 2
    code, _, error = run("import", str(export))
    assert (code, f"has the subject {subject} already" in error) == (1, True)
    run("delete", subject)
    run("delete", subject, "--permanent")
    assert run("import", str(export))[:2] == (0, "Imported 2 schemas of 1 subjects.\n")
    after = json.loads(run("list", subject, "--json")[1])["versions"]
    assert [(one["id"], one["version"]) for one in after] == [(one["id"], one["version"]) for one in before]
    assert run("register", subject, newer)[1].startswith(f"{subject} version 2 "), "the mode is normal again"


def test_mistakes_are_one_sentence(run: Run, new_subject: NewSubject, tmp_path: Path) -> None:
    broken = tmp_path / "broken.avsc"
    broken.write_text("{")
    for words, expected in (
        (("get", new_subject("gone")), "not found. (error 40401)"),
        (("get",), "Give a subject or --id"),
        (("register", "a", str(broken)), "(error 42201)"),
        (("register", "a", str(broken), "--reference", "x"), "write NAME=SUBJECT:VERSION"),
        (("import", str(broken)), "line 1: no schema"),
    ):
        code, said, error = run(*words)
        assert (code, said, error.count("\n")) == (1, "", 1)
        assert expected in error
    assert main(["list", "--registry", "http://127.0.0.1:1"]) == 1
