"""Set-wise loaders of tariffs: one result for each parent, one statement for all."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal

import msgspec
from sqlalchemy import bindparam
from sqlmodel import col

from wattgate.clock import from_ms, to_ms
from wattgate.db.models import Resource, Tariff
from wattgate.db.rows import Lookup, Rows
from wattgate.energy.pricing import exactly
from wattgate.energy.tariffs import RATE_DECIMALS
from wattgate.errors import BadInput

MAX_PRICES = 20_000
"""How many prices one answer holds at most."""


STANDING = Lookup(
    Tariff,
    "resource_id",
    where=(col(Tariff.superseded_at).is_(None), col(Tariff.valid_from) <= bindparam("until")),
    order_by=(col(Tariff.valid_from),),
)
"""The tariffs of resources that no later version replaces, valid from some instant or earlier on, in order."""


class TariffPrice(msgspec.Struct, gc=False):
    """The rate of a dynamic tariff (pence per unit, without VAT) for the half hour from `at` on."""

    at: datetime
    rate: Decimal


def source_id(resource: Resource) -> str:
    """The resource whose energy and tariff are meant: of a resource that tells a cost, the one whose cost it tells."""
    return resource.cost_of or resource.resource_id


async def timelines(rows: Rows, resource_ids: Iterable[str], until: datetime) -> dict[str, list[Tariff]]:
    """By resource id, the tariffs that stand and are valid from `until` or earlier on, in order."""
    wanted = set(resource_ids)
    found = await rows.by(STANDING, wanted, until=until)
    by_resource: dict[str, list[Tariff]] = {resource_id: [] for resource_id in wanted}
    for tariff in found:
        by_resource[tariff.resource_id].append(tariff)
    return by_resource


async def in_force(rows: Rows, resources: Sequence[Resource]) -> list[Tariff | None]:
    """The tariff that applies to each resource now, or None."""
    found = await timelines(rows, map(source_id, resources), rows.now)
    return [found[source_id(resource)][-1] if found[source_id(resource)] else None for resource in resources]


async def histories(
    rows: Rows, resources: Sequence[Resource], *, upcoming: bool = False, superseded: bool = False
) -> list[list[Tariff]]:
    """The tariffs of each resource that applied until now, newest first; with later ones and replaced ones if asked."""
    where = [] if upcoming else [col(Tariff.valid_from) <= rows.now]
    where += [] if superseded else [col(Tariff.superseded_at).is_(None)]
    found = await rows.all(
        Tariff,
        col(Tariff.resource_id).in_({source_id(resource) for resource in resources}),
        *where,
        order_by=[col(Tariff.valid_from).desc(), col(Tariff.version).desc()],
    )
    return [[one for one in found if one.resource_id == source_id(resource)] for resource in resources]


async def prices(rows: Rows, tariffs: Sequence[Tariff], *, start: datetime, end: datetime) -> list[list[TariffPrice]]:
    """The known prices of each dynamic tariff for half hours that begin from start to before end, in order."""
    ids = {tariff.tariff_id for tariff in tariffs}
    found = await rows.prices.between(ids, to_ms(start), to_ms(end), limit=MAX_PRICES + 1)
    if sum(map(len, found.values())) > MAX_PRICES:
        raise BadInput(f"that are more than {MAX_PRICES:,} prices: ask a shorter range")
    return [
        [TariffPrice(from_ms(at), exactly(rate, RATE_DECIMALS)) for at, rate in found.get(tariff.tariff_id, ())]
        for tariff in tariffs
    ]
