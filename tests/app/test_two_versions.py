"""The version before serves on the new schema, and the new version beside it: no error, and no reading lost.

The new version is a copy of the package with one more migration, which `NEXT_MIGRATION` describes.
"""

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx
import pytest

from tests.faults.gateways import GatewayProcess
from tests.support.command import wattgate_in
from tests.support.encryption import TEST_KEYS
from tests.support.refusals import refusals, with_refusals
from tests.support.servers import database_on
from wattgate.db.migrate import MIGRATIONS, NEWEST_REVISION

ROOT = Path(__file__).parents[2]
HOME = "--application App --user ada@example.org --name Home --time-zone Europe/London --electricity 2300000000116"
PRICES = "--unit-rate 0.245 --standing-charge 0.538 --json"
RECORD = (
    "mutation ($series: [NewReadings!]!) { recordReadings(series: $series) {"
    " ... on Recorded { recorded } ...Refused } }"
)
READ = """query ($resource: ID!) { resource(resourceId: $resource) { readings(period: P1D, field: "ENERGY",
    range: {start: "2026-02-01T00:00:00Z", end: "2026-06-01T00:00:00Z"}) { count columns { count } } } }"""
CLIENTS = 4
STEPS = 8
"""Requests of each client in each phase of the upgrade, at least."""


NEXT_MIGRATION = f'''
"""Make changes that `extend-wattgate.md` allows, on tables that all requests of the test use."""

import sqlalchemy as sa
from alembic import op

revision = "{int(NEWEST_REVISION) + 1:04}"
down_revision = "{NEWEST_REVISION}"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table("tip", sa.Column("tip_id", sa.String(), primary_key=True))
    for table in ("account", "resource", "reading_day"):
        op.add_column(table, sa.Column("extra", sa.String(), nullable=False, server_default="x"))
    op.add_column("token", sa.Column("tip_id", sa.String(), sa.ForeignKey("tip.tip_id"), nullable=True))
    op.create_index("ix_token_tip_id", "token", ["tip_id"])
'''


@pytest.fixture(scope="module")
def version_after(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the package and one more migration."""
    folder = tmp_path_factory.mktemp("after")
    shutil.copytree(ROOT / "wattgate", folder / "wattgate")  # with the compiled modules, whose sources keep their times
    versions = folder / MIGRATIONS.relative_to(ROOT) / "versions"
    (versions / f"{int(NEWEST_REVISION) + 1:04}_next.py").write_text(NEXT_MIGRATION)
    return folder


class Version(GatewayProcess):
    """A gateway of the code in a folder, in a Python interpreter of its own. This version is forked instead."""

    def __init__(self, code: Path, name: str, folder: Path, settings: Mapping[str, str] = MappingProxyType({})) -> None:
        super().__init__(name, folder, settings)
        others = {key: value for key, value in os.environ.items() if not key.startswith("WATTGATE_")}
        own = {f"WATTGATE_{key}": value for key, value in settings.items()}
        self._environment = {**others, **own, "WATTGATE_SECRET_KEYS": TEST_KEYS, "PYTHONPATH": str(code)}

    async def run(self, *arguments: str) -> str:
        """Run a command to its end, and return its output."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "wattgate", *arguments),
            cwd=self._folder,
            env=self._environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, error = await process.communicate()
        assert process.returncode == 0, error.decode()
        return out.decode()

    async def start(self) -> None:
        environment = self._environment | {"WATTGATE_PORT": str(self.port), "WATTGATE_DRAIN_PAUSE": "0"}
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "wattgate", "serve"), cwd=self._folder, env=environment, stdout=log, stderr=log
            )
        await self.wait_until_ready()


class Traffic:
    """Clients that record one reading after another on the gateways in rotation, and read after each."""

    def __init__(self, created: Mapping[str, Any]) -> None:
        (self._resource,) = [
            record["id"]
            for record in created["records"]
            if record["kind"] == "resource" and not record["name"].endswith(".cost")
        ]
        self._auth = (created["secrets"]["username"], created["secrets"]["secret"])
        self.rotation: list[GatewayProcess] = []
        self.acknowledged = 0
        self.stopped = False

    async def run(self, client: int) -> None:
        """Send requests until stopped. Fail on any error."""
        async with httpx.AsyncClient(auth=self._auth, timeout=120) as http:
            number = 0
            while not self.stopped:
                url = f"{self.rotation[number % len(self.rotation)].url}/graphql"
                moment = number * CLIENTS + client  # a half hour of its own
                at = f"2026-{2 + moment // 1344:02}-{1 + moment // 48 % 28:02}T{moment % 48 // 2:02}"
                readings = [{"at": f"{at}:{moment % 2 * 30:02}:00Z", "value": moment}]
                series = [{"resourceId": self._resource, "readings": readings}]
                stored = (
                    await http.post(url, json={"query": with_refusals(RECORD), "variables": {"series": series}})
                ).json()
                assert stored["data"]["recordReadings"]["recorded"] == 1, stored
                self.acknowledged += 1
                found = await self.count(http, url)
                assert found > number, "a reading of this client is missing"
                number += 1

    async def count(self, http: httpx.AsyncClient, url: str) -> int:
        variables = {"resource": self._resource}
        found = (await http.post(url, json={"query": READ, "variables": variables})).json()
        assert not refusals(found), found
        count: int = found["data"]["resource"]["readings"]["count"]
        return count

    async def total(self) -> int:
        async with httpx.AsyncClient(auth=self._auth) as http:
            return await self.count(http, f"{self.rotation[0].url}/graphql")

    async def proceed(self) -> None:
        """Wait until each client has sent some requests."""
        wanted = self.acknowledged + CLIENTS * STEPS
        while self.acknowledged < wanted:  # noqa: ASYNC110 (the clients count for other uses)
            await asyncio.sleep(0.02)


@pytest.mark.timeout(600)
@pytest.mark.long("starts two versions of the gateway")
async def test_the_version_before_serves_while_the_schema_is_upgraded(
    version_after: Path, postgresql_url: str, tmp_path: Path
) -> None:
    async with database_on(postgresql_url) as url, asyncio.timeout(600):
        settings = {"DATABASE_URL": url, "CALLER_BUDGET": "1000000", "APPLICATION_BUDGET": "1000000"}
        old = GatewayProcess("old", tmp_path, settings | {"DRAIN_PAUSE": "0"})
        new = Version(version_after, "new", tmp_path, settings)
        created = await asyncio.to_thread(
            wattgate_in, tmp_path, *("home", "create", *HOME.split(), *PRICES.split()), **settings
        )
        traffic = Traffic(json.loads(created.stdout))
        try:
            await old.start()
            traffic.rotation = [old]
            async with asyncio.TaskGroup() as clients:
                for client in range(CLIENTS):
                    clients.create_task(traffic.run(client))
                await traffic.proceed()
                await new.run("db", "upgrade")
                await traffic.proceed()
                await new.start()
                traffic.rotation = [old, new]
                await traffic.proceed()
                traffic.rotation = [new]
                await traffic.proceed()
                old.terminate()
                assert await old.wait_until_ended() == 0
                await traffic.proceed()
                traffic.stopped = True
            assert await traffic.total() == traffic.acknowledged
        finally:
            await old.kill()
            await new.kill()
