"""An erased user accepts nothing, also from an application or an administrator whose request began before."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import select
from sqlmodel import SQLModel
from strawberry import ID

from tests.support.endings import Caller, erase_user
from tests.support.held_operations import held, until_waiting
from tests.support.house import PASSWORD, Tenant, tenant_on
from tests.support.tables import columns_of_requests
from wattgate.enums import Channel
from wattgate.errors import BadInput, Conflict, NotFound
from wattgate.operations.accounts import accounts, user_changes, users
from wattgate.operations.alerts import alerts
from wattgate.operations.homes import home_resources, virtual_entities
from wattgate.operations.moves import resource_changes
from wattgate.operations.types.homes.virtual_entities import VirtualEntityChange
from wattgate.operations.types.identity import accounts as account_types
from wattgate.operations.types.messages.alerts import NewAlert
from wattgate.operations.types.users.users import UserChange

pytestmark = pytest.mark.both_databases("locks differ between databases")


@pytest.fixture(scope="module")
async def tenant(databases: Any) -> AsyncIterator[Tenant]:
    async with databases() as url, tenant_on(url) as opened:
        yield opened


def changes(caller: Caller, home: str) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Return changes that an application can make for a user with a home."""
    tenant, user_id = caller.tenant, ID(caller.user_id)
    account = account_types.NewAccount(username=f"new-{caller.username}", user_id=user_id, password=PASSWORD)
    alert = NewAlert(user_id=user_id, alert_type_id=ID(tenant.ids["alert_type"]), channels=[Channel.INBOX])
    named = account_types.AccountChange(name="Ada")
    return {
        "add account": (accounts.add_account, {"input": account}),
        "update account": (accounts.update_account, {"account_id": ID(caller.account_id), "input": named}),
        "rename": (user_changes.rename_user, {"user_id": user_id, "username": f"new-{caller.username}"}),
        "update user": (user_changes.update_user, {"user_id": user_id, "input": UserChange(culture_code="fr-CA")}),
        "home": (virtual_entities.update_virtual_entity, {"ve_id": ID(home), "input": VirtualEntityChange(name="New")}),
        "attributes": (
            home_resources.set_virtual_entity_attributes,
            {"ve_id": ID(home), "attributes": {"rooms": 4}},
        ),
        "alert": (alerts.send_alert, {"input": alert}),
    }


async def test_application_changes_nothing_of_an_erased_user(tenant: Tenant, subtests: pytest.Subtests) -> None:
    caller = await Caller.add(tenant)
    home, application = await caller.add_home(), await caller.by_application()
    resource_id = ID(await tenant.add_resource())
    await erase_user(caller, application)
    moved = {"resource_id": resource_id, "user_id": ID(caller.user_id)}
    after = await stored(tenant)
    for name, (operation, arguments) in {
        **changes(caller, home),
        "move": (resource_changes.move_resource, moved),
    }.items():
        with subtests.test(name):
            before = after
            with pytest.raises((Conflict, NotFound, BadInput)):
                await caller.run(application, operation, **arguments)
            after = await stored(tenant)
            assert after == before


async def test_erasure_removes_the_changes_of_an_application_that_began_before_it(
    tenant: Tenant, subtests: pytest.Subtests
) -> None:
    for name in ("add account", "update account", "update user", "home", "attributes"):
        caller = await Caller.add(tenant)
        home, application = await caller.add_home(), await caller.by_application()
        operation, arguments = changes(caller, home)[name]
        reached, may_end = asyncio.Event(), asyncio.Event()
        changing = asyncio.create_task(caller.run(application, held(operation, reached, may_end), **arguments))
        await reached.wait()
        erasing = asyncio.create_task(erase_user(caller, application))
        await until_waiting(tenant, erasing)
        may_end.set()
        await changing
        await erasing
        with subtests.test(name):
            user = next(row for row in await rows_of(tenant, "app_user") if row.user_id == caller.user_id)
            assert (user.active, user.culture_code) == (False, None)
            accounts_left = [row for row in await rows_of(tenant, "account") if row.user_id == caller.user_id]
            assert {(row.active, row.name) for row in accounts_left} == {(False, "")}


async def test_change_of_an_application_that_begins_during_an_erasure_is_refused(
    tenant: Tenant, subtests: pytest.Subtests
) -> None:
    for name in ("add account", "update account", "update user", "home", "attributes", "alert"):
        caller = await Caller.add(tenant)
        home, application = await caller.add_home(), await caller.by_application()
        operation, arguments = changes(caller, home)[name]
        reached, may_end = asyncio.Event(), asyncio.Event()
        erase = held(users.delete_user, reached, may_end)
        erasing = asyncio.create_task(caller.run(application, erase, user_id=ID(caller.user_id)))
        await reached.wait()
        changing = asyncio.create_task(caller.run(application, operation, **arguments))
        await until_waiting(tenant, changing)
        may_end.set()
        await erasing
        with subtests.test(name), pytest.raises((Conflict, NotFound, BadInput)):
            await changing


async def rows_of(tenant: Tenant, table: str) -> list[Any]:
    async with tenant.gateway.database.engine.connect() as connection:
        columns = columns_of_requests(SQLModel.metadata.tables[table])
        return list(await connection.execute(select(*columns)))


async def stored(tenant: Tenant) -> dict[str, list[str]]:
    """Return all rows of the database."""
    tables = [table.name for table in SQLModel.metadata.sorted_tables]
    return {name: sorted(map(repr, await rows_of(tenant, name))) for name in tables}
