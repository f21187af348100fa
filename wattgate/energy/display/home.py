"""State of a home from which its display is rendered. No I/O. Instants are milliseconds since 1970 (UTC)."""

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import NamedTuple
from zoneinfo import ZoneInfo

import msgspec
from msgspec.structs import replace

from wattgate.clock import from_ms
from wattgate.energy.buckets import HALF_HOUR_MS
from wattgate.energy.costs.timeline import currencies_in_force
from wattgate.energy.display.ambient import (
    AmbientReference,
    LearnedPower,
    power_reference,
    power_within_budget,
    price_reference,
)
from wattgate.energy.display.carbon import DisplayCarbon
from wattgate.energy.display.live_power import DisplayPower, PowerSource, can_estimate_energy, total_power
from wattgate.energy.display.meter import EnergyEstimate, Meter, MeterKind, TimeSpan
from wattgate.energy.display.rate_schedule import DisplaySlot, DisplayTariff, RateSchedule
from wattgate.energy.freshness import (
    LIVE_INTERVAL_MS,
    SECOND_MS,
    Freshness,
    FreshnessSnapshot,
    Heartbeat,
    build_freshness,
)
from wattgate.energy.storage_fields import ReadingField
from wattgate.enums import AmbientBasis, FreshnessCause, WithheldReason

# The part of frames that stays the same for the length of a half hour, and is computed once for it. No I/O.


@dataclass(frozen=True, slots=True)
class HalfHourContent:
    """The content from `start` to `end` at most: until then, neither the rate nor the time of day changes.

    `utc_offset_minutes` is how far the home's clocks are ahead of UTC. `billed_meter` is the meter from which the
    content was computed. A block tariff's rate depends on the energy of the meter. `periods` are the day and the month,
    and `standing_charges` the charges (hundredths with VAT) of the days of each that have begun. `currencies` are those
    of the costs of each: none without a tariff, and more than one if the costs cannot be added.
    """

    start: int
    end: int
    utc_offset_minutes: int
    billed_meter: Meter | None
    tariff: DisplayTariff | None
    cheapest: DisplaySlot | None
    reference: AmbientReference | None
    periods: tuple[TimeSpan, TimeSpan]
    standing_charges: tuple[Decimal, Decimal]
    currencies: tuple[tuple[str, ...], tuple[str, ...]]

    def applies(self, now: int, billed_meter: Meter | None) -> bool:
        """Return whether the content is right at an instant for a meter."""
        return self.start <= now < self.end and billed_meter is self.billed_meter


@dataclass(slots=True)
class HalfHourCache:
    """The newest content. The states of a home that follow each other by readings share it."""

    content: HalfHourContent | None = None


# State of a home from which its display is rendered.


class WithheldMeter(NamedTuple):
    """A meter whose data must not be shown, with the reason and what to do about it."""

    resource_id: str
    name: str
    kind: MeterKind
    mpxn: str | None
    reason: WithheldReason
    message: str


class HomeCalendar(NamedTuple):
    """The day and month that a display shows, in the home's wall-clock time, and the next day and month."""

    day: TimeSpan
    tomorrow: TimeSpan
    month: TimeSpan
    next_month: TimeSpan

    def periods_at(self, now: int) -> tuple[TimeSpan, TimeSpan]:
        """Return the day and the month at an instant, which must be before the end of tomorrow."""
        day = self.day if now < self.day.end else self.tomorrow
        return day, self.month if day.start < self.month.end else self.next_month


@dataclass(frozen=True, slots=True)
class DisplayPreferences:
    """The owner's preferences for the ambient level: its basis, and the daily budget for electricity in hundredths."""

    basis: AmbientBasis | None = None
    daily_budget: Decimal | None = None


