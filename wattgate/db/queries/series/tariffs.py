"""Batch loaders of tariffs: one result for each parent, with one statement for all."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Annotated

import msgspec
from sqlalchemy import bindparam
from sqlmodel import col

from wattgate.clock import from_ms, to_ms
from wattgate.db.models import Resource, Tariff
from wattgate.db.rows.lookups import Lookup
from wattgate.db.rows.rows import Rows
from wattgate.energy.costs.pricing import to_decimal
from wattgate.energy.costs.tariffs import RATE_DECIMALS
from wattgate.errors import BadInput
from wattgate.values.annotations import Described

MAX_PRICES = 20_000
"""The maximum number of prices in one response."""


ACTIVE_TARIFFS = Lookup(
    Tariff,
    "resource_id",
    where=(col(Tariff.superseded_at).is_(None), col(Tariff.valid_from) <= bindparam("until")),
    order_by=(col(Tariff.valid_from),),
)
"""The tariffs of resources that are not superseded and valid from `until` or earlier, oldest first."""


COST_SUFFIX = ".cost"
"""Suffix of the classifier of a resource that holds the costs of another resource's energy."""


class HalfHourPrice(msgspec.Struct, gc=False):
    """The rate of a dynamic tariff (pence per unit, without VAT) for the half hour that starts at `at`."""

    at: datetime
    rate: Decimal


def priced_resource_id(resource: Resource) -> str:
    """Return the id of the resource whose energy and tariff apply: `cost_of` if it is set, else its own id."""
    return resource.cost_of or resource.resource_id


def holds_costs(resource: Resource) -> bool:
    """Return whether the values of a resource are money: computed costs (`cost_of`) or recorded ones."""
    return resource.cost_of is not None or resource.classifier.endswith(COST_SUFFIX)


async def load_timelines(rows: Rows, resource_ids: Iterable[str], until: datetime) -> dict[str, list[Tariff]]:
    """Return, by resource id, the tariffs that are not superseded and valid from `until` or earlier, oldest first."""
    unique_ids = set(resource_ids)
    tariffs = await rows.find(ACTIVE_TARIFFS, unique_ids, until=until)
    by_resource: dict[str, list[Tariff]] = {resource_id: [] for resource_id in unique_ids}
    for tariff in tariffs:
        by_resource[tariff.resource_id].append(tariff)
    return by_resource


async def in_force(rows: Rows, resources: Sequence[Resource]) -> list[Tariff | None]:
    """Return the tariff that applies to each resource now, or None."""
    timelines = await load_timelines(rows, map(priced_resource_id, resources), rows.now)
    return [
        timelines[priced_resource_id(resource)][-1] if timelines[priced_resource_id(resource)] else None
        for resource in resources
    ]


async def histories(
    rows: Rows,
    resources: Sequence[Resource],
    *,
    upcoming: Annotated[bool, Described("Whether to include tariffs that are not yet in force.")] = False,
    superseded: Annotated[bool, Described("Whether to include tariffs that were replaced or withdrawn.")] = False,
) -> list[list[Tariff]]:
    """Return the past and current tariffs of each resource, newest first.

    `upcoming` adds tariffs that are valid from a later time, `superseded` those that a later version replaces.
    """
    conditions = [] if upcoming else [col(Tariff.valid_from) <= rows.now]
    conditions += [] if superseded else [col(Tariff.superseded_at).is_(None)]
    tariffs = await rows.all(
        Tariff,
        col(Tariff.resource_id).in_({priced_resource_id(resource) for resource in resources}),
        *conditions,
        order_by=[col(Tariff.valid_from).desc(), col(Tariff.version).desc()],
    )
    return [
        [tariff for tariff in tariffs if tariff.resource_id == priced_resource_id(resource)] for resource in resources
    ]


async def prices(rows: Rows, tariffs: Sequence[Tariff], *, start: datetime, end: datetime) -> list[list[HalfHourPrice]]:
    """Return the known prices of each dynamic tariff for half hours that begin in [start, end), in order."""
    tariff_ids = {tariff.tariff_id for tariff in tariffs}
    prices_by_tariff = await rows.prices.list_between(tariff_ids, to_ms(start), to_ms(end), limit=MAX_PRICES + 1)
    if sum(map(len, prices_by_tariff.values())) > MAX_PRICES:
        raise BadInput(f"The range has more than {MAX_PRICES:,} prices. Request a shorter range.")
    return [
        [
            HalfHourPrice(from_ms(at), to_decimal(rate, RATE_DECIMALS))
            for at, rate in prices_by_tariff.get(tariff.tariff_id, ())
        ]
        for tariff in tariffs
    ]
