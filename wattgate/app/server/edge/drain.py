"""Types for the drain: the interface between the HTTP server and the application, and the timeouts of each step."""

from dataclasses import dataclass
from typing import Protocol

from wattgate.app.settings import Settings


class Drainable(Protocol):
    """Connections that outlive a request: WebSocket connections and event streams."""

    @property
    def count(self) -> int:
        """The number of open connections."""

    async def drain(self, seconds: float) -> None:
        """Close all connections, spread evenly over `seconds`, and wait until they are closed.

        The spread keeps the clients from reconnecting to another gateway all at the same time.
        """


class NoConnections:
    """An application without long-lived connections."""

    count = 0

    async def drain(self, seconds: float) -> None:
        return


@dataclass(slots=True)
class Readiness:
    """Readiness that /readyz reports. The server sets `draining` when the shutdown begins."""

    draining: bool = False


@dataclass(frozen=True, slots=True)
class DrainTimeouts:
    """Timeouts of the drain steps, in seconds.

    `pause_seconds`: time for a load balancer to notice that this gateway is no longer ready.
    `close_seconds`: time over which the closing of connections is spread.
    `total_seconds`: limit of the whole drain, in which running requests may finish.
    """

    pause_seconds: float = 0.0
    close_seconds: float = 0.0
    total_seconds: float = 25.0

    @classmethod
    def from_settings(cls, settings: Settings) -> "DrainTimeouts":
        return cls(settings.drain_pause, settings.drain_seconds, settings.drain_limit)
