"""The parts that a connection is made of, each by itself: frames, deadlines, batches, and the inside of uvicorn."""

import asyncio
import hashlib
import inspect
from collections.abc import Sequence

import pytest
import uvicorn
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame
from websockets.streams import StreamReader

from wattgate.realtime.batches import Batches
from wattgate.realtime.connections import frames
from wattgate.realtime.connections.direct_wire import DirectWire
from wattgate.realtime.timer_wheel import SLOT_SECONDS, Wheel

RELIED_ON = {
    "connection_made": "f533ec93747c",
    "data_received": "c89d394077d8",
    "handle_events": "b2c9351a5d13",
    "handle_connect": "fc648c2161ff",
    "handle_cont": "d96fe1479da6",
    "handle_text": "6ae523180cf0",
    "handle_bytes": "2b22b21bf8fe",
    "handle_ping": "41bcf345d372",
    "send_receive_event_to_app": "a2b10de91477",
    "stop_keepalive": "bbb91b997b37",
    "run_asgi": "662375aa38d9",
}
"""The methods of uvicorn's protocol that DirectWire calls, replaces or lives beside once a session is attached, and
digests of their source. Where one has changed, read it beside `realtime/connections/direct_wire.py`, and then put the
new digest here."""


@pytest.mark.parametrize("name", RELIED_ON)
def test_uvicorns_inside_is_the_one_that_the_direct_wire_was_written_for(name: str) -> None:
    source = inspect.getsource(getattr(WebSocketsSansIOProtocol, name))
    digest = hashlib.sha256(source.encode()).hexdigest()[:12]
    assert digest == RELIED_ON[name], (
        f"uvicorn {uvicorn.__version__} has another {name}: "
        "see whether realtime/connections/direct_wire.py still does the right thing"
    )


def test_the_direct_wire_replaces_only_what_uvicorn_has() -> None:
    own = {name for name, value in vars(DirectWire).items() if inspect.isfunction(value)}
    ours = {"attach", "write", "close", "abort", "_end", "_write"}
    assert {name for name in own - ours if not hasattr(WebSocketsSansIOProtocol, name)} == set()
    assert {name for name in ours if hasattr(WebSocketsSansIOProtocol, name)} == set()


@pytest.mark.parametrize("length", [0, 1, 125, 126, 65_535, 65_536, 100_000])
def test_a_frame_is_read_as_the_text_that_it_was_made_of(length: int) -> None:
    reader = StreamReader()
    reader.feed_data(frames.text(b"x" * length))
    reader.feed_eof()
    parsing = Frame.parse(reader.read_exact, mask=False)
    with pytest.raises(StopIteration) as parsed:
        next(parsing)
    frame = parsed.value.value
    assert (frame.opcode, frame.fin, bytes(frame.data)) == (1, True, b"x" * length)


class Hand:
    """Something with deadlines: the next ones, and when it was visited."""

    def __init__(self, *deadlines: float) -> None:
        self.slot: int | None = None
        self.deadlines = list(deadlines)
        self.visits: list[float] = []

    def visit(self, now: float) -> float | None:
        self.visits.append(now)
        return self.deadlines.pop(0) if self.deadlines else None


class Broken(Hand):
    def visit(self, now: float) -> float | None:
        raise ValueError("a fault")


class Turned:
    """A wheel whose time a test sets."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.wheel = Wheel(lambda: self.now)

    def to(self, now: float) -> None:
        self.now = now
        self.wheel.turn()


def test_nobody_is_visited_early_or_more_than_a_slot_late() -> None:
    turned = Turned()
    hands = {1_000 + tenth / 10: Hand() for tenth in range(1, 60)}
    for deadline, hand in hands.items():
        turned.wheel.place(hand, deadline)
    assert turned.wheel.placed == len(hands)
    for step in range(1, 800):
        turned.to(1_000 + step / 100)
    for deadline, hand in hands.items():
        (visit,) = hand.visits
        assert deadline <= visit <= deadline + SLOT_SECONDS + 0.01
    assert turned.wheel.placed == 0


def test_the_earliest_of_several_deadlines_counts_and_the_visit_says_the_next() -> None:
    turned, hand = Turned(), Hand(1_010.0)
    for deadline in (1_008.0, 1_004.0, 1_006.0):
        turned.wheel.place(hand, deadline)
    assert turned.wheel.placed == 1
    for now in range(1_001, 1_020):
        turned.to(now + 0.5)
    assert hand.visits == [1_004.5, 1_010.5]


def test_one_that_was_removed_is_not_visited_and_may_be_removed_again() -> None:
    turned, hand = Turned(), Hand()
    turned.wheel.place(hand, 1_001)
    turned.wheel.remove(hand)
    turned.wheel.remove(hand)
    turned.to(1_010)
    assert hand.visits == []
    assert turned.wheel.placed == 0


def test_a_wheel_that_was_held_up_visits_each_once(caplog: pytest.LogCaptureFixture) -> None:
    turned, hand, late = Turned(), Hand(), Hand()
    turned.wheel.place(Broken(), 1_000.5)
    turned.wheel.place(hand, 1_001)
    turned.to(1_000_000)
    assert hand.visits == [1_000_000]
    turned.wheel.place(late, 5)  # a deadline that is past already
    turned.to(1_000_000.5)
    assert late.visits == [1_000_000.5]
    assert "a deadline ended by a fault" in caplog.text  # of the one that did not keep the others from being visited


async def test_what_is_asked_while_an_answer_is_under_way_is_asked_together() -> None:
    calls: list[list[int]] = []
    go_on = asyncio.Event()

    async def double(numbers: list[int]) -> Sequence[int]:
        calls.append(numbers)
        await go_on.wait()
        return [2 * number for number in numbers]

    batches = Batches(double)
    asked = [asyncio.create_task(batches.ask([0]))]
    await asyncio.sleep(0.01)
    asked += [asyncio.create_task(batches.ask([number, number + 1])) for number in range(1, 4)]
    asked[1].cancel()
    await asyncio.sleep(0.01)
    go_on.set()
    assert [await one for one in (asked[0], *asked[2:])] == [[0], [4, 6], [6, 8]]
    assert calls[0] == [0]
    assert len(calls) == 2


async def test_an_error_is_that_of_all_who_asked_together_and_of_nobody_after_them() -> None:
    async def refuse_odd(numbers: list[int]) -> Sequence[int]:
        if any(number % 2 for number in numbers):
            raise ValueError("odd")
        return numbers

    batches = Batches(refuse_odd)
    together = await asyncio.gather(batches.ask([2]), batches.ask([1]), return_exceptions=True)
    assert [type(one) for one in together] == [ValueError, ValueError]
    assert await batches.ask([4]) == [4]
