"""The tables of kafka-consumer-groups --describe: offsets, members and states.

Each function makes the text of one group and sends no requests. A table begins with an empty line.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gralha.cli.colour import yellow
from gralha.cli.program import CommandError

if TYPE_CHECKING:
    from gralha.client.group_values import CommittedOffset, GroupDescription
    from gralha.client.values import TopicPartition

_MISSING = "-"
_REBALANCING = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")


class OffsetRow(NamedTuple):
    """The committed offset of a group in a partition, and the member that reads it."""

    partition: "TopicPartition"
    committed: "CommittedOffset | None"
    log_end_offset: int | None
    consumer_id: str = _MISSING
    host: str = _MISSING
    client_id: str = _MISSING

    @property
    def lag(self) -> int | None:
        if self.committed is None or self.log_end_offset is None:
            return None
        return self.log_end_offset - self.committed.offset


def remark(group: "GroupDescription") -> str | None:
    """Kafka's remark about the state of a group, before the table."""
    if group.state == "Empty":
        return f"Consumer group '{group.group_id}' has no active members."
    if group.state in _REBALANCING:
        return f"Warning: Consumer group '{group.group_id}' is rebalancing."
    if group.state == "Dead":
        return f"Error: Consumer group '{group.group_id}' does not exist."
    if group.state != "Stable":
        raise CommandError(f"Expected a valid consumer group state, but found '{group.state}'.")
    return None


def offset_rows(
    group: "GroupDescription",
    committed: "Mapping[TopicPartition, CommittedOffset]",
    log_end_offsets: "Mapping[TopicPartition, int]",
) -> list[OffsetRow]:
    """The partitions of each member, with the busiest member first, then partitions without a member."""
    rows = []
    unassigned = set(committed)
    for member in sorted(group.members, key=lambda member: -len(member.assignment)):
        unassigned.difference_update(member.assignment)
        rows += [
            OffsetRow(
                partition,
                committed.get(partition),
                log_end_offsets.get(partition),
                member.member_id,
                member.host,
                member.client_id,
            )
            for partition in sorted(member.assignment)
        ]
    rows += [
        OffsetRow(partition, committed[partition], log_end_offsets.get(partition))
        for partition in sorted(unassigned)
    ]
    return rows


def offsets_table(group_id: str, rows: Sequence[OffsetRow], *, verbose: bool) -> str:
    """The table of offsets and lag. Without rows it is empty."""
    if not rows:
        return ""
    header = ["GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG"]
    header += ["CONSUMER-ID", "HOST", "CLIENT-ID"]
    widths = [15, 15, 10, 15, 15, 15, 15, 15, 0]
    stretched = [0, 1, 6, 7]
    lines = []
    for row in rows:
        offset = None if row.committed is None else row.committed.offset
        numbers = [_text(offset), _text(row.log_end_offset), _text(row.lag)]
        line = [group_id, row.partition.topic, str(row.partition.partition), *numbers]
        lines.append([*line, row.consumer_id, row.host, row.client_id])
    if verbose:
        header.insert(3, "LEADER-EPOCH")
        widths.insert(3, 15)
        stretched = [0, 1, 7, 8]
        for row, line in zip(rows, lines, strict=True):
            line.insert(3, _text(None if row.committed is None else row.committed.leader_epoch))
    return table(header, lines, widths, stretched)


def with_colours(text: str, rows: Sequence[OffsetRow]) -> str:
    """The table of offsets with a colour for partitions that lag, if it is for a terminal."""
    lines = text.splitlines(keepends=True)
    first = len(lines) - len(rows)
    for place, row in enumerate(rows, start=first):
        if row.lag:
            lines[place] = yellow(lines[place].rstrip("\n")) + "\n"
    return "".join(lines)


def members_table(group: "GroupDescription", *, verbose: bool) -> str:
    """The table of members. Kafka shows its header even if there are no members."""
    has_instances = any(member.instance_id for member in group.members)
    # A group with members of both protocols is migrating from one to the other (KIP-848).
    is_migrating = {member.is_upgraded for member in group.members} >= {True, False}
    header = ["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS"]
    widths = [15, 15, 15, 15, 15]
    if has_instances:
        header.insert(2, "GROUP-INSTANCE-ID")
        widths.insert(2, 17)
    stretched = list(range(len(header) - 1))
    if verbose:
        stretched += [len(header) + 1, len(header) + 3]
        header += ["CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT"]
        widths += [15, 20, 15, 20]
        if is_migrating:
            header.append("UPGRADED")
            widths.append(0)
    lines = []
    for member in group.members:
        line = [group.group_id, member.member_id, member.host, member.client_id, str(len(member.assignment))]
        if has_instances:
            line.insert(2, member.instance_id or "")
        if verbose:
            line += [_text(member.epoch), assignment_text(member.assignment)]
            line += [_text(group.assignment_epoch), assignment_text(member.target_assignment or [])]
            if is_migrating:
                line.append(_MISSING if member.is_upgraded is None else str(member.is_upgraded).lower())
        lines.append(line)
    # Kafka writes a blank after the last column if more columns can follow.
    return table(header, lines, widths, stretched, end="" if verbose else " ")


def state_table(group: "GroupDescription", *, verbose: bool) -> str:
    """The table with the state of a group, in one line."""
    coordinator = group.coordinator
    header = ["GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"]
    widths = [15, 25, 20, 20, 0]
    address = f"{coordinator.host}:{coordinator.port}  ({coordinator.id})"
    line = [group.group_id, address, group.assignor or _MISSING, group.state, str(len(group.members))]
    if verbose:
        header[4:4] = ["GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"]
        widths[4:4] = [15, 25]
        line[4:4] = [_text(group.epoch), _text(group.assignment_epoch)]
    return table(header, [line], widths, [0, 1])


def table(
    header: Sequence[str],
    lines: Sequence[Sequence[str]],
    widths: Sequence[int],
    stretched: Iterable[int],
    end: str = "",
) -> str:
    """A table. Columns have at least these widths; stretched columns are as wide as their longest text."""
    sizes = list(widths)
    for column in stretched:
        sizes[column] = max([sizes[column], *(len(line[column]) for line in lines)])
    texts = [
        " ".join(text.ljust(size) for text, size in zip(line, sizes, strict=True)) + end
        for line in (header, *lines)
    ]
    return "\n" + "".join(f"{text}\n" for text in texts)


def assignment_text(partitions: "Iterable[TopicPartition]") -> str:
    """Partitions as `topic:0,1;other:0`."""
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        topics.setdefault(topic, []).append(partition)
    parts = sorted(f"{topic}:{','.join(map(str, numbers))}" for topic, numbers in topics.items())
    return ";".join(parts) or _MISSING


def _text(number: int | None) -> str:
    return _MISSING if number is None else str(number)
