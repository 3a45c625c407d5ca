"""The clients whose members play the scenarios of groups, and what each of them cannot do."""

from __future__ import annotations

from tests.clients.drivers.java_driver import JavaDriver
from tests.clients.drivers.kafkajs_driver import KafkajsDriver
from tests.clients.groups import GroupClient, python_members

CONSUMER_PROTOCOL = {
    "static_member_comes_back_after_a_crash": "the name of who did not say goodbye is free after its session",
    "new_topic_matches_the_pattern": "the broker looks for new matches every ten seconds, a long wait",
}

NO_STATIC_MEMBERS = "it has no group.instance.id"
FORGETFUL_LEADER = "its leader forgets a rebalance for new partitions when a poll() ends in the midst of it"

CONFLUENT = GroupClient("confluent-kafka", python_members("confluent"))
CONFLUENT_CONSUMER = GroupClient(
    "confluent-kafka consumer", python_members("confluent"), "consumer", cannot=CONSUMER_PROTOCOL
)
KAFKA_PYTHON = GroupClient(
    "kafka-python",
    python_members("kafka_python"),
    cannot={
        "name_of_a_static_member_is_taken": "it writes the error of its heartbeat to its log only",
        "new_topic_matches_the_pattern": FORGETFUL_LEADER,
        "partitions_are_added": FORGETFUL_LEADER,
    },
)
AIOKAFKA = GroupClient(
    "aiokafka",
    python_members("aiokafka"),
    cannot={
        "cooperative_handover": "it has eager assignors only",
        "name_of_a_static_member_is_taken": "its heartbeats do not tell the name, so it never hears of that",
        "too_large_group": "it does not know the error and asks again forever, without a word",
    },
)
KAFKAJS = GroupClient(
    "kafkajs",
    KafkajsDriver.command,
    cannot={
        "cooperative_handover": "it knows eager rebalances only",
        "static_member_comes_back": NO_STATIC_MEMBERS,
        "static_member_comes_back_after_a_crash": NO_STATIC_MEMBERS,
        "name_of_a_static_member_is_taken": NO_STATIC_MEMBERS,
        "no_reset_is_an_error": "its reset is to the first or to the last offset, never an error",
        "offsets_of_a_living_group_stay": "it looks by itself whether somebody is there, before it commits",
        "partitions_are_added": "it fails when it hears of partitions that were not there when it joined",
        "new_topic_matches_the_pattern": "it looks for matching topics once, when it subscribes",
    },
)
JAVA = GroupClient("java", JavaDriver.command)
JAVA_CONSUMER = GroupClient("java consumer", JavaDriver.command, "consumer", cannot=CONSUMER_PROTOCOL)
