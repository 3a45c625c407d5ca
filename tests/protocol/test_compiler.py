"""The notation and what the compiler makes of it."""

import sys
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.protocol.message_strategies import Case, decoded, encoded, messages

from gralha.protocol.compiler.__main__ import generated_modules
from gralha.protocol.compiler.generate import module
from gralha.protocol.compiler.model import NEVER, Kind, Versions
from gralha.protocol.compiler.notation import NotationError, parse

EXAMPLE = """\
# Example: an api for tests.
#
# With a second paragraph.

api 7 Example

struct Place
  folder: string

request 2-9 flexible 6+
  name: string 2-4 ignorable  # a comment
  rack: string? 3+ = null
  key: bytes?5+
  limit: int32 = -1
  mask: int64 = 0x10
  enabled: bool = true
  label: string = "some label"
  parts: [Part]? 4+ = null
    index: int32 3+
    place: Place
  state: State 7+ tag 1
    epoch: int64

response 2-9 flexible 6+
  places: [Place]
"""


def test_a_definition_says_what_it_says() -> None:
    definition = parse("example", EXAMPLE)
    assert definition.about == ["Example: an api for tests.", "", "With a second paragraph."]
    assert (definition.api_key, definition.api_name) == (7, "Example")
    assert definition.listeners == ("broker",)
    assert list(definition.structs) == ["Place", "Part", "State", "ExampleRequest", "ExampleResponse"]
    request, response = definition.messages
    assert (request.kind, request.name, request.api_key) == (Kind.REQUEST, "ExampleRequest", 7)
    assert (response.kind, response.name) == (Kind.RESPONSE, "ExampleResponse")
    assert request.body.versions == Versions(2, 9)
    assert request.body.flexible == Versions(6, 9)

    fields = {field.name: field for field in request.body.fields}
    assert fields["name"].versions == Versions(2, 4)
    assert fields["name"].ignorable
    assert fields["name"].nullable == NEVER
    assert fields["rack"].versions == fields["rack"].nullable == Versions(3, 9)
    assert fields["key"].versions == Versions(2, 9)
    assert fields["key"].nullable == Versions(5, 9)
    defaults = {name: fields[name].default for name in fields}
    assert defaults == {
        "name": "",
        "rack": None,
        "key": b"",
        "limit": -1,
        "mask": 16,
        "enabled": True,
        "label": "some label",
        "parts": None,
        "state": None,
    }
    assert fields["parts"].is_array
    assert fields["state"].tag == 1
    # Parts exist from version 4 on, so that "3+" says nothing there.
    assert definition.structs["Part"].fields[0].versions == Versions(4, 9)
    assert definition.structs["State"].flexible == Versions(7, 9)


