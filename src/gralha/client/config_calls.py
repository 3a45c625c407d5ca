"""Admin calls about the configs of topics, brokers and others."""

from collections.abc import Iterable, Mapping

from gralha.client.calls import Calls, raise_for
from gralha.client.connection import Connection
from gralha.client.errors import ClientError
from gralha.client.values import ConfigEntry, ConfigResource, ConfigSource, ConfigSynonym, ResourceType
from gralha.protocol.errors import ErrorCode, KafkaError, error_for
from gralha.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from gralha.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from gralha.protocol.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

_SET = 0
_DELETE = 1


class ConfigCalls(Calls):
    """Calls that describe and change configs."""

    def describe_configs(
        self,
        resources: Iterable[ConfigResource],
        *,
        include_synonyms: bool = False,
        include_documentation: bool = False,
    ) -> dict[ConfigResource, list[ConfigEntry] | KafkaError]:
        """All configs of each resource, in the broker's order."""

        def attempt(pending: list[ConfigResource]) -> dict[ConfigResource, list[ConfigEntry] | KafkaError]:
            found: dict[ConfigResource, list[ConfigEntry] | KafkaError] = {}
            for broker, group in by_broker(pending).items():
                request = DescribeConfigsRequest(
                    resources=[
                        DescribeConfigsResource(
                            resource_type=resource.type, resource_name=resource.name, configuration_keys=None
                        )
                        for resource in group
                    ],
                    include_synonyms=include_synonyms,
                    include_documentation=include_documentation,
                )
                connection = self._connection(broker, "describe")
                if connection.version_for(request) < 3:
                    request.include_documentation = False
                for result in connection.send(request, DescribeConfigsResponse).results:
                    resource = ConfigResource(ResourceType(result.resource_type), result.resource_name)
                    if result.error_code == ErrorCode.NONE:
                        found[resource] = [_entry(config) for config in result.configs]
                    else:
                        found[resource] = error_for(result.error_code, result.error_message or None)
            return found

        return self.cluster.each(resources, attempt)

    def alter_configs(
        self,
        resource: ConfigResource,
        *,
        set_values: Mapping[str, str] | None = None,
        delete: Iterable[str] = (),
        validate_only: bool = False,
    ) -> None:
        """Sets and deletes single configs of one resource. Others stay."""
        configs = [AlterableConfig(name=name, config_operation=_DELETE, value="") for name in delete]
        configs += [
            AlterableConfig(name=name, config_operation=_SET, value=value)
            for name, value in (set_values or {}).items()
        ]
        request = IncrementalAlterConfigsRequest(
            resources=[
                AlterConfigsResource(
                    resource_type=resource.type, resource_name=resource.name, configs=configs
                )
            ],
            validate_only=validate_only,
        )
        (broker,) = by_broker([resource])

        def attempt() -> None:
            # The active controller also decides about brokers that are no controllers.
            is_decided = self.cluster.through_controllers and resource.type != ResourceType.BROKER_LOGGER
            connection = self._connection(None if is_decided else broker, "change")
            response = connection.send(request, IncrementalAlterConfigsResponse)
            for result in response.responses:
                raise_for(result.error_code, result.error_message)

        self.cluster.once(attempt, is_change=True)

    def list_config_resources(self, resource_type: ResourceType) -> list[str]:
        """The names of all resources of one type that have configs."""

        def attempt() -> list[str]:
            connection = self.cluster.any_connection()
            request = ListConfigResourcesRequest(resource_types=[resource_type])
            if connection.version_for(request) == 0:
                # Version 0 supports only client metrics (KIP-1142).
                if resource_type != ResourceType.CLIENT_METRICS:
                    raise error_for(ErrorCode.UNSUPPORTED_VERSION)
                request.resource_types = []
            response = connection.send(request, ListConfigResourcesResponse)
            raise_for(response.error_code)
            return sorted(
                resource.resource_name
                for resource in response.config_resources
                if resource.resource_type == resource_type
            )

        return self.cluster.once(attempt)

    def _connection(self, node: int | None, doing: str) -> Connection:
        """The connection to the node that must answer, or to one that may."""
        if not self.cluster.through_controllers:
            return self.cluster.any_connection() if node is None else self.cluster.connection_to(node)
        if node is None:
            return self.cluster.admin_connection()
        controllers = self.cluster.brokers()
        if node not in controllers:
            known = ", ".join(map(str, sorted(controllers)))
            raise ClientError(
                f"Node {node} is not a controller, and only node {node} can {doing} its settings. The "
                f"controllers are: {known}. Use --bootstrap-server for brokers."
            )
        return self.cluster.connection_to(node)


def by_broker(resources: Iterable[ConfigResource]) -> dict[int | None, list[ConfigResource]]:
    """Groups resources by the broker that must answer: only a broker knows its own configs."""
    groups: dict[int | None, list[ConfigResource]] = {}
    for resource in resources:
        own = resource.type in (ResourceType.BROKER, ResourceType.BROKER_LOGGER) and resource.name
        groups.setdefault(int(resource.name) if own else None, []).append(resource)
    return groups


def _entry(config: DescribeConfigsResourceResult) -> ConfigEntry:
    return ConfigEntry(
        name=config.name,
        value=config.value,
        source=_source(config.config_source),
        is_sensitive=config.is_sensitive,
        is_read_only=config.read_only,
        synonyms=[
            ConfigSynonym(synonym.name, synonym.value, _source(synonym.source)) for synonym in config.synonyms
        ],
        documentation=config.documentation,
    )


def _source(code: int) -> ConfigSource:
    try:
        return ConfigSource(code)
    except ValueError:
        return ConfigSource.UNKNOWN
