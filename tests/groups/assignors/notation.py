"""Groups and assignments in short: "a:0,1 b:2" are partitions 0 and 1 of a topic and 2 of another."""

from collections.abc import Mapping

from gralha.groups.assignors import Assignment, Assignor, AssignorMember


def topic_id(letter: str) -> bytes:
    return letter.encode().rjust(16, b"\0")


def parse(text: str) -> dict[bytes, frozenset[int]]:
    topics = (part.split(":") for part in text.split())
    return {
        topic_id(letter): frozenset(int(number) for number in numbers.split(","))
        for letter, numbers in topics
    }


def member(topics: str, assignment: str = "", instance_id: str | None = None) -> AssignorMember:
    return AssignorMember(frozenset(topic_id(letter) for letter in topics), parse(assignment), instance_id)


def write(assignment: Assignment) -> str:
    return " ".join(
        f"{topic.lstrip(bytes(1)).decode()}:{','.join(str(number) for number in sorted(assignment[topic]))}"
        for topic in sorted(assignment)
    )


def run(assign: Assignor, members: Mapping[str, AssignorMember], **partition_counts: int) -> dict[str, str]:
    counts = {topic_id(letter): count for letter, count in partition_counts.items()}
    return {member_id: write(assignment) for member_id, assignment in assign(members, counts).items()}


def sizes(assignments: Mapping[str, Assignment]) -> dict[str, int]:
    return {each: sum(len(numbers) for numbers in topics.values()) for each, topics in assignments.items()}


def check_complete(
    members: Mapping[str, AssignorMember],
    partition_counts: Mapping[bytes, int],
    assignments: Mapping[str, Assignment],
) -> None:
    """Each partition of a subscribed topic has exactly one owner, which subscribes to it."""
    assert set(assignments) == set(members)
    given = [
        (topic, number)
        for member_id, topics in assignments.items()
        for topic, numbers in topics.items()
        for number in numbers
        if topic in members[member_id].topics
    ]
    subscribed = frozenset().union(*(each.topics for each in members.values()))
    assert sorted(given) == sorted((topic, n) for topic in subscribed for n in range(partition_counts[topic]))
    assert sum(sizes(assignments).values()) == len(given)
    assert all(numbers for topics in assignments.values() for numbers in topics.values())
