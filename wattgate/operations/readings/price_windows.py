"""The prices of a resource's energy over time, and the cheapest time for a task, for REST.

GraphQL has both on the resource.
"""

from datetime import datetime
from typing import Annotated

from wattgate.clock import TimeRange
from wattgate.db import models
from wattgate.db.queries.series import price_windows as queries
from wattgate.errors import GatewayError, NotFound
from wattgate.operations.core.operation import Call, OperationKind, RestRoute, operation
from wattgate.operations.types.homes import resources
from wattgate.operations.types.meters import tariffs as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.cost_weights import SERIES_ITEMS_PER_UNIT, STATEMENT_WEIGHT, ListSize, of_bounds
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.values.annotations import Described


@operation(
    OperationKind.QUERY,
    returns=list[types.PriceSpan],
    needs=Permission.RESOURCE_READ,
    rest=RestRoute("GET", "/resource/{resourceId}/price-curve", Tag.RESOURCES_AND_READINGS),
    weight=of_bounds(resources.PRICE_CURVE_WEIGHT, plus=STATEMENT_WEIGHT),
    sizes=[ListSize(of_bounds(resources.PRICE_CURVE_COUNT), items_per_unit=SERIES_ITEMS_PER_UNIT)],
    result_units=types.units_of_spans,
    in_graphql=("resource", "priceCurve"),
)
async def price_curve(
    call: Call,
    *,
    resource_id: ids.ResourceId,
    start: Annotated[datetime, Described("Start of the range, inclusive.")],
    end: Annotated[datetime, Described("End of the range, exclusive: at most 31 days later. It may be in the future.")],
) -> list[queries.PriceSpan]:
    """Return the known rates of a resource's energy in a time range, past and to come.

    They are the bands of a time-of-use tariff and the prices of a dynamic one. Rates of a block tariff depend on the
    energy used, so they are left out.
    """
    resource = await call.rows.get(models.Resource, resource_id)
    (prices,) = await queries.price_curves(call.rows, [resource], range=TimeRange(start=start, end=end))
    if isinstance(prices, GatewayError):
        raise prices
    return prices


@operation(
    OperationKind.QUERY,
    returns=types.CheapestWindow,
    needs=Permission.RESOURCE_READ,
    rest=RestRoute("GET", "/resource/{resourceId}/cheapest-window", Tag.RESOURCES_AND_READINGS),
    weight=resources.CHEAPEST_WINDOW_WEIGHT,
    in_graphql=("resource", "cheapestWindow"),
)
async def cheapest_window(
    call: Call,
    *,
    resource_id: ids.ResourceId,
    minutes: queries.TaskMinutes,
    not_before: queries.EarliestStart | None = None,
    before: queries.LatestEnd | None = None,
    contiguous: queries.Contiguous = True,
) -> queries.CheapestWindow:
    """Return the cheapest time for a task that draws a constant power, such as charging a car.

    NOT_FOUND if the prices that are known are not long enough.
    """
    resource = await call.rows.get(models.Resource, resource_id)
    (window,) = await queries.cheapest_windows(
        call.rows, [resource], minutes=minutes, not_before=not_before, before=before, contiguous=contiguous
    )
    if isinstance(window, GatewayError):
        raise window
    if window is None:
        raise NotFound(f"No prices are known for a task of {minutes:,} minutes in this time. Ask again when they are.")
    return window
