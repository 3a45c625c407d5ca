"""The common parts of all decisions: their result, their context, their errors."""

from collections.abc import Mapping
from random import Random
from typing import Final, Generic, NamedTuple, TypeVar

from gralha.metadata.config_keys import BrokerConfigLayers, broker_config_value
from gralha.metadata.controller.liveness import SESSION_TIMEOUT_MS, Liveness
from gralha.metadata.delegation_tokens import SECRET_KEY, TokenKey, token_key
from gralha.metadata.image import MetadataImage
from gralha.protocol.message import Message

Response = TypeVar("Response")

# Kafka's limit on the changes of one request, because its records are one batch.
MAX_RECORDS_PER_REQUEST: Final = 10_000


class Decision(NamedTuple, Generic[Response]):
    """A response, and the records that must be committed before it is sent."""

    response: Response
    records: list[Message]


class Mutations:
    """The quota of a client on creating and deleting partitions. This one has no limit."""

    def record(self, count: int) -> None:
        """Counts partitions that will be created or deleted. Raises KafkaError if they are too many."""

    def throttle_ms(self) -> int:
        """How long to hold the client back."""
        return 0


NO_QUOTA: Final = Mutations()


class ControllerContext:
    """The controller's settings, the live brokers, and randomness: all that is not in the image."""

    def __init__(self, node_id: int, static_configs: Mapping[str, str], random: Random) -> None:
        self.node_id = node_id
        self.static_configs = static_configs
        self.random = random
        session_timeout_ms = static_configs.get("broker.session.timeout.ms", SESSION_TIMEOUT_MS)
        self.liveness = Liveness(node_id, int(session_timeout_ms))
        # None if the cluster has no delegation tokens.
        self.token_key: TokenKey | None = token_key(static_configs.get(SECRET_KEY))

    def config_layers(self, image: MetadataImage) -> BrokerConfigLayers:
        """The broker settings that topics inherit, as this node sees them."""
        return BrokerConfigLayers(
            image.broker_configs(self.node_id), image.default_broker_configs(), self.static_configs
        )

    def broker_number(self, image: MetadataImage, name: str) -> int:
        """A broker setting that is a whole number."""
        return int(broker_config_value(name, self.config_layers(image)) or 0)

    def broker_flag(self, image: MetadataImage, name: str) -> bool:
        """A broker setting that is true or false."""
        return (broker_config_value(name, self.config_layers(image)) or "").strip().lower() == "true"

    def new_uuid(self) -> bytes:
        """A random UUID (version 4) whose text form does not begin with a dash."""
        while True:
            bits = self.random.getrandbits(128)
            uuid = (bits & ~(0xF << 76) & ~(0x3 << 62) | (0x4 << 76) | (0x2 << 62)).to_bytes(16, "big")
            # If the first six bits are 0x3E, the base64 text begins with '-', and a command line takes the id
            # for a flag.
            if uuid[0] >> 2 != 0x3E:
                return uuid
