"""Set and withdraw tariffs, and store the prices of dynamic ones.

The price curve and the cheapest window are for REST. GraphQL has both on the resource.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated

from sqlalchemy import func
from sqlmodel import col

from wattgate.clock import TimeRange, format_iso, from_ms, to_ms
from wattgate.db import models
from wattgate.db.queries import virtual_entities
from wattgate.db.queries.series import price_windows as price_queries
from wattgate.db.queries.series.tariffs import TariffRates, priced_resource_id, show_tariff
from wattgate.energy.costs.tariffs import (
    MAX_COMPONENTS,
    MAX_PARTS,
    find_price_problem,
    find_problems,
    normalize_rates,
    price_length_ms,
)
from wattgate.energy.costs.timeline import Price, peak_components, to_scaled
from wattgate.energy.quantities import kwh_exponent, to_hundredths
from wattgate.energy.storage_fields import parse_fields
from wattgate.enums import Period, TariffKind
from wattgate.errors import BadInput, Conflict, GatewayError, NotFound, Problem
from wattgate.operations.core.input_limits import check_currency, to_column_values
from wattgate.operations.core.operation import Audit, Call, OperationKind, RestRoute, operation
from wattgate.operations.messages.webhook_events import enqueue_event
from wattgate.operations.types.homes import resources as resource_types
from wattgate.operations.types.meters import tariffs as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.cost_weights import (
    SERIES_ITEMS_PER_UNIT,
    SET_TARIFF_WEIGHT,
    STATEMENT_WEIGHT,
    ListSize,
    of_bounds,
    per_item,
)
from wattgate.operations.vocabulary.scalars import InputCurrency
from wattgate.operations.vocabulary.tags import Tag
from wattgate.pauses import with_pauses
from wattgate.principal import Permission
from wattgate.realtime import topics
from wattgate.realtime.events import Event, TariffChanged
from wattgate.values.annotations import Described, MaxItems

MAX_PRICES = 10_000
"""Maximum prices in a call."""

PRICES_ARRIVED = "tariff.prices.arrived"
"""The webhook event code of prices that begin later than all before."""


@dataclass(frozen=True, slots=True)
class TariffPricesSetResult:
    tariff: TariffRates
    recorded: int


@operation(
    OperationKind.MUTATION,
    returns=types.Tariff,
    needs=Permission.TARIFF_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    raises=(Conflict,),  # the data of its user is erased
    weight=SET_TARIFF_WEIGHT,
)
async def set_tariff(call: Call, *, input: types.NewTariff) -> TariffRates:
    """Set a tariff of a resource from an instant on.

    It replaces a tariff with the same `validFrom`; past energy is then priced again. For a cost resource, the tariff
    belongs to the resource whose cost it has.
    """
    resource = await call.rows.get(models.Resource, input.resource_id)
    await call.rows.require_present(resource.owner_id)
    zone = input.time_zone or await _zone_of_home(call, priced_resource_id(resource))
    tariff = build_tariff(replace(input, time_zone=zone), priced_resource_id(resource), call.rows.now)
    # lock, so that simultaneous calls get different versions
    priced = await call.rows.edit(models.Resource, tariff.resource_id)
    _check_peaks(tariff, priced)
    of_resource = col(models.Tariff.resource_id) == tariff.resource_id
    newest = func.max(col(models.Tariff.version))
    versions = await call.rows.aggregate_by(models.Tariff, "resource_id", newest, of_resource)
    tariff.version = versions.get(tariff.resource_id, 0) + 1
    await call.rows.update(
        models.Tariff,
        of_resource,
        col(models.Tariff.valid_from) == tariff.valid_from,
        col(models.Tariff.superseded_at).is_(None),
        superseded_at=call.rows.now,
    )
    added = await call.rows.add(tariff)
    call.emit(_changed_event(added))
    return show_tariff(added, priced)


def _check_peaks(tariff: models.Tariff, resource: models.Resource) -> None:
    """Raise BadInput if a tariff charges for the peak of a resource whose readings have no power, such as gas."""
    if peak_components(tariff) and kwh_exponent(unit := parse_fields(resource.storage)[0].unit) is None:
        problem = Problem(("input", "components"), f"charge for a peak, and the resource has readings in {unit}")
        raise BadInput("A peak needs readings in Wh, kWh or MWh. See `problems`.", problems=[problem])


async def _zone_of_home(call: Call, resource_id: str) -> str:
    """Return the time zone of the home with a resource. Raise BadInput if there is none, or if there are several."""
    zones = await virtual_entities.time_zones(call.rows, resource_id)
    if len(zones) == 1:
        return zones[0]
    found = "no home with the resource has one" if not zones else f"the homes with the resource have {', '.join(zones)}"
    problem = Problem(("input", "timeZone"), f"is missing, and {found}", is_missing=True)
    raise BadInput("Name the time zone of the tariff in timeZone.", problems=[problem])


def build_tariff(input: types.NewTariff, resource_id: str, now: datetime) -> models.Tariff:
    """Return the record of a new tariff in its stored form, in hundredths. Raise BadInput with all its problems."""
    check_currency(input.currency, ("input", "currency"))
    for name, parts, maximum in (("bands", input.bands, MAX_PARTS), ("components", input.components, MAX_COMPONENTS)):
        if len(parts) > maximum:
            problem = Problem(("input", name), f"are more than {maximum}")
            raise BadInput("Invalid tariff. See `problems`.", problems=[problem])
    in_major_unit = ("rate", "bands", "blocks", "price_formula", "standing_charge", "components", "vat_percent")
    tariff = models.Tariff(**to_column_values(input, models.Tariff, exclude=in_major_unit))
    tariff.rate = None if input.rate is None else to_hundredths(input.rate)
    tariff.standing_charge, tariff.vat_rate = to_hundredths(input.standing_charge), input.vat_percent
    tariff.bands = [models.TariffBand(**{**vars(band), "rate": to_hundredths(band.rate)}) for band in input.bands]
    tariff.blocks = [models.TariffBlock(to_hundredths(block.rate), block.up_to) for block in input.blocks]
    tariff.components = [
        models.TariffComponent(
            part.name,
            part.basis,
            to_hundredths(part.rate),
            part.vat_percent,
            part.peak_minutes,
            part.peak_days,
            part.minimum_kilowatts,
            _build_window(part.window),
            [models.PeakStep(to_hundredths(step.rate), step.up_to_kilowatts) for step in part.steps],
            part.in_limits,
        )
        for part in input.components
    ]
    tariff.price_formula = _build_formula(input.price_formula)
    tariff.resource_id, tariff.valid_from = resource_id, from_ms(to_ms(input.valid_from))
    if tariff.kind is TariffKind.DYNAMIC and tariff.price_period is None:
        tariff.price_period = Period.PT30M
    if problems := find_problems(tariff, now):
        input_problems = [replace(problem, path=("input", *problem.path)) for problem in problems]
        raise BadInput("Invalid tariff. See `problems`.", problems=input_problems)
    normalize_rates(tariff)
    return tariff


def _build_formula(formula: types.NewPriceFormula | None) -> models.PriceFormula | None:
    if formula is None:
        return None
    floor, cap = (None if limit is None else to_hundredths(limit) for limit in (formula.floor, formula.cap))
    return models.PriceFormula(formula.factor, floor, cap)


def _build_window(window: types.NewComponentWindow | None) -> models.ComponentWindow | None:
    if window is None:
        return None
    return models.ComponentWindow(**{**vars(window), "weekdays": tuple(window.weekdays)})


@operation(OperationKind.MUTATION, returns=types.Tariff, needs=Permission.TARIFF_WRITE, audit=Audit.CALLS_FOR_OTHERS)
async def withdraw_tariff(call: Call, *, tariff_id: ids.TariffId) -> TariffRates:
    """Withdraw a tariff. The tariff before it applies instead, also for past energy.

    A tariff that it had replaced stays replaced. A second call changes nothing.
    """
    _, resource = await _load_tariff(call, tariff_id)
    tariff = await call.rows.edit(models.Tariff, tariff_id)
    tariff.superseded_at = tariff.superseded_at or call.rows.now
    call.emit(_changed_event(tariff))
    return show_tariff(tariff, resource)


@operation(
    OperationKind.MUTATION,
    returns=types.TariffPricesSet,
    needs=Permission.TARIFF_WRITE,
    audit=Audit.CALLS_FOR_OTHERS,
    weight=per_item("prices", max_items=MAX_PRICES),
)
async def set_tariff_prices(
    call: Call,
    *,
    tariff_id: ids.TariffId,
    currency: InputCurrency,
    prices: Annotated[list[types.NewTariffPrice], MaxItems(100_000), Described("Rates of the periods.")],
) -> TariffPricesSetResult:
    """Set at most 10,000 prices of a dynamic tariff, each for one period of its `pricePeriod`.

    Existing prices are replaced. If one price is invalid, no price is stored. The error lists every invalid price in
    `problems`.
    """
    check_currency(currency, ("currency",))
    tariff, resource = await _load_tariff(call, tariff_id)
    if len(prices) > MAX_PRICES:
        problem = Problem(("prices",), f"contain {len(prices):,} prices")
        raise BadInput(f"A call takes at most {MAX_PRICES:,} prices.", problems=[problem])
    if tariff.kind is not TariffKind.DYNAMIC or tariff.superseded_at:
        reason = "was replaced or withdrawn" if tariff.superseded_at else f"is {tariff.kind.value}, not DYNAMIC"
        raise BadInput(
            "Prices can be set only for a dynamic tariff in force. See `problems`.",
            problems=[Problem(("tariffId",), reason)],
        )
    if currency != tariff.currency:
        problem = Problem(("currency",), f"is {currency}, and the tariff is in {tariff.currency}")
        raise BadInput(f"The tariff is in {tariff.currency}, not in {currency}.", problems=[problem])
    rates, problems = await _validate_prices(prices, tariff, call.rows.now)
    if problems:
        raise BadInput(f"{len(problems):,} prices are invalid, so none was stored. See `problems`.", problems=problems)
    if rates:
        latest = await call.rows.prices.latest_at(tariff.tariff_id)
        await call.rows.prices.upsert(tariff.tariff_id, [Price(at, rate) for at, rate in rates.items()])
        await _report_arrival(call, tariff, resource.owner_id, latest, rates)
        call.emit(_changed_event(tariff))
    return TariffPricesSetResult(show_tariff(tariff, resource), len(rates))


@operation(
    OperationKind.QUERY,
    returns=list[types.PriceSpan],
    needs=Permission.RESOURCE_READ,
    rest=RestRoute("GET", "/resource/{resourceId}/price-curve", Tag.RESOURCES_AND_READINGS),
    weight=of_bounds(resource_types.PRICE_CURVE_WEIGHT, plus=STATEMENT_WEIGHT),
    sizes=[ListSize(of_bounds(resource_types.PRICE_CURVE_COUNT), items_per_unit=SERIES_ITEMS_PER_UNIT)],
    result_units=types.units_of_spans,
    in_graphql=("resource", "priceCurve"),
)
async def price_curve(
    call: Call,
    *,
    resource_id: ids.ResourceId,
    start: Annotated[datetime, Described("Start of the range, inclusive.")],
    end: Annotated[datetime, Described("End of the range, exclusive: at most 31 days later. It may be in the future.")],
) -> list[price_queries.PriceSpan]:
    """Return the known rates of a resource's energy in a time range, past and to come.

    They are the bands of a time-of-use tariff and the prices of a dynamic one. Rates of a block tariff depend on the
    energy used, so they are left out.
    """
    resource = await call.rows.get(models.Resource, resource_id)
    (prices,) = await price_queries.price_curves(call.rows, [resource], range=TimeRange(start=start, end=end))
    if isinstance(prices, GatewayError):
        raise prices
    return prices


@operation(
    OperationKind.QUERY,
    returns=types.CheapestWindow,
    needs=Permission.RESOURCE_READ,
    rest=RestRoute("GET", "/resource/{resourceId}/cheapest-window", Tag.RESOURCES_AND_READINGS),
    weight=resource_types.CHEAPEST_WINDOW_WEIGHT,
    in_graphql=("resource", "cheapestWindow"),
)
async def cheapest_window(
    call: Call,
    *,
    resource_id: ids.ResourceId,
    minutes: price_queries.TaskMinutes,
    not_before: price_queries.EarliestStart | None = None,
    before: price_queries.LatestEnd | None = None,
    contiguous: price_queries.Contiguous = True,
) -> price_queries.CheapestWindow:
    """Return the cheapest time for a task that draws a constant power, such as charging a car.

    NOT_FOUND if the prices that are known are not long enough.
    """
    resource = await call.rows.get(models.Resource, resource_id)
    (window,) = await price_queries.cheapest_windows(
        call.rows, [resource], minutes=minutes, not_before=not_before, before=before, contiguous=contiguous
    )
    if isinstance(window, GatewayError):
        raise window
    if window is None:
        raise NotFound(f"No prices are known for a task of {minutes:,} minutes in this time. Ask again when they are.")
    return window


def _changed_event(tariff: models.Tariff) -> Event:
    payload = TariffChanged(tariff.resource_id, tariff.tariff_id)
    return Event(topics.tariffs(tariff.resource_id), tariff.tariff_id, payload)


async def _report_arrival(
    call: Call, tariff: models.Tariff, user_id: str | None, latest: int | None, starts: Collection[int]
) -> None:
    """Send a webhook event if some prices begin after the latest one that was stored."""
    new = [at for at in starts if latest is None or at > latest]
    if new:
        known_to = max(new) + price_length_ms(tariff)
        payload = {
            "resourceId": tariff.resource_id,
            "tariffId": tariff.tariff_id,
            "newFrom": format_iso(from_ms(min(new))),
            "knownTo": format_iso(from_ms(known_to)),
        }
        await enqueue_event(call, PRICES_ARRIVED, payload, user_id=user_id)


async def _load_tariff(call: Call, tariff_id: str) -> tuple[models.Tariff, models.Resource]:
    """Return the tariff and its resource. Raise NotFound unless the caller may see the resource."""
    tariff = await call.rows.get(models.Tariff, tariff_id)
    resources = await call.rows.get_many(models.Resource, [tariff.resource_id])
    if not resources:
        raise NotFound(f"No tariff with ID {tariff_id}.")
    return tariff, resources[tariff.resource_id]


async def _validate_prices(
    prices: Sequence[types.NewTariffPrice], tariff: models.Tariff, now: datetime
) -> tuple[dict[int, int], list[Problem]]:
    """Return the scaled rates by start of the period (ms since 1970), and the problems of the invalid prices."""
    rates: dict[int, int] = {}
    problems: list[Problem] = []
    async for index, price in with_pauses(enumerate(prices)):
        rate = to_hundredths(price.rate)
        if problem := find_price_problem(price.at, rate, tariff, now):
            problems.append(replace(problem, path=("prices", index, *problem.path)))
        elif rates.setdefault(to_ms(price.at), to_scaled(rate)) != to_scaled(rate):
            problems.append(Problem(("prices", index, "at"), "is given twice with different rates"))
    return rates, problems
