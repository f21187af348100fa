"""Exact cost of energy. Amounts are integers until `divide_half_up` or `round_half_up` rounds them. No I/O.

Units are those of `timeline`. So an amount (energy times rate) is in 10^-15 hundredths of the currency without VAT, and
in 10^-23 hundredths with VAT. Bills and buckets state money in the major unit of the currency. A bill is rounded to the
minor unit.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from itertools import accumulate, groupby
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import msgspec

from wattgate.energy import quantities
from wattgate.energy.costs.tariffs import RATE_DECIMALS, TariffComponent, TariffTerms
from wattgate.energy.costs.timeline import (
    AMOUNT_DECIMALS,
    ENERGY_DECIMALS,
    NO_PEAKS,
    VAT_DECIMALS,
    VAT_WHOLE,
    BlockRate,
    BlockRates,
    Charge,
    DayCharge,
    Peaks,
    Rate,
    RateSpan,
    component_vat,
    day_charges,
    day_cost,
    to_scaled,
)
from wattgate.energy.quantities import (
    STORED_DECIMALS,
    Energy,
    Money,
    decimals_of,
    energy_unit,
    money_of_minor_units,
    rate_of_hundredths,
    rate_unit,
)
from wattgate.enums import ComponentBasis, CostLineKind, RateUnit

BUCKET_DECIMALS = 5
BASIS_UNITS: Mapping[ComponentBasis, RateUnit] = MappingProxyType(
    {
        ComponentBasis.DAY: RateUnit.DAY,
        ComponentBasis.MONTH: RateUnit.MONTH,
        ComponentBasis.PEAK: RateUnit.KILOWATT,
    }
)
"""The units of the rates of components that do not charge for energy."""

QUANTITY_DECIMALS = 6
"""Decimal places of a number of months or kW on a bill."""

_EXACT_CONTEXT = Context(prec=100)
_ONE = Decimal(1)

INCLUDED_READINGS_PER_DAY = 80
"""Readings that the price of a day of costs includes. Half hours are 48, so that only more frequent ones cost more."""


class EnergySample(NamedTuple):
    """Energy of a sample that begins at `at`; `estimated` if no meter measured it."""

    at: int
    energy: int
    estimated: bool


class PricedPart(NamedTuple):
    """A sample, or its part within one block, and its charge and rate. `charge` is None if there is no price."""

    at: int
    energy: int
    estimated: bool
    charge: Charge | None
    rate: int


class CostLine(msgspec.Struct, gc=False):
    """One line of a bill: a quantity at a rate without VAT, and the product, rounded to the minor unit."""

    kind: CostLineKind
    band: str | None
    component: str | None
    quantity: Decimal
    unit: RateUnit
    rate: quantities.Rate | None
    averaged: bool
    subtotal: Money
    tariff_id: str
    tariff_name: str
    tariff_version: int
    estimated: bool


class CostVat(msgspec.Struct, gc=False):
    """VAT of some percent on the sum of the lines with that percentage, rounded to the minor unit."""

    percent: Decimal
    subtotal: Money
    vat: Money


class Bill(msgspec.Struct, gc=False):
    """Lines, VAT and total, rounded to the minor unit of one currency. `exact` is the total before rounding."""

    energy: Energy
    unpriced: Energy
    lines: list[CostLine]
    subtotal: Money
    vat: list[CostVat]
    total: Money
    exact: Money
    estimated: bool


@dataclass(slots=True)
class BucketCost:
    """The cost of a bucket's samples, with VAT (10^-23 hundredths) and without standing charge.

    `count`, `estimated` and `unpriced` are numbers of samples. `unpriced_energy` is the energy of the unpriced ones.
    """

    amount: int = 0
    count: int = 0
    estimated: int = 0
    unpriced: int = 0
    unpriced_energy: int = 0

    @property
    def exact(self) -> Decimal:
        """The exact amount in the major unit."""
        return to_decimal(self.amount, VAT_DECIMALS + STORED_DECIMALS)

    @property
    def unpriced_kwh(self) -> Decimal:
        """The energy without a price, in kWh."""
        return to_decimal(self.unpriced_energy, ENERGY_DECIMALS)


def price_samples(
    samples: Sequence[EnergySample], spans: Sequence[RateSpan], start: int, length: int = 0
) -> Iterator[PricedPart]:
    """Yield the samples from `start`, each with the rate in force when it begins.

    Samples must be in order. Earlier samples count towards the limits of blocks. A sample that crosses a limit is
    split. If samples are known to last `length` ms, one in which the rate changes is split by time.
    """
    times = [sample.at for sample in samples]
    counts = [0, *accumulate(sample.energy for sample in samples)]
    position, rule = 0, spans[0].rule
    until = spans[1].start if len(spans) > 1 else _END
    period_start_count = 0  # the cumulative energy when the period of a block tariff began
    for index in range(bisect_left(times, start), len(samples)):
        at, energy, estimated = samples[index]
        if at >= until:
            while at >= until:
                position += 1
                until = spans[position + 1].start if position + 1 < len(spans) else _END
            rule = spans[position].rule
            period_start_count = counts[bisect_left(times, rule.since)] if isinstance(rule, BlockRates) else 0
        if until < at + length and isinstance(rule, Rate):
            yield from _split_by_price(samples[index], length, spans, position)
        elif rule is None:
            yield PricedPart(at, energy, estimated, None, 0)
        elif isinstance(rule, Rate):
            yield PricedPart(at, energy, estimated, *rule)
        else:
            for part, rate in split_by_block(energy, counts[index] - period_start_count, rule):
                yield PricedPart(at, part, estimated, *rate)


def _split_by_price(
    sample: EnergySample, length: int, spans: Sequence[RateSpan], position: int
) -> Iterator[PricedPart]:
    """Yield the parts of a sample that begins in the span at `position` and lasts for several rates.

    Its energy is divided by time, and the parts add up to it. Without the price of a part of a dynamic tariff, no part
    has one. A rate of another tariff holds on where no rate by time follows.
    """
    at, energy, estimated = sample
    parts, counted, stop = list[PricedPart](), 0, at + length
    while spans[position].start < stop:
        rule, end = spans[position].rule, spans[position + 1].start if position + 1 < len(spans) else stop
        until = energy * (min(end, stop) - at) // length
        if isinstance(rule, Rate):
            parts.append(PricedPart(at, until - counted, estimated, *rule))
        elif (charge := parts[-1].charge) is not None and charge.rate is not None:
            parts[-1] = parts[-1]._replace(energy=parts[-1].energy + until - counted)
        else:
            yield PricedPart(at, energy, estimated, None, 0)
            return
        counted, position = until, position + 1
        if position == len(spans):
            break
    yield from parts


def split_by_block(energy: int, counted: int, blocks: BlockRates) -> list[tuple[int, Rate]]:
    """Split energy at the limits of blocks, given the energy counted before it in the period.

    Negative energy is deducted from the highest used block first.
    """
    after = counted + energy
    low, high = min(counted, after), max(counted, after)
    for block in blocks.blocks:
        if (block.floor is None or block.floor <= low) and (block.ceiling is None or high <= block.ceiling):
            return [(energy, block.rate)]
    parts = [(_clamp_to_block(block, after) - _clamp_to_block(block, counted), block.rate) for block in blocks.blocks]
    return [part for part in parts if part[0]]


def current_block_rate(counted: int, blocks: BlockRates) -> Rate:
    """Return the rate of the next unit of energy, given the energy counted so far in the period."""
    return next(block.rate for block in blocks.blocks if block.ceiling is None or counted < block.ceiling)


def build_bill(
    parts: Iterable[PricedPart],
    days: Iterable[tuple[int, TariffTerms]],
    unit: str,
    currency: str,
    peaks: Peaks = NO_PEAKS,
) -> Bill:
    """Return the bill for parts of energy in `unit`, and for days. Each day is given by its midnight and its tariff.

    Each line is rounded once to the minor unit, halves away from zero. VAT is rounded once for each VAT rate, on the
    sum of the rounded lines. So lines and VAT add up to the total. All tariffs have the same `currency`.
    """
    totals = _total_by_charge(parts)
    unpriced = totals.pop(None, _ChargeTotal())
    entries = [_energy_entry(charge, total, unit) for charge, total in _without_windows(totals).items()]
    entries += _component_entries(totals, unit)
    entries += _day_entries(days, peaks)
    taxable: dict[int, int] = {}
    for entry in entries:
        taxable[entry.vat] = taxable.get(entry.vat, 0) + entry.minor_units
    taxes = {vat: divide_half_up(amount * vat, VAT_WHOLE) for vat, amount in sorted(taxable.items()) if vat}
    subtotal, units = sum(taxable.values()), energy_unit(unit)
    all_energy = unpriced.energy + sum(total.energy for total in totals.values())
    exact = sum(entry.amount * (VAT_WHOLE + entry.vat) for entry in entries)
    return Bill(
        energy=Energy(to_decimal(all_energy, ENERGY_DECIMALS), units),
        unpriced=Energy(to_decimal(unpriced.energy, ENERGY_DECIMALS), units),
        lines=[entry.line for entry in entries],
        subtotal=money_of_minor_units(subtotal, currency),
        vat=[_build_vat(vat, taxable[vat], tax, currency) for vat, tax in taxes.items()],
        total=money_of_minor_units(subtotal + sum(taxes.values()), currency),
        exact=Money(to_decimal(exact, VAT_DECIMALS + STORED_DECIMALS), currency),
        estimated=any(entry.line.estimated for entry in entries),
    )


def cost_by_bucket(parts: Iterable[PricedPart], edges: Sequence[int]) -> dict[int, BucketCost]:
    """Return the cost of each bucket between consecutive edges, by position. Buckets without samples are omitted."""
    costs: dict[int, BucketCost] = {}
    position, until, previous_at = -1, edges[0], None
    bucket = BucketCost()
    for at, energy, estimated, charge, rate in parts:
        if at >= until:
            while at >= until:
                position += 1
                until = edges[position + 1]
            bucket = costs[position] = BucketCost()
        if at != previous_at:  # count a sample that a block's limit has split once
            bucket.count += 1
            bucket.estimated += estimated
        previous_at = at
        if charge is None:
            bucket.unpriced += 1
            bucket.unpriced_energy += energy
        else:
            bucket.amount += energy * (rate * charge.vat_factor + charge.added)  # `price`, without a call
    return costs


def cost_by_sample(parts: Iterable[PricedPart]) -> Iterator[tuple[int, int, bool]]:
    """Yield instant, cost with VAT (10^-23 hundredths) and estimated flag of each sample that has a price."""
    for at, group in groupby(parts, key=itemgetter(0)):
        sample_parts = list(group)
        if all(part.charge is not None for part in sample_parts):
            amount = sum(part.energy * part.charge.price(part.rate) for part in sample_parts if part.charge)
            yield at, amount, sample_parts[0].estimated


def day_hundredths(tariff: TariffTerms, at: int, peaks: Peaks = NO_PEAKS) -> Decimal:
    """Return what a tariff charges for the day of an instant beside energy, in hundredths with VAT, unrounded."""
    return to_decimal(day_cost(tariff, at, peaks), VAT_DECIMALS)


def add_vat(tariff: TariffTerms, amount: Decimal) -> Decimal:
    """Return a rate or standing charge (hundredths) with the tariff's VAT, without rounding."""
    return with_percent(amount, tariff.vat_rate)


