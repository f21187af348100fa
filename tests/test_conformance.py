"""Both doors agree: every row of the catalogue on GraphQL and REST, for two tenants, on both databases."""

from typing import Any

import pytest

from tests.support.doors import Answered, by_graphql, by_rest, doors, enums_as_rest, field_of
from tests.support.examples import EXAMPLES
from tests.support.house import House, Tenant
from tests.support.legacy import REST_GIVES, REST_TAKES
from wattgate.graphql.catalogue import OPERATIONS
from wattgate.graphql.core.operation import Kind, Operation, Rest
from wattgate.principal import GRANTS, Permission, Role, Scheme

DOORS = [pytest.param(operation, rest, id=rest.place) for operation, rest in doors()]
NOT_FOR_ACCOUNTS = [
    pytest.param(operation, rest, id=rest.place)
    for operation, rest in doors()
    if operation.needs not in GRANTS[Role.ACCOUNT]
]
NOT_RECORDS = {
    "meter_point_inventory",  # the inventory is the meter network's, and any application may ask it about any number
    "smart_meter_inventory",
}
BY_ID = [
    pytest.param(operation, rest, id=rest.place)
    for operation, rest in doors()
    if "{" in rest.path and operation.name not in NOT_RECORDS
]
WITH_REQUIRED = [
    pytest.param(operation, rest, id=rest.place)
    for operation, rest in doors()
    if rest.method in ("POST", "PUT") and any(argument.required for argument in operation.takes.values())
]
VOLATILE = {
    "resourceApplicationAccess",
    "createdAt",
    "updatedAt",
    "token",
    "exp",
    "tokenId",
    "code",
    "access_token",
    "refresh_token",
    "refresh_type",
    "username",
    "totalVirtualEntities",
    "P1D",
    "P1W",
    "P1M",
    "secret",
    "secretExpiresAt",
}


GRAPHQL_ALONE = [
    operation for operation in OPERATIONS if not operation.rest and operation.kind is not Kind.SUBSCRIPTION
]
EMPTY_IS_ENOUGH = {
    "POST /webhook/endpoint/{endpointId}/secret",  # the path says everything
    "POST /webhook/endpoint/{endpointId}/ping",
    "POST /webhook/endpoint/{endpointId}/redrive",
    "POST /virtualentity/{veId}/attribute",  # no metadata to merge
    "POST /user/verification/status/mpxn/{mpxn}/renewal",  # the path says everything
    "POST /user/verification/status/mpxn/{mpxn}/revocation",
}


NOTHING_IS_TOO_LITTLE = {
    "PUT /user/verify",  # these change nothing by leaving things out: they need what they ask for
    "PUT /user/resetpassword",
    "PUT /user/{userId}/username",
    "PUT /account/{accountId}/mobileapptoken",
}
CALLERS = {"oauth_user": "oauth"}  # it is about the token that it is called with


def caller(tenant: Tenant, operation: Operation, rest: Rest) -> dict[str, str]:
    """The headers of a caller who may: an account's where it may, else the application's or the administrator's."""
    if operation.needs is Permission.ANYONE:
        return {}
    if operation.name in CALLERS:
        return tenant.headers[CALLERS[operation.name]]
    if rest.scheme is Scheme.TOKEN:
        return tenant.headers["administrator"]
    if rest.scheme is Scheme.BASIC:
        return tenant.headers["acting" if operation.needs in GRANTS[Role.ACCOUNT] else "application"]
    return tenant.headers["account" if operation.needs in GRANTS[Role.ACCOUNT] else "application"]


async def rest_variables(tenant: Tenant, operation: Operation, rest: Rest) -> dict[str, Any]:
    """The example of a place, as REST takes it."""
    return dict(_as_rest_takes(rest, await EXAMPLES[operation.name](tenant)))


def _as_rest_takes(rest: Rest, variables: dict[str, Any]) -> Any:
    change = REST_TAKES.get(rest.place)
    return change(variables) if change else variables


async def rest_answer(
    house: House, operation: Operation, rest: Rest, variables: dict[str, Any], headers: dict[str, str]
) -> Answered:
    return await by_rest(house, operation, rest, _as_rest_takes(rest, variables), headers)


