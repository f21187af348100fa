"""One fault of one kind at one place: each check of a plan by itself, because others often see the same wrong value."""

from collections.abc import Mapping
from itertools import cycle
from typing import Any

import pytest

from tests.graphql.compiled.comparing import How, Watched, by_engine, by_graphql_core, difference
from tests.graphql.compiled.documents import Request
from tests.graphql.compiled.running import GRAPHQL_CORE_LEAVES, NO_LIMITS
from tests.graphql.compiled.schema import schema
from tests.graphql.compiled.types import LimitsRow, ProbeRow
from tests.graphql.compiled.values import FAULTS, Fault
from tests.graphql.compiled.world import World
from wattgate.graphql.core.context import Context
from wattgate.graphql.execution.documents import Documents
from wattgate.principal import Principal, Role

pytestmark = GRAPHQL_CORE_LEAVES
SCHEMA = schema()
ENGINE = Watched(SCHEMA)
DOCUMENTS = Documents(SCHEMA, NO_LIMITS)
SEED = 4

LEAVES = ["whole", "real", "flag", "text", "key", "colour", "pace", "at", "day", "serial", "price", "extra", "some"]

PLACES = {
    **{f"Limits.{name}": f"{{ limits {{ {name} }} }}" for name in LEAVES},
    "Limits.warm": "{ limits { warm } }",
    "Query.limits": "{ limits { __typename } }",
    "Query.how_many": "{ howMany(points: []) }",
    "Query.pace": "{ pace(pace: FAST) __typename }",
    "Query.words": '{ words(text: "") }',
    "Query.words[]": '{ words(text: "") }',
    "Query.room": "{ room { __typename } }",
    "Query.panel": "{ panel { kin { __typename } } }",
    "Query.named": "{ named { path } pace(pace: FAST) }",
    "Query.named[]": "{ named { __typename } }",
    "Query.named_one": '{ namedOne(key: "1") { path kin { path } } }',
    "Query.metered": "{ metered { path } }",
    "Query.metered[]": "{ metered { path ... on Meter { kin { path } } } }",
    "Query.thing": "{ thing(pick: {nth: 1}) { __typename } }",
    "Query.things[]": "{ things { ... on Named { path } } }",
    "Query.meters": "{ meters { keeper { path } } }",
    "Query.meters[]": "{ meters { path keeper { path } } }",
    "Query.parts": "{ parts { __typename } }",
    "Query.parts[]": "{ parts { __typename ... on Slab { source { path } } } }",
    "Query.probe": "{ probe { __typename ... on Hot { warmth } } }",
    "Query.tiles": "{ tiles { __typename } }",
    "Query.tiles[]": "{ tiles { label } }",
    "Query.tiles[][]": "{ tiles { __typename } }",
    "Tile.label": "{ tiles { label } }",
    "Tile.rank": "{ tiles { rank count } }",
    "Meter.name": "{ meters { name } }",
    "Meter.unit": "{ meters { unit kin { path } } }",
    "Meter.power": "{ meters { power } }",
    "Meter.warmth": "{ meters { warmth } }",
    "Meter.warmth[]": "{ meters { warmth } }",
    "Meter.limits": "{ meters { limits { __typename } } }",
    "Meter.marks": "{ meters { marks { path } } }",
    "Meter.marks[]": "{ meters { marks { __typename } } }",
    "Meter.grid": "{ meters { grid { count } } }",
    "Meter.grid[]": "{ meters { grid { count } } }",
    "Meter.grid[][]": "{ meters { grid { __typename count } } }",
    "Meter.column": "{ meters { column } }",
    "Panel.panes": "{ panel { panes { rank count } } }",
    "Panel.panes[]": "{ panel { panes { rank } } }",
    "Panel.panes[][]": "{ panel { panes { __typename around { path } } } }",
    "Panel.part": "{ panel { part { __typename ... on Slab { source { path } } } } }",
    "Panel.hots": "{ panel { hots { path } } }",
    "Panel.hots[]": "{ panel { hots { warmth } } }",
    "Panel.unit": "{ metered { path } }",
    "Room.parts": "{ room { parts { __typename } } }",
    "Room.parts[]": "{ room { parts { ... on Slab { corners } } } }",
    "Room.cube": "{ room { cube } }",
    "Room.cube[]": "{ room { cube } }",
    "Room.cube[][]": "{ room { cube } }",
    "Room.cube[][][]": "{ room { cube } }",
    "Slab.tile": "{ room { shelves { tile { __typename count } } } }",
    "Slab.corners[][]": "{ room { shelves { corners } } }",
    "kin": "{ room { kin { path } } }",
    "kin[]": "{ room { kin { __typename } } }",
    "keeper": "{ meters { keeper { __typename } path } }",
    "room_keeper": "{ panel { keeper { path kin { path } } } }",
    "around": "{ tiles { around { path } } }",
    "around[]": "{ tiles { around { __typename } } }",
    "rooms": "{ tiles { rooms(first: 1) { level } } }",
    "rooms[]": "{ tiles { rooms(first: 1) { __typename source { path } } } }",
    "things": "{ meters { things { __typename } } }",
    "things[]": "{ meters { things { ... on Named { kin { path } } } } }",
    "probes[]": "{ panel { probes { __typename ... on Hot { warmth } ... on Icy { frost } } } }",
    "source": "{ room { source { unit } } }",
    "shelves": "{ room { shelves { path } } }",
    "shelves[]": "{ room { shelves { path source { path } } } }",
    "shelves[][]": "{ room { shelves { __typename } } }",
    "slab_source": "{ room { shelves { source { power } } } }",
    "count": "{ tiles { count label } }",
    "sheet": "{ counter { sheet { __typename } } }",
    "holder": "{ counter { holder { __typename } value } }",
    "Mutation.bump": "mutation { a: bump { __typename } b: bump { value } }",
    "Mutation.write": 'mutation { a: write { value } clear b: write(text: "b") { steps } }',
    "Mutation.both": "mutation { a: bump { steps } both(by: 3) { value } b: bump { steps } }",
    "Mutation.clear": "mutation { clear bump { value } }",
}
"""Documents by the place whose value is wrong in them."""


