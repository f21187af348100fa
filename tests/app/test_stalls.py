"""The watchdog of the event loop: its metric, and the log record of code that blocks."""

import asyncio
import logging
import re
import threading
import time

import pytest

from tests.support.stalls import StallRecorder, measured
from wattgate.app.observability.stalls import MAX_FRAMES, LoopWatchdog, format_stack
from wattgate.metrics import LOOP_DELAY_SECONDS


def slow_delays() -> float:
    """Return how many delays of more than 0.25 s were measured."""
    samples = {
        sample.labels["le"]: sample.value
        for metric in LOOP_DELAY_SECONDS.collect()
        for sample in metric.samples
        if sample.name.endswith("_bucket")
    }
    return samples["+Inf"] - samples["0.25"]


def block(seconds: float) -> None:
    time.sleep(seconds)


def work(seconds: float) -> None:
    """Use the processor for some time."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


async def block_own_loop(seconds: float, *, logs_stacks: bool) -> None:
    """Block an event loop of its own, with its watchdog. Watchdogs of other gateways run in the loop of the tests."""

    async def run() -> None:
        with LoopWatchdog(logs_stacks=logs_stacks).running():
            block(seconds)
            await asyncio.sleep(0.2)

    await asyncio.to_thread(asyncio.run, run())


def stacks_of_block(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the log messages about the call of `block`. On a busy machine, other code may hold up a loop, too."""
    return [record.getMessage() for record in caplog.records if "in block\n" in record.getMessage()]


async def test_blocking_code_is_logged_with_its_stack_once(caplog: pytest.LogCaptureFixture) -> None:
    before = slow_delays()
    with caplog.at_level(logging.WARNING):
        await block_own_loop(1.0, logs_stacks=True)
    (stack,) = stacks_of_block(caplog)
    assert stack.startswith("The event loop is blocked for more than 100 ms, so that all requests wait. It runs:")
    assert slow_delays() >= before + 1


def test_stack_has_the_lines_of_the_code_from_the_outermost_call() -> None:
    thread = threading.Thread(target=block, args=(2,))
    thread.start()
    while "in block\n" not in (stack := format_stack(thread.ident or 0)):
        time.sleep(0.01)
    assert stack.index("in run\n    self._target(") < stack.index("in block\n    time.sleep(seconds)\n")
    assert stack.startswith('  File "')
    assert len(re.findall('^  File "', format_stack(threading.get_ident()), re.MULTILINE)) == MAX_FRAMES
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
    stacks = [format_stack(thread.ident or 0) for _ in range(200)]
    stop.set()
    thread.join()
    assert all(stack.startswith('  File "') for stack in stacks)
    assert any("in nest\n" in stack for stack in stacks)


async def test_in_production_only_the_metric_is_measured(caplog: pytest.LogCaptureFixture) -> None:
    before = slow_delays()
    with caplog.at_level(logging.WARNING):
        await block_own_loop(0.5, logs_stacks=False)
    assert stacks_of_block(caplog) == []
    assert slow_delays() >= before + 1


async def test_only_a_watchdog_that_logs_has_a_thread() -> None:
    threads = threading.active_count()
    with LoopWatchdog(logs_stacks=False).running():
        assert threading.active_count() == threads


async def test_stalls_of_a_request_are_processor_time_of_one_step() -> None:
    recorder = StallRecorder(max_seconds=0.1)

    async def request() -> str:
        block(0.3)  # it waits, and uses no processor time
        for _ in range(4):
            work(0.05)
            await asyncio.sleep(0)
        return "done"

    assert await measured(recorder, "short steps", request()) == "done"
    assert recorder.stalls == []

    async def long_step() -> None:
        await asyncio.sleep(0)
        work(0.2)
        raise ValueError("after the stall")

    with pytest.raises(ValueError, match="after the stall"):
        await measured(recorder, "one long step", long_step())
    (stall,) = recorder.stalls
    assert stall.name == "one long step"
    assert 0.2 <= stall.seconds < 5


async def test_measured_requests_can_be_cancelled() -> None:
    recorder = StallRecorder(max_seconds=0.1)
    task = asyncio.create_task(measured(recorder, "a wait", asyncio.sleep(60)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