def with_percent(amount: Decimal, percent: Decimal) -> Decimal:
    """Return a rate or charge (hundredths) with VAT of some percent, without rounding."""
    return to_decimal(to_scaled(amount) * (VAT_WHOLE + to_scaled(percent)), VAT_DECIMALS - ENERGY_DECIMALS)


def energy_hundredths(tariff: TariffTerms, rate: Decimal) -> Decimal:
    """Return what a unit of energy costs at a rate of a tariff, with components and VAT, in hundredths, unrounded."""
    return to_decimal(Charge.of(tariff, None, None).price(to_scaled(rate)), VAT_DECIMALS - ENERGY_DECIMALS)


AmountT = TypeVar("AmountT", int, Decimal)


def add_standing_charge(energy_cost: AmountT | None, standing_charge: AmountT) -> AmountT | None:
    """Return the cost of a span so far: the known cost of its energy, and the standing charges of its begun days.

    Standing charges are due without energy. So the days of a week add up to the week. The cost is None if the energy
    has no known cost and no standing charge is due.
    """
    if energy_cost is None:
        return standing_charge or None
    return energy_cost + standing_charge


def divide_half_up(amount: int, unit: int) -> int:
    """Return the amount in whole units, with halves rounded away from zero. All amounts of money are rounded so."""
    whole = (2 * abs(amount) + unit) // (2 * unit)
    return whole if amount >= 0 else -whole


