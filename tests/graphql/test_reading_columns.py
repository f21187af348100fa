"""Readings in columns, in GraphQL and as the JSON form of `POST /readings`: refused whole, or one by one."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.house import House

START = datetime(2026, 4, 1, tzinfo=UTC)
HALF_HOUR = timedelta(minutes=30)
DOCUMENT = """
mutation ($series: [NewReadingColumns!]!) {
  recordReadingColumns(series: $series) { recorded refused { series index reason } }
}
"""
NOBODYS = "00000000-0000-4000-8000-000000000000"


@pytest.fixture(params=["GraphQL", "REST"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def send(house: House, way: str, *series: dict[str, Any]) -> dict[str, Any]:
    """What became of the readings, or `code`, `error` and `problems` of the refusal."""
    headers = house.one.headers["account"]
    if way == "REST":
        told = (await house.call("POST", "/readings", headers, json={"series": list(series)})).json()
        problems = [(problem["path"], problem["message"]) for problem in told.get("problems", [])]
        return {**told, "problems": problems}
    answer = await house.graphql(DOCUMENT, headers, series=list(series))
    if "errors" not in answer:
        return dict(answer["data"]["recordReadingColumns"])
    (error,) = answer["errors"]
    problems = [(problem["path"], problem["message"]) for problem in error["extensions"].get("problems", [])]
    return {"code": error["extensions"]["code"], "error": error["message"], "problems": problems}


def columns(resource_id: str, count: int, **changes: Any) -> dict[str, Any]:
    at = [(START - n * HALF_HOUR).isoformat() for n in range(count)]
    return {"resourceId": resource_id, "at": at, "value": [n / 1000 for n in range(count)], **changes}


async def count(house: House, resource_id: str) -> int:
    found = await house.one.run("raw_readings", resource_id=resource_id)
    return len(found.at)


async def test_columns_are_recorded_in_any_order_with_their_qualities(served: House, way: str) -> None:
    resource_id = await served.one.add_resource()
    done = await send(served, way, columns(resource_id, 3, quality=["ACTUAL", "ESTIMATED", "QUESTIONABLE"]))
    assert (done["recorded"], done["refused"]) == (3, [])
    found = await served.one.run("raw_readings", resource_id=resource_id)
    assert list(found.value) == [0.002, 0.001, 0.0]
    assert [getattr(one, "name", one) for one in found.quality] == ["QUESTIONABLE", "ESTIMATED", "ACTUAL"]


@pytest.mark.parametrize(
    ("changes", "name", "items"),
    [({"value": [1, 2]}, "value", 2), ({"quality": ["ACTUAL"] * 4}, "quality", 4), ({"quality": []}, "quality", 0)],
)
async def test_columns_of_unequal_length_are_refused_and_nothing_is_stored(
    served: House, way: str, changes: dict[str, Any], name: str, items: int
) -> None:
    resource_id, other = await served.one.add_resource(), await served.one.add_resource()
    told = await send(served, way, columns(other, 3), columns(resource_id, 3, **changes))
    assert told["code"] == "BAD_INPUT"
    assert told["problems"] == [(["series", 1, name], f"has {items} items, and `at` has 3")]
    assert await count(served, resource_id) == await count(served, other) == 0


async def test_more_than_ten_thousand_over_all_series_are_refused(served: House, way: str) -> None:
    resource_id, other = await served.one.add_resource(), await served.one.add_resource()
    told = await send(served, way, columns(resource_id, 5_000), columns(other, 5_001))
    assert told["code"] == "BAD_INPUT"
    assert told["problems"] == [(["series"], "holds 10001 readings")]
    assert await count(served, resource_id) == 0
    assert (await send(served, way, columns(resource_id, 5_000), columns(other, 5_000)))["recorded"] == 10_000


async def test_what_cannot_be_stored_is_listed_and_the_rest_is_recorded(served: House, way: str) -> None:
    resource_id = await served.one.add_resource()
    mixed = {
        "resourceId": resource_id,
        "at": [START.isoformat(), START.isoformat(), (START + timedelta(minutes=1)).isoformat(), START.isoformat()],
        "value": [1, 2, 3, 1],
    }
    told = await send(
        served,
        way,
        columns(NOBODYS, 2),
        mixed,
        columns(served.other.ids["resource"], 1),
        columns(resource_id, 1, field="VOLTAGE"),
        columns(resource_id, 1, field="POWER", value=["-1.5"]),
    )
    assert told["recorded"] == 1
    assert told["refused"] == [
        {"series": 0, "index": 0, "reason": f"{NOBODYS} does not exist"},
        {"series": 0, "index": 1, "reason": f"{NOBODYS} does not exist"},
        {"series": 1, "index": 1, "reason": "the same instant is given twice with different values"},
        {"series": 1, "index": 2, "reason": "2026-04-01T00:01:00.000Z is not on the sampling grid of 0:30:00"},
        {"series": 2, "index": 0, "reason": f"{served.other.ids['resource']} does not exist"},
        {"series": 3, "index": 0, "reason": "the resource has no field VOLTAGE"},
        {"series": 4, "index": 0, "reason": "-1.5 has more than the 0 decimal places of POWER"},
    ]
    assert (await served.one.run("raw_readings", resource_id=resource_id)).value == [1.0]


async def test_no_series_and_empty_columns_are_no_readings(served: House, way: str) -> None:
    for series in ([], [columns(await served.one.add_resource(), 0)]):
        done = await send(served, way, *series)
        assert (done["recorded"], done["refused"]) == (0, [])
