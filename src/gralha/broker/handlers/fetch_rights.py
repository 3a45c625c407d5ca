"""The rights that a Fetch request needs: READ on each topic for consumers, CLUSTER_ACTION for followers."""

from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.fetching.wanted import TOPIC_IDS_FROM_VERSION, Wanted, replica_of
from gralha.broker.pipeline import RequestContext
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from gralha.protocol.primitives import RecordBytes

EMPTY: Final = RecordBytes(b"", 0, 0)
# Looking up the member of an enumeration takes as long as the decision.
READ: Final = Operation.READ
TOPIC: Final = ResourceType.TOPIC


def is_refused_follower(broker: Broker, context: RequestContext, request: FetchRequest) -> bool:
    """Returns True if the request says that it is from a follower, and the caller is no broker."""
    if replica_of(request) < 0:
        return False
    return not broker.rights.may_on_cluster(context, Operation.CLUSTER_ACTION)


def refused_follower(request: FetchRequest) -> FetchResponse:
    """The response to such a request. It gets no session, and changes no follower's state."""
    return FetchResponse(
        responses=[
            FetchableTopicResponse(
                topic=topic.topic,
                topic_id=topic.topic_id,
                partitions=[
                    PartitionData(
                        partition_index=partition.partition,
                        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
                        high_watermark=-1,
                        aborted_transactions=[],
                        records=EMPTY,
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def refused_topics(broker: Broker, context: RequestContext, wanted: list[Wanted]) -> set[str | bytes] | None:
    """The topics that the caller may not read, by id or by name as the request has them."""
    by_id = context.api_version >= TOPIC_IDS_FROM_VERSION
    rights = broker.rights
    refused: set[str | bytes] | None = None
    last: str | bytes | None = None
    for one in wanted:
        topic: str | bytes = one.topic_id if by_id else one.topic
        if topic == last or (refused is not None and topic in refused):
            continue
        last = topic
        name: str | None = one.topic
        if by_id:
            known = broker.image.topics_by_id.get(one.topic_id)
            name = None if known is None else known.name
        if name is not None and not rights.may(context, READ, TOPIC, name):
            if refused is None:
                refused = set()
            refused.add(topic)
    return refused
