"""The controller at work: decisions become records, and committed records become the image.

Every node of the cluster replays the metadata log. One node, the active controller, decides. Its `execute`
decides on the newest image, which includes uncommitted records. It appends the records of the decision and
answers when they are committed. So decisions never contradict each other, and many of them share one sync of
the disk. If another node becomes controller, the log shows later whether an uncommitted decision was
committed. If it was not, the answer is NOT_CONTROLLER, and the caller can ask the next controller.

`image` is the committed image. Subscribers are called on the event loop after each commit, before the waiting
requests are answered.
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
    """An append of this node that is not committed yet, and the image after it."""

    append: Append
    image: MetadataImage
    change: ImageChange


class ControllerService:
    """The controller of a node, active or not, and the image for its subscribers."""

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
        # Committed batches of other controllers that are not in the image yet. One delta takes all that come
        # together, because each delta copies the image.
        self._delta: ImageDelta | None = None
        self._delta_is_whole = False
        self._delta_end = (-1, 0)
        self._leads = False
        self._waiting: list[asyncio.Future[None]] = []  # futures that wait for the next image
        self._driver = RaftDriver(quorum, RecordCodec(encode_record, decode_record), self)

    @property
    def image(self) -> MetadataImage:
        """The committed image."""
        return self._image

    @property
    def latest_image(self) -> MetadataImage:
        """The image after all appended records, also uncommitted ones. Decisions are made on it."""
        return self._undecided[-1].image if self._undecided else self._image

    @property
    def driver(self) -> RaftDriver:
        """This node's part of the quorum."""
        return self._driver

    @property
    def epoch(self) -> int:
        """The epoch of the quorum."""
        return self._driver.epoch

    @property
    def leader_id(self) -> int:
        """The id of the active controller, or -1 if it is not known."""
        return self._driver.leader_id

    @property
    def is_active(self) -> bool:
        """True if this node is the active controller and ready to decide."""
        return self._leads and self._driver.is_leader

    @property
    def kraft_version(self) -> int:
        """1 if the voters are records in the metadata log and can be changed (KIP-853), otherwise 0."""
        return self._driver.kraft_version

    @property
    def foreign_cluster(self) -> str | None:
        """A sentence if most controllers belong to another cluster, so that none becomes active. Or None."""
        return self._driver.foreign_cluster

    async def upgrade_voters(self, timeout_ms: int) -> None:
        """Writes the configured voters into the log. Raises KafkaError if that fails."""
        response = await self._driver.upgrade_voters(timeout_ms)
        if response.error_code:
            raise error_for(response.error_code, response.message)

    @property
    def high_watermark(self) -> int:
        """Everything in the metadata log below this offset is committed."""
        return self._driver.high_watermark

    async def wait_for_offset(self, offset: int) -> None:
        """Waits until the image includes an offset of the log."""
        while self._image.offset < offset:
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            await waiting

    async def start(self) -> None:
        """Joins the quorum. A node that is alone in it is the active controller when this returns."""
        await self._driver.start()

    async def close(self) -> None:
        """Commits the records under way and stops."""
        await self._driver.close()

    def subscribe(self, subscriber: Subscriber) -> None:
        """Calls `subscriber(change, image)` now with everything, and then after every commit."""
        self._subscribers.append(subscriber)
        if self._image is not EMPTY_IMAGE:
            subscriber(change_between(EMPTY_IMAGE, self._image), self._image)

    def subscribe_leadership(self, subscriber: LeadershipSubscriber) -> None:
        """Calls `subscriber(is_active)` when this node becomes the active controller and when it stops being
        it.
        """
        self._leadership_subscribers.append(subscriber)
        if self.is_active:
            subscriber(True)

    def topic_config_values(self, topic: str) -> dict[str, str]:
        """The values of a topic's configs by name, with inherited ones."""
        layers = self.context.config_layers(self._image)
        return effective_topic_values(self._image.topic_configs(topic), layers)

    # Decisions

    async def execute(self, decide: Callable[[MetadataImage], Decision[Response]]) -> Response:
        """Makes a decision and returns its response when its records are committed.

        Raises the errors of the decision. Raises NOT_CONTROLLER if this node is not the active controller, or
        if another node became it before the commit and the decision was lost.
        """
        if not self.is_active:
            raise NotLeaderError
        decision = decide(self.latest_image)
        if decision.records:
            waits_for: asyncio.Future[int] | None = self._append(decision.records).committed
        else:
            # The response may depend on uncommitted records, so it waits for them.
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

    # Calls of the quorum

    def on_snapshot(self, end_offset: int, epoch: int, records: list[Message]) -> None:
        """The records of a snapshot replace everything below its end offset."""
        self._delta = ImageDelta(EMPTY_IMAGE)
        self._delta_is_whole = True
        for record in records:
            self._delta.apply(record)
        self._delta_end = (end_offset - 1, epoch)

    def on_commit(self, base_offset: int, next_offset: int, epoch: int, records: list[Message]) -> None:
        """A committed batch. The image after an own batch is known; other batches are collected."""
        if self._undecided and self._undecided[0].append.base_offset == base_offset:
            decided = self._undecided.popleft()
            self._image = decided.image
            self._notify(decided.change)
            return
        if self._leads:
            # Records of the quorum itself. They do not change the image.
            assert not records, "a batch that the active controller has not written"
            return
        if self._delta is None:
            self._delta = ImageDelta(self._image)
        for record in records:
            self._delta.apply(record)
        self._delta_end = (next_offset - 1, epoch)

    def on_caught_up(self) -> None:
        """All committed records have been given to `on_commit`. Makes the new image."""
        if self._delta is None:
            return
        before = self._image
        self._image, change = self._delta.finish(*self._delta_end)
        if self._delta_is_whole and before is not EMPTY_IMAGE:
            change = change_between(before, self._image)
        self._delta, self._delta_is_whole = None, False
        self._notify(change)

    def on_leader(self, epoch: int) -> None:
        """This node has seen all decisions of earlier controllers, and decides from now on."""
        self.on_caught_up()
        self._leads = True
        if METADATA_VERSION not in self._image.features:
            self._append(self._bootstrap_records)
        self._share_min_isr()
        self._notify_leadership(True)

    def _share_min_isr(self) -> None:
        """All brokers use one minimum from the log, because acknowledgements and eligible replicas depend on
        it.
        """
        image = self.latest_image
        if has_eligible_leader_replicas(image.features):
            records = min_isr_records(image, self.context)
            if records:
                self._append(records)

    def on_resigned(self) -> None:
        """Another node decides from now on. The log shows later which decisions were committed."""
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
