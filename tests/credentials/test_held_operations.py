"""Operations that wait while their credential ends: nothing that they make lives, in whichever order they run."""

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest
from sqlalchemy import select
from sqlmodel import SQLModel
from strawberry import ID

from tests.support import people
from tests.support.chance import fuzzing
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
from tests.support.held_operations import HeldPool, held, until_waiting
from tests.support.house import PASSWORD, Tenant, tenant_on
from tests.support.interfaces import document, to_graphql_variables
from tests.support.scopes import EVERYTHING
from tests.support.short_form import sample
from tests.support.tables import columns_of_requests
from wattgate.db.identity import passwords
from wattgate.db.models import EmailChange, LoginSource
from wattgate.db.models.tenancy import Tenanted
from wattgate.db.rows.lookups import model_columns
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION
from wattgate.errors import BadInput, Forbidden, GatewayError, Unauthenticated
from wattgate.operations.accounts import accounts, oauth
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.core.operation import Operation, OperationKind, Preparation
from wattgate.operations.core.row_reader import check_permission
from wattgate.operations.credentials import tokens
from wattgate.operations.credentials.credential_endings import STORED_CAPABILITIES
from wattgate.operations.homes import paired_displays
from wattgate.principal import OWN_CREDENTIAL_PERMISSIONS, Permission, Principal
from wattgate.realtime.operation_request import OperationRequest

pytestmark = pytest.mark.both_databases("locks differ between databases")

REFUSED = ("UNAUTHENTICATED", "FORBIDDEN")

MUTATIONS = [operation for operation in OPERATIONS if operation.kind is OperationKind.MUTATION]

TURNS = 1 if fuzzing() else 3
"""One mutation of so many runs after an ending, and the others after the endings that follow it."""


@pytest.fixture(scope="module")
async def tenant(databases: Any) -> AsyncIterator[Tenant]:
    """A tenant of its own, because the acts change the secret of the application."""
    async with databases() as url, tenant_on(url) as opened:
        yield opened


@dataclass(frozen=True)
class Making:
    """An operation that makes a capability, with its arguments for a caller, and how it is refused."""

    operation: Operation
    arguments_of: Callable[[Caller], Coroutine[Any, Any, dict[str, Any]]]
    is_anonymous: bool = False
    reason: str | None = None

    async def prepare(self, caller: Caller, principal: Principal) -> Callable[[Operation], Coroutine[Any, Any, Any]]:
        """Return a function that runs the operation, or a held one, for the caller."""
        arguments = await self.arguments_of(caller)
        if self.is_anonymous:
            return partial(people.anonymously, caller.tenant, **arguments)
        return partial(caller.run, principal, **arguments)


async def no_arguments(caller: Caller) -> dict[str, Any]:
    return {}


async def push_token(caller: Caller) -> dict[str, Any]:
    return {"account_id": ID(caller.account_id), "new_token": "fcm:phone"}


async def approval(caller: Caller) -> dict[str, Any]:
    started = await people.started_pairing(caller.tenant)
    return {"user_code": started.user_code, "ve_id": ID(await caller.add_home())}


async def new_address(caller: Caller) -> dict[str, Any]:
    return {"email": f"new-{caller.username}"}


async def authorisation(caller: Caller) -> dict[str, Any]:
    client = await people.oauth_client(caller.tenant)
    return {
        "username": caller.username,
        "password": caller.password,
        "client_id": client["clientId"],
        "redirect_uri": people.REDIRECT,
        "code_challenge": people.CHALLENGE,
    }


async def code_of_oauth(caller: Caller) -> dict[str, Any]:
    return await caller.authorised()


async def refresh_token(caller: Caller) -> dict[str, Any]:
    granted = await caller.granted()
    return {
        "client_id": granted["clientId"],
        "client_secret": granted["clientSecret"],
        "grant_type": "refresh_token",
        "refresh_token": granted["refresh_token"],
    }


MAKINGS = {
    "token": Making(tokens.new_token, no_arguments),
    "push token": Making(accounts.add_mobile_app_token, push_token),
    "approval of a display": Making(paired_displays.approve_display_pairing, approval),
    "e-mail address": Making(accounts.change_email, new_address),
    "OAuth code": Making(oauth.authorise, authorisation, is_anonymous=True),
    "tokens for an OAuth code": Making(oauth.grant_oauth_tokens, code_of_oauth, True, "invalid_grant"),
    "tokens for a refresh token": Making(oauth.grant_oauth_tokens, refresh_token, True, "invalid_grant"),
}

each_making = pytest.mark.parametrize("making", MAKINGS.values(), ids=MAKINGS)


async def capabilities_of(caller: Caller) -> list[str]:
    """Return the table of each stored capability of a caller's account. Known sources of log-ins are none."""
    models: list[type[Tenanted]] = [EmailChange]
    models += [stored.model for stored in STORED_CAPABILITIES if stored.model is not LoginSource]
    found = []
    async with caller.tenant.gateway.database.reader(EVERYTHING) as session:
        for model in models:
            columns = model_columns(model)
            is_open = [columns["active"].is_(True)] if model is EmailChange else []
            statement = select(columns["account_id"]).where(columns["account_id"] == caller.account_id, *is_open)
            rows = await session.execute(statement, execution_options=SCOPED_OPTION)
            found += [model.__name__ for _ in rows]
    return found


