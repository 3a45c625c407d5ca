"""The metrics of quotas."""

from gralha.broker.metrics.quotas import quota_metrics
from gralha.protocol.client_quotas import PRODUCER_BYTE_RATE, quota_entity
from tests.broker.handlers.door import make_broker


def test_they_say_how_often_and_how_long_clients_were_held_back(tmp_path):
    throttle = make_broker(tmp_path).throttle
    throttle.apply({quota_entity([("client-id", None)]): {PRODUCER_BYTE_RATE: 100.0}})
    produce = throttle.quotas.produce
    produce.held_back(produce.record("alice", "app", 1_200, 0))
    produce.held_back(produce.record("alice", "app", 0, 0))
    throttle.refused_connections = 3
    lines = "".join(piece for piece in quota_metrics(throttle) if piece).splitlines()
    assert 'gralha_quota_throttled_total{quota="producer_byte_rate"} 2' in lines
    assert 'gralha_quota_throttle_seconds_total{quota="producer_byte_rate"} 4.0' in lines
    assert 'gralha_quota_throttled_total{quota="request_percentage"} 0' in lines
    assert "gralha_quota_refused_connections_total 3" in lines
