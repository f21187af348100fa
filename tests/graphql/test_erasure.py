"""Erasing a user: nothing personal remains in the database, its file or Redis, and other users are not affected."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from sqlmodel import SQLModel, col

from tests.support.house import PASSWORD, House, house, operation
from tests.support.planted import HARDWARE_ID, MARKS, MPAN, NAME, USERNAME, Planted, plant
from tests.support.redis_server import RedisServer
from tests.support.refusals import refusal_of, refusals
from tests.support.servers import Databases
from tests.support.timed import Clock
from tests.support.traces import find_in_files, find_in_redis, find_in_tables
from wattgate.db import models
from wattgate.db.personal_data.tables import RULES
from wattgate.enums import ErasureAction
from wattgate.operations.accounts import audit
from wattgate.operations.types.content.prompts import NewPromptType
from wattgate.principal import Permission, Principal, Role
from wattgate.requests.client import CURRENT_CLIENT, Client

pytestmark = pytest.mark.both_databases("separation of users and applications")

NEW_YEAR = "2026-01-01T00:00:00Z"
ERASURE = """query ($userId: ID!) { erasure(userId: $userId) {
  state progress finishedAt keptUntil billingErasedAt tables { table action records reason } } }"""


@pytest.fixture(scope="module")
async def clock(databases: Databases) -> Clock:
    """The clock of the gateway on one engine. Tests move it by years."""
    return Clock()


@pytest.fixture(scope="module")
async def place(databases: Databases, redis: RedisServer, clock: Clock) -> AsyncIterator[House]:
    """A gateway with two tenants on each engine, with Redis."""
    async with databases() as url, house(url, clock=clock, redis_url=redis.url, deliver=False) as served:
        async with served.gateway.bus:
            yield served


async def erase(place: House, planted: Planted) -> dict[str, Any]:
    """Erase a user over REST, wait for the job, and return the receipt."""
    application = planted.tenant.headers["application"]
    answer = await place.call("DELETE", f"/user/{planted.user_id}", application)
    assert answer.status_code == 200, answer.text
    return await finished(place, planted)


async def finished(place: House, planted: Planted, field: str = "finishedAt") -> dict[str, Any]:
    """Return the receipt when the job has finished."""
    async with asyncio.timeout(60):
        while True:
            receipt = await planted.ask(ERASURE, planted.tenant.headers["application"], userId=planted.user_id)
            if receipt[field]:
                return dict(receipt)
            await asyncio.sleep(0.05)


def test_every_table_and_column_declares_what_an_erasure_does() -> None:
    declared: dict[str, set[str]] = {}
    for rule in RULES:
        columns = set(SQLModel.metadata.tables[rule.table].columns.keys())
        names = columns if rule.action is ErasureAction.ERASED else rule.declared_columns
        declared.setdefault(rule.table, set()).update(names)
        for name in rule.declared_columns | set(rule.billing_replaced):
            assert name in columns, f"{rule.table} has no column {name}"
    for table in SQLModel.metadata.tables.values():
        missing = set(table.columns.keys()) - declared.get(table.name, set())
        assert not missing, (
            f"declare in wattgate.db.personal_data.tables what an erasure does to {table.name}: {missing}"
        )


def test_rows_that_refer_to_others_are_erased_first() -> None:
    order = {rule.table: position for position, rule in enumerate(RULES) if rule.action is ErasureAction.ERASED}
    for rule in RULES:
        if rule.action is ErasureAction.ERASED:
            for key in SQLModel.metadata.tables[rule.table].foreign_keys:
                later = order.get(key.column.table.name)
                assert later is None or order[rule.table] <= later, f"{rule.table} refers to {key.column.table.name}"


@pytest.mark.long("searches every table, file and log for a name; erased records have shorter tests")
async def test_planted_name_is_found_nowhere_after_the_erasure(place: House, redis: RedisServer, clock: Clock) -> None:
    tenant = place.one
    planted = await plant(place, tenant)
    database = place.gateway.database
    assert len(await find_in_tables(database, *MARKS)) > 25
    untouched = await _records_of_others(place)
    receipt = await erase(place, planted)
    assert await find_in_tables(database, *MARKS) == set()
    assert await find_in_redis(redis.port, *MARKS) == []
    if database.is_sqlite:
        assert find_in_files(str(database.url), *MARKS) == []
    assert await _records_of_others(place) == untouched
    check = await tenant.gateway.runner.run(
        audit.check_audit_log, Principal(Role.SYSTEM, application_id=tenant.application_id), {}
    )
    assert (check.problems, check.entries > 0) == ([], True)
    _check_receipt(receipt)
    await _check_kept_for_billing(planted)
    await _check_free_again(planted)
    clock.now += timedelta(minutes=12)
    clock.now += timedelta(days=2_192)
    receipt = await finished(place, planted, "billingErasedAt")
    assert {entry["action"] for entry in receipt["tables"] if entry["table"] in ("reading", "tariff")} == {"ERASED"}


def _check_receipt(receipt: dict[str, Any]) -> None:
    assert (receipt["state"], receipt["progress"]) == ("DONE", 1.0)
    tables = {(entry["table"], entry["action"]): entry for entry in receipt["tables"]}
    assert tables["account", "REPLACED"]["records"] == 1
    assert tables["alert", "ERASED"]["records"] == 1
    assert tables["device", "ERASED"]["records"] == 1
    assert tables["resource", "REPLACED"]["records"] == 2
    assert tables["tariff", "ERASED"]["records"] == 1
    assert tables["reading", "KEPT"]["reason"] == "Billing needs the consumption and the rates of the meter point."
    assert tables["reading", "ERASED"]["records"] == 6
    assert NAME not in str(receipt)


async def _check_kept_for_billing(planted: Planted) -> None:
    """The energy at the meter point and its tariff stay, under the pseudonym."""
    resource = await planted.tenant.run("resource", resource_id=planted.ids["billed"])
    assert (resource.mpxn, resource.owner_id, resource.active) == (MPAN, planted.user_id, False)

    async def stored(rows: Any) -> Any:
        number = resource.number
        energy = await rows.readings.list_readings((number, 0), 0, 2**62, limit=10)
        power = await rows.readings.list_readings((number, 1), 0, 2**62, limit=10)
        tariffs = await rows.all(models.Tariff, col(models.Tariff.resource_id) == planted.ids["billed"])
        return len(energy), len(power), [(tariff.name, str(tariff.rate)) for tariff in tariffs]

    principal = Principal(Role.SYSTEM, application_id=planted.tenant.application_id)
    found = await planted.tenant.gateway.runner.read(principal, Permission.SYSTEM, stored)
    assert found == (4, 0, [("Tariff", "24.500000")])


async def _check_free_again(planted: Planted) -> None:
    """The username and the device are free for a new user, and nothing can be added to the erased one."""
    application = planted.tenant.headers["application"]
    login = {"username": USERNAME, "password": PASSWORD}
    refused = await planted.house.call("POST", "/auth", application, json=login)
    assert refused.status_code == 401, refused.text
    added = await planted.house.call("POST", "/user", application, json=login)
    assert added.status_code == 200, added.text
    device = {"deviceTypeId": planted.tenant.ids["device_type"], "hardwareId": HARDWARE_ID, "hardwareIds": {}}
    acting = {**application, "userId": added.json()["userId"]}
    answer = await planted.house.graphql(
        "mutation ($i: NewDevice!) { createDevice(input: $i) { ... on Device { deviceId } ...Refused } }",
        acting,
        i=device,
    )
    assert not refusals(answer), answer
    for method, path, body in (
        ("POST", "/account", {"userId": planted.user_id, "username": "again@strange.example"}),
        ("PUT", f"/account/{planted.account_id}", {"name": "Again"}),
        ("PUT", f"/resource/{planted.ids['billed']}", {"active": True}),
        ("PUT", f"/user/{planted.user_id}/username", {"username": "again@strange.example"}),
        ("POST", "/alert", {"userId": planted.user_id, "alertTypeId": "CM01", "channels": ["inbox"]}),
    ):
        refused = await planted.house.call(method, path, application, json=body)
        assert (refused.status_code, "is erased" in refused.text) == (409, True), (path, refused.text)
    tariff = {"resourceId": planted.ids["billed"], "name": "Again", "kind": "FLAT", "currency": "GBP", "rate": "0.2"}
    tariff["validFrom"] = NEW_YEAR
    set_tariff = "mutation ($i: NewTariff!) { setTariff(input: $i) { ... on Tariff { tariffId } ...Refused } }"
    problem = refusal_of(await planted.house.graphql(set_tariff, application, i=tariff))
    assert (problem["code"], "is erased" in problem["message"]) == ("CONFLICT", True), problem


async def _records_of_others(place: House) -> Any:
    """Return the numbers of records of the other users and of the other tenant."""
    counts = {}
    for tenant in (place.one, place.other):
        principal = Principal(Role.SYSTEM, application_id=tenant.application_id)

        async def count(rows: Any, user_id: str = tenant.user_id) -> Any:
            owned = [
                rule.model for rule in RULES if issubclass(rule.model, models.Tenanted) and rule.model.owner is not None
            ]
            return [
                (model.__name__, await rows.all(model, getattr(model, str(model.owner)) == user_id)) for model in owned
            ]

        counts[tenant.user_id] = repr(await tenant.gateway.runner.read(principal, Permission.SYSTEM, count))
    return counts


async def test_address_of_an_administrator_leaves_the_audit_log(place: House) -> None:
    """The chain stays as it is, and a later entry attests the rest of the changed entries."""
    tenant, address = place.other, "203.0.113.77"
    created = await place.graphql(
        "mutation ($i: NewUser!) { createUser(input: $i) { ... on User { userId } ...Refused } }",
        tenant.headers["application"],
        i={"username": "plover@strange.example"},
    )
    administrator = Principal(
        Role.ADMINISTRATOR, application_id=tenant.application_id, user_id=created["data"]["createUser"]["userId"]
    )
    token = CURRENT_CLIENT.set(Client(host=address))
    await tenant.gateway.runner.run(operation("add_prompt_type"), administrator, {"input": NewPromptType(name="x")})
    CURRENT_CLIENT.reset(token)
    system = Principal(Role.SYSTEM, application_id=tenant.application_id)
    assert await find_in_tables(place.gateway.database, address) == {"audit_entry.client_address"}
    before = await tenant.gateway.runner.run(audit.check_audit_log, system, {})
    planted = Planted(place, tenant, user_id=str(administrator.user_id))
    receipt = await erase(place, planted)
    assert {entry["table"]: entry["records"] for entry in receipt["tables"]}["audit_entry"] == 1
    assert await find_in_tables(place.gateway.database, address) == set()
    after = await tenant.gateway.runner.run(audit.check_audit_log, system, {})
    assert (before.problems, before.erased, after.problems, after.erased) == ([], 0, [], 1)
