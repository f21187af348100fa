"""Served gateways whose limits and time a test sets, over either wire, and live readings in them."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from tests.support.house import House, Tenant, settle
from tests.support.schema import bring_up
from tests.support.servers import serving
from tests.support.socket import Socket, socket
from wattgate.app.server.factory import Gateway, assemble, create_app
from wattgate.app.settings import Settings
from wattgate.clock import utc_now
from wattgate.enums import ReadingQuality
from wattgate.graphql.services.login import TOKEN_LIFETIME
from wattgate.metrics import CLIENTS, SUBSCRIPTIONS
from wattgate.realtime import topics
from wattgate.realtime.connections.connection_registry import CONTROL
from wattgate.realtime.connections.direct_wire import DirectWire
from wattgate.realtime.connections.limits import Limits
from wattgate.realtime.events import AlertSent, Event, LiveReading

WIRES: dict[str, Any] = {"direct": DirectWire, "portable": "websockets-sansio"}
"""How sockets are served: by our own protocol of uvicorn, and by its plain one, as on any other server."""

NEVER = 1e9
"""Seconds after which nothing is due in a test."""

STANDING = 2
"""How many tasks look after connections also when there are none."""

READINGS = "subscription ($ids: [ID!]!) { readings(resourceIds: $ids) { resourceId field value } }"
RESUMING = """
subscription ($ids: [ID!]!, $since: String) {
  readings(resourceIds: $ids, since: $since) { resourceId field value }
}
"""


class Hands:
    """The time of a gateway: it runs by itself, and a test moves it on."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self._ahead

    def utc(self) -> datetime:
        return utc_now() + timedelta(seconds=self._ahead)

    def move(self, seconds: float) -> None:
        self._ahead += seconds

    @contextmanager
    def ago(self, span: timedelta) -> Iterator[None]:
        """Let what is done meanwhile have been done so long ago."""
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
async def settled_in(folder: Path) -> AsyncIterator[Settled]:
    """A database in SQLite with two tenants."""
    url = f"sqlite:///{folder / 'live.sqlite3'}"
    gateway = assemble(Settings(_env_file=None, database_url=url))
    try:
        await bring_up(gateway.database)
        yield Settled(url, await settle(gateway, "one"), await settle(gateway, "other"))
    finally:
        await gateway.database.close()


@dataclass
class LiveHouse(House):
    """A served gateway. Unlike those of a plain house, its parts are those that serve."""

    hands: Hands

    async def tell(self, resource_id: str, *values: float, field: str = "POWER") -> None:
        """Publish readings of a resource, as those that were recorded."""
        at = self.hands.utc()
        topic = topics.readings(resource_id)
        await self.gateway.bus.publish(
            [
                Event(topic, field, LiveReading(resource_id, field, "W", at, float(value), ReadingQuality.ACTUAL))
                for value in values
            ]
        )

    async def dying_token(self, *, seconds: float) -> str:
        """A token of the first tenant's account that expires so soon."""
        with self.hands.ago(TOKEN_LIFETIME - timedelta(seconds=seconds)):
            return await self.one.add_token()

    def pass_time(self, seconds: float) -> None:
        """Let time pass, and what is due happen."""
        self.hands.move(seconds)
        self.gateway.live.wheel.turn()

    @asynccontextmanager
    async def socket(self, **payload: str) -> AsyncIterator[Socket]:
        """A socket that is acknowledged: that of the first tenant's account, or whose credentials are given."""
        async with socket(self.url) as one:
            await one.init(**(payload or self.one.headers["account"]))
            yield one

    async def alert(self, *alert_ids: str) -> None:
        """Publish alerts to the first tenant's user, as those that were sent."""
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
                created_at=self.hands.utc(),
            )
            for alert_id in alert_ids
        ]
        await self.gateway.bus.publish([Event(topics.alerts(user_id), one.alert_id, one) for one in sent])

    @property
    def sessions(self) -> list[Any]:
        """The connections, oldest first."""
        return list(self.gateway.live.sockets._connections)

    def traces(self) -> dict[str, object]:
        """What connections leave behind while they are there."""
        live = self.gateway.live
        return {
            "connections": live.sockets.count,
            "seated": len(live.sockets._seated),
            "benches": len(getattr(live.sockets._seats, "_benches", ())),
            "groups": live.groups.count,
            "channels": self.gateway.hub.channels,
            "listeners": self.gateway.hub.listening,
            "deadlines": live.wheel.placed,
            "clients": CLIENTS._value.get(),
            "subscriptions": SUBSCRIPTIONS._value.get(),
            "tasks": len(asyncio.all_tasks()),
        }

    def listening(self, resource_id: str) -> int:
        """How many subscribers are told the readings of a resource."""
        groups = self.gateway.live.groups._groups.values()
        return sum(group.size for group in groups if topics.readings(resource_id) in group.topics)

    async def until(self, reached: Callable[[], bool]) -> None:
        """Wait until something is so."""
        async with asyncio.timeout(10):
            while not reached():  # noqa: ASYNC110 (what is looked at does not tell)
                await asyncio.sleep(0.005)

    async def quiet(self, but: int = 0) -> None:
        """Wait until no more than so many connections are left, and what their end has begun is done."""
        sockets = self.gateway.sockets
        await self.until(lambda: sockets.count == but and len(sockets._work) <= STANDING)
        await self.until(lambda: bool(but) or not (self.gateway.live.groups.count or self.gateway.live.wheel.placed))


@asynccontextmanager
async def live_house(
    settled: Settled, *, wire: str = "direct", limits: Limits | None = None, **settings: Any
) -> AsyncIterator[LiveHouse]:
    """A gateway on a database that others may be on as well, served on a free port."""
    hands = Hands()
    app = create_app(
        Settings(_env_file=None, database_url=settled.url, **settings), clock=hands.utc, limits=limits or Limits()
    )
    gateway: Gateway = app.state.gateway
    gateway.live.wheel.now = hands.monotonic
    one, other = (replace(tenant, gateway=gateway) for tenant in (settled.one, settled.other))
    async with serving(app, ws=WIRES[wire]) as url, httpx.AsyncClient(base_url=url, timeout=30) as http:
        await gateway.hub.open(CONTROL)
        yield LiveHouse(url, http, gateway, one, other, hands)
