"""The check that no task waits while it holds a connection finds each kind of wait, and nothing else."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support import held_connections
from tests.support.held_connections import HeldConnections
from wattgate.db.connections.engine import Database
from wattgate.db.scope.row_scope import RowScope
from wattgate.rate_limit.budgets import LocalBucketStore
from wattgate.rate_limit.scopes import Allowance, RateLimitScope
from wattgate.requests.fair_share import FairShare

SCOPE = RowScope("application")


async def thread() -> None:
    await asyncio.to_thread(int)


async def pool_of_threads() -> None:
    with ThreadPoolExecutor(1) as threads:
        await asyncio.wrap_future(threads.submit(int))


async def timer() -> None:
    await asyncio.sleep(0.0001)


async def process() -> None:
    await (await asyncio.create_subprocess_exec(sys.executable, "--version", stdout=-3)).wait()


async def lock() -> None:
    taken = asyncio.Lock()
    await taken.acquire()
    asyncio.get_running_loop().call_soon(taken.release)
    await taken.acquire()


async def slot() -> None:
    slots = asyncio.Semaphore(0)
    asyncio.get_running_loop().call_soon(slots.release)
    await slots.acquire()


async def share() -> None:
    slots = FairShare(1, share=1)
    await slots.take("busy")
    asyncio.get_running_loop().call_soon(slots.give_back, "busy")
    await slots.take("other")


async def event() -> None:
    happened = asyncio.Event()
    asyncio.get_running_loop().call_soon(happened.set)
    await happened.wait()


async def budget() -> None:
    await LocalBucketStore().spend([RateLimitScope("budget", "caller", Allowance(1, 1))], 1)


async def nothing() -> None:
    """Yield without a wait, and take a free lock."""
    await asyncio.sleep(0)
    await asyncio.Lock().acquire()
    happened = asyncio.Event()
    happened.set()
    await happened.wait()
    await FairShare(1, share=1).take("first")


WAITS = (thread, pool_of_threads, timer, process, lock, slot, share, event, budget)


@pytest.fixture
def found(held_connections_of_session: HeldConnections, monkeypatch: pytest.MonkeyPatch) -> dict[str, None]:
    """The faults of the test, which counts its own code as code of the gateway."""
    monkeypatch.setattr(held_connections, "PACKAGE", held_connections.TESTS)
    found: dict[str, None] = {}
    monkeypatch.setattr(held_connections_of_session, "faults", found)
    return found


async def test_fault_is_found_for_each_kind_of_wait(
    database_url: str, found: dict[str, None], subtests: pytest.Subtests
) -> None:
    database = Database(database_url)

    async def in_session(wait: Callable[[], Awaitable[Any]]) -> None:
        async with database.session(SCOPE):
            await wait()

    async def in_reader(wait: Callable[[], Awaitable[Any]]) -> None:
        async with database.reader(SCOPE):
            await wait()

    for hold in (in_session, in_reader):
        for wait in WAITS:
            with subtests.test(f"{wait.__name__} {hold.__name__}"):
                await hold(wait)
                assert any(wait.__name__ in fault for fault in found)
                found.clear()
                await wait()  # after the connection was returned
                assert not found
        await hold(nothing)
        assert not found
    await database.close()
