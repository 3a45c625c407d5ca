"""How often clients were held back by their quotas. Clients choose their ids, so there are no names here."""

from typing import Final

from gralha.broker.metrics.exposition import Pieces, counter, family_text, labels, single
from gralha.broker.throttling import ClientThrottle
from gralha.protocol.client_quotas import (
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
)

THROTTLED: Final = counter("gralha_quota_throttled_total", "Requests whose client was held back by a quota.")
SECONDS: Final = counter("gralha_quota_throttle_seconds_total", "How long clients were told to wait.")
DELAYED: Final = counter(
    "gralha_quota_delayed_connections_total", "Connections that waited (max.connection.creation.rate)."
)
REFUSED: Final = counter(
    "gralha_quota_refused_connections_total", "Connections closed because of a rate of new connections."
)


def quota_metrics(throttle: ClientThrottle) -> Pieces:
    quotas = throttle.quotas
    named = [
        (labels(quota=name), meters)
        for name, meters in (
            (PRODUCER_BYTE_RATE, quotas.produce),
            (CONSUMER_BYTE_RATE, quotas.fetch),
            (REQUEST_PERCENTAGE, quotas.request),
            (CONTROLLER_MUTATION_RATE, quotas.mutations),
        )
    ]
    yield from family_text(THROTTLED, ((name, one.throttled) for name, one in named))
    yield from family_text(SECONDS, ((name, one.throttle_ms / 1000) for name, one in named))
    yield from single(DELAYED, throttle.delayed_connections)
    yield from single(REFUSED, throttle.refused_connections)
