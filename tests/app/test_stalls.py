"""The watchdog of the event loop: its metric, and the log record of code that blocks."""

import asyncio
import gc
import logging
import re
import threading
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.support.stalls import (
    EXCLUDED,
    REFERENCE_SECONDS,
    Stall,
    StallRecorder,
    measure_slowdown,
    measured,
    reference_work,
)
from wattgate.app.observability.stalls import MAX_FRAMES, LoopWatchdog, format_stack
from wattgate.metrics import LOOP_DELAY_SECONDS

WAIT_SECONDS = 60
"""Maximum wait for a log record, in seconds. It only ends a broken test."""

MAX_REQUESTS = 20


def slow_delays() -> float:
    """Return how many delays of more than 0.25 s were measured."""
    samples = {
        sample.labels["le"]: sample.value
        for metric in LOOP_DELAY_SECONDS.collect()
        for sample in metric.samples
        if sample.name.endswith("_bucket")
    }
    return samples["+Inf"] - samples["0.25"]


def block(end: threading.Event) -> None:
    """Block this thread until the event, and for half a second at least."""
    time.sleep(0.5)
    assert end.wait(WAIT_SECONDS)


def ended() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


async def block_own_loop(end: threading.Event, *, logs_stacks: bool) -> None:
    """Block an event loop of its own, with its watchdog. Watchdogs of other gateways run in the loop of the tests."""

    async def run() -> None:
        with LoopWatchdog(logs_stacks=logs_stacks).running():
            block(end)
            await asyncio.sleep(0.2)  # the beat is late, so it comes first

    await asyncio.to_thread(asyncio.run, run())


class EventHandler(logging.Handler):
    """Sets an event when the stack of `block` is logged."""

    def __init__(self, logged: threading.Event) -> None:
        super().__init__()
        self._logged = logged

    def emit(self, record: logging.LogRecord) -> None:
        if "in block\n" in record.getMessage():
            self._logged.set()


