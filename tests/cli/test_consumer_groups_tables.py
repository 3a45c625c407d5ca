"""The tables of kafka-consumer-groups, character by character, without a broker.

They were taken from Apache Kafka 4.3; the blanks at the ends of lines are its own.
"""

from pathlib import Path

import pytest

from gralha.cli.consumer_groups import deletion_table, listing_table
from gralha.cli.consumer_groups_description import (
    assignment_text,
    members_table,
    offset_rows,
    offsets_table,
    remark,
    state_table,
)
from gralha.cli.program import CommandError
from gralha.cli.reset_plan import export_csv, plan_table, read_csv
from gralha.client.cluster import Broker
from gralha.client.group_values import CommittedOffset, GroupDescription, GroupListing, GroupMember
from gralha.client.values import TopicPartition
from gralha.protocol.errors import ErrorCode, error_for

BROKER = Broker(1, "127.0.0.1", 24574)
CLASSIC_MEMBERS = [
    GroupMember("c0-d9e77222", "static-0", "c0", "/127.0.0.1", [TopicPartition("orders", 2)]),
    GroupMember(
        "other-0e8c1bf2-f47f-4c71-9ae4-b35a39be7cf1",
        None,
        "other",
        "/127.0.0.1",
        [TopicPartition("payments", 0), TopicPartition("orders", 10), TopicPartition("orders", 1)],
    ),
    GroupMember("idle-1", None, "idle", "/127.0.0.1", []),
]
CLASSIC = GroupDescription("readers", "Classic", "Stable", "range", BROKER, CLASSIC_MEMBERS)
EMPTY = GroupDescription("gone", "Classic", "Empty", "", BROKER, [])


def consumer_group(*, upgraded: bool | None) -> GroupDescription:
    partitions = [TopicPartition("orders", 0), TopicPartition("payments", 0)]
    members = [
        GroupMember("f5zGbny3RAmSL", None, "c0", "/127.0.0.1", partitions, partitions, 3, True),
        GroupMember("TPMre4hZSIeuS", None, "c1", "/127.0.0.1", [], partitions[:1], 2, upgraded),
    ]
    return GroupDescription("new", "Consumer", "Reconciling", "uniform", BROKER, members, 4, 3)


def test_offsets_and_lag() -> None:
    committed = {
        TopicPartition("orders", 1): CommittedOffset(7, 0),
        TopicPartition("orders", 2): CommittedOffset(10),
        TopicPartition("payments", 0): CommittedOffset(12, 3),
        TopicPartition("topics-that-nobody-reads", 0): CommittedOffset(1),
        TopicPartition("a-topic-that-is-gone", 0): CommittedOffset(5),
    }
    ends = {
        TopicPartition("orders", 1): 10,
        TopicPartition("orders", 10): 4,
        TopicPartition("orders", 2): 10,
        TopicPartition("payments", 0): 30,
        TopicPartition("topics-that-nobody-reads", 0): 2,
    }
    rows = offset_rows(CLASSIC, committed, ends)
    other = "other-0e8c1bf2-f47f-4c71-9ae4-b35a39be7cf1"
    pad = " " * 31
    assert offsets_table("readers", rows, verbose=False) == (
        "\n"
        "GROUP           TOPIC                    PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             "
        f"CONSUMER-ID{pad} HOST            CLIENT-ID\n"
        "readers         orders                   1          7               10              3               "
        f"{other} /127.0.0.1      other\n"
        "readers         orders                   10         -               4               -               "
        f"{other} /127.0.0.1      other\n"
        "readers         payments                 0          12              30              18              "
        f"{other} /127.0.0.1      other\n"
        "readers         orders                   2          10              10              0               "
        f"c0-d9e77222{pad} /127.0.0.1      c0\n"
        "readers         a-topic-that-is-gone     0          5               -               -               "
        f"-{' ' * 10}{pad} -               -\n"
        "readers         topics-that-nobody-reads 0          1               2               1               "
        f"-{' ' * 10}{pad} -               -\n"
    )
    first, second = offsets_table("g", rows[:1], verbose=True).splitlines()[1:]
    assert first.startswith(
        "GROUP           TOPIC           PARTITION  LEADER-EPOCH    CURRENT-OFFSET  LOG-END"
    )
    assert second.startswith(
        "g               orders          1          0               7               10  "
    )


def test_a_group_without_offsets_has_no_table() -> None:
    assert offsets_table("gone", offset_rows(EMPTY, {}, {}), verbose=False) == ""


def test_members() -> None:
    assert members_table(CLASSIC, verbose=False) == (
        "\n"
        "GROUP           CONSUMER-ID                                GROUP-INSTANCE-ID HOST            "
        "CLIENT-ID       #PARTITIONS     \n"
        "readers         c0-d9e77222                                static-0          /127.0.0.1      "
        "c0              1               \n"
        "readers         other-0e8c1bf2-f47f-4c71-9ae4-b35a39be7cf1                   /127.0.0.1      "
        "other           3               \n"
        "readers         idle-1                                                       /127.0.0.1      "
        "idle            0               \n"
    )
    header = "GROUP           CONSUMER-ID     HOST            CLIENT-ID       #PARTITIONS     "
    assert members_table(EMPTY, verbose=False) == f"\n{header}\n"


