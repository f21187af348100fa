"""Readings in columns, over GraphQL and as JSON for `POST /readings`: rejected as a whole or one by one."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.house import House
from tests.support.refusals import refusals

pytestmark = pytest.mark.either_database("some tests of the module run on both")

START = datetime(2026, 4, 1, tzinfo=UTC)
HALF_HOUR = timedelta(minutes=30)
DOCUMENT = """
mutation ($series: [NewReadingColumns!]!) {
  recordReadingColumns(series: $series) {
      ... on RecordedColumns { recorded refused { series index reason } } ...Refused }
}
"""
UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"


@pytest.fixture(params=["GraphQL", "REST"])
def interface(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def send(house: House, interface: str, *series: dict[str, Any]) -> dict[str, Any]:
    """Send readings. Return the result, or `code`, `error` and `problems` of the error."""
    headers = house.one.headers["account"]
    if interface == "REST":
        body = (await house.call("POST", "/readings", headers, json={"series": list(series)})).json()
        problems = [(problem["path"], problem["message"]) for problem in body.get("problems", [])]
        return {**body, "problems": problems}
    answer = await house.graphql(DOCUMENT, headers, series=list(series))
    if not refusals(answer):
        return dict(answer["data"]["recordReadingColumns"])
    (error,) = refusals(answer)
    problems = [(problem["path"], problem["message"]) for problem in error["problems"]]
    return {"code": error["code"], "error": error["message"], "problems": problems}


def columns(resource_id: str, count: int, **changes: Any) -> dict[str, Any]:
    at = [(START - n * HALF_HOUR).isoformat() for n in range(count)]
    return {"resourceId": resource_id, "at": at, "value": [n / 1000 for n in range(count)], **changes}


async def count(house: House, resource_id: str) -> int:
    page = await house.one.run("raw_readings", resource_id=resource_id)
    return len(page.at)


@pytest.mark.both_databases("readings and their sums in SQL")
async def test_columns_are_recorded_in_any_order_with_their_qualities(served: House, interface: str) -> None:
    resource_id = await served.one.add_resource()
    result = await send(served, interface, columns(resource_id, 3, quality=["ACTUAL", "ESTIMATED", "QUESTIONABLE"]))
    assert (result["recorded"], result["refused"]) == (3, [])
    page = await served.one.run("raw_readings", resource_id=resource_id)
    assert list(page.value) == [0.002, 0.001, 0.0]
    assert [getattr(quality, "name", quality) for quality in page.quality] == ["QUESTIONABLE", "ESTIMATED", "ACTUAL"]


@pytest.mark.parametrize(
    ("changes", "name", "items"),
    [({"value": [1, 2]}, "value", 2), ({"quality": ["ACTUAL"] * 4}, "quality", 4), ({"quality": []}, "quality", 0)],
)
async def test_columns_of_unequal_length_are_rejected_and_nothing_is_stored(
    served: House, interface: str, changes: dict[str, Any], name: str, items: int
) -> None:
    resource_id, other = await served.one.add_resource(), await served.one.add_resource()
    result = await send(served, interface, columns(other, 3), columns(resource_id, 3, **changes))
    assert result["code"] == "BAD_INPUT"
    assert result["problems"] == [(["series", 1, name], f"has {items} items, and `at` has 3")]
    assert await count(served, resource_id) == await count(served, other) == 0


@pytest.mark.long("sends more than 10,000 readings; the other limits of a call stay in the short form")
async def test_more_than_10_000_readings_in_a_call_are_rejected(served: House, interface: str) -> None:
    resource_id, other = await served.one.add_resource(), await served.one.add_resource()
    result = await send(served, interface, columns(resource_id, 5_000), columns(other, 5_001))
    assert result["code"] == "BAD_INPUT"
    assert result["problems"] == [(["series"], "contain 10,001 readings")]
    assert await count(served, resource_id) == 0
    assert (await send(served, interface, columns(resource_id, 5_000), columns(other, 5_000)))["recorded"] == 10_000


async def test_invalid_readings_are_listed_and_the_others_are_recorded(served: House, interface: str) -> None:
    resource_id = await served.one.add_resource()
    mixed = {
        "resourceId": resource_id,
        "at": [START.isoformat(), START.isoformat(), (START + timedelta(minutes=31)).isoformat(), START.isoformat()],
        "value": [1, 2, 3, 1],
    }
    result = await send(
        served,
        interface,
        columns(UNKNOWN_ID, 2),
        mixed,
        columns(served.other.ids["resource"], 1),
        columns(resource_id, 1, field="VOLTAGE"),
        columns(resource_id, 1, field="POWER", value=["-1.5"]),
    )
    assert result["recorded"] == 1
    assert result["refused"] == [
        {"series": 0, "index": 0, "reason": f"{UNKNOWN_ID} does not exist"},
        {"series": 0, "index": 1, "reason": f"{UNKNOWN_ID} does not exist"},
        {"series": 1, "index": 1, "reason": "the same instant is given twice with different values"},
        {"series": 1, "index": 2, "reason": "2026-04-01T00:31:00.000Z is not on the sampling grid of 0:30:00"},
        {"series": 2, "index": 0, "reason": f"{served.other.ids['resource']} does not exist"},
        {"series": 3, "index": 0, "reason": "the resource has no field VOLTAGE"},
        {"series": 4, "index": 0, "reason": "-1.5 has more than the 0 decimal places of POWER"},
    ]
    assert (await served.one.run("raw_readings", resource_id=resource_id)).value == [1.0]


async def test_empty_series_record_nothing(served: House, interface: str) -> None:
    for series in ([], [columns(await served.one.add_resource(), 0)]):
        result = await send(served, interface, *series)
        assert (result["recorded"], result["refused"]) == (0, [])
