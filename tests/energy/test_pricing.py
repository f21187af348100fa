"""What energy costs, against a slow model that is obviously right; and that every bill adds up."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from itertools import groupby
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.chance import examples
from tests.support.pricing import (
    EVERY_DAY,
    HALF_HOUR,
    WORKING_DAYS,
    band,
    blocks,
    energy,
    half_hours,
    model_costs,
    tariff,
)
from wattgate.clock import from_ms, to_ms
from wattgate.db.models import Tariff, TariffBand
from wattgate.energy.pricing import (
    Bill,
    EnergySample,
    build_bill,
    cost_by_bucket,
    divide_half_up,
    price_samples,
    round_half_up,
    to_decimal,
)
from wattgate.energy.tariffs import find_problems
from wattgate.energy.timeline import Price, PricesByTariff, energy_needed_from, rate_spans, standing_charge_days
from wattgate.enums import CostLineKind, Period, TariffKind, Weekday

LONDON = ZoneInfo("Europe/London")
ZONES = ["UTC", "Europe/London", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Cairo"]
SINCE = datetime(2009, 1, 1, tzinfo=UTC)
FOREVER = datetime(2100, 1, 1, tzinfo=UTC)

MILLIPENCE = st.integers(-50_000, 100_000).map(lambda n: Decimal(n).scaleb(-3))
EDGES = st.integers(0, 47).map(lambda slot: f"{slot // 2:02d}:{slot % 2 * 30:02d}")
VAT = st.sampled_from([Decimal(0), Decimal(5), Decimal("17.5"), Decimal(20)])


def bill_of(
    samples: Sequence[EnergySample], tariffs: Sequence[Tariff], start: int, stop: int, prices: PricesByTariff
) -> Bill:
    before = [one for one in samples if one.at < stop]
    pieces = price_samples(before, rate_spans(tariffs, prices, start, stop), start)
    return build_bill(pieces, (one for _, one in standing_charge_days(tariffs, start, stop)), "kWh")


def bill(samples: Sequence[EnergySample], *tariffs: Tariff, prices: PricesByTariff | None = None) -> Bill:
    """The bill for all samples, from the first one's start to the last one's end."""
    return bill_of(samples, tariffs, samples[0].at, samples[-1].at + to_ms(from_ms(0) + HALF_HOUR), prices or {})


def lines(one: Bill) -> list[tuple[str | None, str, str]]:
    return [(line.band or line.kind.value, str(line.quantity), str(line.amount)) for line in one.lines]


@st.composite
def some_bands(draw: st.DrawFn) -> list[TariffBand]:
    """Bands that do not overlap: of those drawn, each that leaves the earlier ones alone."""
    kept: list[TariffBand] = []
    for number in range(draw(st.integers(1, 5))):
        days = draw(st.lists(st.sampled_from(EVERY_DAY), min_size=1, unique=True))
        one = TariffBand(f"band {number}", draw(MILLIPENCE), days, draw(EDGES), draw(EDGES))
        trial = tariff(TariffKind.TIME_OF_USE, bands=[*kept, one], rate=Decimal(1))
        if not any("overlaps" in problem.message for problem in find_problems(trial, FOREVER)):
            kept.append(one)
    return kept


@st.composite
def some_tariff(draw: st.DrawFn, number: int, valid_from: datetime) -> Tariff:
    kind = draw(st.sampled_from(TariffKind))
    values = {
        "tariff_id": f"tariff {number}",
        "valid_from": valid_from,
        "time_zone": draw(st.sampled_from(ZONES)),
        "standing_charge": draw(MILLIPENCE),
        "vat_rate": draw(VAT),
    }
    if kind in (TariffKind.FLAT, TariffKind.TIME_OF_USE):
        values["rate"] = draw(MILLIPENCE)
    if kind is TariffKind.TIME_OF_USE:
        values["bands"] = draw(some_bands())
    if kind is TariffKind.BLOCK:
        limits = sorted(draw(st.sets(st.integers(1, 400), min_size=1, max_size=3)))
        values["blocks"] = blocks(
            *((str(Decimal(limit).scaleb(-3)), str(draw(MILLIPENCE))) for limit in limits),
            (None, str(draw(MILLIPENCE))),
        )
        values["block_period"] = draw(st.sampled_from([Period.P1D, Period.P1W, Period.P1M]))
    return tariff(kind, **values)


@st.composite
def some_case(draw: st.DrawFn) -> tuple[list[EnergySample], list[Tariff], PricesByTariff, int, int]:
    """Half hours with holes around some clock change, priced by up to four tariffs one after another."""
    changes = [datetime(year, month, day, tzinfo=UTC) for year in (2010, 2026) for month, day in ((3, 14), (3, 29))]
    changes += [
        datetime(2023, 4, 28, tzinfo=UTC),
        datetime(2026, 10, 4, tzinfo=UTC),
        datetime(2026, 10, 25, tzinfo=UTC),
    ]
    first = draw(st.sampled_from(changes)) - draw(st.integers(0, 5 * 48)) * HALF_HOUR
    count = draw(st.integers(1, 9 * 48))
    watt_hours = draw(st.lists(st.integers(-20, 60), min_size=1, max_size=30))
    holes = draw(st.sets(st.integers(0, count), max_size=20))
    samples = [
        EnergySample(to_ms(first + n * HALF_HOUR), watt_hours[n % len(watt_hours)] * 10**6, n % 7 == 3)
        for n in range(count)
        if n not in holes
    ]
    minutes = draw(st.lists(st.integers(-60 * 24, 30 * count), max_size=4, unique=True))
    tariffs = [
        draw(some_tariff(number, first + timedelta(minutes=minute))) for number, minute in enumerate(sorted(minutes))
    ]
    unpriced = draw(st.sets(st.integers(0, count), max_size=30))
    grid = [
        Price(to_ms(first) + n * 1_800_000, 7_000 * n % 400_000 - 90_000) for n in range(count) if n not in unpriced
    ]
    prices = {one.tariff_id: grid for one in tariffs if one.kind is TariffKind.DYNAMIC}
    start = to_ms(first + draw(st.integers(0, count)) * HALF_HOUR)
    return samples, tariffs, prices, start, to_ms(first + count * HALF_HOUR) + 1


@settings(max_examples=examples(250))
@given(case=some_case())
def test_every_sample_costs_what_a_patient_clerk_would_say(
    case: tuple[list[EnergySample], list[Tariff], PricesByTariff, int, int],
) -> None:
    samples, tariffs, prices, start, stop = case
    needed = [one for one in samples if one.at >= energy_needed_from(tariffs, start, stop)]
    pieces = list(price_samples(needed, rate_spans(tariffs, prices, start, stop), start))
    found = {
        at: (
            sum(piece.energy for piece in parts),
            parts[0].charge and parts[0].charge.tariff,
            sum(Fraction(piece.energy * piece.rate, 10**15) for piece in parts) if parts[0].charge else None,
        )
        for at, parts in ((at, list(group)) for at, group in groupby(pieces, key=lambda piece: piece.at))
    }
    expected = {
        sample.at: (sample.energy, one if cost is not None else None, cost)
        for sample, one, cost in model_costs(samples, tariffs, prices)
        if sample.at >= start
    }
    assert found == expected


@settings(max_examples=examples(150))
@given(case=some_case())
def test_lines_and_vat_add_up_to_the_total_which_is_as_near_to_the_exact_one_as_its_roundings_allow(
    case: tuple[list[EnergySample], list[Tariff], PricesByTariff, int, int],
) -> None:
    samples, tariffs, prices, start, stop = case
    made = bill_of(samples, tariffs, start, stop, prices)
    assert made.subtotal == sum(line.amount for line in made.lines)
    assert made.total == made.subtotal + sum(tax.amount for tax in made.vat)
    assert all(amount == amount.to_integral_value() for amount in (made.subtotal, made.total))
    used = sum(line.quantity for line in made.lines if line.kind is CostLineKind.ENERGY)
    assert used + made.unpriced == made.energy
    highest = max((one.vat_rate for one in tariffs), default=Decimal(0))
    bound = len(made.lines) * Decimal("0.5") * (1 + highest / 100) + len(made.vat) * Decimal("0.5")
    assert abs(made.total - made.exact) <= bound


@settings(max_examples=examples(150))
@given(case=some_case(), cut=st.integers(1, 400))
def test_what_adjoining_ranges_cost_exactly_is_what_the_whole_costs(
    case: tuple[list[EnergySample], list[Tariff], PricesByTariff, int, int], cut: int
) -> None:
    samples, tariffs, prices, start, stop = case
    middle = min(start + cut * 1_800_000, stop)
    whole, first, second = (bill_of(samples, tariffs, *ends, prices) for ends in _pairs(start, middle, stop))
    assert first.exact + second.exact == whole.exact
    assert first.energy + second.energy == whole.energy


def _pairs(start: int, middle: int, stop: int) -> list[tuple[int, int]]:
    return [(start, stop), (start, middle), (middle, stop)]


@settings(max_examples=examples(100))
@given(case=some_case(), step=st.integers(1, 96))
def test_buckets_hold_the_exact_cost_of_the_energy_and_nothing_of_the_standing_charge(
    case: tuple[list[EnergySample], list[Tariff], PricesByTariff, int, int], step: int
) -> None:
    samples, tariffs, prices, start, stop = case
    edges = [*range(start, stop, step * 1_800_000), stop]
    buckets = cost_by_bucket(price_samples(samples, rate_spans(tariffs, prices, start, stop), start), edges)
    free = [one.model_copy(update={"standing_charge": Decimal(0)}) for one in tariffs]
    made = bill_of(samples, free, start, stop, prices)
    assert sum((one.pence for one in buckets.values()), Decimal(0)) == made.exact
    assert sum(one.count for one in buckets.values()) == sum(one.at >= start for one in samples)
    assert sum(one.estimated for one in buckets.values()) == sum(one.at >= start and one.estimated for one in samples)
    assert to_decimal(sum(one.unpriced_energy for one in buckets.values()), 9) == made.unpriced


@given(amount=st.integers(-(10**12), 10**12), places=st.integers(0, 6))
def test_the_one_rounding_rule_is_half_up_away_from_zero(amount: int, places: int) -> None:
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


def test_a_band_across_midnight_belongs_to_the_weekday_on_which_it_starts() -> None:
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


def test_energy_with_a_negative_price_earns_and_halves_of_a_penny_earn_away_from_zero() -> None:
    start = datetime(2026, 1, 9, tzinfo=UTC)
    made = bill(half_hours(start, start + HALF_HOUR, "0.5"), tariff(rate=Decimal(-5), vat_rate=Decimal(20)))
    assert lines(made) == [("ENERGY", "0.5", "-3")]
    assert (made.vat[0].on, made.vat[0].amount) == (Decimal(-3), Decimal(-1))
    assert (made.total, made.exact) == (Decimal(-4), Decimal(-3))


def test_a_sample_that_crosses_the_limit_of_a_block_is_split_there() -> None:
    one = tariff(
        TariffKind.BLOCK,
        blocks=blocks(("1.2", "10"), ("1.5", "20"), (None, "40")),
        block_period=Period.P1D,
        time_zone="UTC",
    )
    start = datetime(2026, 1, 9, tzinfo=UTC)
    made = bill(
        [EnergySample(to_ms(start), energy("1"), False), EnergySample(to_ms(start + HALF_HOUR), energy("1"), True)], one
    )
    assert lines(made) == [("block 1", "1.2", "12"), ("block 2", "0.3", "6"), ("block 3", "0.5", "20")]
    assert [line.estimated for line in made.lines] == [True, True, True]


def test_blocks_count_from_the_start_of_their_period_also_where_less_is_asked_for() -> None:
    one = tariff(TariffKind.BLOCK, blocks=blocks(("1", "10"), (None, "20")), block_period=Period.P1M)
    start, stop = (datetime(2026, 7, day, tzinfo=LONDON).astimezone(UTC) for day in (1, 2))
    day = half_hours(start, stop)
    evening = to_ms(stop - timedelta(hours=1))
    assert energy_needed_from([one], evening, to_ms(stop)) == to_ms(start)
    assert lines(bill_of(day, [one], evening, to_ms(stop), {})) == [("block 2", "1", "20")]


def test_a_dynamic_tariff_tells_the_mean_rate_and_what_it_has_no_price_for() -> None:
    start = datetime(2026, 1, 9, tzinfo=UTC)
    known = [Price(to_ms(start), 10_000_000), Price(to_ms(start + 2 * HALF_HOUR), -4_000_000)]
    made = bill(half_hours(start, start + 4 * HALF_HOUR), tariff(TariffKind.DYNAMIC), prices={"t": known})
    (line,) = made.lines
    assert (line.quantity, line.rate, line.averaged, line.amount) == (Decimal(1), Decimal(3), True, Decimal(3))
    assert (made.energy, made.unpriced, made.total) == (Decimal(2), Decimal(1), Decimal(3))


def test_a_new_tariff_in_the_middle_of_a_day_prices_what_begins_from_then_on() -> None:
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
    made = bill(half_hours(start, start + timedelta(days=2)), old, new)
    assert [(line.tariff_id, line.kind.value, line.quantity, line.amount) for line in made.lines] == [
        ("old", "ENERGY", Decimal(12), Decimal(240)),
        ("new", "ENERGY", Decimal(36), Decimal(1440)),
        ("old", "STANDING_CHARGE", Decimal(1), Decimal(50)),
        ("new", "STANDING_CHARGE", Decimal(1), Decimal(60)),
    ]
    assert [(tax.rate, tax.on, tax.amount) for tax in made.vat] == [(Decimal(5), Decimal(1500), Decimal(75))]


@pytest.mark.parametrize(("day", "half_hours_of_night"), [("2026-03-29", 12), ("2026-10-25", 16), ("2026-06-01", 14)])
def test_a_night_through_a_clock_change_has_the_half_hours_that_it_has(day: str, half_hours_of_night: int) -> None:
    one = tariff(TariffKind.TIME_OF_USE, rate=Decimal(30), bands=[band("night", "10", "00:00", "07:00")])
    start = datetime.fromisoformat(day).replace(tzinfo=LONDON)
    stop = (start + timedelta(days=1)).astimezone(UTC)
    made = bill(half_hours(start.astimezone(UTC), stop, "1"), one)
    assert {line.band: line.quantity for line in made.lines}["night"] == half_hours_of_night


def test_bands_of_one_name_and_rate_are_one_line() -> None:
    twice = [band("peak", "40", "07:00", "09:00", WORKING_DAYS), band("peak", "40", "17:00", "19:00", WORKING_DAYS)]
    one = tariff(TariffKind.TIME_OF_USE, rate=Decimal(20), bands=twice)
    start = datetime(2026, 1, 9, tzinfo=UTC)
    assert lines(bill(half_hours(start, start + timedelta(days=1), "1"), one)) == [
        ("ENERGY", "40", "800"),
        ("peak", "8", "320"),
    ]
