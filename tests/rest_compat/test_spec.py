"""SPEC.md's detailed endpoints answer as they are written there."""

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
from tests.support.house import House
from tests.support.servers import serving
from wattgate.app.server.factory import tell_unexpected
from wattgate.graphql.catalogue import OPERATIONS
from wattgate.graphql.core.fields import edge_of
from wattgate.graphql.core.operation import Call
from wattgate.graphql.execution.schema import build
from wattgate.graphql.resolvers import live_readings as live
from wattgate.graphql.resolvers.webhooks import record_webhook
from wattgate.graphql.types import accounts, alerts, content, resources, webhooks
from wattgate.principal import Scheme
from wattgate.rest_compat.openapi import document
from wattgate.rest_compat.routes import routes
from wattgate.rest_compat.row_renderer import name_of

TIMESTAMP = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
JSON_TYPES: dict[str, type] = {"string": str, "boolean": bool, "array": list, "object": dict, "integer": int}
DOCS = Path(__file__).parents[2] / "docs"
DECISIONS = (DOCS / "explanation" / "decisions" / "small-decisions.md").read_text()
DECIDED = {
    place
    for row in DECISIONS.splitlines()
    if "addition to the specification" in row
    for place in re.findall(r"`([A-Z]+ /[^`]+)`", row.split("|")[1])
}
"""Places that SPEC.md does not have, each with a row that says so."""
SHAPES = {
    "### Alert type": alerts.AlertType,
    "### Template (alert template)": alerts.Template,
    "### Terms and conditions user response": content.TermsConditionsUser,
    "### FAQ": content.Faq,
    "### Webhook": webhooks.Webhook,
    "### Account": accounts.Account,
    "### Resource type": resources.ResourceType,
}


def plain(text: str) -> str:
    """A path whose parameters have no names."""
    return re.sub(r"{.*?}", "{}", text)


SERVED = {f"{rest.method} {plain(rest.path)}": rest for operation in OPERATIONS for rest in operation.rest}
DETAILS = [pytest.param(detail, id=place) for place, detail in spec.details().items()]


def assert_is(record: Any, heading: str) -> None:
    """A record has exactly the fields of its table in SPEC.md, each of the type that stands there."""
    fields = spec.fields(heading)
    assert set(record) == set(fields)
    for name, type_ in fields.items():
        assert isinstance(record[name], JSON_TYPES[type_]), name
        if name.endswith("At"):
            assert TIMESTAMP.match(record[name]), name


@pytest.mark.parametrize("detail", DETAILS)
def test_the_scheme_is_the_one_that_is_written(detail: spec.Detail) -> None:
    rest = SERVED[plain(f"{detail.method} {detail.path}")]
    assert rest.scheme is not None
    assert rest.scheme.value == detail.scheme


async def test_an_alert_type_is_added_and_renamed(served: House) -> None:
    headers = served.one.headers["application"]
    body = {"systemAlertTypeId": "CM07", "description": "No data", "name": "Silence"}
    added = await served.call("POST", "/alerttype", headers, json=body)
    assert_is(added.json(), "### Alert type")
    assert added.json() == added.json() | body | {"active": True, "applicationId": served.one.application_id}
    path = f"/alerttype/{added.json()['alertTypeId']}"
    renamed = await served.call("PUT", path, headers, json={"name": "Still silent"})
    assert renamed.json() == added.json() | {"name": "Still silent"}
    assert (await served.call("GET", path, headers)).json() == renamed.json()


async def test_a_resource_type_is_added_as_it_is_written(served: House) -> None:
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
    kept = (await served.call("GET", f"/resourcetype/{added.json()['resourceTypeId']}", headers)).json()
    for name in spec.fields("### Resource type"):
        if name != "storage":
            assert kept[name] == body[name]
    definition, given = kept["storage"][0], body["storage"][0]
    assert isinstance(given, dict)
    assert definition == {**given, "interval": None}
    assert set(given) == {"type", "sampling", "start", "fields"}


async def test_faqs_are_listed_and_narrowed_down(served: House) -> None:
    headers = served.one.headers["application"]
    everything = (await served.call("GET", "/faq", headers)).json()
    for record in everything:
        assert_is(record, "### FAQ")
        assert all(set(item) == {"question", "reply"} for item in record["data"])
    params = {"reference": "app", "country": "GB", "version": "1.2.0"}
    (found,) = (await served.call("GET", "/faq", headers, params=params)).json()
    assert found["faqId"] == served.one.ids["faq"]
    for name in params:
        nothing = await served.call("GET", "/faq", headers, params={**params, name: "another"})
        assert (nothing.status_code, nothing.json()) == (200, [])


async def test_an_account_is_renamed(served: House) -> None:
    account_id = await served.one.add_account("renamed@one.example")
    headers = served.one.headers["application"]
    renamed = await served.call("PUT", f"/account/{account_id}", headers, json={"name": "Grace"})
    assert_is(renamed.json(), "### Account")
    assert renamed.json()["name"] == "Grace"
    assert (await served.call("GET", f"/account/{account_id}", headers)).json() == renamed.json()


