import pytest

from tests.broker.handlers.door import Client, make_broker


@pytest.fixture
def broker(tmp_path):
    broker = make_broker(tmp_path)
    yield broker
    broker.logs.release()


@pytest.fixture
def client(broker):
    return Client(broker)
