"""What the smaller commands print and parse, without a broker."""

import json
import re
from pathlib import Path

import pytest

from gralha.cli.broker_api_versions import api_text, describe
from gralha.cli.delete_records import parse_offsets
from gralha.cli.log_dirs import choose_brokers, parse_broker_list, to_json
from gralha.cli.main import KAFKA_COMMANDS, PROGRAMS, main
from gralha.cli.perf_consuming import payload_bytes
from gralha.cli.producer_perf_test import (
    parse_options,
    producer_properties,
    read_payload_file,
    transactions_of,
)
from gralha.cli.program import CommandError
from gralha.client.record_columns import RecordColumns
from gralha.client.settings import ClientSettings
from gralha.client.values import LogDir, ReplicaSize, TopicPartition
from gralha.protocol.batches import HEADER_SIZE, read_header
from gralha.protocol.records import Record, encode_batch


@pytest.mark.parametrize(
    ("key", "versions", "text"),
    [
        (0, (0, 13), "Produce(0): 0 to 13 [usable: 13]"),
        (3, (0, 99), "Metadata(3): 0 to 99 [usable: 13]"),
        (23, (0, 3), "OffsetForLeaderEpoch(23): 0 to 3 [usable: 3]"),
        (75, (0, 0), "DescribeTopicPartitions(75): 0 [usable: 0]"),
        (11, None, "JoinGroup(11): UNSUPPORTED"),
        (1, (0, 3), "Fetch(1): 0 to 3 [unusable: node too old]"),
        (1, (30, 31), "Fetch(1): 30 to 31 [unusable: node too new]"),
        (999, (0, 1), "UNKNOWN(999): 0 to 1"),
    ],
)
def test_one_api(key: int, versions: tuple[int, int] | None, text: str) -> None:
    assert api_text(key, versions) == text


def test_all_apis_in_the_order_of_their_keys() -> None:
    text = describe({18: (0, 4), 0: (3, 13)})
    assert text.startswith("(\n\tProduce(0): 3 to 13 [usable: 13],\n\tFetch(1): UNSUPPORTED,\n")
    assert "\n\tApiVersions(18): 0 to 4 [usable: 4],\n" in text
    assert text.endswith("UNSUPPORTED\n)")


def test_offsets_of_records_to_delete() -> None:
    first = '{"topic": "t", "partition": 1, "offset": 5}'
    second = '{"topic": "t", "partition": 0, "offset": -1}'
    text = f'{{"partitions": [{first}, {second}], "version": 1}}'
    assert parse_offsets(text) == {TopicPartition("t", 1): 5, TopicPartition("t", 0): -1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "The input string is not a valid JSON"),
        ("[]", "Missing partitions field"),
        ('{"version": 2, "partitions": []}', "Not supported version field value 2"),
        ('{"partitions": [{"topic": "t", "partition": "0", "offset": 1}]}', 'Wrong entry in "partitions"'),
        ('{"partitions": [{"topic": "t", "partition": 0}]}', 'Wrong entry in "partitions"'),
        (
            '{"partitions": [' + ",".join(['{"topic": "t", "partition": 0, "offset": 1}'] * 2) + "]}",
            "Offset json file contains duplicate topic partitions: t-0",
        ),
    ],
)
def test_a_wrong_offsets_file(text: str, message: str) -> None:
    with pytest.raises(CommandError, match=re.escape(message)):
        parse_offsets(text)


def test_the_json_of_log_folders() -> None:
    replicas = [
        ReplicaSize(TopicPartition("b", 0), 7, 0, False),
        ReplicaSize(TopicPartition("a", 10), 5, 1, True),
        ReplicaSize(TopicPartition("a", 2), 5, 0, False),
    ]
    folders = {1: [LogDir("/data", 0, replicas, 100, 50), LogDir("/broken", 56, [], -1, -1)]}
    assert to_json(folders, {"a"}) == (
        '{"brokers":[{"broker":1,"logDirs":[{"partitions":['
        '{"partition":"a-2","size":5,"offsetLag":0,"isFuture":false},'
        '{"partition":"a-10","size":5,"offsetLag":1,"isFuture":true}'
        '],"error":null,"logDir":"/data"},'
        '{"partitions":[],"error":"org.apache.kafka.common.errors.KafkaStorageException","logDir":"/broken"}'
        ']}],"version":1}'
    )
    assert len(json.loads(to_json(folders, set()))["brokers"][0]["logDirs"][0]["partitions"]) == 3


def test_brokers_to_ask_must_exist() -> None:
    assert choose_brokers(parse_broker_list(None), [1, 2]) == [1, 2]
    assert choose_brokers(parse_broker_list("2,"), [1, 2]) == [2]
    with pytest.raises(
        CommandError, match=r"do not exist from --broker-list: 7,8\. Current existent brokers: 1,2"
    ):
        choose_brokers(parse_broker_list("8,7,1"), [1, 2])
    with pytest.raises(CommandError, match="expects broker ids"):
        parse_broker_list("one")


PERF = ["--topic", "t", "--num-records", "10", "--throughput", "-1", "--record-size", "5"]


