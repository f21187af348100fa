"""The bound of operations without credentials that use the database at the same time."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

from wattgate.errors import Unavailable
from wattgate.principal import Principal, Role
from wattgate.requests.client import Client
from wattgate.requests.fair_share import NO_OWNER, FairShare, NoFreeSlot

ANONYMOUS_PART = 5
"""Callers without credentials use at most the fifth part of the connections of a process.

Each of their sessions takes 10 to 20 ms of the event loop, in pieces. With more sessions at a time, every turn of the
event loop takes longer for everybody else.
"""

MAX_WAITING = 1_000
"""Maximum sessions of callers without credentials that wait. Further ones are refused."""

MAX_WAIT_SECONDS = 10.0
"""Maximum time for which such a session waits."""

RETRY_SECONDS = 5

_NO_WAIT = nullcontext()
"""The turn of a known caller. Each operation enters it, so all share one."""


class AnonymousTurns:
    """Let callers without credentials use the database a few at a time, and their addresses in turn.

    Known callers and the gateway itself do not wait.
    """

    def __init__(
        self, connections: int, *, max_waiting: int = MAX_WAITING, max_wait_seconds: float = MAX_WAIT_SECONDS
    ) -> None:
        slots = max(1, connections // ANONYMOUS_PART)
        self._slots = FairShare(slots, share=slots, max_waiting=max_waiting, max_wait_seconds=max_wait_seconds)

    def turn(self, principal: Principal, client: Client) -> AbstractAsyncContextManager[None]:
        """Wait for the turn of a caller, and keep it until the context exits. Raise Unavailable if too many wait."""
        return self._turn(client.site or NO_OWNER) if principal.role is Role.ANONYMOUS else _NO_WAIT

    @asynccontextmanager
    async def _turn(self, address: str) -> AsyncIterator[None]:
        try:
            await self._slots.take(address)
        except NoFreeSlot:
            raise _too_busy() from None
        try:
            yield
        finally:
            self._slots.give_back(address)


def _too_busy() -> Unavailable:
    return Unavailable(
        f"Too many requests without credentials wait. Send a token, or retry in {RETRY_SECONDS} s.",
        retry_after=RETRY_SECONDS,
    )
