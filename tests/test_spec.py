"""SPEC.md's detailed endpoints answer as they are written there."""

import re
from typing import Any

import pytest

from tests.support import spec
from tests.support.house import House
from wattgate.graphql.catalogue import OPERATIONS

TIMESTAMP = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
JSON_TYPES: dict[str, type] = {"string": str, "boolean": bool, "array": list, "object": dict, "integer": int}
SERVED = {
    f"{rest.method} {re.sub(r'{.*?}', '{}', rest.path)}": rest for operation in OPERATIONS for rest in operation.rest
}
DETAILS = [
    pytest.param(detail, id=place)
    for place, detail in spec.details().items()
    if re.sub(r"{.*?}", "{}", place) in SERVED
]


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
    rest = SERVED[f"{detail.method} {re.sub(r'{.*?}', '{}', detail.path)}"]
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


async def test_every_rest_path_of_the_catalogue_is_documented_or_decided(served: House) -> None:
    """What SPEC.md's index does not have needs a row in docs/decisions.md."""
    index = {re.sub(r"{.*?}", "{}", path) for path in re.findall(r"\| (?:-|[A-Z]+) \| (/\S+) \|", spec.SPEC)}
    for operation in OPERATIONS:
        for rest in operation.rest:
            assert re.sub(r"{.*?}", "{}", rest.path) in index, rest.path
