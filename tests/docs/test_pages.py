"""The pages of the documentation are true: their sessions print what they say, and their programs run."""

import argparse
import ast
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from bench.__main__ import parser as bench_parser

from gralha.broker.config import NodeConfig
from gralha.cli.arguments import parser_of
from gralha.cli.main import command_main
from gralha.client.known_settings import KNOWN_SETTINGS
from gralha.metadata.listener_configs import broker_config_key
from gralha.pipelines import metrics
from gralha.protocol.properties import parse_properties
from gralha.spark import options, sink_options
from gralha.spark.java import OLDEST_VERSION
from tests.docs.messages import missing, quoted
from tests.docs.pages import LOOKED_UP, PAGES, ROOT, TESTED, Block, blocks
from tests.docs.sessions import Reader

# The blocks of each page that are shown and not run, each with its reason above it.
NOT_RUN = {
    "COMING_FROM_KAFKA.md": 1,
    "DELIVERY.md": 1,
    "README.md": 2,
    "METRICS.md": 1,
    "PIPELINES.md": 3,
    "SECURITY.md": 3,
    "WHEN_SOMETHING_GOES_WRONG.md": 4,
    "SPARK.md": 3,
}
BLOCKS = [block for page in PAGES for block in blocks(page)]
CLIENT_SETTING = re.compile(r"^kafka\.[a-z.]+$")


def in_language(name: str) -> list[Block]:
    return [block for block in BLOCKS if block.language == name]


def names(values: list[Block]) -> list[str]:
    return [block.place for block in values]


RUN = [page for page in PAGES if any(block.is_run for block in blocks(page))]


# A page starts dozens of programs, one after the other, which takes long on a busy machine.
@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_a_reader_sees_what_the_page_says(page: Path, tmp_path: Path) -> None:
    with Reader(tmp_path) as reader:
        complaints = [text for block in blocks(page) if block.is_run for text in reader.follow(block)]
    assert not complaints, "\n\n".join(complaints)


def test_every_block_that_is_not_run_says_why() -> None:
    shown = [block for block in BLOCKS if "not run" in block.marks]
    counts = {page.name: sum(block.page == page for block in shown) for page in PAGES}
    assert {name: count for name, count in counts.items() if count} == NOT_RUN
    assert [block.place for block in shown if len(block.marks["not run"]) < 10] == []


@pytest.mark.parametrize("block", in_language("python"), ids=names(in_language("python")))
def test_python_compiles(block: Block) -> None:
    compile(block.text, block.place, "exec")


@pytest.mark.parametrize("block", in_language("python"), ids=names(in_language("python")))
def test_options_of_spark_exist(block: Block) -> None:
    """`.option("name", ...)` names an option of the source or the sink."""
    for call in ast.walk(ast.parse(block.text)):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "option":
            name = ast.literal_eval(call.args[0])
            is_sparks = name in (*sink_options.OPTIONS, "checkpointLocation")
            assert is_sparks or not list(options.warnings({name: ""}, streaming=True)), name
            assert not name.startswith("kafka.") or CLIENT_SETTING.match(name), name
            assert name.removeprefix("kafka.") not in sink_options.REFUSED


@pytest.mark.parametrize("block", in_language("properties"), ids=names(in_language("properties")))
def test_settings_are_accepted(block: Block) -> None:
    """A whole server.properties is a configuration. An excerpt has settings of nodes or clients."""
    if "node.id" in block.text:
        _, warnings = NodeConfig.parse(block.text, block.place, lambda: "you")
        assert warnings == []
        return
    found = [one.name for one in parse_properties(block.text)]
    assert [name for name in found if broker_config_key(name) is None and name not in KNOWN_SETTINGS] == []


def test_a_session_says_that_it_is_one() -> None:
    assert [
        block.place for block in BLOCKS if block.language != "console" and "\n$ " in f"\n{block.text}"
    ] == []


QUOTED = [block for block in BLOCKS if "text of" in block.marks]


@pytest.mark.parametrize("block", QUOTED, ids=names(QUOTED))
def test_quoted_messages_are_those_of_the_code(block: Block) -> None:
    files = block.marks["text of"].split()
    found = {message: missing(message, files) for message in quoted(block)}
    assert {message: part for message, part in found.items() if part is not None} == {}


def test_every_block_has_a_test_or_a_mark() -> None:
    known = {"text of", "made by", "metrics", "not ours", "picture", "not run", "file", "example"}
    bare = [
        block.place
        for block in BLOCKS
        if block.language not in (*TESTED, LOOKED_UP) and not block.marks.keys() & known
    ]
    assert bare == []


