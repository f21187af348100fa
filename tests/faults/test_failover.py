"""Failover of PostgreSQL behind one address: the gateway goes on by itself, and no acknowledged reading is lost."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from sqlalchemy import text

from tests.faults.gateways import GatewayProcess
from tests.support.command import wattgate_in
from tests.support.encryption import TEST_KEYS
from tests.support.postgresql_server import replicated_server
from tests.support.servers import Relay
from wattgate.clock import to_ms
from wattgate.db.connections.engine import Database

HOME = "--application App --user ada@example.org --name Home --time-zone Europe/London --electricity 2300000000116"
PRICES = "--unit-rate 0.245 --standing-charge 0.538 --json"
RECORD = "mutation ($series: [NewReadings!]!) { recordReadings(series: $series) { ... on Recorded { recorded } } }"
READ = """query ($resource: ID!) { resource(resourceId: $resource) { readings(period: P1D,
    range: {start: "2026-02-01T00:00:00Z", end: "2026-06-01T00:00:00Z"}) { count } } }"""
STANDBYS = "ANY 1 (*)"
"""The standbys that a commit waits for: one of all."""

CLIENTS = 4
LIMIT_SECONDS = 120


@asynccontextmanager
async def relay_to(url: str) -> AsyncIterator[Relay]:
    """Yield the address of the primary, which later leads to another server."""
    relay = Relay(url)
    await relay.open()
    try:
        yield relay
    finally:
        await relay.cut()


class Meters:
    """Clients that each send one reading after another, and each reading until it is acknowledged."""

    def __init__(self, gateway: GatewayProcess, created: dict[str, Any]) -> None:
        self._url = f"{gateway.url}/graphql"
        self._auth = (created["secrets"]["username"], created["secrets"]["secret"])
        records = [record for record in created["records"] if record["kind"] == "resource"]
        (self.resource,) = [record["id"] for record in records if not record["name"].endswith(".cost")]
        self.acknowledged: list[str] = []
        self.answers = Counter[str]()
        self.stopped = False

    async def run(self, client: int) -> None:
        async with httpx.AsyncClient(auth=self._auth, timeout=30) as http:
            number = 0
            while not self.stopped:
                moment = number * CLIENTS + client
                at = f"2026-{2 + moment // 1344:02}-{1 + moment // 48 % 28:02}T{moment % 48 // 2:02}"
                if await self._send(http, f"{at}:{moment % 2 * 30:02}:00Z", moment):
                    number += 1
                    continue
                await asyncio.sleep(0.1)

    async def _send(self, http: httpx.AsyncClient, at: str, value: int) -> bool:
        """Send a reading, and read back if it is acknowledged. Every other answer has to be UNAVAILABLE."""
        series = [{"resourceId": self.resource, "readings": [{"at": at, "value": value}]}]
        response = await http.post(self._url, json={"query": RECORD, "variables": {"series": series}})
        if not self._is_available(response):
            return False
        self.acknowledged.append(at)
        variables = {"resource": self.resource}
        found = await http.post(self._url, json={"query": READ, "variables": variables})
        if self._is_available(found):
            assert found.json()["data"]["resource"]["readings"]["count"] > 0
        return True

    def _is_available(self, response: httpx.Response) -> bool:
        errors = response.json().get("errors", [])
        self.answers.update([error["extensions"]["code"] for error in errors] or ["OK"])
        assert not errors or errors[0]["extensions"]["code"] == "UNAVAILABLE", errors
        return not errors

    async def proceed(self, count: int) -> None:
        """Wait until a number of further readings is acknowledged."""
        wanted = len(self.acknowledged) + count
        while len(self.acknowledged) < wanted:  # noqa: ASYNC110 (the clients count for other uses)
            await asyncio.sleep(0.02)


async def stored_instants(url: str) -> set[int]:
    database = Database(url)
    async with database.autocommit_engine.connect() as connection:
        rows = (await connection.execute(text("SELECT at FROM reading"))).scalars().all()
    await database.close()
    return set(rows)


async def commit_on_both(url: str) -> None:
    """Let commits of a primary wait for its standby.

    The process for checkpoints puts the setting into force, and not while it makes one. So wait until new sessions have
    the setting, and for a checkpoint that begins afterwards.
    """
    connection = await asyncpg.connect(url)
    await connection.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{STANDBYS}'")
    await connection.execute("SELECT pg_reload_conf()")
    shown = ""
    while shown != STANDBYS:
        later = await asyncpg.connect(url)
        shown = await later.fetchval("SHOW synchronous_standby_names")
        await later.close()
    await connection.execute("CHECKPOINT")
    await connection.close()


@pytest.mark.long("starts two servers and a gateway, and fails over")
async def test_no_acknowledged_reading_is_lost_by_a_failover(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(LIMIT_SECONDS),
        replicated_server() as (primary, standby),
        relay_to(primary.url) as relay,
    ):
        await commit_on_both(primary.url.replace("+asyncpg", ""))
        settings = {"DATABASE_URL": relay.url, "SECRET_KEYS": TEST_KEYS}
        home = await asyncio.to_thread(
            wattgate_in, tmp_path, "home", "create", *HOME.split(), *PRICES.split(), **settings
        )
        assert home.returncode == 0, home.stderr
        budgets = {"CALLER_BUDGET": "1000000", "APPLICATION_BUDGET": "1000000"}
        gateway = GatewayProcess("gateway", tmp_path, {**settings, **budgets, "DATABASE_REPLICA_URL": standby.url})
        try:
            await gateway.start()
            started = gateway.pid
            meters = Meters(gateway, json.loads(home.stdout))
            async with asyncio.TaskGroup() as clients:
                for client in range(CLIENTS):
                    clients.create_task(meters.run(client))
                await meters.proceed(40)
                await relay.cut()
                await primary.crash()
                async with httpx.AsyncClient() as http:
                    assert (await http.get(f"{gateway.url}/readyz")).status_code == 503
                while meters.answers["UNAVAILABLE"] < CLIENTS:  # noqa: ASYNC110 (the clients count for other uses)
                    await asyncio.sleep(0.02)
                await standby.promote()
                relay.lead_to(standby.url)
                await relay.open()
                await gateway.wait_until_ready()
                await meters.proceed(40)
                meters.stopped = True
            assert gateway.pid == started
            stored = await stored_instants(standby.url)
            assert {to_ms(datetime.fromisoformat(at)) for at in meters.acknowledged} <= stored
            assert "The read replica is not a standby" in gateway.log
        finally:
            await gateway.kill()