def _context(broken: Mapping[str, Fault]) -> Any:
    return Context(World(SCHEMA, SEED, broken=broken), Principal(Role.SYSTEM))  # type: ignore[arg-type]


async def _difference(text: str, broken: Mapping[str, Fault]) -> tuple[str | None, How, Any]:
    request = Request(text, None, {}, mutation=text.startswith("mutation"))
    document = DOCUMENTS.find(text)
    expected = await by_graphql_core(SCHEMA, document.node, request, _context(broken))
    found, how = await by_engine(ENGINE, document, request, _context(broken))
    return difference(expected, found, mutation=request.mutation), how, (expected, found)


@pytest.mark.parametrize("place", PLACES)
async def test_a_wrong_value_is_told_as_graphql_core_tells_it(place: str) -> None:
    hows = set()
    for name, fault in FAULTS.items():
        what, how, answers = await _difference(PLACES[place], {place: fault})
        assert what is None, (name, what, how, answers)
        hows.add(how)
    assert How.REFUSED not in hows
    assert hows & {How.FELL_BACK, How.TOLD}


async def _soon(value: Any) -> Any:
    return value


ONCE: dict[str, tuple[str, Fault]] = {
    "generator for a list": ("Meter.warmth", lambda: (degrees for degrees in (1.5, None))),
    "iterator for a list": ("Room.cube", lambda: iter([[[True]], [[False]]])),
    "generator of objects": ("Panel.hots", lambda: (ProbeRow(kind, "Hot") for kind in "ab")),
    "generator for a leaf": ("Limits.text", lambda: (text for text in "ab")),
    "coroutine for a leaf": ("Limits.text", lambda: _soon("in time")),
    "coroutine for a list": ("Room.cube", lambda: _soon([])),
    "coroutine for an object": ("Meter.limits", lambda: _soon(LimitsRow("in time", *[None] * 14))),
}
"""Values that can be read once, by what they stand for. None of them stands below an edge that is followed twice."""


@pytest.mark.parametrize("name", ONCE)
async def test_what_can_be_read_once_is_left_unread_by_the_plan(name: str) -> None:
    place, fault = ONCE[name]
    what, how, answers = await _difference(PLACES[place], {place: fault})
    assert (what, how) == (None, How.FELL_BACK), answers


async def test_rows_of_a_class_that_has_been_seen_are_looked_at_where_their_value_says_what_they_are() -> None:
    def rows(kind: str) -> Fault:
        turns = cycle((ProbeRow("good", kind="Hot", warmth=1.5), ProbeRow("other", kind=kind, warmth=1.5)))
        return lambda: next(turns)

    for kind in ("Hot", "neither", "Icy"):
        what, _, answers = await _difference("{ panel { hots { path warmth } } }", {"Panel.hots[]": rows(kind)})
        assert what is None, answers


@pytest.mark.parametrize("text", sorted(set(PLACES.values())))
async def test_without_a_fault_the_plan_tells_all(text: str) -> None:
    what, how, answers = await _difference(text, {"nowhere": FAULTS["null"]})
    assert (what, how) == (None, How.COMPILED), answers
