"""What energy costs. Pure, and exact: amounts are whole numbers until one rule rounds them.

Units are those of `timeline`; so an amount (energy times rate) is in 10^-15 pence, and with VAT in 10^-23.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from itertools import accumulate, groupby
from operator import itemgetter
from typing import NamedTuple

import msgspec

from wattgate.energy.tariffs import RATE_DECIMALS, TariffTerms
from wattgate.energy.timeline import ENERGY_DECIMALS, Block, Blocks, Charge, Rate, Span, scaled
from wattgate.enums import CostLineKind

AMOUNT_DECIMALS = ENERGY_DECIMALS + RATE_DECIMALS
PENNY = 10**AMOUNT_DECIMALS
WHOLE = 10 ** (2 + RATE_DECIMALS)
"""100 % of VAT."""

VAT_DECIMALS = AMOUNT_DECIMALS + 2 + RATE_DECIMALS
BUCKET_DECIMALS = 5
_EXACT = Context(prec=100)


class Sample(NamedTuple):
    """Energy that was used from an instant on; `estimated` where no meter read it."""

    at: int
    energy: int
    estimated: bool


class Piece(NamedTuple):
    """A sample, or the part of it inside one block, and what prices it: no charge where nothing does."""

    at: int
    energy: int
    estimated: bool
    charge: Charge | None
    rate: int


class CostLine(msgspec.Struct, gc=False):
    """One line of an explanation: so much of something at a rate (pence), in whole pence."""

    kind: CostLineKind
    band: str | None
    quantity: Decimal
    unit: str
    rate: Decimal | None
    averaged: bool
    amount: Decimal
    tariff_id: str
    tariff_name: str
    tariff_version: int
    estimated: bool


class CostVat(msgspec.Struct, gc=False):
    """VAT at one rate (percent) on the sum of the lines that bear it, in whole pence."""

    rate: Decimal
    on: Decimal
    amount: Decimal


class Bill(msgspec.Struct, gc=False):
    """Lines, VAT and total in whole pence; `exact` is the total before any rounding. Energy is in kWh."""

    energy: Decimal
    unpriced: Decimal
    lines: list[CostLine]
    subtotal: Decimal
    vat: list[CostVat]
    total: Decimal
    exact: Decimal
    estimated: bool


@dataclass(slots=True)
class BucketCost:
    """What the samples of a bucket cost with VAT (10^-23 pence) and without standing charge.

    `count`, `estimated` and `unpriced` are numbers of samples; `unpriced_energy` is theirs.
    """

    amount: int = 0
    count: int = 0
    estimated: int = 0
    unpriced: int = 0
    unpriced_energy: int = 0

    @property
    def pence(self) -> Decimal:
        """The amount, exactly."""
        return exactly(self.amount, VAT_DECIMALS)

    @property
    def unpriced_kwh(self) -> Decimal:
        """The energy that has no price."""
        return exactly(self.unpriced_energy, ENERGY_DECIMALS)


def priced(samples: Sequence[Sample], spans: Sequence[Span], start: int) -> Iterator[Piece]:
    """The samples from `start` on, each with the rate that holds when it begins.

    Samples are in order; earlier ones count towards the limits of blocks. A sample that crosses a limit is split.
    """
    times = [sample.at for sample in samples]
    counts = [0, *accumulate(sample.energy for sample in samples)]
    following = iter(spans)
    _, rule = next(following)
    until, then = next(following, _NEVER)
    before = 0  # what was counted when the period of a block tariff began
    for index in range(bisect_left(times, start), len(samples)):
        at, energy, estimated = samples[index]
        if at >= until:
            while at >= until:
                rule = then
                until, then = next(following, _NEVER)
            before = counts[bisect_left(times, rule.since)] if isinstance(rule, Blocks) else 0
        if rule is None:
            yield Piece(at, energy, estimated, None, 0)
        elif isinstance(rule, Rate):
            yield Piece(at, energy, estimated, *rule)
        else:
            for part, rate in split(energy, counts[index] - before, rule):
                yield Piece(at, part, estimated, *rate)


def split(energy: int, counted: int, blocks: Blocks) -> list[tuple[int, Rate]]:
    """Energy on top of what was counted before, block by block. Negative energy goes back down through the blocks."""
    after = counted + energy
    low, high = min(counted, after), max(counted, after)
    for block in blocks.blocks:
        if (block.floor is None or block.floor <= low) and (block.ceiling is None or high <= block.ceiling):
            return [(energy, block.rate)]
    parts = [(_within(block, after) - _within(block, counted), block.rate) for block in blocks.blocks]
    return [part for part in parts if part[0]]


def reached(counted: int, blocks: Blocks) -> Rate:
    """The rate of what comes next, after so much energy."""
    return next(block.rate for block in blocks.blocks if block.ceiling is None or counted < block.ceiling)


def explain(pieces: Iterable[Piece], days: Iterable[TariffTerms], unit: str) -> Bill:
    """A bill for pieces of energy (`unit` says in what) and for days, each given by the tariff whose charge it bears.

    Each line is rounded once to the whole penny, halves away from zero; VAT is rounded once for each rate of VAT, on
    the sum of its rounded lines. So lines and VAT add up to the total.
    """
    used = _by_charge(pieces)
    unpriced = used.pop(None, _Used())
    entries = [_energy_line(charge, one, unit) for charge, one in used.items() if charge]
    entries += [_standing_line(tariff, count) for tariff, count in _by_tariff(days)]
    on: dict[int, Decimal] = {}
    for line, vat, _ in entries:
        on[vat] = on.get(vat, Decimal(0)) + line.amount
    taxes = [_vat(vat, amount) for vat, amount in sorted(on.items()) if vat]
    subtotal = sum((line.amount for line, _, _ in entries), Decimal(0))
    return Bill(
        energy=exactly(unpriced.energy + sum(one.energy for one in used.values()), ENERGY_DECIMALS),
        unpriced=exactly(unpriced.energy, ENERGY_DECIMALS),
        lines=[line for line, _, _ in entries],
        subtotal=subtotal,
        vat=taxes,
        total=subtotal + sum((tax.amount for tax in taxes), Decimal(0)),
        exact=exactly(sum(amount * (WHOLE + vat) for _, vat, amount in entries), VAT_DECIMALS),
        estimated=any(line.estimated for line, _, _ in entries),
    )


def by_bucket(pieces: Iterable[Piece], edges: Sequence[int]) -> dict[int, BucketCost]:
    """By position of the bucket between consecutive edges, what its samples cost; without buckets that have none."""
    found: dict[int, BucketCost] = {}
    position, until, before = -1, edges[0], None
    bucket = BucketCost()
    for at, energy, estimated, charge, rate in pieces:
        if at >= until:
            while at >= until:
                position += 1
                until = edges[position + 1]
            bucket = found[position] = BucketCost()
        if at != before:  # the second part of a sample that a block's limit has split is no second sample
            bucket.count += 1
            bucket.estimated += estimated
        before = at
        if charge is None:
            bucket.unpriced += 1
            bucket.unpriced_energy += energy
        else:
            bucket.amount += energy * rate * (WHOLE + charge.vat)
    return found


def by_sample(pieces: Iterable[Piece]) -> Iterator[tuple[int, int, bool]]:
    """Of each sample that has a price: its instant, its cost with VAT (10^-23 pence), and whether it is estimated."""
    for at, parts in groupby(pieces, key=itemgetter(0)):
        inside = list(parts)
        if all(part.charge is not None for part in inside):
            amount = sum(part.energy * part.rate * (WHOLE + part.charge.vat) for part in inside if part.charge)
            yield at, amount, inside[0].estimated


def with_vat(tariff: TariffTerms, amount: Decimal) -> Decimal:
    """A rate or standing charge of the tariff (pence) with its VAT, exactly."""
    return exactly(scaled(amount) * (WHOLE + scaled(tariff.vat_rate)), VAT_DECIMALS - ENERGY_DECIMALS)


def half_up(amount: int, unit: int) -> int:
    """The amount in whole units; halves go away from zero. The one rounding rule of money."""
    whole = (2 * abs(amount) + unit) // (2 * unit)
    return whole if amount >= 0 else -whole


def rounded(amount: Decimal, decimals: int) -> Decimal:
    """A decimal at so many places, by the one rounding rule."""
    return amount.quantize(Decimal(1).scaleb(-decimals), rounding="ROUND_HALF_UP", context=_EXACT)


def exactly(number: int, decimals: int) -> Decimal:
    """The decimal whose last of so many places the number counts, without zeros at its end."""
    while decimals and not number % 10:
        number, decimals = number // 10, decimals - 1
    return _EXACT.scaleb(Decimal(number), -decimals)


@dataclass(slots=True)
class _Used:
    """What one charge sums up: energy, its amount (10^-15 pence), and whether some of it is estimated."""

    energy: int = 0
    amount: int = 0
    estimated: bool = False


_Entry = tuple[CostLine, int, int]
"""A line, its VAT rate, and its amount before rounding (10^-15 pence)."""

_NEVER = Span(2**63, None)


def _by_charge(pieces: Iterable[Piece]) -> dict[Charge | None, _Used]:
    found: dict[Charge | None, _Used] = {}
    for _, energy, estimated, charge, rate in pieces:
        used = found.get(charge)
        if used is None:
            used = found[charge] = _Used()
        used.energy += energy
        used.amount += energy * rate
        used.estimated |= estimated
    return found


def _by_tariff(days: Iterable[TariffTerms]) -> list[tuple[TariffTerms, int]]:
    found: dict[str, tuple[TariffTerms, int]] = {}
    for tariff in days:
        found[tariff.tariff_id] = (tariff, found.get(tariff.tariff_id, (tariff, 0))[1] + 1)
    return [(tariff, count) for tariff, count in found.values() if tariff.standing_charge]


def _energy_line(charge: Charge, used: _Used, unit: str) -> _Entry:
    averaged, rate = charge.rate is None, charge.rate
    if rate is None and used.energy:
        rate = half_up(used.amount * (1 if used.energy > 0 else -1), abs(used.energy))
    line = _line(
        charge.tariff,
        CostLineKind.ENERGY,
        used.amount,
        band=charge.band,
        quantity=exactly(used.energy, ENERGY_DECIMALS),
        unit=unit,
        rate=None if rate is None else exactly(rate, RATE_DECIMALS),
        averaged=averaged,
        estimated=used.estimated,
    )
    return line, charge.vat, used.amount


def _standing_line(tariff: TariffTerms, days: int) -> _Entry:
    amount = scaled(tariff.standing_charge) * days * 10**ENERGY_DECIMALS
    line = _line(
        tariff,
        CostLineKind.STANDING_CHARGE,
        amount,
        band=None,
        quantity=Decimal(days),
        unit="day",
        rate=exactly(scaled(tariff.standing_charge), RATE_DECIMALS),
        averaged=False,
        estimated=False,
    )
    return line, scaled(tariff.vat_rate), amount


def _line(
    tariff: TariffTerms,
    kind: CostLineKind,
    amount: int,
    *,
    band: str | None,
    quantity: Decimal,
    unit: str,
    rate: Decimal | None,
    averaged: bool,
    estimated: bool,
) -> CostLine:
    return CostLine(
        kind=kind,
        band=band,
        quantity=quantity,
        unit=unit,
        rate=rate,
        averaged=averaged,
        amount=Decimal(half_up(amount, PENNY)),
        tariff_id=tariff.tariff_id,
        tariff_name=tariff.name,
        tariff_version=tariff.version,
        estimated=estimated,
    )


def _vat(vat: int, on: Decimal) -> CostVat:
    return CostVat(exactly(vat, RATE_DECIMALS), on, Decimal(half_up(int(on) * vat, WHOLE)))


def _within(block: Block, counted: int) -> int:
    """Where a count of energy stands within a block: held at its floor and its ceiling."""
    if block.floor is not None and counted < block.floor:
        return block.floor
    return counted if block.ceiling is None else min(counted, block.ceiling)
