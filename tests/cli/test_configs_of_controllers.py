"""`kafka-configs --bootstrap-controller`: a broker, and a controller that is nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from gralha.cli import configs
from tests.apache.kafka import run_tool
from tests.cli.commands import Outcome, written
from tests.separate_roles import BROKER, CONTROLLER, SeparateRoles

LOGGER = "gralha.raft"


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeparateRoles]:
    with SeparateRoles(tmp_path_factory.mktemp("roles"), {"num.partitions": "7"}) as roles:
        yield roles


Configs = Callable[..., Outcome]


@pytest.fixture
def through_controller(addresses: SeparateRoles, capfd: pytest.CaptureFixture[str]) -> Configs:
    def run(*words: str) -> Outcome:
        code = configs.main(["--bootstrap-controller", addresses.controller, *words])
        return Outcome(code, *written(capfd))

    return run


def test_the_level_of_a_logger_of_a_controller_can_be_changed(
    through_controller: Configs, addresses: SeparateRoles, capfd: pytest.CaptureFixture[str]
) -> None:
    of_logger = ["--broker-logger", str(CONTROLLER)]
    assert f"  {LOGGER}=INFO " in through_controller("--describe", *of_logger).out
    changed = through_controller("--alter", *of_logger, "--add-config", f"{LOGGER}=DEBUG")
    assert changed == (0, f"Completed updating config for broker-logger {CONTROLLER}.\n", "")
    assert f"  {LOGGER}=DEBUG " in through_controller("--describe", *of_logger).out
    # Loggers are those of one process.
    code = configs.main(
        ["--bootstrap-server", addresses.broker, "--describe", "--broker-logger", str(BROKER)]
    )
    assert code == 0
    assert f"  {LOGGER}=INFO " in written(capfd).out
    assert through_controller("--alter", *of_logger, "--delete-config", LOGGER).code == 0
    assert f"  {LOGGER}=INFO " in through_controller("--describe", *of_logger).out
    wrong = through_controller("--alter", *of_logger, "--add-config", f"{LOGGER}=LOUD")
    assert wrong.code == 1
    assert f"Cannot set the log level of {LOGGER} to LOUD" in wrong.err


def test_settings_of_a_controller_of_topics_and_of_all_brokers(
    through_controller: Configs, addresses: SeparateRoles
) -> None:
    own = through_controller("--describe", "--broker", str(CONTROLLER), "--all").out
    assert "  num.partitions=7 sensitive=false synonyms={STATIC_BROKER_CONFIG:num.partitions=7" in own
    run_tool("kafka-topics", "--bootstrap-server", addresses.broker, "--create", "--topic", "t")
    changed = through_controller("--alter", "--topic", "t", "--add-config", "retention.ms=5000")
    assert changed == (0, "Completed updating config for topic t.\n", "")
    assert "retention.ms=5000 " in through_controller("--describe", "--topic", "t").out
    changed = through_controller("--alter", "--broker-defaults", "--add-config", "log.retention.ms=7000")
    assert changed == (0, "Completed updating default config for brokers in the cluster.\n", "")
    assert "log.retention.ms=7000 " in through_controller("--describe", "--broker-defaults").out
    # The controller decides about the settings of a broker that is elsewhere.
    changed = through_controller("--alter", "--broker", str(BROKER), "--add-config", "log.retention.ms=8000")
    assert changed == (0, f"Completed updating config for broker {BROKER}.\n", "")


def test_what_a_controller_cannot_answer_is_one_sentence(through_controller: Configs) -> None:
    missing = through_controller("--describe", "--topic", "nowhere")
    assert missing.out == "The topic 'nowhere' doesn't exist and doesn't have dynamic config.\n"
    all_topics = through_controller("--describe", "--entity-type", "topics")
    assert all_topics.err.startswith("Controllers have no list of topics: name one of them, or use")
    of_broker = through_controller("--describe", "--broker", str(BROKER), "--all")
    assert of_broker.err.startswith(f"Node {BROKER} is not a controller, and only node {BROKER} can describe")
    loggers = through_controller("--alter", "--broker-logger", str(BROKER), "--add-config", f"{LOGGER}=INFO")
    assert loggers.err.startswith(f"Node {BROKER} is not a controller")


def test_apache_kafkas_command_changes_them_too(addresses: SeparateRoles) -> None:
    server = ["--bootstrap-controller", addresses.controller]
    logger = ["--entity-type", "broker-loggers", "--entity-name", str(CONTROLLER)]
    run_tool("kafka-configs", *server, "--alter", *logger, "--add-config", f"{LOGGER}=DEBUG")
    described = run_tool("kafka-configs", *server, "--describe", *logger).stdout
    assert f"  {LOGGER}=DEBUG " in described
    run_tool("kafka-configs", *server, "--alter", *logger, "--delete-config", LOGGER)
