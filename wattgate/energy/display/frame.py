"""Frames of a display: everything that a display shows of a home at an instant. No I/O."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from functools import cached_property, lru_cache

import msgspec

from wattgate.clock import from_ms, to_ms
from wattgate.energy.cost_basis import CostBasis
from wattgate.energy.currency import CURRENCY
from wattgate.energy.display.ambient import AmbientReference, DisplayAmbient
from wattgate.energy.display.carbon import DisplayCarbon
from wattgate.energy.display.energy_total import EnergyTotal
from wattgate.energy.display.half_hour import HalfHourContent
from wattgate.energy.display.home import Home, WithheldMeter
from wattgate.energy.display.live_power import DisplayPower
from wattgate.energy.display.meter import Meter, MeterKind, PeriodCount, TimeSpan
from wattgate.energy.display.rate_schedule import DisplaySlot, DisplayTariff
from wattgate.energy.freshness import Freshness
from wattgate.energy.pricing import round_half_up
from wattgate.enums import AmbientBasis, FreshnessState, NoValueReason

FRAME_VERSION = 1
"""The version of frames. It changes if a screen that knows only the old frames would show something wrong.

Further fields do not change it. A screen ignores the fields that it does not know.
"""

LINK_TIMEOUT_SECONDS = 35
"""How long a screen waits for anything from the gateway before it blanks live values (docs/reference/realtime.md)."""

STATES_WITHOUT_POWER = (FreshnessState.STALE, FreshnessState.OFFLINE)
"""States in which a frame has no power, because the number would be old."""

MONEY_DECIMALS = 2
"""Decimal places of amounts in pounds."""

_BILLED_KINDS = (MeterKind.ELECTRICITY, MeterKind.GAS)


class DisplayEnergy(msgspec.Struct, frozen=True, gc=False):
    """Energy of one kind in a span; `value` is None if nothing is known yet."""

    value: Decimal | None
    unit: str
    estimated: bool
    complete_to: datetime


class DisplayCost(msgspec.Struct, frozen=True, gc=False):
    """The cost of a span so far, in pounds with VAT; `total` is None if none of its energy has a price."""

    total: Decimal | None
    standing_charge: Decimal
    unpriced: Decimal
    estimated: bool
    currency: str = CURRENCY
    includes_standing_charge: bool = True
    includes_vat: bool = True


class DisplayPeriod(msgspec.Struct, frozen=True, gc=False):
    """A day or a month so far. Energy that the home does not measure is None; so is the cost without a tariff.

    `no_cost_reason` says why the cost, or its total, is None.
    """

    start: datetime
    end: datetime
    electricity: DisplayEnergy | None
    exported: DisplayEnergy | None
    gas: DisplayEnergy | None
    cost: DisplayCost | None
    no_cost_reason: NoValueReason | None
    complete_to: datetime | None


class Display:
    """A frame. `home` is the data that it is built from, and from which the next frame is built.

    A part is computed when it is first read, so that a frame costs what its readers select. Power and freshness are
    computed at once, because later readings change the snapshot that they come from.
    """

    currency = CURRENCY
    frame_version = FRAME_VERSION
    link_timeout_seconds = LINK_TIMEOUT_SECONDS

    def __init__(self, home: Home, at: datetime) -> None:
        self.home, self.at = home, at
        self._now = now = to_ms(at)
        self.freshness: Freshness = home.freshness(now)
        self.power: DisplayPower | None = None if self.freshness.state in STATES_WITHOUT_POWER else home.power(now)

    @property
    def ve_id(self) -> str:
        return self.home.ve_id

    @property
    def name(self) -> str:
        return self.home.name

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
        return _build_period(self.home, self._meters, 0, self._now)

    @cached_property
    def month(self) -> DisplayPeriod:
        return _build_period(self.home, self._meters, 1, self._now)

    @cached_property
    def ambient(self) -> DisplayAmbient | None:
        return _build_ambient(self._half_hour.reference, self.power, self._half_hour.tariff)

    @cached_property
    def _meters(self) -> tuple[Meter, ...]:
        return self.home.meters_at(self._now)

    @cached_property
    def _half_hour(self) -> HalfHourContent:
        return self.home.half_hour(self._now)


def render_frame(home: Home, at: datetime) -> Display:
    """Return the frame of a home at an instant."""
    return Display(home, at)


def has_same_content(frame: Display, other: Display) -> bool:
    """Return whether two frames show the same, apart from their instant and the age of readings."""
    return _frame_content(frame) == _frame_content(other)


def next_change(frame: Display) -> datetime:
    """Return when time alone may change the frame: by freshness, tariff, level, day or consent."""
    home, now = frame.home, to_ms(frame.at)
    instants = (
        home.calendar.periods_at(now)[0].end,
        home.half_hour(now).end,
        home.freshness_snapshot.next_change(now),
        home.consent_until,
        to_ms(frame.carbon.valid_until) if frame.carbon else None,
    )
    return from_ms(min(instant for instant in instants if instant is not None))


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


def _build_period(home: Home, meters: Sequence[Meter], period_index: int, now: int) -> DisplayPeriod:
    span = home.calendar.periods_at(now)[period_index]
    complete = [meter.counts[period_index].complete_to for meter in meters]
    billed_meters = [meter for meter in meters if meter.kind in _BILLED_KINDS]
    total = _sum_counts(meter.counts[period_index] for meter in billed_meters)
    return DisplayPeriod(
        start=_period_bound(span.start),
        end=_period_bound(span.end),
        electricity=_build_energy(meters, MeterKind.ELECTRICITY, period_index),
        exported=_build_energy(meters, MeterKind.EXPORTED, period_index),
        gas=_build_energy(meters, MeterKind.GAS, period_index),
        cost=_build_cost(home, billed_meters, total, span, now),
        no_cost_reason=None if total.has_price else _no_cost_reason(billed_meters, total, span),
        complete_to=from_ms(min(complete)) if complete else None,
    )


def _build_energy(meters: Iterable[Meter], kind: MeterKind, period_index: int) -> DisplayEnergy | None:
    meters_of_kind = [meter for meter in meters if meter.kind is kind]
    if not meters_of_kind:
        return None
    counts = [meter.counts[period_index] for meter in meters_of_kind if meter.unit == meters_of_kind[0].unit]
    total = _sum_counts(counts)
    return DisplayEnergy(
        total.value, meters_of_kind[0].unit, total.estimated, from_ms(min(count.complete_to for count in counts))
    )


def _build_cost(
    home: Home, meters: Sequence[Meter], total: EnergyTotal, span: TimeSpan, now: int
) -> DisplayCost | None:
    """Return the cost of used energy, with the standing charge of each day that has begun.

    Exported energy is not deducted.
    """
    if not any(meter.rates for meter in meters):
        return None
    standing = sum(
        (charge for at, charge in home.standing_charges if span.start <= at < span.end and at <= now), Decimal(0)
    )
    return DisplayCost(
        total=_to_pounds(total.pence + standing) if total.has_price else None,
        standing_charge=_to_pounds(standing),
        unpriced=total.unpriced_energy,
        estimated=total.estimated,
    )


def _no_cost_reason(meters: Sequence[Meter], total: EnergyTotal, span: TimeSpan) -> NoValueReason:
    """Return why the energy of these meters in a span has no cost."""
    if not meters:
        return NoValueReason.NO_READINGS
    tariffs = next((meter.rates.tariffs for meter in meters if meter.rates), ())
    basis = CostBasis.from_tariffs(tariffs)
    return basis.no_value_reason(span.start, span.end, has_readings=total.has_energy)


def _sum_counts(counts: Iterable[PeriodCount]) -> EnergyTotal:
    first, *others = [count.total for count in counts] or [EnergyTotal()]
    return sum(others, first)


@lru_cache
def _period_bound(at: int) -> datetime:
    """Return the start or end of a day or month. All homes have the same ones."""
    return from_ms(at)


def _to_pounds(pence: Decimal) -> Decimal:
    return round_half_up(pence / 100, MONEY_DECIMALS)


def _build_ambient(
    reference: AmbientReference | None, power: DisplayPower | None, tariff: DisplayTariff | None
) -> DisplayAmbient | None:
    if reference is None:
        return None
    if reference.basis is AmbientBasis.PRICE:
        return None if tariff is None or tariff.rate is None else reference.compare(float(tariff.rate))
    return None if power is None else reference.compare(power.imported)
