"""The time in which a household has a resource, and what it bounds: standing charges, expected samples, and pace."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.chance import examples
from tests.support.pricing import EVERY_DAY, band, half_hours, pence, tariff
from wattgate.clock import to_ms
from wattgate.db.models import StorageDefinition, StorageField, Tariff
from wattgate.energy.alert_rules import Limit, PaceReplay, PaceRule
from wattgate.energy.buckets import DAY_MS, HOUR_MS
from wattgate.energy.costs.pricing import Bill, EnergySample, build_bill, cost_by_bucket, price_samples
from wattgate.energy.costs.timeline import period_edges, rate_spans, standing_charge_days
from wattgate.energy.ownership import ALWAYS, NO_END, NO_START, Ownership, Tenancy, find_ownership
from wattgate.energy.storage_fields import ReadingField, parse_fields
from wattgate.enums import Period, TariffKind

CLOCK_CHANGES = [
    ("Europe/London", datetime(2025, 3, 30, tzinfo=UTC)),
    ("Europe/London", datetime(2025, 10, 26, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2025, 4, 5, tzinfo=UTC)),
    ("Africa/Cairo", datetime(2025, 4, 24, tzinfo=UTC)),  # its clocks skip midnight
    ("America/St_Johns", datetime(2025, 11, 2, tzinfo=UTC)),
    ("UTC", datetime(2025, 2, 1, tzinfo=UTC)),
]
FIRST = (NO_START, 1_000, 1_500)
BACK = (5_000, NO_END, 5_000)


@pytest.mark.parametrize(
    ("created_at", "owned_from", "tenancies", "spans"),
    [
        (0, None, [], ((NO_START, NO_END),)),
        (0, 700, [], ((700, NO_END),)),
        (0, None, [FIRST], ((NO_START, 1_000),)),
        (0, None, [(400, 1_000, 1_500)], ((NO_START, 1_000),)),  # a migration records the first reading as the start
        (1_200, None, [FIRST], ((NO_START, 1_000),)),  # added after an end that was reported later
        (0, None, [BACK, FIRST], ((NO_START, 1_000),)),  # closed in the first tenancy
        (0, 5_000, [BACK, FIRST], ((NO_START, 1_000), (5_000, NO_END))),  # opened again in the second one
        (5_000, 5_000, [FIRST, BACK], ((5_000, NO_END),)),  # added in the second one
    ],
)
def test_a_resource_belongs_to_the_tenancies_in_which_it_was_open(
    created_at: int, owned_from: int | None, tenancies: list[tuple[int, int, int]], spans: tuple[tuple[int, int], ...]
) -> None:
    assert find_ownership((Tenancy(*each) for each in tenancies), created_at, owned_from).spans == spans


@pytest.mark.parametrize(
    ("others", "spans"),
    [
        ([], ((0, 10), (20, 30))),
        ([(10, 20)], ((0, 10), (20, 30))),
        ([(5, NO_END)], ((0, 5),)),
        ([(2, 4), (25, 40)], ((0, 2), (4, 10), (20, 25))),
        ([(NO_START, NO_END)], ()),
    ],
)
def test_days_that_others_pay_are_left_out(others: list[tuple[int, int]], spans: tuple[tuple[int, int], ...]) -> None:
    assert Ownership(((0, 10), (20, 30))).without(others).spans == spans


def households(moves: Sequence[int]) -> list[Ownership]:
    """Return two households that live there in turn, from each move to the next one."""
    edges = [NO_START, *sorted(set(moves)), NO_END]
    spans = list(pairwise(edges))
    return [Ownership(tuple(spans[first::2])) for first in (0, 1)]


def figures(
    samples: Sequence[EnergySample], tariffs: Sequence[Tariff], edges: Sequence[int], ownership: Ownership
) -> tuple[Bill, Counter[int], set[int]]:
    """Return the bill of a household, its exact costs by bucket (10^-23 pence), and the midnights that it pays for."""
    own = [sample for sample in samples if ownership.contains(sample.at)]
    parts = list(price_samples(own, rate_spans(tariffs, {}, edges[0], edges[-1]), edges[0])) if own else []
    days = list(standing_charge_days(tariffs, edges[0], edges[-1], ownership))
    costs = Counter({position: cost.amount for position, cost in cost_by_bucket(parts, edges).items()})
    for midnight, each in days:
        with_vat = each.standing_charge * (100 + each.vat_rate) / 100
        costs[bisect_right(edges, midnight) - 1] += int(with_vat.scaleb(23))
    return build_bill(parts, days, "kWh", "GBP"), costs, {midnight for midnight, _ in days}


@settings(max_examples=examples(45))
@given(
    change=st.sampled_from(CLOCK_CHANGES),
    offsets=st.lists(st.integers(0, 20 * DAY_MS), max_size=4),
    at_midnight=st.booleans(),
    period=st.sampled_from([Period.P1D, Period.P1W, Period.P1M]),
    charges=st.lists(st.integers(0, 90_000).map(lambda n: Decimal(n).scaleb(-3)), min_size=1, max_size=3),
    vat=st.sampled_from([Decimal(0), Decimal(5), Decimal(20)]),
)
def test_households_pay_together_what_one_that_never_moved_pays(
    change: tuple[str, datetime],
    offsets: list[int],
    at_midnight: bool,
    period: Period,
    charges: list[Decimal],
    vat: Decimal,
) -> None:
    """Each day has one payer, who lives there at its midnight. Moves are at any millisecond, or at midnights."""
    name, day = change
    zone = ZoneInfo(name)
    start, stop = to_ms(day - timedelta(days=10)), to_ms(day + timedelta(days=10))
    midnights, edges = period_edges(start, stop, Period.P1D, zone), period_edges(start, stop, period, zone)
    moves = [midnights[offset % len(midnights)] if at_midnight else start + offset for offset in offsets]
    tariffs = [
        tariff(
            TariffKind.TIME_OF_USE if number % 2 else TariffKind.FLAT,
            tariff_id=f"t{number}",
            rate=Decimal("27.04"),
            bands=[band("night", "8.09", "23:30", "05:30", EVERY_DAY)] if number % 2 else [],
            standing_charge=charge,
            vat_rate=vat,
            time_zone=name,
            valid_from=day + timedelta(days=7 * (number - len(charges) + 1), hours=5),
        )
        for number, charge in enumerate(charges)
    ]
    samples = half_hours(day - timedelta(days=10), day + timedelta(days=10))
    whole, whole_costs, whole_days = figures(samples, tariffs, edges, ALWAYS)
    parts = [(each, *figures(samples, tariffs, edges, each)) for each in households(moves)]
    assert sum(bill.exact.amount for _, bill, _, _ in parts) == whole.exact.amount
    bills = [bill for _, bill, _, _ in parts]
    difference = sum(pence(bill.total) for bill in bills) - pence(whole.total)
    assert abs(difference) <= sum(len(each.lines) + 1 for each in (whole, *bills))
    assert sum((costs for _, _, costs, _ in parts), Counter()) == +whole_costs
    assert sorted(at for _, _, _, days in parts for at in days) == sorted(whole_days)
    assert all(each.contains(at) for each, _, _, days in parts for at in days)


def energy_field() -> ReadingField:
    field = StorageField(field_name="ENERGY", unit="kWh", datatype="fixedpoint(3)")
    definition = StorageDefinition("timeseries", "regular", "1970-01-01T00:10:00Z", (field,), interval="PT30M")
    return parse_fields([definition])[0]


@settings(max_examples=examples(45))
@given(
    moves=st.lists(st.integers(-HOUR_MS, 4 * DAY_MS), max_size=5),
    step=st.sampled_from([HOUR_MS // 4, HOUR_MS // 2, 5 * HOUR_MS, DAY_MS]),
)
def test_each_expected_sample_is_of_the_household_that_lives_there_when_it_begins(moves: list[int], step: int) -> None:
    field = energy_field()
    edges = list(range(0, 3 * DAY_MS + 1, step))
    instants = range(10 * 60_000, edges[-1], HOUR_MS // 2)
    everywhere = [field.expected_samples(*pair) or 0 for pair in pairwise(edges)]
    for ownership in households(moves):
        counts = Counter(bisect_right(edges, at) - 1 for at in instants if ownership.contains(at))
        expected = [counts[position] for position in range(len(everywhere))]
        assert ownership.limit_expected(everywhere, field, edges) == expected
        assert ownership.expected_samples(field, edges[0], edges[-1]) == sum(expected)


def test_the_pace_of_a_household_counts_from_its_move() -> None:
    """At the pace since the move, the rest of the period uses 30 an hour: more than the budget from the first hour."""
    rule, edges = PaceRule(None, 2 * HOUR_MS, Limit(200)), list(range(0, DAY_MS + 1, HOUR_MS))
    moved = Ownership(((12 * HOUR_MS, NO_END),))
    amounts = [0] * 12 + [30] * 12
    for ownership, hour in ((moved, 14), (ALWAYS, 17)):
        replay = PaceReplay(rule, edges, amounts, edges[1:], [0, DAY_MS], ownership)
        replay.add(edges)
        assert [each.at // HOUR_MS for each in replay.firings] == [hour]
