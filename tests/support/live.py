"""Served gateways for subscription tests: with configurable limits and a movable clock."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from tests.support.house import House, Tenant, settle_all
from tests.support.servers import serving
from tests.support.socket import Socket, socket
from wattgate.app.server.edge.connection_guard import DEFAULT_HTTP_LIMITS, HttpLimits
from wattgate.app.server.edge.http_protocol import GuardedWire
from wattgate.app.server.factory import Gateway, build_gateway, create_app
from wattgate.app.settings import Settings
from wattgate.clock import utc_now
from wattgate.enums import ReadingQuality
from wattgate.metrics import OPEN_CONNECTIONS, OPEN_SUBSCRIPTIONS
from wattgate.operations.credentials.login import TOKEN_LIFETIME
from wattgate.realtime import topics
from wattgate.realtime.connections.connection_registry import CONTROL_TOPICS
from wattgate.realtime.connections.limits import ConnectionLimits
from wattgate.realtime.events import AlertSent, Event, ReadingRecorded

NEVER = 1e9
"""A delay in seconds that no test reaches."""

BACKGROUND_TASKS = 3
"""Number of tasks that run even without connections."""

READINGS = "subscription ($ids: [ID!]!) { readings(resourceIds: $ids) { resourceId field value } }"
RESUMING = """
subscription ($ids: [ID!]!, $since: String) {
  readings(resourceIds: $ids, since: $since) { resourceId field value }
}
"""


class MovableClock:
    """A clock for a gateway. A test can move it forwards and backwards, and stop it.

    It runs at first, because the order of connections at several gateways depends on it.
    """

    def __init__(self) -> None:
        self._ahead = 0.0
        self._stopped_at: tuple[float, datetime] | None = None

    def monotonic(self) -> float:
        return (self._stopped_at[0] if self._stopped_at else time.monotonic()) + self._ahead

    def utc(self) -> datetime:
        return (self._stopped_at[1] if self._stopped_at else utc_now()) + timedelta(seconds=self._ahead)

    def stop(self) -> None:
        """Let the clock advance only when the test moves it, so that a busy machine lets no deadline pass."""
        self._stopped_at = time.monotonic(), utc_now()

    def move(self, seconds: float) -> None:
        self._ahead += seconds

    @contextmanager
    def ago(self, span: timedelta) -> Iterator[None]:
        """Move the clock back by a span for the length of the context."""
        self.move(-span.total_seconds())
        try:
            yield
        finally:
            self.move(span.total_seconds())


@dataclass
class Settled:
    """A database with two tenants."""

    url: str
    one: Tenant
    other: Tenant


@asynccontextmanager
async def settled_in(folder: Path, *, is_shared: bool = True) -> AsyncIterator[Settled]:
    """Create a SQLite database with two tenants. It is a copy if it `is_shared`, see `settle_all`."""
    url = f"sqlite:///{folder / 'live.sqlite3'}"
    gateway = build_gateway(Settings(_env_file=None, database_url=url))
    try:
        yield Settled(url, *await settle_all(gateway, ["one", "other"], is_shared=is_shared))
    finally:
        await gateway.database.close()


@dataclass
class LiveHouse(House):
    """A served gateway with a movable clock. Unlike in `House`, `gateway` is the instance that serves requests."""

    clock: MovableClock

    async def publish_readings(self, resource_id: str, *values: float, field: str = "POWER") -> None:
        """Publish readings of a resource as if they had just been recorded."""
        at = self.clock.utc()
        topic = topics.readings(resource_id)
        await self.gateway.bus.publish(
            [
                Event(topic, field, ReadingRecorded(resource_id, field, "W", at, float(value), ReadingQuality.ACTUAL))
                for value in values
            ]
        )

    async def dying_token(self, *, seconds: float) -> str:
        """Issue a token for the first tenant's account that expires after this time."""
        with self.clock.ago(TOKEN_LIFETIME - timedelta(seconds=seconds)):
            return await self.one.add_token()

    def pass_time(self, seconds: float) -> None:
        """Move the clock and run the timers that are due."""
        self.clock.move(seconds)
        self.gateway.realtime.timer_wheel.advance()

    @asynccontextmanager
    async def socket(self, **payload: str) -> AsyncIterator[Socket]:
        """Open an acknowledged WebSocket connection, by default for the first tenant's account."""
        async with socket(self.url) as opened:
            await opened.init(**(payload or self.one.headers["account"]))
            yield opened

    async def alert(self, *alert_ids: str) -> None:
        """Publish alerts to the first tenant's user as if they had been sent."""
        user_id = self.one.user_id
        sent = [
            AlertSent(
                alert_id=alert_id,
                application_id=self.one.application_id,
                user_id=user_id,
                alert_type_id=self.one.ids["alert_type"],
                system_alert_type_id="CM01",
                channels=[],
                priority="low",
                callback_url=None,
                data=None,
                created_at=self.clock.utc(),
            )
            for alert_id in alert_ids
        ]
        await self.gateway.bus.publish(
            [Event(topics.alerts(user_id), alert_sent.alert_id, alert_sent) for alert_sent in sent]
        )

    @property
    def sessions(self) -> list[Any]:
        """The connections, oldest first."""
        return list(self.gateway.realtime.connections._connections)

    def traces(self) -> dict[str, object]:
        """Return counts of everything that connections allocate. Compare them to detect leaks."""
        live = self.gateway.realtime
        return {
            "connections": live.connections.count,
            "seated": len(live.connections._connections_by_slot),
            "benches": len(getattr(live.connections._slots, "_scopes", ())),
            "groups": live.groups.count,
            "channels": self.gateway.hub.topic_count,
            "listeners": self.gateway.hub.listener_count,
            "deadlines": live.timer_wheel.scheduled_count,
            "clients": OPEN_CONNECTIONS._value.get(),
            "subscriptions": OPEN_SUBSCRIPTIONS._value.get(),
            "tasks": len(asyncio.all_tasks()),
        }

    def listening(self, resource_id: str) -> int:
        """Return the number of subscribers to the readings of a resource."""
        groups = self.gateway.realtime.groups._groups.values()
        return sum(group.size for group in groups if topics.readings(resource_id) in group.topics)

    async def until(self, reached: Callable[[], bool]) -> None:
        """Wait at most 60 s until a condition holds."""
        async with asyncio.timeout(60):
            while not reached():  # noqa: ASYNC110 (no event signals the change)
                await asyncio.sleep(0.005)

    async def quiet(self, but: int = 0) -> None:
        """Wait until `but` connections are left and the cleanup of the others has finished."""
        sockets = self.gateway.connections
        await self.until(lambda: sockets.count == but and len(sockets._tasks) <= BACKGROUND_TASKS)
        await self.until(
            lambda: (
                bool(but)
                or not (self.gateway.realtime.groups.count or self.gateway.realtime.timer_wheel.scheduled_count)
            )
        )


@asynccontextmanager
async def live_house(
    settled: Settled,
    *,
    ws: type[GuardedWire] = GuardedWire,
    limits: ConnectionLimits | None = None,
    http_limits: HttpLimits = DEFAULT_HTTP_LIMITS,
    **settings: Any,
) -> AsyncIterator[LiveHouse]:
    """Serve a gateway on a free port. Several gateways may share a database."""
    clock = MovableClock()
    app = create_app(
        Settings(_env_file=None, database_url=settled.url, **settings),
        clock=clock.utc,
        limits=limits or ConnectionLimits(),
    )
    gateway: Gateway = app.state.gateway
    gateway.realtime.timer_wheel.now = clock.monotonic
    one, other = (replace(tenant, gateway=gateway) for tenant in (settled.one, settled.other))
    async with (
        serving(app, ws=ws, limits=http_limits) as url,
        httpx.AsyncClient(base_url=url, timeout=30) as http,
    ):
        await gateway.hub.open_topics(CONTROL_TOPICS)
        yield LiveHouse(url, http, gateway, one, other, clock)
