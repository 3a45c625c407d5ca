"""The console producer and the console consumer as processes, as a shell would start them."""

import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SCRIPTS = Path(sys.executable).parent


def command(name: str, bootstrap: str, *arguments: str) -> list[str]:
    return [str(SCRIPTS / name), "--bootstrap-server", bootstrap, *arguments]


@pytest.fixture
def topic(bootstrap: str, new_name: Callable[[str], str]) -> str:
    name = new_name("console")
    create = command("kafka-topics", bootstrap, "--create", "--topic", name, "--partitions", "4")
    subprocess.run(create, check=True, capture_output=True, timeout=30)
    return name


@pytest.fixture
def produce(bootstrap: str, topic: str) -> Callable[..., subprocess.CompletedProcess[str]]:
    def produce(text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        line = command("kafka-console-producer", bootstrap, "--topic", topic, *arguments)
        return subprocess.run(line, input=text, capture_output=True, text=True, timeout=30)

    return produce


@pytest.fixture
def consume(bootstrap: str, topic: str) -> Callable[..., subprocess.CompletedProcess[str]]:
    def consume(*arguments: str) -> subprocess.CompletedProcess[str]:
        line = command("kafka-console-consumer", bootstrap, "--topic", topic, *arguments)
        return subprocess.run(line, capture_output=True, text=True, timeout=30)

    return consume


Command = Callable[..., subprocess.CompletedProcess[str]]


def test_lines_go_in_and_come_out(produce: Command, consume: Command) -> None:
    produced = produce("one\ntwo\r\nthree", "--sync")
    assert (produced.returncode, produced.stdout, produced.stderr) == (0, "", "")
    consumed = consume("--from-beginning", "--max-messages", "3")
    assert sorted(consumed.stdout.splitlines()) == ["one", "three", "two"]
    assert (consumed.returncode, consumed.stderr) == (0, "Processed a total of 3 messages\n")


# Kafka's Java client puts these keys in these partitions, of four.
PARTITIONS = {"k1": 1, "k2": 1, "k3": 0, "kx": 0, "ky": 1}


def test_keys_headers_and_nulls_make_the_round_trip(produce: Command, consume: Command) -> None:
    lines = "".join(f"h:{key},empty:NULL|{key}=value\n" for key in PARTITIONS)
    properties = {
        "parse.key": "true",
        "parse.headers": "true",
        "headers.delimiter": "|",
        "key.separator": "=",
        "null.marker": "NULL",
    }
    options = [part for item in properties.items() for part in ("--reader-property", "=".join(item))]
    assert produce(lines + "NULL|k1=NULL\n", *options, "--compression-codec", "lz4").stderr == ""
    shown = consume(
        *["--from-beginning", "--max-messages", "6", "--property", "print.key=true"],
        *["--property", "print.partition=true", "--property", "print.headers=true"],
    )
    expected = [
        f"Partition:{partition}\th:{key},empty:null\t{key}\tvalue" for key, partition in PARTITIONS.items()
    ]
    assert sorted(shown.stdout.splitlines()) == sorted([*expected, "Partition:1\tNO_HEADERS\tk1\tnull"])


def test_one_partition_from_an_offset_on(produce: Command, consume: Command) -> None:
    produce("".join(f"k1\t{number}\n" for number in range(5)), "--property", "parse.key=true")
    from_two = consume(
        "--partition", "1", "--offset", "2", "--max-messages", "2", "--property", "print.offset=true"
    )
    assert from_two.stdout == "Offset:2\t2\nOffset:3\t3\n"
    earliest = consume("--partition", "1", "--offset", "earliest", "--max-messages", "5")
    assert earliest.stdout == "0\n1\n2\n3\n4\n"
    latest = consume("--partition", "1", "--timeout-ms", "300")
    assert (latest.stdout, latest.stderr) == ("", "Processed a total of 0 messages\n")
    missing = consume("--partition", "9")
    assert missing.returncode == 1
    assert missing.stderr.splitlines()[-1].endswith("has no partition 9: it has 4, numbered from 0")


def test_topics_by_a_pattern(bootstrap: str, topic: str, produce: Command) -> None:
    produce("found\n")
    line = command(
        "kafka-console-consumer", bootstrap, "--include", f"{topic[:-1]}[{topic[-1]}]", "--from-beginning"
    )
    found = subprocess.run([*line, "--max-messages", "1"], capture_output=True, text=True, timeout=30)
    assert found.stdout == "found\n"


def test_partitions_that_appear_later_are_read_too(bootstrap: str, topic: str, produce: Command) -> None:
    line = command("kafka-console-consumer", bootstrap, "--topic", topic, "--from-beginning")
    look_often = ["--command-property", "metadata.max.age.ms=100"]
    with subprocess.Popen(
        [*line, *look_often, "--max-messages", "2"], stdout=subprocess.PIPE, text=True
    ) as consumer:
        assert consumer.stdout is not None
        produce("k1\tbefore\n", "--property", "parse.key=true")
        assert consumer.stdout.readline() == "before\n"
        alter = command("kafka-topics", bootstrap, "--alter", "--topic", topic, "--partitions", "40")
        subprocess.run(alter, check=True, timeout=30)
        # With forty partitions this key is in another partition than with four.
        produce("k1\tafter\n", "--property", "parse.key=true")
        assert consumer.stdout.readline() == "after\n"
        assert consumer.wait(10) == 0


def test_a_line_that_cannot_be_parsed_stops_the_producer_after_what_came_before(
    produce: Command, consume: Command
) -> None:
    produced = produce("k\tsent\nno key\nk\tnever\n", "--property", "parse.key=true")
    assert (produced.returncode, produced.stderr) == (
        1,
        "No key separator found on line number 2: 'no key'\n",
    )
    assert consume("--from-beginning", "--max-messages", "1").stdout == "sent\n"


def test_a_record_that_is_refused_is_reported_with_its_reason(produce: Command) -> None:
    produced = produce("x" * 2_000_000 + "\n", "--producer-property", "message.max.bytes=5000000")
    assert produced.returncode == 1
    assert produced.stderr.startswith("Error when sending message to topic ")
    assert "with key: null, value: 2000000 bytes with error: " in produced.stderr
    assert produced.stderr.count("\n") == 1


def test_a_record_that_is_too_large_to_send_is_reported_and_the_others_are_sent(
    produce: Command, consume: Command
) -> None:
    produced = produce("before\n" + "x" * 2_000_000 + "\nafter\n")
    assert produced.returncode == 1
    assert produced.stderr.startswith("Error when sending message to topic ")
    assert "with key: null, value: 2000000 bytes with error: " in produced.stderr
    assert produced.stderr.count("\n") == 1
    consumed = consume("--from-beginning", "--max-messages", "2")
    assert sorted(consumed.stdout.splitlines()) == ["after", "before"]


def test_a_topic_that_does_not_exist_is_created_and_read(
    bootstrap: str, new_name: Callable[[str], str]
) -> None:
    name = new_name("console-created")
    line = command("kafka-console-consumer", bootstrap, "--topic", name, "--timeout-ms", "300")
    consumed = subprocess.run(line, capture_output=True, text=True, timeout=30)
    warning, total = consumed.stderr.splitlines()
    assert warning.startswith(
        "WARN The metadata response from the cluster reported a recoverable issue: "
        f"{{{name}=UNKNOWN_TOPIC_OR_PARTITION}}. Topic '{name}' did not exist, and the broker has created it."
    )
    assert (consumed.returncode, total) == (0, "Processed a total of 0 messages")
    describe = command("kafka-topics", bootstrap, "--describe", "--topic", name)
    assert subprocess.run(describe, capture_output=True, timeout=30).returncode == 0


def test_a_misspelt_topic_gets_a_warning_with_the_right_name(
    bootstrap: str, new_name: Callable[[str], str]
) -> None:
    name = new_name("orders-of-books")
    create = command("kafka-topics", bootstrap, "--create", "--topic", name)
    subprocess.run(create, check=True, capture_output=True, timeout=30)
    for wrong, arguments in (
        (name.replace("books", "boks"), ["kafka-console-producer"]),
        (name.replace("orders", "ordres"), ["kafka-console-consumer", "--timeout-ms", "100"]),
    ):
        line = command(arguments[0], bootstrap, "--topic", wrong, *arguments[1:])
        done = subprocess.run(line, input="a line\n", capture_output=True, text=True, timeout=30)
        assert done.returncode == 0
        warning = done.stderr.splitlines()[0]
        assert warning.endswith(f"and the broker has created it. Did you mean '{name}'?")
    quiet = command("kafka-console-producer", bootstrap, "--topic", name)
    done = subprocess.run(quiet, input="a line\n", capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_misspelt_topic_of_an_admin_command_is_answered_with_the_right_name(
    bootstrap: str, new_name: Callable[[str], str]
) -> None:
    name = new_name("orders-of-games")
    create = command("kafka-topics", bootstrap, "--create", "--topic", name)
    subprocess.run(create, check=True, capture_output=True, timeout=30)
    wrong = name.replace("games", "gmaes")
    line = command("kafka-topics", bootstrap, "--delete", "--topic", wrong)
    done = subprocess.run(line, capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert done.stderr == (
        f"Error while executing topic command : Topic '{wrong}' does not exist as expected. "
        f"Did you mean '{name}'?\n"
    )


# A broker without auto creation gives this consumer the same answers as a refused creation.
CREATE_NOTHING = ["--command-property", "allow.auto.create.topics=false"]


def without_guess(text: str) -> str:
    """Other tests' topics may have similar names."""
    return re.sub(r" Did you mean '[^']*'\?", "", text)


def missing(topic: str) -> str:
    return (
        f"Topic '{topic}' does not exist, and the broker has not created it. "
        f"Create it: kafka-topics --bootstrap-server ... --create --topic {topic}\n"
    )


def test_the_wait_for_a_topic_that_never_appears_is_bounded(
    bootstrap: str, new_name: Callable[[str], str]
) -> None:
    name = new_name("console-never")
    line = command("kafka-console-consumer", bootstrap, "--topic", name, "--timeout-ms", "300")
    consumed = subprocess.run([*line, *CREATE_NOTHING], capture_output=True, text=True, timeout=4)
    assert consumed.returncode == 0
    assert without_guess(consumed.stderr) == missing(name) + "Processed a total of 0 messages\n"


def test_a_topic_that_appears_later_is_read(bootstrap: str, new_name: Callable[[str], str]) -> None:
    name = new_name("console-later")
    line = command("kafka-console-consumer", bootstrap, "--topic", name, "--from-beginning")
    with subprocess.Popen(
        [*line, *CREATE_NOTHING, "--max-messages", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as consumer:
        assert consumer.stderr is not None
        assert without_guess(consumer.stderr.readline()) == missing(name)
        producer = command("kafka-console-producer", bootstrap, "--topic", name)
        subprocess.run(producer, input="at last\n", text=True, check=True, timeout=30)
        output, errors = consumer.communicate(timeout=20)
    assert (output, errors) == ("at last\n", "Processed a total of 1 messages\n")


@pytest.mark.parametrize("name", ["kafka-console-consumer", "kafka-console-producer"])
def test_tls_on_a_port_without_it_is_one_line(bootstrap: str, name: str) -> None:
    line = command(name, bootstrap, "--topic", "t", "--command-property", "security.protocol=SSL")
    result = subprocess.run(line, capture_output=True, text=True, timeout=5, input="")
    assert result.returncode == 1
    assert result.stderr == (
        f"The server on {bootstrap} does not use TLS. Check the port and security.protocol.\n"
    )


def test_a_password_where_none_is_asked_for_is_one_line(bootstrap: str) -> None:
    line = command("kafka-console-producer", bootstrap, "--topic", "t")
    properties = ["security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN", "sasl.username=a"]
    for assignment in [*properties, "sasl.password=b"]:
        line += ["--command-property", assignment]
    result = subprocess.run(line, capture_output=True, text=True, timeout=5, input="")
    assert result.returncode == 1
    assert result.stderr.startswith("No connection to the cluster: ")
    assert result.stderr.count("\n") == 1


def test_a_terminal_gets_kafkas_prompt(bootstrap: str, topic: str, consume: Command) -> None:
    controller, terminal = pty.openpty()
    line = command("kafka-console-producer", bootstrap, "--topic", topic)
    with subprocess.Popen(line, stdin=terminal, stdout=terminal, stderr=terminal) as producer:
        os.close(terminal)
        assert _read_until(controller, b">") == b">"
        os.write(controller, b"typed\n")
        assert _read_until(controller, b"\n>") == b"typed\r\n>"
        os.write(controller, b"\x04")
        assert producer.wait(10) == 0
    os.close(controller)
    assert consume("--from-beginning", "--max-messages", "1").stdout == "typed\n"


def _read_until(descriptor: int, end: bytes) -> bytes:
    seen = b""
    while not seen.endswith(end):
        seen += os.read(descriptor, 100)
    return seen


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_consumer_says_what_it_has_read(
    bootstrap: str, topic: str, produce: Command, number: int, code: int
) -> None:
    produce("one\n")
    line = command("kafka-console-consumer", bootstrap, "--topic", topic, "--from-beginning")
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as consumer:
        assert consumer.stdout is not None
        assert consumer.stdout.readline() == "one\n"
        consumer.send_signal(number)
        _, errors = consumer.communicate(timeout=10)
    assert (consumer.returncode, errors) == (code, "Processed a total of 1 messages\n")


def test_a_reader_that_went_away_ends_the_consumer_without_a_word(
    bootstrap: str, topic: str, produce: Command
) -> None:
    produce("".join(f"{number:01000}\n" for number in range(1000)))
    line = command("kafka-console-consumer", bootstrap, "--topic", topic, "--from-beginning")
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as consumer:
        assert consumer.stdout is not None
        assert consumer.stderr is not None
        consumer.stdout.readline()
        consumer.stdout.close()
        assert consumer.stderr.read() == ""
        assert consumer.wait(10) == 141
