"""What arguments say of sizes and weights, whatever they are: it is bounded, and never an error."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattgate.clock import TimeRange
from wattgate.energy import buckets
from wattgate.enums import Period
from wattgate.graphql.catalogue import OPERATIONS
from wattgate.graphql.core.cost_weights import (
    HASHING,
    MUTATION,
    STATEMENTS,
    Measure,
    bucket_count,
    count_of,
    number,
    per_bucket,
    per_day,
    per_item,
    rows,
    samples,
)
from wattgate.graphql.core.edge import Edge
from wattgate.graphql.core.operation import Operation
from wattgate.graphql.cost.estimate import cost_of_call
from wattgate.principal import Permission

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
MONTH = {"start": datetime(2026, 10, 1, tzinfo=UTC), "end": datetime(2026, 11, 1, tzinfo=UTC)}
OPEN = {"start": datetime(2026, 11, 20, tzinfo=UTC), "end": None}
BACKWARDS = {"start": MONTH["end"], "end": MONTH["start"]}

MEASURES: dict[str, tuple[Measure, int]] = {
    "number": (number("first", 50, 100), 100),
    "weighted number": (number("days", 30, 366, weight=130, of_one=10), 130 + 3_660),
    "count_of": (count_of("ids"), 10**6),
    "per_item": (per_item("series", most=30), MUTATION + 30),
    "per_item of a member": (per_item("series", "readings", most=30, of_item=2, per_unit=4), MUTATION + 15),
    "bucket_count": (bucket_count(2_000), 2_000),
    "per_bucket": (per_bucket(2, 20_000), 2 + 20_000 * 1_200 // 30),
    "per_day": (per_day(15, 10, most=timedelta(days=2_000)), 15 + 20_010),
    "samples": (samples(timedelta(minutes=30), 20_000), 20_000),
    "rows": (rows(10_000, weight=30, per_unit=20), 530),
}

anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.sampled_from(Period),
    st.sampled_from([MONTH, OPEN, BACKWARDS, TimeRange(NOW), TimeRange(NOW - timedelta(days=9_999_9), NOW)]),
    st.datetimes(timezones=st.just(UTC)),
    st.builds(lambda one, other: {"start": one, "end": other}, *[st.datetimes(timezones=st.just(UTC))] * 2),
    st.dictionaries(
        st.sampled_from(["start", "end", "readings"]), st.one_of(st.none(), st.text(max_size=2)), max_size=2
    ),
    st.lists(
        st.one_of(st.none(), st.integers(), st.just({"readings": [1, 2]}), st.just({"readings": None})), max_size=9
    ),
)


@given(st.data())
@pytest.mark.parametrize("name", MEASURES)
def test_a_measure_answers_within_its_bounds_for_whatever_it_is_given(name: str, data: st.DataObject) -> None:
    measure, most = MEASURES[name]
    values = [data.draw(anything) for _ in measure.slicing_arguments]
    assert 0 <= measure.of(NOW, *values) <= most
    assert measure.moves is None or measure.moves(*values) in (True, False)


def test_a_page_has_as_many_items_as_are_asked_and_at_most_the_limit() -> None:
    measure = number("first", 50, 100)
    assert [measure.of(NOW, first) for first in (1, 99, 100, 101, 0, -7, None)] == [1, 99, 100, 100, 1, 1, 50]


def test_a_weight_of_items_counts_them_all_up_to_what_a_call_takes() -> None:
    series = [{"readings": [0] * 7}, {"readings": [0] * 8}, {"readings": []}]
    assert per_item("series", "readings", most=10_000).of(NOW, series) == MUTATION + 15
    assert per_item("series", "readings", most=10).of(NOW, series) == MUTATION + 10
    assert per_item("series", "readings", most=10_000, per_unit=4).of(NOW, series) == MUTATION + 3
    assert per_item("ids", weight=30, of_item=70, most=10_000).of(NOW, ["a", "b"]) == 170


@pytest.mark.parametrize("period", Period)
def test_buckets_are_at_least_as_many_as_the_resolver_makes(period: Period) -> None:
    start, end = MONTH["start"], MONTH["end"]
    made = buckets.grid(start, end, period, UTC).count
    told = bucket_count(100_000).of(NOW, MONTH, period)
    assert made <= told <= made + 4
    assert bucket_count(100_000).of(NOW, TimeRange(start, end), period) == told


def test_buckets_are_counted_up_to_what_a_series_tells() -> None:
    year = {"start": NOW - timedelta(days=365), "end": NOW}
    assert bucket_count(2_000).of(NOW, year, Period.PT30M) == 2_000
    assert bucket_count(2_000).of(NOW, BACKWARDS, Period.PT30M) == 1
    assert bucket_count(2_000).of(NOW, year, None) == 1


def test_an_open_range_goes_up_to_now_and_its_measure_moves() -> None:
    for measure, others in ((bucket_count(2_000), []), (per_bucket(2, 20_000), ["ENERGY"])):
        assert measure.moves is not None
        assert measure.moves(OPEN, Period.PT1H, *others)
        assert not measure.moves(MONTH, Period.PT1H, *others)
    assert bucket_count(2_000).of(NOW, OPEN, Period.PT1H) == 12 + 2
    assert bucket_count(2_000).of(NOW + timedelta(hours=5), OPEN, Period.PT1H) == 17 + 2


def test_long_periods_weigh_more_by_the_bucket_and_less_by_the_range() -> None:
    year = {"start": NOW - timedelta(days=365), "end": NOW}
    by_half_hour, by_day, by_month = [
        per_bucket(0, 20_000).of(NOW, year, period, None) for period in (Period.PT30M, Period.P1D, Period.P1M)
    ]
    assert by_half_hour > by_day > by_month > 50


def test_half_hours_of_live_power_weigh_what_its_many_readings_take() -> None:
    energy, power = [per_bucket(0, 20_000).of(NOW, MONTH, Period.PT30M, field) for field in ("ENERGY", "POWER")]
    assert power > 40 * energy
    for period in set(Period) - {Period.PT30M}:
        assert len({per_bucket(0, 20_000).of(NOW, MONTH, period, field) for field in ("POWER", None)}) == 1


def test_stored_readings_are_counted_as_if_they_came_every_ten_seconds() -> None:
    page = rows(10_000)
    assert page.of(NOW, NOW - timedelta(minutes=1), NOW) == 7
    assert page.of(NOW, NOW - timedelta(minutes=1), None) == 7
    assert page.of(NOW, None, NOW) == 10_000
    assert page.of(NOW, MONTH["start"], MONTH["end"]) == 10_000


def operation(name: str) -> Operation:
    return next(one for one in OPERATIONS if one.name == name and one.kind.value != "Subscription")


@pytest.mark.parametrize(
    ("name", "arguments", "cost"),
    [
        ("virtual_entity", {"ve_id": "a"}, STATEMENTS + 1),
        ("virtual_entities", {}, STATEMENTS + 5),
        ("authenticate", {}, HASHING + 1),
        ("add_content", {}, MUTATION + 1),
        ("record_readings", {"series": [{"readings": [1, 2, 3]}]}, MUTATION + 3 + 1),
        ("readings", {"range": TimeRange(**MONTH), "period": Period.P1D}, STATEMENTS + 34 * 35 // 30 + 1 + 3),
    ],
)
def test_a_call_of_an_operation_costs_its_weight_and_what_it_answers(
    name: str, arguments: dict[str, Any], cost: int
) -> None:
    assert cost_of_call(operation(name), arguments) == cost


async def _nothing(rows: Any, parents: Any) -> list[Any]:
    return []


def test_a_call_costs_the_edges_that_are_told_with_it() -> None:
    edges = [Edge(_nothing, Permission.ANYONE), Edge(_nothing, Permission.ANYONE, weight=4)]
    assert cost_of_call(operation("virtual_entities"), {}, edges) == STATEMENTS + 5 + 2 * STATEMENTS + 5 + 20
