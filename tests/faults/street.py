"""Two gateways on one database and one Redis, every one a process that may fail; and what happens there."""

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

from tests.faults.displays import MANY, Display
from tests.faults.gateways import GatewayProcess
from tests.faults.history import Findings, Ledger, check_history, check_stored, count_lost
from tests.faults.meters import SLACK_SECONDS, Meters
from tests.faults.scale import Scale, scale
from tests.support.house import CALLER_BUDGET, Tenant, settle
from tests.support.postgresql_server import PostgresqlServer, postgresql_server
from tests.support.redis_server import RedisServer, redis_server
from tests.support.schema import bring_up
from tests.support.tables import check_rollups
from wattgate.app.server.factory import assemble
from wattgate.app.settings import Settings
from wattgate.clock import from_ms
from wattgate.graphql.resolvers import tokens as identity
from wattgate.principal import Principal, Role

Tell = Callable[[str, Mapping[str, int]], None]

MAX_TOLD = 12
"""How many wrong things are told of a scene."""

PER_ACCOUNT = 10
"""How many displays an account has; a gateway takes 20 connections of each."""

POWER = 1
"""The number of the field that meters send."""

STORED = text(
    "SELECT resource_id, at, value FROM reading JOIN resource ON resource.number = resource_number "
    "WHERE field = :field AND resource_id IN :ids"
).bindparams(bindparam("ids", expanding=True))


@dataclass
class Street:
    """Where everything runs, with a tenant whose resources are metered and watched."""

    gateways: tuple[GatewayProcess, GatewayProcess]
    redis: RedisServer
    postgresql: PostgresqlServer
    tenant: Tenant
    scale: Scale = field(default_factory=scale)
    tell: Tell = field(default=lambda title, row: None)
    """Takes the title of a scene and its counts."""

    _accounts: "itertools.count[int]" = field(default_factory=itertools.count)

    @property
    def ports(self) -> list[int]:
        return [gateway.port for gateway in self.gateways]

    async def mend(self) -> None:
        """Start what does not run."""
        await asyncio.gather(self.postgresql.start(), self.redis.start())
        await asyncio.gather(*(gateway.start() for gateway in self.gateways))

    async def tokens(self, count: int) -> list[str]:
        """So many tokens, each of an account of its own."""
        return [await self._token() for _ in range(count)]

    async def _token(self) -> str:
        account_id = await self.tenant.add_account(f"display-{next(self._accounts)}@example.com")
        account = Principal(
            Role.ACCOUNT,
            application_id=self.tenant.application_id,
            user_id=self.tenant.user_id,
            account_id=account_id,
        )
        return str((await self.tenant.gateway.runner.run(identity.new_token, account, {})).token)

    async def stored(self, resource_ids: Iterable[str]) -> dict[str, list[tuple[datetime, int]]]:
        """The rows (instant, value) of each resource, once hours and days have been found to agree with them."""
        found = defaultdict[str, list[tuple[datetime, int]]](list)
        ids = list(resource_ids)
        async with self.tenant.gateway.database.engine.connect() as connection:
            for resource_id, at, value in await connection.execute(STORED, {"field": POWER, "ids": ids}):
                found[resource_id].append((from_ms(at), value))
            await connection.run_sync(check_rollups, ids)
        return found


