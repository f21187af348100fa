"""Tariffs: set, withdrawn, and the prices of dynamic ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import strawberry
from sqlmodel import col

from wattgate.clock import from_ms, to_ms
from wattgate.db import models
from wattgate.db.queries.tariffs import source_id
from wattgate.energy.tariffs import problem_of_price, problems_of, settle
from wattgate.energy.timeline import Price, scaled
from wattgate.enums import TariffKind
from wattgate.errors import BadInput, NotFound, Problem
from wattgate.graphql.core.cost_weights import per_item
from wattgate.graphql.core.inputs import values_of
from wattgate.graphql.core.operation import Call, Kind, operation
from wattgate.graphql.types import tariffs as types
from wattgate.principal import Permission
from wattgate.realtime import topics
from wattgate.realtime.events import Event, TariffChanged

MAX_PRICES = 10_000


@dataclass(frozen=True, slots=True)
class TariffPricesSet:
    tariff: models.Tariff
    recorded: int


@operation(Kind.MUTATION, returns=types.Tariff, needs=Permission.TARIFF_WRITE)
async def set_tariff(call: Call, *, input: types.NewTariff) -> models.Tariff:
    """Say what a resource's energy costs from some instant on.

    A tariff that was valid from the same instant is replaced, and so corrected: the past is priced anew. For a
    resource that tells a cost, the tariff is set for the resource whose cost it tells.
    """
    resource = await call.rows.get(models.Resource, input.resource_id)
    tariff = models.Tariff(**values_of(input, models.Tariff, leave_out=("bands",)))
    tariff.bands = [models.TariffBand(**vars(band)) for band in input.bands]
    tariff.resource_id, tariff.valid_from = source_id(resource), from_ms(to_ms(input.valid_from))
    if problems := problems_of(tariff, call.rows.now):
        told = [replace(problem, path=("input", *problem.path)) for problem in problems]
        raise BadInput("the tariff cannot be set as it is", problems=told)
    settle(tariff)
    await call.rows.edit(models.Resource, tariff.resource_id)  # of two that are set at once one waits for the other
    of_resource = col(models.Tariff.resource_id) == tariff.resource_id
    newest = await call.rows.first(models.Tariff, of_resource, order_by=[col(models.Tariff.version).desc()])
    tariff.version = newest.version + 1 if newest else 1
    await call.rows.update(
        models.Tariff,
        of_resource,
        col(models.Tariff.valid_from) == tariff.valid_from,
        col(models.Tariff.superseded_at).is_(None),
        superseded_at=call.rows.now,
    )
    added = await call.rows.add(tariff)
    call.emit(_changed(added))
    return added


@operation(Kind.MUTATION, returns=types.Tariff, needs=Permission.TARIFF_WRITE)
async def withdraw_tariff(call: Call, *, tariff_id: strawberry.ID) -> models.Tariff:
    """Take a tariff back: the one that was valid before it applies in its place, for the past too.

    A tariff that it had replaced does not come back. Withdrawing twice is withdrawing once.
    """
    await _own(call, tariff_id)
    tariff = await call.rows.edit(models.Tariff, tariff_id)
    tariff.superseded_at = tariff.superseded_at or call.rows.now
    call.emit(_changed(tariff))
    return tariff


@operation(
    Kind.MUTATION,
    returns=types.TariffPricesSet,
    needs=Permission.TARIFF_WRITE,
    weight=per_item("prices", most=MAX_PRICES),
)
async def set_tariff_prices(
    call: Call, *, tariff_id: strawberry.ID, prices: list[types.NewTariffPrice]
) -> TariffPricesSet:
    """Store prices of a dynamic tariff, at most 10,000 a call, each for one half hour; known ones are replaced.

    All are stored or none: the problems name every price that is refused.
    """
    tariff = await _own(call, tariff_id)
    if len(prices) > MAX_PRICES:
        problem = Problem(("prices",), f"holds {len(prices)} prices")
        raise BadInput(f"a call takes at most {MAX_PRICES:,} prices", problems=[problem])
    if tariff.kind is not TariffKind.DYNAMIC or tariff.superseded_at:
        reason = "was superseded" if tariff.superseded_at else f"is {tariff.kind.value}, not DYNAMIC"
        raise BadInput("the tariff takes no prices", problems=[Problem(("tariffId",), reason)])
    known, problems = _taken(prices, tariff)
    if problems:
        raise BadInput(f"{len(problems):,} prices are refused, so none is stored", problems=problems)
    if known:
        await call.rows.prices.record(tariff.tariff_id, [Price(at, rate) for at, rate in known.items()])
        call.emit(_changed(tariff))
    return TariffPricesSet(tariff, len(known))


def _changed(tariff: models.Tariff) -> Event:
    payload = TariffChanged(tariff.resource_id, tariff.tariff_id)
    return Event(topics.tariffs(tariff.resource_id), tariff.tariff_id, payload)


async def _own(call: Call, tariff_id: str) -> models.Tariff:
    """The tariff, if it is of a resource that the caller may see. NotFound otherwise."""
    tariff = await call.rows.get(models.Tariff, tariff_id)
    if not await call.rows.many(models.Resource, [tariff.resource_id]):
        raise NotFound(f"no tariff with id {tariff_id}")
    return tariff


def _taken(prices: Sequence[types.NewTariffPrice], tariff: models.Tariff) -> tuple[dict[int, int], list[Problem]]:
    """The rates to store, by half hour, and what is wrong with the others."""
    known: dict[int, int] = {}
    problems: list[Problem] = []
    for index, price in enumerate(prices):
        if problem := problem_of_price(price.at, price.rate, tariff):
            problems.append(replace(problem, path=("prices", index, *problem.path)))
        elif known.setdefault(to_ms(price.at), scaled(price.rate)) != scaled(price.rate):
            problems.append(Problem(("prices", index, "at"), "is given twice with different rates"))
    return known, problems
