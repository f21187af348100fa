"""Batch loaders of the prices of a resource's energy over time, and of the cheapest time for a task."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Annotated

import msgspec

from wattgate.clock import TimeRange, from_ms, to_ms
from wattgate.db.models import Resource
from wattgate.db.queries.ownership import load_with_sources
from wattgate.db.queries.series.costs import dynamic_tariff_ids, several_currencies
from wattgate.db.queries.series.tariffs import charge_prices, load_timelines, priced_resource_id
from wattgate.db.rows.rows import Rows
from wattgate.energy.buckets import MINUTE_MS, resolve_range
from wattgate.energy.costs.price_windows import (
    PricedSpan,
    cheapest_parts,
    cheapest_window,
    known_prices,
    mean_rate_with_vat,
)
from wattgate.energy.costs.tariffs import MAX_PRICE_MS
from wattgate.energy.costs.timeline import rate_spans
from wattgate.energy.quantities import Rate, rate_of_hundredths, rate_unit
from wattgate.energy.storage_fields import parse_fields
from wattgate.enums import RateUnit
from wattgate.errors import BadInput, GatewayError, Problem
from wattgate.pauses import convert_all
from wattgate.values.annotations import Described

MAX_RANGE = timedelta(days=31)
"""The longest range of prices."""

MAX_SEARCH = timedelta(days=7)
"""The longest time in which a cheap time is looked for."""

MINUTE = timedelta(minutes=1)
MAX_TASK_MINUTES = MAX_SEARCH // MINUTE
DEFAULT_AHEAD = timedelta(days=2)
"""How far ahead a cheap time is looked for by default. Day-ahead prices reach to the end of tomorrow."""


TaskMinutes = Annotated[int, Described("Duration of the task in minutes, of at most 7 days.")]
EarliestStart = Annotated[datetime, Described("Earliest start of the task. Default: now.")]
LatestEnd = Annotated[
    datetime,
    Described("Latest end of the task, at most 7 days after the earliest start. Default: two days after it."),
]
Contiguous = Annotated[
    bool, Described("Whether the task runs without a pause. Otherwise, it may run in several parts.")
]


class PriceSpan(msgspec.Struct, gc=False):
    """The time [start, end) with one rate, and the band of it if the tariff has bands."""

    start: datetime
    end: datetime
    rate: Rate
    rate_with_vat: Rate
    band: str | None


class CheapestWindow(msgspec.Struct, gc=False):
    """The cheapest time for a task: its parts, and their mean rate. Prices are known until `known_to`."""

    start: datetime
    end: datetime
    mean_rate_with_vat: Rate
    spans: list[PriceSpan]
    known_to: datetime


async def price_curves(
    rows: Rows,
    resources: Sequence[Resource],
    *,
    range: Annotated[TimeRange, Described("Time range of the prices, of at most 31 days. It may be in the future.")],
) -> list[list[PriceSpan] | GatewayError]:
    """Return the known prices of each resource's energy in a range, in order."""
    start, end = resolve_range(range, rows.now)
    _check_length(start, end, MAX_RANGE, ("range",))
    loaded = await _load_prices(rows, resources, start, end)
    return [
        prices if isinstance(prices, GatewayError) else await convert_all(prices, partial(_show, per=per))
        for prices, per in loaded
    ]


async def cheapest_windows(
    rows: Rows,
    resources: Sequence[Resource],
    *,
    minutes: TaskMinutes,
    not_before: EarliestStart | None = None,
    before: LatestEnd | None = None,
    contiguous: Contiguous = True,
) -> list[CheapestWindow | GatewayError | None]:
    """Return the cheapest time for a task that draws a constant power; None if the known prices are too short."""
    if not 1 <= minutes <= MAX_TASK_MINUTES:
        problem = Problem(("minutes",), f"is not between 1 and {MAX_TASK_MINUTES:,}")
        raise BadInput("The duration of the task is invalid.", problems=[problem])
    start = not_before or rows.now
    end = before or start + DEFAULT_AHEAD
    if end <= start:
        problem = Problem(("before",), "is not after the earliest start")
        raise BadInput("The latest end is not after the earliest start. Use a later one.", problems=[problem])
    _check_length(start, end, MAX_SEARCH, ("before",))
    find = cheapest_window if contiguous else cheapest_parts
    results: list[CheapestWindow | GatewayError | None] = []
    for prices, per in await _load_prices(rows, resources, start, end):
        if isinstance(prices, GatewayError):
            results.append(prices)
            continue
        parts = find(prices, minutes * MINUTE_MS)
        results.append(_build_window(parts, per, prices[-1].end) if parts else None)
    return results


def _check_length(start: datetime, end: datetime, longest: timedelta, path: tuple[str, ...]) -> None:
    if end - start > longest:
        problem = Problem(path, f"is more than {longest.days} days after the start")
        raise BadInput(f"Ask for prices of at most {longest.days} days.", problems=[problem])


async def _load_prices(
    rows: Rows, resources: Sequence[Resource], start: datetime, end: datetime
) -> list[tuple[list[PricedSpan] | GatewayError, RateUnit]]:
    """Return the known prices of each resource, and the unit of the energy that they are for."""
    begin, stop = to_ms(start), to_ms(end)
    sources = await load_with_sources(rows, resources)
    timelines = await load_timelines(rows, map(priced_resource_id, resources), start, from_ms(stop - 1))
    charge_prices(rows, timelines.values(), begin, stop)
    prices = await rows.prices.list_between(
        dynamic_tariff_ids(tariff for tariffs in timelines.values() for tariff in tariffs),
        begin - MAX_PRICE_MS + 1,
        stop,
    )
    results: list[tuple[list[PricedSpan] | GatewayError, RateUnit]] = []
    for resource in resources:
        key = priced_resource_id(resource)
        known = known_prices(rate_spans(timelines[key], prices, begin, stop), begin, stop)
        currencies = dict.fromkeys(span.tariff.currency for span in known)
        per = rate_unit(parse_fields(sources.get(key, resource).storage)[0].unit)
        results.append((several_currencies(currencies) if len(currencies) > 1 else known, per))
    return results


def _show(span: PricedSpan, per: RateUnit) -> PriceSpan:
    currency = span.tariff.currency
    return PriceSpan(
        start=from_ms(span.start),
        end=from_ms(span.end),
        rate=rate_of_hundredths(span.rate.hundredths, per, currency),
        rate_with_vat=rate_of_hundredths(span.rate_with_vat, per, currency),
        band=span.rate.charge.band,
    )


def _build_window(parts: Sequence[PricedSpan], per: RateUnit, known_to: int) -> CheapestWindow:
    mean: Decimal = mean_rate_with_vat(parts)
    return CheapestWindow(
        start=from_ms(parts[0].start),
        end=from_ms(parts[-1].end),
        mean_rate_with_vat=rate_of_hundredths(mean, per, parts[0].tariff.currency),
        spans=[_show(span, per) for span in parts],
        known_to=from_ms(known_to),
    )