def round_half_up(amount: Decimal, decimals: int) -> Decimal:
    """Return an amount rounded to a number of decimal places, with halves rounded away from zero."""
    return amount.quantize(_ONE.scaleb(-decimals), rounding="ROUND_HALF_UP", context=_EXACT_CONTEXT)


def round_scaled(number: int, decimals: int, places: int) -> Decimal:
    """Return number / 10^decimals rounded as `round_half_up` does, without the search for trailing zeros."""
    return round_half_up(_EXACT_CONTEXT.scaleb(Decimal(number), -decimals), places)


def to_decimal(number: int, decimals: int) -> Decimal:
    """Return number / 10^decimals as a decimal without trailing zeros."""
    while decimals and not number % 10:
        number, decimals = number // 10, decimals - 1
    return _EXACT_CONTEXT.scaleb(Decimal(number), -decimals)


@dataclass(slots=True)
class _ChargeTotal:
    """The total of one charge: energy, amount (10^-15 hundredths), and whether some of it is estimated."""

    energy: int = 0
    amount: int = 0
    estimated: bool = False


class _BillEntry(NamedTuple):
    """A line, its VAT, and its subtotal in whole minor units and before rounding (10^-15 hundredths)."""

    line: CostLine
    vat: int
    minor_units: int
    amount: int


