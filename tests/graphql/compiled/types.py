"""The types of a schema with every feature that plans must execute as graphql-core does.

Rows of a type are objects of the Strawberry type itself, Structs, or a mix of both.
"""

from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, NewType
from uuid import UUID

import msgspec
import strawberry

from tests.graphql.compiled.loading import edge_loader
from wattgate.operations.core.fields import edge
from wattgate.operations.vocabulary.scalars import SCALARS, Json
from wattgate.principal import Permission

Celsius = NewType("Celsius", float)


def _serialize_celsius(degrees: Any) -> float | None:
    if type(degrees) is not float:
        raise ValueError(f"{degrees!r} is not a temperature")
    return None if degrees > 1000 else round(degrees, 1)  # null for a value that is not null, which is an error


def _parse_celsius(degrees: Any) -> Celsius:
    if type(degrees) not in (int, float) or degrees < -273.15:
        raise ValueError(f"{degrees!r} is not a temperature")
    return Celsius(float(degrees))


ALL_SCALARS = {
    **SCALARS,
    Celsius: strawberry.scalar(name="Celsius", serialize=_serialize_celsius, parse_value=_parse_celsius),
}


@strawberry.enum
class Colour(Enum):
    RED = strawberry.enum_value("r", name="ROT")
    GREEN = strawberry.enum_value(3, name="VERT")
    BLUE = "b"


@strawberry.enum(name="Pace")
class Speed(Enum):
    SLOW = 1
    FAST = 2


class Raised:
    """A row value for an attribute that raises this error when it is read."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def _world_edge(load: Any) -> Any:
    return edge(edge_loader(load), needs=Permission.ANYONE, description=load.__doc__ or load.__name__)


async def kin(world: Any, parents: list[Any], *, limit: int = 2, colour: Colour | None = None) -> Any: ...
async def keeper(world: Any, parents: list[Any]) -> Any: ...
async def room_keeper(world: Any, parents: list[Any]) -> Any: ...
async def around(world: Any, parents: list[Any], *, colour: Colour = Colour.RED, depth: float = 0.5) -> Any: ...
async def rooms(world: Any, parents: list[Any], *, first: int, after: str | None = "x") -> Any: ...
async def things(world: Any, parents: list[Any], *, kind: Speed | None = Speed.FAST) -> Any: ...
async def probes(world: Any, parents: list[Any], *, at: datetime | None = None) -> Any: ...
async def source(world: Any, parents: list[Any], *, exact: bool = False) -> Any: ...
async def shelves(world: Any, parents: list[Any], *, width: int | None = strawberry.UNSET) -> Any: ...
async def count(world: Any, parents: list[Any], *, of: strawberry.ID = strawberry.ID("all")) -> Any: ...
async def holder(world: Any, parents: list[Any]) -> Any: ...
async def slab_source(world: Any, parents: list[Any]) -> Any: ...
async def sheet(world: Any, parents: list[Any], *, scale: int = 1) -> Any: ...


@strawberry.interface
class Named:
    path: str
    name: str | None
    kin: "list[Named]" = _world_edge(kin)
    keeper: "Named | None" = _world_edge(keeper)


@strawberry.interface
class Metered:
    path: str
    unit: str | None
    power: float | None
    warmth: "list[Celsius | None] | None"

    @classmethod
    def resolve_type(cls, row: Any, _info: Any, _kind: Any) -> str | None:
        """Return the name of a row's class, or None or a wrong name for rows that test errors."""
        if isinstance(row, Meter | MeterRow | Panel):
            return None if row.unit == "of no type" else type(row).__name__.removesuffix("Row")
        return "Limits"


@strawberry.type
class Limits:
    """Only leaves: one of each kind, nullable and non-null."""

    path: str
    whole: int
    real: float
    flag: bool
    text: str
    key: strawberry.ID
    colour: Colour
    pace: Speed | None
    at: datetime
    day: date | None
    serial: UUID
    price: Decimal
    extra: Json | None
    some: int | None
    warm: Celsius | None

    @classmethod
    def is_type_of(cls, row: Any, _info: Any) -> bool:
        return isinstance(row, Limits | LimitsRow)


