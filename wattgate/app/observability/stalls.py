"""Watchdog of the event loop: a metric of its delay and, in development, a log record of the code that blocked it.

A timer of the event loop runs every `BEAT_SECONDS`. The time by which it is late is the time for which other requests
wait, so it is measured. In development, a thread sees when the timer does not run, and logs the stack of the loop's
thread at that moment: afterwards, it would not be known which code blocked.
"""

import asyncio
import faulthandler
import logging
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile
from time import monotonic

from wattgate.metrics import LOOP_DELAY_SECONDS

log = logging.getLogger(__name__)

BEAT_SECONDS = 0.05
"""Seconds between two beats. 20 timers a second take less than a thousandth of a processor."""

STALL_SECONDS = 0.1
"""Seconds for which the loop may be late. A person notices a longer wait, and so do all callers of the process."""

MAX_FRAMES = 30
"""Maximum frames of a logged stack, innermost last."""

_FRAME_START = '  File "'


class LoopWatchdog:
    """Measures the delay of the running event loop. With `logs_stacks`, logs the stack of code that blocks it."""

    def __init__(self, *, logs_stacks: bool, stall_seconds: float = STALL_SECONDS) -> None:
        self._logs_stacks = logs_stacks
        self._stall_seconds = stall_seconds
        self._loop_thread = 0
        self._due_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._stopped = threading.Event()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Watch the running event loop until the context exits."""
        self._loop_thread = threading.get_ident()
        self._schedule()
        thread = threading.Thread(target=self._watch, name="event loop watchdog", daemon=True)
        if self._logs_stacks:
            thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            if self._timer is not None:
                self._timer.cancel()
            if thread.is_alive():
                thread.join()

    def _schedule(self) -> None:
        self._due_at = monotonic() + BEAT_SECONDS
        self._timer = asyncio.get_running_loop().call_later(BEAT_SECONDS, self._beat)

    def _beat(self) -> None:
        LOOP_DELAY_SECONDS.observe(max(monotonic() - self._due_at, 0.0))
        self._schedule()

    def _watch(self) -> None:
        """Log each stall once, while it lasts."""
        logged_at = 0.0
        while not self._stopped.wait(self._stall_seconds / 2):
            due_at = self._due_at
            late = monotonic() - due_at
            if late > self._stall_seconds and due_at != logged_at:
                logged_at = due_at
                log.warning(
                    "The event loop is blocked for more than %d ms, so that all requests wait. It runs:\n%s",
                    int(self._stall_seconds * 1000),
                    format_stack(self._loop_thread),
                )


def format_stack(thread_id: int) -> str:
    """Return the current stack of a thread, outermost frame first, or an empty text if the thread has ended.

    The thread runs meanwhile, and CPython crashed when this thread read its frame objects. `faulthandler` reads no
    frame objects, and it keeps the lock of the interpreter, so the stack does not change before it is written.
    """
    with TemporaryFile() as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        dump = file.read().decode(errors="replace")
    stacks = (stack.strip("\n").partition("\n") for stack in dump.split("\n\n"))
    found = next((frames for thread, _, frames in stacks if f"0x{thread_id:016x} " in thread), "")
    lines = [line for line in found.splitlines() if line.startswith(_FRAME_START)]
    entries = [_parse_frame(line) for line in reversed(lines[:MAX_FRAMES])]
    return "".join(traceback.StackSummary.from_list(entries).format())


def _parse_frame(line: str) -> tuple[str, int, str, None]:
    """Return the file, the line and the function of a frame as `faulthandler` writes it. The text is read later."""
    file_name, _, position = line.removeprefix(_FRAME_START).rpartition('", line ')
    number, _, function = position.partition(" in ")
    return file_name, int(number) if number.isdecimal() else 0, function, None
