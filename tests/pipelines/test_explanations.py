"""Our sentences instead of Spark's. The texts are from Spark 4.3."""

from __future__ import annotations

import pytest

from gralha.pipelines.explanations import columns_in, did_you_mean, explained, no_column

SUGGESTED = "UNRESOLVED_COLUMN.WITH_SUGGESTION"
SPARK_SAYS = "A column, variable, or function parameter with name `amuont` cannot be resolved."


@pytest.mark.parametrize(
    ("name", "proposal", "sentence"),
    [
        (
            "`amuont`",
            "`amount`, `_key`, `product`",
            "There is no column amuont. Did you mean amount? The columns are amount, product.",
        ),
        ("`x`", "`amount`", "There is no column x. The columns are amount."),
        ("`KEY`", "`_key`", "There is no column KEY. Did you mean _key? The columns are _key."),
        (
            "`a`.`amuont`",
            "`a`.`amount`",
            "There is no column a.amuont. Did you mean a.amount? The columns are a.amount.",
        ),
        ("`the ``x```", "`a, b`", "There is no column the `x`. The columns are a, b."),
    ],
)
def test_a_column_that_does_not_exist(name: str, proposal: str, sentence: str) -> None:
    assert explained(SUGGESTED, {"objectName": name, "proposal": proposal}, SPARK_SAYS) == sentence


def test_without_a_suggestion_the_name_is_enough() -> None:
    values = {"objectName": "`x`"}
    assert explained("UNRESOLVED_COLUMN.WITHOUT_SUGGESTION", values, SPARK_SAYS) == "There is no column x."
    assert no_column("x", []) == "There is no column x."


def test_an_aggregate_without_a_watermark_gets_both_ways_out() -> None:
    message = (
        "Invalid streaming output mode: append. This output mode is not supported for streaming aggregations "
        "without watermark on streaming DataFrames/DataSets."
    )
    sentence = explained("STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION", {}, message)
    assert sentence is not None
    assert 'watermark=("at", "10 seconds")' in sentence
    assert 'output_mode="update"' in sentence


def test_other_errors_keep_sparks_words() -> None:
    assert explained("PARSE_SYNTAX_ERROR", {"error": "'x'"}, "Syntax error at or near 'x'.") is None
    assert explained(None, None, "") is None


def test_names_with_commas_and_back_quotes() -> None:
    assert columns_in("`a, b`, `c``d`, `e`.`f`") == ["a, b", "c`d", "e.f"]
    assert columns_in("") == []


def test_only_a_similar_name_is_meant() -> None:
    assert did_you_mean("totls", ["totals", "anomalies"]) == " Did you mean totals?"
    assert did_you_mean("x", ["totals"]) == ""
    assert did_you_mean("replay", ["plan", "replay-dead-letters"]) == " Did you mean replay-dead-letters?"
    assert did_you_mean("x", []) == ""
