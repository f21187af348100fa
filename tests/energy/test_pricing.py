"""Cost of energy, compared with a simple slow model, and totals of bills."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from tests.support.chance import examples
from tests.support.pricing import (
    ENERGY,
    EVERY_DAY,
    HALF_HOUR,
    WORKING_DAYS,
    band,
    blocks,
    energy,
    half_hours,
    model_costs,
    pence,
    tariff,
)
from wattgate.clock import from_ms, to_ms
from wattgate.db.models import ComponentWindow, PeakStep, PriceFormula, Tariff, TariffBand, TariffComponent
from wattgate.energy.costs import timeline
from wattgate.energy.costs.price_windows import known_prices
from wattgate.energy.costs.pricing import (
    Bill,
    EnergySample,
    build_bill,
    cost_by_bucket,
    divide_half_up,
    price_samples,
    round_half_up,
    to_decimal,
)
from wattgate.energy.costs.tariffs import find_problems
from wattgate.energy.costs.timeline import (
    NO_PEAKS,
    Price,
    PriceRule,
    PricesByTariff,
    energy_needed_from,
    find_peak,
    peak_key,
    rate_spans,
    standing_charge_days,
)
from wattgate.energy.display.rate_schedule import RateSchedule
from wattgate.energy.ownership import ALWAYS
from wattgate.energy.quantities import Energy, Money, Rate
from wattgate.enums import ComponentBasis, CostLineKind, EnergyUnit, Period, RateUnit, TariffKind, Weekday

LONDON = ZoneInfo("Europe/London")
ZONES = ["UTC", "Europe/London", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Cairo"]
SINCE = datetime(2009, 1, 1, tzinfo=UTC)
FOREVER = datetime(2100, 1, 1, tzinfo=UTC)

MILLIPENCE = st.integers(-50_000, 100_000).map(lambda n: Decimal(n).scaleb(-3))
EDGES = st.integers(0, 1439).map(lambda minute: f"{minute // 60:02d}:{minute % 60:02d}")
DAYS_OF_YEAR = st.sampled_from(
    ["01-01", "02-28", "02-29", "03-14", "03-28", "04-29", "10-04", "10-05", "10-25", "12-31"]
)
VAT = st.sampled_from([Decimal(0), Decimal(5), Decimal("17.5"), Decimal(20)])


def bill_of(
    samples: Sequence[EnergySample],
    tariffs: Sequence[Tariff],
    start: int,
    stop: int,
    prices: PricesByTariff,
    length: int = 0,
) -> Bill:
    """Return the bill of a range. With a length of samples in ms, those in which the rate changes are divided."""
    relevant = [item for item in samples if item.at < stop]
    parts = price_samples(relevant, rate_spans(tariffs, prices, start, stop + length), start, length)
    return build_bill(parts, standing_charge_days(tariffs, start, stop, ALWAYS), "kWh", "GBP")


def bill(samples: Sequence[EnergySample], *tariffs: Tariff, prices: PricesByTariff | None = None) -> Bill:
    """Return the bill for all samples, from the start of the first to the end of the last."""
    return bill_of(samples, tariffs, samples[0].at, samples[-1].at + to_ms(from_ms(0) + HALF_HOUR), prices or {})


def lines(priced: Bill) -> list[tuple[str | None, str, str]]:
    return [(line.band or line.kind.value, str(line.quantity), f"{pence(line.subtotal):f}") for line in priced.lines]


@st.composite
def band_lists(draw: st.DrawFn) -> list[TariffBand]:
    """Draw bands, and keep those that do not overlap an earlier one."""
    bands: list[TariffBand] = []
    for number in range(draw(st.integers(1, 5))):
        days = draw(st.lists(st.sampled_from(EVERY_DAY), min_size=1, unique=True))
        season = draw(st.just((None, None)) | st.tuples(DAYS_OF_YEAR, DAYS_OF_YEAR))
        candidate = TariffBand(f"band {number}", draw(MILLIPENCE), days, draw(EDGES), draw(EDGES), *season)
        trial = tariff(TariffKind.TIME_OF_USE, bands=[*bands, candidate], rate=Decimal(1))
        if not any("overlaps" in problem.message for problem in find_problems(trial, FOREVER)):
            bands.append(candidate)
    return bands


@st.composite
def components(draw: st.DrawFn, place: int, basis: ComponentBasis, *, may_be_limited: bool) -> TariffComponent:
    drawn = TariffComponent(f"component {place}", basis, draw(MILLIPENCE), draw(st.none() | VAT))
    if basis is ComponentBasis.ENERGY and draw(st.booleans()):
        days = draw(st.lists(st.sampled_from(EVERY_DAY), min_size=1, unique=True))
        season = draw(st.just((None, None)) | st.tuples(DAYS_OF_YEAR, DAYS_OF_YEAR))
        drawn.window = ComponentWindow(tuple(days), draw(EDGES), draw(EDGES), *season)
    drawn.in_limits = may_be_limited and basis is ComponentBasis.ENERGY and draw(st.booleans())
    return drawn


@st.composite
def tariffs_from(draw: st.DrawFn, number: int, valid_from: datetime) -> Tariff:
    kind = draw(st.sampled_from(TariffKind))
    values = {
        "tariff_id": f"tariff {number}",
        "valid_from": valid_from,
        "time_zone": draw(st.sampled_from(ZONES)),
        "standing_charge": draw(MILLIPENCE),
        "vat_rate": draw(VAT),
        "components": [
            draw(components(place, basis, may_be_limited=kind is TariffKind.DYNAMIC))
            for place, basis in enumerate(draw(st.lists(st.sampled_from(ComponentBasis), max_size=3)))
        ],
    }
    if kind is TariffKind.DYNAMIC:
        floor, cap = sorted((draw(MILLIPENCE), draw(MILLIPENCE)))
        formulas = [PriceFormula(Decimal("2.2"), floor, cap), PriceFormula(Decimal("0.333333"), None, cap)]
        values["price_formula"] = draw(st.sampled_from([None, *formulas]))
    if kind in (TariffKind.FLAT, TariffKind.TIME_OF_USE):
        values["rate"] = draw(MILLIPENCE)
    if kind is TariffKind.TIME_OF_USE:
        values["bands"] = draw(band_lists())
    if kind is TariffKind.BLOCK:
        limits = sorted(draw(st.sets(st.integers(1, 400), min_size=1, max_size=3)))
        values["blocks"] = blocks(
            *((str(Decimal(limit).scaleb(-3)), str(draw(MILLIPENCE))) for limit in limits),
            (None, str(draw(MILLIPENCE))),
        )
        values["block_period"] = draw(st.sampled_from([Period.P1D, Period.P1W, Period.P1M]))
    return tariff(kind, **values)


PricingCase = tuple[list[EnergySample], list[Tariff], PricesByTariff, int, int]


@st.composite
def pricing_cases(draw: st.DrawFn) -> tuple[list[EnergySample], list[Tariff], PricesByTariff, int, int]:
    """Draw half hours with gaps around a clock change, and up to four successive tariffs."""
    changes = [datetime(year, month, day, tzinfo=UTC) for year in (2010, 2026) for month, day in ((3, 14), (3, 29))]
    changes += [
        datetime(2023, 4, 28, tzinfo=UTC),
        datetime(2026, 10, 4, tzinfo=UTC),
        datetime(2026, 10, 25, tzinfo=UTC),
    ]
    first = draw(st.sampled_from(changes)) - draw(st.integers(0, 5 * 48)) * HALF_HOUR
    count = draw(st.integers(1, 9 * 48))
    watt_hours = draw(st.lists(st.integers(-20, 60), min_size=1, max_size=30))
    missing = draw(st.sets(st.integers(0, count), max_size=20))
    samples = [
        EnergySample(to_ms(first + n * HALF_HOUR), watt_hours[n % len(watt_hours)] * 10**6, n % 7 == 3)
        for n in range(count)
        if n not in missing
    ]
    minutes = draw(st.lists(st.integers(-60 * 24, 30 * count), max_size=4, unique=True))
    tariffs = [
        draw(tariffs_from(number, first + timedelta(minutes=minute))) for number, minute in enumerate(sorted(minutes))
    ]
    unpriced = draw(st.sets(st.integers(0, count), max_size=30))
    grid = [
        Price(to_ms(first) + n * 1_800_000, 7_000 * n % 400_000 - 90_000) for n in range(count) if n not in unpriced
    ]
    prices = {each.tariff_id: grid for each in tariffs if each.kind is TariffKind.DYNAMIC}
    start = to_ms(first + draw(st.integers(0, count)) * HALF_HOUR)
    return samples, tariffs, prices, start, to_ms(first + count * HALF_HOUR) + 1


@settings(max_examples=examples(250))
@given(case=pricing_cases())
def test_cost_of_every_sample_matches_the_reference_model(
    case: PricingCase,
) -> None:
    samples, tariffs, prices, start, stop = case
    needed = [item for item in samples if item.at >= energy_needed_from(tariffs, start, stop)]
    pieces = list(price_samples(needed, rate_spans(tariffs, prices, start, stop), start))
    costs = {
        at: (
            sum(piece.energy for piece in parts),
            parts[0].charge and parts[0].charge.tariff,
            sum(Fraction(piece.energy * piece.rate, 10**15) for piece in parts) if parts[0].charge else None,
        )
        for at, parts in ((at, list(group)) for at, group in groupby(pieces, key=lambda piece: piece.at))
    }
    expected = {
        sample.at: (sample.energy, item if cost is not None else None, cost)
        for sample, item, cost in model_costs(samples, tariffs, prices)
        if sample.at >= start
    }
    assert costs == expected


@settings(max_examples=examples(150))
@given(case=pricing_cases(), cut=st.integers(1, 400), step=st.integers(1, 96))
def test_bills_add_up(case: PricingCase, cut: int, step: int) -> None:
    """Three properties of a bill, for the same cases, because to draw a case takes longer than to price it."""
    samples, tariffs, prices, start, stop = case
    whole = bill_of(samples, tariffs, start, stop, prices)
    _check_lines_and_vat_add_up_to_the_total_within_the_rounding_error(whole)
    _check_exact_costs_of_adjacent_ranges_add_up(case, whole, cut)
    _check_buckets_have_the_exact_energy_cost_without_standing_charge(case, step)


def _check_lines_and_vat_add_up_to_the_total_within_the_rounding_error(priced: Bill) -> None:
    subtotal, total = pence(priced.subtotal), pence(priced.total)
    assert subtotal == sum(pence(line.subtotal) for line in priced.lines)
    assert total == subtotal + sum(pence(tax.vat) for tax in priced.vat)
    assert all(amount == amount.to_integral_value() for amount in (subtotal, total))
    used = sum(line.quantity for line in priced.lines if line.kind is CostLineKind.ENERGY)
    assert used + priced.unpriced.value == priced.energy.value
    highest = max((tax.percent for tax in priced.vat), default=Decimal(0))
    bound = len(priced.lines) * Decimal("0.5") * (1 + highest / 100) + len(priced.vat) * Decimal("0.5")
    assert abs(total - pence(priced.exact)) <= bound


def _check_exact_costs_of_adjacent_ranges_add_up(case: PricingCase, whole: Bill, cut: int) -> None:
    samples, tariffs, prices, start, stop = case
    middle = min(start + cut * 1_800_000, stop)
    for length, expected in ((0, whole), (1_800_000, bill_of(samples, tariffs, start, stop, prices, 1_800_000))):
        ranges = (start, middle), (middle, stop)
        first, second = (bill_of(samples, tariffs, *ends, prices, length) for ends in ranges)
        assert first.exact.amount + second.exact.amount == expected.exact.amount
        assert first.energy.value + second.energy.value == expected.energy.value


def _check_buckets_have_the_exact_energy_cost_without_standing_charge(case: PricingCase, step: int) -> None:
    samples, tariffs, prices, start, stop = case
    edges = [*range(start, stop, step * 1_800_000), stop]
    buckets = cost_by_bucket(price_samples(samples, rate_spans(tariffs, prices, start, stop), start), edges)
    tariffs_without_charge = [
        each.model_copy(
            update={
                "standing_charge": Decimal(0),
                "components": [part for part in each.components if part.basis is ComponentBasis.ENERGY],
            }
        )
        for each in tariffs
    ]
    priced = bill_of(samples, tariffs_without_charge, start, stop, prices)
    assert sum((each.exact for each in buckets.values()), Decimal(0)) == priced.exact.amount
    assert sum(each.count for each in buckets.values()) == sum(each.at >= start for each in samples)
    assert sum(each.estimated for each in buckets.values()) == sum(
        each.at >= start and each.estimated for each in samples
    )
    assert to_decimal(sum(each.unpriced_energy for each in buckets.values()), 9) == priced.unpriced.value


@given(amount=st.integers(-(10**12), 10**12), places=st.integers(0, 6))
def test_amounts_are_rounded_with_halves_away_from_zero(amount: int, places: int) -> None:
    exact = Decimal(amount).scaleb(-places)
    assert (
        divide_half_up(amount, 10**places)
        == exact.quantize(Decimal(1), rounding=ROUND_HALF_UP)
        == round_half_up(exact, 0)
    )
    assert to_decimal(amount, places) == exact
    assert (divide_half_up(5, 2), divide_half_up(-5, 2), divide_half_up(-1, 2), divide_half_up(49, 100)) == (
        3,
        -3,
        -1,
        0,
    )


def test_band_across_midnight_belongs_to_its_starting_weekday() -> None:
    friday = tariff(
        TariffKind.TIME_OF_USE, rate=Decimal(30), bands=[band("weekend", "10", "22:00", "02:00", [Weekday.FRIDAY])]
    )
    start = datetime(2026, 1, 9, 21, tzinfo=UTC)  # a Friday in winter
    assert lines(bill(half_hours(start, start + timedelta(hours=6)), friday)) == [
        ("ENERGY", "2", "60"),
        ("weekend", "4", "40"),
    ]
    assert lines(bill(half_hours(start + timedelta(days=1), start + timedelta(days=1, hours=6)), friday)) == [
        ("ENERGY", "6", "180")
    ]


def test_negative_price_is_a_credit_rounded_away_from_zero() -> None:
    start = datetime(2026, 1, 9, tzinfo=UTC)
    priced = bill(half_hours(start, start + HALF_HOUR, "0.5"), tariff(rate=Decimal(-5), vat_rate=Decimal(20)))
    assert lines(priced) == [("ENERGY", "0.5", "-3")]
    assert [pence(priced.vat[0].subtotal), pence(priced.vat[0].vat)] == [Decimal(-3), Decimal(-1)]
    assert (priced.total, priced.exact) == (Money(Decimal("-0.04"), "GBP"), Money(Decimal("-0.03"), "GBP"))


def test_sample_that_crosses_the_limit_of_a_block_is_split() -> None:
    block_tariff = tariff(
        TariffKind.BLOCK,
        blocks=blocks(("1.2", "10"), ("1.5", "20"), (None, "40")),
        block_period=Period.P1D,
        time_zone="UTC",
    )
    start = datetime(2026, 1, 9, tzinfo=UTC)
    priced = bill(
        [EnergySample(to_ms(start), energy("1"), False), EnergySample(to_ms(start + HALF_HOUR), energy("1"), True)],
        block_tariff,
    )
    assert lines(priced) == [("block 1", "1.2", "12"), ("block 2", "0.3", "6"), ("block 3", "0.5", "20")]
    assert [line.estimated for line in priced.lines] == [True, True, True]


def test_blocks_count_from_the_start_of_their_period_for_a_shorter_range() -> None:
    block_tariff = tariff(TariffKind.BLOCK, blocks=blocks(("1", "10"), (None, "20")), block_period=Period.P1M)
    start, stop = (datetime(2026, 7, day, tzinfo=LONDON).astimezone(UTC) for day in (1, 2))
    day = half_hours(start, stop)
    evening = to_ms(stop - timedelta(hours=1))
    assert energy_needed_from([block_tariff], evening, to_ms(stop)) == to_ms(start)
    assert lines(bill_of(day, [block_tariff], evening, to_ms(stop), {})) == [("block 2", "1", "20")]


def test_dynamic_tariff_reports_the_mean_rate_and_unpriced_energy() -> None:
    start = datetime(2026, 1, 9, tzinfo=UTC)
    prices = [Price(to_ms(start), 10_000_000), Price(to_ms(start + 2 * HALF_HOUR), -4_000_000)]
    priced = bill(half_hours(start, start + 4 * HALF_HOUR), tariff(TariffKind.DYNAMIC), prices={"t": prices})
    (line,) = priced.lines
    rate = Rate(Decimal("0.03"), RateUnit.KILOWATT_HOUR, "GBP")
    assert (line.quantity, line.unit, line.rate, line.averaged) == (Decimal(1), RateUnit.KILOWATT_HOUR, rate, True)
    assert line.subtotal == priced.total == Money(Decimal("0.03"), "GBP")
    energies = [Energy(Decimal(value), EnergyUnit.KILOWATT_HOUR) for value in (2, 1)]
    assert [priced.energy, priced.unpriced] == energies


def test_new_tariff_in_the_middle_of_a_day_prices_later_samples() -> None:
    start = datetime(2026, 1, 9, tzinfo=UTC)
    old = tariff(tariff_id="old", standing_charge=Decimal(50), time_zone="UTC")
    new = tariff(
        tariff_id="new",
        rate=Decimal(40),
        valid_from=start + timedelta(hours=12),
        standing_charge=Decimal(60),
        time_zone="UTC",
        vat_rate=Decimal(5),
    )
    priced = bill(half_hours(start, start + timedelta(days=2)), old, new)
    assert [(line.tariff_id, line.kind.value, line.quantity, pence(line.subtotal)) for line in priced.lines] == [
        ("old", "ENERGY", Decimal(12), Decimal(240)),
        ("new", "ENERGY", Decimal(36), Decimal(1440)),
        ("old", "STANDING_CHARGE", Decimal(1), Decimal(50)),
        ("new", "STANDING_CHARGE", Decimal(1), Decimal(60)),
    ]
    taxes = [(tax.percent, pence(tax.subtotal), pence(tax.vat)) for tax in priced.vat]
    assert taxes == [(Decimal(5), Decimal(1500), Decimal(75))]


@pytest.mark.parametrize(("day", "half_hours_of_night"), [("2026-03-29", 12), ("2026-10-25", 16), ("2026-06-01", 14)])
def test_night_band_follows_clock_changes(day: str, half_hours_of_night: int) -> None:
    night_tariff = tariff(TariffKind.TIME_OF_USE, rate=Decimal(30), bands=[band("night", "10", "00:00", "07:00")])
    start = datetime.fromisoformat(day).replace(tzinfo=LONDON)
    stop = (start + timedelta(days=1)).astimezone(UTC)
    priced = bill(half_hours(start.astimezone(UTC), stop, "1"), night_tariff)
    assert {line.band: line.quantity for line in priced.lines}["night"] == half_hours_of_night


def test_bands_with_the_same_name_and_rate_share_a_line() -> None:
    bands = [band("peak", "40", "07:00", "09:00", WORKING_DAYS), band("peak", "40", "17:00", "19:00", WORKING_DAYS)]
    peak_tariff = tariff(TariffKind.TIME_OF_USE, rate=Decimal(20), bands=bands)
    start = datetime(2026, 1, 9, tzinfo=UTC)
    assert lines(bill(half_hours(start, start + timedelta(days=1), "1"), peak_tariff)) == [
        ("ENERGY", "40", "800"),
        ("peak", "8", "320"),
    ]


def test_components_of_a_month_over_a_clock_change() -> None:
    """A bill of March 2026 in Brussels, worked by hand: 743 hours at 0.5 kWh, in cents."""
    zone = ZoneInfo("Europe/Brussels")
    start, stop = (datetime(2026, month, 1, tzinfo=zone).astimezone(UTC) for month in (3, 4))
    terms = tariff(
        rate=Decimal("12.5"),
        standing_charge=Decimal("10"),
        vat_rate=Decimal(6),
        time_zone="Europe/Brussels",
        components=[
            TariffComponent("Excise duty", ComponentBasis.ENERGY, Decimal("5.03288")),
            TariffComponent("Network fee", ComponentBasis.ENERGY, Decimal("4.94"), Decimal(21)),
            TariffComponent("Meter", ComponentBasis.MONTH, Decimal("150")),
            TariffComponent("Discount", ComponentBasis.DAY, Decimal("-2"), Decimal(0)),
        ],
    )
    priced = bill(half_hours(start, stop, "0.25"), terms)
    found = [(line.component, str(line.quantity), line.unit.name, f"{pence(line.subtotal):f}") for line in priced.lines]
    assert found == [
        (None, "371.5", "KILOWATT_HOUR", "4644"),  # 4643.75
        ("Excise duty", "371.5", "KILOWATT_HOUR", "1870"),  # 1869.71492
        ("Network fee", "371.5", "KILOWATT_HOUR", "1835"),  # 1835.21
        (None, "31", "DAY", "310"),
        ("Meter", "1", "MONTH", "150"),
        ("Discount", "31", "DAY", "-62"),
    ]
    # 6 % of 4644 + 1870 + 310 + 150 = 418.44, and 21 % of 1835 = 385.35
    assert [(str(tax.percent), f"{pence(tax.vat):f}") for tax in priced.vat] == [("6", "418"), ("21", "385")]
    assert pence(priced.total) == 8747 + 418 + 385


WINTER_DAYS = ComponentWindow(tuple(WORKING_DAYS), "07:00", "19:00", "11-01", "03-31")


def windowed(**changes: Any) -> TariffComponent:
    return TariffComponent("fee", ComponentBasis.PEAK, Decimal(1), window=structs.replace(WINTER_DAYS, **changes))


def steps(*rates_and_limits: tuple[str, str | None], rate: str = "0") -> TariffComponent:
    found = [PeakStep(Decimal(charge), None if limit is None else Decimal(limit)) for charge, limit in rates_and_limits]
    return TariffComponent("fee", ComponentBasis.PEAK, Decimal(rate), steps=found)


@pytest.mark.parametrize(
    ("component", "path", "problem"),
    [
        (TariffComponent("", ComponentBasis.DAY, Decimal(1)), ("components", 1, "name"), "is empty"),
        (
            TariffComponent("levy", ComponentBasis.DAY, Decimal(1)),
            ("components", 1, "name"),
            "name of an earlier component",
        ),
        (TariffComponent("fee", ComponentBasis.DAY, Decimal("NaN")), ("components", 1, "rate"), "is not a number"),
        (
            TariffComponent("fee", ComponentBasis.DAY, Decimal(1), peak_days=3),
            ("components", 1, "peakDays"),
            "not of a DAY",
        ),
        (
            TariffComponent("fee", ComponentBasis.PEAK, Decimal(1), peak_minutes=5),
            ("components", 1, "peakMinutes"),
            "5 is not",
        ),
        (
            TariffComponent("fee", ComponentBasis.PEAK, Decimal(1), peak_days=0),
            ("components", 1, "peakDays"),
            "0 is not",
        ),
        (
            TariffComponent("fee", ComponentBasis.DAY, Decimal(1), Decimal(101)),
            ("components", 1, "vatPercent"),
            "100 percent",
        ),
        (
            TariffComponent("fee", ComponentBasis.DAY, Decimal(1), window=WINTER_DAYS),
            ("components", 1, "window"),
            "not of a DAY",
        ),
        (
            TariffComponent("fee", ComponentBasis.DAY, Decimal(1), in_limits=True),
            ("components", 1, "inLimits"),
            "not of a DAY",
        ),
        (
            TariffComponent("fee", ComponentBasis.ENERGY, Decimal(1), in_limits=True),
            ("components", 1, "inLimits"),
            "with a floor or a cap",
        ),
        (
            TariffComponent("fee", ComponentBasis.ENERGY, Decimal(1), window=structs.replace(WINTER_DAYS, weekdays=())),
            ("components", 1, "window", "weekdays"),
            "name the days on which it starts",
        ),
        (steps(("1", None), ("2", None)), ("components", 1, "steps", 0, "upToKilowatts"), "only the last step"),
        (steps(("1", "5")), ("components", 1, "steps", 0, "upToKilowatts"), "the last step has no limit"),
        (steps(("1", "5"), ("2", "5"), ("3", None)), ("components", 1, "steps"), "do not ascend"),
        (steps(*[("1", str(n)) for n in range(1, 13)], ("1", None)), ("components", 1, "steps"), "are more than 12"),
        (steps(("1", None), rate="2"), ("components", 1, "rate"), "Write 0"),
        (windowed(weekdays=()), ("components", 1, "window", "weekdays"), "name the days on which it starts"),
        (windowed(start="7:00"), ("components", 1, "window", "start"), "'7:00' is not a time"),
        (windowed(season_start="06-31"), ("components", 1, "window", "seasonStart"), "'06-31' is no day of a year"),
        (windowed(season_end=None), ("components", 1, "window", "seasonEnd"), "its first and its last day"),
    ],
)
def test_invalid_component_has_one_problem(
    component: TariffComponent, path: tuple[str | int, ...], problem: str
) -> None:
    levy = TariffComponent("levy", ComponentBasis.ENERGY, Decimal(1))
    (found,) = find_problems(tariff(components=[levy, component]), FOREVER)
    assert found.path == path
    assert problem in found.message


def test_invalid_price_formula_has_one_problem() -> None:
    """Each case is a formula, the path of its problem, and a part of the message."""
    cases: list[tuple[tuple[str, str | None, str | None], str, str]] = [
        (("0", None, None), "factor", "0 is not above 0 and at most 100"),
        (("-1.5", None, None), "factor", "-1.5 is not above 0"),
        (("100.1", None, None), "factor", "at most 100"),
        (("NaN", None, None), "factor", "is not a number"),
        (("1.0000001", None, None), "factor", "more than 6 decimal places"),
        (("1", "5", "4.9"), "floor", "0.05 is above the cap of 0.049"),
        (("1", None, "Infinity"), "cap", "is not a number"),
        (("1", "-1000000.1", None), "floor", "is not between"),
    ]
    for (factor, *limits), name, message in cases:
        floor, cap = (None if limit is None else Decimal(limit) for limit in limits)
        dynamic = tariff(TariffKind.DYNAMIC, price_formula=PriceFormula(Decimal(factor), floor, cap))
        (problem,) = find_problems(dynamic, FOREVER)
        assert problem.path == ("priceFormula", name)
        assert message in problem.message
    for kind, more in (
        (TariffKind.FLAT, {}),
        (TariffKind.TIME_OF_USE, {"bands": [band("all", "7", "00:00", "00:00")]}),
        (TariffKind.BLOCK, {"blocks": blocks((None, "1")), "block_period": Period.P1M}),
    ):
        (problem,) = find_problems(tariff(kind, price_formula=PriceFormula(), **more), FOREVER)
        assert (problem.path, problem.message) == (("priceFormula",), f"does not belong to a {kind.value} tariff")


def test_floor_and_cap_hold_for_the_price_and_the_components_in_limits() -> None:
    """Worked by hand: rates of stored prices with and without a markup that the limits include."""
    rule = PriceRule.of(PriceFormula(Decimal("2.2"), Decimal("-1"), Decimal("95.5")))
    pence = 10**6
    assert [rule.rate(price * pence, 0) for price in (10, -10, 45)] == [22 * pence, -pence, 95_500_000]
    assert [rule.rate(price * pence, 12 * pence) for price in (10, -10, 45)] == [22 * pence, -13 * pence, 83_500_000]
    third = PriceRule.of(PriceFormula(Decimal("0.5")))
    assert [third.rate(price, 0) for price in (1, -1, 2, 3)] == [1, -1, 1, 2], "halves are rounded away from zero"


def test_a_window_of_a_component_divides_prices_bills_and_the_curve() -> None:
    """A network fee on working days from 16:15 to 19:00, under each kind of tariff. 2024-03-29 is a Friday."""
    fee = TariffComponent("fee", ENERGY, Decimal(6), window=ComponentWindow(tuple(WORKING_DAYS), "16:15", "19:00"))
    start, stop = datetime(2024, 3, 29, tzinfo=UTC), datetime(2024, 3, 31, tzinfo=UTC)
    begin, end = to_ms(start), to_ms(stop)
    samples = half_hours(start, stop)
    flat = tariff(components=[fee])
    spans = rate_spans([flat], {}, begin, end)
    prices = [(from_ms(span.start), span.rate_with_vat) for span in known_prices(spans, begin, end)]
    assert prices == [
        (start, Decimal(20)),
        (start.replace(hour=16, minute=15), Decimal(26)),
        (start.replace(hour=19), Decimal(20)),
    ]
    parts = price_samples(samples, spans, begin, 1_800_000)
    assert lines(build_bill(parts, [], "kWh", "GBP")) == [("ENERGY", "48", "960"), ("COMPONENT", "2.75", "17")]
    terms = {"blocks": blocks(("10", "20"), (None, "30")), "block_period": Period.P1M, "components": [fee]}
    parts = price_samples(samples, rate_spans([tariff(TariffKind.BLOCK, **terms)], {}, begin, end), begin, 1_800_000)
    bill_of_blocks = lines(build_bill(parts, [], "kWh", "GBP"))
    assert bill_of_blocks == [("block 1", "10", "200"), ("block 2", "38", "1140"), ("COMPONENT", "2.5", "15")]
    schedule = RateSchedule((flat,), tuple(spans), "kWh", NO_PEAKS)
    (change, following) = schedule.next_change(begin, 0) or (0, None)
    assert (from_ms(change), following and following.hundredths) == (start.replace(hour=16, minute=15), Decimal(26))
    assert schedule.cheapest_slot(begin, end) is not None
    assert schedule.mean_rate(begin, end) == Decimal(20) + Decimal(6) * 165 / 2880


def test_tariff_has_at_most_twenty_components() -> None:
    parts = [TariffComponent(f"part {number}", ComponentBasis.ENERGY, Decimal(1)) for number in range(21)]
    assert [problem.path for problem in find_problems(tariff(components=parts), FOREVER)] == [("components",)]


def test_capacity_of_a_month_in_brussels_and_oslo() -> None:
    """Peaks worked by hand: 15 minutes of one day, and the mean hours of three different days."""
    zone = ZoneInfo("Europe/Brussels")
    start, stop = (datetime(2026, month, 1, tzinfo=zone) for month in (10, 11))  # 745 hours
    quarters = [to_ms(start.astimezone(UTC)) + number * 15 * 60_000 for number in range(745 * 4)]
    used = [energy("0.25")] * len(quarters)
    used[100], used[101], used[102], used[2000], used[2500] = map(energy, ("1.4", "1.3", "1.2", "1.25", "1.1"))
    # the highest quarter hour: 1.4 kWh, which is 5.6 kW
    assert find_peak(zip(quarters, used, strict=True), zone, 15, 1) == energy("5.6")
    # the highest of each day: 1.4, 1.25 and 1.1 kWh. Their mean is 1.25 kWh, which is 5 kW
    assert find_peak(zip(quarters, used, strict=True), zone, 15, 3) == energy("5")
    capacity = TariffComponent("Capacity", ComponentBasis.PEAK, Decimal("420"), minimum=Decimal("2.5"))
    terms = tariff(time_zone="Europe/Brussels", components=[capacity])
    begin, end = to_ms(start.astimezone(UTC)), to_ms(stop.astimezone(UTC))
    days = list(standing_charge_days([terms], begin, end, ALWAYS))
    peaks = {peak_key(terms, capacity, begin): energy("5.6")}
    (line,) = build_bill([], days, "kWh", "GBP", peaks).lines
    assert (line.component, line.quantity, line.unit) == ("Capacity", Decimal("5.6"), RateUnit.KILOWATT)
    assert pence(line.subtotal) == 2352
    (least,) = build_bill([], days[:10], "kWh", "GBP").lines  # 10 of 31 days at 2.5 kW
    assert (least.quantity, pence(least.subtotal)) == (Decimal("0.806452"), Decimal(339))


def test_peak_of_working_days_in_winter() -> None:
    """The highest hour of working days from 07:00 to 19:00, from November to March, at 50 a kW, worked by hand."""
    zone = ZoneInfo("Europe/Helsinki")
    component = TariffComponent("Power", ComponentBasis.PEAK, Decimal(5000), peak_minutes=60)
    component.window, component.minimum = WINTER_DAYS, Decimal(1)
    terms = tariff(time_zone="Europe/Helsinki", components=[component])

    def charge(month: int, *hours: tuple[int, int, str]) -> list[tuple[str, str]]:
        """Return quantity and amount of a month of 2025 with hours of 0.5 kWh, and others by day and hour."""
        begin = datetime(2025, month, 1, tzinfo=zone)
        start, stop = to_ms(begin), to_ms((begin + timedelta(days=31)).replace(day=1))
        used = {to_ms(begin.replace(day=day, hour=hour)): energy(kwh) for day, hour, kwh in hours}
        parts = [(at, used.get(at, energy("0.5"))) for at in range(start, stop, 3_600_000)]
        key = peak_key(terms, component, start)
        peaks = {key: find_peak(parts, zone, key.minutes, key.days, key.window)}
        days = list(standing_charge_days([terms], start, stop, ALWAYS))
        lines = build_bill([], days, "kWh", "GBP", peaks).lines
        return [(str(line.quantity), f"{pence(line.subtotal):f}") for line in lines]

    # In March, the 1st is a Saturday, and the 3rd a Monday. 06:00 and 19:00 are outside the hours, 18:00 is inside.
    march = charge(3, (1, 12, "9"), (3, 6, "8"), (3, 19, "7"), (31, 18, "4.2"), (4, 7, "4.1"))
    assert march == [("4.2", "21000")]
    assert charge(11) == [("1", "5000")], "the least of a month of the season"
    assert charge(4, (1, 12, "9")) == [], "April is not in the season"


def test_bands_of_seasons_in_a_leap_year_and_another_one() -> None:
    """A day at one of three rates: in winter from 1 November to 29 February, in March, and in the rest of the year."""
    bands = [
        band("winter", "30", "00:00", "00:00", season=("11-01", "02-29")),
        band("march", "20", "00:00", "00:00", season=("03-01", "03-31")),
    ]
    terms = tariff(TariffKind.TIME_OF_USE, rate=Decimal(10), bands=bands, valid_from=SINCE, time_zone="UTC")
    rates = {
        f"{month}-{day} {year}": rate_spans([terms], {}, at, at + 1)[-1].rule
        for year, month, day in ((2024, 2, 29), (2024, 3, 1), (2023, 2, 28), (2023, 3, 1), (2023, 3, 31), (2023, 4, 1))
        for at in (to_ms(datetime(year, month, day, 12, tzinfo=UTC)),)
    }
    found = {day: rule.charge.band for day, rule in rates.items() if isinstance(rule, timeline.Rate)}
    assert found == {
        "2-29 2024": "winter",
        "3-1 2024": "march",
        "2-28 2023": "winter",
        "3-1 2023": "march",
        "3-31 2023": "march",
        "4-1 2023": None,
    }


def test_problems_of_seasons_say_what_to_do() -> None:
    def messages(*bands: TariffBand, rate: str | None = None) -> list[str]:
        terms = tariff(TariffKind.TIME_OF_USE, bands=list(bands), rate=None if rate is None else Decimal(rate))
        return [f"{'.'.join(map(str, problem.path))} {problem.message}" for problem in find_problems(terms, FOREVER)]

    def all_day(name: str, first: str | None, last: str | None) -> TariffBand:
        return band(name, "1", "00:00", "00:00", season=(first, last))

    summer, winter = all_day("summer", "04-01", "10-31"), all_day("winter", "11-01", "03-31")
    assert messages(summer, winter) == []
    assert messages(summer, winter, rate="1") == ["rate never applies: the bands cover the whole week"]
    assert messages(summer) == ["rate is missing: no band covers MONDAY at 00:00 in the season from 01-01"]
    assert messages(summer, winter, all_day("extra", "10-31", "10-31")) == [
        "bands.2 'extra' overlaps 'summer' on MONDAY at 00:00 in the season from 10-31"
    ]
    assert messages(all_day("leap", "03-01", "02-28")) == [
        "rate is missing: no band covers MONDAY at 00:00 in the season from 02-29"
    ]
    assert messages(all_day("june", "06-31", "07-01"), rate="1") == [
        "bands.0.seasonStart '06-31' is no day of a year. Write month and day, such as 11-01"
    ]
    assert messages(all_day("open", "06-01", None), rate="1") == [
        "bands.0.seasonEnd is missing: a season needs its first and its last day"
    ]
    many = [all_day(f"{day}", f"01-{day}", f"01-{day}") for day in range(10, 23)]
    assert messages(*many, rate="1") == ["bands have more than 12 seasons"]


def test_steps_of_two_months_have_lines_of_their_own() -> None:
    """October has a peak of 5 kW, which is the third step, and November one of 1.5 kW. Rates are those of months."""
    zone = ZoneInfo("Europe/Oslo")
    component = steps(("15000", "2"), ("20000", "5"), ("34000", None))
    terms = tariff(time_zone="Europe/Oslo", components=[component])
    begin, middle, end = (to_ms(datetime(2025, month, 1, tzinfo=zone)) for month in (10, 11, 12))
    peaks = {peak_key(terms, component, begin): energy("5"), peak_key(terms, component, middle): energy("1.5")}
    days = list(standing_charge_days([terms], begin, end, ALWAYS))
    lines = build_bill([], days, "kWh", "GBP", peaks).lines
    found = [(line.quantity, line.unit.name, pence(line.subtotal)) for line in lines]
    assert found == [(Decimal(1), "MONTH", Decimal(34000)), (Decimal(1), "MONTH", Decimal(15000))]
    assert [line.rate and line.rate.amount for line in lines] == [Decimal(340), Decimal(150)]
