"""The pipeline keeps the order of responses, and refuses requests that it cannot read."""

import asyncio
import time
from collections.abc import Awaitable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gralha.broker.pipeline import MAX_WEIGHT_INSIDE, Api, Peer, Pipeline, RequestContext
from gralha.broker.request_meters import RequestMeters
from gralha.protocol.message import Message
from gralha.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from gralha.protocol.primitives import ProtocolError, Reader, Writer, in_memory

API_KEY = 10
IN_TURN_KEY = 11
VERSION = 0


def frame(key: str, correlation_id: int, api_key: int = API_KEY, version: int = VERSION) -> bytes:
    writer = Writer()
    writer.begin_frame()
    writer.write_int16(api_key)
    writer.write_int16(version)
    writer.write_int32(correlation_id)
    writer.write_nullable_string("client")
    FindCoordinatorRequest(key=key).encode(writer, VERSION)
    writer.end_frame()
    return writer.to_bytes()


class Door:
    """A pipeline with handlers that answer at once, later, or never, as the request's key says."""

    def __init__(self, max_request_bytes: int = 1000) -> None:
        self.waiting: dict[str, asyncio.Future[Message | None]] = {}
        self.broken: list[str] = []
        self.handled: list[str] = []
        self.written = b""
        self.now = 5.0
        api = Api(API_KEY, "FindCoordinator", 0, 2, 3, FindCoordinatorRequest.decode, self.handle)
        in_turn = Api(
            IN_TURN_KEY, "InTurn", 0, 2, 3, FindCoordinatorRequest.decode, self.handle, in_turn=True
        )
        peer = Peer("127.0.0.1", 1, "PLAINTEXT", "User:ANONYMOUS", {API_KEY: api, IN_TURN_KEY: in_turn})
        self.meters = RequestMeters(lambda: self.now)
        self.pipeline = Pipeline(None, peer, max_request_bytes, self.write, self.broken.append, self.meters)

    def handle(
        self, node: object, context: RequestContext, request: FindCoordinatorRequest
    ) -> Message | Awaitable[Message | None] | None:
        self.handled.append(request.key)
        if request.key.endswith("slow"):
            self.now += 0.125
        if request.key == "broken":
            raise RuntimeError("a bug")
        if request.key.startswith("now"):
            return FindCoordinatorResponse(host=request.key)
        if request.key.startswith("silent"):
            return None
        self.waiting[request.key] = asyncio.get_running_loop().create_future()
        return self.waiting[request.key]

    def feed(self, data: bytes) -> int:
        position = self.pipeline.feed(data, 0, len(data))
        self.write()
        return position

    def write(self) -> None:
        self.written += b"".join(in_memory(self.pipeline.take_out()))

    def answers(self) -> list[tuple[int, str]]:
        result, position = [], 0
        while position < len(self.written):
            size = int.from_bytes(self.written[position : position + 4])
            reader = Reader(self.written, position + 4, position + 4 + size)
            correlation_id = reader.int32()
            result.append((correlation_id, FindCoordinatorResponse.decode(reader, VERSION).host))
            position += 4 + size
        return result


async def settle() -> None:
    """Let every callback that is due run."""
    for _ in range(3):
        await asyncio.sleep(0)


async def test_what_is_handled_in_turn_waits_for_those_before_it() -> None:
    door = Door()
    door.feed(frame("now-first", 1, IN_TURN_KEY))
    assert door.answers() == [(1, "now-first")]
    door.feed(frame("a", 2) + frame("now-b", 3, IN_TURN_KEY) + frame("c", 4, IN_TURN_KEY) + frame("now-d", 5))
    assert door.handled == ["now-first", "a", "now-d"]
    door.waiting["a"].set_result(FindCoordinatorResponse(host="a"))
    await settle()
    await settle()
    assert door.handled[3:] == ["now-b", "c"]
    assert door.answers()[1:] == [(2, "a"), (3, "now-b")]
    door.waiting["c"].set_result(FindCoordinatorResponse(host="c"))
    await settle()
    assert door.answers()[3:] == [(4, "c"), (5, "now-d")]
    assert (door.pipeline.weight_inside, door.pipeline.held_bytes) == (0, 0)


