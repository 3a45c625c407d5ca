"""kafka-storage: makes cluster ids, and formats the folders of a node before its first start.

Options and output are those of Apache Kafka's command. `metadata/formatting.py` does the work. A server
formats empty folders by itself, so this command is for users who choose the cluster id or the quorum
themselves.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from gralha.cli.arguments import ProgramParser
from gralha.cli.feature_levels import (
    FEATURES,
    LATEST_RELEASE,
    dependencies_json,
    dependencies_text,
    mapping_json,
    mapping_text,
)
from gralha.cli.json_output import add_json_option, print_json
from gralha.cli.program import CommandError, run
from gralha.cli.text_file import read_text

if TYPE_CHECKING:
    from gralha.broker.config import NodeConfig
    from gralha.metadata.formatting import InitialVoter
    from gralha.protocol.messages.security_records import UserScramCredentialRecord

_FORMAT = "kafka-storage format --config server.properties --cluster-id $(kafka-storage random-uuid)"
_KRAFT_VERSION = "kraft.version"


class _Parser(ProgramParser):
    """Shows the usage of a wrong call, as Kafka's command does."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        raise CommandError(f"{self.prog}: error: {self.in_words(message)}")


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_body, arguments)


def _body(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    if options.command == "random-uuid":
        from gralha.broker.offline import new_uuid
        from gralha.protocol.primitives import uuid_to_string

        print(uuid_to_string(new_uuid()))
        return 0
    if options.command == "version-mapping":
        if options.json:
            print_json(**mapping_json(options.release_version))
        else:
            print(mapping_text(options.release_version))
        return 0
    if options.command == "feature-dependencies":
        if options.json:
            print_json(features=[dependencies_json(*_level(item)) for item in options.feature])
            return 0
        for item in options.feature:
            print(dependencies_text(*_level(item)))
        return 0
    from gralha.metadata.formatting import FormatError

    config = _load(options.config)
    try:
        return _info(options, config) if options.command == "info" else _format(options, config)
    except FormatError as error:
        raise CommandError(str(error)) from None


def _parser() -> _Parser:
    parser = _Parser(
        prog="kafka-storage",
        description="Shows and formats the folders of a node.",
        examples=(_FORMAT,),
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    info = commands.add_parser(
        "info",
        help="show the identity of the node's folders",
        examples=["kafka-storage info --config server.properties"],
    )
    add_json_option(info)
    _add_config(info)
    _add_format(commands)
    _add_levels(commands)
    commands.add_parser(
        "random-uuid",
        help="print a random UUID, for example for a new cluster",
        examples=["kafka-storage random-uuid"],
    )
    return parser


def _add_config(command: argparse.ArgumentParser) -> None:
    command.add_argument("--config", "-c", required=True, metavar="FILE", help="the node's server.properties")


def _add_levels(commands: argparse._SubParsersAction[_Parser]) -> None:
    """The commands about the levels of features."""
    mapping = commands.add_parser(
        "version-mapping",
        help="show the levels of a release",
        examples=["kafka-storage version-mapping --release-version 4.0"],
    )
    mapping.add_argument(
        "--release-version",
        "-r",
        default=LATEST_RELEASE,
        metavar="RELEASE",
        help=f"a release such as 4.0 (default: {LATEST_RELEASE})",
    )
    needs = commands.add_parser(
        "feature-dependencies",
        help="show what a level of a feature needs",
        examples=["kafka-storage feature-dependencies --feature eligible.leader.replicas.version=1"],
    )
    needs.add_argument(
        "--feature",
        "-f",
        action="append",
        required=True,
        metavar="NAME=LEVEL",
        help="a feature and its level; may be given many times",
    )
    for command in (mapping, needs):
        add_json_option(command)


def _add_format(commands: argparse._SubParsersAction[_Parser]) -> None:
    formatting = commands.add_parser(
        "format",
        help="format empty folders for this node",
        examples=[
            _FORMAT,
            (
                "kafka-storage format --config server.properties --cluster-id NJEgyRHsTaKRqkQrLcCbrw "
                "--standalone"
            ),
        ],
    )
    _add_config(formatting)
    formatting.add_argument("--cluster-id", "-t", required=True, metavar="ID", help="the cluster's id")
    formatting.add_argument(
        "--ignore-formatted", "-g", action="store_true", help="skip folders that are formatted already"
    )
    formatting.add_argument(
        "--release-version",
        "-r",
        metavar="VERSION",
        help=f"the release whose feature levels the cluster begins with (default: {LATEST_RELEASE})",
    )
    formatting.add_argument(
        "--feature", "-f", action="append", default=[], metavar="NAME=LEVEL", help="the level of one feature"
    )
    formatting.add_argument(
        "--add-scram",
        "-S",
        action="append",
        default=[],
        metavar="MECHANISM=[name=...,password=...]",
        help="a user for SCRAM-SHA-256 or SCRAM-SHA-512, who exists from the beginning; may be given many "
        "times, and the same for each controller",
    )
    _add_quorum(formatting)


def _add_quorum(formatting: argparse.ArgumentParser) -> None:
    """The options that say how a dynamic quorum begins."""
    quorum = formatting.add_mutually_exclusive_group()
    quorum.add_argument(
        "--standalone", "-s", action="store_true", help="this controller is the only one of a dynamic quorum"
    )
    quorum.add_argument(
        "--no-initial-controllers", "-N", action="store_true", help="the quorum exists, this node joins it"
    )
    quorum.add_argument(
        "--initial-controllers",
        "-I",
        metavar="ID@HOST:PORT:DIRECTORY,...",
        help="the controllers of a dynamic quorum; the same for each of its nodes",
    )


def _load(path: str) -> NodeConfig:
    from gralha.broker.config import ConfigFileError, NodeConfig
    from gralha.broker.run import hostname

    text = read_text(path, "the properties file")
    try:
        config, warnings = NodeConfig.parse(text, path, hostname)
    except ConfigFileError as error:
        raise CommandError(str(error)) from None
    for warning in warnings:
        print(warning, file=sys.stderr)
    return config


def _folders(config: NodeConfig) -> list[str]:
    return sorted({*config.log_dirs, config.metadata_log_dir})


# --- features -----------------------------------------------------------------------------------------


def _level(item: str) -> tuple[str, int]:
    """The parts of `feature=level`. kafka-features has other errors for them."""
    name, equals, text = (part.strip() for part in item.partition("="))
    if not equals:
        raise CommandError(
            f"Invalid feature format: {item}. Expected format: 'feature=version' (e.g. 'group.version=1')"
        )
    try:
        level = int(text)
    except ValueError:
        raise CommandError(f"Invalid version format: {text} for feature {name}") from None
    if name in FEATURES and not 0 <= level < len(FEATURES[name]):
        raise CommandError(f"Feature level {level} is not supported for feature {name}")
    return name, level


# --- info ---------------------------------------------------------------------------------------------


def _info(options: argparse.Namespace, config: NodeConfig) -> int:
    from gralha.broker.offline import read_identities
    from gralha.metadata.formatting import FormatError
    from gralha.protocol.primitives import uuid_to_string

    problems: list[str] = []
    present: list[str] = []
    first = None
    for folder in _folders(config):
        if not os.path.isdir(folder):
            problems.append(
                f"{folder} is not a directory" if os.path.exists(folder) else f"{folder} does not exist"
            )
            continue
        present.append(folder)
        try:
            identity = read_identities([folder])[folder]
        except FormatError as error:
            problems.append(f"Error loading {error}")
            continue
        if identity is None:
            problems.append(f"{folder} is not formatted.")
        elif first is None:
            first = identity
        elif identity.cluster_id != first.cluster_id:
            problems.append("Mismatched cluster IDs between storage directories.")
        elif identity.node_id != first.node_id:
            problems.append("Mismatched node IDs between storage directories.")
    directory_id = uuid_to_string(first.directory_id) if first is not None else None
    if options.json:
        print_json(
            logDirs=present,
            clusterId=first.cluster_id if first is not None else None,
            directoryId=directory_id,
            nodeId=first.node_id if first is not None else None,
            problems=problems,
        )
        return 1 if problems else 0
    _print_list("Found log director", "y", "ies", present)
    if first is not None:
        print(
            f"Found metadata: {{cluster.id={first.cluster_id}, directory.id={directory_id}, "
            f"node.id={first.node_id}, version=1}}\n"
        )
    _print_list("Found problem", "", "s", problems)
    return 1 if problems else 0


def _print_list(title: str, one: str, many: str, lines: list[str]) -> None:
    if lines:
        print(f"{title}{one if len(lines) == 1 else many}:")
        for line in lines:
            print(f"  {line}")
        print()


# --- format -------------------------------------------------------------------------------------------


def _format(options: argparse.Namespace, config: NodeConfig) -> int:
    from gralha.broker.offline import format_now, read_identities
    from gralha.metadata.features import METADATA_VERSION_NAME
    from gralha.metadata.formatting import FormatPlan, verify
    from gralha.metadata.image import METADATA_VERSION

    voters = _voters(options, config)
    plan = FormatPlan(
        options.cluster_id,
        config.node_id,
        _folders(config),
        config.metadata_log_dir,
        _features(options, bool(voters)),
        voters,
        next(iter(config.controller_listener_names), "CONTROLLER"),
        [_scram_record(one) for one in options.add_scram],
    )
    identities = read_identities(plan.folders)
    verify(identities, plan.node_id, plan.cluster_id)
    formatted = [folder for folder, identity in identities.items() if identity is not None]
    if formatted and not options.ignore_formatted:
        raise CommandError(
            f"Log directory {formatted[0]} is already formatted. Use --ignore-formatted to ignore this "
            "directory and format the others."
        )
    if len(formatted) == len(plan.folders):
        print("All of the log directories are already formatted.")
        return 0
    for one in format_now(plan):
        print(f"Formatting {one.description} {one.folder} with {METADATA_VERSION} {METADATA_VERSION_NAME}.")
    return 0


def _scram_record(argument: str) -> UserScramCredentialRecord:
    from gralha.broker.offline import scram_record
    from gralha.cli.scram_users import parse_new_user

    return scram_record(*parse_new_user(argument))


def _voters(options: argparse.Namespace, config: NodeConfig) -> list[InitialVoter]:
    from gralha.metadata.formatting import parse_initial_voters

    dynamic = options.standalone or options.initial_controllers is not None
    if dynamic and config.voters:
        raise CommandError(
            "A dynamic quorum (--standalone, --initial-controllers) keeps its voters in the metadata log: "
            "remove controller.quorum.voters and set controller.quorum.bootstrap.servers instead."
        )
    if not (dynamic or config.voters or options.no_initial_controllers) and "controller" in config.roles:
        raise CommandError(
            "Because controller.quorum.voters is not set on this controller, you must specify one of the "
            "following: --standalone, --initial-controllers, or --no-initial-controllers."
        )
    if options.standalone:
        return [_own_voter(config)]
    return parse_initial_voters(options.initial_controllers) if dynamic else []


def _own_voter(config: NodeConfig) -> InitialVoter:
    from gralha.broker.offline import new_uuid
    from gralha.metadata.formatting import InitialVoter

    names = config.controller_listener_names
    for listener in [*config.advertised, *config.listeners]:
        if listener.name in names[:1]:
            return InitialVoter(config.node_id, listener.host or "localhost", listener.port, new_uuid())
    raise CommandError(
        "--standalone needs a listener for controllers: set controller.listener.names=CONTROLLER and add "
        "CONTROLLER://localhost:9093 to listeners"
    )


def _features(options: argparse.Namespace, dynamic: bool) -> dict[str, int]:
    """The feature levels of the new cluster. Only levels that this version supports are accepted."""
    from gralha.metadata.features import BOOTSTRAP_FEATURES, METADATA_VERSION_NAME, SUPPORTED_FEATURES

    release = options.release_version
    if release is not None and release not in (
        METADATA_VERSION_NAME,
        METADATA_VERSION_NAME.partition("-")[0],
    ):
        raise CommandError(f"--release-version {release} is not supported: use {METADATA_VERSION_NAME}")
    levels = dict(BOOTSTRAP_FEATURES)
    for item in options.feature:
        name, equals, text = item.partition("=")
        if not equals or not text.isdecimal():
            raise CommandError(f"--feature {item}: expected NAME=LEVEL, for example kraft.version=1")
        if name == _KRAFT_VERSION:
            _check_kraft_version(int(text), dynamic)
            continue
        low, high = SUPPORTED_FEATURES.get(name, (0, -1))
        if low > high:
            known = ", ".join(sorted([*SUPPORTED_FEATURES, _KRAFT_VERSION]))
            raise CommandError(f"Unsupported feature: {name}. Supported features are: {known}")
        if not low <= int(text) <= high:
            raise CommandError(f"--feature {item}: the level must be between {low} and {high}")
        levels[name] = int(text)
    return levels


def _check_kraft_version(level: int, dynamic: bool) -> None:
    """The version of the quorum depends on its kind: 1 if it is dynamic (KIP-853), 0 if it is static."""
    if level != int(dynamic):
        kind = "a dynamic quorum has 1" if dynamic else "a quorum without initial controllers has 0"
        raise CommandError(
            f"--feature {_KRAFT_VERSION}={level} is not possible: {kind}. Leave the option out."
        )
