"""Optional Redis commands: while Redis is unavailable, they fail immediately instead of delaying requests."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from redis.exceptions import RedisError

from wattgate.realtime.bus.redis_client import RedisClient, ScriptCall

log = logging.getLogger(__name__)

RETRY_SECONDS = 1.0
"""Time between a failure of Redis and the next probe."""

PROBE_CALL = ScriptCall("return 1", (), ())


class RedisUnavailable(Exception):
    """Redis does not reply, or did not reply to the last command or probe."""


class BestEffortRedis:
    """Run commands while Redis replies. After a failure, refuse them until a probe in the background succeeds."""

    def __init__(self, commands: RedisClient, *, retry_seconds: float = RETRY_SECONDS) -> None:
        self._commands = commands
        self._retry_seconds = retry_seconds
        self._probe_at: float | None = None
        """Time of the next probe by the clock of the event loop. None while Redis replies."""
        self._probe_task: asyncio.Task[None] | None = None

    async def run(self, calls: Sequence[ScriptCall]) -> list[Any]:
        """Return the replies to these calls. Raise RedisUnavailable if Redis does not reply."""
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
                "Redis does not answer: %s. Each gateway uses its own budgets, connection limits and texts.",
                error or "no answer",
            )
        self._probe_at = asyncio.get_running_loop().time() + self._retry_seconds

    def _probe_if_due(self, probe_at: float) -> None:
        if probe_at <= asyncio.get_running_loop().time() and (self._probe_task is None or self._probe_task.done()):
            self._probe_task = asyncio.create_task(self._probe())

    async def _probe(self) -> None:
        """Check whether Redis replies again. The timeout of all commands bounds this check."""
        try:
            await self._commands.run([PROBE_CALL])
        except (RedisError, OSError) as error:
            self._mark_unavailable(error)
        else:
            self._probe_at = None
            log.info("Redis answers again. All gateways share budgets, connection limits and texts.")
