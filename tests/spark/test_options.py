"""The options of the source: their meaning, and the errors of wrong values."""

from __future__ import annotations

import pytest
from pyspark.sql.datasource import CaseInsensitiveDict

from gralha.client.values import TopicPartition
from gralha.spark.bounds import AtOffsets, AtTimestamp, AtTimestamps, Earliest, Latest, check_all_partitions
from gralha.spark.option_values import OptionError
from gralha.spark.options import SourceOptions, source_options, warnings
from gralha.spark.subscription import Assignment, Pattern, Topics

BASE = {"kafka.bootstrap.servers": "localhost:9092"}


def parsed(streaming: bool = True, **options: str) -> SourceOptions:
    given = (
        {"subscribe": "sales"} if not any(name in options for name in ("subscribePattern", "assign")) else {}
    )
    return source_options(CaseInsensitiveDict(BASE | given | options), streaming=streaming)


def error(streaming: bool = True, **options: str) -> str:
    with pytest.raises(OptionError) as caught:
        parsed(streaming, **options)
    return str(caught.value)


def test_a_stream_begins_with_what_is_new_and_a_batch_with_the_first_record() -> None:
    assert (parsed().starting, parsed().ending) == (Latest(), Latest())
    assert (parsed(streaming=False).starting, parsed(streaming=False).ending) == (Earliest(), Latest())


def test_defaults_are_those_of_sparks_kafka_source() -> None:
    options = parsed()
    assert options.fail_on_data_loss
    assert not options.include_headers
    assert options.max_trigger_delay_ms == 15 * 60_000
    assert options.timestamp_strategy == "error"
    assert (options.fetch_offset_retries, options.fetch_offset_retry_interval_ms) == (3, 1000)
    nothing = (
        options.max_offsets_per_trigger,
        options.min_offsets_per_trigger,
        options.min_partitions,
        options.max_records_per_partition,
        options.group_id,
        options.target_batch_duration_ms,
    )
    assert nothing == (None,) * 6


def test_the_three_ways_to_say_what_to_read() -> None:
    assert parsed(subscribe=" sales, returns,").subscription == Topics(("returns", "sales"))
    assert parsed(subscribePattern="sales-.*").subscription == Pattern("sales-.*")
    assigned = parsed(assign='{"sales": [1, 0]}').subscription
    assert assigned == Assignment((TopicPartition("sales", 0), TopicPartition("sales", 1)))


def test_a_pattern_fits_whole_names() -> None:
    assert Pattern("sales|s").matching(["sales", "sales-2", "s", "x"]) == ["sales", "s"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"subscribe": " , "}, "write a topic"),
        ({"subscribePattern": "("}, "not a regular expression"),
        ({"subscribePattern": ""}, "is empty"),
        ({"assign": "sales"}, 'JSON such as {"sales": [0, 1]}'),
        ({"assign": '{"sales": 0}'}, 'JSON such as {"sales": [0, 1]}'),
        ({"assign": "{}"}, "names no partition"),
        ({"subscribe": "a", "assign": '{"a": [0]}'}, "Only one of"),
        ({"maxOffsetsPerTrigger": "0"}, "must be 1 or more"),
        ({"maxOffsetsPerTrigger": "many"}, "whole number"),
        ({"minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "3"}, "larger than"),
        ({"maxTriggerDelay": "soon"}, "duration such as"),
        ({"targetBatchDuration": "0"}, "longer than 0"),
        ({"minPartitions": "-1"}, "must be 1 or more"),
        ({"failOnDataLoss": "maybe"}, "true or false"),
        ({"includeHeaders": "1"}, "true or false"),
        ({"startingOffsets": "first"}, "earliest, latest or JSON"),
        ({"startingOffsets": '{"sales": {"0": -3}}'}, "-2 means earliest"),
        ({"startingOffsets": '{"sales": {"x": 3}}'}, "JSON such as"),
        ({"startingOffsets": '{"sales": {"0": true}}'}, "JSON such as"),
        ({"startingTimestamp": "yesterday"}, "milliseconds since 1970"),
        ({"startingOffsetsByTimestamp": '{"sales": {"0": -1}}'}, "JSON such as"),
        ({"startingOffsetsByTimestampStrategy": "now"}, "error or latest"),
        ({"endingOffsets": "latest"}, "a stream has no end"),
        ({"endingTimestamp": "1"}, "a stream has no end"),
        ({"groupId": " "}, "name a consumer group"),
        ({"kafka.auto.offset.reset": "earliest"}, "startingOffsets"),
        ({"kafka.enable.auto.commit": "true"}, "groupId"),
        ({"kafka.key.deserializer": "x"}, "binary"),
    ],
)
def test_a_wrong_option_of_a_stream_says_what_to_write(options: dict[str, str], words: str) -> None:
    message = error(True, **options)
    assert words in message
    assert message[0].isupper()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"startingOffsets": "latest"}, "cannot start at latest"),
        ({"startingOffsets": '{"sales": {"0": -1}}'}, "sales-0"),
        ({"endingOffsets": "earliest"}, "cannot end at earliest"),
        ({"endingOffsets": '{"sales": {"0": 3, "1": -2}}'}, "sales-1"),
    ],
)
def test_a_batch_that_would_be_empty_is_refused(options: dict[str, str], words: str) -> None:
    assert words in error(streaming=False, **options)


