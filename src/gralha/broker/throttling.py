"""Quotas at work: what the requests of clients cost, and how long a client is held back.

The pipeline asks here after each request, if there are quotas at all (`is_on`). A client over its quota gets
its answer at once with `throttle_time_ms`, and its connection is not read from until that time is over
(KIP-219). A fetch over the quota is different: its answer has no records, because sending them would use
more of the quota.

Bytes of a Produce request count as they came, of a Fetch response as its records and a little for each
partition. The time of a request is the time that the event loop has spent on it, in percent of one core.
Requests of other nodes are never held back. Anybody can write that a request is from a node. With an
authorizer it only counts if the principal has CLUSTER_ACTION, as in Kafka.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from typing import Any, Final

from gralha.broker.config import NodeConfig
from gralha.broker.pipeline import RequestContext
from gralha.broker.quota_use import Throttle, Use
from gralha.metadata.controller.decision import Mutations
from gralha.metadata.image import ImageChange, MetadataImage
from gralha.protocol.apis import ApiKey
from gralha.protocol.client_quotas import ClientQuotas
from gralha.protocol.errors import ErrorCode, error_for
from gralha.protocol.ip_addresses import address_of
from gralha.protocol.message import Message
from gralha.security.quota_meters import Windows
from gralha.security.quotas import Admission, NodeQuotas

# Requests of nodes. Holding them back would slow down replication, transactions or the quorum.
OF_NODES: Final = frozenset(
    {
        ApiKey.WRITE_TXN_MARKERS,
        ApiKey.VOTE,
        ApiKey.BEGIN_QUORUM_EPOCH,
        ApiKey.END_QUORUM_EPOCH,
        ApiKey.ALTER_PARTITION,
        ApiKey.ENVELOPE,
        ApiKey.FETCH_SNAPSHOT,
        ApiKey.BROKER_REGISTRATION,
        ApiKey.BROKER_HEARTBEAT,
        ApiKey.ALLOCATE_PRODUCER_IDS,
        ApiKey.CONTROLLER_REGISTRATION,
        ApiKey.UPDATE_RAFT_VOTER,
    }
)
# Requests of a login. The client is nobody yet, and has limits of its own (`broker/login.py`).
OF_LOGINS: Final = frozenset({ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE, ApiKey.API_VERSIONS})
# A Fetch response without its records: the head, and each partition.
FETCH_HEAD_BYTES: Final = 20
FETCH_PARTITION_BYTES: Final = 50
PERCENT: Final = 100.0
UNLIMITED: Final = (1 << 31) - 1


class ClientThrottle(Throttle):
    """The quotas of a node's clients. `clock_ms` must not go back."""

    def __init__(
        self,
        config: NodeConfig,
        acts_as_node: Callable[[str, str], bool],
        clock_ms: Callable[[], int] | None = None,
    ) -> None:
        """`acts_as_node` says whether a principal at a host has the rights of a node."""
        super().__init__()
        self._acts_as_node = acts_as_node
        self._clock_ms = _loop_ms if clock_ms is None else clock_ms
        # The setting max.connection.creation.rate, which may change while the broker runs.
        self.max_connection_rate = config.number("max.connection.creation.rate")
        # The same of single listeners, and what they have used of it.
        self.listener_rates: dict[str, int] = {}
        self._admissions: dict[str, Admission] = {}
        self.delayed_connections = 0
        self.refused_connections = 0
        self._own_listeners = config.listeners_of_nodes()
        self._windows = _windows(config, "quota.window.num", "quota.window.size.seconds")
        self.quotas = NodeQuotas(
            self._windows,
            _windows(config, "controller.quota.window.num", "controller.quota.window.size.seconds"),
        )

    def follow(self, change: ImageChange, image: MetadataImage) -> None:
        """Takes over the quotas of a new image."""
        if change.client_quotas_changed:
            self.apply(image.client_quotas)

    def apply(self, quotas: ClientQuotas) -> None:
        self.quotas.apply(quotas)
        self.is_on = self.quotas.is_on

    def used(self, use: Use, response: Message | None) -> int:
        """Counts a request that is done. Returns how long to hold its client back, in milliseconds."""
        if use.api_key in OF_LOGINS:
            return 0
        if (use.claims_node or use.api_key in OF_NODES) and self._acts_as_node(use.principal, use.host):
            return 0
        now_ms = self._clock_ms()
        quotas = self.quotas
        user, client_id = client_of(use.principal, use.client_id)
        has_field = response is not None and hasattr(response, "throttle_time_ms")
        # The handler has set this: a Fetch without records, or a decision of the controller.
        throttle_ms = int(getattr(response, "throttle_time_ms", 0))
        if use.api_key == ApiKey.PRODUCE:
            over_ms = quotas.produce.record(user, client_id, use.size_bytes, now_ms)
            throttle_ms = max(throttle_ms, quotas.produce.held_back(over_ms))
        if response is not None:
            over_ms = quotas.request.record(user, client_id, use.spent_s * PERCENT, now_ms)
            throttle_ms = max(throttle_ms, quotas.request.held_back(over_ms))
        if has_field:
            response.throttle_time_ms = throttle_ms  # type: ignore[union-attr]
        return throttle_ms

    def connected(self, host: str, listener: str) -> tuple[int, bool]:
        """Counts a new connection. Returns how long to hold it back, and whether it may stay after that.

        Too many connections in line for `max.connection.creation.rate` are refused at once.
        An address over its quota is refused, but only after a while, so that it does not try again at once.
        Connections between nodes have a listener of their own, or are counted like those of clients. Only a
        rate of their own listener holds them back.
        """
        is_of_clients = listener not in self._own_listeners
        now_ms = self._clock_ms()
        quotas = self.quotas
        if is_of_clients and quotas.addresses.is_on:
            refused_ms = quotas.addresses.record(address_of(host), now_ms)
            if refused_ms > 0:
                self.refused_connections += 1
                return refused_ms, False
        limits: list[tuple[int, Admission]] = []
        if listener in self.listener_rates:
            limits.append((self.listener_rates[listener], self._admission_of(listener)))
        if is_of_clients:
            limits.append((self.max_connection_rate, quotas.admission))
        longest_ms = 0
        for rate, admission in limits:
            if rate >= UNLIMITED:
                continue
            delay_ms = admission.record(rate, now_ms)
            if delay_ms is None:
                self.refused_connections += 1
                return 0, False
            longest_ms = max(longest_ms, delay_ms)
        if longest_ms > 0:
            self.delayed_connections += 1
        return longest_ms, True

    def _admission_of(self, listener: str) -> Admission:
        if listener not in self._admissions:
            self._admissions[listener] = Admission(self._windows)
        return self._admissions[listener]

    def measured(self, work: Awaitable[Message | None], use: Use) -> Awaitable[Message | None]:
        return Measured(work, use)

    # Fetches

    def most_fetched(self, context: RequestContext) -> int | None:
        """The most bytes that a Fetch response may have within the quota. None if there is no quota."""
        most = self.quotas.fetch.most_at_once(*client_of(context.peer.principal, context.client_id))
        return None if most is None else max(int(min(most, 1 << 31)), 1)

    def fetched(self, context: RequestContext, response_bytes: int) -> int:
        """Counts the bytes of a Fetch response. If they are over the quota, they are not counted, and the
        time is returned for which the client gets no records.
        """
        fetch = self.quotas.fetch
        user, client_id = client_of(context.peer.principal, context.client_id)
        now_ms = self._clock_ms()
        has_rested = fetch.has_rested(user, client_id, now_ms)
        over_ms = fetch.record(user, client_id, response_bytes, now_ms)
        if over_ms == 0 or has_rested:
            # A batch that is larger than the quota of all windows would never leave otherwise.
            return 0
        fetch.take_back(user, client_id, response_bytes, now_ms)
        return fetch.held_back(over_ms)

    def answer_size(self, records_bytes: int, partitions: int) -> int:
        """The size of a Fetch response."""
        return FETCH_HEAD_BYTES + FETCH_PARTITION_BYTES * partitions + records_bytes

    # Decisions of the controller

    def mutations(self, context: RequestContext, strict_since: int) -> "ClientMutations":
        """The quota of a client on creating and deleting partitions. Older versions are only held back."""
        return ClientMutations(self.quotas, context, context.api_version >= strict_since, self._clock_ms)


