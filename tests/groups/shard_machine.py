"""A Machine whose room is a whole shard, and requests that find their way by themselves."""

from random import Random

from tests.groups.classic_room import lasting
from tests.groups.harness import Machine, Recorder

from gralha.coordination.timers import Timers
from gralha.groups.caller import Caller
from gralha.groups.classic_group import ClassicGroup, ClassicState
from gralha.groups.config import GroupsConfig
from gralha.groups.consumer_group import ConsumerGroup
from gralha.groups.group import Group
from gralha.groups.records import GroupDecision
from gralha.groups.shard import GroupShard
from gralha.groups.topics import Topics
from gralha.protocol.message import Message
from gralha.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from gralha.protocol.messages.heartbeat import HeartbeatRequest
from gralha.protocol.messages.join_group import JoinGroupRequest
from gralha.protocol.messages.leave_group import LeaveGroupRequest
from gralha.protocol.messages.sync_group import SyncGroupRequest


class ShardMachine(Machine[GroupShard]):
    def __init__(self, config: GroupsConfig, topics: Topics) -> None:
        random = Random(0)

        def build(_timers: Timers) -> GroupShard:
            return GroupShard(config, topics, lambda _group_id: config.consumer_times, random)

        super().__init__(build, GroupShard.replay, GroupShard.on_loaded)

    # A shard brings its own timers.

    @property
    def timers(self) -> Timers:
        return self.room.timers if hasattr(self, "room") else Timers()

    @timers.setter
    def timers(self, _timers: Timers) -> None:
        pass

    def send(self, request: Message, client_id: str = "client", api_version: int | None = None) -> Recorder:
        """Have a request decided."""
        version = type(request).MAX_VERSION if api_version is None else api_version
        caller = Caller(client_id, "/127.0.0.1", version)
        reply = Recorder()
        now_ms = self.now_ms

        def decide(shard: GroupShard) -> GroupDecision:
            match request:
                case JoinGroupRequest():
                    return shard.join_group(caller, request, reply, now_ms)
                case SyncGroupRequest():
                    return shard.sync_group(caller, request, reply, now_ms)
                case HeartbeatRequest():
                    return shard.heartbeat(caller, request, now_ms)
                case LeaveGroupRequest():
                    return shard.leave_group(caller, request, now_ms)
                case ConsumerGroupHeartbeatRequest():
                    return shard.consumer_group_heartbeat(caller, request, now_ms)
            raise AssertionError(request)

        return self.ask(decide, reply)

    def check_replay(self) -> None:
        """Check that a replay of the log gives the shard's state, except for parts that are never written."""
        groups, loaded = self.room.groups, self.loaded().groups
        assert groups.keys() == loaded.keys()
        for group_id, group in groups.items():
            if not isinstance(group, ClassicGroup) or group.state in (
                ClassicState.EMPTY,
                ClassicState.STABLE,
            ):
                assert written_state(group) == written_state(loaded[group_id])


def written_state(group: Group) -> object:
    """The state of a group that a new coordinator loads."""
    if isinstance(group, ClassicGroup):
        return lasting(group)
    assert isinstance(group, ConsumerGroup)
    return {
        name: value for name, value in vars(group).items() if name != "checks" and not name.startswith("_")
    }
