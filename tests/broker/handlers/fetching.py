"""Fetch requests for tests, and what their answers hold."""

import asyncio

from gralha.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from gralha.protocol.records import batches

BY_NAME, BY_ID = 12, 18
LONG_MS = 600_000  # far beyond what a test waits
PATIENCE_S = 20
PLENTY = 1 << 20


def fetch_request(
    offsets,
    topic="a",
    topic_id=bytes(16),
    min_bytes=1,
    max_bytes=PLENTY,
    partition_max_bytes=PLENTY,
    leader_epoch=-1,
    last_fetched_epoch=-1,
    log_start_offset=-1,
    forgotten=(),
    **fields,
):
    """`offsets`: where to read each partition from."""
    wanted = [
        FetchPartition(
            partition=index,
            fetch_offset=offset,
            partition_max_bytes=partition_max_bytes,
            current_leader_epoch=leader_epoch,
            last_fetched_epoch=last_fetched_epoch,
            log_start_offset=log_start_offset,
        )
        for index, offset in offsets.items()
    ]
    return FetchRequest(
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        topics=[FetchTopic(topic=topic, topic_id=topic_id, partitions=wanted)] if wanted else [],
        forgotten_topics_data=[ForgottenTopic(topic=topic, partitions=list(forgotten))] if forgotten else [],
        **fields,
    )


async def fetch(client, offsets, version=BY_NAME, **options):
    async with asyncio.timeout(PATIENCE_S):
        return await client.ask(fetch_request(offsets, **options), version)


async def begun(asking):
    """The request is inside the broker, and not answered."""
    task = asyncio.ensure_future(asking)
    for _ in range(5):
        await asyncio.sleep(0)
    assert not task.done()
    return task


def partitions_of(response):
    assert response.error_code == 0
    return {one.partition_index: one for topic in response.responses for one in topic.partitions}


def codes(response):
    return {index: one.error_code for index, one in partitions_of(response).items()}


def found(response):
    """The first offset of each batch, by partition."""
    result = {}
    for index, one in partitions_of(response).items():
        records = one.records
        seen = batches(records.data, records.start, records.end)
        assert sum(header.size_bytes for _, header in seen) == records.end - records.start
        result[index] = [header.base_offset for _, header in seen]
    return result
