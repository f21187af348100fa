"""A small schema with every kind of cost declaration, and random documents for it."""

from collections.abc import Sequence
from typing import Any

import strawberry
from graphql import GraphQLObjectType, GraphQLSchema, get_named_type, is_leaf_type, is_union_type
from hypothesis import strategies as st
from strawberry.tools import create_type

from wattgate.graphql.execution.schema import Schema
from wattgate.operations.core.fields import build_root_field, edge
from wattgate.operations.core.operation import Call, Operation, OperationKind, Unaudited, operation
from wattgate.operations.vocabulary.cost_weights import ListSize, linear_in_argument, per_item
from wattgate.principal import Permission

CHANGES_NOTHING = Unaudited("It changes nothing.")

FREE = Permission.ANYONE


async def plain(rows: Any, parents: Sequence[Any]) -> list[Any]:
    return []


async def counted(rows: Any, parents: Sequence[Any], *, count: int = 20) -> list[Any]:
    return []


def free_edge(of: Any, **declared: Any) -> Any:
    """Declare an edge that everyone may load."""
    return edge(of, needs=FREE, description="", **declared)


@strawberry.type
class Label:
    text: str


@strawberry.interface
class Thing:
    name: str
    label: Label


@strawberry.type
class Part(Thing):
    size: int


@strawberry.type
class Cat(Thing):
    label: Label = free_edge(plain, weight=9)
    kittens: list[Part] = free_edge(plain, sizes=[ListSize(6)])


@strawberry.type
class Dog(Thing):
    collar: Part


@strawberry.type
class Point:
    size: int
    label: Label
    labels: list[Label]


@strawberry.type
class Columns:
    at: list[int]
    value: list[float | None]


@strawberry.type
class Series:
    unit: str
    points: list[Point]
    columns: Columns
    house: "House"
    again: "Series" = free_edge(plain, weight=3)
    other: "Series" = free_edge(plain, sizes=[ListSize(1_000, ("Columns",))])


@strawberry.type
class Room(Thing):
    parts: list[Part]
    tags: list[str]
    grid: list[list[Part]]
    lamps: list[Part] = free_edge(plain, weight=2, sizes=[ListSize(4)])


@strawberry.type
class House(Thing):
    address: Part
    rooms: list[Room] = free_edge(plain, sizes=[ListSize(3)])
    pets: list[Cat | Dog] = free_edge(plain, sizes=[ListSize(2)])
    things: list[Thing]
    neighbour: "House | None" = free_edge(plain, weight=5)
    age: int = free_edge(plain)
    series: Series = free_edge(
        counted,
        weight=linear_in_argument("count", 20, 2_000, weight=7, weight_per_one=2),
        sizes=[
            ListSize(linear_in_argument("count", 20, 1_000), ("Series.points",), items_per_unit=10),
            ListSize(linear_in_argument("count", 20, 2_000), ("Columns.at", "Columns.value")),
        ],
    )


@operation(OperationKind.QUERY, returns=House, needs=FREE)
async def house(call: Call) -> Any:
    """A house."""


@operation(OperationKind.QUERY, returns=list[House], needs=FREE, sizes=[ListSize(linear_in_argument("first", 5, 50))])
async def houses(call: Call, *, first: int = 5) -> Any:
    """Houses in pages."""


@operation(OperationKind.QUERY, returns=list[House], needs=FREE)
async def all_houses(call: Call) -> Any:
    """An unbounded list of houses."""


@operation(OperationKind.QUERY, returns=int, needs=FREE, weight=8)
async def count(call: Call) -> Any:
    """The number of houses."""


@strawberry.input
class NewHouse:
    name: str
    rooms: list[int] = strawberry.field(default_factory=list)


@operation(OperationKind.MUTATION, returns=House, needs=FREE, audit=CHANGES_NOTHING)
async def paint(call: Call) -> Any:
    """Change something."""


@operation(
    OperationKind.MUTATION,
    returns=list[House],
    needs=FREE,
    audit=CHANGES_NOTHING,
    weight=per_item("input", "rooms", max_items=30),
)
async def build(call: Call, *, input: list[NewHouse]) -> Any:
    """Add houses."""


@operation(OperationKind.SUBSCRIPTION, returns=House, needs=FREE)
async def sold(call: Call) -> Any:
    """Houses at the time of their sale."""


def _root(name: str, operations: Sequence[Operation]) -> type:
    return create_type(name, [build_root_field(operation) for operation in operations])


SCHEMA: GraphQLSchema = Schema(
    _root("Query", [house, houses, all_houses, count]),
    _root("Mutation", [paint, build]),
    _root("Subscription", [sold]),
    types=[Cat, Dog, Room],
).core

ARGUMENTS = {"houses": "first", "series": "count"}
"""Fields with a numeric argument."""

VARIABLES = "($n: Int! = 7, $m: Int! = 30)"
FRAGMENTS = ("House", "Series", "Room", "Thing")
"""Types of the fragments in random documents. Only earlier fragments spread a fragment, so there are no cycles."""


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Draw a query with mergeable duplicates, aliases, arguments, and inline and named fragments on any type."""
    fragments = [
        f"fragment F{place} on {kind} {_selection(draw, kind, place + 1, 2)}" for place, kind in enumerate(FRAGMENTS)
    ]
    return "\n".join([f"query {VARIABLES} {_selection(draw, 'Query', 0, 5)}", *fragments])


def _selection(draw: st.DrawFn, name: str, first: int, levels: int) -> str:
    """Draw a selection set of a type. It spreads only fragments from number `first` on."""
    kind = SCHEMA.type_map[name]
    selections = ["__typename"]
    members = (
        [candidate.name for candidate in SCHEMA.get_possible_types(kind)]  # type: ignore[arg-type]
        if not isinstance(kind, GraphQLObjectType)
        else []
    )
    fields = {} if is_union_type(kind) else kind.fields  # type: ignore[attr-defined]
    spread = [place for place in range(first, len(FRAGMENTS)) if FRAGMENTS[place] == name or name in _members(place)]
    for _ in range(draw(st.integers(1, 3))):
        ways = (["field"] * 3 if fields else []) + (["inline"] if levels else []) + (["spread"] if spread else [])
        match draw(st.sampled_from(ways or ["none"])):
            case "field":
                selections.append(_field(draw, fields, first, levels))
            case "inline":
                on = draw(st.sampled_from([*members, name]))
                selections.append(f"... on {on} {_selection(draw, on, first, levels - 1)}")
            case "spread":
                selections.append(f"...F{draw(st.sampled_from(spread))}")
    return "{ " + " ".join(selections) + " }"


def _members(place: int) -> list[str]:
    kind: Any = SCHEMA.type_map[FRAGMENTS[place]]
    return (
        [] if isinstance(kind, GraphQLObjectType) else [candidate.name for candidate in SCHEMA.get_possible_types(kind)]
    )


def _field(draw: st.DrawFn, fields: dict[str, Any], first: int, levels: int) -> str:
    name = draw(st.sampled_from(sorted(fields)))
    field_type = get_named_type(fields[name].type)
    if not is_leaf_type(field_type) and not levels:
        return "__typename"
    argument = ""
    if name in ARGUMENTS:
        value = draw(st.sampled_from(["", "1", "12", "$n", "$m"]))
        argument = f"({ARGUMENTS[name]}: {value})" if value else ""
    inner = "" if is_leaf_type(field_type) else _selection(draw, field_type.name, first, levels - 1)
    # a different argument gets a different alias, so that all fields with the same response name can be merged
    alias = f"{name}{''.join(filter(str.isalnum, argument))}: "
    return f"{alias}{name}{argument} {inner}"
