"""The transactional producers of a run: their lives, their end, and the checks of what they did.

A transactional id has one life after the other, or two at the same time if one of them stalls. After the
faults all lives end, and all transactions must soon have ended as well. A transaction that its producer has
left open is aborted after its timeout.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Final

from gralha.replication.partition import Partition
from gralha.simulation.cluster import FINISHING_S, TOPIC, SimulatedCluster
from gralha.simulation.history import Anomaly, Event, Outcome, Send
from gralha.simulation.loop import START_MS
from gralha.simulation.shapes import Shapes
from gralha.simulation.transaction_history import Began, Used, check_counts, check_transactions
from gralha.simulation.transactional import Identity, TransactionalLife, WriterLife
from gralha.simulation.transformer import TransformerLife
from gralha.simulation.transforming_member import TransformingMember
from gralha.transactions.transaction import PREPARED, State

OUTPUT_TOPIC: Final = "output"
OUTPUT_PARTITIONS: Final = 2
FINAL_OUTPUTS: Final = "final outputs"
TIMEOUT_S: Final = (5.0, 10.0)
# After its timeout a transaction ends within this time, if the cluster is healthy.
MARGIN_S: Final = 10.0
LOOK_S: Final = 0.5
# A process starts again after this time.
PAUSE_S: Final = (0.0, 2.0)


class _Id:
    """A transactional id, and all its lives."""

    def __init__(self, identity: Identity, is_writer: bool) -> None:
        self.identity = identity
        self.is_writer = is_writer
        self.is_stopping = False
        self.lives: list[TransactionalLife] = []
        self.tasks: list[asyncio.Task[None]] = []

    @property
    def committed(self) -> int:
        return sum(life.committed for life in self.lives)


class SimulatedTransactions:
    """A `TransactionWorld`."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self.cluster = cluster
        self.uses: list[Began | Used] = []
        self._random = cluster.world.random("transactions")
        self._ids: list[_Id] = []
        self._is_careful = False
        # The kind of the group of transforming members.
        self._is_classic = False

    def record(self, event: Event) -> None:
        self.cluster.history.append(event)

    def record_use(self, event: Began | Used) -> None:
        self.uses.append(event)

    def complain(self, text: str) -> None:
        self.cluster.world.fail(text)

    def clock(self) -> int:
        return START_MS + int(self.cluster.world.now * 1000)

    def clocks_agree_since(self, at: float) -> bool:
        return self.cluster.clocks_agree_since(at)

    @property
    def tasks(self) -> list["asyncio.Task[None]"]:
        return [task for one in self._ids for task in one.tasks]

    @property
    def acknowledged(self) -> int:
        """How many records in transactions were acknowledged."""
        return sum(
            isinstance(event, Send) and event.transaction is not None and event.outcome is Outcome.OK
            for event in self.cluster.history
        )

    @property
    def committed(self) -> int:
        """How many transactions were committed."""
        return sum(one.committed for one in self._ids)

    # Lives

    def start(self) -> None:
        settings = self.cluster.settings
        names = [f"t{number}" for number in range(settings.transactional_ids)]
        if settings.transform_members:
            self._is_classic = self._random.random() < 0.5
            names += [f"m{number}" for number in range(settings.transform_members)]
        elif settings.transforms:
            names += [f"x{partition}" for partition in range(settings.partitions)]
        for name in names:
            identity = Identity(name, self._random.random() < 0.5, self._random.uniform(*TIMEOUT_S))
            self._ids.append(_Id(identity, name.startswith("t")))
            self._start_life(self._ids[-1])

    def _new_life(self, one: _Id) -> TransactionalLife:
        number = len(one.lives) + 1
        name = one.identity.transactional_id
        random, bootstrap = self.cluster.world.random(f"{name}.{number}"), self.cluster.bootstrap()
        if one.is_writer:
            return WriterLife(one.identity, number, bootstrap, TOPIC, random, self)
        if name.startswith("m"):
            return TransformingMember(
                one.identity, number, bootstrap, OUTPUT_TOPIC, random, self, TOPIC, self._is_classic
            )
        partition = int(name[1:])
        return TransformerLife(one.identity, number, bootstrap, OUTPUT_TOPIC, random, self, TOPIC, partition)

    def _start_life(self, one: _Id) -> None:
        life = self._new_life(one)
        life.is_careful = self._is_careful
        life.shapes = Shapes(self.cluster.world.random(f"{life.name} shapes"))
        life.when_stalled = lambda: self._follow(one, life)
        one.lives.append(life)
        task = self.cluster.run_client(life.run)
        one.tasks.append(task)
        task.add_done_callback(lambda _: self._follow(one, life))

    def _follow(self, one: _Id, life: TransactionalLife) -> None:
        """A life has stalled or ended: the next one begins soon, unless it has begun already."""
        self.cluster.world.call_later(self._random.uniform(*PAUSE_S), self._follow_now, one, life)

    def _follow_now(self, one: _Id, life: TransactionalLife) -> None:
        if one.lives[-1] is life and not one.is_stopping:
            self._start_life(one)

    # The end of a run

    def finish_writers(self) -> None:
        """After the faults: the producers go on for a while, and end."""
        self._is_careful = True
        for one in self._ids:
            for life in one.lives:
                life.is_careful = True
        writers = [one for one in self._ids if one.is_writer]
        before = [one.committed for one in writers]
        self._wait(
            lambda: all(one.committed > count for one, count in zip(writers, before, strict=True)),
            "every transactional producer goes on",
        )
        self._stop(writers, "the transactional producers finish")

    def finish(self) -> None:
        """After the last write of all producers: the inputs are transformed, and all transactions end."""
        if not self._ids:
            return
        if self._all_end():
            self._wait(lambda: not self._behind(), "all inputs are transformed")
        self._stop([one for one in self._ids if not one.is_writer], "the transformers finish")
        self._all_end()

    def _wait(self, is_done: Callable[[], bool], what: str) -> None:
        self.cluster.run_until(is_done, FINISHING_S, what)

    def _stop(self, ids: list[_Id], what: str) -> None:
        for one in ids:
            one.is_stopping = True
            for life in one.lives:
                life.is_stopping = True
        self._wait(lambda: all(task.done() for one in ids for task in one.tasks), what)

    def _behind(self) -> list[str]:
        """The inputs that no live transformer has come to the end of."""
        ends = {
            f"{partition.topic}-{partition.index}": int(partition.log.high_watermark)
            for partition in self._led()
        }
        lives = [life for one in self._ids for life in one.lives if isinstance(life, TransformerLife)]
        done = {
            name
            for life in lives
            for name, position in life.positions().items()
            if position >= ends.get(name, 1 << 62)
        }
        inputs = [f"{TOPIC}-{partition}" for partition in range(self.cluster.settings.partitions)]
        return [name for name in inputs if name not in done]

    def _all_end(self) -> bool:
        """Wait until no transaction is open. Those that nobody ends are aborted after their timeout.

        New ones of the transformers come and go meanwhile. One that stays has the same text all the time.
        """
        world = self.cluster.world
        until = world.now + TIMEOUT_S[1] + MARGIN_S
        hanging = set(self._open())
        while hanging and world.now < until:
            self.cluster.run_for(LOOK_S)
            hanging.intersection_update(self._open())
        for text in sorted(hanging):
            world.fail(f"hanging-transaction: {text} at {world.now:.3f}")
        return not hanging

    def _led(self) -> Iterator[Partition]:
        for node in self.cluster.nodes.values():
            if node.node is not None:
                for partitions in node.node._replicas.by_name.values():
                    yield from (partition for partition in partitions.values() if partition.is_leader())

    def _open(self) -> Iterator[str]:
        """The transactions that are open in partitions, and those that coordinators have not completed."""
        for partition in self._led():
            for offset, transaction in partition.log.producers.open_transactions.items():
                name = f"{partition.topic}-{partition.index}"
                yield f"producer {transaction.producer_id} has one in {name} at offset {offset}"
        for node in self.cluster.nodes.values():
            broker = None if node.node is None else node.node._broker
            for shard in broker.transactions.shards if broker is not None else ():
                for one in shard.transactions.values():
                    if one.state is State.ONGOING or one.state in PREPARED:
                        yield f"the one of {one.transactional_id} is open since {one.started_ms}"

    def check(self, final_reader: str) -> list[Anomaly]:
        if not self._ids:
            return []
        history = self.cluster.history
        found = check_transactions(self.uses, history, (final_reader, FINAL_OUTPUTS))
        if self.cluster.settings.transforms:
            found += check_counts(history, final_reader, FINAL_OUTPUTS)
        return found
