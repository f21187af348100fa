"""Commands to Redis that can be done without: while it is away nobody waits for it."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from redis.exceptions import RedisError

from wattgate.realtime.bus.redis_client import RedisClient, ScriptCall

log = logging.getLogger(__name__)

RETRY_SECONDS = 1.0
"""How long after Redis was away it is looked for again."""

PROBE_CALL = ScriptCall("return 1", (), ())


class RedisUnavailable(Exception):
    """Redis does not answer, or did not a moment ago."""


class BestEffortRedis:
    """Runs commands while Redis answers. Once it has not, it is asked nothing until it was looked for, beside."""

    def __init__(self, commands: RedisClient, *, retry_seconds: float = RETRY_SECONDS) -> None:
        self._commands = commands
        self._retry_seconds = retry_seconds
        self._probe_at: float | None = None
        """When Redis is looked for again (time of the loop); None while it answers."""
        self._probe_task: asyncio.Task[None] | None = None

    async def run(self, calls: Sequence[ScriptCall]) -> list[Any]:
        """The answers to these calls. Away where there are none."""
        if self._probe_at is not None:
            self._probe_if_due(self._probe_at)
            raise RedisUnavailable
        try:
            return await self._commands.run(calls)
        except (RedisError, OSError) as error:
            self._mark_unavailable(error)
            raise RedisUnavailable from error

    def _mark_unavailable(self, error: Exception) -> None:
        if self._probe_at is None:
            log.warning(
                "budgets and stored texts are each gateway's own: Redis does not answer: %s", error or "nothing"
            )
        self._probe_at = asyncio.get_running_loop().time() + self._retry_seconds

    def _probe_if_due(self, probe_at: float) -> None:
        if probe_at <= asyncio.get_running_loop().time() and (self._probe_task is None or self._probe_task.done()):
            self._probe_task = asyncio.create_task(self._probe())

    async def _probe(self) -> None:
        """Whether Redis is back. It ends within the limits of all commands."""
        try:
            await self._commands.run([PROBE_CALL])
        except (RedisError, OSError) as error:
            self._mark_unavailable(error)
        else:
            self._probe_at = None
            log.info("Redis answers again: budgets and stored texts are those of all gateways")
