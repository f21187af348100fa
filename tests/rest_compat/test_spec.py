"""The REST interface matches SPEC.md: endpoints, records, statuses and authentication schemes."""

import re
from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from strawberry.types import get_object_definition

from tests.support import spec
from tests.support.gateway_schema import GATEWAY_SCHEMA
from tests.support.house import House
from tests.support.servers import serving
from wattgate.app.server.gate.application import unexpected_error_response
from wattgate.graphql.execution.schema import build_schema
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.core.fields import is_in_rest
from wattgate.operations.core.operation import Call
from wattgate.operations.readings import live_readings
from wattgate.operations.types.content import content
from wattgate.operations.types.homes import resources
from wattgate.operations.types.identity import accounts
from wattgate.operations.types.messages import alerts, webhooks
from wattgate.operations.webhooks.webhooks import record_webhook
from wattgate.principal import AuthScheme
from wattgate.rest_compat.openapi.document import build_openapi_document
from wattgate.rest_compat.routes import build_routes
from wattgate.rest_compat.row_renderer import rest_name

pytestmark = pytest.mark.both_databases("a main path of its area")

TIMESTAMP = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
JSON_TYPES: dict[str, type] = {"string": str, "boolean": bool, "array": list, "object": dict, "integer": int}
DOCS = Path(__file__).parents[2] / "docs"
DECISIONS = (DOCS / "explanation" / "decisions" / "small-decisions.md").read_text()
DECIDED_ADDITIONS = {
    endpoint
    for row in DECISIONS.splitlines()
    if "addition to the specification" in row
    for endpoint in re.findall(r"`([A-Z]+ /[^`]+)`", row.split("|")[1])
}
"""Endpoints that are not in SPEC.md; small-decisions.md has a row for each."""
RECORD_TYPES = {
    "### Alert type": alerts.AlertType,
    "### Template (alert template)": alerts.Template,
    "### Terms and conditions user response": content.TermsConditionsUser,
    "### FAQ": content.Faq,
    "### Webhook": webhooks.Webhook,
    "### Account": accounts.Account,
    "### Resource type": resources.ResourceType,
}


def without_parameter_names(text: str) -> str:
    """Return a path without the names of its parameters."""
    return re.sub(r"{.*?}", "{}", text)


SERVED_ROUTES = {
    f"{rest.method} {without_parameter_names(rest.path)}": rest for operation in OPERATIONS for rest in operation.rest
}
DETAILED_ENDPOINTS = [pytest.param(detail, id=endpoint) for endpoint, detail in spec.details().items()]


def assert_record_matches(record: Any, heading: str) -> None:
    """Assert that a record has exactly the fields of its table in SPEC.md, with the types of the table."""
    fields = spec.fields(heading)
    assert set(record) == set(fields)
    for name, type_ in fields.items():
        assert isinstance(record[name], JSON_TYPES[type_]), name
        if name.endswith("At"):
            assert TIMESTAMP.match(record[name]), name


@pytest.mark.parametrize("detail", DETAILED_ENDPOINTS)
def test_endpoint_has_the_documented_scheme(detail: spec.Detail) -> None:
    rest = SERVED_ROUTES[without_parameter_names(f"{detail.method} {detail.path}")]
    assert rest.scheme is not None
    assert rest.scheme.value == detail.scheme


async def test_alert_type_is_added_and_renamed(served: House) -> None:
    headers = served.one.headers["application"]
    body = {"systemAlertTypeId": "CM07", "description": "No data", "name": "Silence"}
    added = await served.call("POST", "/alerttype", headers, json=body)
    assert_record_matches(added.json(), "### Alert type")
    assert added.json() == added.json() | body | {"active": True, "applicationId": served.one.application_id}
    path = f"/alerttype/{added.json()['alertTypeId']}"
    renamed = await served.call("PUT", path, headers, json={"name": "Still silent"})
    assert renamed.json() == added.json() | {"name": "Still silent"}
    assert (await served.call("GET", path, headers)).json() == renamed.json()


