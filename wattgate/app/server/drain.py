"""How a gateway goes down: what its server and its application tell each other, and how long each step takes."""

from dataclasses import dataclass
from typing import Protocol

from wattgate.app.settings import Settings


class Drainable(Protocol):
    """What stays open beyond a request: sockets and event streams."""

    @property
    def count(self) -> int:
        """How many are open."""

    async def drain(self, seconds: float) -> None:
        """Close all of them, evenly over that time, so that their clients come back elsewhere; until they are gone."""


class NoSockets:
    """Nothing is open beyond a request."""

    count = 0

    async def drain(self, seconds: float) -> None:
        return


@dataclass(slots=True)
class Readiness:
    """Whether the gateway still wants to be sent requests; its server ends that."""

    draining: bool = False


@dataclass(frozen=True, slots=True)
class Drain:
    """How long, in seconds: the pause in which a load balancer sees that this gateway is no longer ready, the closing
    of sockets, and everything together, in which requests may end."""

    pause: float = 0.0
    sockets: float = 0.0
    limit: float = 25.0

    @classmethod
    def of(cls, settings: Settings) -> "Drain":
        return cls(settings.drain_pause, settings.drain_seconds, settings.drain_limit)
