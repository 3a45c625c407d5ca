"""Client quotas: which quota a client has, how much of it is used, and how long the client must be held back.

For each kind of quota (`PRODUCER_BYTE_RATE`, ...) the most specific entity counts, in Kafka's order:

    user and client id      user and default client id      user
    default user and client id      default user and default client id      default user
    client id      default client id

Clients share a meter if they share what the entity names: a quota of a user is one for all clients of the
user. A quota of a user and the default client id is one for each client id of the user.

A quota without a limit for a client has no meter, so clients without quotas leave nothing behind. Meters
that would count like new ones are dropped from time to time. If there are still too many, more clients share
one.

Pure: times come in as arguments, in milliseconds of a clock that does not go back.
"""

from collections.abc import Callable, Iterator
from typing import Final, Generic, NamedTuple, TypeVar

from gralha.protocol.client_quotas import (
    CLIENT_ID,
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    IP,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    USER,
    ClientQuotas,
    QuotaEntity,
)
from gralha.protocol.ip_addresses import addresses_of
from gralha.security.quota_meters import Rate, TokenBucket, Windows

MAX_METERS: Final = 10_000
CLIENT_ID_LENGTH_MAX: Final = 256
FIRST_ROOM: Final = 64
DROP_INTERVAL_MS: Final = 1_000
# The user and the client id of a meter. None stands for all of them.
Owner = tuple[str | None, str | None]
# The meter of those for which there is no room.
_OTHERS: Final[Owner] = (None, None)

Meter = TypeVar("Meter", Rate, TokenBucket)


class Limit(NamedTuple):
    """The quota that a client has, and with whom it shares that quota."""

    owner: Owner
    value: float


class Limits:
    """The quotas of one kind, by entity."""

    def __init__(self, quotas: ClientQuotas, key: str) -> None:
        self._values = {entity: values[key] for entity, values in quotas.items() if key in values}

    def __bool__(self) -> bool:
        return bool(self._values)

    def of(self, user: str, client_id: str) -> Limit | None:
        """The quota of a client. None if there is no limit."""
        for entity, owner in _candidates(user, client_id):
            value = self._values.get(entity)
            if value is not None:
                return Limit(owner, value)
        return None


def _candidates(user: str, client_id: str) -> Iterator[tuple[QuotaEntity, Owner]]:
    """The entities that a client may have its quota from, the most specific first."""
    both: Owner = (user, client_id)
    its_id, any_id = (CLIENT_ID, client_id), (CLIENT_ID, None)
    its_user, any_user = (USER, user), (USER, None)
    yield (its_id, its_user), both
    yield (any_id, its_user), both
    yield (its_user,), (user, None)
    yield (its_id, any_user), both
    yield (any_id, any_user), both
    yield (any_user,), (user, None)
    yield (its_id,), (None, client_id)
    yield (any_id,), (None, client_id)


