"""Look-ups of host names that users provide: in threads, bounded for each owner, with a memory of names that failed."""

import asyncio
import socket
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

LOOKUP_THREADS = 64
"""Maximum number of concurrent look-ups. Each uses a thread for as long as the name's DNS servers take."""

MAX_OWNER_LOOKUPS = 4
"""Maximum number of concurrent look-ups of one owner. Names that hang thus leave threads for all other owners."""

FAILURE_SECONDS = 30.0
"""Time for which a name that has failed or timed out is not looked up again."""

MAX_FAILURES = 10_000
"""Maximum number of failed names in memory. Above it, the oldest is dropped."""

ResolveHost = Callable[[str, str], Awaitable[Sequence[str]]]
"""A function that resolves a host name for an owner to addresses as text. It raises OSError if there are none."""

LookUp = Callable[[str], Sequence[str]]
"""A function that blocks until a name is resolved."""


def look_up_in_system(host: str) -> list[str]:
    """Return the addresses of a name, as the operating system resolves it."""
    entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in entries))


class HostResolver:
    """Resolve names in threads. A look-up holds a place of its owner until its thread ends, not only until a timeout.

    A thread in the operating system's resolver cannot be stopped. The caller limits the time that it waits.
    """

    def __init__(
        self,
        look_up: LookUp = look_up_in_system,
        *,
        threads: int = LOOKUP_THREADS,
        max_owner_lookups: int = MAX_OWNER_LOOKUPS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look_up = look_up
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="look-up")
        self._max_owner_lookups = max_owner_lookups
        self._clock = clock
        self._places: dict[str, _OwnerPlaces] = {}
        self._failures: OrderedDict[str, float] = OrderedDict()
        """Names that failed, and the times at which they may be looked up again, oldest first."""

    @property
    def owner_count(self) -> int:
        """The number of owners that have or wait for look-ups."""
        return len(self._places)

    async def resolve(self, host: str, owner: str) -> Sequence[str]:
        """Return the addresses of a name. Wait for a place of the owner first.

        Raise OSError if there are none, or if the last look-up of the name failed a short time ago.
        """
        if self._failures.get(host, 0.0) > self._clock():
            raise socket.gaierror(socket.EAI_AGAIN, "the name was not resolved a short time ago")
        await self._take_place(owner)
        try:
            lookup = self._threads.submit(self._look_up, host)
        except BaseException:
            self._free_place(owner)
            raise
        loop = asyncio.get_running_loop()
        lookup.add_done_callback(lambda _: _call_in_loop(loop, lambda: self._free_place(owner)))
        return await self._wait(host, lookup)

    async def _wait(self, host: str, lookup: "Future[Sequence[str]]") -> Sequence[str]:
        try:
            addresses = await asyncio.wrap_future(lookup)
        except (OSError, asyncio.CancelledError):
            self._remember_failure(host)
            raise
        self._failures.pop(host, None)
        return addresses

    async def _take_place(self, owner: str) -> None:
        places = self._places.setdefault(owner, _OwnerPlaces(asyncio.Semaphore(self._max_owner_lookups)))
        places.users += 1
        try:
            await places.semaphore.acquire()
        except BaseException:
            self._leave(owner, places)
            raise

    def _free_place(self, owner: str) -> None:
        places = self._places[owner]
        places.semaphore.release()
        self._leave(owner, places)

    def _leave(self, owner: str, places: "_OwnerPlaces") -> None:
        places.users -= 1
        if not places.users:
            del self._places[owner]

    def _remember_failure(self, host: str) -> None:
        self._failures[host] = self._clock() + FAILURE_SECONDS
        self._failures.move_to_end(host)
        while len(self._failures) > MAX_FAILURES:
            self._failures.popitem(last=False)


class _OwnerPlaces:
    """The places of an owner, and the number of look-ups that have or wait for one."""

    def __init__(self, semaphore: asyncio.Semaphore) -> None:
        self.semaphore = semaphore
        self.users = 0


def _call_in_loop(loop: asyncio.AbstractEventLoop, function: Callable[[], None]) -> None:
    """Call a function in an event loop from a thread, unless the loop is closed."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(function)
