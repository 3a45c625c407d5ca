"""kafka-streams-application-reset: lets a Kafka Streams application start from the beginning.

It sets the offsets of the application's input topics and deletes the application's internal topics. Options
and output are the same as in Apache Kafka. The application must not run.
"""

import re
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from gralha.cli.arguments import CommandParser, given
from gralha.cli.connect import open_admin
from gralha.cli.program import EXIT_FAILED, CommandError, run
from gralha.cli.times import parse_duration, parse_time
from gralha.cli.waiting import Waiting

if TYPE_CHECKING:
    from gralha.client.admin import Admin
    from gralha.client.values import TopicPartition

    Offsets = dict[TopicPartition, int]

_DEFAULT_ADDRESS: Final = "localhost:9092"
_SCENARIOS: Final = (
    *("to-offset", "to-datetime", "by-duration", "to-earliest", "to-latest", "from-file", "shift-by"),
)
_DRY_RUN: Final = (
    "----Dry run displays the actions which will be performed when running Streams Reset Tool----"
)
_INTERNAL_TOPIC: Final = re.compile(
    r".*(-changelog|-repartition|-subscription-registration-topic|-subscription-response-topic"
    r"|.-KTABLE-FK-JOIN-SUBSCRIPTION-(REGISTRATION|RESPONSE)-\d+-topic)"
)


def _parser() -> CommandParser:
    parser = CommandParser(
        "kafka-streams-application-reset",
        "Resets the offsets of an application's input topics, and deletes its internal topics. Stop all "
        "instances of the application first. Its local state has to be removed, too (KafkaStreams.cleanUp).",
        ["--application-id word-count --input-topics lines --dry-run"],
    )
    parser.value("application-id", "REQUIRED: the application.id of the application", metavar="ID")
    parser.value("bootstrap-server", f"the brokers (default: {_DEFAULT_ADDRESS})", metavar="HOST:PORT,...")
    parser.value(
        "input-topics",
        "topics to read again, by default from the earliest record",
        kind=_names,
        metavar="TOPIC,...",
    )
    parser.value(
        "intermediate-topics", "deprecated: topics to skip to the end of", kind=_names, metavar="TOPIC,..."
    )
    parser.value(
        "internal-topics", "the internal topics to delete (default: all)", kind=_names, metavar="TOPIC,..."
    )
    parser.value("to-offset", "read from this offset", kind=int, metavar="OFFSET")
    parser.value("to-datetime", "from a time: YYYY-MM-DDThh:mm:ss.sss", kind=parse_time, metavar="TIME")
    parser.value("by-duration", "from this long ago: PnDTnHnMnS", kind=parse_duration, metavar="DURATION")
    parser.flag("to-earliest", "from the earliest record (default)")
    parser.flag("to-latest", "from the end")
    parser.value("from-file", "from the offsets in a CSV file: topic,partition,offset", metavar="FILE")
    parser.value("shift-by", "move by this many records, forward or back (-n)", kind=int, metavar="N")
    parser.flag("force", "remove members that are still in the group")
    parser.flag("dry-run", "only show what would be done")
    parser.value("command-config", "a file with properties of the clients", metavar="FILE")
    parser.value("config-file", "old name of --command-config", metavar="FILE")
    return parser


def _names(text: str) -> list[str]:
    return text.split(",")


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_main, arguments, prefix="ERROR: ")


def _main(arguments: list[str]) -> int:
    options = parse_options(arguments)
    with open_admin(options, "streams-application-reset") as admin:
        _check_members(admin, options.application_id, force=options.force)
        topics = [listing.name for listing in admin.list_topics()]
        if options.dry_run:
            print(_DRY_RUN)
        code = _reset_offsets(admin, options, topics)
        _delete_internal_topics(admin, options, topics)
        return code


def parse_options(arguments: list[str]) -> Namespace:
    """Parses and checks the command line."""
    parser = _parser()
    options = parser.parse(arguments, "application-id")
    for scenario in _SCENARIOS:
        parser.exclude(options, scenario, [name for name in _SCENARIOS if name != scenario])
    parser.exclude(options, "config-file", ["command-config"])
    if options.config_file is not None:
        print(
            "Option --config-file has been deprecated and will be removed in a future version. "
            "Use --command-config instead."
        )
        options.command_config = options.config_file
    options.bootstrap_server = options.bootstrap_server or _DEFAULT_ADDRESS
    options.input_topics = options.input_topics or []
    options.intermediate_topics = options.intermediate_topics or []
    return options


