"""Work that is done again and again for as long as the gateway runs."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress

from wattgate.errors import GatewayError, Unavailable
from wattgate.realtime.events import Event
from wattgate.realtime.hub import Hub

log = logging.getLogger(__name__)


async def run_forever(
    name: str, work: Callable[[], Awaitable[object]], *, pause: float, pause_after_error: float
) -> None:
    """Do the work, with a pause (seconds) after each round. Whatever goes wrong is logged, and the next round comes."""
    while True:
        next_pause = pause
        try:
            await work()
        except GatewayError as error:
            log.warning("%s: this has to wait: %s", name, error.message)
            next_pause = pause_after_error
        except Exception:  # the supervisor: one fault must not end the work for good
            log.exception("%s: a round ended by a fault", name)
            next_pause = pause_after_error
        await asyncio.sleep(next_pause)


class WakeSignal:
    """Wakes work that rests as soon as something comes on a topic; without the bus the work finds it a little later."""

    def __init__(self, hub: Hub, topic: str, on_event: Callable[[Event], None] | None = None) -> None:
        self._hub = hub
        self._topic = topic
        self._on_event = on_event
        self._event = asyncio.Event()

    @contextmanager
    def subscribed(self) -> Iterator[None]:
        """Be rung by the topic for as long as the context lasts."""
        self._hub.add_listener(self, [self._topic])
        try:
            yield
        finally:
            self._hub.remove_listener(self, [self._topic])

    def on_event(self, event: Event) -> None:
        """Something has come."""
        if self._on_event is not None:
            self._on_event(event)
        self._event.set()

    def on_events_lost(self, topic: str, position: str) -> None:
        """Something may have come."""
        self._event.set()

    def wake(self) -> None:
        """Wake the work."""
        self._event.set()

    def clear(self) -> None:
        """What has come until now is about to be looked for."""
        self._event.clear()

    async def wait_subscribed(self) -> None:
        """Return once the topic is heard, so that what comes from now on rings."""
        with suppress(Unavailable):
            await self._hub.open_topics([self._topic])

    async def wait(self, max_seconds: float) -> None:
        """Rest until it rings, or has rung since it was silenced; at most so many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(max_seconds):
                await self._event.wait()
