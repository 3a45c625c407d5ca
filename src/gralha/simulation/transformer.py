"""Consume-transform-produce: reads a partition, and writes each record to another topic, exactly once.

A transaction has the outputs of some inputs, and the group's offset after them. The value of an output is
that of the input and the name of the transaction. Each partition has its own transactional id, so a new life
fences the one before it, and begins at the offset that was committed last.
"""

from random import Random
from typing import Final, cast

from gralha.protocol.errors import ErrorCode
from gralha.protocol.fetch_numbers import READ_COMMITTED
from gralha.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from gralha.protocol.messages.fetch import FetchResponse
from gralha.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from gralha.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from gralha.simulation.clients import FETCH_VERSION, Bootstrap, Client
from gralha.simulation.fetch_session import Wanted, fetch_request
from gralha.simulation.history import Poll, Seek
from gralha.simulation.members import OFFSET_FETCH_VERSION
from gralha.simulation.reading import read_records
from gralha.simulation.transaction_history import OF
from gralha.simulation.transactional import (
    DELIVERY_S,
    GROUP,
    NO_ANSWER,
    AbortError,
    Identity,
    Transaction,
    TransactionalLife,
    TransactionWorld,
)

GROUP_ID: Final = "transform"
INPUTS_AT_ONCE: Final = 20
MAX_WAIT_MS: Final = 300


class TransformerLife(TransactionalLife):
    def __init__(
        self,
        identity: Identity,
        number: int,
        bootstrap: Bootstrap,
        topic: str,
        random: Random,
        world: TransactionWorld,
        source: str,
        partition: int,
    ) -> None:
        super().__init__(identity, number, bootstrap, topic, random, world)
        self.partition = partition
        self.position = -1
        self._source = Client(f"{self.name} source", bootstrap, source, random)
        self._after = -1  # the position after the open transaction

    async def begun(self) -> None:
        """Begin at the committed offset. Transactions of earlier lives have ended: InitProducerId waits."""
        topics = [OffsetFetchRequestTopics(name=self._source.topic, partition_indexes=[self.partition])]
        groups = [OffsetFetchRequestGroup(GROUP_ID, topics=topics)]
        request = OffsetFetchRequest(groups=groups, require_stable=True)
        while True:
            answer = cast(
                "OffsetFetchResponse | None",
                await self.ask_coordinator(request, OFFSET_FETCH_VERSION, GROUP, GROUP_ID),
            )
            code = NO_ANSWER if answer is None else answer.groups[0].error_code
            if answer is not None and code == ErrorCode.NONE:
                found = answer.groups[0].topics[0].partitions[0]
                code = found.error_code
                if code == ErrorCode.NONE:
                    break
            await self.wait_after(code, "OffsetFetch")
        self.position = max(found.committed_offset, 0)
        self.world.record(Seek(f"{self.name} source", self.source_name, self.now))

    def positions(self) -> dict[str, int]:
        """By partition: the offset up to which this life has transformed the inputs."""
        return {self.source_name: self.position}

    @property
    def source_name(self) -> str:
        return f"{self._source.topic}-{self.partition}"

    async def fill(self, transaction: Transaction) -> bool:
        values = await self._read()
        if not values:
            return False
        by_partition: dict[int, list[str]] = {}
        for value in values:
            partition = self.random.choice(sorted(self.leaders))
            by_partition.setdefault(partition, []).append(f"{value}{OF}{transaction.name}")
        await self.add(transaction, [(self.topic, one) for one in by_partition])
        for partition, outputs in by_partition.items():
            await self.write(transaction, partition, outputs)
            await self.stumble()
        await self._add_group(transaction)
        await self._commit_offset(transaction)
        return True

    def ended(self, is_commit: bool) -> None:
        if is_commit:
            self.position = self._after

    async def _read(self) -> list[str]:
        """The next inputs. Sets the position after them."""
        source = self._source
        leader, epoch = source.leaders.get(self.partition, (-1, -1))
        begun_at = self.now
        wanted = {self.partition: Wanted(epoch, self.position)}
        request = fetch_request(source.topic, wanted, MAX_WAIT_MS, READ_COMMITTED)
        response = None
        if leader >= 0:
            response = cast("FetchResponse | None", await source.ask(leader, request, FETCH_VERSION, 2_000))
        answers = [one for topic in response.responses for one in topic.partitions] if response else []
        if not answers or answers[0].error_code:
            await source.back_off()
            return []
        records, after = read_records(answers[0], self.position, reads_committed=True)
        records = records[: self.random.randint(1, INPUTS_AT_ONCE)]
        if not records:
            self.position = after
            return []
        self._after = int(records[-1].offset) + 1
        # The history has what this life reads again after an abort as a seek.
        process = f"{self.name} source"
        self.world.record(Seek(process, self.source_name, begun_at))
        found = tuple((int(record.offset), (record.value or b"").decode()) for record in records)
        self.world.record(Poll(process, self.source_name, found, begun_at, self.now, True))
        return [value for _, value in found]

    # The offset

    async def _add_group(self, transaction: Transaction) -> None:
        """AddOffsetsToTxn, by the rules of version 1."""
        if self.identity.has_new_epochs:
            return
        request = AddOffsetsToTxnRequest(
            self.identity.transactional_id, self.producer_id, self.epoch, GROUP_ID
        )
        while True:
            answer = cast("AddOffsetsToTxnResponse | None", await self.ask_coordinator(request, 3))
            code = NO_ANSWER if answer is None else answer.error_code
            if code == ErrorCode.NONE:
                return
            self.check_code(transaction, code, "AddOffsetsToTxn")
            await self.wait_after(code, "AddOffsetsToTxn")

    def offset_request(self) -> TxnOffsetCommitRequest:
        """The commit of the offset after the open transaction."""
        part = TxnOffsetCommitRequestPartition(self.partition, self._after)
        return TxnOffsetCommitRequest(
            transactional_id=self.identity.transactional_id,
            group_id=GROUP_ID,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            topics=[TxnOffsetCommitRequestTopic(self._source.topic, [part])],
        )

    async def _commit_offset(self, transaction: Transaction) -> None:
        until = self.now + self.random.uniform(*DELIVERY_S)
        request = self.offset_request()
        version = 5 if self.identity.has_new_epochs else 4
        while True:
            answer = cast(
                "TxnOffsetCommitResponse | None",
                await self.ask_coordinator(request, version, GROUP, GROUP_ID, must_not_come_late=True),
            )
            code = NO_ANSWER if answer is None else answer.topics[0].partitions[0].error_code
            if code == ErrorCode.NONE:
                return
            self.check_code(transaction, code, "TxnOffsetCommit")
            if self.now > until:
                self.must_begin = True
                raise AbortError
            await self.wait_after(code, "TxnOffsetCommit")
