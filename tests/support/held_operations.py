"""Operations that a test holds at a wait, while another one runs."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from sqlalchemy import text

from tests.support.house import Tenant
from wattgate.db.identity.passwords import HashPool
from wattgate.operations.core.operation import Operation

T = TypeVar("T")


def held(operation: Operation, reached: asyncio.Event, may_end: asyncio.Event) -> Operation:
    """Return the operation, held in its transaction after its resolver."""

    async def resolver(call: Any, **arguments: Any) -> Any:
        result = await operation.resolver(call, **arguments)
        reached.set()
        await may_end.wait()
        return result

    return replace(operation, resolver=resolver)


async def until_waiting(tenant: Tenant, task: "asyncio.Task[Any]") -> None:
    """Wait until a transaction of a task waits for a lock. On SQLite, it waits before it begins."""
    database = tenant.gateway.database
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    async with asyncio.timeout(60), database.engine.connect() as connection:
        while not (database.is_sqlite or task.done()) and not (await connection.execute(text(waiting))).scalar_one():
            await connection.execute(text("SELECT pg_stat_clear_snapshot()"))
            await asyncio.sleep(0.01)


class HeldPool(HashPool):
    """A pool that holds the first password before it is hashed."""

    def __init__(self) -> None:
        super().__init__(threads=1)
        self.reached, self.may_end = asyncio.Event(), asyncio.Event()

    async def run(self, work: Callable[[], T], owner: str = "") -> T:
        if not self.reached.is_set():
            self.reached.set()
            await self.may_end.wait()
        return await super().run(work)