def test_every_operation_has_an_example_and_every_example_an_operation() -> None:
    served = {operation.name for operation in OPERATIONS if operation.kind is not Kind.SUBSCRIPTION}
    assert set(EXAMPLES) == served


@pytest.mark.parametrize(("operation", "rest"), DOORS)
async def test_both_doors_give_the_same(served: House, operation: Operation, rest: Rest) -> None:
    tenant, example = served.one, EXAMPLES[operation.name]
    headers = caller(tenant, operation, rest)
    if operation.kind is Kind.MUTATION:
        by_one, by_other = await example(tenant), await example(tenant)
    else:
        by_one = by_other = await example(tenant)
    if operation.name == "delete_token":  # it ends the token that it is called with
        headers = {"token": await tenant.add_token()}
    graphql = await by_graphql(served, operation, by_one, headers, rest.edges)
    assert graphql.code is None, graphql.body
    if operation.name == "delete_token":
        headers = {"token": await tenant.add_token()}
    answered = await rest_answer(served, operation, rest, by_other, headers)
    assert answered.code is None, answered.body
    assert answered.status == rest.status
    gives = REST_GIVES.get(rest.place)
    expected = enums_as_rest(operation, graphql.value)
    if gives:
        expected = gives(expected)
    elif rest.acknowledges:
        expected = {"status": "OK", **{name: expected[name] for name in rest.acknowledges}}
    mutation = operation.kind is Kind.MUTATION
    assert settled(answered.value, mutation) == settled(expected, mutation)


@pytest.mark.parametrize(("operation", "rest"), DOORS)
async def test_without_credentials_neither_door_opens(served: House, operation: Operation, rest: Rest) -> None:
    variables = await EXAMPLES[operation.name](served.one)
    for headers in ({}, {"token": "forged"}, {"Authorization": "Basic Zm9yZ2VkOmZvcmdlZA=="}):
        if operation.needs is Permission.ANYONE and not headers:
            continue
        graphql = await by_graphql(served, operation, variables, headers)
        answered = await rest_answer(served, operation, rest, variables, headers)
        assert (graphql.code, answered.code) == ("UNAUTHENTICATED", "UNAUTHENTICATED")
        assert answered.status == 401


@pytest.mark.parametrize(("operation", "rest"), NOT_FOR_ACCOUNTS)
async def test_what_an_account_may_not_do_is_forbidden(served: House, operation: Operation, rest: Rest) -> None:
    variables = await EXAMPLES[operation.name](served.one)
    headers = served.one.headers["account basic" if rest.scheme is Scheme.BASIC else "account"]
    graphql = await by_graphql(served, operation, variables, headers)
    answered = await rest_answer(served, operation, rest, variables, headers)
    assert (graphql.code, answered.code, answered.status) == ("FORBIDDEN", "FORBIDDEN", 403)


@pytest.mark.parametrize(("operation", "rest"), BY_ID)
async def test_another_tenants_record_and_an_unknown_one_are_alike_not_found(
    served: House, operation: Operation, rest: Rest
) -> None:
    headers = caller(served.other, operation, rest)
    theirs = await EXAMPLES[operation.name](served.one)
    for variables in (theirs, _with_unknown_ids(theirs, rest)):
        graphql = await by_graphql(served, operation, variables, headers)
        answered = await rest_answer(served, operation, rest, variables, headers)
        if operation.name == "record_readings":  # its ids are input, so that the whole batch is refused
            assert (graphql.code, answered.code, answered.status) == ("BAD_INPUT", "BAD_INPUT", 400)
        else:
            assert (graphql.code, answered.code, answered.status) == ("NOT_FOUND", "NOT_FOUND", 404)


@pytest.mark.parametrize(
    ("operation", "rest"),
    [
        pytest.param(operation, rest, id=rest.place)
        for operation, rest in doors()
        if operation.many and operation.kind is Kind.QUERY and "{" not in rest.path
    ],
)
async def test_a_list_never_holds_another_tenants_records(served: House, operation: Operation, rest: Rest) -> None:
    ours = await by_graphql(served, operation, {}, caller(served.one, operation, rest))
    theirs = await by_graphql(served, operation, {}, caller(served.other, operation, rest))
    assert ours.value
    assert theirs.value
    assert not _ids(ours.value) & _ids(theirs.value)


