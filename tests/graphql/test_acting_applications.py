"""An application that names a user in the header `userId` can do and see what that user can, and nothing else."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.support import people
from tests.support.examples import EXAMPLES
from tests.support.house import House, Tenant, house
from tests.support.interfaces import InterfaceResult, by_graphql, by_rest, rest_endpoints
from tests.support.legacy import REST_ARGUMENTS
from tests.support.neighbour import add_neighbour, private_values, rows_of
from tests.support.servers import ON_SQLITE_ONLY, Databases
from tests.support.socket import socket
from wattgate.enums import to_camel_case
from wattgate.graphql.catalogue import OPERATIONS
from wattgate.graphql.core.operation import Operation, OperationKind, RestRoute
from wattgate.principal import ACTING_EXCEPTIONS, GRANTS, AuthScheme, Permission, Role

pytestmark = pytest.mark.both_databases("separation of users and applications")

EDGE_DEPTH = 2
"""Depth to which the documents of these tests select edges."""

MORE_THAN_THE_USER = {
    "add_account": "SPEC.md: add an account to an existing user. Legacy clients name the user in the header only.",
    "verify_meter_point": "The application has checked the user's right to the meter point, which no user can confirm.",
}
"""Operations that are refused to the user's account, with the reason why an application may run them for the user."""

LESS_THAN_THE_USER = {
    "token_status": "The credentials of an application are not a token.",
    "delete_token": "The credentials of an application are not a token.",
    "tokens": "The tokens of a user belong to their apps.",
    "own_account_status": "The header names a user, who may have several accounts.",
    "second_factor": "The second factor belongs to the person, who alone has the app.",
    "enrol_second_factor": "The second factor belongs to the person, who alone has the app.",
    "confirm_second_factor": "The second factor belongs to the person, who alone has the app.",
    "remove_second_factor": "The second factor belongs to the person, who alone has the app.",
    **dict.fromkeys(
        ("check_display_pairing", "approve_display_pairing", "deny_display_pairing"),
        "The credential of a display belongs to an account, and ends with it.",
    ),
    "new_token": "A token would remain valid after the application's credential ends.",
    "revoke_token": "The tokens of a user belong to their apps.",
    "change_email": "The header names a user, who may have several accounts.",
    "change_name": "The header names a user, who may have several accounts.",
    "change_password": "Only the person knows the old password.",
    "account_profiles": "Apps store profiles for an account, and the header names a user.",
    "account_profile": "Apps store profiles for an account, and the header names a user.",
    "set_account_profile": "Apps store profiles for an account, and the header names a user.",
    "account_session": "Apps store the session for an account, and the header names a user.",
    "update_account_session": "Apps store the session for an account, and the header names a user.",
}
"""Operations that the user's account may run, with the reason why they are refused to an acting application."""

FOR_OAUTH_TOKENS = {"oauth_user"}
"""Operations on the OAuth token of the request. They refuse all other credentials."""

SERVED = [operation for operation in OPERATIONS if operation.kind is not OperationKind.SUBSCRIPTION]
REST = [
    pytest.param(operation, rest, id=rest.route_key)
    for operation, rest in rest_endpoints()
    if rest.scheme is not AuthScheme.TOKEN  # they refuse the credentials of applications
]

BY_CALLER = [operation for operation in SERVED if operation.needs is not Permission.ANYONE]
"""Operations whose reach depends on the caller. The others reach a user by a password or code in their arguments."""

REST_BY_CALLER = [pytest.param(*row.values, id=row.id) for row in REST if row.values[0] in BY_CALLER]


@dataclass
class Street:
    """A served gateway, and two users of one application."""

    house: House
    one: Tenant
    neighbour: Tenant

    @property
    def acting(self) -> dict[str, str]:
        """The headers of the application that acts for the first user."""
        return self.one.headers["acting"]


@pytest.fixture(scope="module")
async def street(databases: Databases) -> AsyncIterator[Street]:
    async with databases() as url, house(url) as served:
        yield Street(served, served.one, await add_neighbour(served.one))


