"""Everything live of one process, made in one place: topics, groups, deadlines, connections."""

from typing import Self

from wattgate.realtime.bus import Bus
from wattgate.realtime.connections.connection_limits import Seats
from wattgate.realtime.connections.connection_registry import Sockets
from wattgate.realtime.connections.limits import Limits
from wattgate.realtime.connections.service import Service
from wattgate.realtime.hub import Hub
from wattgate.realtime.subscriptions.groups import Groups
from wattgate.realtime.timer_wheel import Wheel


class Live:
    """What connections share. It works for as long as its context lasts."""

    def __init__(self, hub: Hub, bus: Bus, seats: Seats, service: Service, limits: Limits) -> None:
        self.service = service
        self.limits = limits
        self.wheel = Wheel()
        self.groups = Groups(hub, self.wheel, service.now)
        self.sockets = Sockets(hub, bus, seats, service, limits)

    async def __aenter__(self) -> Self:
        await self.wheel.__aenter__()
        self.sockets.start()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.sockets.stop()
        await self.wheel.__aexit__()
