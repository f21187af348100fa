"""One fault of one kind at one position: tests each check of a plan alone, because others often find the same value."""

import logging
from collections.abc import Mapping
from itertools import cycle
from typing import Any

import pytest

from tests.graphql.compiled.comparing import ObservedEngine, Outcome, difference, run_engine, run_graphql_core
from tests.graphql.compiled.documents import Request
from tests.graphql.compiled.running import IGNORE_UNAWAITED_COROUTINES, NO_LIMITS
from tests.graphql.compiled.schema import schema
from tests.graphql.compiled.types import LimitsRow, ProbeRow
from tests.graphql.compiled.values import FAULTS, Fault
from tests.graphql.compiled.world import World
from tests.support.short_form import sample
from wattgate.graphql.execution.documents.documents import DocumentCache
from wattgate.operations.core.context import GraphQLContext
from wattgate.principal import Principal, Role

pytestmark = IGNORE_UNAWAITED_COROUTINES
SCHEMA = schema()
ENGINE = ObservedEngine(SCHEMA)
DOCUMENTS = DocumentCache(SCHEMA, NO_LIMITS)
SEED = 4

LEAVES = ["whole", "real", "flag", "text", "key", "colour", "pace", "at", "day", "serial", "price", "extra", "some"]

DOCUMENTS_BY_POSITION = {
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
"""Documents by the position of the wrong value."""


def _context(broken: Mapping[str, Fault]) -> Any:
    return GraphQLContext(World(SCHEMA, SEED, broken=broken), Principal(Role.SYSTEM))  # type: ignore[arg-type]


async def _difference(text: str, broken: Mapping[str, Fault]) -> tuple[str | None, Outcome, Any]:
    request = Request(text, None, {}, mutation=text.startswith("mutation"))
    document = DOCUMENTS.get(text)
    expected = await run_graphql_core(SCHEMA, document.node, request, _context(broken))
    actual, outcome = await run_engine(ENGINE, document, request, _context(broken))
    return difference(expected, actual, mutation=request.mutation), outcome, (expected, actual)


async def test_wrong_value_gives_the_result_of_graphql_core(
    subtests: pytest.Subtests, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)  # each fault logs some tracebacks
    for position in sample(DOCUMENTS_BY_POSITION):
        with subtests.test(position):
            outcomes = set()
            for name, fault in FAULTS.items():
                differing, outcome, answers = await _difference(DOCUMENTS_BY_POSITION[position], {position: fault})
                assert differing is None, (name, differing, outcome, answers)
                outcomes.add(outcome)
            assert Outcome.NOT_COMPILED not in outcomes
            assert outcomes & {Outcome.FELL_BACK, Outcome.REPORTED}


async def _value_later(value: Any) -> Any:
    return value


READABLE_ONCE: dict[str, tuple[str, Fault]] = {
    "generator for a list": ("Meter.warmth", lambda: (degrees for degrees in (1.5, None))),
    "iterator for a list": ("Room.cube", lambda: iter([[[True]], [[False]]])),
    "generator of objects": ("Panel.hots", lambda: (ProbeRow(kind, "Hot") for kind in "ab")),
    "generator for a leaf": ("Limits.text", lambda: (text for text in "ab")),
    "coroutine for a leaf": ("Limits.text", lambda: _value_later("in time")),
    "coroutine for a list": ("Room.cube", lambda: _value_later([])),
    "coroutine for an object": ("Meter.limits", lambda: _value_later(LimitsRow("in time", *[None] * 14))),
}
"""Values that can be read once, by kind. None of them is below an edge that is loaded twice."""


@pytest.mark.parametrize("name", READABLE_ONCE)
async def test_plan_does_not_consume_values_that_are_readable_once(name: str) -> None:
    position, fault = READABLE_ONCE[name]
    differing, outcome, answers = await _difference(DOCUMENTS_BY_POSITION[position], {position: fault})
    assert (differing, outcome) == (None, Outcome.FELL_BACK), answers


async def test_rows_whose_type_depends_on_their_value_are_always_checked() -> None:
    def rows(kind: str) -> Fault:
        turns = cycle((ProbeRow("good", kind="Hot", warmth=1.5), ProbeRow("other", kind=kind, warmth=1.5)))
        return lambda: next(turns)

    for kind in ("Hot", "neither", "Icy"):
        differing, _, answers = await _difference("{ panel { hots { path warmth } } }", {"Panel.hots[]": rows(kind)})
        assert differing is None, answers


async def test_plan_executes_everything_without_a_fault(subtests: pytest.Subtests) -> None:
    for text in sorted(set(DOCUMENTS_BY_POSITION.values())):
        with subtests.test(text):
            differing, outcome, answers = await _difference(text, {"nowhere": FAULTS["null"]})
            assert (differing, outcome) == (None, Outcome.COMPILED), answers