async def test_who_hangs_up_before_its_turn_is_not_handled() -> None:
    door = Door()
    door.feed(frame("a", 1) + frame("now-b", 2, IN_TURN_KEY))
    door.waiting["a"].set_result(FindCoordinatorResponse(host="a"))
    await asyncio.sleep(0)
    door.pipeline.close()
    await settle()
    assert door.handled == ["a"]


async def test_a_handler_that_fails_in_its_turn_closes_the_connection() -> None:
    door = Door()
    door.feed(frame("a", 1) + frame("broken", 2, IN_TURN_KEY))
    door.waiting["a"].set_result(FindCoordinatorResponse(host="a"))
    await settle()
    await settle()
    assert door.broken == ["InTurn failed"]


async def test_all_whole_frames_of_one_read_are_answered_at_once() -> None:
    door = Door()
    data = frame("now-a", 1) + frame("now-b", 2)
    assert door.feed(data + frame("now-c", 3)[:-1]) == len(data)
    assert door.answers() == [(1, "now-a"), (2, "now-b")]


async def test_a_request_that_waits_holds_back_the_answers_behind_it() -> None:
    door = Door()
    door.feed(frame("later", 1) + frame("now", 2))
    assert door.answers() == []
    door.waiting["later"].set_result(FindCoordinatorResponse(host="later"))
    await settle()
    assert door.answers() == [(1, "later"), (2, "now")]


@given(
    st.lists(st.sampled_from(["now", "later", "silent"]), max_size=12),
    st.randoms(use_true_random=False),
)
def test_responses_leave_in_the_order_of_requests(kinds: list[str], random: object) -> None:
    async def run() -> list[tuple[int, str]]:
        door = Door(10_000)
        door.feed(b"".join(frame(f"{kind}-{n}", n) for n, kind in enumerate(kinds)))
        names = list(door.waiting)
        random.shuffle(names)  # type: ignore[attr-defined]
        for name in names:
            door.waiting[name].set_result(FindCoordinatorResponse(host=name))
            await settle()
        return door.answers()

    expected = [(n, f"{kind}-{n}") for n, kind in enumerate(kinds) if kind != "silent"]
    assert asyncio.run(run()) == expected


async def test_a_client_that_sends_without_reading_is_not_heard_forever() -> None:
    door = Door()
    one = frame("later", 1)
    assert door.feed(one * 300) == 256 * len(one)
    assert door.pipeline.is_full()


async def test_answers_that_wait_for_an_earlier_one_count_as_well() -> None:
    door = Door(100_000_000)
    large = frame("now" + "x" * 30_000, 2)
    position = door.feed(frame("later", 1) + large * 1000)
    assert position < 200 * len(large)
    assert door.pipeline.is_full()
    door.waiting["later"].set_result(FindCoordinatorResponse(host="later"))
    await settle()
    assert not door.pipeline.is_full()
    assert door.pipeline.held_bytes == door.pipeline.weight_inside == 0


async def test_a_request_of_very_many_tiny_parts_is_refused() -> None:
    api = Api(10, "FindCoordinator", 4, 4, 3, FindCoordinatorRequest.decode, lambda *_: None)
    peer = Peer("127.0.0.1", 1, "PLAINTEXT", "User:ANONYMOUS", {API_KEY: api})
    pipeline = Pipeline(None, peer, 10_000_000, lambda: None, lambda why: None, RequestMeters(time.monotonic))
    writer = Writer()
    writer.begin_frame()
    for value in (API_KEY, 4):
        writer.write_int16(value)
    writer.write_int32(1)
    writer.write_nullable_string(None)
    writer.write_tagged_fields(())
    FindCoordinatorRequest(coordinator_keys=[""] * 500_001).encode(writer, 4)
    writer.end_frame()
    with pytest.raises(ProtocolError, match="too many array elements"):
        pipeline.feed(writer.to_bytes(), 0, writer.size())


