"""Frames of a display: everything that a display shows of a home at an instant. No I/O."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import NamedTuple

import msgspec

from wattgate.clock import from_ms, to_ms
from wattgate.energy.costs.pricing import add_standing_charge
from wattgate.energy.costs.tariffs import CostBasis
from wattgate.energy.costs.timeline import VAT_DECIMALS
from wattgate.energy.display.ambient import AmbientReference, DisplayAmbient
from wattgate.energy.display.carbon import DisplayCarbon
from wattgate.energy.display.energy_total import EnergyTotal, to_money
from wattgate.energy.display.home import HalfHourContent, Home, WithheldMeter
from wattgate.energy.display.live_power import DisplayPower
from wattgate.energy.display.meter import EnergyEstimate, Meter, MeterKind, PeriodCount, TimeSpan
from wattgate.energy.display.rate_schedule import DisplaySlot, DisplayTariff
from wattgate.energy.freshness import Freshness
from wattgate.energy.quantities import Energy, Money
from wattgate.enums import AmbientBasis, FreshnessState, NoValueReason

FRAME_VERSION = 1
"""The version of frames. It changes if a screen that knows only the old frames would show something wrong.

Further fields do not change it. A screen ignores the fields that it does not know.
"""

LINK_TIMEOUT_SECONDS = 35
"""How long a screen waits for anything from the gateway before it blanks live values (docs/reference/realtime.md)."""

STATES_WITHOUT_POWER = (FreshnessState.STALE, FreshnessState.OFFLINE)
"""States in which a frame has no power, because the number would be old."""


SHARE_DECIMALS = 2
"""Decimal places of the unknown share. With more, time alone would change frames every few seconds."""


class DisplayEnergy(msgspec.Struct, frozen=True, gc=False):
    """Energy of one kind in a span; `energy` is None if nothing is known yet."""

    energy: Energy | None
    estimated: bool
    complete_to_ms: int
    unknown_share: float | None = None

    @property
    def complete_to(self) -> datetime:
        return from_ms(self.complete_to_ms)


class DisplayCost(msgspec.Struct, frozen=True, gc=False):
    """The cost of a span so far, by the rule of `add_standing_charge`. `unpriced` has an amount for each unit."""

    total: Money | None
    standing_charges_with_vat: Money
    unpriced: tuple[Energy, ...]
    estimated: bool


class DisplayPeriod(msgspec.Struct, frozen=True, gc=False):
    """A day or a month so far. Energy that the home does not measure is None; so is the cost without a tariff.

    `no_cost_reason` says why the energy has no cost.
    """

    span: TimeSpan
    electricity: DisplayEnergy | None
    exported: DisplayEnergy | None
    gas: DisplayEnergy | None
    cost: DisplayCost | None
    no_cost_reason: NoValueReason | None
    complete_to_ms: int | None

    @property
    def start(self) -> datetime:
        return _period_bound(self.span.start)

    @property
    def end(self) -> datetime:
        return _period_bound(self.span.end)

    @property
    def complete_to(self) -> datetime | None:
        return None if self.complete_to_ms is None else from_ms(self.complete_to_ms)


class Display:
    """A frame. `home` is the data that it is built from, and from which the next frame is built.

    A part is computed when it is first read, so that a frame costs what its readers select. Power and freshness are
    computed at once, because later readings change the snapshot that they come from.
    """

    frame_version = FRAME_VERSION
    link_timeout_seconds = LINK_TIMEOUT_SECONDS

    def __init__(self, home: Home, at: datetime) -> None:
        self.home, self.at = home, at
        self.at_ms = now = to_ms(at)
        self.freshness: Freshness = home.freshness(now)
        self.power: DisplayPower | None = None if self.freshness.state in STATES_WITHOUT_POWER else home.power(now)

    @property
    def ve_id(self) -> str:
        return self.home.ve_id

    @property
    def name(self) -> str:
        return self.home.name

    @property
    def currency(self) -> str | None:
        """The currency of the costs of today. None without a tariff, or with tariffs in several currencies."""
        return _only(self._half_hour.currencies[0])

    @property
    def time_zone(self) -> str:
        return str(self.home.zone)

    @property
    def locale(self) -> str:
        return self.home.locale

    @property
    def unread_alerts(self) -> int:
        return self.home.unread_alerts

    @property
    def withheld(self) -> tuple[WithheldMeter, ...]:
        return self.home.withheld_meters

    @property
    def carbon(self) -> DisplayCarbon | None:
        carbon = self.home.carbon
        return carbon if carbon and self.at < carbon.valid_until else None

    @property
    def tariff(self) -> DisplayTariff | None:
        return self._half_hour.tariff

    @property
    def utc_offset_minutes(self) -> int:
        return self._half_hour.utc_offset_minutes

    @property
    def cheapest(self) -> DisplaySlot | None:
        return self._half_hour.cheapest

    @cached_property
    def today(self) -> DisplayPeriod:
        return self._build_period(0)

    @cached_property
    def month(self) -> DisplayPeriod:
        return self._build_period(1)

    @cached_property
    def ambient(self) -> DisplayAmbient | None:
        return _build_ambient(self._half_hour.reference, self.power, self._half_hour.tariff)

    def _build_period(self, index: int) -> DisplayPeriod:
        """Return the day (0) or the month (1)."""
        span = self._half_hour.periods[index]
        meters = [
            _CountedMeter(meter, meter.count_for(span).add_estimate(estimate))
            for meter, estimate in zip(self.home.meters, self._estimates, strict=True)
        ]
        half_hour = self._half_hour
        standing_charge, currencies = half_hour.standing_charges[index], half_hour.currencies[index]
        return _build_period(meters, span, standing_charge, currencies, self.at_ms)

    @cached_property
    def _estimates(self) -> tuple[EnergyEstimate | None, ...]:
        return self.home.estimates_at(self.at_ms)

    @cached_property
    def _half_hour(self) -> HalfHourContent:
        return self.home.half_hour(self.at_ms)


def render_frame(home: Home, at: datetime) -> Display:
    """Return the frame of a home at an instant."""
    return Display(home, at)


def has_same_content(frame: Display, other: Display) -> bool:
    """Return whether two frames show the same, apart from their instant and the age of readings."""
    return _frame_content(frame) == _frame_content(other)


def next_change(frame: Display) -> int:
    """Return when (ms since 1970) time alone may change the frame: by freshness, tariff, level, day or consent."""
    home, now = frame.home, frame.at_ms
    half_hour, carbon = home.half_hour(now), frame.carbon
    instants = (
        half_hour.periods[0].end,
        half_hour.end,
        home.freshness_snapshot.next_change(now),
        home.consent_until,
        to_ms(carbon.valid_until) if carbon else None,
    )
    return min([instant for instant in instants if instant is not None])


def _frame_content(frame: Display) -> tuple[object, ...]:
    freshness = frame.freshness
    return (
        (freshness.state, freshness.as_of, freshness.cause),
        (frame.power, frame.ambient, frame.tariff, frame.unread_alerts, frame.name, frame.time_zone),
        (
            frame.today,
            frame.month,
            frame.withheld,
            frame.locale,
            frame.utc_offset_minutes,
            frame.cheapest,
            frame.carbon,
        ),
    )


class _CountedMeter(NamedTuple):
    """A meter, and what it has counted in a span."""

    meter: Meter
    counted: PeriodCount


def _build_period(
    meters: Sequence[_CountedMeter], span: TimeSpan, standing_charge: Decimal, currencies: Sequence[str], now: int
) -> DisplayPeriod:
    billed_meters = [item for item in meters if item.meter.kind is not MeterKind.EXPORTED]
    total = _sum_counts(billed_meters)
    return DisplayPeriod(
        span=span,
        electricity=_build_energy(meters, MeterKind.ELECTRICITY, now),
        exported=_build_energy(meters, MeterKind.EXPORTED, now),
        gas=_build_energy(meters, MeterKind.GAS, now),
        cost=_build_cost(billed_meters, total, standing_charge, _only(currencies)),
        no_cost_reason=_no_cost_reason(billed_meters, total, span, currencies),
        complete_to_ms=min([item.counted.complete_to for item in meters], default=None),
    )


def _build_energy(meters: Sequence[_CountedMeter], kind: MeterKind, now: int) -> DisplayEnergy | None:
    """Return the energy of the meters of one kind. Meters in another unit than the first are left out."""
    meters_of_kind = [item for item in meters if item.meter.kind is kind]
    if not meters_of_kind:
        return None
    first = meters_of_kind[0].meter
    same_unit = [item for item in meters_of_kind if item.meter.unit == first.unit]
    total = _sum_counts(same_unit)
    value = total.value
    energy = None if value is None else Energy(value, first.energy_unit)
    shares = [item.counted.unknown_share(now) for item in same_unit]
    known_shares = [share for share in shares if share is not None]
    unknown_share = round(max(known_shares), SHARE_DECIMALS) if len(known_shares) == len(shares) else None
    complete_to = min([item.counted.complete_to for item in same_unit])
    return DisplayEnergy(energy, total.estimated, complete_to, unknown_share)


def _only(currencies: Sequence[str]) -> str | None:
    """Return the only currency; None if there is none, or more than one."""
    return currencies[0] if len(currencies) == 1 else None


def _build_cost(
    meters: Sequence[_CountedMeter], total: EnergyTotal, standing_charge: Decimal, currency: str | None
) -> DisplayCost | None:
    """Return the cost of used energy, with the standing charge of each day that has begun.

    Exported energy is not deducted. Without a tariff in force, or with several currencies, there is no cost.
    """
    if currency is None:
        return None
    standing = int(standing_charge.scaleb(VAT_DECIMALS))
    cost = add_standing_charge(total.amount if total.has_price else None, standing)
    return DisplayCost(
        total=None if cost is None else to_money(cost, currency),
        standing_charges_with_vat=to_money(standing, currency),
        unpriced=_sum_unpriced(meters),
        estimated=total.estimated,
    )


def _sum_unpriced(meters: Sequence[_CountedMeter]) -> tuple[Energy, ...]:
    """Return the energy without a price in each unit in which there is some."""
    by_unit: dict[str, list[_CountedMeter]] = {}
    for item in meters:
        if item.counted.total.unpriced:
            by_unit.setdefault(item.meter.unit.lower(), []).append(item)
    return tuple(
        Energy(_sum_counts(same_unit).unpriced_energy, same_unit[0].meter.energy_unit) for same_unit in by_unit.values()
    )


def _no_cost_reason(
    meters: Sequence[_CountedMeter], total: EnergyTotal, span: TimeSpan, currencies: Sequence[str]
) -> NoValueReason | None:
    """Return why the energy of these meters in a span has no cost; None if it has one."""
    if len(currencies) > 1:
        return NoValueReason.SEVERAL_CURRENCIES
    if total.has_price:
        return None
    if not meters:
        return NoValueReason.NO_READINGS
    tariffs = next((item.meter.rates.tariffs for item in meters if item.meter.rates), ())
    basis = CostBasis.from_tariffs(tariffs)
    return basis.no_value_reason(span.start, span.end, has_readings=total.has_energy)


def _sum_counts(meters: Sequence[_CountedMeter]) -> EnergyTotal:
    if not meters:
        return EnergyTotal()
    total = meters[0].counted.total
    for item in meters[1:]:
        total += item.counted.total
    return total


@lru_cache
def _period_bound(at: int) -> datetime:
    """Return the start or end of a day or month. All homes have the same ones."""
    return from_ms(at)


def _build_ambient(
    reference: AmbientReference | None, power: DisplayPower | None, tariff: DisplayTariff | None
) -> DisplayAmbient | None:
    if reference is None:
        return None
    if reference.basis is AmbientBasis.PRICE:
        rate = None if tariff is None else tariff.rate_with_vat
        return None if rate is None else reference.compare(float(rate.amount))
    return None if power is None else reference.compare(power.imported.value)
