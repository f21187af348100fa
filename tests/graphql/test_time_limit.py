"""The time limit of operations: it ends one as `asyncio.timeout` does, and never another one."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
import uvloop

from wattgate.graphql.execution.pipeline import TimeLimit

SECONDS = 10.0

Interrupt = Callable[[], None]
"""Lets the time limit of the running operation pass."""


class Steps:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def limited_by_timer() -> AsyncIterator[Interrupt]:
    """Limit the body by the time limit of the gateway."""
    clock = Steps()
    limit = TimeLimit(SECONDS, clock)

    def interrupt() -> None:
        clock.now += SECONDS
        limit.expire()

    with limit():
        yield interrupt


@asynccontextmanager
async def limited_by_asyncio() -> AsyncIterator[Interrupt]:
    """Limit the body by `asyncio.timeout`."""
    async with asyncio.timeout(None) as timeout:
        yield timeout._on_timeout  # type: ignore[attr-defined]  # the callback of its timer


async def operation_hangs(interrupt: Interrupt) -> str:
    asyncio.get_running_loop().call_soon(interrupt)
    await asyncio.Event().wait()
    return "result"


async def operation_swallows(interrupt: Interrupt) -> str:
    try:
        return await operation_hangs(interrupt)
    except asyncio.CancelledError:
        return "result without the rest"


async def operation_raises_instead(interrupt: Interrupt) -> str:
    try:
        return await operation_hangs(interrupt)
    except asyncio.CancelledError:
        raise KeyError("not found") from None


async def operation_ends_at_the_same_moment(interrupt: Interrupt) -> str:
    """The result is there when the time passes, but the task has not continued yet."""
    loop, result = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()
    loop.call_soon(result.set_result, "result")
    loop.call_soon(interrupt)
    return str(await result)


async def operation_loses_the_cancellation(interrupt: Interrupt) -> str:
    """`asyncio.wait_for` of Python 3.11 drops a cancellation if the awaited future is done at the same moment."""
    loop, result = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()
    loop.call_soon(result.set_result, "result")
    loop.call_soon(interrupt)
    return str(await asyncio.wait_for(result, 60))


async def operation_is_cancelled_by_its_caller(interrupt: Interrupt) -> str:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().call_soon(task.cancel)
    await asyncio.Event().wait()
    return "result"


async def operation_is_cancelled_twice(interrupt: Interrupt) -> str:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().call_soon(task.cancel)
    return await operation_hangs(interrupt)


async def operation_succeeds(interrupt: Interrupt) -> str:
    await asyncio.sleep(0)
    return "result"


OPERATIONS = [
    operation_hangs,
    operation_swallows,
    operation_raises_instead,
    operation_ends_at_the_same_moment,
    operation_loses_the_cancellation,
    operation_is_cancelled_by_its_caller,
    operation_is_cancelled_twice,
    operation_succeeds,
]


async def outcome_of(
    limited: Callable[[], AbstractAsyncContextManager[Interrupt]], operation: Callable[[Interrupt], Awaitable[str]]
) -> tuple[str, str, int, str]:
    """Return how an operation ends, how many cancellations its task still has, and whether the next one succeeds."""

    async def serve() -> tuple[str, str, int, str]:
        task = asyncio.current_task()
        assert task is not None
        cause = ""
        try:
            async with limited() as interrupt:
                ended = await operation(interrupt)
        except (TimeoutError, asyncio.CancelledError, KeyError) as error:
            ended, cause = repr(error), type(error.__cause__).__name__
        try:
            await asyncio.sleep(0)
            following = "the next operation of the task succeeds"
        except asyncio.CancelledError:
            following = "the next operation of the task is cancelled"
        return ended, cause, task.cancelling(), following

    return await asyncio.create_task(serve())


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_operations_end_as_under_the_timeout_of_asyncio(operation: Callable[[Interrupt], Awaitable[str]]) -> None:
    ended, cause, *state = await outcome_of(limited_by_timer, operation)
    asyncio_ended, _, *asyncio_state = await outcome_of(limited_by_asyncio, operation)  # 3.11.2 gives no cause
    assert (ended, state) == (asyncio_ended, asyncio_state)
    assert state[1] == "the next operation of the task succeeds"
    is_late = operation in (operation_hangs, operation_ends_at_the_same_moment)
    is_late |= operation is operation_loses_the_cancellation and sys.version_info >= (3, 12)  # which loses none
    assert (ended == "TimeoutError()", cause == "CancelledError") == (is_late, is_late)


async def test_deadline_of_one_operation_never_ends_the_next_of_the_same_task() -> None:
    clock = Steps()
    limit = TimeLimit(SECONDS, clock)

    async def connection() -> list[str]:
        ended = []
        for _ in range(2):
            try:
                with limit():
                    clock.now += SECONDS - 1  # the deadline of the operation before passes in the next one
                    limit.expire()
                    await asyncio.sleep(0)
                    ended.append("result")
            except TimeoutError:
                ended.append("timed out")
        clock.now += 10 * SECONDS
        limit.expire()
        await asyncio.sleep(0)
        return ended

    assert await asyncio.create_task(connection()) == ["result", "result"]
    assert not limit.running


async def test_only_the_operations_whose_time_has_passed_end() -> None:
    clock = Steps()
    limit = TimeLimit(SECONDS, clock)
    ended: list[str] = []

    async def operation(name: str) -> None:
        try:
            with limit():
                await asyncio.Event().wait()
        except TimeoutError:
            ended.append(name)

    tasks = []
    for name in ("first", "second", "third"):
        tasks.append(asyncio.create_task(operation(name)))
        await asyncio.sleep(0)
        clock.now += 1
    for expected in (["first"], ["first", "second"], ["first", "second", "third"]):
        clock.now = 1_000.0 + SECONDS + len(expected) - 1.5
        limit.expire()
        await asyncio.sleep(0)
        assert ended == expected[:-1]
        clock.now += 0.5
        limit.expire()
        await asyncio.sleep(0)
        assert ended == expected
    await asyncio.gather(*tasks)


async def test_operation_that_cleans_up_is_cancelled_once() -> None:
    clock = Steps()
    limit = TimeLimit(SECONDS, clock)
    cleaned_up: list[str] = []

    async def operation() -> int:
        try:
            with limit():
                try:
                    await asyncio.Event().wait()
                finally:
                    for step in ("rolled back", "closed"):
                        limit.expire()
                        await asyncio.sleep(0)
                        cleaned_up.append(step)
        except TimeoutError:
            task = asyncio.current_task()
            assert task is not None
            return task.cancelling()
        return -1

    running = asyncio.create_task(operation())
    await asyncio.sleep(0)
    clock.now += SECONDS
    limit.expire()
    assert await running == 0
    assert cleaned_up == ["rolled back", "closed"]


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def new_loop(request: pytest.FixtureRequest) -> Callable[[], asyncio.AbstractEventLoop]:
    """Return a function that makes an event loop."""
    make: Callable[[], asyncio.AbstractEventLoop] = request.param
    return make


def test_timer_runs_in_each_event_loop_for_each_operation(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    """Also if an event loop before ended within an operation."""
    limit = TimeLimit(0.01)

    async def hang() -> str:
        try:
            with limit():
                await asyncio.Event().wait()
        except TimeoutError:
            return "timed out"
        return "result"

    async def serve() -> list[str]:
        async with asyncio.timeout(60):
            one_by_one = [await asyncio.create_task(hang()) for _ in range(3)]
            return one_by_one + await asyncio.gather(*(hang() for _ in range(3)))

    unfinished = hang()
    stopped = new_loop()
    task = stopped.create_task(unfinished)
    stopped.run_until_complete(asyncio.sleep(0))
    stopped.close()
    for _ in range(2):
        with asyncio.Runner(loop_factory=new_loop) as runner:
            assert runner.run(serve()) == ["timed out"] * 6
            assert not limit.running
    assert not task.done()
    unfinished.close()