def _check_members(admin: "Admin", group_id: str, *, force: bool) -> None:
    """Fails if the application still runs. With --force its members are removed from the group."""
    from gralha.protocol.errors import ErrorCode, KafkaError

    group = admin.describe_groups([group_id])[group_id]
    if isinstance(group, KafkaError):
        if group.code == ErrorCode.GROUP_ID_NOT_FOUND:
            return
        raise group
    if not group.members:
        return
    if not force:
        names = ", ".join(member.instance_id or member.member_id for member in group.members)
        raise CommandError(
            f"Consumer group '{group_id}' is still active and has following members: [{names}]. Make sure to "
            "stop all running application instances before running the reset tool. You can use option "
            "'--force' to remove active members from the group."
        )
    print(f"Force deleting all active members in the group: {group_id}")
    for name, error in admin.remove_members(group_id, group.members, "the application is reset").items():
        if error is not None:
            raise CommandError(f"The member {name} could not be removed from the group {group_id}: {error}")


# --- offsets ------------------------------------------------------------------------------------------


def _reset_offsets(admin: "Admin", options: Namespace, topics: Sequence[str]) -> int:
    """Sets the offsets of the topics that exist. Returns the exit code: 1 if a topic does not exist."""
    inputs, intermediates = options.input_topics, options.intermediate_topics
    if intermediates:
        print("WARN: `--intermediate-topics` is deprecated and will be removed in a future release")
    if not inputs and not intermediates:
        print("No input or intermediate topics specified. Skipping seek.")
        return 0
    if inputs:
        print(f"Reset-offsets for input topics {_listed(inputs)}")
    if intermediates:
        print(f"Seek-to-end for intermediate topics {_listed(intermediates)}")
    code = 0
    for kind, names, label in (("input", inputs, "Topic: "), ("intermediate", intermediates, "Topic:")):
        missing = [name for name in names if name not in topics]
        if missing:
            print(f"Following {kind} topics are not found, skipping them")
            print("".join(f"{label}{name}\n" for name in missing), end="")
            code = EXIT_FAILED
    present = [name for name in (*inputs, *intermediates) if name in topics]
    if present:
        _reset_present(admin, options, present)
        print("Done.")
    return code


def _reset_present(admin: "Admin", options: Namespace, topics: Iterable[str]) -> None:
    from gralha.cli.partition_offsets import end_offsets
    from gralha.client.group_values import CommittedOffset

    group_id = options.application_id
    partitions = _partitions(admin, topics)
    to_end = [partition for partition in partitions if partition.topic not in options.input_topics]
    to_reset = [partition for partition in partitions if partition.topic in options.input_topics]
    offsets: Offsets = {}
    if to_reset:
        print(f"Following input topics offsets will be reset to (for consumer group {group_id})")
        with Waiting(f"Reading the offsets of {len(to_reset)} partitions") as line:
            offsets = new_offsets(admin, options, to_reset, line.say)
        for partition, offset in sorted(offsets.items()):
            print(f"Topic: {partition.topic} Partition: {partition.partition} Offset: {offset}")
    if to_end:
        print(f"Following intermediate topics offsets will be reset to end (for consumer group {group_id})")
        print("".join(f"Topic: {partition.topic}\n" for partition in to_end), end="")
        with Waiting(f"Reading the ends of {len(to_end)} partitions"):
            offsets |= end_offsets(admin, to_end)
    if options.dry_run:
        return
    wanted = {partition: CommittedOffset(offset) for partition, offset in offsets.items()}
    with Waiting(f"Writing the offsets of {len(wanted)} partitions"):
        committed = admin.commit_group_offsets(group_id, wanted)
    for partition, error in committed.items():
        if error is not None:
            raise CommandError(f"The offset of {partition} was not committed for group {group_id}: {error}")


def _partitions(admin: "Admin", topics: Iterable[str]) -> "list[TopicPartition]":
    from gralha.client.values import TopicPartition
    from gralha.protocol.errors import KafkaError

    partitions = []
    for topic, description in admin.describe_topics(sorted(set(topics))).items():
        if isinstance(description, KafkaError):
            raise CommandError(f"Cannot use topic '{topic}': {description}")
        partitions += [TopicPartition(topic, one.partition) for one in description.partitions]
    return sorted(partitions)


