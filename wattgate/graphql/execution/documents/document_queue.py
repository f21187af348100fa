"""The queue of documents that are not in the cache: known callers first, anonymous ones in a share of the time.

Parsing, validation and compilation take some milliseconds and come before most charges. A caller with valid credentials
is never behind callers without: their documents wait here, in a bounded queue, and get at most a share of the time of
the process.

Work on short documents runs on the event loop, once in each turn of it. Work on long ones runs in one thread, so that
no document holds the event loop for longer than the interpreter lets a thread run. It gets a share of the time, too.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from wattgate.errors import RateLimited, Unavailable
from wattgate.principal import Principal, Role
from wattgate.requests.fair_share import FairQueue, owner_of_caller

T = TypeVar("T")

MAX_WAITING_ANONYMOUS = 64
"""Maximum number of waiting documents of anonymous callers. Further ones are refused."""

MAX_WAITING_APPLICATION = 256
"""Maximum number of waiting documents of the known callers of one application. Further ones are refused."""

ANONYMOUS_SHARE = 0.25
"""Maximum share of the time of a process for the documents of anonymous callers."""

LONG_SHARE = 0.5
"""Maximum share of the time of a process for long documents."""

MAX_WORK_SECONDS = 2.0
"""Maximum time that counts as work on one document: twenty times what its limits permit.

