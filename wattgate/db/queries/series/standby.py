"""Standby power of resources, and what it costs in a year at the mean price of the same days."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

from wattgate.clock import TimeRange, from_ms, to_ms
from wattgate.db.models import Resource, Tariff
from wattgate.db.queries.series.costs import dynamic_tariff_ids
from wattgate.db.queries.series.readings import readings
from wattgate.db.queries.series.tariffs import charge_prices, load_timelines
from wattgate.db.readings.reading_series import ReadingSeries
from wattgate.db.rows.rows import Rows
from wattgate.energy.buckets import HOUR_MS, day_start
from wattgate.energy.costs import timeline
from wattgate.energy.costs.pricing import round_half_up
from wattgate.energy.costs.tariffs import MAX_PRICE_MS
from wattgate.energy.display.standby import DAYS, HourOfEnergy, StandbyPower, find_standby_power, mean_price
from wattgate.energy.quantities import Energy, Money, Power, decimals_of, energy_unit, to_major
from wattgate.energy.storage_fields import ReadingField, parse_fields
from wattgate.enums import EnergyUnit, Function, NoStandbyReason, Period, TariffKind
from wattgate.errors import GatewayError
from wattgate.values import terms

CONSUMPTION = "electricity.consumption"


class _MeanPrice(NamedTuple):
    """The mean price of a kWh with VAT, in hundredths of a currency."""

    hundredths: Decimal
    currency: str


@dataclass(frozen=True, slots=True)
class Standby:
    """The standby power of a resource between two instants. Values are None if they are unknown."""

    start: datetime
    end: datetime
    days: int
    power: Power | None
    no_power_reason: NoStandbyReason | None
    yearly_energy: Energy | None
    yearly_cost_with_vat: Money | None
    no_cost_reason: NoStandbyReason | None


async def standby(
    rows: Rows, resources: Sequence[Resource], *, time_zone: terms.BucketTimeZone = UTC
) -> list[Standby | GatewayError | None]:
    """Return the standby power of each resource in the last 28 complete days; None if it measures something else."""
    start, end = _whole_days(rows.now, time_zone)
    fields = {one.resource_id: field for one in resources if (field := _energy_field(one)) is not None}
    read = [one for one in resources if one.resource_id in fields and not _is_coarse(fields[one.resource_id])]
    series = await readings(
        rows,
        read,
        consented_only=True,
        range=TimeRange(start, end),
        period=Period.PT1H,
        function=Function.SUM,
        time_zone=time_zone,
    )
    found = dict(zip((one.resource_id for one in read), series, strict=True))
    timelines = await load_timelines(rows, fields, start, end)
    charge_prices(rows, timelines.values(), to_ms(start), to_ms(end))
    prices = await rows.prices.list_between(
        dynamic_tariff_ids(tariff for tariffs in timelines.values() for tariff in tariffs),
        to_ms(start) - MAX_PRICE_MS + 1,
        to_ms(end),
    )
    results: list[Standby | GatewayError | None] = []
    for one in resources:
        of_resource = found.get(one.resource_id)
        if one.resource_id not in fields or isinstance(of_resource, GatewayError):
            results.append(of_resource if isinstance(of_resource, GatewayError) else None)
            continue
        power = StandbyPower(None, 0, NoStandbyReason.TOO_COARSE)
        if of_resource is not None:
            power = find_standby_power(_hours(of_resource), time_zone)
        results.append(_build(power, _price(timelines[one.resource_id], prices, start, end), start, end))
    return results


def _whole_days(now: datetime, zone: tzinfo) -> tuple[datetime, datetime]:
    """Return the start and the end of the days before today."""
    today = now.astimezone(zone).date()
    return from_ms(day_start(today - timedelta(days=DAYS), zone)), from_ms(day_start(today, zone))


def _energy_field(resource: Resource) -> ReadingField | None:
    """Return the field of the energy, if a resource measures consumption of electricity in kWh."""
    field = parse_fields(resource.storage)[0]
    is_energy = resource.classifier == CONSUMPTION and energy_unit(field.unit) is EnergyUnit.KILOWATT_HOUR
    return field if is_energy and not resource.cost_of else None


def _is_coarse(field: ReadingField) -> bool:
    """Return whether an hour may have no sample of its own."""
    return field.interval_ms is None or HOUR_MS % field.interval_ms != 0


def _hours(series: ReadingSeries) -> list[HourOfEnergy]:
    counts, expected = series.aggregates.count, series.bucket_expected or []
    return [
        HourOfEnergy(start, stop, value, count == wanted)
        for (start, stop), value, count, wanted in zip(
            pairwise(series.grid.edges), series.values, counts, expected, strict=True
        )
    ]


def _price(
    tariffs: Sequence[Tariff], prices: timeline.PricesByTariff, start: datetime, end: datetime
) -> _MeanPrice | NoStandbyReason:
    """Return the mean price in hundredths with VAT of the days that have a tariff, or why it is unknown."""
    known = [tariff for tariff in tariffs if tariff.valid_from < end]
    if not known:
        return NoStandbyReason.NO_TARIFF
    begin, stop = max(to_ms(start), to_ms(known[0].valid_from)), to_ms(end)
    in_force = [tariff for tariff, _, _ in timeline.tariffs_in_force(known, begin, stop)]
    if any(tariff.kind is TariffKind.BLOCK for tariff in in_force):
        return NoStandbyReason.BLOCK_TARIFF
    if len({tariff.currency for tariff in in_force}) > 1:
        return NoStandbyReason.SEVERAL_CURRENCIES
    spans = timeline.rate_spans(known, prices, begin, stop)
    rates = [
        (span.start, span.rule.hundredths_with_vat if isinstance(span.rule, timeline.Rate) else None) for span in spans
    ]
    price = mean_price(rates, stop)
    return NoStandbyReason.NO_PRICE if price is None else _MeanPrice(price, in_force[-1].currency)


def _build(power: StandbyPower, price: _MeanPrice | NoStandbyReason, start: datetime, end: datetime) -> Standby:
    energy, cost, reason = power.yearly_energy, None, power.reason
    if isinstance(price, NoStandbyReason):
        reason = reason or price
    elif energy is not None:
        amount = round_half_up(to_major(energy * price.hundredths), decimals_of(price.currency))
        cost = Money(amount, price.currency)
    return Standby(
        start=start,
        end=end,
        days=power.days,
        power=None if power.watts is None else Power(power.watts),
        no_power_reason=power.reason,
        yearly_energy=None if energy is None else Energy(energy, EnergyUnit.KILOWATT_HOUR),
        yearly_cost_with_vat=cost,
        no_cost_reason=reason,
    )
