"""Every well-formed request gets a response: a handler never fails, and the broker goes on."""

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gralha.broker.handlers import APIS, QUORUM
from gralha.protocol.apis import ApiKey
from gralha.protocol.message import Struct
from gralha.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from gralha.protocol.messages.metadata import MetadataRequest
from tests.broker.handlers.door import NOW_MS, Client, append, create_topic, make_broker
from tests.protocol.message_strategies import API_CASES, messages

WITH_DATA = (ApiKey.PRODUCE, ApiKey.FETCH)  # tested on their own
KEYS = [key for key in APIS if key not in WITH_DATA and key not in QUORUM]  # the driver answers those
LATEST = {
    case.cls.API_KEY: case
    for case in API_CASES
    if case.message.name.endswith("Request") and case.version == case.cls.MAX_VERSION
}

# Values that mean something here: a topic, a broker, a config, kinds of resources, special offsets.
NAMES = st.sampled_from(
    ["a", "b", "1", "", "a b", "..", "__consumer_offsets", "retention.ms", "root", "DEBUG"]
)
NUMBERS = st.sampled_from([-6, -2, -1, 0, 1, 2, 3, 4, 8, 16, 32, 100])


def made_meaningful(draw, value):
    """Replace most of the arbitrary values by ones that lead further into a handler."""
    if isinstance(value, Struct):
        for name in value.FIELDS:
            setattr(value, name, made_meaningful(draw, getattr(value, name)))
    elif isinstance(value, list):
        return [made_meaningful(draw, one) for one in value]
    elif isinstance(value, str) and value:  # an empty one may be a field that this version lacks
        return draw(NAMES | st.just(value))
    elif isinstance(value, int) and not isinstance(value, bool):
        return draw(NUMBERS | st.just(value))
    return value


@st.composite
def requests(draw, key):
    several = draw(st.lists(messages(LATEST[key]), min_size=1, max_size=10))
    meaningful = [made_meaningful(draw, request) for request in several]
    for request in meaningful:
        if isinstance(request, AddPartitionsToTxnRequest):
            # The latest version has no place for these.
            request.v3_and_below_producer_id = request.v3_and_below_producer_epoch = 0
            request.v3_and_below_transactional_id, request.v3_and_below_topics = "", []
    return meaningful


async def ask_all(folder, several):
    broker = make_broker(folder, transaction_two_phase_commit_enable="true")
    await create_topic(broker, "a", 2)
    append(broker, "a", NOW_MS, producer_id=7, producer_epoch=0, base_sequence=0)
    client = Client(broker)
    for request in several:
        assert await client.ask(request) is not None
    assert (await client.ask(MetadataRequest(topics=None))).cluster_id == "a-cluster"
    broker.logs.release()


@pytest.mark.parametrize("key", KEYS, ids=[APIS[key].name for key in KEYS])
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_request_is_answered(tmp_path_factory, key, data):
    several = data.draw(requests(key))
    asyncio.run(ask_all(tmp_path_factory.mktemp("any"), several))
