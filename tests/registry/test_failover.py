"""Several instances: no id is lost or given twice, whatever happens to the leader."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from gralha.registry.election import Identity, elect
from tests.registry.instances import Instance, running

NewSubject = Callable[[str], str]
TOPIC = {"kafkastore.topic": "", "schema.registry.group.id": ""}


def own_topic(new_subject: NewSubject) -> dict[str, str]:
    name = new_subject("schemas")
    return dict.fromkeys(TOPIC, name)


@pytest.fixture
def two(kafka: str, tmp_path: Path, new_subject: NewSubject) -> Iterator[list[Instance]]:
    with running(kafka, tmp_path, 2, own_topic(new_subject)) as instances:
        yield instances


def schema(number: int) -> dict[str, str]:
    return {"schema": f'{{"type":"fixed","name":"F{number}","size":{number + 1}}}'}


def register(instance: Instance, number: int) -> int:
    """Registers a schema of its own subject, and asks again while nobody leads."""
    deadline = time.monotonic() + 60
    with instance.client() as client:
        while True:
            try:
                answer = client.post(f"/subjects/s{number}/versions", json=schema(number))
            except httpx.TransportError:
                answer = None
            if answer is not None and answer.status_code == 200:
                return int(answer.json()["id"])
            assert answer is None or answer.status_code >= 500, answer.text
            assert time.monotonic() < deadline, instance.process.log_tail()
            time.sleep(0.02)


def leader_of(instances: list[Instance]) -> Instance:
    """The instance whose log ends with the news that it leads."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        leading = [one for one in instances if b"This instance leads" in one.process.log_file.read_bytes()]
        if len(leading) == 1:
            return leading[0]
        time.sleep(0.02)
    raise AssertionError("no single leader: " + "\n".join(one.process.log_tail() for one in instances))


def ids(instance: Instance, count: int) -> dict[str, int]:
    with instance.client() as client:
        return {
            f"s{number}": client.get(f"/subjects/s{number}/versions/1").json()["id"]
            for number in range(count)
        }


def check_topic(kafka: str, topic: str, acknowledged: dict[str, int]) -> None:
    """Each id stands for one schema in the topic, and everything that was acknowledged is there."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka,
            "group.id": "check",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    texts: dict[int, set[str]] = {}
    found: dict[str, int] = {}
    while (message := consumer.poll(10)) is not None and message.error() is None:
        if json.loads(message.key() or b"")["keytype"] == "SCHEMA":
            value = json.loads(message.value() or b"")
            texts.setdefault(value["id"], set()).add(value["schema"])
            found[value["subject"]] = value["id"]
    consumer.close()
    assert found == acknowledged
    assert all(len(one) == 1 for one in texts.values())


def test_an_instance_reads_the_topic_back(kafka: str, tmp_path: Path, new_subject: NewSubject) -> None:
    with running(kafka, tmp_path, 1, own_topic(new_subject)) as (instance,):
        before = {f"s{number}": register(instance, number) for number in range(5)}
        with instance.client() as client:
            client.put("/config/s1", json={"compatibility": "NONE"}).raise_for_status()
            client.delete("/subjects/s2").raise_for_status()
        instance.restart()
        with instance.client() as client:
            assert client.get("/config/s1").json() == {"compatibilityLevel": "NONE"}
            assert client.get("/subjects").json() == ["s0", "s1", "s3", "s4"]
            assert client.get(f"/schemas/ids/{before['s2']}").json()["schema"] == schema(2)["schema"]
        assert register(instance, 5) == max(before.values()) + 1


def test_a_follower_forwards_writes(two: list[Instance]) -> None:
    leader = leader_of(two)
    follower = two[1] if leader is two[0] else two[0]
    assert register(follower, 0) == 1
    with follower.client() as client, leader.client() as other:
        assert client.put("/config/s0", json={"compatibility": "FULL"}).json() == {"compatibility": "FULL"}
        refused = client.post("/subjects/s0/versions", json={"schema": '"int"'})
        assert (refused.status_code, refused.json()["error_code"]) == (409, 40901)
        assert client.delete("/subjects/s0").json() == [1]
        assert other.get("/subjects").json() == []


def test_two_writers_at_once(two: list[Instance], kafka: str) -> None:
    acknowledged: list[dict[str, int]] = [{}, {}]

    def write(place: int) -> None:
        for number in range(20):
            acknowledged[place][f"s{number}"] = register(two[place], number)

    threads = [threading.Thread(target=write, args=(place,)) for place in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert acknowledged[0] == acknowledged[1], "the same schema has the same id, wherever it was sent to"
    assert sorted(acknowledged[0].values()) == list(range(1, 21))
    check_topic(kafka, two[0].topic, acknowledged[0])


def test_a_killed_leader_is_replaced(two: list[Instance], kafka: str) -> None:
    leader = leader_of(two)
    other = two[1] if leader is two[0] else two[0]
    acknowledged = {f"s{number}": register(leader, number) for number in range(5)}
    leader.process.kill()
    acknowledged |= {f"s{number}": register(other, number) for number in range(5, 10)}
    assert sorted(acknowledged.values()) == list(range(1, 11))
    assert ids(other, 10) == acknowledged
    check_topic(kafka, other.topic, acknowledged)


def test_a_paused_leader_that_comes_back_is_fenced(two: list[Instance], kafka: str) -> None:
    leader = leader_of(two)
    other = two[1] if leader is two[0] else two[0]
    acknowledged = {f"s{number}": register(leader, number) for number in range(5)}
    leader.pause()
    try:
        acknowledged |= {f"s{number}": register(other, number) for number in range(5, 8)}
    finally:
        leader.resume()
    # It believes that it leads. Its write is refused by the brokers, and goes to the new leader.
    acknowledged |= {f"s{number}": register(leader, number) for number in range(8, 12)}
    assert sorted(acknowledged.values()) == list(range(1, 13))
    check_topic(kafka, other.topic, acknowledged)


def test_the_leader_stays_and_the_least_address_is_next() -> None:
    def metadata(port: int, *, leader: bool = False, is_eligible: bool = True) -> bytes:
        text = {"host": "h", "port": port, "master_eligibility": is_eligible, "scheme": "http", "version": 1}
        return json.dumps(text | {"leader": leader}).encode()

    def elected(members: dict[str, bytes]) -> str | None:
        told = elect(members)
        assert set(told) == set(members)
        (assignment,) = {json.dumps(json.loads(text), sort_keys=True) for text in told.values()}
        result = json.loads(assignment)
        assert result["version"] == 1
        return str(result["master"]) if result["error"] == 0 and "master" in result else None

    assert elected({"a": metadata(3), "b": metadata(2)}) == "b"
    assert elected({"a": metadata(3, leader=True), "b": metadata(2)}) == "a"
    assert elected({"a": metadata(3, leader=True), "b": metadata(2, leader=True)}) == "b"
    assert elected({"a": metadata(3), "b": metadata(2, is_eligible=False)}) == "a"
    assert elected({"a": metadata(3, is_eligible=False)}) is None
    assert elected({"a": metadata(3), "b": metadata(3)}) is None, "two with the same address"


def test_identities_have_confluents_json() -> None:
    import msgspec

    text = msgspec.json.encode(Identity.of("http", "h", 8081, is_eligible=True))
    assert text == (
        b'{"host":"h","port":8081,"master_eligibility":true,"scheme":"http","version":1,"leader":false}'
    )
