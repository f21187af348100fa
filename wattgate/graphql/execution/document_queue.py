"""The queue of documents that are not in the cache: known callers first, anonymous ones in a share of the time.

Parsing and validation block the event loop for some milliseconds and come before any charge. A caller with valid
credentials is never behind callers without: their documents wait here, in a bounded queue, and get at most a share of
the time of the process. The applications of known callers are served in turn.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from wattgate.errors import RateLimited, Unavailable
from wattgate.fair_share import NO_OWNER, FairQueue
from wattgate.principal import Principal, Role

T = TypeVar("T")

MAX_WAITING_ANONYMOUS = 64
"""Maximum number of waiting documents of anonymous callers. Further ones are refused."""

MAX_WAITING_APPLICATION = 256
"""Maximum number of waiting documents of the known callers of one application. Further ones are refused."""

ANONYMOUS_SHARE = 0.25
"""Maximum share of the time of a process for the documents of anonymous callers."""

MAX_WORK_SECONDS = 2.0
"""Maximum time that counts as work on one document: twenty times what its limits permit.

If it took longer, something paused the process. Without this maximum, the next document could wait too long.
"""

MAX_WAIT_SECONDS = 10.0
"""Maximum time for which a document waits."""


class _Job(NamedTuple, Generic[T]):
    work: Callable[[], T]
    result: "asyncio.Future[T]"

    def run(self) -> None:
        """Do the work, unless nobody waits for it any more."""
        if self.result.done():
            return
        try:
            value = self.work()
        except Exception as error:  # noqa: BLE001 (the caller receives it)
            self.result.set_exception(error)
        else:
            self.result.set_result(value)


class DocumentQueue:
    """Run work for callers, one piece at a time, known callers first."""

    def __init__(
        self,
        *,
        max_waiting_anonymous: int = MAX_WAITING_ANONYMOUS,
        max_waiting_application: int = MAX_WAITING_APPLICATION,
        anonymous_share: float = ANONYMOUS_SHARE,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._max_waiting_anonymous = max_waiting_anonymous
        self._max_waiting_application = max_waiting_application
        self._anonymous_share = anonymous_share
        self._clock = clock
        self._anonymous = deque[_Job[Any]]()
        self._known: FairQueue[_Job[Any]] = FairQueue()
        """The waiting work of known callers by application."""
        self._anonymous_at = 0.0
        """The time from which the next document of an anonymous caller may be served."""
        self._turn_taken = False
        """Whether a document was served in this turn of the event loop. Others wait for the next one."""
        self._arrived = asyncio.Event()
        self._worker: asyncio.Task[None] | None = None

    async def run(self, caller: Principal, work: Callable[[], T]) -> T:
        """Return the result of the work, at once if nobody has to go first.

        Raise RateLimited if too many anonymous callers wait, and Unavailable if too many callers of the application do.
        """
        is_free = not self._known and not self._turn_taken
        if caller.role is Role.ANONYMOUS:
            if is_free and not self._anonymous and self._clock() >= self._anonymous_at:
                self._take_turn()
                return self._run_anonymous(work)
            if len(self._anonymous) >= self._max_waiting_anonymous:
                raise _anonymous_refusal()
            return await self._wait(self._anonymous.append, work, _anonymous_refusal())
        if is_free:
            self._take_turn()
            return work()
        owner = caller.application_id or NO_OWNER
        if self._known.count(owner) >= self._max_waiting_application:
            raise _application_refusal()
        return await self._wait(partial(self._known.push, owner), work, _application_refusal())

    def _take_turn(self) -> None:
        self._turn_taken = True
        asyncio.get_running_loop().call_soon(self._end_turn)

    def _end_turn(self) -> None:
        self._turn_taken = False

    async def _wait(
        self, enqueue: Callable[[_Job[Any]], None], work: Callable[[], T], refusal: RateLimited | Unavailable
    ) -> T:
        job = _Job(work, asyncio.get_running_loop().create_future())
        enqueue(job)
        self._arrived.set()
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._serve())
        try:
            return await asyncio.wait_for(job.result, MAX_WAIT_SECONDS)
        except TimeoutError:
            raise refusal from None

    async def _serve(self) -> None:
        """Serve the waiting callers until none waits. Other tasks of the process run after each of them."""
        while self._known or self._anonymous:
            self._arrived.clear()
            pause = self._anonymous_at - self._clock()
            if known := self._known.pop():
                _, job = known
                job.run()
            elif pause <= 0:
                self._run_anonymous(self._anonymous.popleft().run)
            else:
                await _wait_for(self._arrived, pause)
            await asyncio.sleep(0)

    def _run_anonymous(self, work: Callable[[], T]) -> T:
        started_at = self._clock()
        try:
            return work()
        finally:
            now = self._clock()
            worked = min(now - started_at, MAX_WORK_SECONDS)
            self._anonymous_at = now + pause_after(worked, self._anonymous_share)


def pause_after(seconds: float, share: float) -> float:
    """Return the pause after some seconds of work, so that the work takes only a share of the time."""
    return seconds * (1 / share - 1)


async def _wait_for(event: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return


def _anonymous_refusal() -> RateLimited:
    return RateLimited(
        "Too many documents of callers without credentials wait. Send a token, a document that was used before, or "
        "retry in 5 s.",
        retry_after=5,
    )


def _application_refusal() -> Unavailable:
    return Unavailable(
        "Too many new documents of this application wait. Use variables, so that texts repeat, or retry in 5 s.",
        retry_after=5,
    )
