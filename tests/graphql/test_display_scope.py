"""A paired display, or a member of a shared home, reads the home and nothing else: a walk through all operations."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import product
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlmodel import col

from tests.support import people
from tests.support.house import House, Tenant, house
from tests.support.interface_cases import InterfaceCase, cases_on
from tests.support.interfaces import InterfaceResult, is_in_graphql, rest_endpoints
from tests.support.neighbour import add_neighbour, private_values
from tests.support.residents import resident
from tests.support.servers import ON_POSTGRESQL_ONLY, ON_SQLITE_ONLY, Databases
from tests.support.short_form import share
from tests.support.socket import socket
from wattgate.db import models
from wattgate.db.connections.reader import fetch
from wattgate.db.rows.rows import Rows
from wattgate.db.scope import home_scope
from wattgate.db.scope.row_scope import RowScope
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION, tenanted_models
from wattgate.errors import Forbidden
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.core.operation import Operation, OperationKind, RestRoute
from wattgate.operations.core.row_reader import DISPLAY_ONLY, HOME_ONLY, check_permission
from wattgate.principal import GRANTS, OAUTH_SCOPES, AccessScope, Permission, Principal, Role

pytestmark = pytest.mark.both_databases("separation of users and applications")

EDGE_DEPTH = 2
"""Depth to which the documents of these tests select edges."""

MARKED = {**SCOPED_OPTION, "synchronize_session": False}
"""The options of a statement that is marked as scoped, but has no filter."""

GRANTED = GRANTS[Role.DISPLAY]
OF_MEMBERS = GRANTS[Role.MEMBER]
OWN_END = "end_own_display"
"""The only change that a display may make. A test of its own makes it."""


CASES = [
    case
    for case in (
        *(
            InterfaceCase(operation)
            for operation in OPERATIONS
            if is_in_graphql(operation) and operation.kind is not OperationKind.SUBSCRIPTION
        ),
        *(InterfaceCase(operation, rest) for operation, rest in rest_endpoints()),
    )
    if case.operation.name != OWN_END
]
READS = [case for case in CASES if case.operation.needs in GRANTED or case.operation.needs in OF_MEMBERS]
REFUSED = [case for case in CASES if case not in READS]
OF_APPLICATION = ("resource_type", "virtual_entity_type", "device_type", "alert_type")
"""The kinds of records to which the records of a home refer."""


@dataclass
class Flat:
    """A served gateway, and a user with two homes. A display and a member of the second one see the rows of `home`."""

    house: House
    user: Tenant
    home: Tenant
    display: dict[str, str]
    member: dict[str, str]
    secrets: set[str]


@pytest.fixture(scope="module")
async def flat(databases: Databases) -> AsyncIterator[Flat]:
    async with databases() as url, house(url) as served:
        user, neighbour = served.one, await add_neighbour(served.one)
        home = Tenant(user.gateway, user.application_id, user.user_id, user.account_id, ids=dict(user.ids))
        home.ids["resource"] = await user.add_resource("Own")
        home.ids["virtual_entity"] = await user.add_home(home.ids["resource"])
        await user.set_tariff(home.ids["resource"], "Own tariff")
        await user.record(home.ids["resource"], (datetime(2026, 1, 5, tzinfo=UTC), "0.75"))
        display, home.ids["paired_display"] = await people.paired_display(user, home.ids["virtual_entity"])
        sister, ve_id = await resident(user), home.ids["virtual_entity"]
        home.ids["home_member"] = await people.home_member(user, sister, ve_id)
        user.ids["home_member"] = await people.home_member(user, await resident(user), user.ids["virtual_entity"])
        member = {**sister.headers["account"], "sharedHomeId": ve_id}
        own = {*home.ids.values()} - {*user.ids.values()} | {user.ids[kind] for kind in OF_APPLICATION}
        secrets = {*user.ids.values(), user.username} - own | private_values(user, neighbour)
        yield Flat(served, user, home, display, member, secrets)


async def send(
    flat: Flat, case: InterfaceCase, tenant: Tenant, edge_depth: int = 0, headers: dict[str, str] | None = None
) -> InterfaceResult:
    """Send the example of an operation for a tenant, by default with the credential of the display."""
    return await case.send(flat.house, await case.example(tenant), headers or flat.display, edge_depth)


def test_every_operation_without_a_granted_permission_is_refused() -> None:
    """GraphQL, REST and subscriptions ask this function before an operation, with its permission."""
    display = Principal(Role.DISPLAY, application_id="application", user_id="user", ve_id="home")
    readable = {Permission.VIRTUAL_ENTITY_READ, Permission.RESOURCE_READ, Permission.READINGS_READ}
    answers = {operation.name: permission_of(display, operation) for operation in OPERATIONS}
    assert answers == {
        operation.name: AccessScope.HOME if operation.needs in {Permission.OWN_DISPLAY, *readable} else DISPLAY_ONLY
        for operation in OPERATIONS
    }
    assert {case.operation.kind for case in READS} == {OperationKind.QUERY}
    member = replace(display, role=Role.MEMBER)
    answers = {operation.name: permission_of(member, operation) for operation in OPERATIONS}
    assert answers == {
        operation.name: AccessScope.HOME if operation.needs in {Permission.HOME_MEMBER_READ, *readable} else HOME_ONLY
        for operation in OPERATIONS
    }


def permission_of(principal: Principal, operation: Operation) -> AccessScope | str:
    """Return the scope of an operation, or why it is forbidden."""
    try:
        return check_permission(principal, operation.needs, is_read=operation.is_read)
    except Forbidden as refusal:
        return str(refusal)


@ON_SQLITE_ONLY
@pytest.mark.timeout(600)
async def test_each_interface_refuses_operations_of_each_permission(flat: Flat, subtests: pytest.Subtests) -> None:
    """The table above has all operations. These are an eighth of them, and one of each permission on each interface."""
    for case in share(REFUSED, lambda case: case.name, lambda case: case.kind):
        with subtests.test(case.name):
            for headers in (flat.display, flat.member):
                assert (await send(flat, case, flat.user, headers=headers)).code == "FORBIDDEN"


@pytest.mark.timeout(600)
async def test_every_granted_operation_answers_about_the_home(flat: Flat, subtests: pytest.Subtests) -> None:
    assert len(READS) > 30
    for case in cases_on(flat.house, READS):
        with subtests.test(case.name):
            for headers, tenant in product((flat.display, flat.member), (flat.user, flat.home)):
                for depth in reversed(range(EDGE_DEPTH + 1)):
                    result = await send(flat, case, tenant, depth, headers)
                    if case.rest is not None or "data" in result.body:
                        break  # otherwise the document is larger than the gateway accepts
                assert_reveals_nothing(flat, case.rest, result)


def assert_reveals_nothing(flat: Flat, rest: RestRoute | None, result: InterfaceResult) -> None:
    data = json.dumps(result.body["data"] if rest is None else result.value, default=str)  # errors repeat the arguments
    assert {secret for secret in flat.secrets if secret in data} == set(), result.body
    assert result.code in (None, "NOT_FOUND", "FORBIDDEN", "BAD_INPUT"), result.body


READ_BY_ID = ("virtual_entity", "resource", "readings")
"""The operations that read a home, a resource with its tariff, and its readings by an ID, with their REST endpoints."""


async def test_display_and_member_read_their_home_by_id_on_both_interfaces(
    flat: Flat, subtests: pytest.Subtests
) -> None:
    cases = [case for case in READS if case.operation.name in READ_BY_ID]
    assert len(cases) > 10
    for case in cases:
        with subtests.test(case.name):
            result = await send(flat, case, flat.home)
            assert result.code is None, result.body
            assert (await send(flat, case, flat.user)).code == "NOT_FOUND"
            assert (await send(flat, case, flat.home, headers=flat.member)).code is None
            assert (await send(flat, case, flat.user, headers=flat.member)).code == "NOT_FOUND"


def test_display_may_write_nothing_but_its_own_end_and_a_member_nothing() -> None:
    writing = {
        operation.name
        for operation in OPERATIONS
        if operation.kind is OperationKind.MUTATION and operation.needs in GRANTED
    }
    assert writing == {"end_own_display"}
    assert all(operation.is_read for operation in OPERATIONS if operation.needs in OF_MEMBERS)
    assert {*GRANTED.values(), *OF_MEMBERS.values()} == {AccessScope.HOME}
    assert not any(Permission.OWN_DISPLAY in permissions for permissions in OAUTH_SCOPES.values())
    assert Permission.OWN_DISPLAY not in GRANTS[Role.APPLICATION]


OWN_HOME: dict[str, str] = {
    "home": """query ($veId: ID!) { home(homeId: $veId) { name resources { resourceId freshness { state } }
      display { name tariff { rateWithVat { amount } } unreadAlerts } } }""",
    "resource": """query ($id: ID!) { resource(resourceId: $id) { name tariff { name } tariffs { name }
      currentRates { rateWithVat { amount } } withheld { reason }
      noCostReason(range: {start: "2026-01-05T00:00:00Z"}) } }""",
    "readings": """query ($id: ID!) { resource(resourceId: $id) {
      readings(range: {start: "2026-01-05T00:00:00Z", end: "2026-01-05T01:00:00Z"}, period: PT30M)
      { buckets { value } } rawReadings { value }
      costs(range: {start: "2026-01-05T00:00:00Z", end: "2026-01-05T01:00:00Z"}, period: PT30M)
      { buckets { total } } } }""",
}
"""The documents of the software of a display."""


@pytest.mark.parametrize("name", OWN_HOME)
@pytest.mark.alternate_databases("the cases have the same statements")
async def test_display_reads_its_home(flat: Flat, name: str) -> None:
    query = OWN_HOME[name]
    known = {"veId": flat.home.ids["virtual_entity"], "id": flat.home.ids["resource"]}
    variables = {key: value for key, value in known.items() if f"${key}:" in query}
    answer = await flat.house.graphql(query, flat.display, **variables)
    assert "errors" not in answer, answer
    as_user = await flat.house.graphql(query, flat.user.headers["account"], **variables)
    if name == "home":  # alerts belong to the user, not to the home
        shown, seen = answer["data"]["home"]["display"], as_user["data"]["home"]["display"]
        assert shown.pop("unreadAlerts") == 0
        assert seen.pop("unreadAlerts") > 0
        assert answer["data"] == as_user["data"]
    else:
        assert answer["data"] == as_user["data"]


@pytest.mark.alternate_databases("the faces have the same statements")
async def test_display_finds_its_home_and_resources_without_ids(flat: Flat) -> None:
    """`ownDisplay` leads to what the lists of REST have: the home that the display is bound to, and its resources."""
    home = "home { homeId name resources { resourceId name current { value } tariff { name } } }"
    answer = await flat.house.graphql(f"{{ ownDisplay {{ {home} }} }}", flat.display)
    assert "errors" not in answer, answer
    found = answer["data"]["ownDisplay"]["home"]
    homes = (await flat.house.call("GET", "/virtualentity", flat.display)).json()
    resources = (await flat.house.call("GET", "/resource", flat.display)).json()
    assert [found["homeId"]] == [each["veId"] for each in homes] == [flat.home.ids["virtual_entity"]]
    assert {each["resourceId"] for each in found["resources"]} == {each["resourceId"] for each in resources} != set()
    listed = home.replace("home {", f'home(homeId: "{found["homeId"]}") {{', 1)
    as_user = await flat.house.graphql(f"{{ {listed} }}", flat.user.headers["account"])
    assert as_user["data"]["home"] == found


async def test_display_subscribes_to_its_home_only(flat: Flat) -> None:
    foreign, own = flat.user.ids, flat.home.ids
    async with socket(flat.house.url) as client:
        await client.init(**flat.display)
        for operation_id, (document, kind) in enumerate(
            [
                ("display(homeId: {})", "virtual_entity"),
                ("readings(resourceIds: [{}])", "resource"),
                ("freshness(resourceIds: [{}])", "resource"),
            ]
        ):
            field = {"display": "name", "readings": "value", "freshness": "resourceId"}[document.partition("(")[0]]
            refused = document.format(json.dumps(foreign[kind]))
            await client.subscribe(f"subscription {{ {refused} {{ {field} }} }}", f"foreign-{operation_id}")
            answer = await client.hear()
            errors = answer["payload"] if answer["type"] == "error" else answer["payload"]["errors"]
            assert [error["extensions"]["code"] for error in errors] == ["NOT_FOUND"], answer
        for name, argument in (("alerts", ""), ("catchUpState", f'(resourceIds: ["{own["resource"]}"])')):
            await client.subscribe(f"subscription {{ {name}{argument} {{ __typename }} }}", name)
            answer = await client.hear()
            assert answer["type"] == "error", answer
            assert [error["extensions"]["code"] for error in answer["payload"]] == ["FORBIDDEN"], answer
        await client.subscribe(f'subscription {{ display(homeId: "{own["virtual_entity"]}") {{ homeId }} }}', "own")
        assert (await client.payload())["data"]["display"]["homeId"] == own["virtual_entity"]


@pytest.mark.long("waits for alerts that do not come; the scope of each operation stays in the short form")
async def test_live_display_does_not_follow_the_alerts_of_its_user(flat: Flat) -> None:
    """The frames of a user and of a display with the same document differ, so that they do not share a group."""
    query = "subscription ($veId: ID!) { display(homeId: $veId) { unreadAlerts name } }"
    async with socket(flat.house.url) as paired, socket(flat.house.url) as account:
        await paired.init(**flat.display)
        await account.init(**flat.user.headers["account"])
        counts = []
        for client in (account, paired):
            await client.subscribe(query, veId=flat.home.ids["virtual_entity"])
            counts.append((await client.payload())["data"]["display"]["unreadAlerts"])
        assert counts[0] > 0
        assert counts[1] == 0
        body = {"userId": flat.user.user_id, "alertTypeId": "CM01", "inbox": "yes"}
        sent = await flat.house.call("POST", "/alert", flat.user.headers["application"], json=body)
        assert sent.status_code == 200, sent.text
        assert (await account.payload())["data"]["display"]["unreadAlerts"] == counts[0] + 1
        # a frame of the alert would arrive before that of the new name, and have the old name
        path = f"/virtualentity/{flat.home.ids['virtual_entity']}"
        renamed = await flat.house.call("PUT", path, flat.user.headers["account"], json={"name": "Renamed"})
        assert renamed.status_code == 201, renamed.text
        assert (await paired.payload())["data"]["display"] == {"unreadAlerts": 0, "name": "Renamed"}


def scope_of(flat: Flat) -> RowScope:
    return RowScope(flat.user.application_id, flat.user.user_id, flat.home.ids["virtual_entity"])


async def test_rows_of_a_home_are_those_of_its_rules(flat: Flat) -> None:
    """`Rows` shows no row of a model without a rule, and of the others only those of the home."""
    database = flat.user.gateway.database
    user_scope = RowScope(flat.user.application_id, flat.user.user_id)
    seen, hidden = set(), set()
    async with database.reader(scope_of(flat)) as reader, database.reader(user_scope) as user_reader:
        now = flat.user.gateway.runner.now()
        rows = Rows(reader, *_parts(scope_of(flat)), now=now)
        of_user = Rows(user_reader, *_parts(user_scope), now=now)
        for model in tenanted_models():
            shown = await rows.all(model)
            if model in home_scope.HOME_RULES or model in home_scope.ALL_ROWS_OF_USER:
                seen.add(model)
            else:
                assert shown == [], model
                hidden |= {model} if await of_user.all(model) else set()
            assert not any(secret in str(shown) for secret in flat.secrets) or model in home_scope.ALL_ROWS_OF_USER
        assert [home.ve_id for home in await rows.all(models.VirtualEntity)] == [flat.home.ids["virtual_entity"]]
        assert [item.name for item in await rows.all(models.Resource)] == ["Own"]
    assert seen == {*home_scope.HOME_RULES, *home_scope.ALL_ROWS_OF_USER}
    assert len(hidden) > 20


def _parts(scope: RowScope) -> tuple[str, str | None, str | None]:
    return scope.application_id, scope.user_id, scope.ve_id


@ON_POSTGRESQL_ONLY
async def test_policies_restrict_a_statement_without_a_filter_to_the_home(flat: Flat) -> None:
    database = flat.user.gateway.database
    async with database.reader(scope_of(flat)) as reader:
        for model in tenanted_models():
            table: Any = model.__table__  # type: ignore[attr-defined]
            found = [str(row) for row in await fetch(reader, select(table), execution_options=MARKED)]
            if model not in home_scope.HOME_RULES and model not in home_scope.ALL_ROWS_OF_USER:
                assert found == [], model
            if model in home_scope.HOME_RULES:
                assert not any(secret in row for row in found for secret in flat.secrets), model
        homes = await fetch(reader, select(col(models.VirtualEntity.ve_id)), execution_options=MARKED)
        assert [row[0] for row in homes] == [flat.home.ids["virtual_entity"]]
        own = await fetch(reader, select(col(models.Resource.number)), execution_options=MARKED)
        readings = await fetch(reader, text("SELECT DISTINCT resource_number FROM own_reading"))
        assert [row[0] for row in readings] == [row[0] for row in own]
    async with database.session(scope_of(flat)) as session:
        table = models.VirtualEntity.__table__  # type: ignore[attr-defined]
        changed: Any = await session.execute(table.update().values(name="taken"), execution_options=MARKED)
        assert changed.rowcount == 1
        removed: Any = await session.execute(models.Alert.__table__.delete(), execution_options=MARKED)  # type: ignore[attr-defined]
        assert removed.rowcount == 0


async def test_a_resource_that_leaves_the_home_is_hidden_at_once(flat: Flat) -> None:
    resource_id = await flat.user.add_resource("Guest")
    query = "query ($id: ID!) { resource(resourceId: $id) { name } }"
    ve_id = flat.home.ids["virtual_entity"]

    async def outcome() -> Any:
        answer = await flat.house.graphql(query, flat.display, id=resource_id)
        return answer["errors"][0]["extensions"]["code"] if "errors" in answer else answer["data"]["resource"]["name"]

    assert await outcome() == "NOT_FOUND"
    await flat.user.run("add_virtual_entity_resource", ve_id=ve_id, resource_id=resource_id)
    assert await outcome() == "Guest"
    await flat.user.run("remove_virtual_entity_resource", ve_id=ve_id, resource_id=resource_id)
    assert await outcome() == "NOT_FOUND"


async def test_refusal_says_what_to_do(flat: Flat) -> None:
    for name in ("viewer", "start_display_pairing", "tokens"):
        operation = next(candidate for candidate in OPERATIONS if candidate.name == name)
        document = f"{operation.kind.value.lower()} {{ {operation.graphql_name} {{ __typename }} }}"
        answer = await flat.house.graphql(document, flat.display)
        assert answer["errors"][0]["extensions"]["code"] == "FORBIDDEN"
        assert "paired display" in answer["errors"][0]["message"]
