"""Admin calls about client quotas."""

from collections.abc import Mapping

from gralha.client.calls import Calls, raise_for
from gralha.protocol.client_quotas import MATCH_ANY, MATCH_DEFAULT, MATCH_EXACT, QuotaEntity, quota_entity
from gralha.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    OpData,
)
from gralha.protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

ANY_NAME = object()


class QuotaCalls(Calls):
    """Calls that describe and change quotas of users, client ids and addresses."""

    def describe_quotas(self, filters: Mapping[str, object]) -> dict[QuotaEntity, dict[str, float]]:
        """The quotas of entities that have exactly these types. A filter is a name, None for the default, or
        ANY_NAME.
        """
        components = [_component(kind, name) for kind, name in filters.items()]

        def attempt() -> dict[QuotaEntity, dict[str, float]]:
            request = DescribeClientQuotasRequest(components=components, strict=True)
            response = self.cluster.any_connection().send(request, DescribeClientQuotasResponse)
            raise_for(response.error_code, response.error_message or None)
            return {
                quota_entity((one.entity_type, one.entity_name) for one in entry.entity): {
                    value.key: value.value for value in entry.values
                }
                for entry in response.entries or ()
            }

        return self.cluster.once(attempt)

    def alter_quotas(self, entity: QuotaEntity, changes: Mapping[str, float | None]) -> None:
        """Sets the quotas of an entity. None removes one."""
        request = AlterClientQuotasRequest(
            entries=[
                EntryData(
                    entity=[EntityData(*part) for part in entity],
                    ops=[OpData(key, value or 0.0, value is None) for key, value in changes.items()],
                )
            ]
        )

        def attempt() -> None:
            response = self.cluster.admin_connection().send(request, AlterClientQuotasResponse)
            for entry in response.entries:
                raise_for(entry.error_code, entry.error_message)

        self.cluster.once(attempt, is_change=True)


def _component(kind: str, name: object) -> ComponentData:
    if name is ANY_NAME:
        return ComponentData(entity_type=kind, match_type=MATCH_ANY, match=None)
    if name is None:
        return ComponentData(entity_type=kind, match_type=MATCH_DEFAULT, match=None)
    return ComponentData(entity_type=kind, match_type=MATCH_EXACT, match=str(name))
