"""The controller at work: decisions become records, committed records become the image that all see.

Every node of the cluster follows the metadata log; one, the active controller, decides. There `execute`
decides on the newest image, which includes records that are on their way, appends the decision's records and
answers when they are committed. Decisions thus never contradict each other, and many share one sync of the
disk. When another node takes over, a decision that was on its way is answered once the log shows whether it
was committed. If it was not, that is NOT_CONTROLLER, and the next controller can be asked.

`image` is the committed one. Subscribers hear of every change on the event loop, right after the commit and
before those who wait for it.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import NamedTuple, TypeVar

from gralha.metadata.config_keys import effective_topic_values
from gralha.metadata.controller.decision import ControllerContext, Decision
from gralha.metadata.controller.features import min_isr_records
from gralha.metadata.delta import ImageDelta, change_between
from gralha.metadata.features import has_eligible_leader_replicas
from gralha.metadata.image import EMPTY_IMAGE, METADATA_VERSION, ImageChange, MetadataImage
from gralha.metadata.records import decode_record, encode_record
from gralha.metadata.snapshot import snapshot_records
from gralha.protocol.errors import error_for
from gralha.protocol.message import Message
from gralha.raft.driver import Append, NotLeaderError, QuorumSettings, RaftDriver, RecordCodec

Response = TypeVar("Response")
Subscriber = Callable[[ImageChange, MetadataImage], None]
LeadershipSubscriber = Callable[[bool], None]


class _Undecided(NamedTuple):
    """An own append that is not committed yet, and what it will make of the image."""

    append: Append
    image: MetadataImage
    change: ImageChange


class ControllerService:
    """The controller of a node, active or not, and the image for whoever follows it."""

    def __init__(
        self,
        quorum: QuorumSettings,
        static_configs: Mapping[str, str],
        bootstrap_records: Sequence[Message],
        random: Random,
    ) -> None:
        self.context = ControllerContext(quorum.node_id, static_configs, random)
        self._bootstrap_records = list(bootstrap_records)
        self._image = EMPTY_IMAGE
        self._undecided: deque[_Undecided] = deque()
        self._subscribers: list[Subscriber] = []
        self._leadership_subscribers: list[LeadershipSubscriber] = []
        # Batches of others that are not in the image yet: one delta for all that come together, or each of
        # them would copy the image.
        self._delta: ImageDelta | None = None
        self._delta_is_whole = False
        self._delta_end = (-1, 0)
        self._leads = False
        self._waiting: list[asyncio.Future[None]] = []  # for the next image
        self._driver = RaftDriver(quorum, RecordCodec(encode_record, decode_record), self)

    @property
    def image(self) -> MetadataImage:
        """What is committed."""
        return self._image

    @property
    def latest_image(self) -> MetadataImage:
        """What will be committed if nothing fails: what decisions are made on."""
        return self._undecided[-1].image if self._undecided else self._image

    @property
    def driver(self) -> RaftDriver:
        """The quorum, as this node takes part in it."""
        return self._driver

    @property
    def epoch(self) -> int:
        """The epoch of the quorum."""
        return self._driver.epoch

    @property
    def leader_id(self) -> int:
        """The active controller, -1 if none is known."""
        return self._driver.leader_id

    @property
    def is_active(self) -> bool:
        """Is this node the active controller, and ready to decide?"""
        return self._leads and self._driver.is_leader

    @property
    def kraft_version(self) -> int:
        """1 once the voters are records in the metadata log, which can be changed (KIP-853)."""
        return self._driver.kraft_version

    @property
    def foreign_cluster(self) -> str | None:
        """Why no active controller will be found: most of the controllers are of another cluster."""
        return self._driver.foreign_cluster

    async def upgrade_voters(self, timeout_ms: int) -> None:
        """Make records of the configured voters; a KafkaError says why not."""
        response = await self._driver.upgrade_voters(timeout_ms)
        if response.error_code:
            raise error_for(response.error_code, response.message)

    @property
    def high_watermark(self) -> int:
        """Everything in the metadata log below this offset is committed."""
        return self._driver.high_watermark

    async def wait_for_offset(self, offset: int) -> None:
        """Until the image has what the log says up to and with an offset."""
        while self._image.offset < offset:
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            await waiting

    async def start(self) -> None:
        """Takes part in the quorum. If that is this node alone, it is the active controller then."""
        await self._driver.start()

    async def close(self) -> None:
        """Commits what is under way and stops."""
        await self._driver.close()

    def subscribe(self, subscriber: Subscriber) -> None:
        """Calls `subscriber(change, image)` with all there is already, then after every commit."""
        self._subscribers.append(subscriber)
        if self._image is not EMPTY_IMAGE:
            subscriber(change_between(EMPTY_IMAGE, self._image), self._image)

    def subscribe_leadership(self, subscriber: LeadershipSubscriber) -> None:
        """Calls `subscriber(is_active)` when this node becomes the active controller or ceases to be it."""
        self._leadership_subscribers.append(subscriber)
        if self.is_active:
            subscriber(True)

    def topic_config_values(self, topic: str) -> dict[str, str]:
        """The settings that count for a topic, by name, inherited ones included."""
        layers = self.context.config_layers(self._image)
        return effective_topic_values(self._image.topic_configs(topic), layers)

    # Decisions

    async def execute(self, decide: Callable[[MetadataImage], Decision[Response]]) -> Response:
        """Decides, records, and answers when the records are committed.

        Raises what the decision raises, and NOT_CONTROLLER when this node is not the active controller, or
        ceased to be before the commit and the decision was lost.
        """
        if not self.is_active:
            raise NotLeaderError
        decision = decide(self.latest_image)
        if decision.records:
            waits_for: asyncio.Future[int] | None = self._append(decision.records).committed
        else:
            # The answer may rest on records that are on their way, and must not outlive them.
            waits_for = self._undecided[-1].append.committed if self._undecided else None
        if waits_for is not None:
            await asyncio.shield(waits_for)
        return decision.response

    def _append(self, records: list[Message]) -> Append:
        before = self.latest_image
        assert before.offset < self._driver.end_offset, "the image is ahead of the log"
        delta = ImageDelta(before)
        for record in records:
            delta.apply(record)
        append = self._driver.schedule_append(records)
        image, change = delta.finish(append.next_offset - 1, append.epoch)
        self._undecided.append(_Undecided(append, image, change))
        return append

    # What the quorum tells us

    def on_snapshot(self, end_offset: int, epoch: int, records: list[Message]) -> None:
        """Everything below the offset, instead of what came before."""
        self._delta = ImageDelta(EMPTY_IMAGE)
        self._delta_is_whole = True
        for record in records:
            self._delta.apply(record)
        self._delta_end = (end_offset - 1, epoch)

    def on_commit(self, base_offset: int, next_offset: int, epoch: int, records: list[Message]) -> None:
        """A committed batch: our own, whose image is known, or one of another controller."""
        if self._undecided and self._undecided[0].append.base_offset == base_offset:
            decided = self._undecided.popleft()
            self._image = decided.image
            self._notify(decided.change)
            return
        if self._leads:
            # The quorum's own records; they are not about what the image shows.
            assert not records, "a batch that the active controller has not written"
            return
        if self._delta is None:
            self._delta = ImageDelta(self._image)
        for record in records:
            self._delta.apply(record)
        self._delta_end = (next_offset - 1, epoch)

    def on_caught_up(self) -> None:
        """All that is committed has been seen: time for a new image."""
        if self._delta is None:
            return
        before = self._image
        self._image, change = self._delta.finish(*self._delta_end)
        if self._delta_is_whole and before is not EMPTY_IMAGE:
            change = change_between(before, self._image)
        self._delta, self._delta_is_whole = None, False
        self._notify(change)

    def on_leader(self, epoch: int) -> None:
        """All that others decided has been seen: this node decides from now on."""
        self.on_caught_up()
        self._leads = True
        if METADATA_VERSION not in self._image.features:
            self._append(self._bootstrap_records)
        self._share_min_isr()
        self._notify_leadership(True)

    def _share_min_isr(self) -> None:
        """Who is eligible to lead and what is acknowledged must go by one number: no longer by files."""
        image = self.latest_image
        if has_eligible_leader_replicas(image.features):
            records = min_isr_records(image, self.context)
            if records:
                self._append(records)

    def on_resigned(self) -> None:
        """Another node decides, or will. The log tells what becomes of the decisions under way."""
        self._leads = False
        self._undecided.clear()
        self._notify_leadership(False)

    def snapshot_records(self) -> Iterable[Message]:
        """The records of the committed image."""
        assert self._delta is None, "the image lags behind what was committed"
        return snapshot_records(self._image)

    def _notify(self, change: ImageChange) -> None:
        for subscriber in self._subscribers:
            subscriber(change, self._image)
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            if not one.done():
                one.set_result(None)

    def _notify_leadership(self, is_active: bool) -> None:
        for subscriber in self._leadership_subscribers:
            subscriber(is_active)