class ClientMutations(Mutations):
    """What one request creates and deletes."""

    def __init__(
        self, quotas: NodeQuotas, context: RequestContext, is_strict: bool, clock_ms: Callable[[], int]
    ) -> None:
        self._quotas = quotas.mutations
        self._client = client_of(context.peer.principal, context.client_id)
        self._is_strict = is_strict
        self._clock_ms = clock_ms
        self._until_ms = 0

    def record(self, count: int) -> None:
        now_ms = self._clock_ms()
        is_accepted, over_ms = self._quotas.record(*self._client, count, self._is_strict, now_ms)
        self._until_ms = max(self._until_ms, now_ms + over_ms)
        if not is_accepted:
            raise error_for(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "The throttling quota has been exceeded.")

    def throttle_ms(self) -> int:
        """How long to hold the client back, now that its request is decided."""
        return self._quotas.held_back(max(self._until_ms - self._clock_ms(), 0))


class Measured:
    """Work whose steps on the event loop count as time of its request."""

    def __init__(self, work: Awaitable[Message | None], use: Use) -> None:
        self._work = work
        self._use = use

    def __await__(self) -> Generator[Any, Any, Message | None]:
        steps = self._work.__await__()
        clock = self._use.clock
        step: Callable[[], Any] = lambda: next(steps)  # noqa: E731
        while True:
            began_s = clock()
            try:
                waited_for = step()
            except StopIteration as end:
                response: Message | None = end.value
                return response
            finally:
                self._use.spent_s += clock() - began_s
            try:
                yield waited_for
            except BaseException as error:
                step = _throwing(steps, error)
            else:
                step = lambda: next(steps)  # noqa: E731


def _throwing(steps: Generator[Any, Any, Any], error: BaseException) -> Callable[[], Any]:
    return lambda: steps.throw(error)


def client_of(principal: str, client_id: str | None) -> tuple[str, str]:
    """The names by which quotas know a client."""
    _, _, user = principal.partition(":")
    return user, client_id or ""


def _windows(config: NodeConfig, count: str, seconds: str) -> Windows:
    return Windows(config.number(count), 1000 * config.number(seconds))


def _loop_ms() -> int:
    return int(asyncio.get_running_loop().time() * 1000)
