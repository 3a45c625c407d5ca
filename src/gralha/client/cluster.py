"""A cluster as a client sees it: its brokers, the leaders of partitions, and connections to them.

`Cluster` begins with a list of bootstrap servers. It learns the brokers from the first one that answers, and
keeps one connection to each broker. Requests go to any broker, to the controller, or to a given broker. A
client may also connect to the controllers (KIP-919): then controllers take the place of brokers. `each`
repeats calls that failed with a temporary error, with fresh metadata and growing pauses, until a deadline.

Use a cluster from one thread. It connects when the first request is sent.
"""

import time
from collections.abc import Callable, Hashable, Iterable
from typing import Final, NamedTuple, Self, TypeVar

from gralha.client.addresses import Address, parse_bootstrap_servers
from gralha.client.connection import (
    DEFAULT_CONNECT_TIMEOUT_MS,
    DEFAULT_REQUEST_TIMEOUT_MS,
    AnyResponse,
    Connection,
)
from gralha.client.errors import ClientError, ConnectionFailedError, UnansweredError
from gralha.client.security import PLAINTEXT, ClientSecurity
from gralha.client.settings import ClientSettings
from gralha.protocol.coordinators import CANNOT_BE_CREATED
from gralha.protocol.errors import ErrorCode, KafkaError, error_for
from gralha.protocol.message import Message
from gralha.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from gralha.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

DEFAULT_API_TIMEOUT_MS: Final = 60_000
RETRY_BACKOFF_MS: Final = 50
RETRY_BACKOFF_MAX_MS: Final = 1_000
# Some brokers do not know a new topic for a moment. A misspelt topic stays unknown.
UNKNOWN_TOPIC_CODES: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
UNKNOWN_TOPIC_PATIENCE_MS: Final = 1_000
# The types of nodes in DescribeCluster.
BROKER_ENDPOINTS: Final = 1
CONTROLLER_ENDPOINTS: Final = 2
# A broker that answers with one of these has changed nothing. Another broker will, or the same one later.
NOT_IN_CHARGE_CODES: Final = (
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)

Item = TypeVar("Item", bound=Hashable)
Result = TypeVar("Result")


def may_pass(error: KafkaError, is_change: bool) -> bool:
    """Returns True if another attempt may succeed. A change is not repeated after other errors."""
    return error.code in NOT_IN_CHARGE_CODES or (error.retriable and not is_change)


def is_hopeless(error: KafkaError) -> bool:
    """Returns True if the brokers cannot have a coordinator before somebody changes the cluster."""
    return error.code == ErrorCode.COORDINATOR_NOT_AVAILABLE and CANNOT_BE_CREATED in error.message


class Broker(NamedTuple):
    """A broker of the cluster with its advertised address."""

    id: int
    host: str
    port: int
    rack: str | None = None

    @property
    def address(self) -> Address:
        return Address(self.host, self.port)