@pytest.mark.parametrize(
    ("line", "listeners"),
    [
        ("api 7 Example", ("broker",)),
        ("api 7 Example broker", ("broker",)),
        ("api 7 Example controller", ("controller",)),
        ("api 7 Example broker controller", ("broker", "controller")),
    ],
)
def test_an_api_says_which_listeners_serve_it(line: str, listeners: tuple[str, ...]) -> None:
    definition = parse("example", f"# Example.\n\n{line}\n")
    assert (definition.api_key, definition.api_name, definition.listeners) == (7, "Example", listeners)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("request 0 flexible 0+\n", "line 1: a request or response has the name of its api"),
        ("api 1 A\nrequest B 0 flexible 0+\n", "line 2: a request or response has the name of its api"),
        ("api A\n", "line 1: expected an api"),
        ("api 1 A controller broker\n", "line 1: expected an api"),
        ("data 0 flexible 0+\n", "line 1: needs a name"),
        ("record A 0 flexible 0+\n", "line 1: needs a number"),
        ("key A 0 flexible never\n", "line 1: needs a number"),
        ("value A 0 flexible 0+\n", "line 1: needs a number"),
        ("data A 0\n", "line 1: expected a message"),
        ("speech A 0 flexible 0+\n", "line 1: expected a message"),
        ("data A 3-2 flexible never\n", "line 1: not a range of versions"),
        ("data A 0 flexible 0+\n   x: int8\n", "line 2: the indentation"),
        ("data A 0 flexible 0+\n    x: int8\n", "line 2: the indentation"),
        ("data A 0 flexible 0+\n  x int8\n", "line 2: expected a field"),
        ("data A 0 flexible 0+\n  x: [int8\n", "line 2: expected a field"),
        ("data A 0 flexible 0+\n  x: int9\n", "line 2: no type int9"),
        ("data A 0 flexible 0+\n  x: int8 always\n", "line 2: cannot read"),
        ("data A 0 flexible 0+\n  x: int8 = null\n", "line 2: null is the default"),
        ("data A 0 flexible 0+\n  x: [int8] = 3\n", "line 2: only null is possible"),
        ("data A 0 flexible 0+\n  x: int8 2+\n", "line 2: the field is in no version"),
        ("data A 0-1 flexible 1+\n  x: int8 tag 0\n", "line 2: only flexible versions"),
        ("data A 0 flexible 0+\n  x: int8 ignorable\n", "line 2: every version has the field"),
        ("data A 0-1 flexible 0+\n  x: B? 1 tag 0\n    y: int8\n", "line 2: not in every version"),
        ("data A 0 flexible 0+\n  x: B\n", "line 2: no structure B"),
        ("data A 0 flexible 0+\n  x: int8\n    y: int8\n", "line 2: int8 has no fields"),
        ("data A 0 flexible 0+\n  x: int8\n  x: int8\n", "line 1: two fields"),
        ("data A 0 flexible 0+\n  x: int8 tag 1\n  y: int8 tag 1\n", "line 1: two fields"),
        (
            "data A 0 flexible 0+\n  x: B\n    y: int8\n  z: B\n    y: int16\n",
            "line 4: there is another structure B",
        ),
    ],
)
def test_nonsense_is_reported_with_its_line(text: str, complaint: str) -> None:
    with pytest.raises(NotationError, match=complaint):
        parse("nonsense", text)


def test_only_versions_that_differ_are_told_apart() -> None:
    text = module(parse("example", EXAMPLE))
    decode = text[text.index('-> "ExampleRequest"') :]
    assert "limit = reader.int32()\n" in decode
    assert "if version <= 4:\n            name = reader.string()\n" in decode
    assert "elif self.state is not None:\n            raise not_in_version" in decode
    assert "rack = reader.compact_nullable_string() if flexible else reader.nullable_string()" in decode


# Forms that no Kafka message here has needed so far must work, too.
KITCHEN_SINK = """\
# Everything that the notation can say.

struct Shared
  ratio: float64
  mask: uint32 2+

data Sink 1-6 flexible 4+
  early: bytes 1-2
  middle: string?3-4 2-5 = null ignorable
  maybe: [uuid]?3+ 2+
  part: Part 3+
    shared: Shared
    shareds: [Shared]? = null
  place: Place? 2+ = null
    names: [string]
    blobs: [bytes] 5+
  old_name: string? classic
  records: records?5+ 4+
  on: bool 2+ = true
  text: string? 4+ = "some text" tag 9
  numbers: [int16]? 4+ tag 2
  spot: Spot? 4+ = null tag 3
    id: int64
  flag: bool 5+ = true tag 4

data Tagged 1-2 flexible 1+
  corner: Corner? tag 0
    id: int64
    heights: [int16]? tag 1

data Plain 0-1 flexible never
  names: [string]? = null
  inner: Inner 1
    version: uint16
"""


def test_everything_the_notation_can_say_works(monkeypatch: pytest.MonkeyPatch) -> None:
    definition = parse("kitchen_sink", KITCHEN_SINK)
    generated = ModuleType("gralha.protocol.messages.kitchen_sink")
    exec(module(definition), generated.__dict__)
    monkeypatch.setitem(sys.modules, generated.__name__, generated)

    @settings(max_examples=10, deadline=None)
    @given(st.data())
    def round_trip(data: st.DataObject) -> None:
        message = data.draw(messages(case))
        assert decoded(case.cls, encoded(message, case.version), case.version) == message

    for message in definition.messages:
        for version in message.body.versions:
            case = Case(definition, message, version)
            round_trip()


def test_the_generated_modules_are_up_to_date() -> None:
    modules = generated_modules()
    stale = [
        path.name for path, text in modules.items() if not path.exists() or path.read_text("utf-8") != text
    ]
    folder = next(iter(modules)).parent
    left_over = [path.name for path in folder.glob("*.py") if path not in modules]
    assert not stale + left_over, "run `python -m gralha.protocol.compiler`"
