"""A schema with every feature of GraphQL that plans support, and its operations."""

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import Any
from uuid import UUID

import strawberry
from strawberry.schema.config import StrawberryConfig
from strawberry.tools import create_type

from tests.graphql.compiled.loading import mutation_resolver, query_resolver
from tests.graphql.compiled.types import (
    ALL_SCALARS,
    Celsius,
    Colour,
    Counter,
    Hot,
    Icy,
    Limits,
    Meter,
    Metered,
    Named,
    Panel,
    Part,
    Probe,
    Room,
    Slab,
    Speed,
    Thing,
    Tile,
)
from wattgate.graphql.execution.schema import Schema
from wattgate.operations.core.fields import build_root_field
from wattgate.operations.core.operation import Operation, OperationKind, Unaudited, operation
from wattgate.operations.vocabulary.scalars import Json
from wattgate.principal import Permission

CHANGES_NOTHING = Unaudited("It changes nothing.")


@strawberry.input
class Point:
    x: int = 0
    y: float | None = None
    label: str | None = strawberry.UNSET

    __hash__ = object.__hash__  # Strawberry hashes the defaults of arguments


@strawberry.input
class Box:
    high: Point
    low: Point = strawberry.field(default_factory=lambda: Point(x=1, label="low"))
    pace: Speed = Speed.SLOW


@strawberry.input
class Filter:
    colours: list[Colour] = strawberry.field(default_factory=lambda: [Colour.RED])
    within: Box | None = None
    limit: int = 5
    rows: list[list[str | None]] | None = strawberry.UNSET
    after: datetime | None = None
    raw: Json | None = strawberry.UNSET
    price: Decimal | None = None
    either: "list[Filter] | None" = None

    __hash__ = object.__hash__


@strawberry.input(one_of=True)
class Pick:
    key: strawberry.ID | None = strawberry.UNSET
    at: Point | None = strawberry.UNSET
    nth: int | None = strawberry.UNSET


Declare = Callable[[Callable[..., Any]], Operation]


def _query(returns: Any) -> Declare:
    return lambda resolver: operation(OperationKind.QUERY, returns=returns, needs=Permission.ANYONE)(
        query_resolver(resolver)
    )


def _mutation(returns: Any) -> Declare:
    return lambda resolver: operation(
        OperationKind.MUTATION, returns=returns, needs=Permission.ANYONE, audit=CHANGES_NOTHING
    )(mutation_resolver(resolver))


@_query(list[Named])
async def named(world: Any, *, first: int = 3, where: Filter | None = None) -> Any: ...


@_query(Named | None)
async def named_one(world: Any, *, key: strawberry.ID) -> Any: ...


@_query(list[Metered] | None)
async def metered(
    world: Any,
    *,
    colours: list[Colour] = (Colour.BLUE, Colour.RED),  # type: ignore[assignment] # Strawberry hashes it
) -> Any: ...


@_query(Thing | None)
async def thing(world: Any, *, pick: Pick) -> Any: ...


@_query(list[Thing | None])
async def things(world: Any, *, boxes: list[Box] | None = None, at: Point = Point(x=7)) -> Any: ...


@_query(list[Meter] | None)
async def meters(world: Any, *, where: Filter = Filter(limit=2, within=Box(high=Point()))) -> Any: ...


@_query(Room)
async def room(world: Any, *, at: datetime | None = strawberry.UNSET, day: date | None = None) -> Any: ...


@_query(list[list[Tile]])
async def tiles(
    world: Any,
    *,
    matrix: list[list[int]] | None = ((1, 2), ()),  # type: ignore[assignment] # Strawberry hashes it
) -> Any: ...


@_query(list[Part | None] | None)
async def parts(world: Any, *, real: float = 1.5, text: str | None = None) -> Any: ...


@_query(Probe | None)
async def probe(world: Any, *, raw: Json | None = None) -> Any: ...


@_query(Panel | None)
async def panel(world: Any) -> Any: ...


@_query(Limits)
async def limits(
    world: Any, *, price: Decimal = Decimal("1.50"), serial: UUID | None = None, warm: Celsius | None = None
) -> Any: ...


@_query(int)
async def how_many(world: Any, *, points: list[Point]) -> Any: ...


@_query(list[str | None] | None)
async def words(world: Any, *, text: str, flag: bool = True) -> Any: ...


@_query(Speed | None)
async def pace(world: Any, *, pace: Speed, colour: Colour = Colour.GREEN) -> Any: ...


@_query(Counter)
async def counter(world: Any) -> Any: ...


@_mutation(Counter)
async def bump(world: Any, *, by: int = 1) -> Any: ...


@_mutation(Counter | None)
async def write(world: Any, *, text: str | None = "", points: list[Point] | None = None) -> Any: ...


@_mutation(list[Counter])
async def both(world: Any, *, by: int) -> Any: ...


@_mutation(bool)
async def clear(world: Any) -> Any: ...


@_mutation(Limits | None)
async def limit(world: Any, *, where: Filter | None = strawberry.UNSET) -> Any: ...


def _subscription(returns: Any) -> Declare:
    return operation(OperationKind.SUBSCRIPTION, returns=returns, needs=Permission.ANYONE)


@_subscription(Meter)
async def meter_seen(world: Any, *, of: Filter | None = None) -> Any: ...


@_subscription(Thing | None)
async def thing_seen(world: Any) -> Any: ...


@_subscription(Limits | None)
async def limits_seen(world: Any) -> Any: ...


@_subscription(list[list[Tile]])
async def tiles_seen(world: Any, *, first: int = 1) -> Any: ...


@_subscription(Probe | None)
async def probe_seen(world: Any) -> Any: ...


OPERATIONS: tuple[Operation, ...] = (
    *(named, named_one, metered, thing, things, meters, room, tiles, parts, probe, panel, limits),
    *(how_many, words, pace, counter),
    *(bump, write, both, clear, limit),
    *(meter_seen, thing_seen, limits_seen, tiles_seen, probe_seen),
)


@cache
def schema() -> Schema:
    """Return the schema. It is built once."""
    roots = {
        kind: create_type(
            kind.value, [build_root_field(operation_) for operation_ in OPERATIONS if operation_.kind is kind]
        )
        for kind in OperationKind
    }
    return Schema(
        query=roots[OperationKind.QUERY],
        mutation=roots[OperationKind.MUTATION],
        subscription=roots[OperationKind.SUBSCRIPTION],
        types=[Meter, Panel, Room, Slab, Hot, Icy],
        config=StrawberryConfig(scalar_map=ALL_SCALARS),
    )
