"""Helpers of background workers: a supervised loop, a signal that wakes it, and a log of problems of the servers."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress

from wattgate.clock import describe_clock_offset
from wattgate.db.connections.engine import Database
from wattgate.db.connections.engine_errors import translate_errors
from wattgate.db.connections.server_state import read_server_state
from wattgate.errors import GatewayError, Unavailable
from wattgate.pauses import raise_if_cancelled
from wattgate.realtime.bus import Bus
from wattgate.realtime.events import Event
from wattgate.realtime.hub import Hub

log = logging.getLogger(__name__)


async def run_forever(
    name: str, work: Callable[[], Awaitable[object]], *, pause: float, pause_after_error: float
) -> None:
    """Repeat the work until cancelled.

    Wait `pause` seconds after each iteration, or `pause_after_error` seconds if it raised. Exceptions are logged.
    """
    while True:
        next_pause = pause
        try:
            await work()
        except GatewayError as error:
            next_pause = pause_after_error
            log.warning("%s: iteration failed: %s; retrying in %g s", name, error.message, next_pause)
        except Exception:  # the supervisor: an exception must not stop the work forever
            next_pause = pause_after_error
            log.exception("%s: iteration failed; retrying in %g s", name, next_pause)
        raise_if_cancelled()
        await asyncio.sleep(next_pause)


class WakeSignal:
    """A signal that wakes idle work when an event arrives on a topic.

    Without the bus, the work finds new items when its maximum wait ends.
    """

    def __init__(self, hub: Hub, topic: str, on_event: Callable[[Event], None] | None = None) -> None:
        self._hub = hub
        self._topic = topic
        self._on_event = on_event
        self._event = asyncio.Event()

    @contextmanager
    def subscribed(self) -> Iterator[None]:
        """Listen to the topic until the context exits."""
        self._hub.add_listener(self, [self._topic])
        try:
            yield
        finally:
            self._hub.remove_listener(self, [self._topic])

    def on_event(self, event: Event) -> None:
        """Handle an event of the topic: wake the work."""
        if self._on_event is not None:
            self._on_event(event)
        self._event.set()

    def on_events_lost(self, topic: str, position: str) -> None:
        """Handle lost events of the topic: wake the work, because one may have been for it."""
        self._event.set()

    def wake(self) -> None:
        """Wake the work."""
        self._event.set()

    def clear(self) -> None:
        """Clear the signal. Call this before looking for work, so that later events wake it again."""
        self._event.clear()

    async def wait_subscribed(self) -> bool:
        """Wait until the topic is open, so that all later events wake the work. Return immediately without the bus.

        Return whether the topic was opened only now. Then no event since `clear` has woken the work.
        """
        if self._hub.is_open(self._topic):
            return False
        try:
            await self._hub.open_topics([self._topic])
        except Unavailable:
            return False
        return True

    async def wait(self, max_seconds: float) -> None:
        """Wait until the signal is set, or already was set since `clear`, for at most `max_seconds`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(max_seconds):
                await self._event.wait()


# Log what is wrong with the database server and Redis although they answer: at the start, then each hour.
#
# `wattgate doctor` finds the same problems. A gateway also logs them because a server changes while the gateway runs,
# and because nobody runs `doctor` on each machine of a cluster.

INTERVAL_SECONDS = 3600.0
ERROR_PAUSE_SECONDS = 60.0


async def run_server_checks(database: Database, bus: Bus) -> None:
    """Log the problems of both servers until cancelled."""
    await run_forever(
        "check of the servers",
        lambda: log_server_problems(database, bus),
        pause=INTERVAL_SECONDS,
        pause_after_error=ERROR_PAUSE_SECONDS,
    )


async def log_server_problems(database: Database, bus: Bus) -> None:
    """Log each problem with its remedy. Raise Unavailable if the database does not answer."""
    with translate_errors():
        state = await read_server_state(database)
    problems = []
    if state is not None:
        clock = describe_clock_offset(state.clock_offset)
        problems = [state.write_problem, clock and f"has another time; the clocks {clock}"]
    for problem in filter(None, problems):
        log.warning("The database %s", problem)
    try:
        for problem in await bus.find_problems():
            log.warning("Redis %s", problem)
    except Unavailable as error:
        log.warning("Redis cannot be checked: %s", error.message)