async def test_a_failing_handler_breaks_the_connection() -> None:
    door = Door()
    door.feed(frame("later", 1))
    door.waiting["later"].set_exception(RuntimeError("defect"))
    await settle()
    assert door.broken == ["FindCoordinator failed"]


async def test_an_answer_that_cannot_be_encoded_breaks_the_connection() -> None:
    door = Door()
    door.feed(frame("later", 1))
    door.waiting["later"].set_result(FindCoordinatorResponse(host="x" * 40_000))
    await settle()
    assert door.broken == ["FindCoordinator failed"]


async def test_closing_cancels_what_is_inside() -> None:
    door = Door()
    door.feed(frame("later", 1))
    door.pipeline.close()
    assert door.waiting["later"].cancelled()


@pytest.mark.parametrize(
    "data",
    [
        (-1).to_bytes(4, signed=True),
        (7).to_bytes(4) + b"1234567",
        (1001).to_bytes(4),
        frame("now", 1, api_key=999),
        frame("now", 1, version=3),
        frame("now", 1, version=-1),
        (12).to_bytes(4) + frame("now", 1)[4:16],
    ],
    ids=[
        "negative size",
        "too short",
        "too large",
        "unknown API",
        "new version",
        "negative version",
        "cut body",
    ],
)
async def test_what_cannot_be_read_is_a_protocol_error(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        Door().feed(data)


# How long requests take


def milliseconds(door: Door, api_key: int = API_KEY) -> tuple[int, int]:
    """The queue time and the total time of all requests together."""
    meter = door.meters.by_key[api_key]
    assert meter is not None
    return int(1000 * meter.queue.sum_s + 0.001), int(1000 * meter.total.sum_s + 0.001)


def counted(door: Door) -> tuple[int, int]:
    meter = door.meters.by_key[API_KEY]
    assert meter is not None
    return sum(meter.queue.counts()), sum(meter.total.counts())


async def test_requests_of_one_read_wait_for_those_before_and_leave_together() -> None:
    door = Door()
    door.feed(frame("now slow", 1) + frame("now", 2) + frame("silent", 3))
    # The second and the third waited for the first. All three ended with the read.
    assert milliseconds(door) == (250, 375)
    assert counted(door) == (3, 3)


async def test_the_total_time_ends_when_the_response_leaves() -> None:
    door = Door()
    door.feed(frame("later", 1) + frame("now", 2))
    assert counted(door) == (2, 0)
    door.now += 0.25
    door.waiting["later"].set_result(FindCoordinatorResponse())
    await settle()
    # The second response was ready at once, but had to leave after the first.
    assert milliseconds(door) == (0, 500)
    assert counted(door) == (2, 2)


async def test_a_request_in_turn_is_in_the_queue_until_its_turn() -> None:
    door = Door()
    door.feed(frame("later", 1) + frame("now", 2, IN_TURN_KEY))
    door.now += 0.25
    door.waiting["later"].set_result(FindCoordinatorResponse())
    await settle()
    assert milliseconds(door, IN_TURN_KEY) == (250, 250)


async def test_a_request_that_waits_for_room_is_in_the_queue() -> None:
    door = Door()
    data = b"".join(frame(f"wait {number}", number) for number in range(MAX_WEIGHT_INSIDE)) + frame(
        "now", 999
    )
    position = door.pipeline.feed(data, 0, len(data))
    assert position < len(data)
    door.now += 0.25
    for waiting in door.waiting.values():
        waiting.set_result(FindCoordinatorResponse())
    await settle()
    assert door.pipeline.feed(data, position, len(data)) == len(data)
    assert milliseconds(door)[0] == 250
    assert counted(door) == (MAX_WEIGHT_INSIDE + 1, MAX_WEIGHT_INSIDE + 1)
