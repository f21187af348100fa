"""Prices of dynamic tariffs for 5, 15, 30 and 60 minutes, and samples that last for several of them."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.chance import examples
from tests.support.pricing import blocks, tariff
from wattgate.clock import from_ms, to_ms
from wattgate.db.models import Tariff
from wattgate.db.queries.display_inputs import divide_by_rate
from wattgate.energy.buckets import FIXED_LENGTHS_MS, MINUTE_MS, build_grid
from wattgate.energy.costs.pricing import EnergySample, PricedPart, build_bill, price_samples
from wattgate.energy.costs.tariffs import PRICE_PERIODS, find_price_problem, find_problems, price_length_ms
from wattgate.energy.costs.timeline import Price, rate_spans
from wattgate.energy.quantities import Money
from wattgate.energy.storage_fields import ReadingField
from wattgate.enums import Period, TariffKind

START = datetime(2026, 3, 29, tzinfo=UTC)
HOURS = 3
MINUTES = HOURS * 60


def dynamic(period: Period) -> Tariff:
    return tariff(TariffKind.DYNAMIC, price_period=period, currency="EUR", time_zone="Europe/Brussels")


def priced(minutes: int, energies: Sequence[int], period: Period, rates: Sequence[int | None]) -> list[PricedPart]:
    """Return the parts of samples of some minutes each. A rate of None is a price that is missing."""
    begin, of_period = to_ms(START), dynamic(period)
    length = price_length_ms(of_period)
    samples = [EnergySample(begin + n * minutes * MINUTE_MS, each, False) for n, each in enumerate(energies)]
    prices = [Price(begin + n * length, rate) for n, rate in enumerate(rates) if rate is not None]
    spans = rate_spans([of_period], {"t": prices}, begin, begin + MINUTES * MINUTE_MS)
    return list(price_samples(samples, spans, begin, minutes * MINUTE_MS))


@settings(max_examples=examples(200))
@given(data=st.data(), minutes=st.sampled_from([1, 5, 15, 30, 60]), period=st.sampled_from(PRICE_PERIODS))
def test_costs_are_those_of_a_model_that_goes_minute_by_minute(
    data: st.DataObject, minutes: int, period: Period
) -> None:
    """Energies are whole numbers for each minute, so that no division rounds."""
    count, length = MINUTES // minutes, FIXED_LENGTHS_MS[period] // MINUTE_MS
    energies = data.draw(st.lists(st.integers(-50, 50).map(lambda n: n * 60), min_size=count, max_size=count))
    rate = st.none() | st.integers(-90, 90)
    rates = data.draw(st.lists(rate, min_size=MINUTES // length, max_size=MINUTES // length))
    expected, unpriced = Fraction(0), 0
    for number, energy in enumerate(energies):
        own = [rates[minute // length] for minute in range(number * minutes, (number + 1) * minutes)]
        known = [each for each in own if each is not None]
        if len(known) < len(own):
            unpriced += energy
        else:
            expected += sum(Fraction(energy, minutes) * each for each in known)
    parts = priced(minutes, energies, period, rates)
    assert sum(part.energy for part in parts) == sum(energies)
    assert sum(part.energy for part in parts if part.charge is None) == unpriced
    assert sum(part.energy * part.rate for part in parts) == expected


def test_a_coarse_sample_costs_what_its_quarter_hours_cost() -> None:
    rates = [10, 20, -30, 40] * HOURS
    coarse = priced(60, [4_000] * HOURS, Period.PT15M, rates)
    fine = priced(15, [1_000] * 4 * HOURS, Period.PT15M, rates)
    assert sum(part.energy * part.rate for part in coarse) == sum(part.energy * part.rate for part in fine) != 0
    assert [part.at for part in coarse] == [to_ms(START) + n // 4 * 60 * MINUTE_MS for n in range(4 * HOURS)]


@pytest.mark.parametrize("following", [TariffKind.BLOCK, TariffKind.DYNAMIC])
def test_a_sample_keeps_its_rate_where_none_by_time_follows(following: TariffKind) -> None:
    """A block depends on the energy used, and a price may be missing. Neither takes the price of a flat rate away."""
    begin, change = to_ms(START), START + timedelta(minutes=10)
    terms = {"blocks": blocks((None, "40")), "block_period": Period.P1D} if following is TariffKind.BLOCK else {}
    tariffs = [tariff(rate=Decimal(20)), tariff(following, tariff_id="next", valid_from=change, **terms)]
    spans = rate_spans(tariffs, {}, begin, begin + 30 * MINUTE_MS)
    (part,) = price_samples([EnergySample(begin, 9_000, False)], spans, begin, 30 * MINUTE_MS)
    assert (part.energy, part.rate) == (9_000, 20 * 10**6)


@pytest.mark.parametrize(
    ("currency", "subtotal", "vat", "total"),
    [
        ("JPY", "123", "26", "149"),
        ("EUR", "123.46", "25.93", "149.39"),
        ("KWD", "123.457", "25.926", "149.383"),
    ],
)
def test_bills_are_rounded_to_the_minor_unit_of_their_currency(
    currency: str, subtotal: str, vat: str, total: str
) -> None:
    flat = tariff(rate=Decimal("12345.678"), vat_rate=Decimal(21), currency=currency)
    begin = to_ms(START)
    parts = price_samples([EnergySample(begin, 10**9, False)], rate_spans([flat], {}, begin, begin + 1), begin)
    bill = build_bill(parts, [], "kWh", currency)
    assert [bill.subtotal, bill.vat[0].vat, bill.total] == [
        Money(Decimal(amount), currency) for amount in (subtotal, vat, total)
    ]
    assert bill.exact == Money(Decimal("149.3827038"), currency)


def test_a_price_begins_a_period_of_its_zone() -> None:
    """An hour of Kathmandu begins at a quarter past an hour of UTC."""
    hourly = tariff(TariffKind.DYNAMIC, price_period=Period.PT1H, time_zone="Asia/Kathmandu")
    midnight = datetime(2026, 3, 29, tzinfo=ZoneInfo("Asia/Kathmandu"))
    assert find_price_problem(midnight, Decimal(1), hourly, midnight) is None
    for minutes in (15, 30, 45):
        problem = find_price_problem(midnight + timedelta(minutes=minutes), Decimal(1), hourly, midnight)
        assert problem is not None
        assert problem.message.endswith("does not begin a period of 60 minutes")


@pytest.mark.parametrize("period", PRICE_PERIODS)
def test_a_clock_change_of_half_an_hour_leaves_only_hours_without_a_price(period: Period) -> None:
    """Hours of Lord Howe begin at another minute of UTC after the change, and no price holds for half of one."""
    of_period = tariff(TariffKind.DYNAMIC, price_period=period, time_zone="Australia/Lord_Howe")
    unpriced = list[str]()
    for first in (datetime(2026, 4, 4, 12, tzinfo=UTC), datetime(2026, 10, 3, 12, tzinfo=UTC)):
        minutes = [first + timedelta(minutes=5 * n) for n in range(72)]
        starts = [at for at in minutes if find_price_problem(at, Decimal(1), of_period, first) is None]
        prices = [Price(to_ms(at), 1) for at in starts]
        assert all(other.at - one.at >= price_length_ms(of_period) for one, other in pairwise(prices))
        spans = rate_spans([of_period], {"t": prices}, prices[0].at, prices[-1].at)
        unpriced += [f"{from_ms(span.start):%m-%dT%H:%M}" for span in spans[1:-1] if span.rule is None]
    assert unpriced == (["04-04T15:00", "10-03T15:30"] if period is Period.PT1H else [])


def test_only_dynamic_tariffs_have_a_price_period() -> None:
    now = datetime(2026, 3, 29, tzinfo=UTC)
    assert [(one.path, one.message) for one in find_problems(tariff(price_period=Period.PT15M), now)] == [
        (("pricePeriod",), "does not belong to a FLAT tariff")
    ]
    assert [one.message for one in find_problems(tariff(TariffKind.DYNAMIC, price_period=Period.P1D), now)] == [
        "P1D is not 5, 15, 30 or 60 minutes"
    ]


def test_a_display_prices_a_sample_that_crosses_a_price_on_the_edge_of_a_half_hour() -> None:
    """Samples begin at a quarter past and a quarter to. The price begins on the hour, and costs nothing before it."""
    begin, stop = to_ms(START), to_ms(START + timedelta(hours=HOURS))
    grid = build_grid(START, from_ms(stop), Period.PT30M, UTC)
    quarter = 15 * MINUTE_MS
    field = ReadingField(0, "ENERGY", "kWh", 3, False, 2 * quarter, quarter)
    terms, prices = dynamic(Period.PT1H), {"t": [Price(begin, 0), Price(begin + 4 * quarter, 10)]}
    divided = divide_by_rate(grid, [terms], prices, field)
    assert set(divided.edges) - set(grid.edges) >= {begin + 3 * quarter, begin + 5 * quarter}
    spans = rate_spans([terms], prices, begin, stop)
    parts = price_samples([EnergySample(begin + 3 * quarter, 100, False)], spans, begin, 2 * quarter)
    assert [(part.energy, part.rate) for part in parts] == [(50, 0), (50, 10)]
