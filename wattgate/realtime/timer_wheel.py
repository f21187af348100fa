"""One wheel for all deadlines of a process: far cheaper than a timer for each."""

import asyncio
import logging
from collections.abc import Callable
from time import monotonic
from typing import Protocol, Self

log = logging.getLogger(__name__)

SLOT_SECONDS = 0.25
"""How exact the wheel is: what is due is done up to so much later."""


class Visited(Protocol):
    """Something with deadlines. It has one place on the wheel: that of the earliest."""

    slot: int | None

    def visit(self, now: float) -> float | None:
        """Do what is due at this time (in seconds of the wheel's clock); the next deadline, if there is one."""


class Wheel:
    """Visits each of those on it at the earliest of their deadlines, or a little later, and never early."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self.now = now
        """The wheel's clock, in seconds."""
        self._slots: dict[int, set[Visited]] = {}
        self._turned = int(now() / SLOT_SECONDS)
        self._turning: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._turning = asyncio.create_task(self._keep_turning())
        return self

    async def __aexit__(self, *raised: object) -> None:
        if self._turning is not None:
            self._turning.cancel()
            await asyncio.gather(self._turning, return_exceptions=True)

    def place(self, one: Visited, deadline: float) -> None:
        """See to it that `one` is visited at this time; it is visited earlier as well if it was to be."""
        slot = max(int(deadline / SLOT_SECONDS) + 1, self._turned + 1)
        if one.slot is not None:
            if one.slot <= slot:
                return
            self._slots[one.slot].discard(one)
        one.slot = slot
        self._slots.setdefault(slot, set()).add(one)

    def remove(self, one: Visited) -> None:
        """Visit `one` no more."""
        if one.slot is not None:
            self._slots[one.slot].discard(one)
            one.slot = None

    def turn(self) -> None:
        """Visit everybody whose deadline has come."""
        now = self.now()
        while self._turned < int(now / SLOT_SECONDS):
            if not self._slots:
                self._turned = int(now / SLOT_SECONDS)
                return
            self._turned += 1
            due = self._slots.pop(self._turned, ())
            for one in due:
                one.slot = None
            for one in due:
                self._visit(one, now)

    @property
    def placed(self) -> int:
        """How many have a place on the wheel."""
        return sum(map(len, self._slots.values()))

    def _visit(self, one: Visited, now: float) -> None:
        try:
            deadline = one.visit(now)
        except Exception:  # the supervisor: one fault must not stop the deadlines of everybody else
            log.exception("a deadline ended by a fault")
            return
        if deadline is not None:
            self.place(one, deadline)

    async def _keep_turning(self) -> None:
        while True:
            await asyncio.sleep(SLOT_SECONDS)
            self.turn()
