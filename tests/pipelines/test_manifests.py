"""The differences since the last run, in words, and whether a pipeline can continue from its checkpoint."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gralha.pipelines.declaration import to_table, to_topic
from gralha.pipelines.manifests import Change, InputManifest, Manifest, columns_of, compare, describe
from gralha.pipelines.stateful import StatefulOperator

SALES = InputManifest("sales", ("sales",), "struct<product:string,amount:double>", None, "earliest")
SUM = StatefulOperator("aggregate", ("window of 1 minute", "product STRING"), ("sum(amount) DOUBLE",))
STATELESS = Manifest(
    pipeline="totals",
    inputs=(SALES,),
    stateful=(),
    outputs=("topic totals",),
    output_mode="append",
    output_schema="struct<product:string>",
    shuffle_partitions=2,
    state_store="RocksDBStateStoreProvider",
    sources=(("sales",),),
    cluster_id="one",
    gralha="0.1.0",
    spark="4.3.0",
    checkpoint_id="1234abcd",
)
TABLE = replace(STATELESS, outputs=("table /data (parquet)",))
UNION = replace(
    STATELESS,
    inputs=(SALES, replace(SALES, name="orders", topics=("orders",))),
    sources=(("sales",), ("orders",)),
)
STATEFUL = replace(STATELESS, stateful=(SUM,), output_mode="update")


def with_input(**changes: Any) -> dict[str, Any]:
    return {
        "inputs": (replace(SALES, **changes),),
        "sources": (changes.get("topics", SALES.topics),),
    }


def test_nothing_changed() -> None:
    assert compare(STATEFUL, replace(STATEFUL, checkpoint_id="other")) == []


@pytest.mark.parametrize(
    ("old", "changes", "words", "can_resume"),
    [
        (STATELESS, {"inputs": (SALES, SALES)}, "had the inputs sales and now has sales, sales", False),
        (STATELESS, with_input(topics=("orders",)), "Input sales read sales and now reads orders.", False),
        (STATELESS, with_input(topics=("orders", "sales")), "the new ones are read from their start", True),
        (
            UNION,
            {"sources": (("orders",), ("sales",))},
            "The query read sales, then orders and now reads orders, then sales: the offsets",
            False,
        ),
        (
            STATELESS,
            {"sources": (("sales",), ("sales",))},
            "read sales and now reads sales, then sales",
            False,
        ),
        (UNION, {"sources": (("sales",),)}, "read sales, then orders and now reads sales:", False),
        (replace(STATELESS, sources=()), {"sources": (("sales",),)}, None, True),
        (STATELESS, with_input(name="deals"), "Input sales is called deals now.", True),
        (
            STATELESS,
            with_input(schema="struct<product:string,amount:int,at:timestamp>"),
            "The schema of input sales changed: at TIMESTAMP is new; amount was DOUBLE and is INT.",
            True,
        ),
        (STATEFUL, with_input(schema="struct<product:string>"), "amount is gone", True),
        (STATELESS, with_input(watermark=("at", "1 second")), "was none and is at, 1 second now.", True),
        (STATEFUL, with_input(watermark=("at", "1 second")), "was none and is at, 1 second now", False),
        (STATELESS, with_input(starting_offsets="latest"), "would start from latest, but", True),
        (STATEFUL, {"stateful": ()}, "it was aggregate by window of 1 minute", False),
        (STATELESS, {"stateful": (SUM,)}, "it was nothing, now it is aggregate by window", False),
        (
            STATEFUL,
            {"stateful": (replace(SUM, keys=("window of 5 minutes", "product STRING")),)},
            "now it would be aggregate by window of 5 minutes, product STRING: sum(amount) DOUBLE.",
            False,
        ),
        (STATEFUL, {"state_store": "HDFSBackedStateStoreProvider"}, "cannot read it", False),
        (STATELESS, {"state_store": "HDFSBackedStateStoreProvider"}, None, True),
        (STATELESS, {"outputs": ("topic sums",)}, "was topic totals and is topic sums now", True),
        (TABLE, {"outputs": ("table /data (orc)",)}, "table /data was parquet and would be orc now;", False),
        (
            TABLE,
            {"outputs": ("table /data (parquet, partitioned by day)",)},
            "table /data was parquet and would be parquet, partitioned by day now;",
            False,
        ),
        (TABLE, {"outputs": ("table /other (orc)",)}, "was table /data and is table /other now", True),
        (replace(TABLE, outputs=("table /data",)), {"outputs": ("table /data (orc)",)}, None, True),
        (STATELESS, {"cluster_id": "two"}, "with the cluster one, but this is two:", False),
        (STATELESS, {"cluster_id": ""}, None, True),
        (STATELESS, {"output_schema": "struct<p:string>"}, "product is gone; p STRING is new", True),
        (STATELESS, {"output_mode": "update"}, "output_mode was 'append' and is 'update' now.", True),
        (STATEFUL, {"output_mode": "append"}, "output_mode was 'update' and is 'append' now.", False),
        (STATELESS, {"spark": "4.2.1"}, "which is newer than this one, 4.2.1", False),
        (STATELESS, {"spark": "4.10.0"}, "Spark was 4.3.0 and is 4.10.0 now.", True),
        (STATELESS, {"spark": "4.3.1"}, "Spark was 4.3.0 and is 4.3.1 now.", True),
        (STATELESS, {"gralha": "0.2.0"}, "Gralha was 0.1.0 and is 0.2.0 now.", True),
        (STATEFUL, {"shuffle_partitions": 8}, "has 2 partitions and keeps them", True),
        (STATELESS, {"shuffle_partitions": 8}, None, True),
    ],
)
def test_changes(old: Manifest, changes: dict[str, Any], words: str | None, can_resume: bool) -> None:
    found = compare(old, replace(old, **changes))
    if words is None:
        assert found == []
        return
    assert len(found) == 1
    assert words in found[0].sentence
    assert found[0].can_resume is can_resume


def test_what_cannot_be_resumed_comes_first() -> None:
    new = replace(STATELESS, gralha="0.2.0", **with_input(name="deals", topics=("orders",)))
    assert [change.can_resume for change in compare(STATELESS, new)] == [False, True]


def test_a_renamed_input_is_the_same_input() -> None:
    renamed = replace(STATELESS, **with_input(name="deals"))
    assert compare(STATELESS, renamed) == [Change("Input sales is called deals now.", can_resume=True)]


names = st.text(st.characters(codec="utf-8", exclude_characters=":,<>()"), min_size=1, max_size=8)
operators = st.builds(StatefulOperator, names, st.tuples(names), st.tuples(names, names))
inputs = st.builds(
    InputManifest, names, st.tuples(names), names, st.none() | st.tuples(names, names), st.just("earliest")
)


@given(st.lists(inputs).map(tuple), st.lists(operators).map(tuple))
def test_a_manifest_comes_back_from_its_file(
    some_inputs: tuple[InputManifest, ...], some_operators: tuple[StatefulOperator, ...]
) -> None:
    made = replace(STATELESS, inputs=some_inputs, stateful=some_operators)
    assert Manifest.from_json(made.to_json()) == made


def test_a_manifest_of_an_older_gralha_is_read() -> None:
    values = json.loads(STATELESS.to_json())
    del values["sources"], values["cluster_id"]
    assert Manifest.from_json(json.dumps(values)) == replace(STATELESS, sources=(), cluster_id="")


def test_how_outputs_are_named() -> None:
    outputs = to_topic("sums"), to_table("/data/"), to_table("/data", format="orc", partition_by=["a", "b"])
    assert [describe(one) for one in outputs] == [
        "topic sums",
        "table /data (parquet)",
        "table /data (orc, partitioned by a, b)",
    ]


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", '{"version": 1}', '{"version": 2}', '{"version": 1, "x": 1}']
)
def test_a_file_that_is_no_manifest(text: str) -> None:
    with pytest.raises(ValueError):
        Manifest.from_json(text)


def test_columns_of_a_struct() -> None:
    struct = "struct<a:int,b:struct<c:string,d:map<string,int>>,e:decimal(10,2)>"
    assert columns_of(struct) == {
        "a": "INT",
        "b": "STRUCT<C:STRING,D:MAP<STRING,INT>>",
        "e": "DECIMAL(10,2)",
    }
    assert columns_of("struct<>") == {}


@pytest.mark.parametrize(("told", "kept"), [("two", "two"), ("", "one")])
def test_a_checkpoint_keeps_its_name_and_the_cluster_that_it_knows(told: str, kept: str) -> None:
    after = replace(STATELESS, checkpoint_id="new", cluster_id=told).after(STATELESS)
    assert after == replace(STATELESS, cluster_id=kept)