async def _by_rest(
    street: Street, operation: Operation, rest: RestRoute, variables: dict[str, Any], headers: dict[str, str]
) -> InterfaceResult:
    change = REST_ARGUMENTS.get(rest.route_key)
    return await by_rest(street.house, operation, rest, change(variables) if change else variables, headers)


def _leaked(result: InterfaceResult, secret: set[str]) -> set[str]:
    """Return the private values of the neighbour in a successful response."""
    text = json.dumps(result.value, default=str)
    return {value for value in secret if value in text}


async def _refused_or_own(street: Street, operation: Operation, rest: RestRoute | None) -> None:
    """Send the neighbour's example as the acting application. Check that it reads and changes nothing of theirs."""
    variables = await EXAMPLES[operation.name](street.neighbour)
    secret = private_values(street.one, street.neighbour)
    writes = operation.kind is OperationKind.MUTATION  # a query has a session that cannot write
    before = await rows_of(street.neighbour, secret) if writes else None
    if rest is None:
        depth = 0 if writes else EDGE_DEPTH
        result = await by_graphql(street.house, operation, variables, street.acting, edge_depth=depth)
    else:
        result = await _by_rest(street, operation, rest, variables, street.acting)
    assert result.code != "INTERNAL", result.body
    assert not _leaked(result, secret), result.body
    assert before is None or (before and await rows_of(street.neighbour, secret) == before)


@pytest.mark.parametrize("operation", BY_CALLER, ids=lambda operation: operation.name)
async def test_acting_application_reaches_nothing_of_another_user(street: Street, operation: Operation) -> None:
    await _refused_or_own(street, operation, None)


@pytest.mark.parametrize(("operation", "rest"), REST_BY_CALLER)
async def test_acting_application_reaches_nothing_of_another_user_by_rest(
    street: Street, operation: Operation, rest: RestRoute
) -> None:
    await _refused_or_own(street, operation, rest)


def _is_permitted(result: InterfaceResult) -> bool:
    return result.code != "FORBIDDEN"


def _assert_permitted_as_the_account(operation: Operation, acting: InterfaceResult, account: InterfaceResult) -> None:
    if operation.name in MORE_THAN_THE_USER:
        assert (_is_permitted(acting), _is_permitted(account)) == (True, False), (acting.body, account.body)
    elif operation.name in LESS_THAN_THE_USER:
        assert (_is_permitted(acting), _is_permitted(account)) == (False, True), (acting.body, account.body)
    else:
        assert _is_permitted(acting) is _is_permitted(account), (acting.body, account.body)
    refused = "UNAUTHENTICATED" if operation.name in FOR_OAUTH_TOKENS else None
    assert {acting.code, account.code} & {"UNAUTHENTICATED"} == ({refused} if refused else set())


@ON_SQLITE_ONLY
@pytest.mark.parametrize("operation", SERVED, ids=lambda operation: operation.name)
async def test_acting_application_may_run_what_the_account_may(street: Street, operation: Operation) -> None:
    example, account = EXAMPLES[operation.name], {"token": await street.one.add_token()}
    acted = await by_graphql(street.house, operation, await example(street.one), street.acting)
    done = await by_graphql(street.house, operation, await example(street.one), account)
    _assert_permitted_as_the_account(operation, acted, done)


@ON_SQLITE_ONLY
@pytest.mark.parametrize(("operation", "rest"), REST)
async def test_acting_application_may_run_what_the_account_may_by_rest(
    street: Street, operation: Operation, rest: RestRoute
) -> None:
    example, account = EXAMPLES[operation.name], {"token": await street.one.add_token()}
    if rest.scheme is AuthScheme.BASIC:
        account = street.one.headers["account basic"]
    acted = await _by_rest(street, operation, rest, await example(street.one), street.acting)
    done = await _by_rest(street, operation, rest, await example(street.one), account)
    _assert_permitted_as_the_account(operation, acted, done)