class Scene:
    """Meters that send and displays that watch, while something breaks."""

    def __init__(
        self, street: Street, ledger: Ledger, meters: Meters, displays: Sequence[Display], slow: Collection[Display]
    ) -> None:
        self.ledger = ledger
        self.meters = meters
        self.displays = [*displays, *slow]
        self.slow = slow
        self._street = street
        self._changed = asyncio.Event()
        self._watching: list[asyncio.Task[None]] = []

    async def begin(self) -> None:
        """Let the displays watch, and then the meters send."""
        for one in self.displays:
            one.moved = self._changed.set
            self._watching.append(asyncio.create_task(one.run()))
        await self.all_live()
        self.meters.start()

    async def until(self, reached: Callable[[], bool], what: str) -> None:
        """Wait until what the displays show has come so far."""
        try:
            async with asyncio.timeout(SLACK_SECONDS):
                while not reached():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"not within {SLACK_SECONDS} seconds: {what}") from None

    async def all_live(self) -> None:
        """Wait until every display watches that has not ended for good."""
        await self.until(lambda: all(one.live or one.away for one in self.displays), "all displays are live")

    async def all_show(self, but: Collection[Display] = ()) -> None:
        """Wait until every display, but these and those that have ended, shows what is acknowledged now."""
        newest = {one: self.ledger.newest(one) for one in self.ledger.resource_ids}
        waiting = [one for one in self.displays if one not in but]
        await self.until(lambda: not any(map(partial(_behind, newest), waiting)), "all displays are up to date")

    async def end(self, title: str) -> Findings:
        """Let the meters end and the displays catch up; what was found. What must not be fails the test."""
        await self.meters.finish()
        with contextlib.suppress(AssertionError):  # who is behind is told more exactly by its history
            await self.all_show()
        await self.close()
        stored = await self._street.stored(self.ledger.resource_ids)
        found = Findings()
        for one in self.displays:
            watched = () if one.away else one.resource_ids
            found += check_history(one.name, one.history, watched, self.ledger, conflates=one in self.slow)
        wrong = [*self.meters.wrong, *check_stored(stored, self.ledger), *found.wrong]
        self._street.tell(title, self._row(count_lost(stored, self.ledger), found))
        assert not wrong, f"{len(wrong)} things are wrong: " + "; ".join(wrong[:MAX_TOLD])
        return found

    async def close(self) -> None:
        """End everything at once."""
        await self.meters.cancel()
        for one in self.displays:
            one.close()
        await asyncio.gather(*self._watching)

    def _row(self, lost: int, found: Findings) -> dict[str, int]:
        """What is told in the table."""
        return {
            "acknowledged": self.ledger.count,
            "sent again": self.ledger.retried,
            "displays": len(self.displays),
            "delivered": found.shown,
            "reconnects": found.connections - len(self.displays),
            "recovered true": found.recovered,
            "recovered false": found.told_of_loss,
            "not shown, as told": found.lost_as_told,
            "told late": found.told_late,
            "conflated": found.conflated,
            "lost": lost,
            "gaps": found.gaps,
            "duplicates": found.duplicates,
            "out of order": found.disorders,
        }


def _behind(newest: Mapping[str, int], display: Display) -> bool:
    return not display.away and any(shown < newest[one] for one, shown in display.newest.items())


@asynccontextmanager
async def scene(
    street: Street,
    *,
    resources: int | None = None,
    displays: int | None = None,
    slow: int = 0,
    ports: Sequence[int] = (),
) -> AsyncIterator[Scene]:
    """Resources of their own with meters that send, watched at both gateways (or at the ports of ways to them).

    Of the displays, some are `slow`: they watch everything with large messages, and may stop to read.
    """
    scale = street.scale
    resource_ids = [await street.tenant.add_resource() for _ in range(resources or scale.resources)]
    ledger = Ledger(resource_ids)
    urls = [gateway.url for gateway in street.gateways]
    meters = Meters(urls, street.tenant.headers["account"], ledger, meters=scale.meters, pace=scale.pace)
    count = scale.displays if displays is None else displays
    tokens = iter(await street.tokens(-(-count // PER_ACCOUNT) + -(-slow // PER_ACCOUNT)))
    ways = ports or street.ports

    def some(name: str, count: int, watched: Callable[[int], Sequence[str]], **more: Any) -> Iterator[Display]:
        token = ""
        for number in range(count):
            token = token if number % PER_ACCOUNT else next(tokens)
            yield Display(
                f"{name} {number}", ways, {"token": token}, watched(number), gateway=number % len(ways), **more
            )

    fast = list(some("display", count, partial(_watched, resource_ids)))
    lazy = list(some("slow display", slow, lambda number: resource_ids, document=MANY, narrow=True))
    made = Scene(street, ledger, meters, fast, lazy)
    try:
        await made.begin()
        yield made
    finally:
        await made.close()


def _watched(resource_ids: Sequence[str], number: int) -> list[str]:
    """What a display watches: one resource or two, so that some displays share all that they watch, and some a part."""
    one, other = number % len(resource_ids), (number // 2 + 1) % len(resource_ids)
    return list(dict.fromkeys([resource_ids[one], *([resource_ids[other]] if number % 3 == 0 else [])]))


@asynccontextmanager
async def running_street(folder: Path) -> AsyncIterator[Street]:
    """A street in a folder, all of which runs."""
    async with AsyncExitStack() as stack:
        (folder / "redis").mkdir()
        postgresql = await stack.enter_async_context(postgresql_server())
        redis = await stack.enter_async_context(redis_server(folder / "redis"))
        gateway = assemble(Settings(_env_file=None, database_url=postgresql.url))
        stack.push_async_callback(gateway.database.close)
        await bring_up(gateway.database)
        settings = {"DATABASE_URL": postgresql.url, "REDIS_URL": redis.url, "LOG_LEVEL": "info"}
        settings["CALLER_BUDGET"] = str(CALLER_BUDGET)  # all meters of the street have one log-in
        one, other = (GatewayProcess(name, folder, settings) for name in ("one", "other"))
        for process in (one, other):
            stack.push_async_callback(process.kill)
        street = Street((one, other), redis, postgresql, await settle(gateway, "street"))
        await street.mend()
        yield street
