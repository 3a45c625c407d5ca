"""kafka-features: shows the supported and the current levels of features, and changes them (KIP-584)."""

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

from gralha.cli.arguments import ProgramParser
from gralha.cli.connect import add_bootstrap_options, open_admin
from gralha.cli.feature_levels import (
    LATEST_RELEASE,
    METADATA_VERSION,
    dependencies_json,
    dependencies_text,
    level_text,
    levels_of,
    mapping_json,
    mapping_text,
    metadata_level,
)
from gralha.cli.json_output import add_json_option, print_json
from gralha.cli.program import CommandError, one_line, run

if TYPE_CHECKING:
    from gralha.client.quorum_values import FeatureRange, FeaturesDescription, UpgradeType
    from gralha.protocol.errors import KafkaError

_CLIENT_ID = "kafka-features"
_EXAMPLE = "kafka-features --bootstrap-server localhost:9092"
_INT16_MIN, _INT16_MAX = -(2**15), 2**15 - 1


class _Parser(ProgramParser):
    """Reports errors as Kafka's command does."""

    def error(self, message: str) -> NoReturn:
        raise CommandError(f"Command line error: {self.in_words(message)}. Type --help for help.")


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_main, arguments)


def _parser() -> _Parser:
    parser = _Parser(
        prog="kafka-features",
        description="Shows and changes the levels of a cluster's features.",
        examples=(
            f"{_EXAMPLE} describe",
            f"{_EXAMPLE} upgrade --release-version 4.3",
        ),
    )
    add_bootstrap_options(parser, required=False)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    describe = commands.add_parser(
        "describe", help="show features and their levels", examples=[f"{_EXAMPLE} describe"]
    )
    describe.add_argument("--node-id", type=int, metavar="ID", help="ask this node (default: any node)")
    add_json_option(describe)
    _add_changes(commands)
    _add_levels(commands)
    return parser


def _add_changes(commands: "argparse._SubParsersAction[_Parser]") -> None:
    """The commands that change levels."""
    upgrade = commands.add_parser(
        "upgrade",
        help="raise the levels of features",
        examples=[
            f"{_EXAMPLE} upgrade --release-version 4.3 --dry-run",
            f"{_EXAMPLE} upgrade --feature group.version=1",
        ],
    )
    downgrade = commands.add_parser(
        "downgrade",
        help="lower the levels of features",
        examples=[f"{_EXAMPLE} downgrade --feature transaction.version=1"],
    )
    disable = commands.add_parser(
        "disable",
        help="lower the levels of features to zero",
        examples=[f"{_EXAMPLE} disable --feature transaction.version"],
    )
    for command in (upgrade, downgrade):
        command.add_argument("--metadata", metavar="RELEASE", help="deprecated: sets metadata.version")
        command.add_argument("--release-version", metavar="RELEASE", help="set all features as in a release")
        command.add_argument(
            "--feature",
            action="append",
            metavar="NAME=LEVEL",
            help="a feature and its level; may be given many times",
        )
    disable.add_argument(
        "--feature", action="append", metavar="NAME", help="a feature; may be given many times"
    )
    for command in (downgrade, disable):
        command.add_argument("--unsafe", action="store_true", help="do it even if metadata is lost")
    for command in (upgrade, downgrade, disable):
        command.add_argument("--dry-run", action="store_true", help="only say whether it is possible")


def _add_levels(commands: "argparse._SubParsersAction[_Parser]") -> None:
    """The commands that need no cluster."""
    mapping = commands.add_parser(
        "version-mapping",
        help="show the levels of a release",
        examples=["kafka-features version-mapping --release-version 4.0"],
    )
    mapping.add_argument(
        "--release-version",
        default=LATEST_RELEASE,
        metavar="RELEASE",
        help=f"a release such as 4.0 (default: {LATEST_RELEASE})",
    )
    needs = commands.add_parser(
        "feature-dependencies",
        help="show what a level of a feature needs",
        examples=["kafka-features feature-dependencies --feature eligible.leader.replicas.version=1"],
    )
    needs.add_argument(
        "--feature",
        action="append",
        required=True,
        metavar="NAME=LEVEL",
        help="a feature and its level; may be given many times",
    )
    for command in (mapping, needs):
        add_json_option(command)


