"""Sizes and weights from arguments: bounded, and never an error, for any values."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattgate.clock import TimeRange
from wattgate.energy import buckets
from wattgate.enums import Period
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.core.operation import Operation
from wattgate.operations.vocabulary.cost_weights import (
    MUTATION_WEIGHT,
    PASSWORD_HASH_WEIGHT,
    STATEMENT_WEIGHT,
    ArgumentMeasure,
    bucket_count,
    linear_in_argument,
    list_length,
    per_bucket,
    per_day,
    per_item,
    sample_count,
    stored_reading_count,
)
from wattgate.operations.vocabulary.node import EdgeField
from wattgate.principal import Permission
from wattgate.rest_compat.call_charge import cost_of_call

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
MONTH = {"start": datetime(2026, 10, 1, tzinfo=UTC), "end": datetime(2026, 11, 1, tzinfo=UTC)}
OPEN = {"start": datetime(2026, 11, 20, tzinfo=UTC), "end": None}
BACKWARDS = {"start": MONTH["end"], "end": MONTH["start"]}

MEASURES: dict[str, tuple[ArgumentMeasure, int]] = {
    "number": (linear_in_argument("first", 50, 100), 100),
    "weighted number": (linear_in_argument("days", 30, 366, weight=130, weight_per_one=10), 130 + 3_660),
    "count_of": (list_length("ids"), 10**6),
    "per_item": (per_item("series", max_items=30), MUTATION_WEIGHT + 30),
    "per_item of a member": (
        per_item("series", "readings", max_items=30, item_weight=2, items_per_unit=4),
        MUTATION_WEIGHT + 15,
    ),
    "bucket_count": (bucket_count(2_000), 2_000),
    "per_bucket": (per_bucket(2, 20_000), 2 + 20_000 * 1_200 // 30),
    "per_day": (per_day(15, 10, max_length=timedelta(days=2_000)), 15 + 20_010),
    "samples": (sample_count(timedelta(minutes=30), 20_000), 20_000),
    "rows": (stored_reading_count(10_000, weight=30, rows_per_unit=20), 530),
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
def test_measure_stays_within_its_bounds_for_any_value(name: str, data: st.DataObject) -> None:
    measure, maximum = MEASURES[name]
    values = [data.draw(anything) for _ in measure.slicing_arguments]
    assert 0 <= measure.compute(NOW, *values) <= maximum
    assert measure.depends_on_time is None or measure.depends_on_time(*values) in (True, False)


def test_page_size_is_the_requested_number_up_to_the_limit() -> None:
    measure = linear_in_argument("first", 50, 100)
    assert [measure.compute(NOW, first) for first in (1, 99, 100, 101, 0, -7, None)] == [1, 99, 100, 100, 1, 1, 50]


def test_weight_of_items_counts_up_to_the_maximum_of_a_call() -> None:
    series = [{"readings": [0] * 7}, {"readings": [0] * 8}, {"readings": []}]
    assert per_item("series", "readings", max_items=10_000).compute(NOW, series) == MUTATION_WEIGHT + 15
    assert per_item("series", "readings", max_items=10).compute(NOW, series) == MUTATION_WEIGHT + 10
    assert (
        per_item("series", "readings", max_items=10_000, items_per_unit=4).compute(NOW, series) == MUTATION_WEIGHT + 3
    )
    assert per_item("ids", weight=30, item_weight=70, max_items=10_000).compute(NOW, ["a", "b"]) == 170


@pytest.mark.parametrize("period", Period)
def test_bucket_count_is_at_least_that_of_the_resolver(period: Period) -> None:
    start, end = MONTH["start"], MONTH["end"]
    resolver_count = buckets.build_grid(start, end, period, UTC).count
    measured = bucket_count(100_000).compute(NOW, MONTH, period)
    assert resolver_count <= measured <= resolver_count + 4
    assert bucket_count(100_000).compute(NOW, TimeRange(start, end), period) == measured


def test_bucket_count_is_limited_to_that_of_a_series() -> None:
    year = {"start": NOW - timedelta(days=365), "end": NOW}
    assert bucket_count(2_000).compute(NOW, year, Period.PT30M) == 2_000
    assert bucket_count(2_000).compute(NOW, BACKWARDS, Period.PT30M) == 1
    assert bucket_count(2_000).compute(NOW, year, None) == 1


def test_open_range_ends_now_and_depends_on_time() -> None:
    for measure, others in ((bucket_count(2_000), []), (per_bucket(2, 20_000), ["ENERGY"])):
        assert measure.depends_on_time is not None
        assert measure.depends_on_time(OPEN, Period.PT1H, *others)
        assert not measure.depends_on_time(MONTH, Period.PT1H, *others)
    assert bucket_count(2_000).compute(NOW, OPEN, Period.PT1H) == 12 + 2
    assert bucket_count(2_000).compute(NOW + timedelta(hours=5), OPEN, Period.PT1H) == 17 + 2


def test_long_periods_cost_more_per_bucket_and_less_per_range() -> None:
    year = {"start": NOW - timedelta(days=365), "end": NOW}
    by_half_hour, by_day, by_month = [
        per_bucket(0, 20_000).compute(NOW, year, period, None) for period in (Period.PT30M, Period.P1D, Period.P1M)
    ]
    assert by_half_hour > by_day > by_month > 50


def test_short_buckets_of_live_power_cost_more_than_those_of_energy() -> None:
    costs = {
        period: [per_bucket(0, 20_000).compute(NOW, MONTH, period, field) for field in ("ENERGY", "POWER")]
        for period in (Period.PT5M, Period.PT15M, Period.PT30M)
    }
    ratios = [power / energy for energy, power in costs.values()]
    assert ratios == sorted(ratios)
    assert (ratios[0] > 2, ratios[-1] > 40) == (True, True)
    for period in set(Period) - set(costs):
        assert len({per_bucket(0, 20_000).compute(NOW, MONTH, period, field) for field in ("POWER", None)}) == 1


def test_stored_readings_are_estimated_as_one_every_ten_seconds() -> None:
    page = stored_reading_count(10_000)
    assert page.compute(NOW, NOW - timedelta(minutes=1), NOW) == 7
    assert page.compute(NOW, NOW - timedelta(minutes=1), None) == 7
    assert page.compute(NOW, None, NOW) == 10_000
    assert page.compute(NOW, MONTH["start"], MONTH["end"]) == 10_000


def operation(name: str) -> Operation:
    return next(
        candidate for candidate in OPERATIONS if candidate.name == name and candidate.kind.value != "Subscription"
    )


@pytest.mark.parametrize(
    ("name", "arguments", "cost"),
    [
        ("virtual_entity", {"ve_id": "a"}, STATEMENT_WEIGHT + 1),
        ("virtual_entities", {}, STATEMENT_WEIGHT + 5),
        ("authenticate", {}, PASSWORD_HASH_WEIGHT + 1),
        ("add_content", {}, MUTATION_WEIGHT + 1),
        ("record_readings", {"series": [{"readings": [1, 2, 3]}]}, MUTATION_WEIGHT + 3 + 1),
        ("readings", {"range": TimeRange(**MONTH), "period": Period.P1D}, STATEMENT_WEIGHT + 34 * 35 // 30 + 1 + 3),
    ],
)
def test_call_costs_the_weight_of_the_operation_and_its_result(name: str, arguments: dict[str, Any], cost: int) -> None:
    assert cost_of_call(operation(name), arguments) == cost


async def _nothing(rows: Any, parents: Any) -> list[Any]:
    return []


def test_call_costs_its_included_edges() -> None:
    edges = [EdgeField(_nothing, Permission.ANYONE), EdgeField(_nothing, Permission.ANYONE, weight=4)]
    assert (
        cost_of_call(operation("virtual_entities"), {}, edges) == STATEMENT_WEIGHT + 5 + 2 * STATEMENT_WEIGHT + 5 + 20
    )
