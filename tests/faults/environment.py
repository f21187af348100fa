"""Two gateways on one database and one Redis, all as processes that a test can stop, and the scenes of faults."""

import asyncio
import contextlib
import itertools
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import bindparam, text

from tests.faults.displays import LARGE_SUBSCRIPTION, Display
from tests.faults.gateways import GatewayProcess
from tests.faults.history import Findings, Ledger, check_history, check_stored, count_lost
from tests.faults.meters import TIMEOUT_SECONDS, Meters
from tests.faults.scale import Scale, selected_scale
from tests.support.house import CALLER_BUDGET, Tenant, settle
from tests.support.postgresql_server import PostgresqlServer, postgresql_server
from tests.support.redis_server import RedisServer, redis_server
from tests.support.schema import bring_up
from tests.support.tables import check_rollups
from wattgate.app.server.factory import build_gateway
from wattgate.app.settings import Settings
from wattgate.clock import from_ms
from wattgate.operations.credentials import tokens
from wattgate.principal import Principal, Role

ReportRow = Callable[[str, Mapping[str, int]], None]

MAX_REPORTED_PROBLEMS = 12
"""Maximum number of problems in the message of a failed scene."""

DISPLAYS_PER_ACCOUNT = 10
"""Displays of each account. A gateway permits 20 connections for each account."""

POWER_FIELD = 1
"""The stored number of the field that meters send."""

STORED_READINGS = text(
    "SELECT resource_id, at, value FROM reading JOIN resource ON resource.number = resource_number "
    "WHERE field = :field AND resource_id IN :ids"
).bindparams(bindparam("ids", expanding=True))


@dataclass
class Environment:
    """The running servers, and a tenant with resources."""

    gateways: tuple[GatewayProcess, GatewayProcess]
    redis: RedisServer
    postgresql: PostgresqlServer
    tenant: Tenant
    scale: Scale = field(default_factory=selected_scale)
    report_row: ReportRow = field(default=lambda title, row: None)
    """Receives the title of a scene and its counts."""

    _accounts: "itertools.count[int]" = field(default_factory=itertools.count)

    @property
    def urls(self) -> list[str]:
        """The addresses to which meters send."""
        return [gateway.url for gateway in self.gateways]

    @property
    def ports(self) -> list[int]:
        return [gateway.port for gateway in self.gateways]

    async def start_all(self) -> None:
        """Start the servers that do not run."""
        await asyncio.gather(self.postgresql.start(), self.redis.start())
        await asyncio.gather(*(gateway.start() for gateway in self.gateways))

    async def add_tokens(self, count: int) -> list[str]:
        """Add this many tokens, each of a new account."""
        return [await self._add_token() for _ in range(count)]

    async def _add_token(self) -> str:
        account_id = await self.tenant.add_account(f"display-{next(self._accounts)}@example.com")
        account = Principal(
            Role.ACCOUNT,
            application_id=self.tenant.application_id,
            user_id=self.tenant.user_id,
            account_id=account_id,
        )
        return str((await self.tenant.gateway.runner.run(tokens.new_token, account, {})).token)

    async def load_stored(self, resource_ids: Iterable[str]) -> dict[str, list[tuple[datetime, int]]]:
        """Return the rows (time, value) of each resource. Check that the stored hours and days agree with them."""
        rows_by_resource = defaultdict[str, list[tuple[datetime, int]]](list)
        ids = list(resource_ids)
        async with self.tenant.gateway.database.engine.connect() as connection:
            for resource_id, at, value in await connection.execute(STORED_READINGS, {"field": POWER_FIELD, "ids": ids}):
                rows_by_resource[resource_id].append((from_ms(at), value))
            await connection.run_sync(check_rollups, ids)
        return rows_by_resource


