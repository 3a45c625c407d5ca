"""DeleteGroups: deletes groups without members, and their offsets."""

from collections.abc import Iterable, Mapping

from gralha.coordination.decision import Decision
from gralha.groups.group import Group
from gralha.groups.offsets import Offsets
from gralha.groups.records import GroupDecision, GroupRecord
from gralha.protocol.errors import GroupIdNotFoundError, KafkaError
from gralha.protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsResponse


def delete_groups(groups: Mapping[str, Group], offsets: Offsets, group_ids: Iterable[str]) -> GroupDecision:
    """Delete groups. Each has a result of its own: an error of one does not keep the others."""
    response = DeleteGroupsResponse()
    records: list[GroupRecord] = []
    for group_id in dict.fromkeys(group_ids):
        result = DeletableGroupResult(group_id)
        response.results.append(result)
        try:
            records.extend(_tombstones(groups, offsets, group_id))
        except KafkaError as error:
            result.error_code = error.code
    return Decision(response, records)


def _tombstones(groups: Mapping[str, Group], offsets: Offsets, group_id: str) -> list[GroupRecord]:
    group = groups.get(group_id)
    if group is None:
        raise GroupIdNotFoundError(f"Group {group_id} not found.")
    group.check_delete()
    return offsets.tombstones_of_group(group_id) + group.tombstones()
