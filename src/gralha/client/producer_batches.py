"""What every producer of the bulk lane needs: a producer id, and halves of a batch that is too large."""

from gralha.client.cluster import Cluster
from gralha.client.producing import ProducedBatch
from gralha.protocol.batches import increment_sequence, read_header
from gralha.protocol.errors import ErrorCode, error_for
from gralha.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from gralha.protocol.records import decode_records, encode_batch


def new_producer_id(cluster: Cluster) -> InitProducerIdResponse:
    """A new producer id, for an idempotent producer without transactions."""
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=2**31 - 1)

    def attempt() -> InitProducerIdResponse:
        response = cluster.send_to_any(request, InitProducerIdResponse)
        if response.error_code != ErrorCode.NONE:
            raise error_for(response.error_code)
        return response

    return cluster.once(attempt)


def halves_of(batch: ProducedBatch, codec: int, level: int | None) -> list[ProducedBatch]:
    """Splits a batch that is too large for the topic in two. The sequence numbers stay."""
    header = read_header(batch.data, 0)
    records = decode_records(batch.data, 0, header)
    middle = len(records) // 2
    halves = []
    sequence = header.base_sequence
    for part in (records[:middle], records[middle:]):
        data = encode_batch(
            part,
            compression=codec,
            level=level,
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=sequence,
            transactional=header.is_transactional,
        )
        halves.append(ProducedBatch(data, len(part), batch.deadline))
        if sequence >= 0:
            sequence = increment_sequence(sequence, len(part))
    return halves
