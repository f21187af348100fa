"""Series of readings against a slow model that is obviously right: zones, years, clock changes, corrections."""

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
from wattgate.graphql.core.operation import Kind
from wattgate.graphql.resolvers import readings, recording
from wattgate.graphql.types import readings as types
from wattgate.graphql.types import resources as resource_types

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
    """What is stored, said once more: by instant the value, its quality, and how often it was revised."""

    stored: dict[datetime, tuple[Decimal, ReadingQuality, int]] = field(default_factory=dict)

    def record(self, batch: dict[datetime, tuple[Decimal, ReadingQuality]]) -> None:
        for at, (value, quality) in batch.items():
            known = self.stored.get(at)
            if known is None:
                self.stored[at] = (value, quality, 0)
            elif known[:2] != (value, quality):
                self.stored[at] = (value, quality, known[2] + 1)

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


SPANS = {  # how long around a clock change is looked at, so that there are some, and not too many, buckets
    Period.PT1M: timedelta(minutes=200),
    Period.PT30M: timedelta(days=2),
    Period.PT1H: timedelta(days=3),
    Period.P1D: timedelta(days=9),
    Period.P1W: timedelta(days=40),
    Period.P1M: timedelta(days=120),
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
    if draw(st.booleans()) and steps < 500:  # nothing missing, but for what a second batch changes
        batches.insert(0, {step: (step % 97, ReadingQuality.ACTUAL) for step in range(-steps, steps + 1)})
    return {
        "zone": zone,
        "period": period,
        "function": draw(st.sampled_from(list(Function))),
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
    kind = resource_types.NewResourceType(name="any", classifier="any", storage=storage)
    type_id = (await house.one.run("add_resource_type", input=kind)).resource_type_id
    given = resource_types.NewResource(resource_type_id=ID(type_id), name="any")
    return str((await house.one.run("add_resource", input=given)).resource_id)


async def record(house: House, resource_id: str, name: str, batch: dict[datetime, tuple[Decimal, Any]]) -> None:
    columns = types.NewReadingColumns(
        resource_id=ID(resource_id),
        field=name,
        at=list(batch),
        value=[value for value, _ in batch.values()],
        quality=[quality for _, quality in batch.values()],
    )
    done = await house.gateway.runner.run(recording.record_reading_columns, house.one.system, {"series": [columns]})
    assert not done.refused


async def ask(house: House, resource_id: str, **arguments: Any) -> ReadingSeries:
    given = {"resource_id": resource_id, **arguments}
    found: ReadingSeries = await house.gateway.runner.run(readings.readings, house.one.system, given)
    return found


@settings(max_examples=examples(60), suppress_health_check=list(HealthCheck))
@given(scenario=scenarios())
async def test_a_series_is_what_the_wall_clock_and_a_notebook_say(served: House, scenario: dict[str, Any]) -> None:
    resource_id, model = await new_resource(served), Model()
    for batch in scenario["batches"]:
        await record(served, resource_id, scenario["field"], batch)
        model.record(batch)
    zone, period, week_start = ZoneInfo(scenario["zone"]), scenario["period"], scenario["week_start"]
    series = await ask(
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
    begun, ended = datetime.fromisoformat(first.start), datetime.fromisoformat(last.end)
    assert begun <= scenario["start"] < datetime.fromisoformat(first.end)
    assert datetime.fromisoformat(last.start) < scenario["end"] <= ended
    inside = sorted(at for at in model.stored if begun <= at < ended)
    by_label = defaultdict(list)
    for at in inside:
        by_label[label(at, period, zone, week_start)].append(at)
    interval = FIELDS[scenario["field"]]
    wanted_in_all, complete_to, gap = 0, None, False
    for bucket in series.buckets:
        start, end = datetime.fromisoformat(bucket.start), datetime.fromisoformat(bucket.end)
        held = by_label.pop(label(start, period, zone, week_start), [])
        assert held == [at for at in inside if start <= at < end]
        value = model.value(held, scenario["function"])
        assert (bucket.value is None) == (value is None)
        assert bucket.value is None or bucket.value == pytest.approx(float(value or 0), rel=1e-12, abs=1e-12)
        assert bucket.count == len(held)
        assert bucket.estimated == sum(model.stored[at][1] is not ReadingQuality.ACTUAL for at in held)
        assert bucket.revision == sum(model.stored[at][2] for at in held)
        wanted = [] if interval is None else samples(start, end, interval)
        wanted_in_all += len(wanted)
        assert bucket.completeness == (len(held) / len(wanted) if wanted else None)
        if not held:
            assert bucket.quality is BucketQuality.MISSING
        elif len(held) < len(wanted):
            assert bucket.quality is BucketQuality.PARTIAL
        else:
            assert bucket.quality is (BucketQuality.ESTIMATED if bucket.estimated else BucketQuality.ACTUAL)
        for at in wanted:
            gap = gap or at not in model.stored
            if not gap:
                complete_to = at + (interval or timedelta())
    assert not by_label
    assert series.count == len(inside)
    assert series.completeness == (len(inside) / wanted_in_all if wanted_in_all else None)
    assert series.collected_to == (inside[-1] + (interval or timedelta()) if inside else None)
    assert (series.total is None) == (not inside)
    if inside:
        assert series.total == pytest.approx(float(sum(model.stored[at][0] for at in inside)))
        values = [bucket.value for bucket in series.buckets if bucket.value is not None]
        assert series.highest is not None
        assert series.lowest is not None
        assert (series.highest.value, series.lowest.value) == (max(values), min(values))
    (told,) = await served.one.edge(operation("readings", Kind.QUERY).returns, "complete_to", [series])
    if wanted_in_all and not gap:
        assert told == ended
    else:
        assert told == complete_to


def samples(start: datetime, end: datetime, interval: timedelta) -> list[datetime]:
    """The instants of regular sampling from start to before end, one by one."""
    at = datetime(2014, 1, 6, tzinfo=UTC) + interval * ((start - datetime(2014, 1, 6, tzinfo=UTC)) // interval)
    found = []
    while at < end:
        if at >= start:
            found.append(at)
        at += interval
    return found