class LimitsRow(msgspec.Struct):
    path: Any
    whole: Any
    real: Any
    flag: Any
    text: Any
    key: Any
    colour: Any
    pace: Any
    at: Any
    day: Any
    serial: Any
    price: Any
    extra: Any
    some: Any
    warm: Any


@strawberry.type
class Tile:
    """A type without a class check outside the union: graphql-core accepts any object with the attributes."""

    path: str
    label: str | None
    rank: int
    around: "list[Meter]" = _world_edge(around)
    rooms: "list[Room | None] | None" = _world_edge(rooms)
    count: int = _world_edge(count)


class TileRow(msgspec.Struct):
    path: Any
    label: Any
    rank: Any


class ProbeRow(msgspec.Struct):
    """A row of either type; its value decides which."""

    path: Any
    kind: str
    warmth: Any = None
    frost: Any = None


def _has_kind(kind: str) -> classmethod:  # type: ignore[type-arg]
    return classmethod(lambda _cls, row, _info: isinstance(row, ProbeRow) and row.kind == kind)


@strawberry.type
class Hot:
    path: str
    warmth: Celsius | None
    is_type_of = _has_kind("Hot")


@strawberry.type
class Icy:
    path: str
    frost: int | None
    keeper: Named | None = _world_edge(keeper)
    is_type_of = _has_kind("Icy")


@strawberry.type
class Slab:
    path: str
    tile: Tile | None
    corners: list[list[int | None]]
    source: Metered | None = _world_edge(slab_source)

    @classmethod
    def is_type_of(cls, row: Any, _info: Any) -> bool:
        return isinstance(row, Slab)


Part = Annotated[Limits | Slab, strawberry.union("Part")]
Probe = Annotated[Hot | Icy, strawberry.union("Probe")]


@strawberry.type
class Meter(Named, Metered):
    """Its rows are Structs and objects of the type, mixed."""

    name: str
    limits: Limits
    marks: list[Limits | None] | None
    grid: list[list[Tile]]
    column: list[float]
    things: "list[Thing]" = _world_edge(things)

    @classmethod
    def is_type_of(cls, row: Any, _info: Any) -> bool:
        return isinstance(row, Meter | MeterRow)


class MeterRow(msgspec.Struct):
    path: Any
    name: Any
    unit: Any
    held: Any
    warmth: Any
    limits: Any
    marks: Any
    grid: Any
    column: Any

    @property
    def power(self) -> Any:
        if isinstance(self.held, Raised):
            raise self.held.error
        return self.held


@strawberry.type
class Panel(Named, Metered):
    """Its rows are objects of the type, known to Strawberry by their class alone."""

    power: float
    panes: list[list[Tile | None] | None] | None
    part: Part | None
    hots: list[Hot | None]
    probes: list[Probe | None] = _world_edge(probes)
    keeper: "Room | None" = _world_edge(room_keeper)


@strawberry.type
class Room(Named):
    """Its rows are Structs."""

    parts: list[Part]
    cube: list[list[list[bool]]]
    level: int | None
    source: "Metered" = _world_edge(source)
    shelves: "list[list[Slab | None]]" = _world_edge(shelves)

    @classmethod
    def is_type_of(cls, row: Any, _info: Any) -> bool:
        return isinstance(row, RoomRow)


class RoomRow(msgspec.Struct):
    path: Any
    name: Any
    parts: Any
    cube: Any
    level: Any


Thing = Annotated[Meter | Panel | Room, strawberry.union("Thing")]


@strawberry.type
class Counter:
    """The one object that mutations change."""

    path: str
    value: int
    text: str | None
    steps: list[str]
    limits: Limits | None
    sheet: Tile | None = _world_edge(sheet)
    holder: Named = _world_edge(holder)


ROWS: dict[str, tuple[type, ...]] = {
    "Limits": (LimitsRow, LimitsRow, Limits),
    "Tile": (Tile, TileRow),
    "Slab": (Slab,),
    "Hot": (ProbeRow,),
    "Icy": (ProbeRow,),
    "Meter": (MeterRow, Meter),
    "Panel": (Panel,),
    "Room": (RoomRow,),
    "Counter": (Counter,),
}
"""The classes of each type's rows."""
