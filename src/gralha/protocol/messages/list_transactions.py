"""ListTransactions: the transactional ids of a coordinator (KIP-664).

They can be filtered by duration (KIP-994) and by pattern (KIP-1152).

Generated from definitions/list_transactions.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class ListTransactionsRequest(Message):
    __slots__ = ("duration_filter", "producer_id_filters", "state_filters", "transactional_id_pattern")

    API_KEY: ClassVar[int] = 66
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "state_filters",
        "producer_id_filters",
        "duration_filter",
        "transactional_id_pattern",
    )

    def __init__(
        self,
        state_filters: list[str] = EMPTY,
        producer_id_filters: list[int] = EMPTY,
        duration_filter: int = -1,
        transactional_id_pattern: str | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.state_filters: list[str] = [] if state_filters is EMPTY else state_filters
        self.producer_id_filters: list[int] = [] if producer_id_filters is EMPTY else producer_id_filters
        self.duration_filter: int = duration_filter
        self.transactional_id_pattern: str | None = transactional_id_pattern
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ListTransactionsRequest":
        if version < 0 or version > 2:
            raise no_such_version("ListTransactionsRequest", version)
        state_filters: list[str] = [reader.compact_string() for _ in range(reader.compact_array_length())]
        producer_id_filters: list[int] = [reader.int64() for _ in range(reader.compact_array_length())]
        duration_filter: int = -1
        if version >= 1:
            duration_filter = reader.int64()
        transactional_id_pattern: str | None = None
        if version >= 2:
            transactional_id_pattern = reader.compact_nullable_string()
        unknown = reader.tagged_fields()
        return ListTransactionsRequest(
            state_filters, producer_id_filters, duration_filter, transactional_id_pattern, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 2:
            raise no_such_version("ListTransactionsRequest", version)
        writer.write_compact_array_length(len(self.state_filters))
        for state_filters_element in self.state_filters:
            writer.write_compact_string(state_filters_element)
        writer.write_compact_array_length(len(self.producer_id_filters))
        for producer_id_filters_element in self.producer_id_filters:
            writer.write_int64(producer_id_filters_element)
        if version >= 1:
            writer.write_int64(self.duration_filter)
        elif self.duration_filter != -1:
            raise not_in_version("ListTransactionsRequest.duration_filter", version)
        if version >= 2:
            writer.write_compact_nullable_string(self.transactional_id_pattern)
        elif self.transactional_id_pattern is not None:
            raise not_in_version("ListTransactionsRequest.transactional_id_pattern", version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class TransactionState(Struct):
    __slots__ = ("producer_id", "transaction_state", "transactional_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("transactional_id", "producer_id", "transaction_state")

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        transaction_state: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.transactional_id: str = transactional_id
        self.producer_id: int = producer_id
        self.transaction_state: str = transaction_state
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "TransactionState":
        transactional_id = reader.compact_string()
        producer_id = reader.int64()
        transaction_state = reader.compact_string()
        unknown = reader.tagged_fields()
        return TransactionState(transactional_id, producer_id, transaction_state, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.transactional_id)
        writer.write_int64(self.producer_id)
        writer.write_compact_string(self.transaction_state)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ListTransactionsResponse(Message):
    __slots__ = ("error_code", "throttle_time_ms", "transaction_states", "unknown_state_filters")

    API_KEY: ClassVar[int] = 66
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "unknown_state_filters",
        "transaction_states",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        unknown_state_filters: list[str] = EMPTY,
        transaction_states: list[TransactionState] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.unknown_state_filters: list[str] = (
            [] if unknown_state_filters is EMPTY else unknown_state_filters
        )
        self.transaction_states: list[TransactionState] = (
            [] if transaction_states is EMPTY else transaction_states
        )
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ListTransactionsResponse":
        if version < 0 or version > 2:
            raise no_such_version("ListTransactionsResponse", version)
        throttle_time_ms = reader.int32()
        error_code = reader.int16()
        unknown_state_filters: list[str] = [
            reader.compact_string() for _ in range(reader.compact_array_length())
        ]
        transaction_states: list[TransactionState] = [
            TransactionState.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return ListTransactionsResponse(
            throttle_time_ms, error_code, unknown_state_filters, transaction_states, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 2:
            raise no_such_version("ListTransactionsResponse", version)
        writer.write_int32(self.throttle_time_ms)
        writer.write_int16(self.error_code)
        writer.write_compact_array_length(len(self.unknown_state_filters))
        for unknown_state_filters_element in self.unknown_state_filters:
            writer.write_compact_string(unknown_state_filters_element)
        writer.write_compact_array_length(len(self.transaction_states))
        for transaction_states_element in self.transaction_states:
            transaction_states_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)
