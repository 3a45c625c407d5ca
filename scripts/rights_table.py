"""Writes the table of rights in docs/SECURITY.md from what the APIs declare.

`python -m scripts.rights_table` is a part of `make generate`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gralha.broker.handlers import SERVED
from gralha.broker.handlers.needs import NEEDS, Needs
from gralha.protocol import apis
from gralha.protocol.acls import Operation

PAGE: Final = Path(__file__).parents[1] / "docs" / "SECURITY.md"
BEGIN: Final = "<!-- rights: `make generate` writes this table -->\n"
END: Final = "<!-- end of rights -->\n"
CLUSTER_DENIED: Final = "CLUSTER_AUTHORIZATION_FAILED"


def table() -> str:
    """The table, a row for each right."""
    rows = ["| API | operation | on | for | without it |", "|---|---|---|---|---|"]
    for key in SERVED:
        name = apis.APIS[key].name
        for row in _rows(NEEDS[key], apis.APIS[key].listeners):
            rows.append(f"| {name} | {' | '.join(row)} |")
            name = ""
    return "\n".join(rows) + "\n"


def _rows(needs: Needs, listeners: tuple[str, ...]) -> Iterator[tuple[str, str, str, str]]:
    for need in needs.needs:
        yield need.operation.name, need.resource.name, need.when, _code(need.denied)
    if "broker" in listeners and needs.guards:
        yield _guards(needs.guards), "CLUSTER", "", _code(CLUSTER_DENIED)
    elif "controller" in listeners and needs.controller_guards:
        yield _guards(needs.controller_guards), "CLUSTER", "on controllers", _code(CLUSTER_DENIED)
    if needs.note:
        yield "-", "-", needs.note, "-"


def _guards(operations: tuple[Operation, ...]) -> str:
    return " or ".join(operation.name for operation in operations)


def _code(text: str) -> str:
    return f"`{text}`" if text.isupper() else text


def page(text: str) -> str:
    """The page with the table as it should be."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def main() -> None:
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
