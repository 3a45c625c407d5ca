"""Requests to the other nodes of the quorum, and answers to theirs.

On one side are Kafka's messages, on the other the events and effects of the state machine.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Final, NamedTuple

from gralha.protocol.control_records import KRAFT_VOTERS
from gralha.protocol.errors import ErrorCode, KafkaError
from gralha.protocol.message import Message
from gralha.protocol.messages.api_versions import ApiVersionsRequest
from gralha.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from gralha.protocol.messages.describe_quorum import DescribeQuorumRequest
from gralha.protocol.messages.fetch_snapshot import (
    FetchSnapshotRequest,
    FetchSnapshotResponse,
)
from gralha.protocol.messages.fetch_snapshot import (
    SnapshotId as SnapshotIdMessage,
)
from gralha.protocol.peers import PeerError
from gralha.protocol.primitives import ProtocolError
from gralha.raft import wire
from gralha.raft.describe import describe_quorum
from gralha.raft.events import (
    Answered,
    Event,
    FetchRequest,
    FetchResponse,
    FetchSnapshot,
    LeaderResponse,
    ProbeVoter,
    ReplyRecords,
    Request,
    Requested,
    Response,
    Send,
    SnapshotFetched,
    SnapshotProgress,
    VoterProbed,
)
from gralha.raft.log import MetadataLog
from gralha.raft.quorum_records import decode_voters
from gralha.raft.settings import NotLeaderError, QuorumSettings
from gralha.raft.snapshots import SnapshotError, SnapshotId
from gralha.raft.state import RaftState
from gralha.raft.strangers import Strangers
from gralha.storage.disk import DiskError, File, WouldBlock

log = logging.getLogger("gralha.raft")

LANE: Final = "raft"
FETCH_LANE: Final = "raft-fetch"
_CONTROLLERS: Final = 2  # the endpoint type of controllers in DescribeCluster (KIP-919)


class _Question(NamedTuple):
    """A request of another node that waits for its answer."""

    request: Message
    version: int
    answer: "asyncio.Future[Message]"


class Correspondence:
    """Requests in both directions. `take` gives an event to the state machine."""

    def __init__(
        self,
        settings: QuorumSettings,
        state: RaftState,
        metadata_log: MetadataLog,
        take: Callable[[Event], None],
        on_failure: Callable[[BaseException], None],
    ) -> None:
        self._settings = settings
        self._state = state
        self._log = metadata_log
        self._take = take
        self._on_failure = on_failure
        self._sender = wire.Sender(settings.cluster_id, settings.endpoints)
        self._strangers = Strangers(settings.cluster_id, settings.folder)
        self._loop = asyncio.get_running_loop()
        self._questions: dict[int, _Question] = {}
        self._is_over = False
        self._own_questions: dict[int, asyncio.Future[Response]] = {}
        self._last_token = 0
        # A dict keeps its order. The tasks of a set would be cancelled in the order of their addresses.
        self._tasks: dict[asyncio.Task[None], None] = {}
        # Host and port of leaders that the records of voters do not have, as other nodes told them.
        self._told_endpoints: dict[int, tuple[str, int]] = {}

    def endpoint_of(self, node_id: int) -> tuple[str, int] | None:
        """The host and port of a controller, from the voters or from what other nodes told."""
        if node_id == self._state.key.id and self._settings.endpoints:
            return self._settings.endpoints[0][1:]
        voter = self._state.voters.latest.find(node_id)
        if voter is not None and voter.endpoints:
            return voter.endpoints[0][1:]
        return self._told_endpoints.get(node_id)

    def _learn_endpoints(self, message: Message) -> None:
        for node_id, host, port in wire.leader_endpoints(message):
            self._told_endpoints[node_id] = (host, port)

    # Requests to others

    def _spawn(self, work: Coroutine[object, object, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks[task] = None
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_failure(error)

    def send(self, effect: Send) -> None:
        """Sends a request to another node. The result comes back as an event."""
        self._spawn(self._send(effect))

    async def _send(self, effect: Send) -> None:
        lane = FETCH_LANE if isinstance(effect.request, FetchRequest) else LANE
        message: Message | None = None
        response: Response | None = None
        try:
            message = await self._ask(effect.node_id, wire.encode_request(effect.request, self._sender), lane)
            response = wire.decode_response(message)
        except (PeerError, ProtocolError, KafkaError, wire.WrongQuorumError) as error:
            log.debug("Node %d did not answer: %s", effect.node_id, error)
        self._take(Answered(effect.node_id, effect.request, response))
        if message is not None:
            await self._note_cluster(effect.node_id, message)

    async def _note_cluster(self, node_id: int, message: Message) -> None:
        """Asks a node of another cluster for its cluster id, so that the log can name it."""
        if getattr(message, "error_code", 0) != ErrorCode.INCONSISTENT_CLUSTER_ID:
            self._strangers.gone(node_id)
        elif self._strangers.is_new(node_id):
            cluster_id: str | None = None
            try:
                answer = await self._ask(node_id, DescribeClusterRequest(endpoint_type=_CONTROLLERS), LANE)
                if isinstance(answer, DescribeClusterResponse):
                    cluster_id = answer.cluster_id or None
            except PeerError as error:
                log.debug("Node %d did not tell its cluster id: %s", node_id, error)
            self._strangers.found(node_id, cluster_id)

    @property
    def foreign_cluster(self) -> str | None:
        """Says that most controllers belong to another cluster; None if they do not."""
        voters = self._state.voters.latest
        others = [key.id for key in voters.others(self._state.key)]
        return self._strangers.majority(others if voters.voters else self._settings.bootstrap)

    async def _ask(self, node_id: int, request: Message, lane: str) -> Message:
        peers = self._settings.peers
        if peers is None:
            raise PeerError("this node has no connections to other nodes")
        timeout_ms = self._settings.timeouts.request_ms
        message = await peers.ask(node_id, request, timeout_ms=timeout_ms, lane=lane)
        self._learn_endpoints(message)
        return message

    def probe(self, effect: ProbeVoter) -> None:
        """Asks a node that may become a voter for its versions. The result comes back as an event."""
        self._spawn(self._probe(effect))

    async def _probe(self, effect: ProbeVoter) -> None:
        node_id, levels = effect.request.voter.key.id, None
        self._told_endpoints[node_id] = (effect.endpoint.host, effect.endpoint.port)
        question = ApiVersionsRequest(client_software_name="gralha", client_software_version="1")
        try:
            message = await self._ask(node_id, question, LANE)
            levels = wire.kraft_versions(message)
        except (PeerError, ProtocolError, KafkaError) as error:
            log.info("Controller %d cannot become a voter, because it does not answer: %s", node_id, error)
        self._take(VoterProbed(effect, levels))

    # Fetching snapshots

    def fetch_snapshot(self, effect: FetchSnapshot) -> None:
        """Fetches a snapshot, part by part. The result comes back as an event."""
        self._spawn(self._fetch_snapshot(effect))

    async def _fetch_snapshot(self, effect: FetchSnapshot) -> None:
        event = SnapshotFetched(None)
        begin = partial(self._log.begin_fetched_snapshot, effect.snapshot)
        file = await self._loop.run_in_executor(None, begin)
        try:
            await self._fetch_parts(effect, file)
            await self._loop.run_in_executor(None, file.sync)
            read = partial(self._log.read_fetched_snapshot, effect.snapshot)
            snapshot = await self._loop.run_in_executor(None, read)
            value = snapshot.quorum_records.get(KRAFT_VOTERS)
            event = SnapshotFetched(effect.snapshot, None if value is None else decode_voters(value))
        except (PeerError, ProtocolError, SnapshotError) as error:
            log.warning("The snapshot at offset %d was not fetched: %s", effect.snapshot.end_offset, error)
            await asyncio.sleep(self._settings.timeouts.retry_ms / 1000)
        finally:
            file.close()
        self._take(event)

    async def _fetch_parts(self, effect: FetchSnapshot, file: File) -> None:
        position = 0
        while True:
            request = wire.encode_snapshot_request(
                self._state.key, effect.epoch, effect.snapshot, position, self._settings.cluster_id
            )
            message = await self._ask(effect.node_id, request, FETCH_LANE)
            if not isinstance(message, FetchSnapshotResponse) or message.error_code or not message.topics:
                raise PeerError("the leader refused it")
            part = message.topics[0].partitions[0]
            if part.error_code or part.position != position:
                raise PeerError(f"the leader refused it: {ErrorCode(part.error_code).name}")
            data = b"" if part.unaligned_records is None else part.unaligned_records.to_bytes()
            await self._loop.run_in_executor(None, partial(file.append, [data]))
            position += len(data)
            self._take(SnapshotProgress())
            if position >= part.size:
                return
            if not data:
                raise PeerError("the leader sent an empty part")

    # Requests of others

    def handle(self, request: Message, version: int) -> Message | Awaitable[Message]:
        """Answers a request, at once or later."""
        if isinstance(request, DescribeQuorumRequest):
            now_ms = int(self._loop.time() * 1000)
            return describe_quorum(request, version, self._state, now_ms, self._settings.clock())
        try:
            asked = wire.decode_request(request, version, self._settings.cluster_id)
            self._learn_endpoints(request)
        except wire.WrongQuorumError as error:
            if error.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID:
                self._strangers.refused(wire.sender_id(request, version), getattr(request, "cluster_id", ""))
            return wire.encode_refusal(request, error.error_code)
        token = self._next_token()
        question = _Question(request, version, self._loop.create_future())
        self._questions[token] = question
        self._take(Requested(token, asked))
        return question.answer.result() if question.answer.done() else question.answer

    def ask_here(self, request: Request) -> "asyncio.Future[Response]":
        """Answers a request that comes from this process itself."""
        token = self._next_token()
        answer: asyncio.Future[Response] = self._loop.create_future()
        self._own_questions[token] = answer
        self._take(Requested(token, request))
        return answer

    def _next_token(self) -> int:
        self._last_token += 1
        return self._last_token

    def reply(self, token: int, response: Response) -> None:
        """Answers a request."""
        own = self._own_questions.pop(token, None)
        if own is not None:
            if not own.done():
                own.set_result(response)
            return
        question = self._taken(token)
        if question is None:
            return
        leader = self.endpoint_of(response.leader_id)
        self._settle(question, wire.encode_response(question.request, question.version, response, leader))

    def _taken(self, token: int) -> _Question | None:
        """The request to answer; None if all requests were refused while the disk was busy."""
        question = self._questions.pop(token, None)
        assert question is not None or self._is_over, "a request is answered once"
        return question

    def _settle(self, question: _Question, message: Message) -> None:
        if not question.answer.done():
            question.answer.set_result(message)

    def reply_records(self, effect: ReplyRecords) -> None:
        """Answers a fetch with records of the log."""
        try:
            records = self._log.read_raw(effect.offset, wire.FETCH_BYTES, blocking=False)
        except WouldBlock:
            self._spawn(self._reply_slowly(effect))
        else:
            self.reply(effect.token, effect.response._replace(records=records))

    async def _reply_slowly(self, effect: ReplyRecords) -> None:
        response: FetchResponse = effect.response
        read = partial(self._log.read_raw, effect.offset, wire.FETCH_BYTES, blocking=True)
        try:
            response = response._replace(records=await self._loop.run_in_executor(None, read))
        except KafkaError as error:
            # The records were truncated or removed meanwhile. The follower asks again and learns why.
            response = response._replace(error_code=int(error.code))
        self.reply(effect.token, response)

    def reply_snapshot(self, token: int) -> None:
        """Answers with the requested part of a snapshot."""
        question = self._taken(token)
        if question is None:
            return
        assert isinstance(question.request, FetchSnapshotRequest)
        self._spawn(self._reply_snapshot(question, question.request))

    async def _reply_snapshot(self, question: _Question, request: FetchSnapshotRequest) -> None:
        part = request.topics[0].partitions[0]
        snapshot = SnapshotId(part.snapshot_id.end_offset, part.snapshot_id.epoch)
        error, size_bytes, data = 0, 0, b""
        if all(stored.id != snapshot for stored in self._log.snapshots):
            error = int(ErrorCode.SNAPSHOT_NOT_FOUND)
        else:
            max_bytes = max(min(request.max_bytes, wire.FETCH_BYTES), 1)
            read = partial(self._log.read_snapshot_part, snapshot, max(part.position, 0), max_bytes)
            try:
                size_bytes, data = await self._loop.run_in_executor(None, read)
            except DiskError:
                error = int(ErrorCode.SNAPSHOT_NOT_FOUND)
            if not error and not 0 <= part.position < size_bytes:
                error, data = int(ErrorCode.POSITION_OUT_OF_RANGE), b""
        response = LeaderResponse(error, self._state.leader_id, self._state.epoch)
        snapshot_id = SnapshotIdMessage(*snapshot)
        message = wire.encode_snapshot_response(
            snapshot_id, response, size_bytes, part.position, data, question.version, None
        )
        self._settle(question, message)

    # The end

    async def close(self) -> None:
        """Gives up its own requests, and refuses those that wait."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.fail_questions()

    def fail_questions(self) -> None:
        """Refuses all requests that wait, because nothing will answer them any more."""
        self._is_over = True
        questions, self._questions = self._questions, {}
        for question in questions.values():
            self._settle(question, wire.encode_refusal(question.request, int(ErrorCode.NOT_CONTROLLER)))
        own, self._own_questions = self._own_questions, {}
        for answer in own.values():
            if not answer.done():
                answer.set_exception(NotLeaderError())
                answer.exception()
