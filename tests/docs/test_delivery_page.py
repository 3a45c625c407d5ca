"""docs/DELIVERY.md has all settings of its examples, and the defaults of Apache Kafka's Java client."""

import re
import runpy
from contextlib import closing

import pytest

from tests.clients.drivers.java_driver import JavaDriver
from tests.clients.drivers.program import Program
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "DELIVERY.md").read_text()
EXAMPLES = sorted((ROOT / "examples" / "delivery").glob("*.py"))
# A setting, and its default in Java.
ROWS = re.findall(r"^\| `([a-z.]+)` \|[^|]*\| ([^|]+) \|", PAGE, flags=re.MULTILINE)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_settings_of_the_examples_are_explained(example) -> None:
    program = runpy.run_path(str(example))
    assert f"../examples/delivery/{example.name}" in PAGE
    settings = {*program["CONSUMER"], *program["PRODUCER"]} - {"group.id"}
    assert settings <= dict(ROWS).keys()


def test_defaults_are_those_of_the_java_client() -> None:
    program = Program("java", [*JavaDriver.command(), "127.0.0.1:9"])
    with closing(program):
        defaults = program.call("defaults")
    assert len(ROWS) == 11
    shown = {name: None if default == "-" else default.strip("`") for name, default in ROWS}
    assert shown == {name: defaults[name] for name in shown}
