"""Metadata (versions 0 to 13): the brokers, and the topics with their partitions and leaders.

Topics are given by name, or from version 12 on by id (then names in the same request are ignored). Null means
all topics; in version 0 an empty list does. Addresses are those of the client's listener.

A topic that does not exist is created if the client and auto.create.topics.enable allow it. Apache Kafka then
answers UNKNOWN_TOPIC_OR_PARTITION, and the client asks again. Here the answer waits for the commit, which
takes milliseconds, and has the new topic, or the controller's error.
"""

from collections.abc import Awaitable, Iterable, Sequence
from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.handlers import endpoints, topic_creation
from gralha.broker.pipeline import RequestContext
from gralha.broker.rights import NOT_ASKED
from gralha.metadata.image import NO_LEADER, PartitionImage, TopicImage
from gralha.metadata.topic_names import invalid_reason, is_internal
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.errors import ErrorCode, KafkaError
from gralha.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from gralha.protocol.primitives import ZERO_UUID

TOPIC_IDS_FROM_VERSION: Final = 12
DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
LISTENER_NOT_FOUND_FROM_VERSION: Final = 6


def handle(
    broker: Broker, context: RequestContext, request: MetadataRequest
) -> MetadataResponse | Awaitable[MetadataResponse]:
    topics = request.topics
    checks_rights = broker.rights.authorizer is not None
    if topics is None or (context.api_version == 0 and not topics):
        listed: Iterable[TopicImage] = broker.image.topics.values()
        if checks_rights:
            listed = [topic for topic in listed if _sees(broker, context, topic.name)]
        return _Answer(broker, context, request).of_topics(listed)
    if not _is_well_formed(request, context.api_version):
        return _refuse(request, ErrorCode.INVALID_REQUEST)
    ids = [topic.topic_id for topic in topics if topic.topic_id != ZERO_UUID]
    if ids:
        return _Answer(broker, context, request).of_ids(list(dict.fromkeys(ids)))
    names = list(dict.fromkeys(topic.name or "" for topic in topics))
    refused: dict[str, int] = {}
    if checks_rights:
        allowed = broker.rights.allowed(context, Operation.DESCRIBE, ResourceType.TOPIC, names)
        refused = {name: DENIED for name in names if name not in allowed}
    if request.allow_auto_topic_creation and broker.config.flag("auto.create.topics.enable"):
        missing = [name for name in names if name not in broker.image.topics and name not in refused]
        if checks_rights and missing:
            refused |= _may_not_create(broker, context, missing)
            missing = [name for name in missing if name not in refused]
        if missing:
            return _create_and_answer(broker, context, request, names, missing, refused)
    return _Answer(broker, context, request).of_names(names, {}, refused)


def _sees(broker: Broker, context: RequestContext, topic: str) -> bool:
    return broker.rights.sees(context, Operation.DESCRIBE, ResourceType.TOPIC, topic)


def _may_not_create(broker: Broker, context: RequestContext, missing: list[str]) -> dict[str, int]:
    """The errors of topics that the caller may not create."""
    rights = broker.rights
    if rights.sees(context, Operation.CREATE, ResourceType.CLUSTER):
        return {}
    allowed = rights.allowed(context, Operation.CREATE, ResourceType.TOPIC, missing)
    return {name: DENIED for name in missing if name not in allowed}


async def _create_and_answer(
    broker: Broker,
    context: RequestContext,
    request: MetadataRequest,
    names: list[str],
    missing: list[str],
    refused: dict[str, int],
) -> MetadataResponse:
    errors = await topic_creation.create(broker, context, missing)
    codes = {name: _code_of(error) for name, error in errors.items()}
    return _Answer(broker, context, request).of_names(names, codes, refused)


def _code_of(error: KafkaError) -> int:
    """Without a controller the topic does not exist yet. The client asks again, as in Kafka."""
    no_controller = error.code in (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_CONTROLLER)
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if no_controller else error.code


def _is_well_formed(request: MetadataRequest, version: int) -> bool:
    """Versions 10 and 11 have fields for topic ids, but no broker has ever supported them (KIP-516)."""
    for topic in request.topics or ():
        if version < TOPIC_IDS_FROM_VERSION and (topic.name is None or topic.topic_id != ZERO_UUID):
            return False
        if topic.name is None and topic.topic_id == ZERO_UUID:
            return False
    return True


def _refuse(request: MetadataRequest, error_code: int) -> MetadataResponse:
    return MetadataResponse(
        topics=[
            MetadataResponseTopic(name=topic.name or "", topic_id=topic.topic_id, error_code=error_code)
            for topic in request.topics or ()
        ],
        error_code=error_code,
    )


