"""InitProducerId (versions 0 to 5): a producer id, so that retries write no record twice.

An idempotent producer (null transactional id) gets a new id with epoch 0 for each request. Its earlier id
does not matter, but an id without an epoch, or an epoch without an id, is refused.

Not here yet: transactional ids. They are answered with UNSUPPORTED_VERSION, which clients report at once
instead of retrying.
"""

from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.pipeline import RequestContext
from gralha.protocol.batches import NO_PRODUCER_ID
from gralha.protocol.errors import ErrorCode, KafkaError, NotControllerError
from gralha.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

NO_PRODUCER_EPOCH: Final = -1


async def handle(
    broker: Broker, context: RequestContext, request: InitProducerIdRequest
) -> InitProducerIdResponse:
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
        return _refuse(ErrorCode.INVALID_REQUEST)
    if request.transactional_id is not None:
        return _refuse(
            ErrorCode.UNSUPPORTED_VERSION if request.transactional_id else ErrorCode.INVALID_REQUEST
        )
    try:
        return InitProducerIdResponse(producer_id=await broker.producer_ids.next(), producer_epoch=0)
    except NotControllerError:
        # Without a controller there is no new block of ids. Clients ask again, as with Kafka.
        return _refuse(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    except KafkaError as error:
        return _refuse(error.code)


def _refuse(error_code: int) -> InitProducerIdResponse:
    return InitProducerIdResponse(
        error_code=error_code, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH
    )