_END = 2**63
"""An instant after all samples."""


def _total_by_charge(parts: Iterable[PricedPart]) -> dict[Charge | None, _ChargeTotal]:
    totals: dict[Charge | None, _ChargeTotal] = {}
    for _, energy, estimated, charge, rate in parts:
        total = totals.get(charge)
        if total is None:
            total = totals[charge] = _ChargeTotal()
        total.energy += energy
        total.amount += energy * rate
        total.estimated |= estimated
    return totals


def _without_windows(totals: Mapping[Charge | None, _ChargeTotal]) -> Mapping[Charge, _ChargeTotal]:
    """Return the totals by the charges whose lines have the energy, inside and outside windows of components."""
    merged: dict[Charge, _ChargeTotal] = {}
    for charge in totals:
        if charge is not None:
            line, total = charge.whole or charge, totals[charge]
            if line in merged:
                earlier = merged[line]
                total = _ChargeTotal(
                    earlier.energy + total.energy, earlier.amount + total.amount, earlier.estimated | total.estimated
                )
            merged[line] = total
    return merged


def _component_entries(totals: Mapping[Charge | None, _ChargeTotal], unit: str) -> Iterator[_BillEntry]:
    """Yield a line for each component that charges for energy, with the energy that it charges for.

    They are in the order of the tariff. A component has no line if none of the energy is in its window.
    """
    by_tariff: dict[str, tuple[TariffTerms, dict[str, _ChargeTotal]]] = {}
    for charge, total in totals.items():
        if charge is None or not charge.components:
            continue
        _, by_name = by_tariff.setdefault(charge.tariff.tariff_id, (charge.tariff, {}))
        for component in charge.components:
            if component.name not in by_name:
                by_name[component.name] = _ChargeTotal()
            whole = by_name[component.name]
            whole.energy += total.energy
            whole.estimated |= total.estimated
    for tariff, by_name in by_tariff.values():
        for component in tariff.components:
            if component.basis is ComponentBasis.ENERGY and component.name in by_name:
                yield _component_entry(tariff, component, by_name[component.name], unit)


def _component_entry(tariff: TariffTerms, component: TariffComponent, total: _ChargeTotal, unit: str) -> _BillEntry:
    return _build_entry(
        tariff,
        CostLineKind.COMPONENT,
        total.energy * to_scaled(component.rate),
        vat=component_vat(tariff, component),
        component=component.name,
        quantity=to_decimal(total.energy, ENERGY_DECIMALS),
        unit=rate_unit(unit),
        rate=to_scaled(component.rate),
        estimated=total.estimated,
    )


