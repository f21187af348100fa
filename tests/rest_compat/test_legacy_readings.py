"""Legacy readings query: inverted offset, inclusive end, zero for missing values, and maximum spans."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.house import House

pytestmark = pytest.mark.either_database("some tests of the module run on both")

HALF_HOUR = timedelta(minutes=30)


@pytest.fixture
async def summer_resource(served: House) -> str:
    """Return a resource with readings for each half hour of 2026-06-01 to 2026-06-03 (UTC): 0, 1, 2 Wh and so on."""
    resource_id = await served.one.add_resource()
    start = datetime(2026, 6, 1, tzinfo=UTC)
    await served.one.record(resource_id, *((start + n * HALF_HOUR, str(n / 1000)) for n in range(144)))
    return resource_id


async def request_readings(house: House, resource_id: str, **query: Any) -> Any:
    """Send a readings query. `from_` stands for `from`, a reserved word in Python."""
    query = {"period": "PT30M", "function": "sum", **{name.rstrip("_"): value for name, value in query.items()}}
    return await house.call("GET", f"/resource/{resource_id}/readings", house.one.headers["account"], params=query)


async def data(house: House, resource_id: str, **query: Any) -> list[list[Any]]:
    answer = await request_readings(house, resource_id, **query)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["data"])


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


async def test_day_until_its_last_second_has_48_rows(served: House, summer_resource: str) -> None:
    rows = await data(served, summer_resource, from_="2026-06-01T00:00:00", to="2026-06-01T23:59:59")
    assert rows == [[at("2026-06-01T00:00:00") + n * 1800, n / 1000] for n in range(48)]


async def test_end_on_a_boundary_includes_the_bucket_that_starts_there(served: House, summer_resource: str) -> None:
    rows = await data(served, summer_resource, from_="2026-06-01T00:00:00", to="2026-06-02T00:00:00")
    assert len(rows) == 49
    assert rows[-1] == [at("2026-06-02T00:00:00"), 0.048]


async def test_times_off_the_grid_are_rounded_down_to_the_bucket(served: House, summer_resource: str) -> None:
    rows = await data(served, summer_resource, from_="2026-06-01T11:01:00", to="2026-06-01T12:29:29.666392")
    assert [row[0] for row in rows] == [at(f"2026-06-01T{time}:00") for time in ("11:00", "11:30", "12:00")]


@pytest.mark.parametrize("offset", ["-60", "-60.0"])
async def test_offset_times_are_wall_clock_times_encoded_as_utc(
    served: House, summer_resource: str, offset: str
) -> None:
    day = {"from_": "2026-06-02T00:00:00", "to": "2026-06-02T23:59:59"}
    rows = await data(served, summer_resource, **day, offset=offset, period="P1D")
    # the British day starts at 23:00 UTC, which is half hour 46; the timestamp encodes midnight
    assert rows == [[at("2026-06-02T00:00:00"), sum(range(46, 94)) / 1000]]


async def test_days_start_at_midnight_utc_without_an_offset(served: House, summer_resource: str) -> None:
    rows = await data(
        served, summer_resource, from_="2026-06-02T00:00:00", to="2026-06-02T23:59:59", period="P1D", offset="-0.0"
    )
    assert rows == [[at("2026-06-02T00:00:00"), sum(range(48, 96)) / 1000]]


@pytest.mark.parametrize(
    ("function", "value"), [("sum", 0.001 + 0.0), ("avg", 0.0005), ("min", 0.0), ("max", 0.001), ("SUM", 0.001)]
)
@pytest.mark.both_databases("readings and their sums in SQL")
async def test_functions_aggregate_a_bucket(served: House, summer_resource: str, function: str, value: float) -> None:
    rows = await data(
        served, summer_resource, from_="2026-06-01T00:00:00", to="2026-06-01T00:59:59", period="PT1H", function=function
    )
    assert rows == [[at("2026-06-01T00:00:00"), value]]


async def test_nulls_selects_zero_or_null_for_missing_values(served: House, summer_resource: str) -> None:
    span = {"from_": "2026-06-03T23:30:00", "to": "2026-06-04T00:29:59"}
    assert [row[1] for row in await data(served, summer_resource, **span)] == [0.143, 0]
    assert [row[1] for row in await data(served, summer_resource, **span, nulls="0")] == [0.143, 0]
    assert [row[1] for row in await data(served, summer_resource, **span, nulls="1")] == [0.143, None]
    assert [row[1] for row in await data(served, summer_resource, **span, nulls="True")] == [0.143, None]
    assert [row[1] for row in await data(served, summer_resource, **span, nulls="False")] == [0.143, 0]


async def test_future_part_of_the_range_has_rows(served: House, summer_resource: str) -> None:
    first = datetime.now(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    last = first + timedelta(days=27, hours=23, minutes=59, seconds=59)
    rows = await data(served, summer_resource, from_=first.isoformat(), to=last.isoformat(), period="P1D", nulls="1")
    assert len(rows) == 28


@pytest.mark.parametrize(("period", "rows"), [("P1W", 1), ("P1M", 1), ("P1Y", 1), ("PT1M", 2)])
@pytest.mark.both_databases("readings and their sums in SQL")
async def test_every_period_returns_rows(served: House, summer_resource: str, period: str, rows: int) -> None:
    buckets = await data(served, summer_resource, from_="2026-06-01T00:00:00", to="2026-06-01T00:01:00", period=period)
    assert len(buckets) == rows


async def test_envelope_repeats_the_query_unchanged(served: House, summer_resource: str) -> None:
    answer = await request_readings(served, summer_resource, from_="2026-06-01T00:00:00.5", to="2026-06-01T00:10:00")
    body = answer.json()
    assert body["query"] == {
        "from": "2026-06-01T00:00:00.5",
        "to": "2026-06-01T00:10:00",
        "period": "PT30M",
        "function": "sum",
    }
    assert (body["status"], body["units"], body["classifier"]) == ("OK", "kWh", "electricity.consumption")
    assert body["resourceId"] == summer_resource


async def test_unknown_parameters_are_ignored(served: House, summer_resource: str) -> None:
    assert await data(served, summer_resource, from_="2026-06-01T00:00:00", to="2026-06-01T00:10:00", oﬀset="-60")


async def test_future_start_is_refused_with_the_legacy_error(served: House, summer_resource: str) -> None:
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%S")
    answer = await request_readings(served, summer_resource, from_=tomorrow, to=tomorrow)
    assert answer.status_code == 400
    assert answer.json()["error"] == "incorrect elements -from in the future"


@pytest.mark.parametrize(("hours", "status"), [(240, 200), (241, 200), (242, 400)])
async def test_span_may_exceed_its_limit_by_an_hour(
    served: House, summer_resource: str, hours: int, status: int
) -> None:
    start = datetime(2026, 6, 1)
    answer = await request_readings(
        served, summer_resource, from_=start.isoformat(), to=(start + timedelta(hours=hours)).isoformat()
    )
    assert answer.status_code == status
    if status == 400:
        assert answer.json()["error"] == "incorrect elements -to"


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ({}, "missing elements -from -to -period -function"),
        ({"from": "yesterday", "to": "2026-06-01T00:00:00"}, "incorrect elements -from -period -function"),
        (
            {"from": "2026-06-01T00:00:00", "to": "2026-06-02T00:00:00", "period": "PT10M", "function": "median"},
            "incorrect elements -period -function",
        ),
        (
            {
                "from": "2026-06-02T00:00:00",
                "to": "2026-06-01T00:00:00",
                "period": "PT30M",
                "function": "sum",
                "offset": "east",
            },
            "incorrect elements -offset -to",
        ),
    ],
)
async def test_query_errors_are_reported_together(
    served: House, summer_resource: str, query: dict[str, str], error: str
) -> None:
    answer = await served.call(
        "GET", f"/resource/{summer_resource}/readings", served.one.headers["account"], params=query
    )
    assert answer.status_code == 400
    assert sorted(answer.json()["error"].split(" ")) == sorted(error.split(" "))


async def test_current_returns_fresh_power_or_else_the_last_energy(served: House) -> None:
    resource_id = await served.one.add_resource()
    headers, path = served.one.headers["account"], f"/resource/{resource_id}/current"
    empty = (await served.call("GET", path, headers)).json()
    assert (empty["data"], empty["units"]) == ([], "kWh")
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=1)
    await served.one.record(resource_id, (hour, "0.321"))
    energy = (await served.call("GET", path, headers)).json()
    assert (energy["data"], energy["units"]) == ([[int(hour.timestamp()), 0.321]], "kWh")
    stale = datetime.now(UTC) - timedelta(minutes=20)
    await served.one.record(resource_id, (stale, "500"), field="POWER")
    assert (await served.call("GET", path, headers)).json()["units"] == "kWh"
    now = datetime.now(UTC).replace(microsecond=0)
    await served.one.record(resource_id, (now, "-750"), field="POWER")
    power = (await served.call("GET", path, headers)).json()
    assert (power["data"], power["units"]) == ([[int(now.timestamp()), -750]], "W")


async def test_resource_without_readings_has_null_first_and_last_time(served: House) -> None:
    resource_id = await served.one.add_resource()
    for path, name in (("first-time", "firstTs"), ("last-time", "lastTs")):
        answer = await served.call("GET", f"/resource/{resource_id}/{path}", served.one.headers["account"])
        assert answer.json()["data"] == {name: None}


async def test_resource_without_a_tariff_returns_an_empty_list(served: House) -> None:
    resource_id = await served.one.add_resource()
    answer = await served.call("GET", f"/resource/{resource_id}/tariff", served.one.headers["account"])
    assert (answer.status_code, answer.json()["data"]) == (200, [])
