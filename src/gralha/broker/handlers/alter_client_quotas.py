"""AlterClientQuotas (versions 0 and 1): sets and removes the quotas of users, client ids and addresses.

Each entity succeeds or fails by itself. The answer is sent when the change is committed. Each broker applies
the new quotas when its copy of the metadata has them.

Gaps: Apache Kafka also takes the names of hosts as addresses and looks them up. Here an address is an IP
address or `localhost`.
"""

from gralha.broker.broker import Broker
from gralha.broker.pipeline import RequestContext
from gralha.metadata.controller import client_quotas
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.alter_client_quotas import AlterClientQuotasRequest, AlterClientQuotasResponse


async def decide(
    broker: Broker, context: RequestContext, request: AlterClientQuotasRequest
) -> AlterClientQuotasResponse:
    response = await broker.controller.execute(
        lambda image: client_quotas.alter_client_quotas(image, request)
    )
    changed = [
        {part.entity_type: part.entity_name for part in entry.entity}
        for entry in response.entries
        if not entry.error_code
    ]
    if changed and not request.validate_only:
        broker.rights.audit.changed(context, "quotas changed", entities=changed)
    return response


def refusal(request: AlterClientQuotasRequest, error: KafkaError, version: int) -> AlterClientQuotasResponse:
    """If the whole request fails, each entity gets the error."""
    return client_quotas.refused_alterations(request, error)