def test_members_with_their_assignments() -> None:
    assert members_table(consumer_group(upgraded=True), verbose=True) == (
        "\n"
        "GROUP           CONSUMER-ID     HOST            CLIENT-ID       #PARTITIONS     CURRENT-EPOCH   "
        "CURRENT-ASSIGNMENT   TARGET-EPOCH    TARGET-ASSIGNMENT   \n"
        "new             f5zGbny3RAmSL   /127.0.0.1      c0              2               3               "
        "orders:0;payments:0  3               orders:0;payments:0 \n"
        "new             TPMre4hZSIeuS   /127.0.0.1      c1              0               2               "
        "-                    3               orders:0            \n"
    )
    header, first, second = members_table(consumer_group(upgraded=False), verbose=True).splitlines()[1:]
    assert header.endswith(" TARGET-ASSIGNMENT    UPGRADED")
    assert first.endswith(" orders:0;payments:0  true")
    assert second.endswith(" orders:0             false")


def test_states() -> None:
    assert state_table(consumer_group(upgraded=None), verbose=True) == (
        "\n"
        "GROUP           COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE                GROUP-EPOCH     "
        "TARGET-ASSIGNMENT-EPOCH   #MEMBERS\n"
        "new             127.0.0.1:24574  (1)      uniform              Reconciling          4               "
        "3                         2\n"
    )
    assert state_table(EMPTY, verbose=False) == (
        "\n"
        "GROUP           COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE                #MEMBERS\n"
        "gone            127.0.0.1:24574  (1)      -                    Empty                0\n"
    )


def test_remarks_on_states() -> None:
    assert remark(CLASSIC) is None
    assert remark(EMPTY) == "Consumer group 'gone' has no active members."
    assert remark(consumer_group(upgraded=None)) == "Warning: Consumer group 'new' is rebalancing."
    assert remark(EMPTY._replace(state="Dead")) == "Error: Consumer group 'gone' does not exist."
    with pytest.raises(CommandError, match="Expected a valid consumer group state, but found 'Odd'"):
        remark(EMPTY._replace(state="Odd"))


def test_assignments_are_ordered_by_number() -> None:
    assert assignment_text(CLASSIC_MEMBERS[1].assignment) == "orders:1,10;payments:0"
    assert assignment_text([]) == "-"


def test_listings() -> None:
    groups = [
        GroupListing("readers", "consumer", "Stable", "Classic"),
        GroupListing("a-group-with-a-longer-name", "consumer", "", ""),
    ]
    assert listing_table(groups, with_type=True, with_state=True) == (
        "GROUP                                TYPE                 STATE               \n"
        "readers                              Classic              Stable              \n"
        "a-group-with-a-longer-name           Unknown              Unknown             \n"
    )
    assert (
        listing_table([], with_type=False, with_state=True)
        == "GROUP                     STATE               \n"
    )


def test_deletions() -> None:
    gone = error_for(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "It is gone.")
    results = {TopicPartition("t", 10): None, TopicPartition("t", 9): gone, TopicPartition("s", -1): gone}
    assert deletion_table(results) == (
        "\n"
        "TOPIC           PARTITION  STATUS         \n"
        "s               -          Error: It is gone.\n"
        "t               9          Error: It is gone.\n"
        "t               10         Successful     \n"
    )


LONG = "a-topic-name-of-more-than-twenty-four"
PLAN = {
    "g2": {TopicPartition("orders", 10): 4, TopicPartition("orders", 9): 5},
    "g 1": {TopicPartition(LONG, 1): 6},
}


def test_plans() -> None:
    assert plan_table(PLAN) == (
        "\n"
        "GROUP           TOPIC                                 PARTITION  NEW-OFFSET\n"
        "g 1             a-topic-name-of-more-than-twenty-four 1          6\n"
        "g2              orders                                9          5\n"
        "g2              orders                                10         4\n"
    )
    assert plan_table({"g": {}}) == "\nGROUP           TOPIC           PARTITION  NEW-OFFSET\n"
    assert plan_table({}) == "\n"


def test_plans_are_exported_as_kafka_quotes_them(tmp_path: Path) -> None:
    text = export_csv(PLAN, with_group=True)
    assert text == f'"g 1","{LONG}",1,6\ng2,orders,9,5\ng2,orders,10,4\n'
    file = tmp_path / "plan.csv"
    file.write_text(text)
    assert read_csv(str(file), ["g2", "g 1"]) == PLAN
    assert read_csv(str(file), []) == PLAN


def test_a_plan_for_one_group_need_not_name_it(tmp_path: Path) -> None:
    file = tmp_path / "plan.csv"
    file.write_text(export_csv({"g2": PLAN["g2"]}, with_group=False) + "\n")
    assert read_csv(str(file), ["g2"]) == {"g2": PLAN["g2"]}
    with pytest.raises(CommandError, match=r"Line 1 of .*plan.csv is not group,topic,partition,offset"):
        read_csv(str(file), ["g2", "g3"])
    file.write_text("orders,0,7\norders,zero,7\n")
    with pytest.raises(CommandError, match=r"Line 2 of .*plan.csv is not topic,partition,offset"):
        read_csv(str(file), ["g2"])


def test_names_with_quotes_survive_a_round_trip(tmp_path: Path) -> None:
    plan = {'say "hi", you': {TopicPartition("t", 0): 1}}
    file = tmp_path / "plan.csv"
    file.write_text(export_csv(plan, with_group=True))
    assert read_csv(str(file), []) == plan