@pytest.mark.parametrize(
    ("act", "making"),
    [
        pytest.param(act, making, id=f"{act.__name__}-{name}")
        for name, making in MAKINGS.items()
        for act in (BY_ACCOUNT if name == "token" else (change_password, erase_user))
    ],
)
async def test_act_ends_what_an_operation_makes_that_began_before_it(tenant: Tenant, act: Act, making: Making) -> None:
    caller, reached, may_end = await Caller.add(tenant), asyncio.Event(), asyncio.Event()
    principal = await caller.by_token()
    run = await making.prepare(caller, principal)
    issuing = asyncio.create_task(run(held(making.operation, reached, may_end)))
    await reached.wait()
    ending = asyncio.create_task(act(caller, principal))
    await until_waiting(tenant, ending)
    may_end.set()
    await issuing
    await ending
    assert await capabilities_of(caller) == ["Token"] * (act is change_password)  # that of the act


@each_making
async def test_operation_that_begins_during_the_act_waits_for_it_and_is_refused(tenant: Tenant, making: Making) -> None:
    caller, reached, may_end = await Caller.add(tenant), asyncio.Event(), asyncio.Event()
    principal, other = await caller.by_token(), await caller.by_token()
    run = await making.prepare(caller, principal)
    passwords = {"old_password": PASSWORD, "new_password": "battery staple"}
    ending = asyncio.create_task(caller.run(other, held(accounts.change_password, reached, may_end), **passwords))
    await reached.wait()
    issuing = asyncio.create_task(run(making.operation))
    await until_waiting(tenant, issuing)
    may_end.set()
    await ending
    with pytest.raises(BadInput if making.reason else Unauthenticated) as refused:
        await issuing
    assert refused.value.reason == making.reason
    assert await capabilities_of(caller) == ["Token"]  # that of the act


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


async def test_two_changes_of_the_same_account_at_once_both_succeed(tenant: Tenant) -> None:
    """Neither may hold a lock that the other one needs."""
    caller = await Caller.add(tenant)
    principal = await caller.by_token()
    for _ in range(5):
        names = (caller.run(principal, accounts.change_name, name=name) for name in ("Ada", "Grace", "Joan"))
        assert [account.name for account in await asyncio.gather(*names)] == ["Ada", "Grace", "Joan"]


async def test_no_operation_runs_after_the_end_of_its_credential(tenant: Tenant, subtests: pytest.Subtests) -> None:
    """A mutation waits between its head and its transaction while an act ends its credential.

    Each pair of a caller and an act runs on one database: on PostgreSQL the first of each act. A third of the mutations
    that the caller may run follow each pair, and all of them in `make fuzz`.
    """
    changing = [ending for ending in ENDINGS if ending[0] is not Caller.by_member]  # a member changes nothing
    on_postgresql = {act: (authenticate, act) for authenticate, act in reversed(changing)}.values()
    is_sqlite = tenant.gateway.database.is_sqlite
    endings = [ending for ending in changing if (ending in on_postgresql) != is_sqlite]
    requests = [await request_of(tenant, operation) for operation in MUTATIONS]
    for turn, (authenticate, act) in enumerate(sample(endings, name_of)):
        caller = await Caller.add(tenant)
        principal = await authenticate(caller)
        await act(caller, principal)
        with subtests.test(name_of((authenticate, act))):
            before = await stored(tenant)
            permitted = [(operation, request) for operation, request in requests if may_run(principal, operation)]
            of_turn = permitted[turn % TURNS :: TURNS] or permitted
            codes = {operation.name: await code_of(tenant, principal, request) for operation, request in of_turn}
            assert {name: code for name, code in codes.items() if code not in REFUSED} == {}
            assert "UNAUTHENTICATED" in codes.values()
            assert await stored(tenant) == before


def may_run(principal: Principal, operation: Operation) -> bool:
    """Return whether the permission of an operation lets a caller in. It needs no rows, so no end changes it."""
    try:
        check_permission(principal, operation.needs, is_read=operation.is_read)
    except Forbidden:
        return False
    return True


async def request_of(tenant: Tenant, operation: Operation) -> tuple[Operation, OperationRequest]:
    variables = await EXAMPLES[operation.name](tenant)
    return operation, OperationRequest(
        query=document(operation, variables), variables=to_graphql_variables(operation, variables)
    )


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


def test_operations_that_take_the_lock_of_their_user_alone_do_so_from_the_start() -> None:
    """To share the lock first would let two such calls of a user wait for each other, until the database ends one."""
    taking = [one for one in OPERATIONS if "lock_user(" in inspect.getsource(one.resolver)]
    assert {"change_password", "delete_user", "erase_my_data"} <= {one.name for one in taking}
    known = OWN_CREDENTIAL_PERMISSIONS | {Permission.ANYONE}  # without credentials, there is no lock to share
    assert [one.name for one in taking if one.needs not in known] == []
