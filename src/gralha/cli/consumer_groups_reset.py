"""kafka-consumer-groups --reset-offsets: changes the offsets of groups without members.

A scenario (`--to-earliest`, `--shift-by`, ...) makes a plan: a new offset for each partition of each group.
The command shows the plan, or exports it as CSV for `--from-file`. With `--execute` it commits the new
offsets.
"""

import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from gralha.cli.arguments import given
from gralha.cli.json_output import print_json
from gralha.cli.partition_offsets import (
    check_partitions,
    committed_offsets,
    end_offsets,
    named_partitions,
    offsets_at,
    start_offsets,
)
from gralha.cli.program import EXIT_FAILED, CommandError
from gralha.cli.reset_plan import Offsets, Plan, export_csv, plan_table, read_csv
from gralha.cli.waiting import Waiting
from gralha.client.group_values import DEAD, EMPTY, CommittedOffset
from gralha.client.values import TopicPartition
from gralha.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from gralha.client.admin import Admin


def reset(admin: "Admin", options: Namespace, group_ids: Iterable[str]) -> int:
    """Makes the plan, executes it with --execute, and shows it."""
    from_file = read_csv(options.from_file, options.group) if options.from_file is not None else {}
    plan: Plan = {}
    states = _states(admin, group_ids)
    with Waiting(lambda: f"Reading the offsets of group {len(plan)} of {len(states)}") as line:
        is_refused = _make_plan(admin, options, states, from_file, plan, line)
    if options.json:
        from gralha.cli.consumer_groups_json import new_offsets

        print_json(isExecuted=options.execute, groups=new_offsets(plan))
    elif options.export:
        print(export_csv(plan, with_group=len(options.group) != 1))
    else:
        print(plan_table(plan), end="")
    return EXIT_FAILED if is_refused else 0


def _make_plan(
    admin: "Admin",
    options: Namespace,
    states: Mapping[str, str],
    from_file: Plan,
    plan: Plan,
    line: Waiting,
) -> bool:
    """Adds the new offsets of each group to the plan, and commits them with --execute.

    Returns True if a group was refused.
    """
    is_refused = False
    # The JSON is alone on standard output.
    complaints = sys.stderr if options.json else None
    for group_id, state in states.items():
        plan[group_id] = {}
        if state not in (EMPTY, DEAD):
            line.say(
                f"\nError: Assignments can only be reset if the group '{group_id}' is inactive, "
                f"but the current state is {state}.",
                complaints,
            )
            is_refused = True
        elif options.from_file is not None and group_id not in from_file:
            line.say(f"\nError: No reset plan for group {group_id} found", complaints)
            is_refused = True
        else:
            scenarios = _Scenarios(admin, options, group_id, line)
            plan[group_id] = scenarios.new_offsets(from_file.get(group_id, {}))
            if options.execute:
                _commit(admin, group_id, plan[group_id])
    return is_refused


def _states(admin: "Admin", group_ids: Iterable[str]) -> dict[str, str]:
    """The state of each group. A group that does not exist is Dead."""
    states = {}
    for group_id, group in admin.describe_groups(group_ids).items():
        if not isinstance(group, KafkaError):
            states[group_id] = group.state
        elif group.code == ErrorCode.GROUP_ID_NOT_FOUND:
            states[group_id] = DEAD
        else:
            raise group
    return states


def _commit(admin: "Admin", group_id: str, offsets: Offsets) -> None:
    new = {partition: CommittedOffset(offset) for partition, offset in offsets.items()}
    for partition, error in admin.commit_group_offsets(group_id, new).items():
        if error is not None:
            raise CommandError(f"The offset of {partition} was not committed for group {group_id}: {error}")


class _Scenarios:
    """The ways to choose new offsets for the partitions of one group."""

    def __init__(self, admin: "Admin", options: Namespace, group_id: str, line: Waiting) -> None:
        self._admin = admin
        self._options = options
        self._group_id = group_id
        self._line = line

    def new_offsets(self, from_file: Offsets) -> Offsets:
        """The new offset of each partition, by the scenario of the options."""
        if self._options.from_file is not None:
            check_partitions(self._admin, from_file)
            return self._within_logs(from_file)
        scenarios: dict[str, Callable[[list[TopicPartition]], Offsets]] = {
            "to-offset": self._to_offset,
            "to-earliest": lambda partitions: start_offsets(self._admin, partitions),
            "to-latest": lambda partitions: end_offsets(self._admin, partitions),
            "to-current": self._to_current,
            "shift-by": self._shift_by,
            "to-datetime": lambda partitions: self._at(partitions, self._options.to_datetime),
            "by-duration": self._by_duration,
        }
        (scenario,) = (function for name, function in scenarios.items() if given(self._options, name))
        partitions = self._partitions()
        check_partitions(self._admin, partitions)
        return scenario(partitions)

    def _partitions(self) -> list[TopicPartition]:
        if self._options.all_topics:
            return sorted(self._committed())
        partitions, unknown_topics = named_partitions(self._admin, self._options.topic)
        for topic, error in unknown_topics.items():
            raise CommandError(f"Cannot use topic '{topic}': {error}")
        return partitions

    def _committed(self) -> Offsets:
        committed = committed_offsets(self._admin, [self._group_id])[self._group_id]
        return {partition: entry.offset for partition, entry in committed.items()}

    def _to_offset(self, partitions: list[TopicPartition]) -> Offsets:
        return self._within_logs(dict.fromkeys(partitions, self._options.to_offset))

    def _to_current(self, partitions: list[TopicPartition]) -> Offsets:
        """The committed offset, or the end of the partition if there is none."""
        committed = self._committed()
        ends = end_offsets(self._admin, [partition for partition in partitions if partition not in committed])
        return {partition: committed.get(partition, ends.get(partition, 0)) for partition in partitions}

    def _shift_by(self, partitions: list[TopicPartition]) -> Offsets:
        committed = self._committed()
        for partition in partitions:
            if partition not in committed:
                raise CommandError(
                    f"Cannot shift offset for partition {partition} "
                    "since there is no current committed offset"
                )
        return self._within_logs(
            {partition: committed[partition] + self._options.shift_by for partition in partitions}
        )

    def _by_duration(self, partitions: list[TopicPartition]) -> Offsets:
        now_ms = round(time.time() * 1000)
        return self._at(partitions, now_ms - self._options.by_duration)

    def _at(self, partitions: list[TopicPartition], time_ms: int) -> Offsets:
        """The first offset at or after a time, or the end of the partition if all records are older."""
        offsets = offsets_at(self._admin, partitions, time_ms)
        without = [partition for partition, offset in offsets.items() if offset < 0]
        for topic, number in without:
            self._line.say(
                f"\nWarn: Partition {number} from topic {topic} is empty. "
                "Falling back to latest known offset.",
                sys.stderr if self._options.json else None,
            )
        return offsets | end_offsets(self._admin, without)

    def _within_logs(self, wanted: Mapping[TopicPartition, int]) -> Offsets:
        """The offsets, limited to the range of each partition."""
        starts = start_offsets(self._admin, wanted)
        ends = end_offsets(self._admin, wanted)
        offsets = {}
        for partition, offset in wanted.items():
            bound = min(max(offset, starts[partition]), ends[partition])
            if bound != offset:
                side = "higher than latest" if offset > bound else "lower than earliest"
                self._line.say(
                    f"WARN New offset ({offset}) is {side} offset for topic partition {partition}. "
                    f"Value will be set to {bound}",
                    sys.stderr,
                )
            offsets[partition] = bound
        return offsets
