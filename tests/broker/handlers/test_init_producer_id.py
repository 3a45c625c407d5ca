import pytest

from gralha.protocol.errors import ErrorCode, NotControllerError
from gralha.protocol.messages.init_producer_id import InitProducerIdRequest


async def ask(client, **options):
    response = await client.ask(InitProducerIdRequest(transaction_timeout_ms=1000, **options))
    return response.error_code, response.producer_id, response.producer_epoch


async def test_every_producer_gets_an_id_of_its_own(client):
    answers = [await ask(client, transactional_id=None) for _ in range(1001)]
    assert answers == [(0, number, 0) for number in range(1001)]


async def test_what_the_producer_had_before_is_of_no_interest(client):
    assert await ask(client, transactional_id=None, producer_id=500, producer_epoch=3) == (0, 0, 0)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"transactional_id": None, "producer_id": 5}, ErrorCode.INVALID_REQUEST),
        ({"transactional_id": None, "producer_epoch": 5}, ErrorCode.INVALID_REQUEST),
        ({"transactional_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"transactional_id": "t"}, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ],
)
async def test_refusals(client, options, code):
    assert await ask(client, **options) == (code, -1, -1)


async def test_a_controller_that_gives_no_ids(broker, client):
    broker.controller.failure = NotControllerError()
    assert await ask(client, transactional_id=None) == (
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        -1,
        -1,
    )
