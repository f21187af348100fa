"""An application that names a user in the header `userId` can do and see what that user can, and nothing else."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from uuid import uuid4

import httpx
import pytest

from tests.support import people
from tests.support.house import House, Tenant, house
from tests.support.interface_cases import InterfaceCase, cases_on
from tests.support.interfaces import InterfaceResult, by_graphql, is_in_graphql, rest_endpoints
from tests.support.neighbour import add_neighbour, all_rows, private_values, rows_with
from tests.support.servers import ON_SQLITE_ONLY, Databases
from tests.support.short_form import sample, share
from tests.support.socket import socket
from wattgate.errors import Forbidden
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.core.operation import Operation, OperationKind
from wattgate.operations.core.row_reader import check_permission
from wattgate.principal import ACTING_EXCEPTIONS, GRANTS, AuthScheme, Permission, Principal, Role
from wattgate.values.graphql_names import graphql_operation_name

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
    "accept_home_invitation": "A person accepts with an own log-in, and an application reads as the owner.",
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

PREPARED, SENT = 20, 5
"""How many operations that write get their examples before the first is sent, and how many are sent between two looks.

A look at all rows costs more than these operations.
"""


CASES = [
    *(
        InterfaceCase(operation)
        for operation in OPERATIONS
        if is_in_graphql(operation) and operation.kind is not OperationKind.SUBSCRIPTION
    ),
    *(
        InterfaceCase(operation, rest)
        for operation, rest in rest_endpoints()
        if rest.scheme is not AuthScheme.TOKEN  # they refuse the credentials of applications
    ),
]

BY_CALLER = [case for case in CASES if case.operation.needs is not Permission.ANYONE]
"""Operations whose reach depends on the caller. The others reach a user by a password or code in their arguments."""

READS = [case for case in BY_CALLER if not case.writes]
WRITES = [case for case in BY_CALLER if case.writes]


def name_of(case: InterfaceCase) -> str:
    return case.name


@dataclass
class Street:
    """A served gateway, and two users of one application. `secret` has the private values of the neighbour."""

    house: House
    one: Tenant
    neighbour: Tenant
    secret: set[str]

    @property
    def acting(self) -> dict[str, str]:
        """The headers of the application that acts for the first user."""
        return self.one.headers["acting"]


@pytest.fixture(scope="module")
async def street(databases: Databases) -> AsyncIterator[Street]:
    async with databases() as url, house(url) as served:
        neighbour = await add_neighbour(served.one)
        yield Street(served, served.one, neighbour, private_values(served.one, neighbour))


def _assert_no_leak(street: Street, result: InterfaceResult) -> None:
    """Check that a response has no private value of the neighbour."""
    assert result.code != "INTERNAL", result.body
    text = json.dumps(result.value, default=str)
    assert {value for value in street.secret if value in text} == set(), result.body


@pytest.mark.timeout(600)
async def test_acting_application_reads_nothing_of_another_user(street: Street, subtests: pytest.Subtests) -> None:
    """A query has a session that cannot write."""
    for case in sample(cases_on(street.house, READS), name_of):
        with subtests.test(case.name):
            variables = await case.example(street.neighbour)
            result = await case.send(street.house, variables, street.acting, edge_depth=EDGE_DEPTH)
            _assert_no_leak(street, result)


@pytest.mark.timeout(600)
async def test_acting_application_changes_nothing_of_another_user(street: Street, subtests: pytest.Subtests) -> None:
    """The rows after a few requests are those before the next ones, because the examples exist already.

    A change of rows is reported with the few operations that may have made it.
    """
    cases = sample(cases_on(street.house, WRITES), name_of)
    for start in range(0, len(cases), PREPARED):
        prepared = [(case, await case.example(street.neighbour)) for case in cases[start : start + PREPARED]]
        rows = await all_rows(street.neighbour)
        assert rows_with(street.secret, rows)
        for first in range(0, len(prepared), SENT):
            sent = prepared[first : first + SENT]
            for case, variables in sent:
                with subtests.test(case.name):
                    _assert_no_leak(street, await case.send(street.house, variables, street.acting))
            before, rows = rows, await all_rows(street.neighbour)
            with subtests.test(f"rows after {', '.join(case.name for case, _ in sent)}"):
                assert rows_with(street.secret, before ^ rows) == []


def _assert_permission(case: InterfaceCase, result: InterfaceResult, *, permitted: bool) -> None:
    assert (result.code != "FORBIDDEN") is permitted, result.body
    assert (result.code == "UNAUTHENTICATED") is (case.operation.name in FOR_OAUTH_TOKENS), result.body


def is_permitted(principal: Principal, operation: Operation) -> bool:
    try:
        check_permission(principal, operation.needs, is_read=operation.is_read)
    except Forbidden:
        return False
    return True


def test_acting_application_may_run_what_the_account_may() -> None:
    """GraphQL, REST and subscriptions ask this function before an operation, with its permission."""
    account = Principal(Role.ACCOUNT, application_id="application", user_id="user", account_id="account")
    acting = Principal(Role.APPLICATION, application_id="application", user_id="user")
    of_acting, of_account = (
        {operation.name for operation in OPERATIONS if is_permitted(principal, operation)}
        for principal in (acting, account)
    )
    assert of_acting - of_account == set(MORE_THAN_THE_USER)
    assert of_account - of_acting <= set(LESS_THAN_THE_USER)  # the resolvers refuse the others


@ON_SQLITE_ONLY
@pytest.mark.timeout(600)
async def test_each_interface_permits_and_refuses_operations_of_each_permission(
    street: Street, subtests: pytest.Subtests
) -> None:
    """The table above has all operations. These are an eighth with one of each permission, and the exceptions.

    Each exception is on one interface, because its resolver refuses both.
    """
    token = {"token": await street.one.add_token()}
    exceptions = {*MORE_THAN_THE_USER, *LESS_THAN_THE_USER, *FOR_OAUTH_TOKENS}
    usual = share([case for case in CASES if case.operation.name not in exceptions], name_of, lambda case: case.kind)
    by_name = {case.operation.name: case for case in sorted(CASES, key=name_of)}
    by_name |= {case.operation.name: case for case in cases_on(street.house, CASES)}
    cases = [*usual, *(case for name, case in by_name.items() if name in exceptions)]
    for case in sample(sorted(cases, key=lambda case: case.writes), name_of):  # a change may end all tokens
        with subtests.test(case.name):
            name, is_for_accounts = case.operation.name, case.operation.needs in GRANTS[Role.ACCOUNT]
            assert name not in (LESS_THAN_THE_USER if not is_for_accounts else MORE_THAN_THE_USER)
            variables = await case.example(street.one)
            acted = await case.send(street.house, variables, street.acting)
            is_permitted = name in MORE_THAN_THE_USER or (is_for_accounts and name not in LESS_THAN_THE_USER)
            _assert_permission(case, acted, permitted=is_permitted)
            of_caller = case.operation.needs is not Permission.ANYONE
            if of_caller and case.rest is not None and case.rest.scheme is not AuthScheme.BASIC:
                continue  # the conformance suite runs it as the account
            account = {"token": await street.one.add_token()} if case.writes else token
            if case.rest is not None and case.rest.scheme is AuthScheme.BASIC:
                account = street.one.headers["account basic"]
            if case.writes and is_for_accounts:
                variables = await case.example(street.one)
            done = await case.send(street.house, variables, account)
            _assert_permission(case, done, permitted=is_for_accounts)


FOREIGN_SUBSCRIPTIONS = {
    "readings": ("resourceIds", "resource", "resourceId"),
    "freshness": ("resourceIds", "resource", "resourceId"),
    "catch_up_state": ("resourceIds", "resource", "resourceId"),
    "device_states": ("deviceIds", "device", "deviceId"),
    "display": ("homeId", "virtual_entity", "name"),
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
@pytest.mark.alternate_databases("the cases have the same statements")
async def test_acting_application_subscribes_to_nothing_of_another_user(street: Street, name: str) -> None:
    argument, kind, field = FOREIGN_SUBSCRIPTIONS[name]
    foreign = street.neighbour.ids[kind]
    value = json.dumps([foreign] if argument.endswith("s") else foreign)
    async with socket(street.house.url) as client:
        await client.init(**street.acting)
        await client.subscribe(f"subscription {{ {graphql_operation_name(name)}({argument}: {value}) {{ {field} }} }}")
        answer = await client.hear()
    errors = answer["payload"] if answer["type"] == "error" else answer["payload"]["errors"]
    assert [error["extensions"]["code"] for error in errors] == ["NOT_FOUND"], answer


async def test_acting_application_receives_only_the_alerts_of_its_user(street: Street) -> None:
    async with socket(street.house.url) as client:
        await client.init(**street.acting)
        await client.subscribe("subscription { alerts { userId } }")
        await client.subscribe("{ viewer { unreadAlerts } }", "2")
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
