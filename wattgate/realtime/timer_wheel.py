"""One wheel for all deadlines of a process: far cheaper than a timer for each."""

import asyncio
import logging
from collections.abc import Callable
from time import monotonic
from typing import Protocol, Self

log = logging.getLogger(__name__)

SLOT_SECONDS = 0.25
"""How exact the wheel is: what is due is done up to so much later."""


class TimerListener(Protocol):
    """Something with deadlines. It has one place on the wheel: that of the earliest."""

    timer_slot: int | None

    def on_timer(self, now: float) -> float | None:
        """Do what is due at this time (in seconds of the wheel's clock); the next deadline, if there is one."""


class TimerWheel:
    """Visits each of those on it at the earliest of their deadlines, or a little later, and never early."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self.now = now
        """The wheel's clock, in seconds."""
        self._slots: dict[int, set[TimerListener]] = {}
        self._current_slot = int(now() / SLOT_SECONDS)
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *raised: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def schedule(self, listener: TimerListener, deadline: float) -> None:
        """See to it that `one` is visited at this time; it is visited earlier as well if it was to be."""
        slot = max(int(deadline / SLOT_SECONDS) + 1, self._current_slot + 1)
        if listener.timer_slot is not None:
            if listener.timer_slot <= slot:
                return
            self._slots[listener.timer_slot].discard(listener)
        listener.timer_slot = slot
        self._slots.setdefault(slot, set()).add(listener)

    def cancel(self, listener: TimerListener) -> None:
        """Visit `one` no more."""
        if listener.timer_slot is not None:
            self._slots[listener.timer_slot].discard(listener)
            listener.timer_slot = None

    def advance(self) -> None:
        """Visit everybody whose deadline has come."""
        now = self.now()
        while self._current_slot < int(now / SLOT_SECONDS):
            if not self._slots:
                self._current_slot = int(now / SLOT_SECONDS)
                return
            self._current_slot += 1
            due = self._slots.pop(self._current_slot, ())
            for listener in due:
                listener.timer_slot = None
            for listener in due:
                self._fire(listener, now)

    @property
    def scheduled_count(self) -> int:
        """How many have a place on the wheel."""
        return sum(map(len, self._slots.values()))

    def _fire(self, listener: TimerListener, now: float) -> None:
        try:
            deadline = listener.on_timer(now)
        except Exception:  # the supervisor: one fault must not stop the deadlines of everybody else
            log.exception("a deadline ended by a fault")
            return
        if deadline is not None:
            self.schedule(listener, deadline)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(SLOT_SECONDS)
            self.advance()