class _Answer:
    """The response to one request, on one image and for one listener."""

    def __init__(self, broker: Broker, context: RequestContext, request: MetadataRequest) -> None:
        self.broker = broker
        self.context = context
        self.image = broker.image
        self.version = context.api_version
        self.request = request
        self.nodes = endpoints.listed_nodes(broker, context.peer.listener)
        self.available = {node.id for node in self.nodes if not node.fenced}

    def of_topics(self, topics: Iterable[TopicImage]) -> MetadataResponse:
        return self._response([self._topic(topic) for topic in topics])

    def of_ids(self, ids: Sequence[bytes]) -> MetadataResponse:
        answers = []
        for topic_id in ids:
            topic = self.image.topics_by_id.get(topic_id)
            if topic is None:
                code = ErrorCode.UNKNOWN_TOPIC_ID
                answers.append(MetadataResponseTopic(name=None, topic_id=topic_id, error_code=code))
            elif self._may_describe(topic.name):
                answers.append(self._topic(topic))
            else:
                # A topic id is no secret, but the name is.
                answers.append(MetadataResponseTopic(name=None, topic_id=topic_id, error_code=DENIED))
        return self._response(answers)

    def _may_describe(self, topic: str) -> bool:
        rights = self.broker.rights
        return rights.authorizer is None or rights.may(
            self.context, Operation.DESCRIBE, ResourceType.TOPIC, topic
        )

    def of_names(
        self, names: Sequence[str], errors: dict[str, int], refused: dict[str, int]
    ) -> MetadataResponse:
        """`errors` has the errors of topics that could not be created, `refused` those without rights."""
        answers = []
        for name in names:
            topic = self.image.topics.get(name)
            if name in refused:
                answers.append(MetadataResponseTopic(name=name, error_code=refused[name]))
            elif topic is None:
                answers.append(self._missing(name, errors.get(name)))
            else:
                answers.append(self._topic(topic))
        return self._response(answers)

    def _response(self, topics: list[MetadataResponseTopic]) -> MetadataResponse:
        asked = self.request.include_cluster_authorized_operations
        operations = self.broker.rights.cluster_operations(self.context) if asked else NOT_ASKED
        return MetadataResponse(
            brokers=[
                MetadataResponseBroker(node_id=node.id, host=node.host, port=node.port, rack=node.rack)
                for node in self.nodes
            ],
            cluster_id=self.broker.cluster_id,
            controller_id=endpoints.controller_id(self.broker, self.nodes),
            topics=topics,
            cluster_authorized_operations=operations,
        )

    def _missing(self, name: str, error_code: int | None) -> MetadataResponseTopic:
        if error_code is None:
            wrong = invalid_reason(name) is not None
            error_code = ErrorCode.INVALID_TOPIC_EXCEPTION if wrong else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return MetadataResponseTopic(
            name=name,
            error_code=error_code,
            is_internal=is_internal(name),
            topic_authorized_operations=self._operations(name),
        )

    def _topic(self, topic: TopicImage) -> MetadataResponseTopic:
        return MetadataResponseTopic(
            name=topic.name,
            topic_id=topic.id,
            is_internal=is_internal(topic.name),
            partitions=[
                self._partition(topic.name, index, partition) for index, partition in topic.partitions.items()
            ],
            topic_authorized_operations=self._operations(topic.name),
        )

    def _operations(self, topic: str) -> int:
        if not self.request.include_topic_authorized_operations:
            return NOT_ASKED
        return self.broker.rights.operations(self.context, ResourceType.TOPIC, topic)

    def _partition(self, topic: str, index: int, partition: PartitionImage) -> MetadataResponsePartition:
        available = self.available
        if self.broker.replicas.is_offline(topic, index):
            # The records on this broker are damaged, so it does not serve the partition.
            available = available - {self.broker.config.node_id}
        answer = MetadataResponsePartition(
            partition_index=index,
            leader_id=partition.leader,
            leader_epoch=partition.leader_epoch,
            replica_nodes=list(partition.replicas),
            isr_nodes=list(partition.isr),
            offline_replicas=endpoints.without(partition.replicas, available),
        )
        if self.version == 0:
            self._hide_unavailable(answer, available)
        if partition.leader not in self.available:
            answer.leader_id = NO_LEADER
            answer.error_code = self._leader_error(partition.leader)
        elif partition.leader not in available:
            answer.leader_id = NO_LEADER
            answer.error_code = ErrorCode.LEADER_NOT_AVAILABLE
        return answer

    def _hide_unavailable(self, answer: MetadataResponsePartition, available: set[int]) -> None:
        """Version 0 lists only available replicas, with an error if that leaves some out."""
        if answer.offline_replicas:
            answer.error_code = ErrorCode.REPLICA_NOT_AVAILABLE
            answer.replica_nodes = [node for node in answer.replica_nodes if node in available]
            answer.isr_nodes = [node for node in answer.isr_nodes if node in available]

    def _leader_error(self, leader: int) -> int:
        known = leader in self.image.brokers and not self.image.brokers[leader].fenced
        if known and self.version >= LISTENER_NOT_FOUND_FROM_VERSION:
            return ErrorCode.LISTENER_NOT_FOUND
        return ErrorCode.LEADER_NOT_AVAILABLE
