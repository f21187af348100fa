"""Recording readings: validation, storage and error messages."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.house import House
from tests.support.refusals import refusals

pytestmark = pytest.mark.either_database("some tests of the module run on both")

RECORD = """
mutation ($series: [NewReadings!]!) { recordReadings(series: $series) { ... on Recorded { recorded } ...Refused } }
"""
SERIES = """
query ($id: ID!, $start: DateTime!, $end: DateTime!, $zone: TimeZone!, $period: Period!) {
  resource(resourceId: $id) {
    readings(range: {start: $start, end: $end}, period: $period, timeZone: $zone) {
      unit buckets { start end value count quality completeness estimated revision }
    }
  }
}
"""


@pytest.fixture
async def resource_id(served: House) -> str:
    return await served.one.add_resource()


async def record(house: House, resource_id: str, *readings: dict[str, Any], field: str | None = None) -> dict[str, Any]:
    series = [{"resourceId": resource_id, "readings": list(readings), "field": field}]
    return await house.graphql(RECORD, house.one.headers["account"], series=series)


async def stored(house: House, resource_id: str, day: str, zone: str = "UTC", period: str = "PT30M") -> list[Any]:
    start = datetime.fromisoformat(f"{day}T00:00:00+00:00")
    answer = await house.graphql(
        SERIES,
        house.one.headers["account"],
        id=resource_id,
        start=start.isoformat(),
        end=(start + timedelta(days=1)).isoformat(),
        zone=zone,
        period=period,
    )
    return list(answer["data"]["resource"]["readings"]["buckets"])


def problems_of(answer: dict[str, Any]) -> list[tuple[Any, str]]:
    (error,) = refusals(answer)
    assert error["code"] == "BAD_INPUT"
    return [(problem["path"][-1], problem["message"]) for problem in error["problems"]]


@pytest.mark.both_databases("readings and their sums in SQL")
async def test_repeated_reading_replaces_the_first(served: House, resource_id: str) -> None:
    for value in ("0.100", "0.250"):
        answer = await record(served, resource_id, {"at": "2026-03-01T00:00:00Z", "value": value})
        assert answer["data"]["recordReadings"] == {"recorded": 1}
    first, *others = await stored(served, resource_id, "2026-03-01")
    assert (first["value"], first["count"]) == (0.25, 1)
    assert all(bucket["value"] is None and bucket["count"] == 0 for bucket in others)


async def test_duplicate_reading_in_a_batch_is_stored_once(served: House, resource_id: str) -> None:
    reading = {"at": "2026-03-01T00:00:00Z", "value": 1}
    answer = await record(served, resource_id, reading, {**reading, "at": "2026-03-01T01:00:00+01:00"})
    assert answer["data"]["recordReadings"] == {"recorded": 1}


@pytest.mark.parametrize(
    ("reading", "reason"),
    [
        ({"at": "2026-03-01T00:00:00Z", "value": "0.1234"}, "0.1234 has more than the 3 decimal places of ENERGY"),
        ({"at": "2026-03-01T00:00:00Z", "value": -1}, "-1 is negative; ENERGY takes no negative values"),
        ({"at": "2026-03-01T00:00:00Z", "value": 1e29}, "1E+29 is too large for ENERGY"),
        ({"at": "2026-03-01T00:10:00Z", "value": 1}, "2026-03-01T00:10:00.000Z is not on the sampling grid of 0:30:00"),
        (
            {"at": "2013-12-31T00:00:00Z", "value": 1},
            "2013-12-31T00:00:00.000Z is before the start of storage, 2014-01-06T00:00:00.000Z",
        ),
        ({"at": "2999-01-01T00:00:00Z", "value": 1}, "2999-01-01T00:00:00.000Z is in the future"),
    ],
)
async def test_invalid_reading_rejects_the_whole_batch(
    served: House, resource_id: str, reading: dict[str, Any], reason: str
) -> None:
    answer = await record(served, resource_id, {"at": "2026-03-01T12:00:00Z", "value": 1}, reading)
    assert problems_of(answer) == [(1, reason)]
    assert all(bucket["count"] == 0 for bucket in await stored(served, resource_id, "2026-03-01"))


async def test_conflicting_values_in_a_batch_are_rejected(served: House, resource_id: str) -> None:
    at = "2026-03-01T00:00:00Z"
    answer = await record(served, resource_id, {"at": at, "value": 1}, {"at": at, "value": 2})
    assert problems_of(answer) == [(1, "the same instant is given twice with different values")]


async def test_call_takes_at_most_10_000_readings(served: House, resource_id: str) -> None:
    start = datetime(2025, 1, 1, tzinfo=UTC)
    readings = [{"at": (start + n * timedelta(minutes=30)).isoformat(), "value": n / 1000} for n in range(10_001)]
    refused = await record(served, resource_id, *readings)
    (error,) = refusals(refused)
    assert error["message"] == "A call takes at most 10,000 readings."
    assert (await record(served, resource_id, *readings[:-1]))["data"]["recordReadings"] == {"recorded": 10_000}
    day = await stored(served, resource_id, "2025-01-01", period="P1D")
    assert day[0]["value"] == sum(range(48)) / 1000


@pytest.mark.both_databases("readings and their sums in SQL")
async def test_batch_for_several_resources_and_rejection_of_another_users(served: House, resource_id: str) -> None:
    second = await served.one.add_resource()
    reading = {"at": "2026-03-01T00:00:00Z", "value": 1}
    series = [{"resourceId": id_, "readings": [reading]} for id_ in (resource_id, second)]
    answer = await served.graphql(RECORD, served.one.headers["account"], series=series)
    assert answer["data"]["recordReadings"] == {"recorded": 2}
    theirs = {"resourceId": served.other.ids["resource"], "readings": [reading]}
    answer = await served.graphql(RECORD, served.one.headers["account"], series=[*series, theirs])
    assert problems_of(answer) == [("resourceId", f"{served.other.ids['resource']} does not exist")]


async def test_unknown_field_is_rejected(served: House, resource_id: str) -> None:
    answer = await record(served, resource_id, {"at": "2026-03-01T00:00:00Z", "value": 1}, field="VOLTAGE")
    assert problems_of(answer) == [("field", "the resource has no field VOLTAGE")]


@pytest.mark.both_databases("readings and their sums in SQL")
async def test_rest_accepts_objects_and_pairs(served: House, resource_id: str) -> None:
    path, headers = f"/resource/{resource_id}/readings", served.one.headers["account"]
    objects = {"readings": [{"at": "2026-03-02T00:00:00Z", "value": 0.5}], "unknown": 1}
    pairs = {"data": [[int(datetime(2026, 3, 2, 0, 30, tzinfo=UTC).timestamp()), 0.75]]}
    for body in (objects, pairs):
        answer = await served.call("POST", path, headers, json=body)
        assert (answer.status_code, answer.json()) == (200, {"status": "OK", "recorded": 1, "withoutConsent": 0})
    assert [bucket["value"] for bucket in await stored(served, resource_id, "2026-03-02")][:3] == [0.5, 0.75, None]
    power = {"field": "POWER", "data": [[1_772_409_601, -12]]}
    assert (await served.call("POST", path, headers, json=power)).status_code == 200


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (
            {"readings": [{"value": 1}, {"at": "2026-03-02T00:00:00Z"}]},
            "missing elements -readings.0.at -readings.1.value",
        ),
        ({"readings": [{"at": "now", "value": "much"}]}, "incorrect elements -readings.0.at -readings.0.value"),
        ({"readings": {"at": "2026-03-02T00:00:00Z"}}, "incorrect elements -readings"),
        ({"data": [["first", 1]]}, "incorrect elements"),
        ({"data": [[1e300, 1]]}, "incorrect elements"),
        ({}, "missing elements -readings"),
    ],
)
async def test_malformed_body_is_rejected_with_every_problem(
    served: House, resource_id: str, body: dict[str, Any], error: str
) -> None:
    answer = await served.call("POST", f"/resource/{resource_id}/readings", served.one.headers["account"], json=body)
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(error)
    assert answer.json()["problems"]


async def test_body_that_is_too_large_is_rejected(served: House, resource_id: str) -> None:
    path = f"/resource/{resource_id}/readings"
    answer = await served.call("POST", path, served.one.headers["account"], content=b"[" + b" " * 5_000_000)
    assert (answer.status_code, answer.json()["code"]) == (413, "TOO_LARGE")


async def test_days_have_23_or_25_hours_at_clock_changes(served: House, resource_id: str) -> None:
    start = datetime(2026, 3, 28, tzinfo=UTC)
    await served.one.record(resource_id, *((start + n * timedelta(minutes=30), "1") for n in range(144)))
    days = await stored(served, resource_id, "2026-03-29", zone="Europe/London", period="P1D")
    assert [(day["start"], day["count"]) for day in days] == [
        ("2026-03-29T00:00:00.000Z", 46),
        ("2026-03-29T23:00:00.000Z", 48),
    ]


async def test_range_with_too_many_buckets_is_rejected_with_alternatives(served: House, resource_id: str) -> None:
    answer = await served.graphql(
        SERIES,
        served.one.headers["account"],
        id=resource_id,
        start="2020-01-01T00:00:00Z",
        end="2026-01-01T00:00:00Z",
        zone="UTC",
        period="PT1M",
    )
    (error,) = refusals(answer)
    assert error["code"] == "BAD_INPUT"
    assert error["message"] == (
        "A series has at most 20,000 buckets, but this range has about 3,156,482 of PT1M. "
        "Request P1D, or at most 13 days."
    )