FOREIGN_SUBSCRIPTIONS = {
    "readings": ("resourceIds", "resource", "resourceId"),
    "freshness": ("resourceIds", "resource", "resourceId"),
    "catch_up_state": ("resourceIds", "resource", "resourceId"),
    "device_states": ("deviceIds", "device", "deviceId"),
    "display": ("veId", "virtual_entity", "name"),
}
"""The argument, the kind of record and a field of each subscription to records of users."""

OTHER_SUBSCRIPTIONS = {
    "alerts": "It has no arguments that name records. A test of its own sends alerts.",
    "dfs_event_changes": "Events belong to the application, and every user sees them.",
}


def test_every_subscription_is_covered() -> None:
    subscriptions = {operation.name for operation in OPERATIONS if operation.kind is OperationKind.SUBSCRIPTION}
    assert subscriptions == FOREIGN_SUBSCRIPTIONS.keys() | OTHER_SUBSCRIPTIONS.keys()


@pytest.mark.parametrize("name", FOREIGN_SUBSCRIPTIONS)
async def test_acting_application_subscribes_to_nothing_of_another_user(street: Street, name: str) -> None:
    argument, kind, field = FOREIGN_SUBSCRIPTIONS[name]
    foreign = street.neighbour.ids[kind]
    value = json.dumps([foreign] if argument.endswith("s") else foreign)
    async with socket(street.house.url) as client:
        await client.init(**street.acting)
        await client.subscribe(f"subscription {{ {to_camel_case(name)}({argument}: {value}) {{ {field} }} }}")
        answer = await client.hear()
    errors = answer["payload"] if answer["type"] == "error" else answer["payload"]["errors"]
    assert [error["extensions"]["code"] for error in errors] == ["NOT_FOUND"], answer


async def test_acting_application_receives_only_the_alerts_of_its_user(street: Street) -> None:
    async with socket(street.house.url) as client:
        await client.init(**street.acting)
        await client.subscribe("subscription { alerts { userId } }")
        await client.subscribe("{ unreadAlerts }", "2")
        # the answer to a later operation shows that the subscription is active
        assert [(await client.hear())["id"] for _ in range(2)] == ["2", "2"]
        for user_id in (street.neighbour.user_id, street.one.user_id):
            body = {"userId": user_id, "alertTypeId": "CM01", "inbox": "yes"}
            sent = await street.house.call("POST", "/alert", street.one.headers["application"], json=body)
            assert sent.status_code == 200, sent.text
        assert (await client.payload())["data"]["alerts"]["userId"] == street.one.user_id


def test_each_further_permission_of_acting_applications_has_its_operation() -> None:
    needed = {operation.needs for operation in OPERATIONS if operation.name in MORE_THAN_THE_USER}
    assert needed == set(ACTING_EXCEPTIONS)
    assert not needed & set(GRANTS[Role.ACCOUNT])


async def test_refusal_says_to_leave_out_the_header(street: Street) -> None:
    variables = {"userId": street.neighbour.user_id}
    delete_user = next(operation for operation in OPERATIONS if operation.name == "delete_user")
    refused = await by_graphql(street.house, delete_user, variables, street.acting)
    assert refused.code == "FORBIDDEN"
    assert "leave out the header userId" in refused.body["errors"][0]["message"]
    closed = await by_graphql(
        street.house,
        delete_user,
        {"userId": (await people.active(street.one))["userId"]},
        street.one.headers["application"],
    )
    assert closed.code is None


async def test_acting_application_adds_accounts_only_to_its_user(street: Street) -> None:
    async def add(**more: str) -> httpx.Response:
        body = {"username": f"{uuid4().hex}@one.example", **more}
        return await street.house.call("POST", "/account", street.acting, json=body)

    assert (await add()).json()["userId"] == street.one.user_id
    assert (await add(userId=street.one.user_id)).json()["userId"] == street.one.user_id
    assert (await add(userId=street.neighbour.user_id)).status_code == 404
