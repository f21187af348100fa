"""Pauses of long loops: several of them at the same time take turns, one in each step of the event loop."""

import asyncio
from collections import Counter

import pytest

from wattgate import pauses
from wattgate.pauses import MAX_HELD_SECONDS, PAUSE_ITEMS, collect, is_pause_due, pause, slices, with_pauses

LOOPS = 20
SLICES = 5


class Steps:
    """Counts the steps of the event loop."""

    def __init__(self) -> None:
        self.number = 0
        self._loop = asyncio.get_running_loop()
        self._handle = self._loop.call_soon(self._next)

    def _next(self) -> None:
        self.number += 1
        self._handle = self._loop.call_soon(self._next)

    def stop(self) -> None:
        self._handle.cancel()


async def test_loops_at_the_same_time_take_turns() -> None:
    steps, work = Steps(), Counter[int]()

    async def loop_over_many() -> None:
        await pause()  # the first slices of all begin in the same step otherwise
        async for _ in slices(range(SLICES * PAUSE_ITEMS)):
            work[steps.number] += 1

    async with asyncio.timeout(60):
        await asyncio.gather(*(loop_over_many() for _ in range(LOOPS)))
    steps.stop()
    assert sum(work.values()) == LOOPS * SLICES
    assert max(work.values()) == 1


async def test_other_tasks_run_between_two_turns() -> None:
    order: list[str] = []

    async def other() -> None:
        for _ in range(3):
            order.append("other")
            await asyncio.sleep(0)

    async def loop_over_many(name: str) -> None:
        async for _ in with_pauses(range(2 * PAUSE_ITEMS)):
            pass
        order.append(name)

    async with asyncio.timeout(60):
        await asyncio.gather(loop_over_many("first"), loop_over_many("second"), other())
    assert order.index("other") < order.index("first")


async def test_cancelled_pause_does_not_stop_the_others() -> None:
    async def loop_over_many() -> int:
        return len(await collect(range(3 * PAUSE_ITEMS)))

    tasks = [asyncio.create_task(loop_over_many()) for _ in range(3)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    async with asyncio.timeout(60):
        with pytest.raises(asyncio.CancelledError):
            await tasks[0]
        assert await asyncio.gather(*tasks[1:]) == [3 * PAUSE_ITEMS] * 2


def test_each_event_loop_has_its_own_turns() -> None:
    for _ in range(2):
        assert asyncio.run(asyncio.wait_for(collect(range(2 * PAUSE_ITEMS)), 60)) == list(range(2 * PAUSE_ITEMS))


async def test_a_pause_is_due_for_all_tasks_after_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The small edges of a large list do not pause one by one: the pauses took longer than the edges."""
    now = 1_000.0
    monkeypatch.setattr(pauses, "perf_counter", lambda: now)
    monkeypatch.setattr(pauses, "_resumed_at", 0.0)
    assert is_pause_due()
    await pause()
    assert not is_pause_due()
    now += MAX_HELD_SECONDS * 1.01
    assert is_pause_due()
    assert is_pause_due()  # every task that began in this step pauses, until the first one continues
    await pause()
    assert not is_pause_due()
