"""Two gateways on one database and one Redis: subscribers of one receive readings written at the other."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from gql import Client, gql
from gql.transport.exceptions import TransportQueryError
from gql.transport.websockets import WebsocketsTransport

from tests.app.test_cli import wattgate
from tests.support.house import Tenant, settle_all
from tests.support.redis_server import RedisServer, redis_server
from tests.support.servers import serving
from wattgate.app.server.factory import build_gateway, create_app
from wattgate.app.settings import Settings
from wattgate.realtime.bus.redis_client import stream_key
from wattgate.realtime.topics import readings

SUBSCRIBE = "subscription ($ids: [ID!]!) { readings(resourceIds: $ids) { value } }"


@dataclass
class TwoGateways:
    """The URLs of two running gateways, and a tenant of both."""

    one: str
    other: str
    tenant: Tenant
    redis: RedisServer
    settings: Settings

    async def post(self, url: str, resource_id: str, *values: int) -> None:
        """Record power readings at a gateway, with one call for each."""
        start = datetime.now(UTC) - timedelta(minutes=10)
        async with httpx.AsyncClient(base_url=url, headers=self.tenant.headers["account"], timeout=20) as http:
            for value in values:
                at = (start + timedelta(seconds=value)).isoformat()
                body = {"field": "POWER", "readings": [{"at": at, "value": value}]}
                response = await http.post(f"/api/v0-1/resource/{resource_id}/readings", json=body)
                assert response.status_code == 200, response.text

    async def watched(self, resource_id: str, gateways: int) -> None:
        """Wait until this many gateways have the topic of a resource open."""
        stream = stream_key(readings(resource_id))
        async with asyncio.timeout(60):
            while True:
                _, subscribed = await self.redis.command("PUBSUB", "NUMSUB", stream)
                if subscribed == gateways and await self.redis.command("EXISTS", stream):
                    return
                await asyncio.sleep(0.01)

    @asynccontextmanager
    async def display(self, url: str, resource_id: str, *, watching: int = 1) -> AsyncIterator["asyncio.Queue[Any]"]:
        """Provide the values that a display at a gateway receives, and the error that ends it.

        Begin when `watching` gateways have the topic open.
        """
        shown: asyncio.Queue[Any] = asyncio.Queue()
        task = asyncio.create_task(self._watch(url, resource_id, shown))
        try:
            await self.watched(resource_id, watching)
            yield shown
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _watch(self, url: str, resource_id: str, shown: "asyncio.Queue[Any]") -> None:
        socket = WebsocketsTransport(
            url=url.replace("http", "ws") + "/graphql", init_payload=self.tenant.headers["account"]
        )
        subscription = gql(SUBSCRIBE)
        subscription.variable_values = {"ids": [resource_id]}
        async with Client(transport=socket) as session:
            try:
                async for payload in session.subscribe(subscription):
                    shown.put_nowait(payload["readings"]["value"])
            except TransportQueryError as error:
                shown.put_nowait(error.errors)


@pytest.fixture
async def gateways(tmp_path: Path) -> AsyncIterator[TwoGateways]:
    (tmp_path / "redis").mkdir()
    async with redis_server(tmp_path / "redis", "--appendonly", "no") as redis:
        settings = Settings(_env_file=None, database_url=f"sqlite:///{tmp_path / 'test.sqlite3'}", redis_url=redis.url)
        gateway = build_gateway(settings)
        try:
            (tenant,) = await settle_all(gateway, ["one"], is_shared=True)  # a Redis of its own, where no ids meet
            async with gateway.bus:
                async with serving(create_app(settings)) as one, serving(create_app(settings)) as other:
                    yield TwoGateways(one, other, tenant, redis, settings)
        finally:
            await gateway.database.close()


async def next_of(shown: "asyncio.Queue[Any]", count: int) -> list[Any]:
    async with asyncio.timeout(60):
        return [await shown.get() for _ in range(count)]


async def test_displays_of_both_gateways_receive_readings_posted_at_either(gateways: TwoGateways) -> None:
    resource_id = await gateways.tenant.add_resource()
    async with (
        gateways.display(gateways.one, resource_id) as first,
        gateways.display(gateways.other, resource_id, watching=2) as second,
    ):
        await gateways.post(gateways.one, resource_id, *range(5))
        await gateways.post(gateways.other, resource_id, *range(5, 10))
        assert await next_of(second, 10) == list(range(10))
        assert await next_of(first, 10) == list(range(10))


async def test_display_receives_readings_imported_on_the_command_line(gateways: TwoGateways, tmp_path: Path) -> None:
    resource_id = await gateways.tenant.add_resource()
    file = tmp_path / "meter.csv"
    file.write_text("at,value,field\n2026-04-01T00:00:00Z,5,POWER\n2026-04-01T00:00:08Z,7,POWER\n")
    arguments = ("readings", "import", str(file), "--application", gateways.tenant.application_id)
    urls = {"DATABASE_URL": gateways.settings.database_url, "REDIS_URL": gateways.redis.url}
    async with gateways.display(gateways.one, resource_id) as shown:
        command = await asyncio.to_thread(wattgate, *arguments, "--resource", resource_id, folder=tmp_path, **urls)
        assert command.returncode == 0, command.stderr
        assert await next_of(shown, 1) == [7]  # only the newest reading of a batch is sent


@pytest.mark.long("outlasts outages of Redis; `test_redis_bus_faults.py` tests the same faults of a bus")
async def test_subscription_survives_a_short_outage_of_redis_and_ends_after_a_long_one(gateways: TwoGateways) -> None:
    resource_id = await gateways.tenant.add_resource()
    async with gateways.display(gateways.other, resource_id) as shown:
        await gateways.post(gateways.one, resource_id, 1)
        await gateways.redis.command("CLIENT", "KILL", "TYPE", "pubsub")
        await gateways.post(gateways.one, resource_id, 2, 3)
        assert await next_of(shown, 3) == [1, 2, 3]
        await gateways.redis.kill()
        await gateways.post(gateways.one, resource_id, 4)  # the operation succeeds without Redis
        await gateways.redis.start("--appendonly", "no")
        ((error,),) = await next_of(shown, 1)
    assert error["message"] == "Some events were lost. Subscribe again."
    assert (error["extensions"]["code"], error["extensions"]["retryable"]) == ("UNAVAILABLE", True)
    received: Any = None
    for value in range(5, 15):  # the first gateway may need some time to connect to Redis again
        async with gateways.display(gateways.other, resource_id) as shown:
            await gateways.post(gateways.one, resource_id, value)
            (received,) = await next_of(shown, 1)
        if received == value:
            break
        assert received[0]["extensions"]["retryable"]
    assert received == value


@pytest.mark.long("outlasts outages of Redis; `test_redis_bus_faults.py` tests the same faults of a bus")
async def test_gateway_without_redis_is_ready_and_reports_that_live_data_is_unavailable(
    gateways: TwoGateways, tmp_path: Path
) -> None:
    await gateways.tenant.deactivate_directory()
    urls = {"DATABASE_URL": gateways.settings.database_url, "REDIS_URL": gateways.redis.url}
    async with httpx.AsyncClient(base_url=gateways.one, timeout=20) as http:
        assert (await http.get("/readyz")).json() == {"status": "OK"}
        before = await asyncio.to_thread(wattgate, "doctor", folder=tmp_path, **urls)
        assert (before.returncode, "Redis   answers" in before.stdout) == (0, True)
        await gateways.redis.kill()
        response = await http.get("/readyz")
        assert (response.status_code, response.json()) == (200, {"status": "OK", "live": "unavailable"})
        after = await asyncio.to_thread(wattgate, "doctor", folder=tmp_path, **urls)
        assert (after.returncode, "Redis   cannot be used" in after.stdout) == (1, True)
        assert "Traceback" not in after.stderr
