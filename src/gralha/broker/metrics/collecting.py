"""All metrics of a node, one part after the other."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple

from gralha import __version__
from gralha.broker.broker import Broker
from gralha.broker.config import NodeConfig
from gralha.broker.connection import ConnectionSettings
from gralha.broker.metrics.connections import connection_metrics
from gralha.broker.metrics.exposition import Pieces
from gralha.broker.metrics.partitions import partition_metrics
from gralha.broker.metrics.process import (
    LoopDelay,
    ProcessUsage,
    loop_delay_metrics,
    node_metrics,
    process_metrics,
)
from gralha.broker.metrics.quorum import controller_metrics, quorum_metrics
from gralha.broker.metrics.quotas import quota_metrics
from gralha.broker.metrics.requests import request_metrics
from gralha.broker.metrics.topics import topic_metrics
from gralha.broker.request_meters import RequestMeters


class Sources(NamedTuple):
    """The parts of a node that have metrics."""

    config: NodeConfig
    # None until the node has opened its metadata log.
    broker: Callable[[], Broker | None]
    listeners: Callable[[], list[ConnectionSettings]]
    meters: RequestMeters
    loop_delay: LoopDelay
    # Asks the operating system. May wait.
    usage: Callable[[], ProcessUsage]


async def collect(sources: Sources) -> AsyncIterator[str]:
    """The text of all metrics, in pieces that are made quickly."""
    usage = await asyncio.get_running_loop().run_in_executor(None, sources.usage)
    for piece in _of_process(sources, usage):
        yield piece
    broker = sources.broker()
    if broker is not None:
        for piece in _of_node(sources.config, broker):
            yield piece


def _of_process(sources: Sources, usage: ProcessUsage) -> Pieces:
    yield from process_metrics(usage)
    yield from loop_delay_metrics(sources.loop_delay.durations)
    yield from connection_metrics(sources.listeners())
    yield from request_metrics(sources.meters)


def _of_node(config: NodeConfig, broker: Broker) -> Pieces:
    yield from node_metrics(config.node_id, broker.cluster_id, config.roles, __version__)
    yield from quota_metrics(broker.throttle)
    yield from quorum_metrics(broker.controller)
    if config.is_controller:
        yield from controller_metrics(broker.controller)
    if config.is_broker:
        yield from topic_metrics(broker.replicas)
        yield from partition_metrics(broker.replicas, broker.image, config.node_id)
        # Imported with the first scrape, as a broker without groups does not need their code before.
        from gralha.broker.metrics.groups import group_metrics

        yield from group_metrics(broker.groups.shards, broker.replicas)
