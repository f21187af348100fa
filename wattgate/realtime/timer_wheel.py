"""A timer wheel for all deadlines of a process. It is much cheaper than one asyncio timer for each deadline."""

import asyncio
import logging
from collections.abc import Callable
from time import monotonic
from typing import Protocol, Self

log = logging.getLogger(__name__)

SLOT_SECONDS = 0.25
"""Resolution of the wheel: a listener is called up to this long after its deadline."""


class TimerListener(Protocol):
    """An object with deadlines. Its slot on the wheel is that of its earliest deadline, or None."""

    timer_slot: int | None

    def on_timer(self, now: float) -> float | None:
        """Do the work that is due at `now` (seconds of the wheel's clock). Return the next deadline, or None."""


class TimerWheel:
    """Call each listener at its earliest deadline or up to `SLOT_SECONDS` later, and never before it."""

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
        """Call the listener at the deadline. An earlier deadline that is already scheduled stays."""
        slot = max(int(deadline / SLOT_SECONDS) + 1, self._current_slot + 1)
        if listener.timer_slot is not None:
            if listener.timer_slot <= slot:
                return
            self._slots[listener.timer_slot].discard(listener)
        listener.timer_slot = slot
        self._slots.setdefault(slot, set()).add(listener)

    def cancel(self, listener: TimerListener) -> None:
        """Remove the listener from the wheel."""
        if listener.timer_slot is not None:
            self._slots[listener.timer_slot].discard(listener)
            listener.timer_slot = None

    def advance(self) -> None:
        """Call all listeners whose deadline has passed."""
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
        """The number of listeners on the wheel."""
        return sum(map(len, self._slots.values()))

    def _fire(self, listener: TimerListener, now: float) -> None:
        try:
            deadline = listener.on_timer(now)
        except Exception:  # supervisor: an error in one listener must not stop the others
            log.exception("A timer listener failed")
            return
        if deadline is not None:
            self.schedule(listener, deadline)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(SLOT_SECONDS)
            self.advance()
