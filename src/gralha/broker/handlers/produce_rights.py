"""The rights that a Produce request needs: WRITE on its topics, and on its transactional id."""

from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.pipeline import RequestContext
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.produce import ProduceRequest, TopicProduceData
from gralha.protocol.primitives import RecordBytes

TOPIC_IDS_FROM_VERSION: Final = 13
# Looking up the member of an enumeration takes as long as the decision.
WRITE: Final = Operation.WRITE
TOPIC: Final = ResourceType.TOPIC
# Where a batch has the bit that says that it belongs to a transaction.
ATTRIBUTES_AT: Final = 22
TRANSACTIONAL: Final = 0x10


class Denial:
    """What the caller may not do: use the transactional id, or write to some topics."""

    def __init__(self, for_all: int, topics: set[str | bytes]) -> None:
        self.for_all = for_all
        # By id or by name, as the request names them.
        self.topics = topics

    def code_for(self, topic: str | bytes) -> int:
        """The error for a topic, or 0."""
        if self.for_all:
            return self.for_all
        return int(ErrorCode.TOPIC_AUTHORIZATION_FAILED) if topic in self.topics else 0


def denial(broker: Broker, context: RequestContext, request: ProduceRequest) -> Denial | None:
    """What the caller may not do, or None if it may do all that."""
    rights = broker.rights
    if any(_is_transactional(topic) for topic in request.topic_data):
        name = request.transactional_id
        if name is None or not rights.may(context, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, name):
            return Denial(int(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED), set())
    by_id = context.api_version >= TOPIC_IDS_FROM_VERSION
    refused: set[str | bytes] = set()
    for topic in request.topic_data:
        topic_name: str | None = topic.name
        if by_id:
            known = broker.image.topics_by_id.get(topic.topic_id)
            topic_name = None if known is None else known.name
        if topic_name is not None and not rights.may(context, WRITE, TOPIC, topic_name):
            refused.add(topic.topic_id if by_id else topic.name)
    return Denial(0, refused) if refused else None


def _is_transactional(topic: TopicProduceData) -> bool:
    return any(data.records is not None and _has_bit(data.records) for data in topic.partition_data)


def _has_bit(records: RecordBytes) -> bool:
    at = records.start + ATTRIBUTES_AT
    return at < records.end and bool(records.data[at] & TRANSACTIONAL)
