"""Callers without credentials use the database a few at a time, and their addresses in turn."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from tests.support.house import Tenant, operation
from wattgate.app.server.gate.client_addresses import address_groups
from wattgate.errors import Unavailable
from wattgate.operations.core.anonymous_turns import ANONYMOUS_PART, AnonymousTurns
from wattgate.operations.core.operation import Call, OperationKind
from wattgate.principal import Principal, Role
from wattgate.requests.client import Client

ANONYMOUS = Principal(Role.ANONYMOUS)
FLOOD = 20
BOUND_SECONDS = 60


class Held:
    """An operation without credentials whose sessions end when the test says so.

    It only reads, because SQLite would let only one session write at a time.
    """

    def __init__(self, name: str, slots: int) -> None:
        self.running = self.most = 0
        self.is_full, self.may_end = asyncio.Event(), asyncio.Event()
        self.operation = replace(operation(name), kind=OperationKind.QUERY, resolver=self._resolve, prepare=None)
        self._slots = slots

    async def _resolve(self, call: Call, **arguments: Any) -> None:
        self.running += 1
        self.most = max(self.most, self.running)
        if self.running == self._slots:
            self.is_full.set()
        await self.may_end.wait()
        self.running -= 1


@pytest.mark.parametrize("name", ["authenticate", "start_display_pairing", "grant_oauth_tokens"])
async def test_flood_without_credentials_leaves_the_connections_to_others(settled: Tenant, name: str) -> None:
    runner, slots = settled.gateway.runner, settled.gateway.database.pool_size // ANONYMOUS_PART
    held = Held(name, slots)
    arguments = {"client_id": "c", "grant_type": "g"} if name == "grant_oauth_tokens" else {}
    flood = [asyncio.create_task(runner.run(held.operation, ANONYMOUS, arguments)) for _ in range(FLOOD)]
    async with asyncio.timeout(BOUND_SECONDS):
        await held.is_full.wait()
        for _ in range(5):
            assert await runner.run(operation("resources"), settled.account, {}) is not None
        held.may_end.set()
        await asyncio.gather(*flood)
    assert held.most == slots


@pytest.mark.parametrize("flood", [["192.0.2.1"] * 4, [f"2001:db8:1:{number}::1" for number in range(4)]])
async def test_addresses_without_credentials_take_turns(flood: list[str]) -> None:
    """So do IPv6 sites, each of which can have 65,536 addresses."""
    turns, order, may_end = AnonymousTurns(ANONYMOUS_PART), list[str](), asyncio.Event()

    async def use(host: str) -> None:
        async with turns.turn(ANONYMOUS, Client(host, *address_groups(host))):
            order.append(host)
            await may_end.wait()

    others = ["192.0.2.2", "2001:db8:2:1::1"]
    users = [asyncio.create_task(use(host)) for host in (*flood, *others)]
    await asyncio.sleep(0)
    known = Principal(Role.ACCOUNT, application_id="x", user_id="u", account_id="a")
    async with turns.turn(known, Client(address="a")):
        assert order == flood[:1], "a known caller does not wait"
    may_end.set()
    await asyncio.gather(*users)
    assert order == [*flood[:2], *others, *flood[2:]]


async def test_waits_without_credentials_are_bounded_in_number_and_time() -> None:
    for bounds, refused_count in (({"max_waiting": 3}, 2), ({"max_wait_seconds": 0.01}, 5)):
        turns, may_end = AnonymousTurns(ANONYMOUS_PART, **bounds), asyncio.Event()

        async def use(turns: AnonymousTurns = turns, may_end: asyncio.Event = may_end) -> None:
            async with turns.turn(ANONYMOUS, Client()):
                await may_end.wait()

        users = [asyncio.create_task(use()) for _ in range(6)]
        async with asyncio.timeout(BOUND_SECONDS):
            while sum(user.done() for user in users) < refused_count:
                await asyncio.wait([user for user in users if not user.done()], return_when=asyncio.FIRST_COMPLETED)
        may_end.set()
        results = await asyncio.gather(*users, return_exceptions=True)
        refused = [result for result in results if isinstance(result, Unavailable)]
        assert len(refused) == refused_count
        assert all(error.retry_after for error in refused)
        await use()
