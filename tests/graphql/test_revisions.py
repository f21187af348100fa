"""Corrections of readings, on both databases through GraphQL: what counts as one, and how a client learns of it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.house import STORAGE
from tests.support.timed import Timed, half_hours

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
    found = await timed.ask(SERIES, id=resource_id, start=start.isoformat(), end=(start + span).isoformat(), **more)
    series = found["resource"]["readings"]
    for name, column in series["columns"].items():
        assert column == [bucket[name] for bucket in series["buckets"]]  # columns say what the objects say
    return series


def told(series: Any) -> dict[str, float]:
    return {bucket["start"][11:16]: bucket["value"] for bucket in series["buckets"]}


async def test_a_reading_sent_again_as_it_was_is_no_revision(timed: Timed, resource_id: str) -> None:
    await timed.record(resource_id, (DAY, "0.5", "ESTIMATED"))
    before = await read(timed, resource_id)
    timed.pass_time(timedelta(hours=1))
    answer = await timed.record(resource_id, (DAY, "0.500", "ESTIMATED"))
    assert answer["data"]["recordReadings"] == {"recorded": 1}
    assert (await read(timed, resource_id))["buckets"] == before["buckets"]
    told_again = await read(timed, resource_id, since=before["asOf"])  # received within the minute before
    assert told_again["buckets"] == before["buckets"][:1]
    later = await read(timed, resource_id)
    assert (await read(timed, resource_id, since=later["asOf"]))["buckets"] == []


async def test_another_value_is_a_revision_and_another_quality_is_one(timed: Timed, resource_id: str) -> None:
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


async def test_a_series_with_a_gap_is_partial_whatever_its_readings_are(timed: Timed, resource_id: str) -> None:
    assert (await read(timed, resource_id))["quality"] == "MISSING"
    await timed.record(resource_id, (DAY, 1, "ESTIMATED"), (DAY + HALF_HOUR, 2))
    series = await read(timed, resource_id)
    assert (series["quality"], series["completeness"], series["count"]) == ("PARTIAL", 0.5, 2)
    assert [bucket["quality"] for bucket in series["buckets"]] == ["ESTIMATED", "ACTUAL", "MISSING", "MISSING"]
    (day,) = (await read(timed, resource_id, span=timedelta(days=1), period="P1D"))["buckets"]
    assert (day["quality"], day["estimated"], day["completeness"]) == ("PARTIAL", 1, 2 / 48)


@pytest.mark.parametrize("period", ["PT30M", "PT1H", "P1D"])
async def test_only_buckets_with_something_received_later_are_told_and_totals_are_those_of_all(
    timed: Timed, resource_id: str, period: str
) -> None:
    await timed.record(resource_id, *half_hours(DAY, ["1"] * 96))
    timed.pass_time(timedelta(hours=1))
    since = timed.clock.now.isoformat()
    span = timedelta(days=2)
    assert (await read(timed, resource_id, span=span, period=period, since=since))["buckets"] == []
    timed.pass_time(timedelta(milliseconds=1))
    await timed.record(resource_id, (DAY + 30 * HALF_HOUR, "3"), (DAY + HALF_HOUR, "1"))  # one changed, one as it was
    whole = await read(timed, resource_id, span=span, period=period)
    revised = await read(timed, resource_id, span=span, period=period, since=since)
    assert revised["buckets"] == [bucket for bucket in whole["buckets"] if bucket["revision"]]
    assert len(revised["buckets"]) == 1
    for name in ("total", "count", "completeness", "quality", "revision", "collectedTo", "completeTo"):
        assert revised[name] == whole[name]
    assert (revised["total"], revised["count"], revised["revision"]) == (98, 96, 1)


async def test_a_client_that_hands_back_what_it_was_told_misses_nothing(timed: Timed, resource_id: str) -> None:
    """A notebook kept by `revisedSince` alone is at every moment what a whole read tells."""
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
    for turn, batch in enumerate(corrections):
        if batch:
            await timed.record(resource_id, *batch)
        timed.pass_time(waits[turn % len(waits)])
        news = await read(timed, resource_id, span=span, since=since)
        known |= {bucket["start"]: bucket for bucket in news["buckets"]}
        since = news["asOf"]
        whole = await read(timed, resource_id, span=span)
        assert {start: one for start, one in known.items() if one["count"]} == {
            bucket["start"]: bucket for bucket in whole["buckets"] if bucket["count"]
        }


async def test_a_write_under_way_for_less_than_a_minute_is_not_missed(timed: Timed, resource_id: str) -> None:
    """What began before an answer and ends after it carries the time at which it began."""
    began = timed.clock.now
    timed.pass_time(timedelta(seconds=59))
    answered = await read(timed, resource_id)
    now, timed.clock.now = timed.clock.now, began
    await timed.record(resource_id, (DAY, "1"))
    timed.clock.now = now + timedelta(hours=1)
    assert told(await read(timed, resource_id, since=answered["asOf"])) == {"00:00": 1}


async def test_months_stay_the_sum_of_their_half_hours_through_corrections(timed: Timed, resource_id: str) -> None:
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
                inside = [one for one in fine if bucket["start"] <= one["start"] < bucket["end"]]
                assert bucket["value"] == pytest.approx(sum(one["value"] or 0 for one in inside), abs=1e-9)
                for name in ("count", "estimated", "revision"):
                    assert bucket[name] == sum(one[name] for one in inside)


async def test_hours_of_live_power_are_right_through_corrections(timed: Timed, resource_id: str) -> None:
    seconds = [(DAY + timedelta(seconds=10 * n), n % 1000 - 300) for n in range(2000)]
    await timed.record(resource_id, *seconds, field="POWER")
    await timed.record(resource_id, *((at, 5000) for at, _ in seconds[::100]), field="POWER")
    values = {at: 5000 if n % 100 == 0 else value for n, (at, value) in enumerate(seconds)}
    series = await read(timed, resource_id, DAY, timedelta(hours=6), period="PT1H", field="POWER")
    for number, bucket in enumerate(series["buckets"]):
        first = DAY + timedelta(hours=number)
        inside = [value for at, value in values.items() if first <= at < first + timedelta(hours=1)]
        assert (bucket["value"], bucket["count"]) == (sum(inside), len(inside))
        assert bucket["revision"] == inside.count(5000)
    assert series["revision"] == 20


async def test_how_far_a_series_is_complete_and_how_far_it_was_collected(timed: Timed, resource_id: str) -> None:
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


async def test_a_range_in_which_no_sample_is_to_be_taken_is_complete_up_to_no_instant(
    timed: Timed, resource_id: str
) -> None:
    await timed.record(resource_id, *half_hours(DAY, ["1"] * 2))
    series = await read(timed, resource_id, DAY + timedelta(minutes=5), timedelta(minutes=10), period="PT1M")
    assert (series["completeTo"], series["completeness"], series["quality"]) == (None, None, "MISSING")


async def test_values_at_any_time_are_collected_and_never_complete(timed: Timed, resource_id: str) -> None:
    at = DAY + timedelta(minutes=17, seconds=3)
    await timed.record(resource_id, (DAY, 1), (at, 2), field="POWER")
    series = await read(timed, resource_id, field="POWER")
    assert (series["completeTo"], series["collectedTo"]) == (None, "2026-05-01T00:17:03.000Z")
    assert (series["completeness"], series["quality"]) == (None, "ACTUAL")
    assert [bucket["completeness"] for bucket in series["buckets"]] == [None] * 4


COLUMNS = """
query ($id: ID!, $range: TimeRange!, $period: Period!) {
  readings(resourceId: $id, range: $range, period: $period) { count columns { value } }
}
"""
OBJECTS = COLUMNS.replace("columns { value }", "buckets { value }")


async def refused(timed: Timed, query: str, **variables: Any) -> str:
    answer = await timed.house.graphql(query, timed.headers, **variables)
    (error,) = answer["errors"]
    assert error["extensions"]["code"] == "BAD_INPUT"
    return str(error["message"])


async def test_more_objects_than_two_thousand_are_refused_naming_columns_and_what_fits(
    timed: Timed, resource_id: str
) -> None:
    async def ask(count: int) -> dict[str, Any]:
        end = DAY + count * HALF_HOUR
        return {"id": resource_id, "range": {"start": DAY.isoformat(), "end": end.isoformat()}, "period": "PT30M"}

    assert len((await timed.ask(OBJECTS, **await ask(2000)))["readings"]["buckets"]) == 2000
    assert await refused(timed, OBJECTS, **await ask(2001)) == (
        "buckets are told as objects up to 2,000, and these are 2,001: ask columns, or PT1H, or at most 41 days"
    )
    found = await timed.ask(COLUMNS, **await ask(2001))
    assert found["readings"]["columns"]["value"] == [None] * 2001


async def test_more_buckets_than_twenty_thousand_are_refused_and_what_is_named_instead_is_taken(
    timed: Timed, resource_id: str
) -> None:
    start = datetime(2023, 1, 1, tzinfo=UTC)

    def ask(span: timedelta, period: str) -> dict[str, Any]:
        end = start + span
        return {"id": resource_id, "range": {"start": start.isoformat(), "end": end.isoformat()}, "period": period}

    assert await refused(timed, COLUMNS, **ask(20_001 * HALF_HOUR, "PT30M")) == (
        "a series has at most 20,000 buckets, and this range has about 20,003 of PT30M: ask PT1H, or at most 416 days"
    )
    assert len((await timed.ask(COLUMNS, **ask(timedelta(days=416), "PT30M")))["readings"]["columns"]["value"]) == 19968
    hours = await timed.ask(COLUMNS, **ask(20_001 * HALF_HOUR, "PT1H"))
    assert len(hours["readings"]["columns"]["value"]) == 10_001


@pytest.mark.parametrize(("week_start", "first"), [("MONDAY", "04-27"), ("SUNDAY", "04-26"), ("SATURDAY", "04-25")])
async def test_weeks_begin_on_the_weekday_that_is_asked(
    timed: Timed, resource_id: str, week_start: str, first: str
) -> None:
    await timed.record(resource_id, *half_hours(datetime(2026, 4, 25, tzinfo=UTC), ["1"] * 48 * 20))
    series = await read(timed, resource_id, DAY, timedelta(days=1), period="P1W", weekStart=week_start)
    (week,) = series["buckets"]
    assert (week["start"][5:10], week["value"], week["completeness"]) == (first, 336, 1.0)