async def test_added_resource_type_has_the_sent_members(served: House) -> None:
    body = {
        "name": "reactive import",
        "classifier": "electricity.import.reactive",
        "storage": [
            {
                "type": "timeseries",
                "sampling": "regular",
                "start": "2014-01-06T00:00:00+01:00",
                "fields": [
                    {"fieldName": "GEN", "unit": "kVARh", "datatype": "fixedpoint(2)", "negative": False},
                    {"fieldName": "LOAD", "unit": "kVARh", "datatype": "DECIMAL(15,5)", "negative": True},
                ],
            }
        ],
        "description": "Reactive energy",
        "dataSourceType": "AMRAPI",
        "dataSourceResourceTypeInfo": "REACTIVE",
    }
    headers = served.one.headers["administrator"]
    added = await served.call("POST", "/resourcetype", headers, json=body)
    assert added.status_code == 200
    assert set(added.json()) == {"status", "resourceTypeId"}
    stored = (await served.call("GET", f"/resourcetype/{added.json()['resourceTypeId']}", headers)).json()
    for name in spec.fields("### Resource type"):
        if name != "storage":
            assert stored[name] == body[name]
    definition, sent_definition = stored["storage"][0], body["storage"][0]
    assert isinstance(sent_definition, dict)
    assert definition == {**sent_definition, "interval": None}
    assert set(sent_definition) == {"type", "sampling", "start", "fields"}


async def test_faqs_are_listed_and_filtered(served: House) -> None:
    headers = served.one.headers["application"]
    everything = (await served.call("GET", "/faq", headers)).json()
    for record in everything:
        assert_record_matches(record, "### FAQ")
        assert all(set(item) == {"question", "reply"} for item in record["data"])
    params = {"reference": "app", "country": "GB", "version": "1.2.0"}
    (found,) = (await served.call("GET", "/faq", headers, params=params)).json()
    assert found["faqId"] == served.one.ids["faq"]
    for name in params:
        nothing = await served.call("GET", "/faq", headers, params={**params, name: "another"})
        assert (nothing.status_code, nothing.json()) == (200, [])


async def test_account_is_renamed(served: House) -> None:
    account_id = await served.one.add_account("renamed@one.example")
    headers = served.one.headers["application"]
    renamed = await served.call("PUT", f"/account/{account_id}", headers, json={"name": "Grace"})
    assert_record_matches(renamed.json(), "### Account")
    assert renamed.json()["name"] == "Grace"
    assert (await served.call("GET", f"/account/{account_id}", headers)).json() == renamed.json()


async def test_response_is_json_for_any_accept_header(served: House) -> None:
    headers = {**served.one.headers["account"], "Accept": "*/*", "Content-Type": "application/json; charset=UTF-8"}
    answer = await served.call("GET", "/virtualentity", headers)
    assert answer.headers["content-type"] == "application/json"


def test_served_endpoints_are_those_of_the_index_and_decided_additions() -> None:
    served: dict[str, set[str]] = defaultdict(set)
    for operation in OPERATIONS:
        for rest in operation.rest:
            if f"{rest.method} {rest.path}" not in DECIDED_ADDITIONS:
                served[without_parameter_names(rest.path)].add(rest.method)
    index_counts = spec.purposes()
    assert {path: len(methods) for path, methods in served.items()} == index_counts
    for method, path in spec.known_methods():
        assert method in served[without_parameter_names(path)], path
    assert (len(spec.index()), len({without_parameter_names(row.path) for row in spec.index()})) == (116, 110)


def test_rest_differences_page_lists_the_added_endpoints() -> None:
    page = (DOCS / "reference" / "rest-differences.md").read_text()
    listed = re.search(r"^## Added paths\n(.*?)^## ", page, re.MULTILINE | re.DOTALL)
    assert listed is not None
    assert set(re.findall(r"`([A-Z]+ /[^`]+)`", listed[1])) == DECIDED_ADDITIONS


