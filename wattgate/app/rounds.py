"""Work that is done again and again for as long as the gateway runs."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from wattgate.errors import GatewayError

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