def test_without_a_topic_or_a_broker_the_message_says_which_option_to_set() -> None:
    with pytest.raises(OptionError, match="set the option subscribe"):
        source_options(CaseInsensitiveDict(BASE), streaming=True)
    with pytest.raises(OptionError, match=r"kafka\.bootstrap\.servers"):
        source_options(CaseInsensitiveDict({"subscribe": "sales"}), streaming=True)


def test_a_time_goes_before_times_of_partitions_and_those_before_offsets() -> None:
    offsets = {"startingOffsets": '{"sales": {"0": 5}}'}
    times = {"startingOffsetsByTimestamp": '{"sales": {"0": 99}}'}
    one = TopicPartition("sales", 0)
    assert parsed(True, **offsets).starting == AtOffsets("startingOffsets", {one: 5})
    assert parsed(True, **offsets, **times).starting == AtTimestamps("startingOffsetsByTimestamp", {one: 99})
    assert parsed(True, **offsets, **times, startingTimestamp="7").starting == AtTimestamp(
        "startingTimestamp", 7
    )


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [("1500", 1500), ("10s", 10_000), ("2 m", 120_000), ("1h", 3_600_000), ("5MS", 5)],
)
def test_durations_are_written_as_in_spark(text: str, expected_ms: int) -> None:
    assert parsed(maxTriggerDelay=text).max_trigger_delay_ms == expected_ms


def test_names_of_options_may_be_written_in_any_case() -> None:
    options = source_options(
        CaseInsensitiveDict({**BASE, "SUBSCRIBE": "sales", "STARTINGOFFSETS": "Earliest"}), streaming=True
    )
    assert options.starting == Earliest()


def test_settings_of_the_client_are_kept_as_they_were_written() -> None:
    options = parsed(True, **{"kafka.client.id": "${env:S2_TEST_CLIENT}"})
    assert options.kafka == {"bootstrap.servers": "localhost:9092", "client.id": "${env:S2_TEST_CLIENT}"}


def test_secrets_are_looked_up_when_a_connection_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    options = parsed(True, **{"kafka.client.id": "${env:S2_TEST_CLIENT}"})
    monkeypatch.setenv("S2_TEST_CLIENT", "known-here")
    assert options.client_settings().client_id == "known-here"
    assert "known-here" not in repr(options)


def test_a_misspelt_option_is_warned_of_with_the_right_name() -> None:
    options = CaseInsensitiveDict({**BASE, "subscribe": "sales", "maxOffsetPerTrigger": "5", "colour": "red"})
    told = list(warnings(options, streaming=True))
    assert told == [
        "Option 'maxoffsetpertrigger' is not known and has no effect: did you mean 'maxOffsetsPerTrigger'?",
        "Option 'colour' is not known and has no effect.",
    ]


def test_an_option_for_streams_is_warned_of_in_a_batch() -> None:
    options = CaseInsensitiveDict({**BASE, "subscribe": "sales", "maxOffsetsPerTrigger": "5"})
    assert list(warnings(options, streaming=True)) == []
    assert "no effect in a batch query" in next(iter(warnings(options, streaming=False)))


def test_offsets_are_given_for_all_partitions_or_none() -> None:
    given = {TopicPartition("sales", 0): 5, TopicPartition("sales", 7): 5}
    existing = {TopicPartition("sales", 0), TopicPartition("sales", 1)}
    with pytest.raises(OptionError, match="it lacks sales-1; sales-7 is not among them"):
        check_all_partitions("startingOffsets", given, existing)
