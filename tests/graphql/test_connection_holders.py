"""Callers that wait hold no connection: hashes and renderings of one caller leave the database to all others."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.support import people
from tests.support.house import PASSWORD, Tenant
from tests.support.shares import WAIT_SECONDS, all_taken, until_waiting
from wattgate.clock import utc_now
from wattgate.db.identity import passwords
from wattgate.db.identity.passwords import HashPool
from wattgate.db.models import Account
from wattgate.db.rows.rows import Rows
from wattgate.db.scope.row_scope import RowScope
from wattgate.errors import BadInput, RateLimited, Unauthenticated
from wattgate.graphql.execution.pipeline import GraphQLPipeline, PipelineResult
from wattgate.operations.accounts import accounts, registration
from wattgate.operations.core.anonymous_turns import AnonymousTurns
from wattgate.operations.credentials import tokens
from wattgate.operations.templates import template_previews
from wattgate.operations.types.messages.template_previews import TemplateToPreview
from wattgate.principal import Principal, Role
from wattgate.realtime.operation_request import OperationRequest

pytestmark = pytest.mark.both_databases("locks and connections differ between databases")

CALLERS = 24
"""More callers than the pool has connections, and fewer than may wait for a hash."""

Ask = Callable[[Tenant, Principal, int], Awaitable[Any]]


@pytest.fixture
async def caller(settled: Tenant) -> Principal:
    """The principal of a new account."""
    who = await people.active(settled)
    return Principal(
        Role.ACCOUNT, application_id=settled.application_id, user_id=who["userId"], account_id=who["accountId"]
    )


@pytest.fixture
def hashes(settled: Tenant, monkeypatch: pytest.MonkeyPatch) -> HashPool:
    """A pool in which all callers of a test may wait as long as the test wants, as those without credentials may."""
    pool = HashPool(max_waiting=2 * CALLERS, max_wait_seconds=WAIT_SECONDS)
    monkeypatch.setattr(passwords, "HASH_POOL", pool)
    turns = AnonymousTurns(settled.gateway.database.pool_size, max_wait_seconds=WAIT_SECONDS)
    monkeypatch.setattr(settled.gateway.runner, "_anonymous_turns", turns)
    return pool


def connections_in_use(tenant: Tenant) -> int:
    pool: Any = tenant.gateway.database.engine.pool
    return int(pool.checkedout())


async def change_something(tenant: Tenant, caller: Principal) -> None:
    """Change a record and read it, which on SQLite needs the lock of all writers."""
    async with asyncio.timeout(WAIT_SECONDS):
        await tenant.gateway.runner.run(accounts.change_name, caller, {"name": "Ada"})
        changed = await tenant.gateway.runner.run(accounts.account, caller, {"account_id": caller.account_id})
    assert changed.name == "Ada"


def log_in(tenant: Tenant, caller: Principal, number: int) -> Awaitable[Any]:
    return people.anonymously(tenant, tokens.authenticate, username=f"nobody-{number}", password=PASSWORD)


def register(tenant: Tenant, caller: Principal, number: int) -> Awaitable[Any]:
    address = f"new-{number}@example.org"
    return people.anonymously(
        tenant, registration.register, name="Ada", username=address, email=address, password=PASSWORD
    )


def reset_password(tenant: Tenant, caller: Principal, number: int) -> Awaitable[Any]:
    return people.anonymously(
        tenant, registration.reset_password, username=f"nobody-{number}", token="wrong", new_password=PASSWORD
    )


def change_password(tenant: Tenant, caller: Principal, number: int) -> Awaitable[Any]:
    arguments = {"old_password": f"wrong {number}", "new_password": PASSWORD}
    return tenant.gateway.runner.run(accounts.change_password, caller, arguments)


@pytest.mark.every_case("each operation asks for its hash at another place")
@pytest.mark.parametrize("ask", [log_in, register, reset_password, change_password], ids=lambda ask: ask.__name__)
@pytest.mark.alternate_databases("the cases have the same statements")
async def test_callers_that_wait_for_a_hash_hold_no_connection(
    settled: Tenant, caller: Principal, hashes: HashPool, ask: Ask
) -> None:
    async with all_taken(hashes._threads.slots):
        asking = [asyncio.ensure_future(ask(settled, caller, number)) for number in range(CALLERS)]
        await until_waiting(hashes._threads.slots, CALLERS)
        assert connections_in_use(settled) == 0
        await change_something(settled, caller)
    outcomes = await asyncio.gather(*asking, return_exceptions=True)
    refusals = [outcome for outcome in outcomes if isinstance(outcome, Unauthenticated | BadInput)]
    assert len(refusals) == (0 if ask is register else CALLERS)
    assert connections_in_use(settled) == 0
    if ask is change_password:  # the outcome of each attempt counts, although others failed before it went on
        with pytest.raises(RateLimited) as refused:
            await ask(settled, caller, CALLERS)
        assert (refused.value.retry_after or 0) > 60  # it would be 2 s after five


async def test_password_that_changes_during_its_check_is_checked_again(
    settled: Tenant, caller: Principal, hashes: HashPool
) -> None:
    """Two log-ins wait for the hash while the password is replaced: only the new password gets a token."""
    runner, new_password = settled.gateway.runner, "battery staple"
    who = await runner.run(accounts.account, caller, {"account_id": caller.account_id})

    def log_in_with(password: str) -> Awaitable[Any]:
        return people.anonymously(settled, tokens.authenticate, username=who.username, password=password)

    new_hash = await passwords.hash_password(new_password)
    async with all_taken(hashes._threads.slots):
        asking = [asyncio.ensure_future(log_in_with(password)) for password in (PASSWORD, new_password)]
        await until_waiting(hashes._threads.slots, len(asking))
        async with settled.gateway.database.session(RowScope(settled.application_id)) as session:
            rows = Rows(session, settled.application_id, now=utc_now())
            (await rows.edit(Account, who.account_id)).password_hash = new_hash
            await session.commit()
    outcomes = await asyncio.gather(*asking, return_exceptions=True)
    assert [isinstance(outcome, Unauthenticated) for outcome in outcomes] == [True, False]


async def test_executions_by_graphql_core_of_one_application_leave_some_to_others(settled: Tenant) -> None:
    """The first use of a document is not compiled, and holds a slot while it waits for the connections of its owner."""
    pipeline = GraphQLPipeline(settled.gateway.schema, settled.gateway.runner)

    def ask(caller: Principal, field: str) -> "asyncio.Task[PipelineResult]":
        request = OperationRequest(query=f"{{ resourceCounts {{ {field} }} }}")
        return asyncio.create_task(pipeline.execute(caller, request, pipeline.document_for(request)))

    slots = pipeline.engine._fallbacks
    taken = 0
    while slots.try_take(settled.application_id):
        taken += 1
    waiting = ask(settled.account, "count")
    await until_waiting(slots, 1)
    other = replace(settled.account, application_id="other")
    async with asyncio.timeout(WAIT_SECONDS):
        assert (await ask(other, "resourceTypeId")).data == {"resourceCounts": []}
    assert not waiting.done()
    for _ in range(taken):
        slots.give_back(settled.application_id)
    assert not (await waiting).errors


async def test_previews_that_wait_for_a_thread_hold_no_connection(settled: Tenant, caller: Principal) -> None:
    threads = settled.gateway.runner.templates._threads
    async with all_taken(threads):
        asking = [
            asyncio.ensure_future(
                settled.gateway.runner.run(
                    template_previews.preview_template,
                    settled.system,
                    {"input": TemplateToPreview(html=f"<p>{number}</p>")},
                )
            )
            for number in range(CALLERS)
        ]
        await until_waiting(threads, CALLERS)
        assert connections_in_use(settled) == 0
        await change_something(settled, caller)
    previews = await asyncio.gather(*asking)
    assert [f"<p>{number}</p>" in preview.html for number, preview in enumerate(previews)] == [True] * CALLERS
