"""`gralha ...`: starts Gralha's programs, and Kafka's commands without their prefix."""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from gralha import __version__
from gralha.cli.bootstrap import as_gralha
from gralha.cli.program import CommandError, run

# The command that a person types -> its module, and its help.
PROGRAMS = {
    "up": ("up", "run the platform on this machine"),
    "server": ("server", "run one node with the settings of a server.properties file"),
    "secure": ("secure", "write a cluster's configuration with TLS, users and rights"),
    "registry": ("registry", "run the Schema Registry for a Kafka cluster"),
    "schema": ("schema", "register, show, check and compare the schemas of a registry"),
    "spark": ("spark", "run a small Spark cluster on this machine"),
    "pipeline": ("pipeline", "run, plan, test and watch data pipelines on Spark"),
    "completion": ("completion", "print a script that completes these commands in your shell"),
}
KAFKA_COMMANDS = {
    "acls": ("acls", "add, list and remove access control lists"),
    "broker-api-versions": ("broker_api_versions", "show which APIs the brokers serve"),
    "cluster": ("cluster", "show a cluster's id and nodes, unregister a broker"),
    "configs": ("configs", "show and change settings of topics and brokers"),
    "console-consumer": ("console_consumer", "print the records of a topic"),
    "console-producer": ("console_producer", "write lines of text to a topic"),
    "consumer-groups": ("consumer_groups", "list, describe and delete groups, reset their offsets"),
    "consumer-perf-test": ("consumer_perf_test", "measure how fast records are read"),
    "delegation-tokens": (
        "delegation_tokens",
        "create, renew, expire and describe delegation tokens",
    ),
    "delete-records": ("delete_records", "delete the oldest records of partitions"),
    "dump-log": ("dump_log", "print the contents of log files"),
    "e2e-latency": ("e2e_latency", "measure how long a record takes to its consumer"),
    "features": ("features", "show and change the levels of features"),
    "get-offsets": ("get_offsets", "print the offsets of partitions"),
    "groups": ("groups", "list groups of all kinds"),
    "leader-election": ("leader_election", "elect leaders of partitions"),
    "log-dirs": ("log_dirs", "show the data folders of the brokers"),
    "metadata-quorum": ("metadata_quorum", "show the controllers' quorum and change its voters"),
    "metadata-shell": ("metadata_shell", "show the metadata in a file as a tree"),
    "producer-perf-test": ("producer_perf_test", "measure how fast records are written"),
    "reassign-partitions": ("reassign_partitions", "move partitions to other brokers"),
    "server-start": ("server_start", "run one node, with the command line of Kafka's script"),
    "server-stop": ("server_stop", "stop the nodes on this machine"),
    "storage": ("storage", "format data folders"),
    "streams-application-reset": ("streams_application_reset", "let a Kafka Streams application start again"),
    "topics": ("topics", "create, list, describe, alter and delete topics"),
    "transactions": ("transactions", "show transactions, and end those that hang"),
    "verifiable-consumer": ("verifiable_consumer", "read records in a test; prints JSON events"),
    "verifiable-producer": ("verifiable_producer", "write records in a test; prints JSON events"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_main, arguments)


def _main(arguments: list[str]) -> int:
    name, rest = (arguments[0], arguments[1:]) if arguments else ("--help", [])
    if name == "help" and rest:
        name, rest = rest[0], ["--help"]
    if name in ("--help", "-h", "help"):
        print(_help())
        return 0 if arguments else 1
    if name in ("--version", "version"):
        print(f"gralha {__version__}")
        return 0
    with as_gralha():
        code: int = command_main(name)(rest)
    return code


def command_main(name: str) -> Callable[[list[str]], int]:
    """The `main` of a command, by a name such as topics, kafka-topics or kafka-topics.sh."""
    entry = PROGRAMS.get(name) or KAFKA_COMMANDS.get(name.removeprefix("kafka-").removesuffix(".sh"))
    if entry is None:
        raise CommandError(f"{_no_command(name)} (see gralha --help)")
    main: Callable[[list[str]], int] = import_module(f"gralha.cli.{entry[0]}").main
    return main


def _no_command(name: str) -> str:
    from gralha.cli.suggestions import did_you_mean

    if name.startswith("-"):
        return f"gralha has no option {name} of its own. The command comes first: gralha COMMAND {name}"
    known = [*PROGRAMS, *KAFKA_COMMANDS, *(f"kafka-{command}" for command in KAFKA_COMMANDS)]
    meant = did_you_mean(name, known, "gralha {}")
    return f"gralha has no command '{name}'" + (f".{meant}" if meant else "")


def _help() -> str:
    lines = [
        "usage: gralha COMMAND [OPTIONS]",
        "",
        "An event streaming platform that speaks Kafka's protocol.",
        "",
    ]
    lines += [f"  {name:<27}{text}" for name, (_, text) in PROGRAMS.items()]
    lines += ["", "Kafka's commands, also installed as kafka-topics and so on:", ""]
    lines += [f"  {name:<27}{text}" for name, (_, text) in KAFKA_COMMANDS.items()]
    lines += [
        "",
        "Without --bootstrap-server, commands use GRALHA_BOOTSTRAP_SERVERS, or else localhost:9092.",
        "`gralha COMMAND --help` shows the options of a command.",
        "",
        "examples:",
        "  gralha up",
        "  gralha topics --create --topic orders --partitions 3",
        "  gralha console-consumer --topic orders --from-beginning",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