def _main(arguments: list[str]) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command == "version-mapping":
        if options.json:
            print_json(**mapping_json(options.release_version))
        else:
            print(mapping_text(options.release_version))
        return 0
    if options.command == "feature-dependencies":
        if options.json:
            print_json(features=[dependencies_json(*parse_level(item)) for item in options.feature])
            return 0
        for item in options.feature:
            print(dependencies_text(*parse_level(item)))
        return 0
    if options.bootstrap_server is None and options.bootstrap_controller is None:
        parser.error("You must specify either --bootstrap-controller or --bootstrap-server.")
    if options.command == "describe":
        return _describe(options)
    return _update(options)


# --- without a cluster ----------------------------------------------------------------------------------


def parse_level(text: str) -> tuple[str, int]:
    """The parts of `feature=level`."""
    name, equals, level = (part.strip() for part in text.partition("="))
    if not equals:
        raise CommandError(f"Can't parse feature=level string {text}: equals sign not found.")
    try:
        number = int(level)
    except ValueError:
        number = _INT16_MAX + 1
    if not _INT16_MIN <= number <= _INT16_MAX:
        raise CommandError(f"Can't parse feature=level string {text}: unable to parse {level} as a short.")
    return name, number


# --- describe -------------------------------------------------------------------------------------------


def _describe(options: argparse.Namespace) -> int:
    if options.node_id is not None and options.node_id < 0:
        raise CommandError(f"Invalid node id {options.node_id}: must be non-negative.")
    with open_admin(options, _CLIENT_ID) as admin:
        features = admin.describe_features(options.node_id)
    if options.json:
        print_json(features=[feature_json(name, features) for name in sorted(features.supported)])
        return 0
    for line in description(features):
        print(line)
    return 0


def feature_json(name: str, features: "FeaturesDescription") -> dict[str, object]:
    """A feature of describe. Levels are numbers."""
    supported = features.supported[name]
    return {
        "feature": name,
        "supportedMinVersion": supported.lowest,
        "supportedMaxVersion": supported.highest,
        "finalizedVersionLevel": features.finalized.get(name, 0),
        "epoch": features.epoch,
    }


def description(features: "FeaturesDescription") -> Iterable[str]:
    """The output of describe."""
    epoch = "-" if features.epoch is None else features.epoch
    for name, (lowest, highest) in sorted(features.supported.items()):
        levels = (lowest, highest, features.finalized.get(name, 0))
        low, high, current = (level_text(name, level) for level in levels)
        yield (
            f"Feature: {name:<40}  SupportedMinVersion: {low:<15}  SupportedMaxVersion: {high:<15}  "
            f"FinalizedVersionLevel: {current:<15}  Epoch: {epoch}"
        )


# --- upgrade, downgrade, disable ------------------------------------------------------------------------


def _update(options: argparse.Namespace) -> int:
    from gralha.client.quorum_values import UpgradeType

    command = options.command
    if command == "upgrade":
        kind = UpgradeType.UPGRADE
    else:
        kind = UpgradeType.UNSAFE_DOWNGRADE if options.unsafe else UpgradeType.SAFE_DOWNGRADE
    levels = _disabled(options.feature or []) if command == "disable" else _wanted(options)
    if not levels:
        raise CommandError(f"You must specify at least one feature to {command}")
    if kind == UpgradeType.UPGRADE and 0 in levels.values():
        raise CommandError(
            "The upgradeType flag should be set to SAFE_DOWNGRADE or UNSAFE_DOWNGRADE when the provided "
            "maxVersionLevel:0 is < 1."
        )
    if min(levels.values()) < 0:
        raise CommandError("Cannot specify a negative version level.")
    if any(not name.strip() for name in levels):
        raise CommandError("Provided feature can not be empty.")
    return _send(options, levels, kind)


