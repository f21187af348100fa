"""GraphQL and REST agree on every operation of the catalogue, for two tenants. Each one runs on both databases."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support import people
from tests.support.examples import EXAMPLES
from tests.support.examples_users import FRESH_CALLERS
from tests.support.house import House, Tenant, house
from tests.support.interfaces import (
    InterfaceResult,
    by_graphql,
    by_rest,
    field_of,
    is_in_graphql,
    rest_endpoints,
    to_rest_values,
)
from tests.support.legacy import REST_ARGUMENTS, REST_RESULTS
from tests.support.residents import resident
from tests.support.servers import ON_SQLITE_ONLY, Databases
from tests.support.short_form import sample, share
from wattgate.delivery.account_mails import ACCOUNT_MAIL_TYPES
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.core.operation import Operation, OperationKind, RestRoute
from wattgate.principal import ACTING_EXCEPTIONS, GRANTS, AuthScheme, Permission, Role

pytestmark = pytest.mark.both_databases("the conformance suite")

Endpoint = tuple[Operation, RestRoute]

ENDPOINTS: list[Endpoint] = rest_endpoints()
NOT_FOR_ACCOUNTS = [endpoint for endpoint in ENDPOINTS if endpoint[0].needs not in GRANTS[Role.ACCOUNT]]
BY_ID = [endpoint for endpoint in ENDPOINTS if "{" in endpoint[1].path]
LISTS = [
    (operation, rest)
    for operation, rest in ENDPOINTS
    if operation.returns_list and operation.kind is OperationKind.QUERY and "{" not in rest.path
]
WITH_REQUIRED_ARGUMENTS = [
    (operation, rest)
    for operation, rest in ENDPOINTS
    if rest.method in ("POST", "PUT") and any(argument.required for argument in operation.arguments.values())
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
    "uri",
    "recoveryCodes",
    "issuer",
    "previewUrl",
    "expiresAt",
    "joinedAt",
    "lastSeenAt",
    *("deviceCode", "userCode", "verificationUriComplete", "qrCode"),
    *("device_code", "user_code", "verification_uri_complete", "qr_code"),
}


GRAPHQL_ONLY = [
    operation for operation in OPERATIONS if not operation.rest and operation.kind is not OperationKind.SUBSCRIPTION
]
EMPTY_IS_ENOUGH = {
    "POST /webhook/endpoint/{endpointId}/secret",  # the path has every required argument
    "POST /webhook/endpoint/{endpointId}/ping",
    "POST /webhook/endpoint/{endpointId}/redrive",
    "POST /template/{templateId}/version",  # the same texts again
    "POST /template/{templateId}/rollback",  # the path has every required argument
    "POST /template/{templateId}/archive",
    "POST /template/{templateId}/restore",
    "POST /template/{templateId}/share",
    "POST /virtualentity/{veId}/attribute",  # no metadata to merge
    "POST /user/verification/status/mpxn/{mpxn}/renewal",  # the path has every required argument
    "POST /user/verification/status/mpxn/{mpxn}/revocation",
}


EMPTY_IS_TOO_LITTLE = {
    "PUT /user/verify",  # PUT, but every argument is required
    "PUT /user/resetpassword",
    "PUT /account/email",
    "PUT /account/secondfactor",
    "PUT /user/{userId}/username",
    "PUT /account/{accountId}/mobileapptoken",
    "PUT /device/{deviceId}/owner",
    "PUT /resource/{resourceId}/owner",
    "PUT /paireddisplay/{displayId}",
}
FORGED = ({"token": "forged"}, {"Authorization": "Basic Zm9yZ2VkOmZvcmdlZA=="})

CALLERS_BY_OPERATION = {"oauth_user": "oauth", "own_display": "display"}  # they describe the token of the request


def key_of(endpoint: Endpoint) -> str:
    return endpoint[1].route_key


def caller_headers(tenant: Tenant, operation: Operation, rest: RestRoute) -> dict[str, str]:
    """Return the headers of a caller who has the permission, with the scheme of the endpoint."""
    if operation.needs is Permission.ANYONE:
        return {}
    if operation.name in CALLERS_BY_OPERATION:
        return tenant.headers[CALLERS_BY_OPERATION[operation.name]]
    if rest.scheme is AuthScheme.TOKEN:
        return tenant.headers["administrator"]
    if rest.scheme is AuthScheme.BASIC:
        return tenant.headers["acting" if operation.needs in GRANTS[Role.ACCOUNT] else "application"]
    return tenant.headers["account" if operation.needs in GRANTS[Role.ACCOUNT] else "application"]


class Refused:
    """Examples of the first tenant for requests that the gateway refuses. They stay, so each is created once."""

    def __init__(self, tenant: Tenant) -> None:
        self._tenant = tenant
        self._made: dict[str, dict[str, Any]] = {}

    async def example(self, operation: Operation) -> dict[str, Any]:
        if operation.name not in self._made:
            self._made[operation.name] = await EXAMPLES[operation.name](self._tenant)
        return dict(self._made[operation.name])

    async def rest_example(self, operation: Operation, rest: RestRoute) -> dict[str, Any]:
        """Return the example of an endpoint in its REST format."""
        return dict(to_rest_variables(rest, await self.example(operation)))


def to_rest_variables(rest: RestRoute, variables: dict[str, Any]) -> Any:
    change = REST_ARGUMENTS.get(rest.route_key)
    return change(variables) if change else variables


async def send_rest_example(
    house: House, operation: Operation, rest: RestRoute, variables: dict[str, Any], headers: dict[str, str]
) -> InterfaceResult:
    return await by_rest(house, operation, rest, to_rest_variables(rest, variables), headers)


def test_operations_and_examples_match() -> None:
    served = {operation.name for operation in OPERATIONS if operation.kind is not OperationKind.SUBSCRIPTION}
    assert set(EXAMPLES) == served


@pytest.fixture(scope="session")
async def own_house(databases: Databases) -> AsyncIterator[House]:
    """A served gateway on each engine for these tests alone, because the examples change records of its tenants.

    It is a private one, on which people erase themselves.
    """
    minutes = 60  # a slow walk takes more than 5
    async with databases() as url, house(url, recent_login_minutes=minutes, private_gateway=True) as opened:
        for tenant in (opened.one, opened.other):
            owner = await resident(tenant)
            await people.home_member(owner, tenant, await owner.add_home())
        yield opened


@pytest.fixture(scope="session")
def refused(own_house: House) -> Refused:
    return Refused(own_house.one)


@pytest.mark.timeout(600)
async def test_graphql_and_rest_return_the_same(own_house: House, subtests: pytest.Subtests) -> None:
    """On PostgreSQL, REST alone sends the mutations. A mutation has the same statements on both interfaces."""
    is_sqlite = own_house.gateway.database.is_sqlite
    for operation, rest in sample(ENDPOINTS, key_of):
        with subtests.test(rest.route_key):
            if is_in_graphql(operation) and (is_sqlite or operation.kind is OperationKind.QUERY):
                await _assert_both_return_the_same(own_house, operation, rest)
            else:
                await _assert_rest_answers(own_house, operation, rest)


async def _assert_rest_answers(own_house: House, operation: Operation, rest: RestRoute) -> None:
    """Assert that an operation succeeds over REST. Tests of the connections compare what GraphQL has instead."""
    tenant = own_house.one
    if operation.name in FRESH_CALLERS:
        headers, example = await FRESH_CALLERS[operation.name](tenant)
    else:
        example, headers = await EXAMPLES[operation.name](tenant), caller_headers(tenant, operation, rest)
    if operation.name == "delete_token":  # it deletes the token of the request
        headers = {"token": await tenant.add_token()}
    result = await send_rest_example(own_house, operation, rest, example, headers)
    assert (result.code, result.status) == (None, rest.status), result.body


async def _assert_both_return_the_same(own_house: House, operation: Operation, rest: RestRoute) -> None:
    tenant, example = own_house.one, EXAMPLES[operation.name]
    headers = caller_headers(tenant, operation, rest)
    if operation.kind is OperationKind.MUTATION:
        graphql_example, rest_example = await example(tenant), await example(tenant)
    else:
        graphql_example = rest_example = await example(tenant)
    if operation.name in FRESH_CALLERS:
        headers, graphql_example = await FRESH_CALLERS[operation.name](tenant)
    if operation.name == "delete_token":  # it deletes the token of the request
        headers = {"token": await tenant.add_token()}
    graphql_result = await by_graphql(own_house, operation, graphql_example, headers, rest.edges)
    assert graphql_result.code is None, graphql_result.body
    if operation.name == "delete_token":
        headers = {"token": await tenant.add_token()}
    if operation.name in FRESH_CALLERS:
        headers, rest_example = await FRESH_CALLERS[operation.name](tenant)
    rest_result = await send_rest_example(own_house, operation, rest, rest_example, headers)
    assert rest_result.code is None, rest_result.body
    assert rest_result.status == rest.status
    to_rest_result = REST_RESULTS.get(rest.route_key)
    expected = to_rest_values(operation, graphql_result.value)
    if to_rest_result:
        expected = to_rest_result(expected)
    elif rest.acknowledged_fields:
        expected = {"status": "OK", **{name: expected[name] for name in rest.acknowledged_fields}}
    mutation = operation.kind is OperationKind.MUTATION
    assert without_volatile_members(rest_result.value, mutation) == without_volatile_members(expected, mutation)


@ON_SQLITE_ONLY
@pytest.mark.timeout(600)
async def test_both_interfaces_refuse_missing_or_forged_credentials(
    own_house: House, refused: Refused, subtests: pytest.Subtests
) -> None:
    """The permission of a field refuses missing credentials. GraphQL refuses forged ones before it reads a document.

    So an eighth of the documents has forged credentials, with one of each permission.
    """
    forged_documents = share(ENDPOINTS, key_of, lambda endpoint: endpoint[0].needs)
    for operation, rest in sample(ENDPOINTS, key_of):
        with subtests.test(rest.route_key):
            variables = await refused.example(operation)
            needs_nothing = operation.needs is Permission.ANYONE
            for headers in FORGED if needs_nothing else ({}, *FORGED):
                rest_result = await send_rest_example(own_house, operation, rest, variables, headers)
                assert (rest_result.code, rest_result.status) == ("UNAUTHENTICATED", 401)
            if is_in_graphql(operation):
                forged = FORGED if (operation, rest) in forged_documents else ()
                for headers in forged if needs_nothing else ({}, *forged):
                    graphql_result = await by_graphql(own_house, operation, variables, headers)
                    assert graphql_result.code == "UNAUTHENTICATED"


@ON_SQLITE_ONLY
async def test_operations_without_the_permission_are_forbidden(
    own_house: House, refused: Refused, subtests: pytest.Subtests
) -> None:
    assert len(NOT_FOR_ACCOUNTS) > 40
    for operation, rest in NOT_FOR_ACCOUNTS:
        with subtests.test(rest.route_key):
            variables = await refused.example(operation)
            headers = own_house.one.headers["account basic" if rest.scheme is AuthScheme.BASIC else "account"]
            rest_result = await send_rest_example(own_house, operation, rest, variables, headers)
            assert (rest_result.code, rest_result.status) == ("FORBIDDEN", 403)
            if is_in_graphql(operation):
                assert (await by_graphql(own_house, operation, variables, headers)).code == "FORBIDDEN"


@pytest.mark.timeout(600)
async def test_records_of_other_tenants_and_unknown_records_are_not_found(
    own_house: House, refused: Refused, subtests: pytest.Subtests
) -> None:
    """Both interfaces refuse both records on SQLite. On PostgreSQL, REST refuses them: the statements are the same."""
    assert len(BY_ID) > 100
    for operation, rest in BY_ID:
        with subtests.test(rest.route_key):
            await _assert_not_found(own_house, await refused.example(operation), operation, rest)


async def _assert_not_found(own_house: House, theirs: dict[str, Any], operation: Operation, rest: RestRoute) -> None:
    headers, is_sqlite = caller_headers(own_house.other, operation, rest), own_house.gateway.database.is_sqlite
    for variables in (theirs, _with_unknown_ids(theirs, rest)):
        rest_result = await send_rest_example(own_house, operation, rest, variables, headers)
        # the IDs of readings are input values, so the whole batch is refused
        expected = ("BAD_INPUT", 400) if operation.name == "record_readings" else ("NOT_FOUND", 404)
        assert (rest_result.code, rest_result.status) == expected
        if is_in_graphql(operation) and is_sqlite:
            assert (await by_graphql(own_house, operation, variables, headers)).code == expected[0]


async def test_lists_contain_no_records_of_other_tenants(own_house: House, subtests: pytest.Subtests) -> None:
    assert len(LISTS) > 30
    for operation, rest in LISTS:
        with subtests.test(rest.route_key):
            ours, theirs = [
                await by_graphql(own_house, operation, {}, caller_headers(tenant, operation, rest))
                if is_in_graphql(operation)
                else await by_rest(own_house, operation, rest, {}, caller_headers(tenant, operation, rest))
                for tenant in (own_house.one, own_house.other)
            ]
            assert ours.value
            assert theirs.value
            assert not _ids(ours.value) & _ids(theirs.value)


@ON_SQLITE_ONLY
async def test_empty_body_returns_all_missing_elements(
    own_house: House, refused: Refused, subtests: pytest.Subtests
) -> None:
    for operation, rest in sample(WITH_REQUIRED_ARGUMENTS, key_of):
        with subtests.test(rest.route_key):
            await _assert_all_missing_elements(own_house, refused, operation, rest)


async def _assert_all_missing_elements(
    own_house: House, refused: Refused, operation: Operation, rest: RestRoute
) -> None:
    headers, route_key = caller_headers(own_house.one, operation, rest), rest.route_key
    is_enough = route_key in EMPTY_IS_ENOUGH or (rest.method == "PUT" and route_key not in EMPTY_IS_TOO_LITTLE)
    if is_enough:
        variables = dict(to_rest_variables(rest, await EXAMPLES[operation.name](own_house.one)))
    else:
        variables = await refused.rest_example(operation, rest) if "{" in rest.path else {}
    path = {name: value for name, value in variables.items() if f"{{{name}}}" in rest.path}
    if rest.path.endswith("/readings"):
        path = {"resourceId": own_house.one.ids["resource"]}
    rest_result = await by_rest(own_house, operation, rest, path, headers)
    if is_enough:
        assert rest_result.status == rest.status  # an update without changes succeeds
        return
    assert (rest_result.status, rest_result.code) == (400, "BAD_INPUT")
    error_text = rest_result.body.get("error_description", rest_result.body["error"])  # RFC 6749: `error` is a code
    assert error_text.startswith("missing elements -")
    assert len(rest_result.body["problems"]) == error_text.count(" -")
    assert all(problem["message"] == "is missing" for problem in rest_result.body["problems"])


@ON_SQLITE_ONLY
async def test_body_that_is_not_an_object_is_refused(
    own_house: House, refused: Refused, subtests: pytest.Subtests
) -> None:
    for operation, rest in sample(WITH_REQUIRED_ARGUMENTS, key_of):
        with subtests.test(rest.route_key):
            headers = {**caller_headers(own_house.one, operation, rest), "Content-Type": "application/json"}
            variables = await refused.rest_example(operation, rest) if "{" in rest.path else {}
            path = rest.path
            for name, value in {**own_house.one.ids, **variables}.items():
                path = path.replace(f"{{{name}}}", str(value))
            path = path.replace("{resourceId}", own_house.one.ids["resource"])
            for body in (b"[1]", b'"text"', b"{", b"\xff", b"null"):
                answer = await own_house.call(rest.method, path, headers, content=body)
                assert (answer.status_code, answer.json()["code"]) == (400, "BAD_INPUT"), body


@ON_SQLITE_ONLY
async def test_graphql_only_operations_require_their_permission(own_house: House, subtests: pytest.Subtests) -> None:
    assert GRAPHQL_ONLY
    for operation in GRAPHQL_ONLY:
        with subtests.test(operation.name):
            refused_to_accounts = operation.needs not in GRANTS[Role.ACCOUNT]
            who = "account"
            if refused_to_accounts:  # an operation for a user needs the header userId, any other one refuses it
                who = "acting" if operation.needs in ACTING_EXCEPTIONS else "application"
            variables = await EXAMPLES[operation.name](own_house.one)
            result = await by_graphql(own_house, operation, variables, own_house.one.headers[who])
            assert result.code is None, result.body
            for headers in ({}, {"token": "forged"}):
                assert (await by_graphql(own_house, operation, variables, headers)).code == "UNAUTHENTICATED"
            if refused_to_accounts:
                refused = await by_graphql(own_house, operation, variables, own_house.one.headers["account"])
                assert refused.code == "FORBIDDEN"


def _with_unknown_ids(variables: dict[str, Any], rest: RestRoute) -> dict[str, Any]:
    unknown = "00000000-0000-4000-8000-000000000000"
    if "series" in variables:
        return {"series": [{**variables["series"][0], "resourceId": unknown}]}
    ids = {name for name in variables if f"{{{name}}}" in rest.path and name.endswith(("Id", "mpxn"))}
    if "mpxns" in variables:
        return {**variables, "mpxns": ["0"]}
    return {name: unknown if name in ids else value for name, value in variables.items()}


def _ids(value: Any) -> set[str]:
    """Return every identifier in a response except those that tenants share."""
    found: set[str] = set()
    for record in value if isinstance(value, list) else next(iter(value.values())):
        found |= {
            item for name, item in record.items() if name.endswith("Id") and isinstance(item, str) and "-" in item
        } - set(ACCOUNT_MAIL_TYPES)
    return found


def _is_created_by_each_call(name: str) -> bool:
    """Return whether a member differs because each call of a mutation creates a record."""
    names = ("ns_alert_id", "mpxn", "mpxns", "validUntil", "isValidUntil", "revokedAt", "tags", "MAC")
    return name.endswith("Id") or name in names


def without_volatile_members(value: Any, mutation: bool) -> Any:
    """Replace the values that differ between two calls. Each call of a mutation creates a record with a new ID."""
    if isinstance(value, list):
        return [without_volatile_members(item, mutation) for item in value]
    if isinstance(value, dict):
        return {
            name: "*"
            if name in VOLATILE or (mutation and _is_created_by_each_call(name))
            else without_volatile_members(item, mutation)
            for name, item in value.items()
        }
    return value


def test_every_root_field_has_a_description() -> None:
    for operation in OPERATIONS:
        assert field_of(operation).description, operation.name
