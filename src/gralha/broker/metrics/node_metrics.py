"""The metrics of one node: what measures all the time, and the server that answers scrapes."""

from collections.abc import Callable

from gralha.broker.broker import Broker
from gralha.broker.config import Listener, NodeConfig
from gralha.broker.connection import ConnectionSettings
from gralha.broker.metrics.collecting import Sources
from gralha.broker.metrics.process import LoopDelay, ProcessUsage
from gralha.broker.metrics.server import MetricsServer
from gralha.broker.request_meters import RequestMeters


class NodeMetrics:
    """`stopwatch` returns seconds, in finer steps than the time of most event loops.

    `broker` returns None until the node has opened its metadata log.
    """

    def __init__(
        self,
        config: NodeConfig,
        stopwatch: Callable[[], float],
        usage: Callable[[], ProcessUsage],
        broker: Callable[[], Broker | None],
        listeners: Callable[[], list[ConnectionSettings]],
    ) -> None:
        self.requests = RequestMeters(stopwatch)
        # Where the metrics are, once the address is bound. None if the node serves none.
        self.address: Listener | None = None
        self._listener = config.metrics_listener
        self._loop_delay = LoopDelay(stopwatch)
        sources = Sources(config, broker, listeners, self.requests, self._loop_delay, usage)
        self._server = MetricsServer(sources)

    async def bind(self) -> None:
        """Binds the address, if there is one. Raises OSError."""
        listener = self._listener
        if listener is not None:
            port = await self._server.bind(listener.host, listener.port)
            self.address = listener._replace(port=port)

    async def run(self) -> None:
        """The owner's task: answers scrapes and measures the event loop. Never returns."""
        await self._server.serve()
        await self._loop_delay.run()

    async def close(self) -> None:
        await self._server.close()
