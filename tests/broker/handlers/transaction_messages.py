"""A request of each API of transactions, for tests that send all of them."""

from collections.abc import Callable

from gralha.protocol.apis import ApiKey
from gralha.protocol.message import Message
from gralha.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from gralha.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from gralha.protocol.messages.describe_transactions import DescribeTransactionsRequest
from gralha.protocol.messages.end_txn import EndTxnRequest
from gralha.protocol.messages.list_transactions import ListTransactionsRequest
from gralha.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

Producer = tuple[int, int]  # id and epoch


def add_partitions(
    version: int,
    transactional_id: str = "t",
    producer: Producer = (0, 0),
    partitions: tuple[int, ...] = (0,),
    topic: str = "a",
    verify_only: bool = False,
) -> AddPartitionsToTxnRequest:
    topics = [AddPartitionsToTxnTopic(topic, list(partitions))]
    if version < 4:
        return AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=producer[0],
            v3_and_below_producer_epoch=producer[1],
            v3_and_below_topics=topics,
        )
    return AddPartitionsToTxnRequest(
        transactions=[AddPartitionsToTxnTransaction(transactional_id, *producer, verify_only, topics)]
    )


def marker(
    producer: Producer = (0, 0), is_commit: bool = True, coordinator_epoch: int = 0, version: int = 0
) -> WritableTxnMarker:
    return WritableTxnMarker(
        *producer, is_commit, [WritableTxnMarkerTopic("a", [0, 9])], coordinator_epoch, version
    )


REQUESTS: dict[ApiKey, Callable[..., Message]] = {
    ApiKey.ADD_PARTITIONS_TO_TXN: lambda version, _: add_partitions(version),
    ApiKey.ADD_OFFSETS_TO_TXN: lambda version, _: AddOffsetsToTxnRequest("t", 0, 0, "g"),
    ApiKey.END_TXN: lambda version, _: EndTxnRequest("t", 0, 0, True),
    ApiKey.WRITE_TXN_MARKERS: lambda version, _: WriteTxnMarkersRequest(markers=[marker()]),
    ApiKey.DESCRIBE_TRANSACTIONS: lambda version, _: DescribeTransactionsRequest(transactional_ids=["t", ""]),
    ApiKey.LIST_TRANSACTIONS: lambda version, _: ListTransactionsRequest(
        state_filters=["Ongoing", "nope"],
        duration_filter=5 if version >= 1 else -1,
        transactional_id_pattern="t.*" if version >= 2 else None,
    ),
}
