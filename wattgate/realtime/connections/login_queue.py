"""The log-ins of connections: a bounded number at once, and a bounded queue of others.

After an outage, thousands of displays return in the same second. If all of them logged in at once, none would finish
before its time limit, and all would begin again. The queue completes them in the order of their arrival. It refuses the
ones above its length at once, with an error after which a client waits and reconnects.

Log-ins with a password do not use it. They wait for their hash in `passwords.HashPool`, which takes much longer than a
look-up of a token, and would hold back the displays.
"""

import asyncio
from collections.abc import Mapping
from types import TracebackType

from wattgate.errors import Unavailable


class LoginQueue:
    """A context in which a log-in runs. It is entered in the order of arrival."""

    def __init__(self, max_concurrent: int, max_waiting: int) -> None:
        self._semaphore = asyncio.Semaphore(max_concurrent)
        self._max_waiting = max_waiting
        self.waiting = 0
        """The number of log-ins in the queue."""

    async def __aenter__(self) -> None:
        """Wait for the turn of a log-in. Raise Unavailable if the queue is full."""
        if self._semaphore.locked() and self.waiting >= self._max_waiting:
            raise Unavailable("Too many connections log in at the moment. Try again.", retry_after=1)
        self.waiting += 1
        try:
            await self._semaphore.acquire()
        finally:
            self.waiting -= 1

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._semaphore.release()


def uses_password(headers: Mapping[str, str]) -> bool:
    """Return whether the credentials in headers are a name and a password. Header names are in lower case."""
    return not headers.get("token") and headers.get("authorization", "").lstrip()[:6].lower() == "basic "