def _disabled(features: Iterable[str]) -> dict[str, int]:
    levels: dict[str, int] = {}
    for feature in features:
        _set_once(levels, feature, 0)
    return levels


def _wanted(options: argparse.Namespace) -> dict[str, int]:
    if options.release_version is not None:
        if options.metadata is not None or options.feature is not None:
            raise CommandError("Can not specify `release-version` with other feature flags.")
        levels = levels_of(options.release_version)
        if options.command == "upgrade":
            # A feature at level 0 is off, so there is nothing to upgrade.
            return {name: level for name, level in levels.items() if level > 0}
        return levels
    levels = {}
    if options.metadata is not None:
        print(" `metadata` flag is deprecated and may be removed in a future release.")
        levels[METADATA_VERSION] = metadata_level(options.metadata)
    for item in options.feature or []:
        _set_once(levels, *parse_level(item))
    return levels


def _set_once(levels: dict[str, int], feature: str, level: int) -> None:
    if feature in levels:
        raise CommandError(f"Feature {feature} was specified more than once.")
    levels[feature] = level


def _send(options: argparse.Namespace, levels: dict[str, int], kind: "UpgradeType") -> int:
    release = None if options.command == "disable" else options.release_version
    with open_admin(options, _CLIENT_ID) as admin:
        if release is not None:
            supported = admin.describe_features(None).supported
            levels, missing = split_by_existence(levels, supported)
            check_release(release, levels, supported)
            if missing:
                _warn(f"The cluster does not have {_and(missing)}. Only the other features are changed.")
        results = admin.update_features(levels, kind, validate_only=options.dry_run)
    for line in result_lines(options.command, levels, results, dry_run=options.dry_run):
        print(line)
    failures = sum(error is not None for error in results.values())
    if failures:
        raise CommandError(f"{failures} out of {len(levels)} operation(s) failed.")
    return 0


def split_by_existence(
    levels: Mapping[str, int], supported: "Mapping[str, FeatureRange]"
) -> tuple[dict[str, int], list[str]]:
    """The levels of features that the cluster has, and the names of those that it does not have at all."""
    present = {name: level for name, level in levels.items() if name in supported}
    return present, [name for name in levels if name not in present]


def _and(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _warn(text: str) -> None:
    from gralha.cli.colour import yellow

    print(yellow(f"WARN {text}", sys.stderr), file=sys.stderr)


def check_release(release: str, levels: Mapping[str, int], supported: "Mapping[str, FeatureRange]") -> None:
    """Raises CommandError if nodes do not support all levels of a release. It names every level."""
    missing = []
    for name, level in levels.items():
        lowest, highest = supported.get(name, (0, 0))
        if not lowest <= level <= highest:
            missing.append(f"{name}={level_text(name, level)} ({_range_text(name, lowest, highest)})")
    if missing:
        raise CommandError(
            f"The cluster does not support all of release {release}: {', '.join(missing)}. Nothing was "
            "changed. You can set single features with --feature NAME=LEVEL."
        )


def _range_text(feature: str, lowest: int, highest: int) -> str:
    if highest == 0:
        return "not supported there"
    low, high = level_text(feature, lowest), level_text(feature, highest)
    return f"only {low}" if lowest == highest else f"only {low} to {high}"


def result_lines(
    command: str, levels: Mapping[str, int], results: "Mapping[str, KafkaError | None]", *, dry_run: bool
) -> Iterable[str]:
    """The result for each feature. Features change together, so a common reason is printed once."""
    verb = "Can not" if dry_run else "Could not"
    reasons = {feature: one_line(str(error)) for feature, error in results.items() if error is not None}
    if len(results) == len(reasons) > 1 and len(set(reasons.values())) == 1:
        yield f"{verb} {command} any of {', '.join(sorted(results))}. {reasons.popitem()[1]}"
        return
    for feature in sorted(results):
        target = "" if command == "disable" else f" to {levels[feature]}"
        if feature in reasons:
            yield f"{verb} {command} {feature}{target}. {reasons[feature]}"
        else:
            yield f"{feature} {'can be' if dry_run else 'was'} {command}d{target}."