class Meters(Generic[Meter]):
    """The limits and the meters of one kind of quota."""

    def __init__(self, key: str, new_meter: Callable[[], Meter]) -> None:
        self._key = key
        self._new_meter: Callable[[], Meter] = new_meter
        self._limits = Limits({}, key)
        self._chosen: dict[tuple[str, str], Limit | None] = {}
        self._meters: dict[Owner, Meter] = {}
        # How many meters there may be before the idle ones are dropped, and when they were dropped last.
        self._room = FIRST_ROOM
        self._dropped_ms = 0
        # How often clients were held back, and for how long in total.
        self.throttled = 0
        self.throttle_ms = 0

    def __len__(self) -> int:
        return len(self._meters)

    @property
    def is_on(self) -> bool:
        """Returns True if there is any quota of this kind."""
        return bool(self._limits)

    def apply(self, quotas: ClientQuotas) -> None:
        """Takes over new limits. Counts are kept."""
        self._limits = Limits(quotas, self._key)
        self._chosen = {}
        if not self._limits:
            self._meters = {}

    def limit(self, user: str, client_id: str) -> Limit | None:
        """The quota of a client. None if there is no limit."""
        # Clients choose their ids, so long ones would take much memory.
        client_id = client_id[:CLIENT_ID_LENGTH_MAX]
        client = (user, client_id)
        if client not in self._chosen:
            if len(self._chosen) >= MAX_METERS:
                self._chosen = {}
            self._chosen[client] = self._limits.of(user, client_id)
        return self._chosen[client]

    def meter(self, limit: Limit, now_ms: int) -> Meter:
        """The meter of a quota."""
        meter = self._meters.get(limit.owner)
        if meter is None:
            if len(self._meters) >= self._room and now_ms - self._dropped_ms >= DROP_INTERVAL_MS:
                self._drop_idle(now_ms)
            if len(self._meters) >= MAX_METERS:
                return self._meters.setdefault(_OTHERS, self._new_meter())
            meter = self._meters[limit.owner] = self._new_meter()
        return meter

    def held_back(self, throttle_ms: int) -> int:
        """Counts a client that is held back for this time. Returns the time."""
        if throttle_ms > 0:
            self.throttled += 1
            self.throttle_ms += throttle_ms
        return throttle_ms

    def _drop_idle(self, now_ms: int) -> None:
        self._meters = {owner: one for owner, one in self._meters.items() if not one.is_idle(now_ms)}
        self._room = min(max(FIRST_ROOM, 2 * len(self._meters)), MAX_METERS)
        self._dropped_ms = now_ms


class RateQuotas(Meters[Rate]):
    """Quotas on a rate: bytes or request time. Time over `max_throttle_ms` is not asked for."""

    def __init__(self, key: str, windows: Windows, max_throttle_ms: int | None = None) -> None:
        super().__init__(key, lambda: Rate(windows))
        self._windows = windows
        self._max_throttle_ms = max_throttle_ms

    def record(self, user: str, client_id: str, value: float, now_ms: int) -> int:
        """Counts what a client has used. Returns how long to hold it back."""
        limit = self.limit(user, client_id)
        if limit is None:
            return 0
        meter = self.meter(limit, now_ms)
        meter.record(value, now_ms)
        excess_ms = meter.excess_ms(limit.value, now_ms)
        return excess_ms if self._max_throttle_ms is None else min(excess_ms, self._max_throttle_ms)

    def has_rested(self, user: str, client_id: str, now_ms: int) -> bool:
        """Returns True if the client has used nothing in the last windows."""
        limit = self.limit(user, client_id)
        return limit is None or self.meter(limit, now_ms).is_idle(now_ms)

    def take_back(self, user: str, client_id: str, value: float, now_ms: int) -> None:
        """The client has not used it after all."""
        limit = self.limit(user, client_id)
        if limit is not None:
            self.meter(limit, now_ms).record(-value, now_ms)

    def most_at_once(self, user: str, client_id: str) -> float | None:
        """The most that is within the quota if nothing else was used. None if there is no limit."""
        limit = self.limit(user, client_id)
        if limit is None:
            return None
        return limit.value * (self._windows.count - 1) * self._windows.window_ms / 1000


class MutationQuotas(Meters[TokenBucket]):
    """Quotas on created and deleted partitions per second (KIP-599)."""

    def __init__(self, windows: Windows) -> None:
        super().__init__(CONTROLLER_MUTATION_RATE, lambda: TokenBucket(windows))

    def record(self, user: str, client_id: str, count: int, is_strict: bool, now_ms: int) -> tuple[bool, int]:
        """Counts changed partitions. Returns whether they are accepted, and how long to hold the client back.

        A strict quota refuses when it is used up, and lets the request pass that uses it up. Otherwise, for
        clients that do not know the error, all is accepted, and the client is held back.
        """
        limit = self.limit(user, client_id)
        if limit is None:
            return True, 0
        bucket = self.meter(limit, now_ms)
        if is_strict:
            excess_ms = bucket.excess_ms(limit.value, now_ms)
            if excess_ms > 0:
                return False, excess_ms
            bucket.take(count, limit.value, now_ms)
            return True, 0
        bucket.take(count, limit.value, now_ms)
        return True, bucket.excess_ms(limit.value, now_ms)


