"""A missing PySpark is installed from where Gralha came, because Gralha is in no package index."""

import json
from importlib import metadata

import pytest

from gralha.spark import extra


class Noted:
    def __init__(self, text: str | None) -> None:
        self.text = text

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return self.text


@pytest.mark.parametrize(
    ("noted", "command"),
    [
        (
            {"url": "file:///srv/gralha-0.1.0-py3-none-any.whl", "archive_info": {}},
            'pip install "gralha[spark] @ file:///srv/gralha-0.1.0-py3-none-any.whl"',
        ),
        (
            {"url": "file:///srv/my%20gralha", "dir_info": {"editable": True}},
            'pip install --editable "/srv/my gralha[spark]"',
        ),
        (
            {"url": "file:///srv/gralha", "dir_info": {}},
            'pip install "gralha[spark] @ file:///srv/gralha"',
        ),
        (None, 'pip install "gralha[spark] @ file://FOLDER/gralha-VERSION.whl"'),
    ],
)
def test_the_command_names_what_pip_has_installed(
    noted: dict[str, object] | None, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Noted(json.dumps(noted) if noted else None)
    monkeypatch.setattr(metadata, "distribution", lambda name: found)
    assert extra.install_command() == command


def test_without_an_installation_a_person_names_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nothing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", nothing)
    assert "file://FOLDER/gralha-VERSION.whl" in extra.install_command()
