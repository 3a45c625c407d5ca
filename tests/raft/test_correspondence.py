"""Requests to other nodes, without other nodes."""

import asyncio

from tests.raft.inline_loop import run_inline
from tests.raft.memory_disk import MemoryDisk
from tests.raft.memory_network import CODEC, Listener

from gralha.raft.driver import QuorumSettings, RaftDriver
from gralha.raft.events import BeginEpochRequest, Send
from gralha.raft.voters import ReplicaKey


class SilentPeers:
    """Nobody answers; `given_up` has the nodes whose requests were cancelled, in that order."""

    def __init__(self):
        self.given_up = []

    async def ask(self, node_id, request, *, timeout_ms, lane=""):
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.given_up.append(node_id)


def test_requests_under_way_are_given_up_in_their_order():
    """An order that depends on addresses in memory would make a simulated run differ from its repetition."""

    async def run():
        peers = SilentPeers()
        voters = list(range(1, 41))
        settings = QuorumSettings(1, voters, "/d", MemoryDisk(), lambda: 0, print, peers=peers)
        correspondence = RaftDriver(settings, CODEC, Listener())._correspondence
        for voter in voters:
            correspondence.send(Send(voter, BeginEpochRequest(1, 1, ReplicaKey(voter))))
        await asyncio.sleep(0)
        await correspondence.close()
        assert peers.given_up == voters

    run_inline(run())
