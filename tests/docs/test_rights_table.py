"""docs/SECURITY.md has the rights that the APIs declare."""

from pathlib import Path

from scripts.rights_table import PAGE, page, table

from gralha.broker.handlers import SERVED
from gralha.protocol import apis


def test_the_page_is_up_to_date() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == page(text), "run make generate"


def test_each_served_api_has_rows() -> None:
    rows = table().splitlines()
    assert {apis.APIS[key].name for key in SERVED} == {row.split(" | ")[0][2:] for row in rows[2:]} - {""}


def test_make_generate_writes_the_page() -> None:
    assert "python -m scripts.rights_table" in Path(PAGE.parents[1] / "Makefile").read_text()