@pytest.mark.parametrize(("operation", "rest"), WITH_REQUIRED)
async def test_an_empty_body_names_everything_that_is_missing(served: House, operation: Operation, rest: Rest) -> None:
    headers = caller(served.one, operation, rest)
    variables = await rest_variables(served.one, operation, rest)
    path = {name: value for name, value in variables.items() if f"{{{name}}}" in rest.path}
    if rest.path.endswith("/readings"):
        path = {"resourceId": served.one.ids["resource"]}
    answered = await by_rest(served, operation, rest, path, headers)
    place = rest.place
    if place in EMPTY_IS_ENOUGH or (rest.method == "PUT" and place not in NOTHING_IS_TOO_LITTLE):
        assert answered.status == rest.status  # nothing to change is a change of nothing
        return
    assert (answered.status, answered.code) == (400, "BAD_INPUT")
    words = answered.body.get("error_description", answered.body["error"])  # RFC 6749 has a code in `error`
    assert words.startswith("missing elements -")
    assert len(answered.body["problems"]) == words.count(" -")
    assert all(problem["message"] == "is missing" for problem in answered.body["problems"])


@pytest.mark.parametrize(("operation", "rest"), WITH_REQUIRED)
async def test_a_body_that_is_not_an_object_is_refused(served: House, operation: Operation, rest: Rest) -> None:
    headers = caller(served.one, operation, rest)
    path = rest.path
    for name, value in {**served.one.ids, **(await rest_variables(served.one, operation, rest))}.items():
        path = path.replace(f"{{{name}}}", str(value))
    path = path.replace("{resourceId}", served.one.ids["resource"])
    for body in (b"[1]", b'"text"', b"{", b"\xff", b"null"):
        answer = await served.call(rest.method, path, headers, content=body)
        assert (answer.status_code, answer.json()["code"]) == (400, "BAD_INPUT"), body


@pytest.mark.parametrize("operation", GRAPHQL_ALONE, ids=lambda operation: operation.name)
async def test_what_stands_on_graphql_alone_answers_its_callers_and_nobody_else(
    served: House, operation: Operation
) -> None:
    who = "account" if operation.needs in GRANTS[Role.ACCOUNT] else "acting"
    answered = await by_graphql(served, operation, await EXAMPLES[operation.name](served.one), served.one.headers[who])
    assert answered.code is None, answered.body
    variables = await EXAMPLES[operation.name](served.one)
    for headers in ({}, {"token": "forged"}):
        assert (await by_graphql(served, operation, variables, headers)).code == "UNAUTHENTICATED"
    if who == "acting":
        refused = await by_graphql(served, operation, variables, served.one.headers["account"])
        assert refused.code == "FORBIDDEN"


def _with_unknown_ids(variables: dict[str, Any], rest: Rest) -> dict[str, Any]:
    unknown = "00000000-0000-4000-8000-000000000000"
    if "series" in variables:
        return {"series": [{**variables["series"][0], "resourceId": unknown}]}
    ids = {name for name in variables if f"{{{name}}}" in rest.path and name.endswith(("Id", "mpxn"))}
    if "mpxns" in variables:
        return {**variables, "mpxns": ["0"]}
    return {name: unknown if name in ids else value for name, value in variables.items()}


def _ids(value: Any) -> set[str]:
    """Every identifier in an answer but the shared ones."""
    found: set[str] = set()
    for record in value:
        found |= {
            item for name, item in record.items() if name.endswith("Id") and isinstance(item, str) and "-" in item
        }
    return found


def _made(name: str) -> bool:
    """Whether a member differs because each call of a mutation makes its own record."""
    return name.endswith("Id") or name in ("ns_alert_id", "mpxn", "mpxns", "validUntil", "isValidUntil", "revokedAt")


def settled(value: Any, mutation: bool) -> Any:
    """An answer without what differs from call to call; a mutation makes a record, and so an id, each time."""
    if isinstance(value, list):
        return [settled(item, mutation) for item in value]
    if isinstance(value, dict):
        return {
            name: "*" if name in VOLATILE or (mutation and _made(name)) else settled(item, mutation)
            for name, item in value.items()
        }
    return value


def test_the_field_of_every_operation_is_described() -> None:
    for operation in OPERATIONS:
        assert field_of(operation).description, operation.name
