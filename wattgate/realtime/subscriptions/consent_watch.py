"""The topics of a stream group whose payloads are withheld: without a consent, or without sight of the record.

The state is loaded when the first subscriber joins. It then follows the events of withdrawn consents, and is loaded
again after a loss of events, after a change of a resource, and when the first valid consent expires.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from wattgate.errors import GatewayError
from wattgate.realtime.subscriptions.subscription_source import WithheldTopics

MAX_WAIT_SECONDS = 86_400.0
"""Maximum time to the next check while a consent can expire."""

StartTask = Callable[[Callable[[], Awaitable[None]]], None]


class ConsentWatch:
    """Know the withheld topics of a group.

    `withhold` is called for each topic that becomes withheld after the first load. `start_task` runs a check in a task
    that ends the subscriptions if it fails.
    """

    def __init__(
        self,
        find: Callable[[], Awaitable[Any]],
        withhold: Callable[[str, GatewayError], None],
        start_task: StartTask,
    ) -> None:
        self.errors: dict[str, GatewayError] = {}
        self._find = find
        self._withhold = withhold
        self._start_task = start_task
        self._is_loaded = False
        self._is_checking = False
        self._changes = 0
        """The number of changes since the start. A check that a change overtakes is repeated."""
        self._timer: asyncio.TimerHandle | None = None

    async def load(self) -> None:
        """Load the state, unless it is known."""
        if not self._is_loaded:
            await self._check()
            self._is_loaded = True

    def revoke(self, topic: str, error: GatewayError) -> None:
        """Withhold a topic immediately."""
        self._changes += 1
        is_new = topic not in self.errors
        self.errors[topic] = error
        if is_new:
            self._withhold(topic, error)

    def request_check(self) -> None:
        """Load the state again in a task."""
        self._changes += 1
        if not self._is_checking:
            self._is_checking = True
            self._start_task(self._check_once)

    def close(self) -> None:
        """Stop waiting for the end of a consent."""
        if self._timer is not None:
            self._timer.cancel()

    async def _check_once(self) -> None:
        try:
            await self._check()
        finally:
            self._is_checking = False

    async def _check(self) -> None:
        changes = -1
        while changes != self._changes:
            changes = self._changes
            found: WithheldTopics = await self._find()
        before, self.errors = self.errors, dict(found.errors)
        self.close()
        if found.seconds_until_change is not None:
            seconds = min(max(found.seconds_until_change, 0.0), MAX_WAIT_SECONDS)
            self._timer = asyncio.get_running_loop().call_later(seconds, self.request_check)
        for topic, error in found.errors.items():
            if topic not in before:
                self._withhold(topic, error)
