"""Fetch (versions 4 to 18): record batches from an offset on, as they lie in the log.

The client's session, or the request itself, says which partitions to read. They are read at once. If that
gives too little, the request becomes a long poll.
"""

from gralha.broker.broker import Broker
from gralha.broker.fetching.consumer import ConsumerFetch
from gralha.broker.fetching.follower import FollowerFetch
from gralha.broker.fetching.long_poll import LongPoll
from gralha.broker.fetching.reading import Fetch
from gralha.broker.fetching.wanted import replica_of
from gralha.broker.handlers import fetch_rights
from gralha.broker.pipeline import Deferred, RequestContext
from gralha.protocol.message import Message
from gralha.protocol.messages.fetch import FetchRequest, FetchResponse


def handle(broker: Broker, context: RequestContext, request: FetchRequest) -> Message | Deferred:
    checks_rights = broker.rights.authorizer is not None
    if checks_rights and fetch_rights.is_refused_follower(broker, context, request):
        return fetch_rights.refused_follower(request)
    plan = broker.fetch_sessions.begin(request, context.api_version, broker.clock())
    if plan.error_code:
        return FetchResponse(error_code=plan.error_code)
    fetch: Fetch
    if replica_of(request) >= 0:
        fetch = FollowerFetch(broker, context, request, plan)
    else:
        fetch = ConsumerFetch(broker, context, request, plan)
        if checks_rights:
            fetch.refused = fetch_rights.refused_topics(broker, context, plan.wanted)
    fetch.begin()
    fetch.read(False)
    if not fetch.is_cold and fetch.is_enough():
        return fetch.response()
    return LongPoll(fetch, broker.readers).begin()