def stacks_of_block(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the log messages about the call of `block`. On a busy machine, other code may hold up a loop, too."""
    return [record.getMessage() for record in caplog.records if "in block\n" in record.getMessage()]


async def test_blocking_code_is_logged_with_its_stack_once(caplog: pytest.LogCaptureFixture) -> None:
    before, logged = slow_delays(), threading.Event()
    handler, logger = EventHandler(logged), logging.getLogger(LoopWatchdog.__module__)
    logger.addHandler(handler)
    with caplog.at_level(logging.WARNING):
        await block_own_loop(logged, logs_stacks=True)
    logger.removeHandler(handler)
    (stack,) = stacks_of_block(caplog)
    assert stack.startswith("The event loop is blocked for more than 100 ms, so that all requests wait. It runs:")
    assert slow_delays() >= before + 1


def test_stack_has_the_lines_of_the_code_from_the_outermost_call() -> None:
    end = threading.Event()
    thread = threading.Thread(target=block, args=(end,))
    thread.start()
    while "in block\n    assert end.wait(" not in (stack := format_stack(thread.ident or 0)):
        time.sleep(0.01)
    assert stack.index("in run\n    self._target(") < stack.index("in block\n    assert end.wait(WAIT_SECONDS)\n")
    assert stack.startswith('  File "')
    assert len(re.findall('^  File "', format_stack(threading.get_ident()), re.MULTILINE)) == MAX_FRAMES
    end.set()
    thread.join()
    assert "in block\n" not in format_stack(thread.ident or 0)


def test_stacks_are_read_while_their_thread_calls_and_returns() -> None:
    stop = threading.Event()

    def nest(depth: int) -> object:
        return [nest(depth - 1) for _ in range(2)] if depth else object()

    def call_and_return() -> None:
        while not stop.is_set():
            nest(8)

    thread = threading.Thread(target=call_and_return)
    thread.start()
    stacks: list[str] = []
    while len(stacks) < 200 or not any("in nest\n" in stack for stack in stacks):
        stacks.append(format_stack(thread.ident or 0))
    stop.set()
    thread.join()
    assert all(stack.startswith('  File "') for stack in stacks)


async def test_in_production_only_the_metric_is_measured(caplog: pytest.LogCaptureFixture) -> None:
    before = slow_delays()
    with caplog.at_level(logging.WARNING):
        await block_own_loop(ended(), logs_stacks=False)
    assert stacks_of_block(caplog) == []
    assert slow_delays() >= before + 1


def watchdog_threads() -> set[int | None]:
    return {thread.ident for thread in threading.enumerate() if thread.name == "event loop watchdog"}


async def test_only_a_watchdog_that_logs_has_a_thread() -> None:
    before = watchdog_threads()
    with LoopWatchdog(logs_stacks=False).running():
        assert watchdog_threads() == before
    with LoopWatchdog(logs_stacks=True).running():
        assert len(watchdog_threads() - before) == 1


class ProcessorClock:
    """A clock of processor time that advances only when a test lets it work."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def work(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Prevent garbage collection, whose time the recorder would subtract from that of a `ProcessorClock`."""
    gc.disable()
    yield
    gc.enable()


async def do_steps(recorder: StallRecorder, clock: ProcessorClock, *seconds: float) -> list[Stall]:
    """Return the stalls of a request with steps of these lengths, which raises an error after the last one."""

    async def request() -> None:
        for one in seconds:
            await asyncio.sleep(0)
            clock.work(one)
        raise ValueError("after the stall")

    with pytest.raises(ValueError, match="after the stall"):
        await measured(recorder, "a request", request())
    return recorder.stalls


@pytest.mark.usefixtures("no_collection")
async def test_stalls_of_a_request_are_processor_time_of_one_step() -> None:
    clock = ProcessorClock()
    recorder = StallRecorder(clock=clock, elapsed=clock, slowdown=lambda: 1.0)
    assert await do_steps(recorder, clock, *[0.09] * 4) == []
    (stall,) = await do_steps(recorder, clock, 0.09, 0.15)
    assert (stall.name, round(stall.seconds, 3)) == ("a request", 0.15)


@pytest.mark.usefixtures("no_collection")
async def test_limit_of_a_stall_grows_with_the_slowness_of_the_machine() -> None:
    clock = ProcessorClock()
    recorder = StallRecorder(clock=clock, elapsed=clock, slowdown=lambda: 2.0)
    assert await do_steps(recorder, clock, 0.19) == []
    (stall,) = await do_steps(recorder, clock, 0.3)
    assert (stall.name, round(stall.seconds, 3)) == ("a request", 0.15)


async def test_time_for_which_a_step_waits_for_the_processor_does_not_count() -> None:
    async def wait() -> None:
        time.sleep(0.5)  # noqa: ASYNC251 (it waits as a busy machine lets it wait)

    recorder = StallRecorder()
    await measured(recorder, "a wait", wait())
    assert recorder.stalls == []


async def test_first_imports_and_collections_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "imported_slowly.py").write_text(
        "import time, gc\nuntil = time.thread_time() + 0.5\nwhile time.thread_time() < until: gc.collect(0)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    async def import_slowly() -> None:
        import_module("imported_slowly")

    before, recorder = EXCLUDED.seconds, StallRecorder()
    await measured(recorder, "an import", import_slowly())
    assert recorder.stalls == []
    assert EXCLUDED.seconds - before >= 0.5
    before = EXCLUDED.seconds
    gc.collect()
    assert EXCLUDED.seconds > before


async def test_request_that_works_for_150_ms_is_found(stalls_of_session: StallRecorder) -> None:
    """The machine may become slower between the request and the reference work, so one request of a few must do."""

    async def work(request: Request) -> Response:
        for _ in range(round(0.15 / REFERENCE_SECONDS)):
            reference_work()
        return Response()

    app = Starlette(routes=[Route("/work", work)])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://gateway") as http:
        for _ in range(MAX_REQUESTS):
            assert (await http.get("/work")).status_code == 200
            if stalls_of_session.stalls:
                break
    (stall,) = stalls_of_session.stalls
    stalls_of_session.stalls.clear()
    assert stall.name == "GET /work"
    assert stall.seconds > 0.1
    assert str(stall).startswith("GET /work held up the event loop for ")


def test_slowdown_is_at_least_1_and_counts_for_no_request() -> None:
    before = EXCLUDED.seconds
    assert measure_slowdown() >= 1
    assert EXCLUDED.seconds > before


async def test_measured_requests_can_be_cancelled() -> None:
    recorder = StallRecorder(max_seconds=0.1)

    async def request() -> None:
        await measured(recorder, "a wait", asyncio.sleep(60))

    task = asyncio.create_task(request())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
