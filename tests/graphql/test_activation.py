"""Applications activate accounts that they vouch for, and registrations that nobody verifies are deleted."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Table
from sqlmodel import SQLModel
from strawberry import ID

from tests.support import people
from tests.support.house import PASSWORD, House, Tenant, basic, operation
from tests.support.interfaces import INTERFACES, by_interface
from tests.support.timed import Timed
from wattgate.app.workers.maintenance import Lifetimes, maintain_once
from wattgate.db.models import Account, AccountMail, Delivery, Tenanted, User
from wattgate.delivery.account_mails import ACCOUNT_MAIL_TYPES, VERIFY
from wattgate.enums import Channel, RuleKind, UserStatus
from wattgate.errors import BadInput, Conflict, NotFound
from wattgate.operations.accounts import account_purges
from wattgate.operations.accounts.account_purges import ANSWERED_BY_USERS, MAIL_RETENTION
from wattgate.operations.types.homes import virtual_entities as home_types
from wattgate.operations.types.identity.accounts import AccountChange
from wattgate.operations.types.messages import alert_rules as rule_types
from wattgate.operations.types.messages import alert_types
from wattgate.operations.types.messages import alerts as types
from wattgate.principal import Permission, Principal, Role

LIFETIME = timedelta(days=7)
Headers = dict[str, str]


async def change_status(house: House, interface: str, account_id: str, status: Any, headers: Headers) -> Any:
    named = status.upper() if interface == "graphql" and status else status  # a member of the enum
    variables = {"accountId": account_id, "input": {"status": named}}
    return await by_interface(house, interface, "update_account", variables, headers)


async def log_in(house: House, who: dict[str, str]) -> str | None:
    variables = {"username": who["username"], "password": PASSWORD, "applicationId": house.one.application_id}
    return (await by_interface(house, "rest", "authenticate", variables, {})).code


async def stored(tenant: Tenant, model: type[Any], user_id: str) -> list[Any]:
    system = Principal(Role.SYSTEM, application_id=tenant.application_id)
    found: list[Any] = await tenant.gateway.runner.read(
        system, Permission.SYSTEM, lambda rows: rows.all(model, model.user_id == user_id)
    )
    return found


@pytest.mark.parametrize("interface", INTERFACES)
async def test_application_activates_an_account(served: House, interface: str) -> None:
    who = await people.registered(served.one)
    assert await log_in(served, who) == "UNAUTHENTICATED"
    activated = await change_status(served, interface, who["accountId"], "active", served.one.headers["application"])
    assert (activated.value["status"].lower(), activated.value["active"]) == ("active", True)
    (user,) = await stored(served.one, User, who["userId"])
    assert user.status is UserStatus.ACTIVE
    assert await log_in(served, who) is None
    (mail,) = await stored(served.one, AccountMail, who["userId"])
    assert mail.secret is None  # its code is useless now, so it is not sent
    again = await change_status(served, interface, who["accountId"], "active", served.one.headers["application"])
    assert again.value["status"].lower() == "active"


async def test_administrator_activates_an_account(served: House) -> None:
    who = await people.registered(served.one)
    headers = {**basic("admin@one.example", PASSWORD), "applicationId": served.one.application_id}
    assert (await change_status(served, "rest", who["accountId"], "active", headers)).value["active"] is True


@pytest.mark.parametrize("interface", INTERFACES)
async def test_status_changes_in_no_other_way(served: House, interface: str) -> None:
    who = await people.registered(served.one)
    application = served.one.headers["application"]
    for status in ("inactive", "verified", "", None):
        refused = await change_status(served, interface, who["accountId"], status, application)
        assert refused.code == "BAD_INPUT", status
    acting = {**application, "userId": who["userId"]}
    assert (await change_status(served, interface, who["accountId"], "active", acting)).code == "FORBIDDEN"
    other = served.other.headers["application"]
    assert (await change_status(served, interface, who["accountId"], "active", other)).code == "NOT_FOUND"
    own = {**basic(served.one.username, PASSWORD), "applicationId": served.one.application_id}
    assert (await change_status(served, interface, served.one.account_id, "inactive", own)).code == "FORBIDDEN"
    await served.one.run("delete_account", account_id=who["accountId"])
    closed = await change_status(served, interface, who["accountId"], "active", application)
    assert closed.code == "BAD_INPUT"
    assert "is inactive" in str(closed.body)


async def test_unverified_registrations_are_deleted_in_time(timed: Timed) -> None:
    tenant = timed.house.one
    abandoned, used, vouched = [await people.registered(tenant) for _ in range(3)]
    active = await people.active(tenant)
    await tenant.run(
        "update_account", account_id=ID(vouched["accountId"]), input=AccountChange(status=UserStatus.ACTIVE)
    )
    await add_home(tenant, used["userId"])
    timed.pass_time(LIFETIME)
    await maintain_once(tenant.gateway.runner, Lifetimes(unverified=LIFETIME))
    assert len(await stored(tenant, Account, abandoned["userId"])) == 1
    timed.pass_time(timedelta(seconds=1))
    await maintain_once(tenant.gateway.runner, Lifetimes(unverified=LIFETIME))
    for model in (Account, User, AccountMail, Delivery):
        assert await stored(tenant, model, abandoned["userId"]) == [], model
    for kept in (used, vouched, active):
        assert len(await stored(tenant, Account, kept["userId"])) == 1
    username = abandoned["username"]
    registration = {"name": "Grace", "username": username, "email": username, "password": PASSWORD}
    again = await people.anonymously(tenant, operation("register"), **registration)
    assert again.user_id != abandoned["userId"]


async def add_home(tenant: Tenant, user_id: str) -> None:
    home = home_types.NewVirtualEntity(ve_type_id=ID(tenant.ids["virtual_entity_type"]), name="Home")
    acting = Principal(Role.SYSTEM, application_id=tenant.application_id, user_id=user_id)
    await tenant.gateway.runner.run(operation("add_virtual_entity"), acting, {"input": home})


async def test_purge_works_in_batches(timed: Timed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account_purges, "REGISTRATIONS_PER_TRANSACTION", 2)
    tenant = timed.house.other
    await maintain_once(tenant.gateway.runner, Lifetimes(unverified=timedelta(0)))
    people_of_tenant = [await people.registered(tenant) for _ in range(3)]
    timed.pass_time(LIFETIME + timedelta(seconds=1))
    system = Principal(Role.SYSTEM, application_id=tenant.application_id)
    purge = account_purges.purge_unverified_accounts
    counts = [await tenant.gateway.runner.run(purge, system, {"older_than": LIFETIME}) for _ in range(3)]
    assert counts == [2, 1, 0]
    for who in people_of_tenant:
        assert await stored(tenant, User, who["userId"]) == []


async def test_old_mails_are_deleted_with_their_deliveries(timed: Timed) -> None:
    tenant = timed.house.one
    who = await people.active(tenant)
    await people.reset_token(tenant, who)
    timed.pass_time(MAIL_RETENTION + timedelta(seconds=1))
    await people.reset_token(tenant, who)
    await maintain_once(tenant.gateway.runner)
    for model in (AccountMail, Delivery):
        assert len(await stored(tenant, model, who["userId"])) == 1


def test_purge_knows_every_table_that_refers_to_users_and_accounts() -> None:
    """A foreign key of another table would make the purge fail."""
    owned = {str(model.__tablename__) for model in Tenanted.__subclasses__() if model.owner is not None}
    owned |= {str(model.__tablename__) for model in ANSWERED_BY_USERS}
    tables: list[Table] = SQLModel.metadata.sorted_tables
    referring = {
        table.name for table in tables for key in table.foreign_keys if key.column.table.name in ("app_user", "account")
    }
    assert referring <= owned


async def test_alert_types_of_the_gateway_are_fixed(served: House) -> None:
    kinds = {kind.system_alert_type_id: kind for kind in await served.one.run("alert_types")}
    assert set(ACCOUNT_MAIL_TYPES) <= set(kinds)
    reset, description = kinds["account.reset"].alert_type_id, kinds["account.reset"].description
    new = alert_types.NewAlertType(name="Mine", system_alert_type_id=VERIFY)
    with pytest.raises(Conflict):
        await served.one.run("add_alert_type", input=new)
    for change in (alert_types.AlertTypeChange(active=False), alert_types.AlertTypeChange(system_alert_type_id="CM99")):
        with pytest.raises(BadInput):
            await served.one.run("update_alert_type", alert_type_id=reset, input=change)
    change = alert_types.AlertTypeChange(system_alert_type_id=VERIFY)
    with pytest.raises(Conflict):
        await served.one.run("update_alert_type", alert_type_id=served.one.ids["alert_type"], input=change)
    kept = alert_types.AlertTypeChange(
        active=True, system_alert_type_id="account.reset", description="Forgotten password"
    )
    changed = await served.one.run("update_alert_type", alert_type_id=reset, input=kept)
    assert changed.description == "Forgotten password"
    with pytest.raises(NotFound):
        await served.other.run("update_alert_type", alert_type_id=reset, input=kept)
    original = alert_types.AlertTypeChange(description=description)
    await served.one.run("update_alert_type", alert_type_id=reset, input=original)


async def test_only_the_gateway_sends_its_alert_types(served: House) -> None:
    for named in (VERIFY, await type_id(served.one, VERIFY)):
        alert = types.NewAlert(user_id=ID(served.one.user_id), alert_type_id=named, channels=[Channel.EMAIL])
        with pytest.raises(BadInput) as refused:
            await served.one.run("send_alert", input=alert)
        assert "only the gateway sends" in refused.value.problems[0].message
        rule = rule_types.NewAlertRule(
            name="Rule",
            kind=RuleKind.NO_DATA,
            window_minutes=60,
            alert_type_id=ID(named),
            channels=[Channel.INBOX],
            resource_id=ID(served.one.ids["resource"]),
        )
        with pytest.raises(BadInput, match="alert rule"):
            await served.one.run("add_alert_rule", input=rule)


async def type_id(tenant: Tenant, short_code: str) -> str:
    kinds = await tenant.run("alert_types")
    return next(str(kind.alert_type_id) for kind in kinds if kind.system_alert_type_id == short_code)
