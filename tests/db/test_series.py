"""Series of readings compared with a simple, slow model: zones, years, clock changes, revisions."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strawberry import ID

from tests.support.calendar import label
from tests.support.chance import examples
from tests.support.house import House, operation
from wattgate.clock import TimeRange
from wattgate.db.readings.reading_series import ReadingSeries
from wattgate.enums import BucketQuality, Function, Period, ReadingQuality, Weekday
from wattgate.operations.core.operation import OperationKind
from wattgate.operations.readings import readings, recording
from wattgate.operations.types.homes import resources as resource_types
from wattgate.operations.types.meters import readings as types

LONDON = ZoneInfo("Europe/London")
CLOCK_CHANGES = {
    "UTC": [datetime(2020, 2, 29, tzinfo=UTC)],
    "Europe/London": [datetime(2019, 3, 31, 1, tzinfo=UTC), datetime(2023, 10, 29, 1, tzinfo=UTC)],
    "America/New_York": [datetime(2022, 3, 13, 7, tzinfo=UTC), datetime(2018, 11, 4, 6, tzinfo=UTC)],
    "Australia/Lord_Howe": [datetime(2021, 4, 3, 15, tzinfo=UTC), datetime(2024, 10, 5, 15, 30, tzinfo=UTC)],
    "Asia/Kathmandu": [datetime(2024, 12, 31, 18, 15, tzinfo=UTC)],
}
FIELDS = {
    "HALF_HOURS": timedelta(minutes=30),
    "TEN_MINUTES": timedelta(minutes=10),
    "ANY_TIME": None,
}


@dataclass
class Model:
    """A model of the stored readings: by instant, the value, the quality and the number of revisions."""

    stored: dict[datetime, tuple[Decimal, ReadingQuality, int]] = field(default_factory=dict)

    def record(self, batch: dict[datetime, tuple[Decimal, ReadingQuality]]) -> None:
        for at, (value, quality) in batch.items():
            previous = self.stored.get(at)
            if previous is None:
                self.stored[at] = (value, quality, 0)
            elif previous[:2] != (value, quality):
                self.stored[at] = (value, quality, previous[2] + 1)

    def value(self, instants: list[datetime], function: Function) -> Fraction | None:
        values = [Fraction(self.stored[at][0]) for at in instants]
        if not values:
            return None
        return {
            Function.SUM: sum(values, Fraction()),
            Function.AVG: sum(values, Fraction()) / len(values),
            Function.MIN: min(values),
            Function.MAX: max(values),
            Function.FIRST: values[0],
            Function.LAST: values[-1],
            Function.COUNT: Fraction(len(values)),
        }[function]


SPANS = {  # the length of time around a clock change, chosen for a moderate number of buckets
    Period.PT1M: timedelta(minutes=200),
    Period.PT5M: timedelta(hours=12),
    Period.PT15M: timedelta(days=1),
    Period.PT30M: timedelta(days=2),
    Period.PT1H: timedelta(days=3),
    Period.P1D: timedelta(days=9),
    Period.P1W: timedelta(days=40),
    Period.P1M: timedelta(days=120),
    Period.P3M: timedelta(days=250),
    Period.P1Y: timedelta(days=500),
}


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, Any]:
    zone, period = draw(st.sampled_from(sorted(CLOCK_CHANGES))), draw(st.sampled_from(list(Period)))
    name = draw(st.sampled_from(sorted(FIELDS)))
    half = SPANS[period] / 2
    grid = FIELDS[name] or timedelta(seconds=7)
    middle = draw(st.sampled_from(CLOCK_CHANGES[zone]))
    anchor = middle - (middle - datetime(2014, 1, 6, tzinfo=UTC)) % timedelta(minutes=30)  # samples are on a grid
    steps = int(half / grid)
    offsets = st.integers(-steps, steps)
    values = st.tuples(st.integers(-5000, 5000), st.sampled_from(list(ReadingQuality)))
    batches = draw(st.lists(st.dictionaries(offsets, values, max_size=60), min_size=1, max_size=3))
    if draw(st.booleans()) and steps < 500:  # complete, so that later batches only revise readings
        batches.insert(0, {step: (step % 97, ReadingQuality.ACTUAL) for step in range(-steps, steps + 1)})
    return {
        "zone": zone,
        "period": period,
        "function": draw(st.sampled_from([one for one in Function if one is not Function.DIFFERENCE])),
        "week_start": draw(st.sampled_from(list(Weekday))),
        "field": name,
        "start": middle - half + draw(st.integers(0, 90)) * timedelta(minutes=1),
        "end": middle + half - draw(st.integers(0, 90)) * timedelta(minutes=1),
        "batches": [
            {anchor + step * grid: (Decimal(value).scaleb(-3), quality) for step, (value, quality) in batch.items()}
            for batch in batches
        ],
    }


async def new_resource(house: House) -> str:
    storage = [
        resource_types.NewStorageDefinition(
            type="timeseries",
            sampling="irregular" if interval is None else "regular",
            interval=None if interval is None else f"PT{interval // timedelta(minutes=1)}M",
            start="2014-01-06T00:00:00+00:00",
            fields=[
                resource_types.NewStorageField(field_name=name, unit="kWh", datatype="fixedpoint(3)", negative=True)
            ],
        )
        for name, interval in FIELDS.items()
    ]
    resource_type = resource_types.NewResourceType(name="any", classifier="any", storage=storage)
    type_id = (await house.one.run("add_resource_type", input=resource_type)).resource_type_id
    resource = resource_types.NewResource(resource_type_id=ID(type_id), name="any")
    return str((await house.one.run("add_resource", input=resource)).resource_id)


async def record(house: House, resource_id: str, name: str, batch: dict[datetime, tuple[Decimal, Any]]) -> None:
    columns = types.NewReadingColumns(
        resource_id=ID(resource_id),
        field=name,
        at=list(batch),
        value=[value for value, _ in batch.values()],
        quality=[quality for _, quality in batch.values()],
    )
    result = await house.gateway.runner.run(recording.record_reading_columns, house.one.system, {"series": [columns]})
    assert not result.refused


async def query_readings(house: House, resource_id: str, **arguments: Any) -> ReadingSeries:
    all_arguments = {"resource_id": resource_id, **arguments}
    series: ReadingSeries = await house.gateway.runner.run(readings.readings, house.one.system, all_arguments)
    return series


@settings(max_examples=examples(60), suppress_health_check=list(HealthCheck))
@given(scenario=scenarios())
async def test_series_matches_the_reference_model(served: House, scenario: dict[str, Any]) -> None:
    resource_id, model = await new_resource(served), Model()
    for batch in scenario["batches"]:
        await record(served, resource_id, scenario["field"], batch)
        model.record(batch)
    zone, period, week_start = ZoneInfo(scenario["zone"]), scenario["period"], scenario["week_start"]
    series = await query_readings(
        served,
        resource_id,
        range=TimeRange(scenario["start"], scenario["end"]),
        period=period,
        function=scenario["function"],
        time_zone=zone,
        week_start=week_start,
        field=scenario["field"],
    )
    first, last = series.buckets[0], series.buckets[-1]
    series_start, series_end = datetime.fromisoformat(first.start), datetime.fromisoformat(last.end)
    assert series_start <= scenario["start"] < datetime.fromisoformat(first.end)
    assert datetime.fromisoformat(last.start) < scenario["end"] <= series_end
    inside = sorted(at for at in model.stored if series_start <= at < series_end)
    by_label = defaultdict(list)
    for at in inside:
        by_label[label(at, period, zone, week_start)].append(at)
    interval = FIELDS[scenario["field"]]
    expected_count, complete_to, has_gap = 0, None, False
    for bucket in series.buckets:
        start, end = datetime.fromisoformat(bucket.start), datetime.fromisoformat(bucket.end)
        instants = by_label.pop(label(start, period, zone, week_start), [])
        assert instants == [at for at in inside if start <= at < end]
        value = model.value(instants, scenario["function"])
        assert (bucket.value is None) == (value is None)
        assert bucket.value is None or bucket.value == pytest.approx(float(value or 0), rel=1e-12, abs=1e-12)
        assert bucket.count == len(instants)
        assert bucket.estimated == sum(model.stored[at][1] is not ReadingQuality.ACTUAL for at in instants)
        assert bucket.revision == sum(model.stored[at][2] for at in instants)
        expected = [] if interval is None else samples(start, end, interval)
        expected_count += len(expected)
        assert bucket.completeness == (len(instants) / len(expected) if expected else None)
        if not instants:
            assert bucket.quality is BucketQuality.MISSING
        elif len(instants) < len(expected):
            assert bucket.quality is BucketQuality.PARTIAL
        else:
            assert bucket.quality is (BucketQuality.ESTIMATED if bucket.estimated else BucketQuality.ACTUAL)
        for at in expected:
            has_gap = has_gap or at not in model.stored
            if not has_gap:
                complete_to = at + (interval or timedelta())
    assert not by_label
    assert series.count == len(inside)
    assert series.completeness == (len(inside) / expected_count if expected_count else None)
    assert series.collected_to == (inside[-1] + (interval or timedelta()) if inside else None)
    assert (series.total is None) == (not inside)
    if inside:
        assert series.total == pytest.approx(float(sum(model.stored[at][0] for at in inside)))
        values = [bucket.value for bucket in series.buckets if bucket.value is not None]
        assert series.highest is not None
        assert series.lowest is not None
        assert (series.highest.value, series.lowest.value) == (max(values), min(values))
    (series_complete_to,) = await served.one.edge(
        operation("readings", OperationKind.QUERY).returns, "complete_to", [series]
    )
    if expected_count and not has_gap:
        assert series_complete_to == series_end
    else:
        assert series_complete_to == complete_to


def samples(start: datetime, end: datetime, interval: timedelta) -> list[datetime]:
    """Return the instants of regular sampling in [start, end)."""
    at = datetime(2014, 1, 6, tzinfo=UTC) + interval * ((start - datetime(2014, 1, 6, tzinfo=UTC)) // interval)
    instants = []
    while at < end:
        if at >= start:
            instants.append(at)
        at += interval
    return instants
