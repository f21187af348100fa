"""Corrections of readings over GraphQL, on both databases: counting revisions, and `revisedSince`."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.house import STORAGE
from tests.support.timed import Timed, half_hours

pytestmark = pytest.mark.either_database("some tests of the module run on both")

HALF_HOUR = timedelta(minutes=30)
DAY = datetime(2026, 5, 1, tzinfo=UTC)
SERIES = """
query ($id: ID!, $start: DateTime!, $end: DateTime!, $period: Period! = PT30M, $since: DateTime, $field: String,
       $zone: TimeZone! = "UTC", $weekStart: Weekday! = MONDAY) {
  resource(resourceId: $id) {
    readings(range: {start: $start, end: $end}, period: $period, revisedSince: $since, field: $field, timeZone: $zone,
             weekStart: $weekStart) {
      total count completeness quality revision asOf collectedTo completeTo
      buckets { start end value count quality completeness estimated revision }
      columns { start end value count quality completeness estimated revision }
    }
  }
}
"""


@pytest.fixture
async def resource_id(timed: Timed) -> str:
    return (await timed.add_resources(await timed.add_type(STORAGE), 1))[0]


async def read(
    timed: Timed, resource_id: str, start: datetime = DAY, span: timedelta = timedelta(hours=2), **more: Any
) -> Any:
    data = await timed.ask(SERIES, id=resource_id, start=start.isoformat(), end=(start + span).isoformat(), **more)
    series = data["resource"]["readings"]
    for name, column in series["columns"].items():
        assert column == [bucket[name] for bucket in series["buckets"]]  # columns equal the objects
    return series


def values_by_time(series: Any) -> dict[str, float]:
    return {bucket["start"][11:16]: bucket["value"] for bucket in series["buckets"]}


async def test_unchanged_reading_is_not_a_revision(timed: Timed, resource_id: str) -> None:
    await timed.record(resource_id, (DAY, "0.5", "ESTIMATED"))
    before = await read(timed, resource_id)
    timed.pass_time(timedelta(hours=1))
    answer = await timed.record(resource_id, (DAY, "0.500", "ESTIMATED"))
    assert answer["data"]["recordReadings"] == {"recorded": 1}
    assert (await read(timed, resource_id))["buckets"] == before["buckets"]
    received_again = await read(timed, resource_id, since=before["asOf"])  # received within the minute before
    assert received_again["buckets"] == before["buckets"][:1]
    later = await read(timed, resource_id)
    assert (await read(timed, resource_id, since=later["asOf"]))["buckets"] == []


async def test_changed_value_or_quality_is_a_revision(timed: Timed, resource_id: str) -> None:
    qualities = []
    for revision, (value, quality) in enumerate(
        [("0.5", "ESTIMATED"), ("0.4", "ESTIMATED"), ("0.4", "ACTUAL"), ("0.4", "SUBSTITUTED"), ("0.5", "ESTIMATED")]
    ):
        await timed.record(resource_id, *half_hours(DAY + HALF_HOUR, ["1", "1", "1"]), (DAY, value, quality))
        series = await read(timed, resource_id)
        first, *others = series["buckets"]
        assert (first["value"], first["count"], first["revision"]) == (float(value), 1, revision)
        assert [bucket["revision"] for bucket in others] == [0, 0, 0]
        assert (series["revision"], series["total"]) == (revision, pytest.approx(3 + float(value)))
        assert first["estimated"] == (quality != "ACTUAL")
        qualities.append((first["quality"], series["quality"]))
    assert qualities == [(worth, worth) for worth in ("ESTIMATED", "ESTIMATED", "ACTUAL", "ESTIMATED", "ESTIMATED")]


async def test_series_with_a_gap_is_partial(timed: Timed, resource_id: str) -> None:
    assert (await read(timed, resource_id))["quality"] == "MISSING"
    await timed.record(resource_id, (DAY, 1, "ESTIMATED"), (DAY + HALF_HOUR, 2))
    series = await read(timed, resource_id)
    assert (series["quality"], series["completeness"], series["count"]) == ("PARTIAL", 0.5, 2)
    assert [bucket["quality"] for bucket in series["buckets"]] == ["ESTIMATED", "ACTUAL", "MISSING", "MISSING"]
    (day,) = (await read(timed, resource_id, span=timedelta(days=1), period="P1D"))["buckets"]
    assert (day["quality"], day["estimated"], day["completeness"]) == ("PARTIAL", 1, 2 / 48)


@pytest.mark.parametrize("period", ["PT30M", "PT1H", "P1D"])
@pytest.mark.both_databases("readings and their sums in SQL")
async def test_revised_since_returns_changed_buckets_and_totals_of_the_whole_series(
    timed: Timed, resource_id: str, period: str
) -> None:
    await timed.record(resource_id, *half_hours(DAY, ["1"] * 96))
    timed.pass_time(timedelta(hours=1))
    since = timed.clock.now.isoformat()
    span = timedelta(days=2)
    assert (await read(timed, resource_id, span=span, period=period, since=since))["buckets"] == []
    timed.pass_time(timedelta(milliseconds=1))
    await timed.record(resource_id, (DAY + 30 * HALF_HOUR, "3"), (DAY + HALF_HOUR, "1"))  # one changed, one unchanged
    whole = await read(timed, resource_id, span=span, period=period)
    revised = await read(timed, resource_id, span=span, period=period, since=since)
    assert revised["buckets"] == [bucket for bucket in whole["buckets"] if bucket["revision"]]
    assert len(revised["buckets"]) == 1
    for name in ("total", "count", "completeness", "quality", "revision", "collectedTo", "completeTo"):
        assert revised[name] == whole[name]
    assert (revised["total"], revised["count"], revised["revision"]) == (98, 96, 1)


async def test_client_that_passes_as_of_back_misses_nothing(timed: Timed, resource_id: str) -> None:
    """A copy that a client updates only by `revisedSince` always equals a complete read."""
    span, known, since = timedelta(hours=6), dict[str, Any](), None
    corrections = [
        half_hours(DAY, ["1", "2", "3"]),
        half_hours(DAY + 2 * HALF_HOUR, ["3", "4"]),
        [(DAY, "1.5"), (DAY + 8 * HALF_HOUR, "0.1", "ESTIMATED")],
        [],
        [(DAY + 8 * HALF_HOUR, "0.1", "ACTUAL")],
        [(DAY + 8 * HALF_HOUR, "0.1", "ACTUAL")],
        half_hours(DAY, ["0"] * 12),
    ]
    waits = [timedelta(), timedelta(milliseconds=1), timedelta(seconds=59), timedelta(minutes=1), timedelta(days=1)]
    for index, batch in enumerate(corrections):
        if batch:
            await timed.record(resource_id, *batch)
        timed.pass_time(waits[index % len(waits)])
        update = await read(timed, resource_id, span=span, since=since)
        known |= {bucket["start"]: bucket for bucket in update["buckets"]}
        since = update["asOf"]
        whole = await read(timed, resource_id, span=span)
        assert {start: bucket for start, bucket in known.items() if bucket["count"]} == {
            bucket["start"]: bucket for bucket in whole["buckets"] if bucket["count"]
        }


@pytest.mark.both_databases("readings and their sums in SQL")
async def test_concurrent_write_shorter_than_a_minute_is_not_missed(timed: Timed, resource_id: str) -> None:
    """A write that begins before a response and ends after it is stored with the time of its beginning."""
    began = timed.clock.now
    timed.pass_time(timedelta(seconds=59))
    answered = await read(timed, resource_id)
    now, timed.clock.now = timed.clock.now, began
    await timed.record(resource_id, (DAY, "1"))
    timed.clock.now = now + timedelta(hours=1)
    assert values_by_time(await read(timed, resource_id, since=answered["asOf"])) == {"00:00": 1}


@pytest.mark.both_databases("readings and their sums in SQL")
async def test_months_equal_the_sum_of_their_half_hours_after_corrections(timed: Timed, resource_id: str) -> None:
    start, span = datetime(2026, 4, 1, tzinfo=UTC), timedelta(days=40)
    await timed.record(resource_id, *half_hours(start, (f"{n % 991 / 1000:.3f}" for n in range(40 * 48))))
    await timed.record(resource_id, *((start + n * 17 * HALF_HOUR, "2.5", "QUESTIONABLE") for n in range(100)))
    await timed.record(resource_id, *((start + n * 34 * HALF_HOUR, "0", "ACTUAL") for n in range(50)))
    for zone in ("UTC", "Europe/London", "America/St_Johns", "Asia/Kathmandu"):
        months = (await read(timed, resource_id, start, span, period="P1M", zone=zone))["buckets"]
        weeks = (await read(timed, resource_id, start, span, period="P1W", zone=zone))["buckets"]
        fine = (await read(timed, resource_id, start, span, zone=zone))["buckets"]
        assert sum(bucket["revision"] for bucket in fine) == 150
        for coarse in (months, weeks):
            for bucket in coarse:
                inside = [half_hour for half_hour in fine if bucket["start"] <= half_hour["start"] < bucket["end"]]
                assert bucket["value"] == pytest.approx(sum(half_hour["value"] or 0 for half_hour in inside), abs=1e-9)
                for name in ("count", "estimated", "revision"):
                    assert bucket[name] == sum(half_hour[name] for half_hour in inside)


async def test_hours_of_live_power_are_correct_after_corrections(timed: Timed, resource_id: str) -> None:
    seconds = [(DAY + timedelta(seconds=10 * n), n % 1000 - 300) for n in range(2000)]
    await timed.record(resource_id, *seconds, field="POWER")
    await timed.record(resource_id, *((at, 5000) for at, _ in seconds[::100]), field="POWER")
    values = {at: 5000 if n % 100 == 0 else value for n, (at, value) in enumerate(seconds)}
    series = await read(timed, resource_id, DAY, timedelta(hours=6), period="PT1H", field="POWER")
    for number, bucket in enumerate(series["buckets"]):
        first = DAY + timedelta(hours=number)
        inside = [value for at, value in values.items() if first <= at < first + timedelta(hours=1)]
        assert (bucket["value"], bucket["count"]) == (pytest.approx(sum(inside) / len(inside)), len(inside))
        assert bucket["revision"] == inside.count(5000)
    assert series["revision"] == 20


async def test_complete_to_and_collected_to(timed: Timed, resource_id: str) -> None:
    async def reach(period: str = "P1D", start: datetime = DAY) -> tuple[str | None, str | None]:
        series = await read(timed, resource_id, start, timedelta(days=2), period=period)
        return tuple(series[name] and series[name][8:16] for name in ("completeTo", "collectedTo"))

    assert await reach() == (None, None)
    await timed.record(resource_id, *half_hours(DAY + HALF_HOUR, ["1"] * 60))
    assert await reach() == (None, "02T06:30")  # the very first sample is missing
    await timed.record(resource_id, (DAY, "1"))
    assert await reach() == await reach("PT30M") == ("02T06:30", "02T06:30")
    await timed.record(resource_id, *half_hours(DAY + 70 * HALF_HOUR, ["1"] * 4))
    assert await reach() == await reach("PT1H") == ("02T06:30", "02T13:00")  # with a gap
    assert await reach(start=DAY + timedelta(days=1)) == ("02T06:30", "02T13:00")
    await timed.record(resource_id, *half_hours(DAY, ["1"] * 96))
    assert await reach() == await reach("PT30M") == ("03T00:00", "03T00:00")


async def test_range_without_samples_has_no_complete_to(timed: Timed, resource_id: str) -> None:
    await timed.record(resource_id, *half_hours(DAY, ["1"] * 2))
    series = await read(timed, resource_id, DAY + timedelta(minutes=5), timedelta(minutes=10), period="PT1M")
    assert (series["completeTo"], series["completeness"], series["quality"]) == (None, None, "MISSING")


async def test_irregular_values_have_collected_to_but_no_complete_to(timed: Timed, resource_id: str) -> None:
    at = DAY + timedelta(minutes=17, seconds=3)
    await timed.record(resource_id, (DAY, 1), (at, 2), field="POWER")
    series = await read(timed, resource_id, field="POWER")
    assert (series["completeTo"], series["collectedTo"]) == (None, "2026-05-01T00:17:03.000Z")
    assert (series["completeness"], series["quality"]) == (None, "ACTUAL")
    assert [bucket["completeness"] for bucket in series["buckets"]] == [None] * 4


COLUMNS = """
query ($id: ID!, $range: TimeRange!, $period: Period!) {
  resource(resourceId: $id) { readings(range: $range, period: $period) { count columns { value } } }
}
"""
OBJECTS = COLUMNS.replace("columns { value }", "buckets { value }")


async def rejection(timed: Timed, query: str, **variables: Any) -> str:
    answer = await timed.house.graphql(query, timed.headers, **variables)
    (error,) = answer["errors"]
    assert error["extensions"]["code"] == "BAD_INPUT"
    return str(error["message"])


async def test_more_than_2_000_bucket_objects_are_rejected_with_alternatives(timed: Timed, resource_id: str) -> None:
    async def ask(count: int) -> dict[str, Any]:
        end = DAY + count * HALF_HOUR
        return {"id": resource_id, "range": {"start": DAY.isoformat(), "end": end.isoformat()}, "period": "PT30M"}

    assert len((await timed.ask(OBJECTS, **await ask(2000)))["resource"]["readings"]["buckets"]) == 2000
    assert await rejection(timed, OBJECTS, **await ask(2001)) == (
        "A series returns at most 2,000 buckets as objects, but this one has 2,001. "
        "Request columns, or PT1H, or at most 41 days."
    )
    data = await timed.ask(COLUMNS, **await ask(2001))
    assert data["resource"]["readings"]["columns"]["value"] == [None] * 2001


async def test_more_than_20_000_buckets_are_rejected_and_the_alternatives_work(timed: Timed, resource_id: str) -> None:
    start = datetime(2023, 1, 1, tzinfo=UTC)

    def ask(span: timedelta, period: str) -> dict[str, Any]:
        end = start + span
        return {"id": resource_id, "range": {"start": start.isoformat(), "end": end.isoformat()}, "period": period}

    assert await rejection(timed, COLUMNS, **ask(20_001 * HALF_HOUR, "PT30M")) == (
        "A series has at most 20,000 buckets, but this range has about 20,003 of PT30M. "
        "Request PT1H, or at most 416 days."
    )
    assert (
        len((await timed.ask(COLUMNS, **ask(timedelta(days=416), "PT30M")))["resource"]["readings"]["columns"]["value"])
        == 19968
    )
    hours = await timed.ask(COLUMNS, **ask(20_001 * HALF_HOUR, "PT1H"))
    assert len(hours["resource"]["readings"]["columns"]["value"]) == 10_001


@pytest.mark.parametrize(("week_start", "first"), [("MONDAY", "04-27"), ("SUNDAY", "04-26"), ("SATURDAY", "04-25")])
async def test_weeks_begin_on_the_requested_weekday(
    timed: Timed, resource_id: str, week_start: str, first: str
) -> None:
    await timed.record(resource_id, *half_hours(datetime(2026, 4, 25, tzinfo=UTC), ["1"] * 48 * 20))
    series = await read(timed, resource_id, DAY, timedelta(days=1), period="P1W", weekStart=week_start)
    (week,) = series["buckets"]
    assert (week["start"][5:10], week["value"], week["completeness"]) == (first, 336, 1.0)
