"""The Python clients as members of groups and as producers, behind JSON lines: a process for tests to kill.

python -m tests.clients.members confluent 127.0.0.1:9092
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Iterable
from typing import Any, Protocol

from tests.clients.driver import ClientError
from tests.clients.members.member import Consumer, Member, Offsets, Options, Partition, Watch
from tests.clients.members.producer import Producers, TransactionalClient


class Client(Protocol):
    """The interface of a client's module."""

    def join(self, bootstrap: str, options: Options, watch: Watch) -> Consumer: ...

    def commit_outside(self, bootstrap: str, group: str, offsets: Offsets) -> None: ...

    def committed(self, bootstrap: str, group: str, partitions: list[Partition]) -> list[int | None]: ...


class Host:
    def __init__(self, client: Client, producers: TransactionalClient, bootstrap: str) -> None:
        self._client = client
        self._bootstrap = bootstrap
        self._members: dict[str, Member] = {}
        self._producers = Producers(
            producers, bootstrap, lambda member, call: self._members[member].ask(call)
        )

    def answer(self, request: dict[str, Any]) -> Any:
        call = request.pop("call")
        if self._producers.knows(call):
            return self._producers.answer(call, request)
        if call == "join":
            return self._join(request.pop("member"), Options(**request))
        if call == "commit_outside":
            offsets = offsets_of(request["offsets"])
            return self._client.commit_outside(self._bootstrap, request["group"], offsets)
        if call == "committed":
            partitions = [(topic, partition) for topic, partition in request["partitions"]]
            return self._client.committed(self._bootstrap, request["group"], partitions)
        return self._answer_member(call, self._members[request["member"]], request)

    def _join(self, name: str, options: Options) -> None:
        self._members[name] = Member(lambda watch: self._client.join(self._bootstrap, options, watch))

    def _answer_member(self, call: str, member: Member, request: dict[str, Any]) -> Any:
        if call == "look":
            return member.watch.look()
        if call == "leave":
            member.leave(request["wait"])
            return None
        if call == "commit":
            offsets = offsets_of(request["offsets"])
            return member.ask(lambda consumer: consumer.commit(offsets))
        partition = (request["topic"], request["partition"])
        if call == "seek":
            return member.ask(lambda consumer: consumer.seek(partition, request["offset"]))
        if call == "pause":
            return member.ask(lambda consumer: consumer.pause(partition))
        if call == "resume":
            return member.ask(lambda consumer: consumer.resume(partition))
        raise ValueError(f"no such call: {call}")


def offsets_of(triples: Iterable[tuple[str, int, int]]) -> Offsets:
    return {(topic, partition): offset for topic, partition, offset in triples}


def main() -> None:
    # The access to a secured cluster comes through the environment.
    name, bootstrap = sys.argv[1:3]
    client: Any = importlib.import_module(f"tests.clients.members.{name}_member")
    producers: Any = importlib.import_module(f"tests.clients.members.{name}_producer")
    host = Host(client, producers, bootstrap)
    for line in sys.stdin:
        try:
            answer = {"result": host.answer(json.loads(line))}
        except ClientError as error:
            answer = {"error": error.kind, "message": str(error)}
        except Exception as error:
            answer = {"error": type(error).__name__, "message": str(error)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    # Members that have not left are ignored: the next run has its own groups.
    os._exit(0)


if __name__ == "__main__":
    main()
