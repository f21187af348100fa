"""The parts of a connection: frames, the timer wheel, the request batcher, and the internals of uvicorn."""

import asyncio
import hashlib
import inspect
from collections.abc import Sequence

import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame
from websockets.streams import StreamReader

from wattgate.realtime.connections.wires import frame_wire
from wattgate.realtime.connections.wires.uvicorn_wire import UvicornWire
from wattgate.realtime.request_batcher import RequestBatcher
from wattgate.realtime.timer_wheel import SLOT_SECONDS, TimerWheel

UVICORN_METHOD_DIGESTS = {
    "connection_made": "f533ec93747c",
    "handle_connect": "fc648c2161ff",
    "stop_keepalive": "bbb91b997b37",
    "run_asgi": "662375aa38d9",
}
"""The methods of uvicorn's protocol that UvicornWire calls, overrides or runs with, and digests of their source.

If a digest has changed, check `realtime/connections/wires/uvicorn_wire.py` against the new method. Then update the
digest.
"""


@pytest.mark.parametrize("name", UVICORN_METHOD_DIGESTS)
def test_uvicorn_methods_that_the_direct_wire_uses_are_unchanged(name: str) -> None:
    source = inspect.getsource(getattr(WebSocketsSansIOProtocol, name))
    digest = hashlib.sha256(source.encode()).hexdigest()[:12]
    assert digest == UVICORN_METHOD_DIGESTS[name], (
        f"uvicorn {uvicorn.__version__} has another {name}: check realtime/connections/wires/uvicorn_wire.py against it"
    )


HTTP_METHOD_DIGESTS = {
    "handle_websocket_upgrade": "179c4f769386",
    "on_message_begin": "96d377fdc7c2",
    "on_header": "65d62c044f61",
    "on_headers_complete": "1ea8589acfad",
}
"""The methods of uvicorn's HTTP protocol that the short way for handshakes replaces or relies on, and their digests.

If a digest has changed, check `GuardedHttpProtocol._upgrade_directly` against the new method, then update the digest.
"""


@pytest.mark.parametrize("name", HTTP_METHOD_DIGESTS)
def test_uvicorn_methods_around_a_handshake_are_unchanged(name: str) -> None:
    source = inspect.getsource(getattr(HttpToolsProtocol, name))
    assert hashlib.sha256(source.encode()).hexdigest()[:12] == HTTP_METHOD_DIGESTS[name], uvicorn.__version__


def test_direct_wire_overrides_only_existing_methods_of_uvicorn() -> None:
    defined = {name for name, value in vars(UvicornWire).items() if inspect.isfunction(value)}
    added = {"attach", "release"}
    assert {name for name in defined - added if not hasattr(WebSocketsSansIOProtocol, name)} == set()
    assert {name for name in added if hasattr(WebSocketsSansIOProtocol, name)} == set()


@pytest.mark.parametrize("length", [0, 1, 125, 126, 65_535, 65_536, 100_000])
def test_encoded_frame_parses_to_the_same_text(length: int) -> None:
    reader = StreamReader()
    reader.feed_data(frame_wire.text(b"x" * length))
    reader.feed_eof()
    parser = Frame.parse(reader.read_exact, mask=False)
    with pytest.raises(StopIteration) as parsed:
        next(parser)
    frame = parsed.value.value
    assert (frame.opcode, frame.fin, bytes(frame.data)) == (1, True, b"x" * length)


class RecordingListener:
    """A timer listener with its next deadlines and the times of its calls."""

    def __init__(self, *deadlines: float) -> None:
        self.timer_slot: int | None = None
        self.deadlines = list(deadlines)
        self.calls: list[float] = []

    def on_timer(self, now: float) -> float | None:
        self.calls.append(now)
        return self.deadlines.pop(0) if self.deadlines else None


class FailingListener(RecordingListener):
    def on_timer(self, now: float) -> float | None:
        raise ValueError("a fault")


class ManualWheel:
    """A timer wheel whose time a test sets."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.wheel = TimerWheel(lambda: self.now)

    def advance_to(self, now: float) -> None:
        self.now = now
        self.wheel.advance()


def test_listener_is_called_at_most_one_slot_after_its_deadline() -> None:
    wheel = ManualWheel()
    listeners = {1_000 + tenth / 10: RecordingListener() for tenth in range(1, 60)}
    for deadline, listener in listeners.items():
        wheel.wheel.schedule(listener, deadline)
    assert wheel.wheel.scheduled_count == len(listeners)
    for step in range(1, 800):
        wheel.advance_to(1_000 + step / 100)
    for deadline, listener in listeners.items():
        (visit,) = listener.calls
        assert deadline <= visit <= deadline + SLOT_SECONDS + 0.01
    assert wheel.wheel.scheduled_count == 0


def test_earliest_deadline_applies_and_on_timer_returns_the_next() -> None:
    wheel, listener = ManualWheel(), RecordingListener(1_010.0)
    for deadline in (1_008.0, 1_004.0, 1_006.0):
        wheel.wheel.schedule(listener, deadline)
    assert wheel.wheel.scheduled_count == 1
    for now in range(1_001, 1_020):
        wheel.advance_to(now + 0.5)
    assert listener.calls == [1_004.5, 1_010.5]


def test_cancelled_listener_is_not_called() -> None:
    wheel, listener = ManualWheel(), RecordingListener()
    wheel.wheel.schedule(listener, 1_001)
    wheel.wheel.cancel(listener)
    wheel.wheel.cancel(listener)
    wheel.advance_to(1_010)
    assert listener.calls == []
    assert wheel.wheel.scheduled_count == 0


def test_delayed_wheel_calls_each_listener_once(caplog: pytest.LogCaptureFixture) -> None:
    wheel, listener, late = ManualWheel(), RecordingListener(), RecordingListener()
    wheel.wheel.schedule(FailingListener(), 1_000.5)
    wheel.wheel.schedule(listener, 1_001)
    wheel.advance_to(1_000_000)
    assert listener.calls == [1_000_000]
    wheel.wheel.schedule(late, 5)  # a deadline in the past
    wheel.advance_to(1_000_000.5)
    assert late.calls == [1_000_000.5]
    assert "A timer listener failed" in caplog.text  # its error did not stop the others


async def test_requests_during_a_batch_form_the_next_batch() -> None:
    calls: list[list[int]] = []
    go_on = asyncio.Event()

    async def double(numbers: list[int]) -> Sequence[int]:
        calls.append(numbers)
        await go_on.wait()
        return [2 * number for number in numbers]

    batcher = RequestBatcher(double)
    requests = [asyncio.create_task(batcher.submit([0]))]
    await asyncio.sleep(0.01)
    requests += [asyncio.create_task(batcher.submit([number, number + 1])) for number in range(1, 4)]
    requests[1].cancel()
    await asyncio.sleep(0.01)
    go_on.set()
    assert [await request for request in (requests[0], *requests[2:])] == [[0], [4, 6], [6, 8]]
    assert calls[0] == [0]
    assert len(calls) == 2


async def test_error_of_a_batch_is_raised_for_all_its_callers_only() -> None:
    async def refuse_odd(numbers: list[int]) -> Sequence[int]:
        if any(number % 2 for number in numbers):
            raise ValueError("odd")
        return numbers

    batcher = RequestBatcher(refuse_odd)
    together = await asyncio.gather(batcher.submit([2]), batcher.submit([1]), return_exceptions=True)
    assert [type(error) for error in together] == [ValueError, ValueError]
    assert await batcher.submit([4]) == [4]
