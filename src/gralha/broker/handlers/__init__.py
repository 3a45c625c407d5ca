"""The APIs that a broker serves: each in the file beside this one that has its name, as a function `handle`.

`APIS` is the whole truth: the pipeline looks requests up in it, and ApiVersions is answered from it. A new
API is a new file and a line in SERVED; its versions are those of its definition in `protocol`.

A handler is imported when the first request of its kind comes. That takes some 30 ms off the broker's start.
"""

from collections.abc import Awaitable
from importlib import import_module
from typing import Final

from gralha.broker.pipeline import Api, RequestContext
from gralha.protocol import apis
from gralha.protocol.apis import ApiKey
from gralha.protocol.message import Message
from gralha.protocol.primitives import Reader

SERVED: Final = (
    ApiKey.PRODUCE,
    ApiKey.FETCH,
    ApiKey.LIST_OFFSETS,
    ApiKey.METADATA,
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
    ApiKey.FIND_COORDINATOR,
    ApiKey.JOIN_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.LEAVE_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.DESCRIBE_GROUPS,
    ApiKey.LIST_GROUPS,
    ApiKey.API_VERSIONS,
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.DELETE_RECORDS,
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.OFFSET_FOR_LEADER_EPOCH,
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.DESCRIBE_LOG_DIRS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.DELETE_GROUPS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.OFFSET_DELETE,
    ApiKey.DESCRIBE_CLUSTER,
    ApiKey.DESCRIBE_PRODUCERS,
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.CONSUMER_GROUP_DESCRIBE,
    ApiKey.LIST_CONFIG_RESOURCES,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
)

# A connection may have eight fetches inside; clients have one or two.
FETCH_WEIGHT: Final = 32


def _row(key: ApiKey) -> Api:
    """An API that loads its handler, and puts it in its place, when it is first used."""
    definition = apis.APIS[key]

    def load() -> None:
        row.handle = import_module(f"gralha.broker.handlers.{key.name.lower()}").handle
        row.decode = definition.request.decode

    def decode(reader: Reader, version: int) -> Message:
        load()
        return row.decode(reader, version)

    def handle(
        broker: object, context: RequestContext, request: Message | None
    ) -> Message | Awaitable[Message | None] | None:
        load()
        return row.handle(broker, context, request)

    row = Api(
        int(key),
        definition.name,
        definition.min_version,
        definition.max_version,
        definition.flexible_from,
        decode,
        handle,
        FETCH_WEIGHT if key is ApiKey.FETCH else 1,
    )
    return row


APIS: Final[dict[int, Api]] = {int(key): _row(key) for key in SERVED}
