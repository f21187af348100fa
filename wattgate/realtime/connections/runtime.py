"""The realtime services that all connections of a process share."""

from typing import Self

from wattgate.realtime.bus import Bus
from wattgate.realtime.connections.connection_registry import ConnectionRegistry, ReadShared
from wattgate.realtime.connections.connection_slots import ConnectionSlots
from wattgate.realtime.connections.limits import ConnectionLimits
from wattgate.realtime.connections.service import LoginQueue, OperationService
from wattgate.realtime.hub import Hub
from wattgate.realtime.subscriptions.subscriber_groups import SubscriberGroups
from wattgate.realtime.timer_wheel import TimerWheel


class RealtimeRuntime:
    """Timer wheel, subscription groups, connections, limits and operation service. It runs within its context."""

    def __init__(
        self,
        hub: Hub,
        bus: Bus,
        slots: ConnectionSlots,
        service: OperationService,
        limits: ConnectionLimits,
        read_shared: ReadShared,
    ) -> None:
        self.service = service
        self.limits = limits
        self.login_queue = LoginQueue(limits.max_concurrent_logins, limits.max_waiting_logins)
        self.timer_wheel = TimerWheel()
        self.groups = SubscriberGroups(hub, self.timer_wheel, service.now)
        self.connections = ConnectionRegistry(hub, bus, slots, service, limits, read_shared)

    async def __aenter__(self) -> Self:
        await self.timer_wheel.__aenter__()
        self.connections.start()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.connections.stop()
        await self.timer_wheel.__aexit__()