async def test_answers_are_json_whatever_is_asked_for(served: House) -> None:
    headers = {**served.one.headers["account"], "Accept": "*/*", "Content-Type": "application/json; charset=UTF-8"}
    answer = await served.call("GET", "/virtualentity", headers)
    assert answer.headers["content-type"] == "application/json"


def test_every_purpose_of_the_index_is_served_and_nothing_else_without_a_decision() -> None:
    served: dict[str, set[str]] = defaultdict(set)
    for operation in OPERATIONS:
        for rest in operation.rest:
            if f"{rest.method} {rest.path}" not in DECIDED:
                served[plain(rest.path)].add(rest.method)
    promised = spec.purposes()
    assert {path: len(methods) for path, methods in served.items()} == promised
    for method, path in spec.known_methods():
        assert method in served[plain(path)], path
    assert (len(spec.index()), len({plain(row.path) for row in spec.index()})) == (116, 110)


def test_the_page_of_rest_differences_lists_exactly_the_added_places() -> None:
    page = (DOCS / "reference" / "rest-differences.md").read_text()
    listed = re.search(r"^## Added paths\n(.*?)^## ", page, re.MULTILINE | re.DOTALL)
    assert listed is not None
    assert set(re.findall(r"`([A-Z]+ /[^`]+)`", listed[1])) == DECIDED


@pytest.mark.parametrize(("heading", "shape"), SHAPES.items())
def test_a_record_has_the_fields_of_its_table_and_no_more_without_a_decision(heading: str, shape: type) -> None:
    ours = {name_of(field) for field in get_object_definition(shape, strict=True).fields if edge_of(field) is None}
    written = set(spec.fields(heading))
    assert written <= ours
    for extra in ours - written:
        assert f"`{extra}`" in DECISIONS, f"{heading}: {extra}"


async def defect(call: Call, **arguments: Any) -> Any:
    """Fail as a resolver with a defect does."""
    raise RuntimeError("a defect")


@pytest.fixture
async def defective(served: House) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a gateway on which each operation of the table of errors has a defect."""
    places = spec.error_statuses()
    listed = [one for one in OPERATIONS if any(f"{rest.method} {rest.path}" in places for rest in one.rest)]
    operations = (*(replace(one, resolver=defect) for one in listed), live.readings)
    schema, authenticate = build(operations), served.gateway.authenticator.principal
    app = Starlette(
        routes=routes(operations, runner=served.gateway.runner, schema=schema, authenticate=authenticate),
        exception_handlers={Exception: tell_unexpected},
    )
    async with serving(app) as url, httpx.AsyncClient(base_url=url) as client:
        yield client


@pytest.mark.parametrize(("place", "statuses"), spec.error_statuses().items())
async def test_the_statuses_that_are_listed_are_documented_and_answered(
    served: House, defective: httpx.AsyncClient, place: str, statuses: dict[str, bool]
) -> None:
    method, path = place.split(" ")
    documented = document(OPERATIONS, build(OPERATIONS), "")["paths"][path][method.lower()]["responses"]
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
    good: dict[str, Any] = {"json": template} if place == "POST /template" else {}
    headers = served.one.headers["application" if SERVED[plain(place)].scheme is Scheme.BASIC else "account"]
    path = path.format(webhookId=served.one.ids.get("webhook"))
    answers = {
        "200": await served.call(method, path, headers, **good),
        "400": await served.call(method, path, headers, content=b"{"),
        "401": await served.call(method, path, {}, **good),
        "500": await defective.request(method, path, headers=headers, **good),
    }
    assert set(statuses) == set(answers)
    for status, answer in answers.items():
        if statuses[status]:
            assert (status, answer.status_code) == (status, int(status)), answer.text
            assert status in documented
            assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(("scheme", "places"), spec.schemes().items())
def test_the_authentication_table_holds(scheme: str, places: list[str]) -> None:
    for place in places:
        rest = SERVED[plain(place)]
        assert rest.scheme is not None
        assert rest.scheme.value == {"Basic": "basic", "API key": "token"}[scheme]


async def test_the_event_and_error_codes_that_are_written_come_through_a_webhook_record(served: House) -> None:
    payload = dict(re.findall(r"\| (eventCode|errorCode) \| (\S+) \|", spec.section("## Events")))
    assert set(payload) == {"eventCode", "errorCode"}
    arguments = {
        "callback_url": "https://hooks.example.org/events",
        "user_id": served.one.user_id,
        "payload": payload,
        "failed_attempts": [],
    }
    made = await served.gateway.runner.run(record_webhook, served.one.system, arguments)
    told = await served.call("GET", f"/webhook/{made.webhook_id}", served.one.headers["account"])
    assert told.json()["payload"] == payload
