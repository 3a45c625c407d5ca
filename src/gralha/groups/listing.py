"""ListGroups: lists the groups of a shard, filtered by state and type."""

from collections.abc import Iterable, Sequence

from gralha.groups.group import Group
from gralha.protocol.messages.list_groups import ListedGroup


def list_groups(
    groups: Iterable[Group], states_filter: Sequence[str], types_filter: Sequence[str]
) -> list[ListedGroup]:
    """List groups. An empty filter lets all groups pass (KIP-518, KIP-848). Case does not matter."""
    states = {state.strip().lower() for state in states_filter}
    types = {type_name.lower() for type_name in types_filter}
    return [
        _listed(group)
        for group in groups
        if (not states or group.state_name.lower() in states)
        and (not types or group.type.value.lower() in types)
    ]


def _listed(group: Group) -> ListedGroup:
    return ListedGroup(
        group_id=group.group_id,
        protocol_type=group.protocol_type,
        group_state=group.state_name,
        # Kafka's brokers send the type in lower case, and its tools print what they get.
        group_type=group.type.value.lower(),
    )
