"""A gateway behind a relay that tests can cut, to check that clients reconnect."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from tests.support.house import Tenant, settle_all
from tests.support.servers import Relay, serving
from wattgate.app.server.factory import build_gateway, create_app
from wattgate.app.settings import Settings

RECOVERED, LOST = "recovered", "lost"


@dataclass
class Link:
    """A gateway with a tenant, reachable through a relay."""

    settings: Settings
    tenant: Tenant
    relay: Relay
    gateway: str
    stack: AsyncExitStack
    posted: int = 0
    begun: datetime = field(default_factory=lambda: datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1))

    async def post(self, resource_id: str, count: int = 1) -> None:
        """Record the next power readings 0, 1, 2 and so on, with one request for each, bypassing the relay."""
        headers = self.tenant.headers["account"]
        async with httpx.AsyncClient(base_url=self.gateway, headers=headers, timeout=20) as http:
            for _ in range(count):
                at = (self.begun + timedelta(seconds=self.posted)).isoformat()
                body = {"field": "POWER", "readings": [{"at": at, "value": self.posted}]}
                answer = await http.post(f"/api/v0-1/resource/{resource_id}/readings", json=body)
                assert answer.status_code == 200, answer.text
                self.posted += 1

    async def restart(self) -> None:
        """Stop the gateway, start a new one, and connect the relay to it."""
        await self.stack.aclose()
        self.gateway = await self.stack.enter_async_context(serving(create_app(self.settings)))
        self.relay.lead_to(self.gateway)


@asynccontextmanager
async def link(folder: Path, **settings: Any) -> AsyncIterator[Link]:
    """Serve a gateway on a new SQLite database, with additional settings, behind a relay.

    The database is a copy: a Redis in the settings must not be that of other gateways, whose tenants have the same ids.
    """
    link_settings = Settings(_env_file=None, database_url=f"sqlite:///{folder / 'test.sqlite3'}", **settings)
    gateway = build_gateway(link_settings)
    try:
        (tenant,) = await settle_all(gateway, ["one"], is_shared=True)
        async with AsyncExitStack() as stack:
            url = await stack.enter_async_context(serving(create_app(link_settings)))
            relay = Relay(url)
            await relay.open()
            try:
                yield Link(link_settings, tenant, relay, url, stack)
            finally:
                await relay.cut()
    finally:
        await gateway.database.close()


class Client:
    """A process that prints one JSON value on each line."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def next(self) -> Any:
        """Return the next printed value. Fail if the process ends or prints nothing for 60 s."""
        assert self._process.stdout is not None
        async with asyncio.timeout(60):
            line = await self._process.stdout.readline()
        if not line:
            _, error_output = await self._process.communicate()
            raise AssertionError(f"the client has ended: {error_output.decode()}")
        return json.loads(line)


@asynccontextmanager
async def running(process: asyncio.subprocess.Process) -> AsyncIterator[Client]:
    """Yield the client of a process, and kill the process at the end."""
    try:
        yield Client(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def values_until(client: Client, *, until: float) -> list[Any]:
    """Return the printed values up to and including `until`, with RECOVERED or LOST for each reconnection."""
    heard: list[Any] = []
    while not heard or heard[-1] != until:
        printed = await client.next()
        if "recovered" in printed:
            heard.append(RECOVERED if printed["recovered"] else LOST)
        else:
            heard.append(printed["value"])
    return heard
