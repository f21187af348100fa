"""An event loop without a clock and without sockets, and a transport in memory, so that a check of bytes is repeatable.

A check takes the same steps for the same bytes on every machine: time passes only when it says so.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import closing
from contextvars import Context
from typing import Any, TypeVar, TypeVarTuple, Unpack

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

MAX_ITERATIONS = 20_000
"""Maximum iterations of the loop until it is at rest. More mean that the work has no bound."""


class SteppedLoop(asyncio.SelectorEventLoop):
    """An event loop whose time a check sets."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self._scheduled_count = 0
        super().__init__()

    def time(self) -> float:
        return self.now

    def call_soon(
        self, callback: Callable[[Unpack[Arguments]], object], *args: *Arguments, context: Context | None = None
    ) -> asyncio.Handle:
        self._scheduled_count += 1
        return super().call_soon(callback, *args, context=context)

    def settle(self, seconds: float = 0) -> None:
        """Let seconds pass, and run callbacks until none is left except timers."""
        self.now += seconds
        for _ in range(MAX_ITERATIONS):
            before = self._scheduled_count
            self.call_soon(self.stop)
            self.run_forever()
            if self._scheduled_count == before + 1:
                return
        raise AssertionError(f"the event loop is not at rest after {MAX_ITERATIONS:,} iterations")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that waits neither for time nor for sockets."""
    with closing(SteppedLoop()) as loop:
        try:
            return loop.run_until_complete(work)
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())


class MemoryTransport(asyncio.Transport):
    """A transport whose peer is the check. `received` has what the peer receives, until `has_ended`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__({"peername": ("192.0.2.1", 40_000), "sockname": ("192.0.2.2", 80)})
        self.received = bytearray()
        self.is_reading_paused = False
        self.has_ended = False
        self._loop = loop
        self._protocol: Any = None
        self._is_closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not (self._is_closing or self.has_ended):
            self.received += data

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            self._loop.call_soon(self._lose)

    def abort(self) -> None:
        self.close()

    def _lose(self) -> None:
        self._protocol.connection_lost(None)

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.has_ended = True

    def is_closing(self) -> bool:
        return self._is_closing

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def get_protocol(self) -> Any:
        return self._protocol

    def pause_reading(self) -> None:
        self.is_reading_paused = True

    def resume_reading(self) -> None:
        self.is_reading_paused = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Do nothing: the peer reads everything at once."""

    def get_write_buffer_size(self) -> int:
        return 0
