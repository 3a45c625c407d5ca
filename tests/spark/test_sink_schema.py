"""The columns that the sink writes, and the errors about others."""

import pytest
from pyspark.sql.types import StructType

from gralha.spark.sink_schema import SinkSchemaError, columns_to_write


def schema(text: str) -> StructType:
    """Without a running Spark, which `StructType.fromDDL` needs."""
    types = {"array<struct<key:string,value:binary>>": HEADERS}
    result = StructType()
    for column in filter(None, text.split("; ")):
        name, _, type_ = column.partition(" ")
        result = result.add(name, types.get(type_, type_))
    return result


HEADERS = StructType.fromJson(
    {
        "type": "struct",
        "fields": [
            {
                "name": "headers",
                "type": {
                    "type": "array",
                    "elementType": {
                        "type": "struct",
                        "fields": [
                            {"name": "key", "type": "string", "nullable": False, "metadata": {}},
                            {"name": "value", "type": "binary", "nullable": True, "metadata": {}},
                        ],
                    },
                    "containsNull": False,
                },
                "nullable": True,
                "metadata": {},
            }
        ],
    }
)["headers"].dataType


@pytest.mark.parametrize(
    ("columns", "topic", "taken"),
    [
        ("value string", "t", ["value"]),
        ("value binary", "t", ["value"]),
        ("extra double; key binary; value string; other date", "t", ["key", "value"]),
        ("topic string; value string", None, ["value", "topic"]),
        # The option overrides the column, no matter what it has.
        ("topic double; value string", "t", ["value"]),
        (
            "partition integer; headers array<struct<key:string,value:binary>>; value binary; key string",
            "t",
            ["key", "value", "headers", "partition"],
        ),
    ],
)
def test_columns_that_are_taken(columns: str, topic: str | None, taken: list[str]) -> None:
    assert columns_to_write(schema(columns), topic) == taken


@pytest.mark.parametrize(
    ("columns", "topic", "said"),
    [
        (
            "a string; b integer",
            "t",
            "The DataFrame has no column 'value', only a, b: select what the records should hold as 'value'",
        ),
        (
            "Value string",
            "t",
            "The DataFrame has no column 'value' ('Value' is written differently), only Value:",
        ),
        ("", "t", "The DataFrame has no column 'value', only none:"),
        (
            "value integer",
            "t",
            "Column 'value' is of type int and must be a string or binary: cast it, or convert it to JSON",
        ),
        (
            "value string; key long",
            "t",
            "Column 'key' is of type bigint and must be a string or binary: cast it to string.",
        ),
        (
            "value string; partition long",
            "t",
            "Column 'partition' is of type bigint and must be an int: cast it to int.",
        ),
        (
            "value string; headers string",
            "t",
            "Column 'headers' is of type string and must be an array<struct<key: string, value: binary>>",
        ),
        (
            "value string",
            None,
            "No topic to write to: set the option 'topic', or give the DataFrame a column 'topic'.",
        ),
        (
            "value string; topic binary",
            None,
            "Column 'topic' is of type binary and must be a string: cast it to string.",
        ),
        (
            "value string; value string",
            "t",
            "The DataFrame has more than one column 'value': rename or drop the others.",
        ),
    ],
)
def test_columns_that_cannot_be_taken(columns: str, topic: str | None, said: str) -> None:
    with pytest.raises(SinkSchemaError) as caught:
        columns_to_write(schema(columns), topic)
    assert str(caught.value).startswith(said)
