"""kafka-features: what it says without a cluster, and how it reads its options."""

import pytest

from gralha.cli import features
from gralha.cli.feature_levels import (
    dependencies_text,
    level_text,
    levels_of,
    mapping_text,
    metadata_level,
    metadata_release,
)
from gralha.cli.features import (
    check_release,
    description,
    parse_level,
    result_lines,
    split_by_existence,
)
from gralha.cli.program import CommandError
from gralha.client.quorum_values import FeatureRange, FeaturesDescription
from gralha.protocol.errors import ErrorCode, error_for
from tests.cli.commands import written


def test_releases_and_levels_of_metadata() -> None:
    assert [metadata_level(release) for release in ("3.3-IV3", "3.5", "3.9", "4.0-IV1", "4.3", "4.3.1")] == [
        *(7, 11, 21, 23, 30, 30)
    ]
    assert metadata_release(30) == "4.3-IV0"
    assert [level_text("metadata.version", level) for level in (6, 31, 32)] == [
        *("UNKNOWN 6", "4.4-IV0", "UNKNOWN 32")
    ]
    assert level_text("kraft.version", 1) == "1"
    # An unreleased version has no short name yet.
    for unknown in ("4.4", "3.2", "nonsense", ""):
        with pytest.raises(
            CommandError, match=f"Unknown metadata.version '{unknown}'. Supported .* are: 3.3"
        ):
            metadata_level(unknown)


def test_a_release_turns_features_on() -> None:
    assert levels_of("3.8") == {**dict.fromkeys(levels_of("3.8"), 0), "metadata.version": 20}
    assert levels_of("4.0-IV1")["transaction.version"] == 0
    assert levels_of("4.0-IV2")["transaction.version"] == 2
    assert mapping_text("4.1") == (
        "metadata.version=27 (4.1)\nkraft.version=1\ntransaction.version=2\ngroup.version=1\n"
        "eligible.leader.replicas.version=1\nshare.version=0\nstreams.version=0"
    )


def test_dependencies() -> None:
    assert dependencies_text("eligible.leader.replicas.version", 1) == (
        "eligible.leader.replicas.version=1 requires:\n    metadata.version=23 (4.0-IV1)"
    )
    assert dependencies_text("metadata.version", 12) == ("metadata.version=12 (3.6-IV0) has no dependencies.")
    assert dependencies_text("group.version", 0) == "group.version=0 has no dependencies."
    for feature, level, message in (
        ("metadata.version", 5, "Unknown metadata.version 5"),
        ("a", 1, "Unknown feature: a"),
        ("group.version", 2, "No feature:group.version with feature level 2"),
    ):
        with pytest.raises(CommandError, match=message):
            dependencies_text(feature, level)


def test_levels_on_the_command_line() -> None:
    assert parse_level(" a.b = 3 ") == ("a.b", 3)
    with pytest.raises(CommandError, match="string a: equals sign not found"):
        parse_level("a")
    for wrong in ("x", "32768", ""):
        with pytest.raises(CommandError, match=f"string a={wrong}: unable to parse {wrong} as a short"):
            parse_level(f"a={wrong}")


def test_the_description() -> None:
    supported = {"kraft.version": FeatureRange(0, 1), "metadata.version": FeatureRange(7, 30)}
    described = FeaturesDescription(supported, {"metadata.version": 29}, None)
    assert list(description(described)) == [
        f"Feature: {name:<40}  SupportedMinVersion: {low:<15}  SupportedMaxVersion: {high:<15}  "
        f"FinalizedVersionLevel: {current:<15}  Epoch: -"
        for name, low, high, current in (
            ("kraft.version", "0", "1", "0"),
            ("metadata.version", "3.3-IV3", "4.3-IV0", "4.2-IV1"),
        )
    ]


SUPPORTED = {
    "metadata.version": FeatureRange(30, 30),
    "kraft.version": FeatureRange(0, 1),
    "group.version": FeatureRange(0, 0),
    "eligible.leader.replicas.version": FeatureRange(0, 1),
}


def test_all_that_a_cluster_lacks_of_a_release_is_told_at_once() -> None:
    levels, missing = split_by_existence(levels_of("4.3"), SUPPORTED)
    assert set(levels) == set(SUPPORTED)
    assert missing == ["transaction.version", "share.version", "streams.version"]
    with pytest.raises(CommandError) as newest:
        check_release("4.3", levels, SUPPORTED)
    assert str(newest.value) == (
        "The cluster does not support all of release 4.3: group.version=1 (not supported there). Nothing was "
        "changed. You can set single features with --feature NAME=LEVEL."
    )
    with pytest.raises(
        CommandError, match=r"release 3\.9: metadata\.version=3\.9-IV0 \(only 4\.3-IV0\)\. Nothing"
    ):
        check_release("3.9", levels_of("3.9"), SUPPORTED)
    with pytest.raises(CommandError, match=r"a=3 \(only 1 to 2\)\."):
        check_release("4.3", {"a": 3}, {"a": FeatureRange(1, 2)})
    check_release("4.3", {"kraft.version": 1, "group.version": 0}, SUPPORTED)


def test_one_reason_for_all_features_is_told_once() -> None:
    levels = {"b": 2, "a": 1}
    refused, other = (error_for(ErrorCode.INVALID_UPDATE_VERSION, text) for text in ("No b.", "No a."))
    assert list(result_lines("upgrade", levels, {"b": refused, "a": refused}, dry_run=True)) == [
        "Can not upgrade any of a, b. No b."
    ]
    assert list(result_lines("upgrade", levels, {"b": refused, "a": other}, dry_run=False)) == [
        "Could not upgrade a to 1. No a.",
        "Could not upgrade b to 2. No b.",
    ]
    assert list(result_lines("disable", {"b": 0, "a": 0}, {"b": refused, "a": None}, dry_run=False)) == [
        "a was disabled.",
        "Could not disable b. No b.",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["upgrade"], "You must specify at least one feature to upgrade"),
        (
            ["upgrade", "--release-version", "4.3", "--feature", "a=1"],
            "Can not specify `release-version` with other feature flags.",
        ),
        (["upgrade", "--feature", "a=1", "--feature", "a=2"], "Feature a was specified more than once."),
        (["disable", "--feature", "a", "--feature", "a"], "Feature a was specified more than once."),
        (["upgrade", "--feature", "a=0"], "when the provided maxVersionLevel:0 is < 1."),
        (["downgrade", "--feature", "a=-1"], "Cannot specify a negative version level."),
        (["disable", "--feature", " "], "Provided feature can not be empty."),
        (["describe", "--node-id", "-4"], "Invalid node id -4: must be non-negative."),
        (["feature-dependencies"], "Command line error: the following arguments are required: --feature"),
    ],
)
def test_what_goes_wrong(capfd: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert features.main(["--bootstrap-server", "127.0.0.1:1", *arguments]) == 1
    assert message in written(capfd).err


def test_a_cluster_must_be_named(capfd: pytest.CaptureFixture[str]) -> None:
    assert features.main(["describe"]) == 1
    assert "You must specify either --bootstrap-controller or --bootstrap-server." in written(capfd).err
    assert features.main(["version-mapping"]) == 0
    assert written(capfd).out.startswith("metadata.version=30 (4.3-IV0)\n")