@pytest.mark.parametrize("block", in_language(LOOKED_UP), ids=names(in_language(LOOKED_UP)))
def test_commands_and_their_options_exist(block: Block) -> None:
    for line in block.lines:
        words = shlex.split(line, comments=True)
        while words and "=" in words[0]:
            words.pop(0)  # a variable of the environment
        complaint = unknown_in(words)
        assert complaint is None, f"{line}: {complaint}"


def unknown_in(words: list[str]) -> str | None:
    """The first word of a command line that nothing knows, or None."""
    program, *rest = words
    program = program.removeprefix(".venv/bin/")
    if program == "make":
        return None  # `test_goals_of_make_exist`
    if program in ("pip", "pytest"):
        paths = [word for word in rest if word.startswith("tests/")]
        return next((path for path in paths if not (ROOT / path).exists()), None)
    if program == "python":
        parser: argparse.ArgumentParser | None = bench_parser() if rest[:2] == ["-m", "bench"] else None
        rest = rest[2:]
    else:
        name = rest.pop(0) if program == "gralha" else program
        parser = parser_of(command_main(name))
    while parser is not None:
        known = parser._option_string_actions
        for action in parser._actions:
            if not isinstance(action, argparse._SubParsersAction):
                continue
            place = next((index for index, word in enumerate(rest) if word in action.choices), None)
            if place is not None:
                before = [word for word in rest[:place] if word.startswith("--") and word not in known]
                if before:
                    return before[0]
                parser, rest = action.choices[rest[place]], rest[place + 1 :]
                break
        else:
            return next((word for word in rest if word.startswith("--") and word not in known), None)
    return program


@pytest.mark.parametrize("page", ["METRICS.md", "PIPELINES.md"])
def test_metrics_in_blocks_exist(page: str) -> None:
    listed = set(re.findall(r"`((?:kafka|gralha)_\w+)`", (ROOT / "docs" / "METRICS.md").read_text()))
    listed |= {f"gralha_pipeline_{metric.name}" for metric in (*metrics.GAUGES, *metrics.COUNTERS)}
    listed |= {f"gralha_pipeline_{name}" for name, _ in (metrics.UP, metrics.LAG, metrics.RESTARTS)}
    marked = [block for block in blocks(ROOT / "docs" / page) if "metrics" in block.marks]
    assert marked
    for block in marked:
        named = set(re.findall(r"(?:kafka|gralha)_\w+", block.text))
        assert named
        assert named <= listed


def test_the_readme_names_the_versions_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    readme = (ROOT / "README.md").read_text()
    oldest = project["requires-python"].removeprefix(">=")
    assert f"| Python | {oldest} or later" in readme
    (spark,) = [one for one in project["optional-dependencies"]["spark"] if one.startswith("pyspark")]
    assert spark == "pyspark[sql]>=4.1,<4.4"
    assert 'format("gralha")` | 4.1 to 4.3,' in readme
    assert f"| Java, for Spark | {OLDEST_VERSION} or later |" in readme


def test_goals_of_make_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for page in PAGES:
        for goal in re.findall(r"(?:`|^|\$ )make ([a-z-]+)", page.read_text(), flags=re.MULTILINE):
            assert f"\n{goal}:" in makefile, f"{page.name}: there is no goal {goal}"


LINKS = [
    (page, link)
    for page in [*PAGES, ROOT / "CHANGELOG.md"]
    for link in re.findall(r"\]\(([^)]+)\)", page.read_text())
]


@pytest.mark.parametrize(("page", "link"), LINKS, ids=[f"{page.name}:{link}" for page, link in LINKS])
def test_links_lead_somewhere(page: Path, link: str) -> None:
    """A link leads to a file of this repository, and to a heading that it has."""
    if link.startswith("https://"):
        return
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    assert target.exists(), f"{page.name} links to {link}"
    assert target.is_relative_to(ROOT)
    assert not anchor or anchor in anchors(target), f"{link}: {target.name} has no such heading"


def anchors(page: Path) -> set[str]:
    """The names by which links reach the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def test_every_page_is_found_from_the_readme() -> None:
    linked = {link.partition("#")[0] for page, link in LINKS if page.name == "README.md"}
    assert {f"docs/{page.name}" for page in PAGES if page.parent == ROOT / "docs"} <= linked
