"""Work that is done again and again for as long as the gateway runs."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress

from wattgate.errors import GatewayError, Unavailable
from wattgate.realtime.events import Event
from wattgate.realtime.hub import Hub

log = logging.getLogger(__name__)


async def go_round(
    what: str, work: Callable[[], Awaitable[object]], *, pause: float, pause_after_trouble: float
) -> None:
    """Do the work, with a pause (seconds) after each round. Whatever goes wrong is logged, and the next round comes."""
    while True:
        following = pause
        try:
            await work()
        except GatewayError as error:
            log.warning("%s: this has to wait: %s", what, error.message)
            following = pause_after_trouble
        except Exception:  # the supervisor: one fault must not end the work for good
            log.exception("%s: a round ended by a fault", what)
            following = pause_after_trouble
        await asyncio.sleep(following)


class Bell:
    """Wakes work that rests as soon as something comes on a topic; without the bus the work finds it a little later."""

    def __init__(self, hub: Hub, topic: str, take: Callable[[Event], None] | None = None) -> None:
        self._hub = hub
        self._topic = topic
        self._take = take
        self._rung = asyncio.Event()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Be rung by the topic for as long as the context lasts."""
        self._hub.listen(self, [self._topic])
        try:
            yield
        finally:
            self._hub.leave(self, [self._topic])

    def take(self, event: Event) -> None:
        """Something has come."""
        if self._take is not None:
            self._take(event)
        self._rung.set()

    def lost(self, topic: str, position: str) -> None:
        """Something may have come."""
        self._rung.set()

    def ring(self) -> None:
        """Wake the work."""
        self._rung.set()

    def silence(self) -> None:
        """What has come until now is about to be looked for."""
        self._rung.clear()

    async def open(self) -> None:
        """Return once the topic is heard, so that what comes from now on rings."""
        with suppress(Unavailable):
            await self._hub.open([self._topic])

    async def rung(self, longest: float) -> None:
        """Rest until it rings, or has rung since it was silenced; at most so many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(longest):
                await self._rung.wait()