def test_the_performance_tests_producer_is_configured_like_javas() -> None:
    options = parse_options([*PERF, "--producer-props", "bootstrap.servers=b:1", "acks=1"])
    properties = producer_properties(options)
    assert properties["bootstrap.servers"] == "b:1"
    assert properties["acks"] == "1"
    assert "transactional.id" not in properties
    both = parse_options([*PERF, "--bootstrap-server", "c:2", "--command-property", "bootstrap.servers=b:1"])
    assert producer_properties(both)["bootstrap.servers"] == "c:2"


@pytest.mark.parametrize(
    ("arguments", "transactions"),
    [
        ([], None),
        (["--transactional-id", "mine"], ("mine", 60_000, 3_000)),
        (["--command-property", "transactional.id=mine"], ("mine", 60_000, 3_000)),
        (
            ["--transactional-id", "mine", "--command-property", "transactional.id=x", "acks=-1"],
            ("mine", 60_000, 3_000),
        ),
        (
            [
                *("--transaction-duration-ms", "100", "--command-property"),
                *("transactional.id=mine", "transaction.timeout.ms=5000"),
            ],
            ("mine", 5_000, 100),
        ),
    ],
)
def test_the_transactions_of_the_performance_test(
    arguments: list[str], transactions: tuple[str, int, int] | None
) -> None:
    options = parse_options([*PERF, "--bootstrap-server", "b:1", *arguments])
    properties = producer_properties(options)
    assert transactions_of(options, properties, ClientSettings.from_kafka(properties)) == transactions


def test_a_transactional_id_of_the_performance_test_is_chosen_at_random() -> None:
    options = parse_options([*PERF, "--bootstrap-server", "b:1", "--transaction-duration-ms", "9"])
    ids = [producer_properties(options)["transactional.id"] for _ in range(2)]
    assert ids[0] != ids[1]
    assert all(re.fullmatch(r"performance-producer-[0-9a-f-]{36}", one) for one in ids)


@pytest.mark.parametrize(
    ("property_text", "complaint"),
    [
        ("acks=1", "Transactions need acks=all and enable.idempotence=true"),
        ("enable.idempotence=false", "Transactions need acks=all and enable.idempotence=true"),
        ("transaction.timeout.ms=long", "transaction.timeout.ms=long is not allowed"),
    ],
)
def test_transactions_that_are_impossible(property_text: str, complaint: str) -> None:
    words = [*PERF, "--bootstrap-server", "b:1", "--transactional-id", "t"]
    options = parse_options([*words, "--command-property", property_text])
    properties = producer_properties(options)
    with pytest.raises(CommandError, match=complaint):
        transactions_of(options, properties, ClientSettings.from_kafka(properties))


def test_the_brokers_of_the_properties_count_before_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRALHA_BOOTSTRAP_SERVERS", "default:1")
    assert producer_properties(parse_options(PERF))["bootstrap.servers"] == "default:1"
    named = parse_options([*PERF, "--producer-props", "bootstrap.servers=b:1"])
    assert producer_properties(named)["bootstrap.servers"] == "b:1"


def test_the_bytes_of_keys_and_values() -> None:
    columns = RecordColumns()
    data = encode_batch([Record(key=b"abc", value=b"12345"), Record(key=None, value=b"9")])
    columns.add_records(data, HEADER_SIZE, len(data), read_header(data, 0), 0, 2, -HEADER_SIZE)
    assert payload_bytes(columns.bounds.getvalue()) == 9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (PERF[:-2], "Exactly one of the following arguments is required: [record-size]"),
        ([*PERF, "--payload-monotonic"], "Exactly one of the following arguments is required: [record-size]"),
        ([*PERF, "--warmup-records", "10"], "--warmup-records must be strictly fewer"),
        (PERF[2:], 'Missing required argument "[topic]"'),
        (["--topic", "t", "--num-records", "0"], "0 is not greater than zero"),
    ],
)
def test_wrong_calls_of_the_producer_test(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=re.escape(message)):
        parse_options(arguments)


def test_a_producer_test_without_a_cluster() -> None:
    with pytest.raises(CommandError, match="must be specified with the brokers' addresses"):
        producer_properties(parse_options(PERF))


def test_payloads_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "payloads"
    file.write_text("one\ntwo\nthree\n")
    assert read_payload_file(str(file), None) == [b"one", b"two", b"three"]
    assert capsys.readouterr().out == f"Reading payloads from: {file}\nNumber of records read: 3\n"
    file.write_text("a;b")
    assert read_payload_file(str(file), ";") == [b"a", b"b"]
    file.write_text("")
    with pytest.raises(CommandError, match="File does not exist or empty file provided"):
        read_payload_file(str(file), None)


def test_gralha_names_all_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"  {name} " in text for name in [*PROGRAMS, *KAFKA_COMMANDS])
    assert main(["--version"]) == 0
    assert re.fullmatch(r"gralha \d+\.\d+\.\d+\n", capsys.readouterr().out)


def test_gralha_refuses_what_it_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fly"]) == 1
    assert capsys.readouterr().err == "gralha has no command 'fly' (see gralha --help)\n"


def test_kafkas_commands_are_gralhas_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kafka-topics", "--lst"]) == main(["topics", "--lst"]) == 1
    assert capsys.readouterr().err == (
        "--lst is not a recognized option. Did you mean --list? (see gralha topics --help)\n" * 2
    )
