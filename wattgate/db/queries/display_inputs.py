"""Pure functions that build a home's meters from stored data: totals, rates and usual power. Instants are ms (UTC)."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from wattgate.clock import from_ms, to_ms
from wattgate.db.models import Resource, Tariff, User
from wattgate.db.queries.templates import application_culture
from wattgate.db.readings.aggregates import Aggregates
from wattgate.db.readings.reading_store import StoredReading as Reading
from wattgate.db.readings.series_keys import series_key
from wattgate.db.rows.rows import Rows
from wattgate.energy import buckets
from wattgate.energy.buckets import DAY_MS, HALF_HOUR_MS, MINUTE_MS, BucketGrid
from wattgate.energy.costs import timeline
from wattgate.energy.costs.pricing import EnergySample, PricedPart, day_hundredths, price_samples
from wattgate.energy.display.ambient import DAY_SLOTS, LEARNING_DAYS, LearnedPower, learn_power
from wattgate.energy.display.carbon import CARBON_CLASSIFIER, CARBON_UNIT, DisplayCarbon
from wattgate.energy.display.energy_total import EnergyTotal
from wattgate.energy.display.home import DisplayPreferences, HomeCalendar
from wattgate.energy.display.live_power import PowerIntegral, PowerSource, can_estimate_energy, to_watts
from wattgate.energy.display.meter import Meter, MeterKind, PeriodCount, TimeSpan
from wattgate.energy.display.rate_schedule import RateSchedule
from wattgate.energy.ownership import ALWAYS, Ownership
from wattgate.energy.quantities import energy_unit, to_hundredths
from wattgate.energy.storage_fields import MAX_AHEAD_MS, ReadingField, parse_fields
from wattgate.enums import AmbientBasis, Period, TariffKind
from wattgate.values.decimals import InvalidDecimal, parse_decimal

QUARTER_HOUR_MS = 15 * MINUTE_MS
"""Half hours begin at multiples of this in every time zone."""

RATES_AHEAD_MS = 8 * DAY_MS
"""How far ahead the rates of a weekly pattern are computed. Half-hourly prices are known until the end of tomorrow."""

PREFERENCES_ATTRIBUTE = "display"
"""The attribute of a virtual entity with its owner's preferences: {"dailyBudget": amount, "ambientBasis": basis}."""

LivePower = tuple[PowerSource, list[PowerIntegral]]
"""A source of power, and its integrals for the half hours before the one of its newest reading."""

_WATTS_PER_HALF_HOUR_KWH = 2000.0
"""The power in W that produces one kWh in half an hour."""


@dataclass(frozen=True, slots=True)
class StoredEnergy:
    """The energy of a field in the buckets of a grid, and its energy between `counted_since` and the grid.

    The buckets are the half hours of the home, divided where the rate changes inside them (`divide_by_rate`). So one
    rate applies to all energy of a bucket.

    `gaps` are the times of the grid without the consent of the household. The usual power is not learned from them.
    `ownership` is when the household has the meter. No sample of another time is expected.
    """

    resource_id: str
    kind: MeterKind
    field: ReadingField
    grid: BucketGrid
    aggregates: Aggregates
    counted_since: int
    energy_before_grid: int
    gaps: tuple[tuple[int, int], ...] = ()
    ownership: Ownership = ALWAYS

    def samples(self) -> list[EnergySample]:
        """Return the energy of each bucket in order. The first sample is the energy before the grid."""
        scale = 10 ** (timeline.ENERGY_DECIMALS - self.field.decimals)
        samples = (
            [EnergySample(self.counted_since, self.energy_before_grid * scale, False)]
            if self.energy_before_grid
            else []
        )
        columns = zip(
            self.grid.edges, self.aggregates.count, self.aggregates.sum, self.aggregates.estimated, strict=False
        )
        return samples + [
            EnergySample(at, total * scale, estimated > 0) for at, count, total, estimated in columns if count
        ]

    @property
    def stored_to(self) -> int:
        """The end of the newest sample, or the start of the grid if it has no sample."""
        ends = [at for at, count in zip(self.aggregates.last_at, self.aggregates.count, strict=True) if count]
        return max(ends) + (self.field.interval_ms or 0) if ends else self.grid.start

    @property
    def can_be_estimated(self) -> bool:
        """Whether missing energy can be estimated from power: the field has clock half hours in kWh."""
        field = self.field
        return field.unit == "kWh" and field.interval_ms == HALF_HOUR_MS and not field.start_ms % HALF_HOUR_MS

    def known_ms(self, start: int, now: int) -> int | None:
        """Return the time since `start` that stored samples cover, or in which the household expects none.

        It is None if sampling is irregular.
        """
        if self.field.interval_ms is None:
            return None
        since = min(max(start, self.field.start_ms), max(start, now))
        other = max(0, now - start) - sum(end - begin for begin, end in self.ownership.within(since, now))
        first, last = bisect_left(self.grid.edges, start), bisect_left(self.grid.edges, now)
        return other + sum(self.aggregates.count[first:last]) * self.field.interval_ms

    def complete_to(self, start: int, now: int) -> int:
        """Return the instant up to which no finished sample after `start` is missing."""
        if self.field.interval_ms is None:
            return max(start, min(self.stored_to, now))
        edges = self.grid.edges
        for position in range(bisect_left(edges, start), self.grid.count):
            expected = self.ownership.expected_samples(self.field, edges[position], edges[position + 1]) or 0
            if edges[position + 1] > now or self.aggregates.count[position] < expected:
                return edges[position]
        return now