class Scene:
    """Meters that send and displays that are subscribed, during a fault."""

    def __init__(
        self,
        environment: Environment,
        ledger: Ledger,
        meters: Meters,
        displays: Sequence[Display],
        slow: Collection[Display],
    ) -> None:
        self.ledger = ledger
        self.meters = meters
        self.displays = [*displays, *slow]
        self.slow = slow
        self._environment = environment
        self._changed = asyncio.Event()
        self._watching: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Start the displays, and then the meters."""
        for display in self.displays:
            display.on_change = self._changed.set
            self._watching.append(asyncio.create_task(display.run()))
        await self.wait_until_live()
        self.meters.start()

    async def wait_until(self, reached: Callable[[], bool], description: str) -> None:
        """Wait until a condition on the displays holds."""
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                while not reached():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"not within {TIMEOUT_SECONDS} seconds: {description}") from None

    async def wait_until_live(self) -> None:
        """Wait until every display that has not ended is live."""
        await self.wait_until(
            lambda: all(display.live or display.has_ended for display in self.displays), "all displays are live"
        )

    async def wait_until_shown(self, exclude: Collection[Display] = ()) -> None:
        """Wait until all displays but `exclude` have received the readings that are acknowledged now."""
        newest = {resource_id: self.ledger.newest(resource_id) for resource_id in self.ledger.resource_ids}
        waiting = [display for display in self.displays if display not in exclude]
        await self.wait_until(lambda: not any(map(partial(_behind, newest), waiting)), "all displays are up to date")

    async def finish(self, title: str) -> Findings:
        """Stop the meters, wait for the displays, and return the findings. Fail the test if there are problems."""
        await self.meters.finish()
        with contextlib.suppress(
            AssertionError
        ):  # the check of the history reports displays that are behind more exactly
            await self.wait_until_shown()
        await self.close()
        stored = await self._environment.load_stored(self.ledger.resource_ids)
        findings = Findings()
        for display in self.displays:
            watched = () if display.has_ended else display.resource_ids
            findings += check_history(
                display.name, display.history, watched, self.ledger, conflates=display in self.slow
            )
        problems = [*self.meters.problems, *check_stored(stored, self.ledger), *findings.problems]
        self._environment.report_row(title, self._row(count_lost(stored, self.ledger), findings))
        assert not problems, f"{len(problems)} problems: " + "; ".join(problems[:MAX_REPORTED_PROBLEMS])
        return findings

    async def close(self) -> None:
        """Stop all meters and displays immediately."""
        await self.meters.cancel()
        for display in self.displays:
            display.close()
        await asyncio.gather(*self._watching)

    def _row(self, lost: int, findings: Findings) -> dict[str, int]:
        """Return the row of the table of results."""
        return {
            "acknowledged": self.ledger.count,
            "sent again": self.ledger.retried,
            "displays": len(self.displays),
            "delivered": findings.shown,
            "reconnects": findings.connections - len(self.displays),
            "recovered true": findings.recovered,
            "recovered false": findings.reported_losses,
            "missing, reported": findings.reported_missing,
            "reported late": findings.reported_late,
            "conflated": findings.conflated,
            "lost": lost,
            "gaps": findings.gaps,
            "duplicates": findings.duplicates,
            "out of order": findings.disorders,
        }


def _behind(newest: Mapping[str, int], display: Display) -> bool:
    return not display.has_ended and any(shown < newest[resource_id] for resource_id, shown in display.newest.items())


@asynccontextmanager
async def open_scene(
    environment: Environment,
    *,
    resources: int | None = None,
    displays: int | None = None,
    slow: int = 0,
    ports: Sequence[int] = (),
) -> AsyncIterator[Scene]:
    """Start meters and displays for new resources. Displays connect to both gateways, or to `ports`.

    `slow` displays subscribe to all resources with large messages, and can stop reading.
    """
    scale = environment.scale
    resource_ids = [await environment.tenant.add_resource() for _ in range(resources or scale.resources)]
    ledger = Ledger(resource_ids)
    meters = Meters(
        environment.urls, environment.tenant.headers["account"], ledger, meters=scale.meters, pace=scale.pace
    )
    count = scale.displays if displays is None else displays
    tokens = iter(await environment.add_tokens(-(-count // DISPLAYS_PER_ACCOUNT) + -(-slow // DISPLAYS_PER_ACCOUNT)))
    ways = ports or environment.ports

    def make_displays(
        name: str, count: int, watched: Callable[[int], Sequence[str]], **options: Any
    ) -> Iterator[Display]:
        token = ""
        for number in range(count):
            token = token if number % DISPLAYS_PER_ACCOUNT else next(tokens)
            yield Display(
                f"{name} {number}", ways, {"token": token}, watched(number), gateway=number % len(ways), **options
            )

    normal = list(make_displays("display", count, partial(_watched_resources, resource_ids)))
    slow_displays = list(
        make_displays("slow display", slow, lambda number: resource_ids, document=LARGE_SUBSCRIPTION, small_buffer=True)
    )
    running = Scene(environment, ledger, meters, normal, slow_displays)
    try:
        await running.start()
        yield running
    finally:
        await running.close()


def _watched_resources(resource_ids: Sequence[str], number: int) -> list[str]:
    """Return one or two resources of a display. Some displays share all their resources, others only one."""
    first, second = number % len(resource_ids), (number // 2 + 1) % len(resource_ids)
    return list(dict.fromkeys([resource_ids[first], *([resource_ids[second]] if number % 3 == 0 else [])]))


@asynccontextmanager
async def running_environment(folder: Path) -> AsyncIterator[Environment]:
    """Run an environment in a folder."""
    async with AsyncExitStack() as stack:
        (folder / "redis").mkdir()
        postgresql = await stack.enter_async_context(postgresql_server())
        redis = await stack.enter_async_context(redis_server(folder / "redis"))
        gateway = build_gateway(Settings(_env_file=None, database_url=postgresql.url))
        stack.push_async_callback(gateway.database.close)
        await bring_up(gateway.database)
        settings = {"DATABASE_URL": postgresql.url, "REDIS_URL": redis.url, "LOG_LEVEL": "info"}
        settings["CALLER_BUDGET"] = str(CALLER_BUDGET)  # all meters of the environment have one login
        first, second = (GatewayProcess(name, folder, settings) for name in ("one", "other"))
        for process in (first, second):
            stack.push_async_callback(process.kill)
        environment = Environment((first, second), redis, postgresql, await settle(gateway, "street"))
        await environment.start_all()
        yield environment
