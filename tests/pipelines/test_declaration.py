"""Declaring pipelines: the result of a decorated function, and the errors."""

from __future__ import annotations

from typing import Any

import pytest

from gralha.pipelines import DeclarationError, from_topic, pipeline, to_table, to_topic
from gralha.pipelines.declaration import TableOutput, TopicInput, TopicOutput

SALES = from_topic("sales")
COPY = to_topic("copy")


def declared(**arguments: Any) -> Any:
    """A pipeline with one input, changed as the arguments say."""
    decorate = pipeline(**{"inputs": {"sales": SALES}, "output": COPY, **arguments})

    def copy(sales: Any) -> Any:
        return sales

    return decorate(copy)


def test_a_pipeline_is_named_like_its_function() -> None:
    made = declared()
    assert made.name == "copy"
    assert made.dead_letters == "copy.dead-letters"
    assert made.inputs == {"sales": TopicInput(("sales",))}
    assert made.outputs == (TopicOutput("copy"),)
    assert made.output_mode == "append"
    assert made.file == __file__


def test_a_pipeline_can_be_called_like_its_function() -> None:
    assert declared()("rows") == "rows"
    assert declared()(sales="rows") == "rows"


def test_names_can_be_given() -> None:
    made = declared(name="other", dead_letters="rubbish")
    assert (made.name, made.dead_letters) == ("other", "rubbish")
    assert declared(dead_letters=None).dead_letters is None


def test_inputs_and_outputs() -> None:
    one = from_topic("a", "b", schema="x INT", watermark=("x", "5 minutes"), options={"minPartitions": "4"})
    assert one == TopicInput(("a", "b"), "x INT", ("x", "5 minutes"), "earliest", {"minPartitions": "4"})
    assert to_topic("t", key=["a", "b"]).key == ("a", "b")
    assert to_table("/data/x", format="orc", partition_by="day") == TableOutput("/data/x", "orc", ("day",))
    assert declared(output=[COPY, to_table("/data/x")]).outputs == (COPY, to_table("/data/x"))
    assert declared(inputs={"sales": from_topic("b", "a", "b")}).topics == ["b", "a"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"name": "a b"}, "the name may have letters"),
        ({"inputs": {}}, "it needs an input"),
        ({"inputs": SALES}, 'it needs an input, for example inputs={"sales": from_topic("sales")}'),
        ({"inputs": {"sales": "sales"}}, "must be made by from_topic"),
        ({"inputs": {"orders": SALES}}, "the function takes (sales), the inputs are (orders)"),
        ({"output": []}, "it needs an output"),
        ({"output": ["copy"]}, "must be made by to_topic(...) or to_table(...)"),
        ({"output": "copy"}, "must be made by to_topic(...) or to_table(...)"),
        ({"output": None}, "must be made by to_topic(...) or to_table(...)"),
        ({"output": to_topic("sales")}, "it would read its own output, topic sales"),
        ({"output_mode": "apend"}, "output_mode is 'apend'; it can be"),
        ({"output": to_table("/x"), "output_mode": "update"}, "cannot be written to /x"),
        ({"trigger": "often"}, "trigger is 'often'; it can be an interval"),
        ({"trigger": 5}, "trigger is 5; it can be an interval such as '5 seconds'"),
        ({"dead_letters": "a/b"}, "not a valid topic name"),
        ({"dead_letters": "sales"}, "it would read its own dead letters"),
    ],
)
def test_a_declaration_that_makes_no_sense_says_where_and_why(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(DeclarationError) as error:
        declared(**arguments)
    assert words in str(error.value)
    assert str(error.value).startswith(f"{__file__}:")


@pytest.mark.parametrize("topic", ["", "a b", ".", "x" * 250, 7])
def test_names_that_no_topic_has(topic: Any) -> None:
    with pytest.raises(DeclarationError, match="is not a valid topic name"):
        from_topic(topic)
    with pytest.raises(DeclarationError, match="is not a valid topic name"):
        to_topic(topic)


def test_an_input_needs_a_topic() -> None:
    with pytest.raises(DeclarationError, match="needs the name of a topic"):
        from_topic()


@pytest.mark.parametrize("schema", [{"product": "STRING"}, ["product STRING"], 5])
def test_schemas_that_are_none(schema: Any) -> None:
    with pytest.raises(DeclarationError, match=r"schema is a (dict|list|int); it is text such as"):
        from_topic("sales", schema=schema)


def test_settings_may_be_numbers_and_booleans() -> None:
    options: Any = {"maxOffsetsPerTrigger": 5, "failOnDataLoss": False, "groupId": "mine"}
    texts = {"maxOffsetsPerTrigger": "5", "failOnDataLoss": "false", "groupId": "mine"}
    assert from_topic("sales", options=options).options == texts
    assert to_topic("copy", options=options).options == to_table("/x", options=options).options == texts
    assert declared(conf=options).conf == texts


@pytest.mark.parametrize("watermark", [("at", "soon"), ("at",), ("at", "10")])
def test_watermarks_that_say_nothing(watermark: Any) -> None:
    with pytest.raises(DeclarationError, match="how late a record may come"):
        from_topic("sales", watermark=watermark)


@pytest.mark.parametrize("trigger", [None, "available-now", "1 second", "500 milliseconds", " 2 Minutes "])
def test_triggers(trigger: str | None) -> None:
    assert declared(trigger=trigger).trigger == trigger
