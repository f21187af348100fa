"""Look-ups of host names that users provide: in threads, with a share for each owner, and a memory of failed names."""

import asyncio
import socket
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from wattgate.requests.fair_share import FairShare

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
        self._places = FairShare(threads, share=min(threads, max_owner_lookups))
        self._clock = clock
        self._failures: OrderedDict[str, float] = OrderedDict()
        """Names that failed, and the times at which they may be looked up again, oldest first."""

    @property
    def owner_count(self) -> int:
        """The number of owners that have or wait for look-ups."""
        return self._places.owner_count

    async def resolve(self, host: str, owner: str) -> Sequence[str]:
        """Return the addresses of a name. Wait for a place of the owner first.

        Raise OSError if there are none, or if the last look-up of the name failed a short time ago.
        """
        if self._failures.get(host, 0.0) > self._clock():
            raise socket.gaierror(socket.EAI_AGAIN, "the name was not resolved a short time ago")
        await self._places.take(owner)
        try:
            lookup = self._threads.submit(self._look_up, host)
        except BaseException:
            self._places.give_back(owner)
            raise
        lookup.add_done_callback(lambda _: self._places.give_back(owner))
        return await self._wait(host, lookup)

    async def _wait(self, host: str, lookup: "Future[Sequence[str]]") -> Sequence[str]:
        try:
            addresses = await asyncio.wrap_future(lookup)
        except (OSError, asyncio.CancelledError):
            self._remember_failure(host)
            raise
        self._failures.pop(host, None)
        return addresses

    def _remember_failure(self, host: str) -> None:
        self._failures[host] = self._clock() + FAILURE_SECONDS
        self._failures.move_to_end(host)
        while len(self._failures) > MAX_FAILURES:
            self._failures.popitem(last=False)