class Home(msgspec.Struct, frozen=True):
    """The data of a frame.

    - `locale`: the language and region of the owner, which format numbers and times
    - `carbon_series`: the resource and the field of the carbon intensity; None if the home has no series of it
    - `carbon`: the newest carbon intensity
    - `standing_charges`: the midnight of each day, and its charge in hundredths with VAT
    - `learned_power`: the levels of power that are usual in each half hour of the wall-clock day
    - `main_resource_id`: the resource whose freshness is shown if there is no live power
    - `input_fields`: the resources and fields whose readings the energy and the cost of a frame need
    - `freshness_snapshot`: readings update it in place, so each `Home` needs a snapshot of its own
    - `withheld_meters`: the meters of the home that are not among `meters`, for want of consent
    - `consent_until`: when the first consent to data in the frame expires; None if none of them can expire
    - `cache`: the content for the present half hour; states of the home that follow each other share it
    """

    ve_id: str
    name: str
    zone: ZoneInfo
    locale: str
    calendar: HomeCalendar
    meters: tuple[Meter, ...]
    sources: tuple[PowerSource, ...]
    standing_charges: tuple[tuple[int, Decimal], ...]
    learned_power: LearnedPower
    preferences: DisplayPreferences
    freshness_snapshot: FreshnessSnapshot
    main_resource_id: str | None
    input_fields: frozenset[tuple[str, str]]
    unread_alerts: int
    carbon_series: tuple[str, ReadingField] | None = None
    carbon: DisplayCarbon | None = None
    withheld_meters: tuple[WithheldMeter, ...] = ()
    consent_until: int | None = None
    cache: HalfHourCache = msgspec.field(default_factory=HalfHourCache)

    def freshness(self, now: int) -> Freshness:
        """Return the freshness of the power source that has been silent longest, or else of the main resource."""
        if (source := self._silent_source) is not None:
            return self.freshness_snapshot.resource_freshness(source.resource_id, source.field, now)
        if self.main_resource_id is not None:
            return self.freshness_snapshot.resource_freshness(self.main_resource_id, None, now)
        return build_freshness(Heartbeat(None, LIVE_INTERVAL_MS), now, FreshnessCause.UNKNOWN)

    def power(self, now: int) -> DisplayPower | None:
        """Return the live power, with the instant from which it is too old to be shown if nothing newer arrives."""
        source = self._silent_source
        if source is None:
            return None
        heartbeat = self.freshness_snapshot.resource_heartbeat(source.resource_id, source.field, now)
        return total_power(self.sources, heartbeat.current_until() or source.at)

    @property
    def _silent_source(self) -> PowerSource | None:
        """The power source that has been silent longest."""
        sources = self.sources
        return sources[0] if len(sources) == 1 else min(sources, key=lambda source: source.at, default=None)

    @property
    def billed_meter(self) -> Meter | None:
        """The meter whose tariff is shown: the first electricity meter that has one."""
        for meter in self.meters:
            if meter.kind is MeterKind.ELECTRICITY and meter.rates:
                return meter
        return None

    def estimates_at(self, now: int) -> tuple[EnergyEstimate | None, ...]:
        """Return, for each meter, the energy of live power since the last finished half hour; None if unknown."""
        return tuple([self._estimate(meter, now) for meter in self.meters])

    def _estimate(self, meter: Meter, now: int) -> EnergyEstimate | None:
        if meter.source_index is None:
            return None
        source = self.sources[meter.source_index]
        integral = source.integral_at(now)
        return meter.estimate(integral, source.at) if can_estimate_energy(integral, now) else None

    def with_reading(self, source_index: int, at: int, watts: float) -> "Home":
        """Return the home with a newer reading of one power source."""
        source, finished = self.sources[source_index].with_reading(at, watts)
        sources = (*self.sources[:source_index], source, *self.sources[source_index + 1 :])
        meters = self.meters
        if finished is not None and can_estimate_energy(finished, at):
            finished_end = finished.at + HALF_HOUR_MS
            meters = tuple(
                meter.with_estimate(finished, finished_end) if meter.source_index == source_index else meter
                for meter in meters
            )
        self.freshness_snapshot.record_reading(source.resource_id, source.field.name, at, at)
        return replace(self, sources=sources, meters=meters)

    def with_carbon(self, at: int, intensity: float) -> "Home":
        """Return the home with a reading of its carbon intensity, unless it has a newer one."""
        assert self.carbon_series is not None
        carbon = DisplayCarbon.build(self.carbon_series[1], at, intensity)
        return self if self.carbon is not None and carbon.at < self.carbon.at else replace(self, carbon=carbon)

    def is_carbon_field(self, resource_id: str, field_name: str) -> bool:
        """Return whether a field has the carbon intensity of the home."""
        series = self.carbon_series
        return series is not None and (series[0], series[1].name) == (resource_id, field_name)

    def find_source_index(self, resource_id: str, field_name: str) -> int | None:
        """Return the position of the power source with this field, or None."""
        for index, source in enumerate(self.sources):
            if source.resource_id == resource_id and source.field.name == field_name:
                return index
        return None

    def half_hour(self, now: int) -> HalfHourContent:
        """Return the content that stays the same for the rest of the half hour."""
        meter, content = self.billed_meter, self.cache.content
        if content is None or not content.applies(now, meter):
            content = self.cache.content = self._build_half_hour(now, meter)
        return content

    def _build_half_hour(self, now: int, meter: Meter | None) -> HalfHourContent:
        local = from_ms(now).astimezone(self.zone)
        offset = int((local.utcoffset() or timedelta()).total_seconds()) // 60
        into_half_hour = (local.minute % 30 * 60 + local.second) * SECOND_MS + now % SECOND_MS
        end = now - into_half_hour + HALF_HOUR_MS
        rates = meter.rates if meter else None
        day, month = periods = self.calendar.periods_at(now)
        return HalfHourContent(
            start=now,
            end=min(end, rates.next_start(now) or end) if rates else end,
            utc_offset_minutes=offset,
            billed_meter=meter,
            tariff=rates.render_tariff(now, meter.block_energy(now)) if meter and rates else None,
            cheapest=rates.cheapest_slot(now, self.calendar.tomorrow.end) if rates else None,
            reference=self._ambient_reference(now, meter, rates),
            periods=periods,
            standing_charges=(self._standing_charge(day, now), self._standing_charge(month, now)),
            currencies=(self._currencies(day, now), self._currencies(month, now)),
        )

    def _currencies(self, span: TimeSpan, now: int) -> tuple[str, ...]:
        """Return the currencies of the tariffs of billed energy that are in force in a span until now."""
        schedules = (meter.rates for meter in self.meters if meter.kind is not MeterKind.EXPORTED and meter.rates)
        found = (currencies_in_force(rates.tariffs, span.start, min(span.end, now + 1)) for rates in schedules)
        return tuple(dict.fromkeys(currency for each in found for currency in each))

    def _standing_charge(self, span: TimeSpan, now: int) -> Decimal:
        """Return the standing charges of the days in a span that have begun, in hundredths with VAT."""
        charges = (charge for at, charge in self.standing_charges if span.start <= at < span.end and at <= now)
        return sum(charges, Decimal(0))

    def _ambient_reference(self, now: int, meter: Meter | None, rates: RateSchedule | None) -> AmbientReference | None:
        """Return what the ambient level is compared with.

        The owner's preferred basis comes first. If it has no value, use the first of budget, learned power and price
        that has one.
        """
        local = from_ms(now).astimezone(self.zone)
        slot = local.hour * 2 + local.minute // 30
        learned = self.learned_power.levels[slot]
        budget = self._budget_power(now, meter, rates)
        mean_rate = rates.mean_rate(*self.calendar.periods_at(now)[0]) if rates else None
        references = {
            AmbientBasis.BUDGET: None
            if budget is None
            else power_reference(self.learned_power.within_budget(slot, budget), AmbientBasis.BUDGET),
            AmbientBasis.LEARNED: None if learned is None else power_reference(learned, AmbientBasis.LEARNED),
            AmbientBasis.PRICE: None
            if rates is None or mean_rate is None
            else price_reference(mean_rate, rates.per, rates.tariffs[-1].currency),
        }
        preferred = references.get(self.preferences.basis) if self.preferences.basis else None
        return preferred or next((reference for reference in references.values() if reference), None)

    def _budget_power(self, now: int, meter: Meter | None, rates: RateSchedule | None) -> float | None:
        """Return the mean power (W) of a day that spends the owner's budget; None without a budget or a rate."""
        if meter is None or rates is None or self.preferences.daily_budget is None:
            return None
        rate = rates.rate_at(now, meter.block_energy(now))
        return power_within_budget(self.preferences.daily_budget, rates.day_charge_at(now), rate)
