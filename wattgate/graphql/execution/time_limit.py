"""The time limit of operations: one timer for all of a process, because each may take the same time.

A timer for each operation, as `asyncio.timeout` sets it, takes a fifth of the processor time of a small query.
"""

import asyncio
from collections.abc import Callable
from time import monotonic
from types import TracebackType

MIN_TIMER_SECONDS = 0.001
"""The shortest timer. Event loops round shorter ones to nothing, and would repeat them until the time has passed."""


class TimeLimit:
    """Cancels operations that take more than `seconds`. The operation that began first is the next to end.

    The timer runs while operations do, and needs no start: it belongs to the event loop of the last operation.
    """

    def __init__(self, seconds: float, now: Callable[[], float] = monotonic) -> None:
        self.seconds = seconds
        self.now = now
        """The clock of the limit, in seconds."""
        self.running: dict[LimitedOperation, None] = {}
        """The operations within their limit, in the order of their ends."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    def __call__(self) -> "LimitedOperation":
        """Return a context in which the current task may take the time. It raises TimeoutError as `asyncio.timeout`."""
        return LimitedOperation(self)

    def enter_task(self, operation: "LimitedOperation") -> "asyncio.Task[object]":
        """Add an operation that begins now, and return the current task."""
        loop = self._loop
        task = (
            None if loop is None else asyncio.current_task(loop)
        )  # without a loop, it asks the system for the process
        if task is None:
            task = self._bind_loop()
        operation.ends_at = self.now() + self.seconds
        self.running[operation] = None
        if self._timer is None:
            self._set_timer(self.seconds)
        return task

    def expire(self) -> None:
        """Cancel the operations whose time has passed."""
        now = self.now()
        for operation in list(self.running):
            if operation.ends_at > now:
                break
            operation.expire()

    def _bind_loop(self) -> "asyncio.Task[object]":
        """Use the running event loop. Another one has ended, and its operations and timer with it."""
        self._loop, self._timer = asyncio.get_running_loop(), None
        self.running.clear()
        task = asyncio.current_task(self._loop)
        if task is None:
            raise RuntimeError("An operation with a time limit runs in a task.")
        return task

    def _set_timer(self, seconds: float) -> None:
        assert self._loop is not None  # an operation has begun
        self._timer = self._loop.call_later(max(seconds, MIN_TIMER_SECONDS), self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self.expire()
        if self.running:
            self._set_timer(next(iter(self.running)).ends_at - self.now())


class LimitedOperation:
    """One operation within its time limit. It may be cancelled until its context exits, and never after it."""

    __slots__ = ("_cancelling", "_is_expired", "_limit", "_task", "ends_at")

    def __init__(self, limit: TimeLimit) -> None:
        self.ends_at = 0.0
        self._limit = limit
        self._is_expired = False

    def __enter__(self) -> None:
        self._task = task = self._limit.enter_task(self)
        self._cancelling = task.cancelling()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Raise TimeoutError in place of the limit's cancellation, unless the task is cancelled for another reason too.

        An operation may also swallow the cancellation. Then the caller gets its result or its own error.
        """
        self._limit.running.pop(self, None)
        if self._is_expired and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def expire(self) -> None:
        """Cancel the operation."""
        del self._limit.running[self]
        self._is_expired = True
        self._task.cancel()
