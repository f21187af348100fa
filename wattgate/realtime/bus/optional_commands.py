"""Commands to Redis that can be done without: while it is away nobody waits for it."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from redis.exceptions import RedisError

from wattgate.realtime.bus.commands import Call, Commands

log = logging.getLogger(__name__)

AGAIN_SECONDS = 1.0
"""How long after Redis was away it is looked for again."""

LOOK = Call("return 1", (), ())


class Away(Exception):
    """Redis does not answer, or did not a moment ago."""


class Presence:
    """Runs commands while Redis answers. Once it has not, it is asked nothing until it was looked for, beside."""

    def __init__(self, commands: Commands, *, again: float = AGAIN_SECONDS) -> None:
        self._commands = commands
        self._again = again
        self._look_at: float | None = None
        """When Redis is looked for again (time of the loop); None while it answers."""
        self._looking: asyncio.Task[None] | None = None

    async def run(self, calls: Sequence[Call]) -> list[Any]:
        """The answers to these calls. Away where there are none."""
        if self._look_at is not None:
            self._look_again(self._look_at)
            raise Away
        try:
            return await self._commands.run(calls)
        except (RedisError, OSError) as error:
            self._lost(error)
            raise Away from error

    def _lost(self, error: Exception) -> None:
        if self._look_at is None:
            log.warning(
                "budgets and stored texts are each gateway's own: Redis does not answer: %s", error or "nothing"
            )
        self._look_at = asyncio.get_running_loop().time() + self._again

    def _look_again(self, due: float) -> None:
        if due <= asyncio.get_running_loop().time() and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._look())

    async def _look(self) -> None:
        """Whether Redis is back. It ends within the limits of all commands."""
        try:
            await self._commands.run([LOOK])
        except (RedisError, OSError) as error:
            self._lost(error)
        else:
            self._look_at = None
            log.info("Redis answers again: budgets and stored texts are those of all gateways")