@pytest.mark.parametrize(("heading", "record_type"), RECORD_TYPES.items())
def test_record_fields_are_those_of_the_table_and_decided_additions(heading: str, record_type: type) -> None:
    served_fields = {
        rest_name(field) for field in get_object_definition(record_type, strict=True).fields if is_in_rest(field)
    }
    documented_fields = set(spec.fields(heading))
    assert documented_fields <= served_fields
    for extra in served_fields - documented_fields:
        assert f"`{extra}`" in DECISIONS, f"{heading}: {extra}"


async def raise_defect(call: Call, **arguments: Any) -> Any:
    """Fail like a defective resolver."""
    raise RuntimeError("a defect")


@pytest.fixture
async def defective_client(served: House) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client of a gateway on which every operation of the errors table fails with an unexpected exception."""
    endpoints = spec.error_statuses()
    listed = [
        operation
        for operation in OPERATIONS
        if any(f"{rest.method} {rest.path}" in endpoints for rest in operation.rest)
    ]
    operations = (*(replace(operation, resolver=raise_defect) for operation in listed), live_readings.readings)
    schema, authenticate = build_schema(operations), served.gateway.authenticator.authenticate
    app = Starlette(
        routes=build_routes(operations, runner=served.gateway.runner, schema=schema, authenticate=authenticate),
        exception_handlers={Exception: unexpected_error_response},
    )
    async with serving(app) as url, httpx.AsyncClient(base_url=url) as client:
        yield client


@pytest.mark.parametrize(("endpoint", "statuses"), spec.error_statuses().items())
async def test_listed_statuses_are_documented_and_returned(
    served: House, defective_client: httpx.AsyncClient, endpoint: str, statuses: dict[str, bool]
) -> None:
    method, path = endpoint.split(" ")
    documented = build_openapi_document(OPERATIONS, GATEWAY_SCHEMA, "")["paths"][path][method.lower()]["responses"]
    template = {
        "alertTypeId": served.one.ids["alert_type"],
        "cultureCode": "en-GB",
        "applicationId": served.one.application_id,
        "name": "By push",
        "systemAlertTypeId": "CM01",
        "description": "What is pushed",
        "channelType": "push",
        "active": False,
        "htmlTemplate": "Dear {{name}}",
    }
    valid_body: dict[str, Any] = {"json": template} if endpoint == "POST /template" else {}
    headers = served.one.headers[
        "application" if SERVED_ROUTES[without_parameter_names(endpoint)].scheme is AuthScheme.BASIC else "account"
    ]
    path = path.format(webhookId=served.one.ids.get("webhook"))
    answers = {
        "200": await served.call(method, path, headers, **valid_body),
        "400": await served.call(method, path, {**headers, "content-type": "application/json"}, content=b"{"),
        "401": await served.call(method, path, {}, **valid_body),
        "500": await defective_client.request(method, path, headers=headers, **valid_body),
    }
    assert set(statuses) == set(answers)
    for status, answer in answers.items():
        if statuses[status]:
            assert (status, answer.status_code) == (status, int(status)), answer.text
            assert status in documented
            assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(("scheme", "endpoints"), spec.schemes().items())
def test_endpoints_have_the_schemes_of_the_authentication_table(scheme: str, endpoints: list[str]) -> None:
    for endpoint in endpoints:
        rest = SERVED_ROUTES[without_parameter_names(endpoint)]
        assert rest.scheme is not None
        assert rest.scheme.value == {"Basic": "basic", "API key": "token"}[scheme]


async def test_webhook_record_returns_event_and_error_codes(served: House) -> None:
    payload = dict(re.findall(r"\| (eventCode|errorCode) \| (\S+) \|", spec.section("## Events")))
    assert set(payload) == {"eventCode", "errorCode"}
    arguments = {
        "callback_url": "https://hooks.example.org/events",
        "user_id": served.one.user_id,
        "payload": payload,
        "failed_attempts": [],
    }
    webhook = await served.gateway.runner.run(record_webhook, served.one.system, arguments)
    response = await served.call("GET", f"/webhook/{webhook.webhook_id}", served.one.headers["account"])
    assert response.json()["payload"] == payload
