"""Random groups: members with subscriptions and with whatever they had before."""

from hypothesis import strategies as st
from tests.groups.assignors.notation import topic_id

from gralha.groups.assignors import AssignorMember

LETTERS = "abcde"

partition_counts = st.fixed_dictionaries({topic_id(letter): st.integers(1, 8) for letter in LETTERS})
subscriptions = st.frozensets(st.sampled_from([topic_id(letter) for letter in LETTERS]))
member_ids = st.sampled_from([f"member-{number}" for number in range(8)])


@st.composite
def groups(
    draw: st.DrawFn, *, homogeneous: bool = False
) -> tuple[dict[str, AssignorMember], dict[bytes, int]]:
    """Members whose former partitions are disjoint, though perhaps not of topics they subscribe to now."""
    counts = draw(partition_counts)
    ids = draw(st.lists(member_ids, min_size=1, unique=True))
    common = draw(subscriptions) if homogeneous else None
    before: dict[str, dict[bytes, set[int]]] = {member_id: {} for member_id in ids}
    for topic, count in counts.items():
        for number in range(count):
            owner = draw(st.none() | st.sampled_from(ids))
            if owner is not None:
                before[owner].setdefault(topic, set()).add(number)
    members = {}
    for member_id in ids:
        assignment = {topic: frozenset(numbers) for topic, numbers in before[member_id].items()}
        instance_id = draw(st.none() | st.just(f"instance-{member_id}"))
        topics = draw(subscriptions) if common is None else common
        members[member_id] = AssignorMember(topics, assignment, instance_id)
    return members, counts