def new_offsets(
    admin: "Admin", options: Namespace, partitions: "list[TopicPartition]", say: Callable[[str], None] = print
) -> "Offsets":
    """The offset of each partition, by the scenario of the options."""
    from gralha.cli.partition_offsets import end_offsets, start_offsets

    scenarios: dict[str, Callable[[], Offsets]] = {
        "to-offset": lambda: dict.fromkeys(partitions, options.to_offset),
        "to-latest": lambda: end_offsets(admin, partitions),
        "to-datetime": lambda: _at(admin, partitions, options.to_datetime, say),
        "by-duration": lambda: _at(admin, partitions, _now_ms() - options.by_duration, say),
        "from-file": lambda: _from_file(options, partitions),
        "shift-by": lambda: _shifted(admin, options, partitions),
    }
    starts = start_offsets(admin, partitions)
    chosen = next((scenario for name, scenario in scenarios.items() if given(options, name)), None)
    if chosen is None:
        return starts
    return within(chosen(), starts, end_offsets(admin, partitions), say)


def _now_ms() -> int:
    return round(time.time() * 1000)


def within(
    wanted: "Offsets",
    starts: "Mapping[TopicPartition, int]",
    ends: "Offsets",
    say: Callable[[str], None] = print,
) -> "Offsets":
    """The offsets, limited to the range of each partition."""
    offsets = {}
    for partition, offset in sorted(wanted.items()):
        offsets[partition] = min(max(offset, starts[partition]), ends[partition])
        if offsets[partition] != offset:
            side = "higher than latest" if offset > offsets[partition] else "lower than earliest"
            say(f"New offset ({offset}) is {side} offset. Value will be set to {offsets[partition]}")
    return offsets


def _at(
    admin: "Admin", partitions: "list[TopicPartition]", time_ms: int, say: Callable[[str], None]
) -> "Offsets":
    """The first offset at or after a time, or the end of the partition if all records are older."""
    from gralha.cli.partition_offsets import end_offsets, offsets_at

    offsets = offsets_at(admin, partitions, time_ms)
    without = [partition for partition, offset in offsets.items() if offset < 0]
    for topic, number in without:
        say(
            f"Partition {number} from topic {topic} is empty, without a committed record. Falling back to "
            "latest known offset."
        )
    return offsets | end_offsets(admin, without)


def _shifted(admin: "Admin", options: Namespace, partitions: "list[TopicPartition]") -> "Offsets":
    """The committed offsets, moved. A partition without one begins at its end, as in Kafka."""
    from gralha.cli.partition_offsets import committed_offsets, end_offsets

    committed = committed_offsets(admin, [options.application_id])[options.application_id]
    ends = end_offsets(admin, [partition for partition in partitions if partition not in committed])
    current = {
        partition: committed[partition].offset if partition in committed else ends[partition]
        for partition in partitions
    }
    return {partition: offset + options.shift_by for partition, offset in current.items()}


def _from_file(options: Namespace, partitions: "list[TopicPartition]") -> "Offsets":
    from gralha.cli.reset_plan import read_csv

    plan = read_csv(options.from_file, [options.application_id]).get(options.application_id, {})
    missing = [str(partition) for partition in partitions if partition not in plan]
    others = [str(partition) for partition in plan if partition not in partitions]
    if missing or others:
        problem = f"lacks {', '.join(missing)}" if missing else f"names {', '.join(others)}"
        raise CommandError(
            f"{options.from_file} {problem}. It must have a line for each partition of the input topics, and "
            "no other."
        )
    return plan


# --- internal topics ----------------------------------------------------------------------------------


def is_internal(topic: str, options: Namespace) -> bool:
    """Returns True if Kafka Streams has made this topic for the application, judging by the name."""
    return (
        topic not in (*options.input_topics, *options.intermediate_topics)
        and topic.startswith(f"{options.application_id}-")
        and _INTERNAL_TOPIC.fullmatch(topic) is not None
    )


def _delete_internal_topics(admin: "Admin", options: Namespace, topics: Iterable[str]) -> None:
    inferred = [topic for topic in topics if is_internal(topic, options)]
    chosen: list[str] = options.internal_topics or inferred
    if not set(chosen) <= set(inferred):
        raise CommandError(
            "Invalid topic specified in the --internal-topics option. Ensure that the topics specified are "
            "all internal topics. Do a dry run without the --internal-topics option to see the list of all "
            "internal topics that can be deleted."
        )
    kind = "specified" if options.internal_topics else "inferred"
    print(f"Deleting {kind} internal topics {_listed(chosen)}")
    if not options.dry_run and chosen:
        with Waiting(f"Deleting {len(chosen)} topics"):
            results = admin.delete_topics(chosen)
        errors = {topic: error for topic, error in results.items() if error is not None}
        if errors:
            reasons = ", ".join(f"{topic} ({error})" for topic, error in sorted(errors.items()))
            raise CommandError(f"Encountered an error deleting one or more topics: {reasons}")
    print("Done.")


def _listed(names: Iterable[str]) -> str:
    return f"[{', '.join(names)}]"