class Cluster:
    """Connections to the brokers of one cluster."""

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        client_id: str = "gralha",
        connect_timeout_ms: int = DEFAULT_CONNECT_TIMEOUT_MS,
        request_timeout_ms: int = DEFAULT_REQUEST_TIMEOUT_MS,
        api_timeout_ms: int = DEFAULT_API_TIMEOUT_MS,
        through_controllers: bool = False,
        waits_for_first_answer: bool = False,
        sleep: Callable[[float], None] = time.sleep,
        security: ClientSecurity = PLAINTEXT,
    ) -> None:
        self.security = security
        self.api_timeout_ms = api_timeout_ms
        self.request_timeout_ms = request_timeout_ms
        self.through_controllers = through_controllers
        # A cluster that never answered is not asked again, because its address is probably wrong. With this
        # flag the address is known to be right, for example in a task that was planned with it, so the client
        # waits.
        self.waits_for_first_answer = waits_for_first_answer
        self._bootstrap = parse_bootstrap_servers(bootstrap_servers)
        self._client_id = client_id
        self._sleep = sleep
        self._connect_timeout_ms = connect_timeout_ms
        self._connections: dict[Address, Connection] = {}
        self._brokers: dict[int, Broker] = {}
        self._controller_id = -1
        self._leaders: dict[tuple[str, int], int] = {}
        self._is_stale = True

    @classmethod
    def of(
        cls,
        settings: ClientSettings,
        *,
        api_timeout_ms: int,
        waits_for_first_answer: bool = False,
        sleep: Callable[[float], None] = time.sleep,
    ) -> Self:
        """The cluster of a client's settings."""
        return cls(
            settings.bootstrap_servers,
            client_id=settings.client_id,
            connect_timeout_ms=settings.connect_timeout_ms,
            request_timeout_ms=settings.request_timeout_ms,
            api_timeout_ms=api_timeout_ms,
            waits_for_first_answer=waits_for_first_answer,
            sleep=sleep,
            security=settings.security,
        )

    def close(self) -> None:
        """Closes all connections."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    # Metadata

    def brokers(self) -> dict[int, Broker]:
        """The brokers of the cluster by id, or its controllers."""
        if self._is_stale:
            self._look_around()
        return self._brokers

    def _look_around(self) -> None:
        if not self.through_controllers:
            self.metadata([])
            return
        request = DescribeClusterRequest(endpoint_type=CONTROLLER_ENDPOINTS)
        response = self.send_to_any(request, DescribeClusterResponse)
        if response.error_code != ErrorCode.NONE:
            raise error_for(response.error_code, response.error_message or None)
        self._brokers = {
            node.broker_id: Broker(node.broker_id, node.host, node.port, node.rack)
            for node in response.brokers
        }
        self._controller_id = response.controller_id
        self._is_stale = False

    def metadata(self, topics: Iterable[str] | None, *, create: bool = False) -> MetadataResponse:
        """Fresh metadata of some topics, of all topics (None), or of the brokers only (an empty list)."""
        wanted = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=create)
        response = self.send_to_any(request, MetadataResponse)
        self._learn(response)
        return response

    def _learn(self, response: MetadataResponse) -> None:
        self._brokers = {
            broker.node_id: Broker(broker.node_id, broker.host, broker.port, broker.rack)
            for broker in response.brokers
        }
        self._controller_id = response.controller_id
        self._is_stale = False
        for topic in response.topics:
            for partition in topic.partitions:
                self._leaders[topic.name or "", partition.partition_index] = partition.leader_id

    def leaders(self, partitions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int | KafkaError]:
        """The leader of each partition, or an error if there is none."""
        wanted = list(partitions)
        unknown = {topic for topic, partition in wanted if (topic, partition) not in self._leaders}
        errors = {
            topic.name: topic.error_code
            for topic in (self.metadata(sorted(unknown)).topics if unknown else [])
            if topic.error_code != ErrorCode.NONE
        }
        return {item: self._leader(item, errors.get(item[0])) for item in wanted}

    def _leader(self, partition: tuple[str, int], topic_error: int | None) -> int | KafkaError:
        leader = self._leaders.get(partition)
        if leader is None:
            return error_for(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if topic_error is None else topic_error)
        return leader if leader >= 0 else error_for(ErrorCode.LEADER_NOT_AVAILABLE)

    def forget(self) -> None:
        """Forgets all metadata, so that the next request asks again."""
        self._leaders.clear()
        self._is_stale = True

    # Requests

    def send_to_any(self, request: Message, response_class: type[AnyResponse]) -> AnyResponse:
        """Sends to a connected broker, otherwise to the first one that answers."""
        return self.any_connection().send(request, response_class)

    def send_to_controller(self, request: Message, response_class: type[AnyResponse]) -> AnyResponse:
        """Sends to the controller, or to the broker that forwards requests to it."""
        known = self.brokers()
        if self._controller_id not in known:
            self.forget()
            raise error_for(ErrorCode.NOT_CONTROLLER, "The cluster has no active controller.")
        return self.send_to(self._controller_id, request, response_class)

    def admin_connection(self) -> Connection:
        """A connection for admin requests: to any broker, which forwards them, or to the active controller.

        Controllers do not forward requests, so the active one is needed.
        """
        if not self.through_controllers:
            return self.any_connection()
        if self._controller_id not in self.brokers():
            self.forget()
            raise error_for(ErrorCode.NOT_CONTROLLER, "The cluster has no active controller.")
        return self.connection_to(self._controller_id)

    def send_to(
        self,
        broker_id: int,
        request: Message,
        response_class: type[AnyResponse],
        *,
        max_version: int | None = None,
    ) -> AnyResponse:
        """Sends to one broker."""
        return self.connection_to(broker_id).send(request, response_class, max_version=max_version)

    def connection_to(self, broker_id: int) -> Connection:
        """The connection to a broker. Opens it if there is none."""
        return self._to_broker(broker_id, self._connect)

    def own_connection_to(self, broker_id: int) -> Connection:
        """A new connection to a broker, for a caller that sends requests and reads the answers later.

        On a shared connection the answer to another request could come in between.
        """
        return self._to_broker(broker_id, self._open)

    def _to_broker(self, broker_id: int, connect: Callable[[Address], Connection]) -> Connection:
        broker = self.brokers().get(broker_id)
        if broker is None:
            self._look_around()
            broker = self._brokers.get(broker_id)
        if broker is None:
            known = ", ".join(str(known_id) for known_id in sorted(self._brokers))
            raise ClientError(f"The cluster has no broker {broker_id}; its brokers are: {known}.")
        try:
            return connect(broker.address)
        except ConnectionFailedError as error:
            if broker.address in self._bootstrap:
                raise
            raise ConnectionFailedError(
                f"Broker {broker_id} advertises {broker.address}, which cannot be reached from here. {error}"
            ) from None

    def any_connection(self) -> Connection:
        """A connection to any broker. Tries open connections first, then known brokers, then bootstrap
        servers.
        """
        for connection in self._connections.values():
            if not connection.closed:
                return connection
        candidates = [broker.address for broker in self._brokers.values()] + self._bootstrap
        failures: list[ClientError] = []
        for address in dict.fromkeys(candidates):
            try:
                return self._connect(address)
            except (ConnectionFailedError, UnansweredError) as error:
                failures.append(error)
        if len(failures) == 1:
            raise failures[0]
        raise ConnectionFailedError(" ".join(str(failure) for failure in failures))

    def _connect(self, address: Address) -> Connection:
        connection = self._connections.get(address)
        if connection is None or connection.closed:
            connection = self._connections[address] = self._open(address)
        return connection

    def _open(self, address: Address) -> Connection:
        return Connection.open(
            address,
            client_id=self._client_id,
            connect_timeout_ms=self._connect_timeout_ms,
            request_timeout_ms=self.request_timeout_ms,
            security=self.security,
        )

    # Repeating calls

    def each(
        self,
        items: Iterable[Item],
        attempt: Callable[[list[Item]], dict[Item, Result | KafkaError]],
        *,
        is_change: bool = False,
    ) -> dict[Item, Result | KafkaError]:
        """Calls `attempt` for the items, and again for items with a temporary error.

        `attempt` returns a result or an error for each item. An error that it raises counts for all items.
        When the time is over, each failed item keeps its last error. A change is repeated only if it was
        certainly not made, because a second attempt would fail with the effect of the first.
        """
        retry = Retry(self.api_timeout_ms, self._sleep)
        wanted = list(dict.fromkeys(items))
        pending = wanted
        results: dict[Item, Result | KafkaError] = {}
        while pending:
            try:
                results.update(attempt(pending))
            except KafkaError as error:
                results.update(dict.fromkeys(pending, error))
            except (ConnectionFailedError, UnansweredError) as error:
                ambiguous = is_change and isinstance(error, UnansweredError)
                is_hopeful = bool(self._brokers) or self.waits_for_first_answer
                if ambiguous or not is_hopeful or not retry.pause():
                    raise
                self.forget()
                continue
            pending = [item for item in pending if self._is_due(retry, results.get(item), is_change)]
            if not pending or not retry.pause():
                break
            self.forget()
        return {item: results[item] if item in results else _unanswered() for item in wanted}

    def _is_due(self, retry: "Retry", result: object, is_change: bool) -> bool:
        # A program that waits for its cluster also waits for enough brokers.
        if isinstance(result, KafkaError) and is_hopeless(result) and not self.waits_for_first_answer:
            return False
        return retry.is_due(result, is_change)

    def once(self, attempt: Callable[[], Result], *, is_change: bool = False) -> Result:
        """Calls `attempt` and repeats it while its error is temporary. Raises the last error."""
        result = self.each([0], lambda _items: {0: attempt()}, is_change=is_change)[0]
        if isinstance(result, KafkaError):
            raise result
        return result


def _unanswered() -> KafkaError:
    return error_for(ErrorCode.UNKNOWN_SERVER_ERROR, "The broker's answer does not mention it.")


class Retry:
    """Growing pauses, until a deadline."""

    def __init__(
        self,
        timeout_ms: int,
        sleep: Callable[[float], None],
        unknown_topic_patience_ms: int | None = None,
    ) -> None:
        self._sleep = sleep
        self._unknown_topic_patience_ms = (
            UNKNOWN_TOPIC_PATIENCE_MS if unknown_topic_patience_ms is None else unknown_topic_patience_ms
        )
        self._started = time.monotonic()
        self._deadline = self._started + timeout_ms / 1000
        self._pause_ms = RETRY_BACKOFF_MS

    def is_due(self, result: object, is_change: bool) -> bool:
        """Returns True if the result is an error that is worth another attempt."""
        if not isinstance(result, KafkaError) or not may_pass(result, is_change):
            return False
        elapsed_ms = (time.monotonic() - self._started) * 1000
        return result.code not in UNKNOWN_TOPIC_CODES or elapsed_ms < self._unknown_topic_patience_ms

    def pause(self) -> bool:
        """Waits before the next attempt. Returns False if there is no time for one."""
        seconds = self._pause_ms / 1000
        if time.monotonic() + seconds >= self._deadline:
            return False
        self._sleep(seconds)
        self._pause_ms = min(2 * self._pause_ms, RETRY_BACKOFF_MAX_MS)
        return True
