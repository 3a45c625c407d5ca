"""One run of a seed: load and faults for a while, then no faults, and a check of what clients saw."""

import asyncio
import gc
from typing import Final

from gralha.simulation.cluster import (
    FINISHING_S,
    IDLE_PARTITIONS,
    IDLE_TOPIC,
    STARTING_S,
    Report,
    Settings,
    SimulatedCluster,
    quiet,
)
from gralha.simulation.consumer import Consumer
from gralha.simulation.groups import SimulatedGroups
from gralha.simulation.guests import SimulatedGuests
from gralha.simulation.history import Anomaly, Send, check
from gralha.simulation.invariants import Invariants
from gralha.simulation.loop import no_threads
from gralha.simulation.nemesis import Nemesis
from gralha.simulation.open_transactions import OpenTransactions
from gralha.simulation.producer import Producer
from gralha.simulation.reassignments import Reassignments
from gralha.simulation.secured import GUEST_PARTITIONS, GUEST_TOPIC
from gralha.simulation.topic_checks import Starts, check_compacted, check_retained
from gralha.simulation.transactions import (
    FINAL_OUTPUTS,
    OUTPUT_PARTITIONS,
    OUTPUT_TOPIC,
    SimulatedTransactions,
)

FINAL_READER: Final = "final"


def run_seed(seed: int, settings: Settings) -> Report:
    # The nodes and tasks of the last run refer to each other. Without this, hundreds of runs take gigabytes.
    gc.collect()
    with quiet(), no_threads():
        cluster = SimulatedCluster(seed, settings)
        invariants = Invariants(cluster)
        open_transactions = OpenTransactions(cluster)

        def look() -> None:
            open_transactions.look()
            invariants.look()

        if not settings.may_lose:
            cluster.world.look = look
        try:
            return _run(cluster, invariants)
        finally:
            cluster.world.bury()


def _run(cluster: SimulatedCluster, invariants: Invariants) -> Report:
    settings, world = cluster.settings, cluster.world
    cluster.format()
    for node in cluster.nodes.values():
        node.start()
    topics_made = cluster.run_client(lambda: _create_topics(cluster))
    struck: dict[str, int] = {}
    producers = [cluster.new_producer(f"p{number}") for number in range(settings.producers)]
    is_transactional = settings.transactional_ids > 0
    consumers = [
        cluster.new_consumer(f"c{number}", reads_committed=is_transactional and number % 2 == 0)
        for number in range(settings.consumers)
    ]
    groups = SimulatedGroups(cluster)
    transactions = SimulatedTransactions(cluster)
    guests = SimulatedGuests(cluster)
    if cluster.run_until(topics_made.done, STARTING_S, "the topics are made"):
        struck = _load(cluster, producers, consumers, groups, transactions, guests)
    if not settings.may_lose:
        invariants.look_at_everything()
        invariants.look_at_quorum()
    return Report(
        world.seed,
        [*_judge(cluster, invariants.starts), *groups.check(), *transactions.check(FINAL_READER)],
        [*invariants.broken, *world.failures],
        sum(producer.acknowledged for producer in producers) + transactions.acknowledged,
        sum(isinstance(event, Send) for event in cluster.history),
        struck,
        max(producer.longest_silence_s for producer in producers),
        world.now,
        world.trace.digest,
        world.trace.lines(),
        groups.commits,
        transactions.committed,
        guests.acted,
        guests.refused,
    )


async def _create_topics(cluster: SimulatedCluster) -> None:
    settings = cluster.settings
    factor = settings.replication_factor
    await cluster.new_client("admin").create_topic(settings.partitions, factor, settings.topic_configs)
    if settings.transforms:
        output = cluster.new_client("output admin", OUTPUT_TOPIC)
        await output.create_topic(OUTPUT_PARTITIONS, factor, settings.topic_configs)
    if settings.session_s:
        await cluster.new_client("guest admin", GUEST_TOPIC).create_topic(GUEST_PARTITIONS, factor, {})
    if settings.brokers > 1:
        await cluster.new_client("idle admin", IDLE_TOPIC).create_topic(IDLE_PARTITIONS, factor, {})


def _judge(cluster: SimulatedCluster, starts: Starts) -> list[Anomaly]:
    settings, history = cluster.settings, cluster.history
    if settings.keys:
        return check_compacted(history, FINAL_READER)
    if settings.retention_s is not None:
        return check_retained(history, FINAL_READER, starts, settings.retention_s)
    return check(history, final_readers=[FINAL_READER, FINAL_OUTPUTS])


def _load(
    cluster: SimulatedCluster,
    producers: list[Producer],
    consumers: list[Consumer],
    groups: SimulatedGroups,
    transactions: SimulatedTransactions,
    guests: SimulatedGuests,
) -> dict[str, int]:
    groups.start()
    transactions.start()
    guests.start()
    reassignments = Reassignments(cluster)
    reassignments.start()
    writing = [cluster.run_client(producer.run) for producer in producers]
    reading = [cluster.run_client(consumer.run) for consumer in consumers]
    nemesis = Nemesis(cluster, cluster.world.now + cluster.settings.seconds)
    cluster.run_for(cluster.settings.seconds)
    cluster.mend()
    cluster.run_until(lambda: cluster.all_ready, FINISHING_S, "all nodes are ready")
    reassignments.finish()
    guests.finish()
    acknowledged = [producer.acknowledged for producer in producers]
    cluster.run_until(
        lambda: all(
            producer.acknowledged > before for producer, before in zip(producers, acknowledged, strict=True)
        ),
        FINISHING_S,
        "every producer goes on",
    )
    transactions.finish_writers()
    for producer in producers:
        producer.is_stopping = True
    cluster.run_until(lambda: all(task.done() for task in writing), FINISHING_S, "the producers finish")
    transactions.finish()
    for consumer in consumers:
        consumer.is_stopping = True
    cluster.run_until(lambda: all(task.done() for task in reading), FINISHING_S, "the consumers finish")
    groups.finish()
    cluster.run_until(lambda: cluster.all_in_sync, FINISHING_S, "all replicas are in sync")
    reading += _read_everything(cluster)
    for task in [*writing, *reading, *groups.tasks, *transactions.tasks, *reassignments.tasks, *guests.tasks]:
        if task.done() and task.exception() is not None:
            cluster.world.fail(f"a client ended: {task.exception()!r}")
    return nemesis.struck


def _read_everything(cluster: SimulatedCluster) -> "list[asyncio.Task[None]]":
    """New consumers read to the end. If there are transactions, they read what is committed."""
    settings = cluster.settings
    last = [cluster.new_consumer(FINAL_READER, reads_committed=settings.transactional_ids > 0)]
    if settings.transforms:
        last.append(cluster.new_consumer(FINAL_OUTPUTS, OUTPUT_TOPIC, reads_committed=True))
    tasks = []
    for consumer in last:
        consumer.is_stopping = True
        tasks.append(cluster.run_client(consumer.run))
        cluster.run_until(tasks[-1].done, FINISHING_S, "a new consumer reads everything")
    return tasks
