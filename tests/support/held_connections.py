"""Find tasks that wait for something else than the database while they hold a connection of it.

The pool is small, and on SQLite a transaction holds the lock of all writers. A task that waits for a hash, a thread, a
process or the network meanwhile makes all other callers wait as long. No time is measured: each wait of this kind is a
fault, so that the result does not depend on the speed of the machine.
"""

import asyncio
import sys
from asyncio.base_events import BaseEventLoop
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

from wattgate.db.connections.reading_pool import ReadingPool
from wattgate.rate_limit.budgets import LocalBucketStore
from wattgate.realtime.bus.memory import MemoryBus
from wattgate.realtime.request_batcher import RequestBatcher
from wattgate.requests.fair_share import FairShare

ROOT = Path(__file__).parents[2]
PACKAGE, TESTS = f"{ROOT / 'wattgate'}/", f"{ROOT / 'tests'}/"

FAIR_SHARE = f"{PACKAGE}requests/fair_share.py"

CONNECTIONS = f"{PACKAGE}db/connections/"
DATABASE_WAITS = tuple(f"{CONNECTIONS}{name}.py" for name in ("reading_pool", "replica", "scoped_connection"))
"""The modules that wait for a database only: for a connection, a replay in the replica, or the end of a statement."""

DRIVERS = ("/asyncpg/", "/aiosqlite/")
"""Folders of the drivers of the databases, which may wait in every way."""

SLOT_OF_DATABASE = (f"{CONNECTIONS}engine.py", "_wait_for_slot")
"""The function that waits for a share of the connections."""

MAX_FRAMES = 4
"""Maximum functions of the gateway that a fault names, the innermost first."""

Condition = Callable[..., bool]


def _always(*_: Any, **__: Any) -> bool:
    return True


def _is_locked(waited: Any) -> bool:
    return bool(waited.locked())


WAITS: tuple[tuple[Any, str, Condition], ...] = (
    (asyncio, "sleep", lambda delay, *_, **__: delay > 0),
    (asyncio, "wrap_future", _always),  # work in the threads of a pool of ours
    (RequestBatcher, "submit", _always),  # commands of Redis
    (LocalBucketStore, "spend", _always),  # does not wait itself, but its counterpart in Redis does
    (MemoryBus, "publish", _always),  # as well
    (asyncio, "create_subprocess_exec", _always),
    (asyncio, "open_connection", _always),
    (BaseEventLoop, "run_in_executor", _always),
    (asyncio.StreamReader, "_wait_for_data", _always),  # answers of processes, of HTTP servers, and of Redis
    (FairShare, "_enqueue", _always),  # called only when no slot is free
    (asyncio.Semaphore, "acquire", _is_locked),
    (asyncio.Lock, "acquire", _is_locked),
    (asyncio.Event, "wait", lambda event: not event.is_set()),
)
"""The waits that are faults: the owner and the name of a function, and when a call of it waits.

The drivers of the databases wait for futures of their own, so none of these is a wait for the database.
"""


class HeldConnections:
    """The tasks that hold connections, and the faults since the last test. A fault names the wait and its callers."""

    def __init__(self) -> None:
        self.faults: dict[str, None] = {}
        self._holders: dict[int, asyncio.Task[Any]] = {}

    def take(self, entry: Any) -> None:
        """Record that the current task has taken an entry of the pool."""
        task = _current_task()
        if task is not None:
            self._holders[id(entry)] = task

    def give_back(self, entry: Any) -> None:
        """Record that an entry of the pool is free."""
        self._holders.pop(id(entry), None)

    def check(self, name: str) -> None:
        """Record a fault if the current task holds a connection, and code of the gateway is about to wait."""
        task = _current_task()
        if task is None or task not in self._holders.values():
            return
        frames = _frames_of_repository(sys._getframe(2))
        if not frames or not frames[0][0].startswith(PACKAGE):
            return
        (path, _, function), *_ = frames
        if path not in DATABASE_WAITS and (path, function) != SLOT_OF_DATABASE:
            callers = ", ".join(
                f"{path.removeprefix(f'{ROOT}/')}:{line} {function}"
                for path, line, function in frames[:MAX_FRAMES]
                if path.startswith(PACKAGE)
            )
            self.faults[f"{name} is awaited while its task holds a connection: {callers}"] = None


@contextmanager
def watching(held: HeldConnections) -> Iterator[HeldConnections]:
    """Watch all pools and waits of this process until the context exits."""
    with ExitStack() as stack:
        for owner, name, waits in WAITS:
            stack.enter_context(patch.object(owner, name, _checked(held, owner, name, waits)))
        for name, replacement in _watched_pool(held).items():
            stack.enter_context(patch.object(ReadingPool, name, replacement))
        yield held


def _checked(held: HeldConnections, owner: Any, name: str, waits: Condition) -> Callable[..., Any]:
    """Return a function that checks each call that waits, and calls the original."""
    original = getattr(owner, name)
    label = f"{owner.__name__}.{name}"

    def checked(*args: Any, **kwargs: Any) -> Any:
        is_method = isinstance(owner, type)
        if waits(*args[:1], **kwargs) if is_method else waits(*args, **kwargs):
            held.check(label)
        return original(*args, **kwargs)

    return checked


def _watched_pool(held: HeldConnections) -> dict[str, Callable[..., Any]]:
    """Return the methods of the pool that lend a connection or take one back, which record that."""
    do_get, do_return, lend = (getattr(ReadingPool, name) for name in ("_do_get", "_do_return_conn", "lend"))

    def get(pool: ReadingPool) -> Any:
        entry = do_get(pool)
        held.take(entry)
        return entry

    def give_back(pool: ReadingPool, record: Any) -> None:
        held.give_back(record)
        do_return(pool, record)

    async def take(pool: ReadingPool, holder: Any) -> Any:
        lent = await lend(pool, holder)
        held.take(lent._entry)
        return lent

    return {"_do_get": get, "_do_return_conn": give_back, "lend": take}


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no event loop runs in this thread
        return None


def _frames_of_repository(frame: FrameType | None) -> list[tuple[str, int, str]]:
    """Return file, line and function of the frames of the gateway and of the tests, the innermost first.

    Return none if a driver of a database waits.
    """
    frames: list[tuple[str, int, str]] = []
    while frame is not None:
        path = frame.f_code.co_filename
        if not frames and any(driver in path for driver in DRIVERS):
            return []
        if path.startswith((PACKAGE, TESTS)) and path not in (__file__, FAIR_SHARE):
            frames.append((path, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return frames
