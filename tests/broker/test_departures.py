"""A broker that was fenced stays in the list for some seconds. A broker that never registered does not."""

from gralha.broker.departures import LINGER_MS, Departures
from gralha.metadata.image import BrokerRegistration


def brokers(**fenced: bool) -> dict[int, BrokerRegistration]:
    registrations = [
        BrokerRegistration(int(name[1:]), 1, bytes(16), (), {}, None, is_fenced, False, (), None)
        for name, is_fenced in fenced.items()
    ]
    return {one.id: one for one in registrations}


def test_who_leaves_is_listed_for_a_while() -> None:
    departures = Departures()
    departures.follow(brokers(b1=False, b2=True), 1000)
    assert not departures.lingers(1, 1000)
    assert not departures.lingers(2, 1000), "it is on its way in"
    departures.follow(brokers(b1=True, b2=False), 2000)
    assert departures.lingers(1, 2000 + LINGER_MS - 1)
    assert not departures.lingers(1, 2000 + LINGER_MS)
    departures.follow(brokers(b1=True, b2=False), 4000)
    assert not departures.lingers(1, 2000 + LINGER_MS), "it left once"
    departures.follow(brokers(b1=False, b2=False), 5000)
    departures.follow(brokers(b1=True, b2=False), 6000)
    assert departures.lingers(1, 6000 + LINGER_MS - 1)