def _day_entries(days: Iterable[tuple[int, TariffTerms]], peaks: Peaks) -> Iterator[_BillEntry]:
    """Yield the lines of days and months: for each tariff its standing charge, then its components.

    Months whose peaks lie in different steps have lines of their own.
    """
    sums: dict[tuple[str, str | None, Decimal | None], tuple[TariffTerms, DayCharge]] = {}
    for midnight, tariff in days:
        for charge in day_charges(tariff, midnight, peaks):
            name = None if charge.component is None else charge.component.name
            key = tariff.tariff_id, name, None if charge.step is None else charge.step.rate
            _, earlier = sums.get(key, (tariff, charge._replace(amount=0, quantity=Fraction(0))))
            whole = charge._replace(amount=earlier.amount + charge.amount, quantity=earlier.quantity + charge.quantity)
            sums[key] = tariff, whole
    for tariff, charge in sums.values():
        component = charge.component
        rate, basis = (tariff.standing_charge, None) if component is None else (component.rate, component.basis)
        if charge.step is not None:
            rate, basis = charge.step.rate, ComponentBasis.MONTH
        yield _build_entry(
            tariff,
            CostLineKind.STANDING_CHARGE if component is None else CostLineKind.COMPONENT,
            charge.amount,
            vat=charge.vat,
            component=None if component is None else component.name,
            quantity=_show_quantity(charge.quantity),
            unit=RateUnit.DAY if basis is None else BASIS_UNITS[basis],
            rate=to_scaled(rate),
        )


def _show_quantity(quantity: Fraction) -> Decimal:
    """Return a number of days, months or kW, rounded: a day of a month has no finite number of decimal places."""
    return to_decimal(round(quantity * 10**QUANTITY_DECIMALS), QUANTITY_DECIMALS)


def _energy_entry(charge: Charge, total: _ChargeTotal, unit: str) -> _BillEntry:
    rate = charge.rate
    if rate is None and total.energy:
        rate = divide_half_up(total.amount * (1 if total.energy > 0 else -1), abs(total.energy))
    return _build_entry(
        charge.tariff,
        CostLineKind.ENERGY,
        total.amount,
        vat=charge.vat,
        band=charge.band,
        quantity=to_decimal(total.energy, ENERGY_DECIMALS),
        unit=rate_unit(unit),
        rate=rate,
        averaged=charge.rate is None,
        estimated=total.estimated,
    )


def _build_entry(
    tariff: TariffTerms,
    kind: CostLineKind,
    amount: int,
    *,
    vat: int,
    band: str | None = None,
    component: str | None = None,
    quantity: Decimal,
    unit: RateUnit,
    rate: int | None,
    averaged: bool = False,
    estimated: bool = False,
) -> _BillEntry:
    minor_units = divide_half_up(amount, 10 ** (AMOUNT_DECIMALS + STORED_DECIMALS - decimals_of(tariff.currency)))
    line = CostLine(
        kind=kind,
        band=band,
        component=component,
        quantity=quantity,
        unit=unit,
        rate=None if rate is None else rate_of_hundredths(to_decimal(rate, RATE_DECIMALS), unit, tariff.currency),
        averaged=averaged,
        subtotal=money_of_minor_units(minor_units, tariff.currency),
        tariff_id=tariff.tariff_id,
        tariff_name=tariff.name,
        tariff_version=tariff.version,
        estimated=estimated,
    )
    return _BillEntry(line, vat, minor_units, amount)


def _build_vat(vat: int, subtotal: int, tax: int, currency: str) -> CostVat:
    """Return the VAT of a percentage, from amounts in whole minor units."""
    percent = to_decimal(vat, RATE_DECIMALS)
    return CostVat(percent, money_of_minor_units(subtotal, currency), money_of_minor_units(tax, currency))


def _clamp_to_block(block: BlockRate, counted: int) -> int:
    """Return the counted energy, limited to the floor and the ceiling of a block."""
    if block.floor is not None and counted < block.floor:
        return block.floor
    return counted if block.ceiling is None else min(counted, block.ceiling)