class AddressQuotas:
    """How many connections per second each address may open."""

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._limits: dict[str | None, float] = {}
        self._rates: dict[str, Rate] = {}
        self._room = FIRST_ROOM

    @property
    def is_on(self) -> bool:
        return bool(self._limits)

    def apply(self, quotas: ClientQuotas) -> None:
        """Takes over new limits. Counts are kept."""
        self._limits = {}
        for entity, values in quotas.items():
            names = dict(entity)
            if IP in names and CONNECTION_CREATION_RATE in values:
                name = names[IP]
                for address in (None,) if name is None else addresses_of(name):
                    self._limits[address] = values[CONNECTION_CREATION_RATE]
        if not self._limits:
            self._rates = {}

    def record(self, address: str, now_ms: int) -> int:
        """Counts a new connection. If it is one too many, it is not counted, and the delay is returned after
        which to close it.
        """
        limit = self._limits.get(address, self._limits.get(None))
        if limit is None:
            return 0
        rate = self._rates.get(address)
        if rate is None:
            if len(self._rates) >= self._room:
                self._rates = {one: rate for one, rate in self._rates.items() if not rate.is_idle(now_ms)}
                self._room = max(FIRST_ROOM, 2 * len(self._rates))
            rate = self._rates[address] = Rate(self._windows)
        rate.record(1, now_ms)
        excess_ms = min(rate.excess_ms(limit, now_ms), self._windows.window_ms)
        if excess_ms > 0:
            rate.record(-1, now_ms)
        return excess_ms


# A new connection does not wait in line if those before it wait longer than this.
ADMISSION_WAIT_MS_MAX: Final = 5_000


class Admission:
    """When new connections are served, if only so many per second may be.

    Kafka's acceptor sleeps while the rate is too high, and the connections behind wait for it. Here each
    connection is told when its turn is. The backlog of the socket bounds Kafka's queue, the time of the wait
    bounds this one.
    """

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._rate = Rate(windows)
        self._free_ms = 0  # when the acceptor would be awake again

    def record(self, limit: float, now_ms: int) -> int | None:
        """Counts a new connection. Returns how long it has to wait. None refuses it without counting it."""
        at_ms = max(now_ms, self._free_ms)
        if at_ms - now_ms > ADMISSION_WAIT_MS_MAX:
            return None
        self._rate.record(1, at_ms)
        self._free_ms = at_ms + min(self._rate.excess_ms(limit, at_ms), self._windows.window_ms)
        return self._free_ms - now_ms


class NodeQuotas:
    """All quotas of a node, with what its clients have used of them."""

    def __init__(self, windows: Windows, controller_windows: Windows) -> None:
        self.produce = RateQuotas(PRODUCER_BYTE_RATE, windows)
        self.fetch = RateQuotas(CONSUMER_BYTE_RATE, windows)
        self.request = RateQuotas(REQUEST_PERCENTAGE, windows, max_throttle_ms=windows.window_ms)
        self.mutations = MutationQuotas(controller_windows)
        self.addresses = AddressQuotas(windows)
        self.admission = Admission(windows)

    @property
    def is_on(self) -> bool:
        """Returns True if users or client ids have any quota."""
        return self.produce.is_on or self.fetch.is_on or self.request.is_on or self.mutations.is_on

    def apply(self, quotas: ClientQuotas) -> None:
        """Takes over new limits. Counts are kept."""
        for one in (self.produce, self.fetch, self.request, self.mutations, self.addresses):
            one.apply(quotas)
