"""Operations that wait while their credential ends: nothing that they make lives, in whichever order they run."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from sqlalchemy import select, text
from sqlmodel import SQLModel, col

from tests.support import people
from tests.support.endings import (
    BY_ACCOUNT,
    ENDINGS,
    Act,
    Caller,
    change_password,
    close_account,
    erase_user,
    name_of,
)
from tests.support.examples import EXAMPLES
from tests.support.house import PASSWORD, Tenant, tenant_on
from tests.support.interfaces import document
from tests.support.scopes import EVERYTHING
from tests.support.short_form import sample
from tests.support.tables import columns_of_requests
from wattgate.db.identity import passwords
from wattgate.db.identity.passwords import HashPool
from wattgate.db.models import Token
from wattgate.db.tenancy_guard import SCOPED_OPTION
from wattgate.errors import BadInput, GatewayError, Unauthenticated
from wattgate.graphql.catalogue import OPERATIONS
from wattgate.graphql.core.operation import Operation, OperationKind, Preparation
from wattgate.graphql.resolvers import accounts, oauth, tokens
from wattgate.principal import Principal
from wattgate.realtime.operation_request import OperationRequest

pytestmark = pytest.mark.both_databases("locks differ between databases")

T = TypeVar("T")

REFUSED = ("UNAUTHENTICATED", "FORBIDDEN")

MUTATIONS = [operation for operation in OPERATIONS if operation.kind is OperationKind.MUTATION]


@pytest.fixture(scope="module")
async def tenant(databases: Any) -> AsyncIterator[Tenant]:
    """A tenant of its own, because the acts change the secret of the application."""
    async with databases() as url, tenant_on(url) as opened:
        yield opened


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


async def tokens_of(caller: Caller) -> list[str]:
    async with caller.tenant.gateway.database.reader(EVERYTHING) as session:
        statement = select(col(Token.token_id)).where(col(Token.account_id) == caller.account_id)
        return list((await session.execute(statement, execution_options=SCOPED_OPTION)).scalars())


@pytest.mark.parametrize("act", BY_ACCOUNT, ids=lambda act: act.__name__)
async def test_act_ends_what_an_operation_makes_that_began_before_it(tenant: Tenant, act: Act) -> None:
    caller, reached, may_end = await Caller.add(tenant), asyncio.Event(), asyncio.Event()
    principal = await caller.by_token()
    issuing = asyncio.create_task(caller.run(principal, held(tokens.new_token, reached, may_end)))
    await reached.wait()
    ending = asyncio.create_task(act(caller, principal))
    await until_waiting(tenant, ending)
    may_end.set()
    issued = await issuing
    await ending
    with pytest.raises(Unauthenticated):
        await caller.authenticate({"token": issued.token})


async def test_operation_that_begins_during_the_act_waits_for_it_and_is_refused(tenant: Tenant) -> None:
    caller, reached, may_end = await Caller.add(tenant), asyncio.Event(), asyncio.Event()
    principal, other = await caller.by_token(), await caller.by_token()
    passwords = {"old_password": PASSWORD, "new_password": "battery staple"}
    ending = asyncio.create_task(caller.run(other, held(accounts.change_password, reached, may_end), **passwords))
    await reached.wait()
    issuing = asyncio.create_task(caller.run(principal, tokens.new_token))
    await until_waiting(tenant, issuing)
    may_end.set()
    await ending
    with pytest.raises(Unauthenticated):
        await issuing
    assert await tokens_of(caller) == [other.token_id]


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


async def log_in(caller: Caller, password: str = PASSWORD) -> Any:
    return await people.anonymously(caller.tenant, tokens.authenticate, username=caller.username, password=password)


@pytest.mark.parametrize("act", BY_ACCOUNT, ids=lambda act: act.__name__)
async def test_log_in_that_waits_for_the_hash_of_its_password_gives_no_token_that_lives(
    tenant: Tenant, act: Act, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller, pool = await Caller.add(tenant), HeldPool()
    principal = await caller.by_token()
    monkeypatch.setattr(passwords, "HASH_POOL", pool)
    logging_in = asyncio.create_task(log_in(caller))
    await pool.reached.wait()
    ending = asyncio.create_task(act(caller, principal))
    await until_waiting(tenant, ending)
    pool.may_end.set()
    await ending
    with pytest.raises(Unauthenticated):  # if the log-in was first, the act ends its token
        await caller.authenticate({"token": (await logging_in).token})


@pytest.mark.parametrize("act", [close_account, erase_user], ids=lambda act: act.__name__)
async def test_act_ends_the_password_of_a_change_that_waited_for_its_hash(
    tenant: Tenant, act: Act, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller, pool = await Caller.add(tenant), HeldPool()
    principal, credential = await caller.by_token(), dict(caller.sent)
    monkeypatch.setattr(passwords, "HASH_POOL", pool)
    change = {"old_password": PASSWORD, "new_password": "horse staple"}
    changing = asyncio.create_task(caller.run(principal, accounts.change_password, **change))
    await pool.reached.wait()
    await act(caller, principal)  # it need not wait, because the change holds no transaction meanwhile
    pool.may_end.set()
    with pytest.raises(Unauthenticated):
        await changing
    with pytest.raises(Unauthenticated):
        await caller.authenticate(credential)
    with pytest.raises(Unauthenticated):
        await log_in(caller, "horse staple")


@pytest.mark.parametrize("act", BY_ACCOUNT, ids=lambda act: act.__name__)
async def test_operation_that_waits_in_its_preparation_is_refused(tenant: Tenant, act: Act) -> None:
    """Only log-ins have a preparation today. It may wait for a provider, and holds no lock."""
    caller, reached, may_end = await Caller.add(tenant), asyncio.Event(), asyncio.Event()
    principal = await caller.by_token()

    async def prepare(preparation: Preparation, **arguments: Any) -> None:
        reached.set()
        await may_end.wait()

    issuing = asyncio.create_task(caller.run(principal, replace(tokens.new_token, prepare=prepare)))
    await reached.wait()
    await act(caller, principal)
    may_end.set()
    with pytest.raises(Unauthenticated):
        await issuing


async def refresh(caller: Caller, granted: dict[str, Any], operation: Operation = oauth.grant_oauth_tokens) -> Any:
    return await people.anonymously(
        caller.tenant,
        operation,
        client_id=granted["clientId"],
        client_secret=granted["clientSecret"],
        grant_type="refresh_token",
        refresh_token=granted["refresh_token"],
    )


async def test_refresh_that_begins_during_the_act_gets_no_tokens(tenant: Tenant) -> None:
    caller, reached, may_end = await Caller.add(tenant), asyncio.Event(), asyncio.Event()
    granted, principal = await caller.granted(), await caller.by_token()
    passwords = {"old_password": PASSWORD, "new_password": "battery staple"}
    ending = asyncio.create_task(caller.run(principal, held(accounts.change_password, reached, may_end), **passwords))
    await reached.wait()
    refreshing = asyncio.create_task(refresh(caller, granted))
    await until_waiting(tenant, refreshing)
    may_end.set()
    await ending
    with pytest.raises(BadInput) as refused:
        await refreshing
    assert refused.value.reason == "invalid_grant"


async def test_act_ends_the_tokens_of_a_refresh_that_began_before_it(tenant: Tenant) -> None:
    for act in (change_password, erase_user):
        caller, reached, may_end = await Caller.add(tenant), asyncio.Event(), asyncio.Event()
        granted, principal = await caller.granted(), await caller.by_token()
        held_refresh = held(oauth.grant_oauth_tokens, reached, may_end)
        refreshing = asyncio.create_task(refresh(caller, granted, held_refresh))
        await reached.wait()
        ending = asyncio.create_task(act(caller, principal))
        await until_waiting(tenant, ending)
        may_end.set()
        renewed = await refreshing
        await ending
        with pytest.raises(Unauthenticated):
            await caller.authenticate({"token": renewed.access_token})
        with pytest.raises(BadInput):
            await refresh(caller, {**granted, "refresh_token": renewed.refresh_token})


async def test_two_changes_of_the_same_account_at_once_both_succeed(tenant: Tenant) -> None:
    """Neither may hold a lock that the other one needs."""
    caller = await Caller.add(tenant)
    principal = await caller.by_token()
    for _ in range(5):
        names = (caller.run(principal, accounts.change_name, name=name) for name in ("Ada", "Grace", "Joan"))
        assert [done.valid for done in await asyncio.gather(*names)] == [True] * 3


async def test_no_operation_runs_after_the_end_of_its_credential(tenant: Tenant, subtests: pytest.Subtests) -> None:
    """Each mutation waits between its head and its transaction while each act ends its credential."""
    requests = [await request_of(tenant, operation) for operation in MUTATIONS]
    for authenticate, act in sample(ENDINGS, name_of):
        caller = await Caller.add(tenant)
        principal = await authenticate(caller)
        await act(caller, principal)
        with subtests.test(name_of((authenticate, act))):
            before = await stored(tenant)
            codes = {operation.name: await code_of(tenant, principal, request) for operation, request in requests}
            assert {name: code for name, code in codes.items() if code not in REFUSED} == {}
            assert "UNAUTHENTICATED" in codes.values()
            assert await stored(tenant) == before


async def request_of(tenant: Tenant, operation: Operation) -> tuple[Operation, OperationRequest]:
    variables = await EXAMPLES[operation.name](tenant)
    return operation, OperationRequest(query=document(operation, variables), variables=variables)


async def code_of(tenant: Tenant, principal: Principal, request: OperationRequest) -> str | None:
    """Return the code of the error of a request whose caller was authenticated earlier, or None."""
    pipeline = tenant.gateway.pipeline
    try:
        request, resolved = await pipeline.resolve_document(principal, request)
        reply = await pipeline.execute(principal, request, resolved)
    except GatewayError as error:
        return error.code
    answer = json.loads(await reply.encode_with_cost())
    return answer["errors"][0]["extensions"]["code"] if "errors" in answer else None


async def stored(tenant: Tenant) -> dict[str, list[str]]:
    """Return all rows of the database. A row as a tuple has whole values, and takes a third of the time."""
    rows = {}
    async with tenant.gateway.database.engine.connect() as connection:
        for table in SQLModel.metadata.sorted_tables:
            statement = select(*columns_of_requests(table))
            rows[table.name] = sorted(repr(tuple(row)) for row in await connection.execute(statement))
    return rows
