"""New offsets of groups: as a table, as CSV, and from CSV."""

import csv
from collections.abc import Sequence

from gralha.cli.consumer_groups_description import table
from gralha.cli.program import CommandError
from gralha.cli.text_file import read_text
from gralha.client.values import TopicPartition

Offsets = dict[TopicPartition, int]
Plan = dict[str, Offsets]

# Kafka's CSV writer quotes longer texts, and texts that begin with a character before this one.
_QUOTED_LENGTH = 24
_FIRST_SAFE_CHARACTER = "-"


def plan_table(plan: Plan) -> str:
    """The new offsets in Kafka's table. Without a group it is a line break."""
    if not plan:
        return "\n"
    lines = [
        [group_id, partition.topic, str(partition.partition), str(offset)]
        for group_id, offsets in sorted(plan.items())
        for partition, offset in sorted(offsets.items())
    ]
    # Groups without new offsets count for the width, too.
    group_width = max([15, *map(len, plan)])
    return table(["GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"], lines, [group_width, 15, 10, 0], [1])


def export_csv(plan: Plan, *, with_group: bool) -> str:
    """The new offsets as lines of topic, partition, offset. The group comes first if there may be several."""
    lines = []
    for group_id, offsets in sorted(plan.items()):
        first = [_quoted(group_id)] if with_group else []
        for partition, offset in sorted(offsets.items()):
            lines.append(",".join([*first, _quoted(partition.topic), str(partition.partition), str(offset)]))
    return "".join(f"{line}\n" for line in lines)


def _quoted(text: str) -> str:
    if len(text) <= _QUOTED_LENGTH and all(character >= _FIRST_SAFE_CHARACTER for character in text):
        return text
    escaped = text.replace('"', '""')
    return f'"{escaped}"'


def read_csv(path: str, group_ids: Sequence[str]) -> Plan:
    """The new offsets in a file. If there is only one group, the file need not name it."""
    plan: Plan = {}
    lines = read_text(path, "the reset plan").splitlines()
    for number, fields in enumerate(csv.reader(lines), 1):
        if not fields:
            continue
        if len(fields) == 3 and len(group_ids) == 1:
            fields = [group_ids[0], *fields]
        try:
            group_id, topic, partition, offset = (field.strip() for field in fields)
            plan.setdefault(group_id, {})[TopicPartition(topic, int(partition))] = int(offset)
        except ValueError:
            wanted = "topic,partition,offset" if len(group_ids) == 1 else "group,topic,partition,offset"
            raise CommandError(f"Line {number} of {path} is not {wanted}") from None
    return plan