def build_calendar(now: datetime, zone: ZoneInfo) -> HomeCalendar:
    """Return the day and the month of an instant in a zone, and the next day and month."""
    day, tomorrow = _current_and_next_period(now, Period.P1D, zone)
    month, next_month = _current_and_next_period(now, Period.P1M, zone)
    return HomeCalendar(day, tomorrow, month, next_month)


def build_half_hour_grid(now: datetime, home_calendar: HomeCalendar, zone: ZoneInfo) -> BucketGrid:
    """Return the half hours from which the totals of the day and the month and the usual power are computed.

    The grid is the same for a quarter hour, so that homes share the cached one. It contains the readings that are dated
    ahead, as each other sum of the day does.
    """
    start = min(home_calendar.month.start, _learning_start(home_calendar.day.start, zone))
    stop = -(-(to_ms(now) + MAX_AHEAD_MS) // QUARTER_HOUR_MS) * QUARTER_HOUR_MS
    return buckets.build_grid(from_ms(start), from_ms(stop), Period.PT30M, zone)


def divide_by_rate(
    grid: BucketGrid, tariffs: Sequence[Tariff], prices: timeline.PricesByTariff, field: ReadingField
) -> BucketGrid:
    """Return a grid in which each sample with a change of the rate inside has a bucket of its own.

    Rates change inside the half hours of a home where its zone, or that of the tariff, has a quarter hour, where a band
    or price begins at another minute, and at the start of a tariff. A sample that begins between two half hours has a
    bucket of its own also if the rate changes at an edge of the grid. Other homes keep the grid, which they share.
    """
    starts = {span.start for span in timeline.rate_spans(tariffs, prices, grid.start, grid.stop)} if tariffs else set()
    between_edges = starts.difference(grid.edges)
    interval = field.interval_ms
    if interval is None or field.is_learning:  # samples may begin at any minute
        samples = [(start, start) for start in between_edges]
    else:
        in_samples = {start for start in starts if (start - field.start_ms) % interval}
        first = [start - (start - field.start_ms) % interval for start in between_edges | in_samples]
        samples = [(at, at + interval) for at in first]
    return buckets.refine_grid(grid, samples) if samples else grid


def build_rate_schedule(
    tariffs: Sequence[Tariff],
    prices: timeline.PricesByTariff,
    peaks: timeline.Peaks,
    unit: str,
    start: int,
    home_calendar: HomeCalendar,
) -> RateSchedule | None:
    """Return the rates of energy from an instant on, as far ahead as they are known; None without a tariff."""
    if not tariffs:
        return None
    has_prices = any(tariff.kind is TariffKind.DYNAMIC for tariff in tariffs)
    stop = home_calendar.tomorrow.end if has_prices else home_calendar.day.start + RATES_AHEAD_MS
    spans = timeline.rate_spans(tariffs, prices, start, stop)
    next_start = next((to_ms(tariff.valid_from) for tariff in tariffs if to_ms(tariff.valid_from) >= stop), None)
    if next_start is not None:
        spans.append(timeline.rate_spans(tariffs, prices, next_start, next_start + 1)[-1])
    return RateSchedule(tuple(tariffs), tuple(_drop_empty_spans(spans)), unit, peaks)


def build_meter(stored: StoredEnergy, rate_schedule: RateSchedule | None, spans: HomeCalendar, now: int) -> Meter:
    """Build the meter from the stored energy."""
    samples = stored.samples()
    start = min(spans.day.start, spans.month.start)
    if rate_schedule is None:
        parts = [PricedPart(*sample, None, 0) for sample in samples if sample.at >= start]
    else:
        parts = list(price_samples(samples, rate_schedule.spans, start, stored.field.interval_ms or 0))
    period_counts = []
    for span in (spans.day, spans.month):
        first, last = (bisect_left(parts, bound, key=_sample_start) for bound in span)
        period_parts = parts[first:last]
        period_counts.append(
            PeriodCount(
                span,
                EnergyTotal().add_parts(period_parts),
                stored.complete_to(span.start, now),
                stored.known_ms(span.start, now),
            )
        )
    return Meter(
        kind=stored.kind,
        unit=stored.field.unit,
        energy_unit=energy_unit(stored.field.unit),
        rates=None
        if rate_schedule is None
        else _schedule_from(rate_schedule, min(spans.day.start, stored.stored_to) - DAY_MS),
        counts=tuple(period_counts),
        stored_to=stored.stored_to,
        block_usage=_block_usage(samples, None if rate_schedule is None else rate_schedule.rule_at(stored.stored_to)),
    )


def build_live_power(
    resource: Resource,
    field: ReadingField,
    kind: MeterKind,
    newest: Reading,
    integrals: Sequence[PowerIntegral],
    now: int,
    hold_ms: int,
) -> LivePower:
    """Build the source of power of a field, and its integrals for all half hours except the newest one.

    A reading counts for `hold_ms` at most.
    """
    watts_per_unit = to_watts(1, field.unit) / 10**field.decimals
    integral_by_slot = {
        integral.at: PowerIntegral(
            integral.at,
            round(integral.positive * watts_per_unit),
            round(integral.negative * watts_per_unit),
            integral.known_ms,
        )
        for integral in integrals
    }
    slot = newest.at - newest.at % HALF_HOUR_MS
    source = PowerSource(
        resource_id=resource.resource_id,
        field=field,
        exports=kind is MeterKind.EXPORTED,
        at=newest.at,
        watts=to_watts(field.from_stored(newest.value), field.unit),
        integral=integral_by_slot.pop(slot, PowerIntegral(slot, 0, 0, 0)),
        integrated_to=max(newest.at, min(now, newest.at + hold_ms)),
        hold_ms=hold_ms,
    )
    return source, list(integral_by_slot.values())


def add_estimates(meter: Meter, energy: StoredEnergy, sources: Mapping[str, LivePower], now: int) -> Meter:
    """Add the energy that live power gives for finished half hours that are not stored yet.

    A meter uses the power of its own resource. A meter of exported energy without such power uses the negative power
    of the import resource, if that is the only source.
    """
    import_positions = [position for position, (source, _) in enumerate(sources.values()) if not source.exports]
    if energy.resource_id in sources:
        position, counts_negative_power = list(sources).index(energy.resource_id), False
    elif meter.kind is MeterKind.EXPORTED and len(import_positions) == 1 and len(sources) == 1:
        position, counts_negative_power = import_positions[0], True
    else:
        return meter
    if not energy.can_be_estimated:
        return meter
    meter = replace(meter, source_index=position, counts_negative_power=counts_negative_power)
    _, past_integrals = list(sources.values())[position]
    for integral in past_integrals:
        if can_estimate_energy(integral, now):
            meter = meter.with_estimate(integral, integral.at + HALF_HOUR_MS)
    return meter


def standing_charges(
    rate_schedule: RateSchedule, days: HomeCalendar, ownership: Ownership
) -> list[tuple[int, Decimal]]:
    """Return, for each own day of a calendar up to tomorrow, its midnight and its charges beside energy with VAT."""
    charges = timeline.standing_charge_days(
        rate_schedule.tariffs, min(days.month.start, days.day.start), days.tomorrow.end, ownership
    )
    return [(at, day_hundredths(tariff, at, rate_schedule.peaks)) for at, tariff in charges]


def learn_levels(
    electricity: Sequence[StoredEnergy], half_hours: BucketGrid, today: int, zone: ZoneInfo
) -> LearnedPower:
    """Learn the levels of imported power at each half hour of the wall clock from the days before today."""
    days: dict[date, list[float | None]] = {}
    edges = half_hours.edges if electricity else [today]
    for position in range(bisect_left(edges, _learning_start(today, zone)), bisect_left(edges, today)):
        local = from_ms(edges[position]).astimezone(zone)
        watts = [_mean_watts(stored, edges[position], edges[position + 1]) for stored in electricity]
        watts_by_slot = days.setdefault(local.date(), [None] * DAY_SLOTS)
        watts_by_slot[local.hour * 2 + local.minute // 30] = None if None in watts else sum(filter(None, watts))
    return learn_power(list(days.values()))


def parse_preferences(attributes: Mapping[str, Any]) -> DisplayPreferences:
    """Parse the owner's preferences in a home's attributes. The budget is in the major unit of the currency.

    Invalid values are ignored.
    """
    preferences = attributes.get(PREFERENCES_ATTRIBUTE)
    if not isinstance(preferences, Mapping):
        return DisplayPreferences()
    basis = preferences.get("ambientBasis")
    ambient_basis = AmbientBasis(basis) if basis in [member.value for member in AmbientBasis] else None
    return DisplayPreferences(ambient_basis, _parse_budget(preferences.get("dailyBudget")))


def _learning_start(today: int, zone: ZoneInfo) -> int:
    """Return the midnight at which the learning days begin."""
    return buckets.day_start(from_ms(today).astimezone(zone).date() - timedelta(days=LEARNING_DAYS), zone)


def _parse_budget(amount_in_major_unit: Any) -> Decimal | None:
    try:
        amount = to_hundredths(parse_decimal(amount_in_major_unit))
    except InvalidDecimal:
        return None
    return amount if amount > 0 else None


def _mean_watts(stored: StoredEnergy, start: int, stop: int) -> float | None:
    """Return the mean power (W) of a half hour; None if it is not complete, or partly without consent."""
    field, edges = stored.field, stored.grid.edges
    if any(begin < stop and start < end for begin, end in stored.gaps):
        return None
    part = slice(bisect_left(edges, start), bisect_left(edges, stop))
    count, expected = sum(stored.aggregates.count[part]), field.expected_samples(start, stop)
    if not count or (expected and count < expected):
        return None
    return field.from_stored(sum(stored.aggregates.sum[part])) * _WATTS_PER_HALF_HOUR_KWH


def _current_and_next_period(now: datetime, period: Period, zone: ZoneInfo) -> tuple[TimeSpan, TimeSpan]:
    first, second = timeline.period_edges(to_ms(now), to_ms(now) + 1, period, zone)
    third = timeline.period_edges(second, second + 1, period, zone)[1]
    return TimeSpan(first, second), TimeSpan(second, third)


def _drop_empty_spans(spans: Sequence[timeline.RateSpan]) -> list[timeline.RateSpan]:
    """Return the spans; of several with the same start, only the last one."""
    return list({span.start: span for span in spans}.values())


def _schedule_from(rate_schedule: RateSchedule, start: int) -> RateSchedule:
    """Return the part of a schedule that applies from an instant on."""
    first_span = max(bisect_right(rate_schedule.spans, start, key=lambda span: span.start) - 1, 0)
    first_tariff = max(bisect_right(rate_schedule.tariffs, start, key=lambda tariff: to_ms(tariff.valid_from)) - 1, 0)
    tariffs, spans = rate_schedule.tariffs[first_tariff:], rate_schedule.spans[first_span:]
    return RateSchedule(tariffs, spans, rate_schedule.unit, rate_schedule.peaks)


def _block_usage(samples: Sequence[EnergySample], rule: timeline.Rate | timeline.BlockRates | None) -> tuple[int, int]:
    if not isinstance(rule, timeline.BlockRates):
        return 0, 0
    return rule.since, sum(sample.energy for sample in samples[bisect_left(samples, rule.since, key=_sample_start) :])


def _sample_start(sample: EnergySample | PricedPart) -> int:
    return sample.at


# Content of displays besides meters: the owner's language and region, and the carbon intensity. Loaded set-wise.


def carbon_resources(resources: Sequence[Resource]) -> list[Resource]:
    """Return the first resource of a home with carbon intensities, in a list, or an empty list."""
    return [resource for resource in resources if resource.classifier == CARBON_CLASSIFIER][:1]


def find_carbon_series(resources: Sequence[Resource]) -> tuple[Resource, ReadingField] | None:
    """Return the resource of a home with carbon intensities, and their field; None if there is none."""
    fields = [(resource, field) for resource in carbon_resources(resources) for field in parse_fields(resource.storage)]
    return next(((resource, field) for resource, field in fields if field.unit == CARBON_UNIT), None)


async def load_carbon(rows: Rows, series: Sequence[tuple[Resource, ReadingField]]) -> Mapping[str, DisplayCarbon]:
    """Return the newest carbon intensity of each resource that has one, by resource id."""
    if not series:
        return {}
    keys = [series_key(resource, field) for resource, field in series]
    latest = await rows.readings.latest(keys, until=to_ms(rows.now))
    return {
        resource.resource_id: DisplayCarbon.build(field, newest.at, field.from_stored(newest.value))
        for resource, field in series
        if (newest := latest.get(series_key(resource, field))) is not None
    }


async def load_locales(rows: Rows, user_ids: Collection[str]) -> Mapping[str, str]:
    """Return the language and region of each user, which messages have too: the user's, or the application's."""
    users = await rows.get_many(User, user_ids)
    cultures = {user_id: users[user_id].culture_code if user_id in users else None for user_id in user_ids}
    default = await application_culture(rows) if None in cultures.values() else ""
    return {user_id: culture or default for user_id, culture in cultures.items()}
