"""The other nodes of the cluster: their addresses, the connections to them, and which of them have died."""

from collections.abc import Callable
from random import Random
from typing import Final

from gralha.broker.config import NodeConfig
from gralha.broker.node_tls import NodeTls
from gralha.broker.peer_login import peer_login
from gralha.broker.peers import PeerConnections, look_for_life
from gralha.broker.presence import Address, Life, Presence
from gralha.metadata.image import BrokerRegistration
from gralha.metadata.service import ControllerService

LOOK_TIMEOUT_S: Final = 2.0


class Neighbours:
    """`controllers` connects to the listeners of controllers, `brokers` to the listeners between brokers."""

    def __init__(
        self,
        config: NodeConfig,
        tls: NodeTls,
        controller: Callable[[], ControllerService | None],
        on_lost: Callable[[int], None],
        on_death: Callable[[int], None],
        on_failure: Callable[[BaseException], None],
        random: Random,
    ) -> None:
        """`controller` returns None until this node has opened its metadata log."""
        self._config = config
        self._tls = tls
        self._is_of_controller: dict[Address, bool] = {}  # the addresses that were looked at
        self._controller = controller
        self.presence = Presence(self._addresses, self._look, on_lost, on_death, on_failure)
        self.controllers = PeerConnections(
            f"node-{config.node_id}",
            self._controller_address,
            self.presence,
            lambda: tls.controllers,
            peer_login(config.login_to_controllers, random),
        )
        self.brokers = PeerConnections(
            f"broker-{config.node_id}",
            self._broker_address,
            self.presence,
            lambda: tls.brokers,
            peer_login(config.login_to_brokers if config.is_broker else None, random),
        )

    def registration(self, broker_id: int) -> BrokerRegistration | None:
        """A broker's registration in the newest metadata."""
        controller = self._controller()
        return None if controller is None else controller.image.brokers.get(broker_id)

    def close(self) -> None:
        """Closes all connections."""
        self.presence.close()
        self.controllers.close()
        self.brokers.close()

    def _controller_address(self, node_id: int) -> Address | None:
        if node_id <= -2:  # Kafka's numbers for servers with unknown ids
            return self._config.quorum_servers[-2 - node_id]
        controller = self._controller()
        return None if controller is None else controller.driver.endpoint_of(node_id)

    def _broker_address(self, node_id: int) -> Address | None:
        registration = self.registration(node_id)
        endpoint = registration.endpoint(self._config.inter_broker_listener or "") if registration else None
        return None if endpoint is None else (endpoint.host, endpoint.port)

    def _addresses(self, node_id: int) -> list[Address]:
        """The addresses where a live process of the node answers. A fenced broker may not listen yet."""
        found = {self._controller_address(node_id): True}
        registration = self.registration(node_id)
        if registration is not None and not registration.fenced:
            found.setdefault(self._broker_address(node_id), False)
        known = {address: kind for address, kind in found.items() if address is not None}
        self._is_of_controller.update(known)
        return list(known)

    async def _look(self, address: Address) -> Life:
        tls = self._tls.controllers if self._is_of_controller.get(address) else self._tls.brokers
        return await look_for_life(f"node-{self._config.node_id}", address, LOOK_TIMEOUT_S, tls)