If it took longer, something paused the process. Without this maximum, the next document could wait too long.
"""

MAX_WAIT_SECONDS = 10.0
"""Maximum time for which a document waits."""


class _Job(NamedTuple, Generic[T]):
    work: Callable[[], T]
    result: "asyncio.Future[T]"

    async def run_here(self) -> None:
        """Do the work on the event loop."""
        try:
            value = self.work()
        except Exception as error:  # noqa: BLE001 (the caller receives it)
            self.result.set_exception(error)
        else:
            self.result.set_result(value)

    async def run_in(self, thread: ThreadPoolExecutor) -> None:
        """Do the work in a thread. Nobody may wait for its result any more when it ends."""
        outcome = await asyncio.get_running_loop().run_in_executor(thread, self._outcome)
        if self.result.done():
            return
        if isinstance(outcome, _Failure):
            self.result.set_exception(outcome.error)
        else:
            self.result.set_result(outcome)

    def _outcome(self) -> "T | _Failure":
        try:
            return self.work()
        except Exception as error:  # noqa: BLE001 (the caller receives it)
            return _Failure(error)


class _Failure(NamedTuple):
    error: Exception


class _Lane:
    """The work that waits to run at one place: on the event loop or in the thread. `run` runs a job there.

    After each job, the lane pauses, so that its work takes at most `share` of the time.
    """

    def __init__(self, run: Callable[[_Job[Any]], Awaitable[None]], share: float) -> None:
        self.run = run
        self.share = share
        self.resumes_at = 0.0
        self.anonymous = deque[_Job[Any]]()
        self.known: TimeQueue[_Job[Any]] = TimeQueue()
        """The waiting work of known callers by application."""
        self.arrived = asyncio.Event()
        self.worker: asyncio.Task[None] | None = None

    def __bool__(self) -> bool:
        return bool(self.known or self.anonymous)


class DocumentQueue:
    """Run work for callers, one piece at a time at each place, known callers first.

    The applications of known callers are served in turn; the one whose documents took less time goes first.
    """

    def __init__(
        self,
        *,
        max_waiting_anonymous: int = MAX_WAITING_ANONYMOUS,
        max_waiting_application: int = MAX_WAITING_APPLICATION,
        anonymous_share: float = ANONYMOUS_SHARE,
        long_share: float = LONG_SHARE,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._max_waiting_anonymous = max_waiting_anonymous
        self._max_waiting_application = max_waiting_application
        self._anonymous_share = anonymous_share
        self._clock = clock
        self._short = _Lane(_Job.run_here, 1.0)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="documents")
        self._long = _Lane(lambda job: job.run_in(self._thread), long_share)
        self._anonymous_at = 0.0
        """The time from which the next document of an anonymous caller may be served."""
        self._turn_taken = False
        """Whether a document was served in this turn of the event loop. Others wait for the next one."""

    async def run(self, caller: Principal, work: Callable[[], T], *, is_long: bool = False) -> T:
        """Return the result of the work. Short work runs at once if nobody has to go first.

        Long work runs in a thread. Raise RateLimited if too many anonymous callers wait, and Unavailable if too many
        callers of the application do.
        """
        lane = self._long if is_long else self._short
        is_free = not is_long and not lane.known and not self._turn_taken
        if caller.role is Role.ANONYMOUS:
            if is_free and not lane.anonymous and self._clock() >= self._anonymous_at:
                self._take_turn()
                started_at = self._clock()
                try:
                    return work()
                finally:
                    self._count_anonymous(self._work_since(started_at))
            if len(self._short.anonymous) + len(self._long.anonymous) >= self._max_waiting_anonymous:
                raise _anonymous_refusal()
            return await self._wait(lane, lane.anonymous.append, work, _anonymous_refusal())
        if is_free:
            self._take_turn()
            return work()
        owner = owner_of_caller(caller)
        if lane.known.count(owner) >= self._max_waiting_application:
            raise _application_refusal()
        return await self._wait(lane, partial(lane.known.push, owner), work, _application_refusal())

    def _take_turn(self) -> None:
        self._turn_taken = True
        asyncio.get_running_loop().call_soon(self._end_turn)

    def _end_turn(self) -> None:
        self._turn_taken = False

    async def _wait(
        self,
        lane: _Lane,
        enqueue: Callable[[_Job[Any]], None],
        work: Callable[[], T],
        refusal: RateLimited | Unavailable,
    ) -> T:
        job = _Job(work, asyncio.get_running_loop().create_future())
        enqueue(job)
        lane.arrived.set()
        if lane.worker is None or lane.worker.done():
            lane.worker = asyncio.create_task(self._serve(lane))
        try:
            return await asyncio.wait_for(job.result, MAX_WAIT_SECONDS)
        except TimeoutError:
            raise refusal from None

    async def _serve(self, lane: _Lane) -> None:
        """Serve the waiting callers of a lane until none waits. Other tasks run after each of them."""
        while lane:
            lane.arrived.clear()
            now = self._clock()
            pause, anonymous_pause = lane.resumes_at - now, self._anonymous_at - now
            if pause > 0:
                await asyncio.sleep(pause)
            elif known := lane.known.pop():
                owner, job = known
                lane.known.add_time(owner, await self._work(lane, job))
            elif anonymous_pause <= 0:
                self._count_anonymous(await self._work(lane, lane.anonymous.popleft()))
            else:
                await _wait_for(lane.arrived, anonymous_pause)
            await asyncio.sleep(0)

    async def _work(self, lane: _Lane, job: _Job[Any]) -> float:
        """Run a job unless nobody waits for it any more. Return the time that it took, in seconds."""
        if job.result.done():
            return 0.0
        started_at = self._clock()
        await lane.run(job)
        worked = self._work_since(started_at)
        lane.resumes_at = self._clock() + pause_after(worked, lane.share)
        return worked

    def _work_since(self, started_at: float) -> float:
        return min(self._clock() - started_at, MAX_WORK_SECONDS)

    def _count_anonymous(self, seconds: float) -> None:
        self._anonymous_at = self._clock() + pause_after(seconds, self._anonymous_share)


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


class TimeQueue(Generic[T]):
    """A queue of items of owners. The first item of the owner that has used least time is next.

    An owner that comes back after a pause has no advantage of it: it counts as if it had used as much time as the
    owner that was served last. So the queue only keeps the times of owners that are ahead of that.
    """

    def __init__(self) -> None:
        self._items: FairQueue[T] = FairQueue()
        self._used: dict[str, float] = {}
        """The time that each owner has used, in seconds, if it is more than `_least`."""
        self._least = 0.0
        """The time that the owner that was served last had used before."""

    def __bool__(self) -> bool:
        return bool(self._items)

    def count(self, owner: str) -> int:
        """Return the number of items of an owner."""
        return self._items.count(owner)

    def push(self, owner: str, item: T) -> None:
        """Add an item as the last one of its owner."""
        self._items.push(owner, item)

    def pop(self) -> tuple[str, T] | None:
        """Remove and return the next owner and its first item; None if nothing waits."""
        owners = self._items.owners()
        if not owners:
            return None
        least = min(map(self._time_of, owners))
        self._least = max(self._least, least)
        self._used = {owner: used for owner, used in self._used.items() if used > self._least}
        return self._items.pop(lambda owner: self._time_of(owner) <= self._least)

    def add_time(self, owner: str, seconds: float) -> None:
        """Record that the work of an owner has taken some seconds."""
        self._used[owner] = self._time_of(owner) + seconds

    def _time_of(self, owner: str) -> float:
        return max(self._used.get(owner, 0.0), self._least)
