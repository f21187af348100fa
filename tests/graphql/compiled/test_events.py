"""What plans make of the payloads of subscriptions is what graphql-core makes of them."""

import json
from itertools import islice
from random import Random
from typing import Any

import pytest
from graphql import GraphQLError
from graphql.execution.values import get_argument_values

from tests.graphql.compiled.documents import Request, requests
from tests.graphql.compiled.running import GRAPHQL_CORE_LEAVES, NO_LIMITS
from tests.graphql.compiled.scale import RATES, scale
from tests.graphql.compiled.schema import schema
from tests.graphql.compiled.world import World
from wattgate.graphql.core.context import Context
from wattgate.graphql.execution.compiled.engine import Engine, Plan
from wattgate.graphql.execution.documents import Document, Documents, Invalid
from wattgate.graphql.execution.executor import Executor
from wattgate.graphql.transport.selection import at_once, by_graphql_core, selection_of
from wattgate.principal import Principal, Role
from wattgate.realtime.subscriptions.subscription import NotAtOnce, Selection

pytestmark = GRAPHQL_CORE_LEAVES
SCALE = scale()
SCHEMA = schema()
ENGINE = Engine(SCHEMA, compile_at=1)
DOCUMENTS = Documents(SCHEMA, NO_LIMITS)


def _world(seed: int, rate: float) -> World:
    return World(SCHEMA, seed, rate)


def _plan(document: Document, request: Request) -> Plan | None:
    """The plan of a subscription; None where it does not begin, because values are wrong."""
    try:
        variables = ENGINE.variables(document, request.variables)
        plan = ENGINE.compiled(document, variables)
        if plan is None:
            return None
        (slot,) = plan.slots.values()
        assert slot.field is not None
        get_argument_values(slot.field, slot.nodes[0].node, variables)
    except (Invalid, GraphQLError):
        return None
    return plan


def _payload(plan: Plan, seed: int, rate: float) -> Any:
    """What happened, of the type that the document's only field tells."""
    (slot,) = plan.slots.values()
    assert slot.field is not None
    return _world(seed, rate).values.of(slot.field.type, Random(seed), "event", "Subscription")


def _executor(document: Document, request: Request, context: Context) -> Executor:
    built = Executor.build(
        SCHEMA._schema,
        document.node,
        context_value=context,
        raw_variable_values=request.variables,
        operation_name=request.operation,
    )
    assert isinstance(built, Executor)
    return built


def _selection(document: Document, plan: Plan, request: Request, world: World) -> Selection:
    """How a connection has a payload told."""
    variables = ENGINE.variables(document, request.variables)
    ((key, root),) = plan.roots.items()
    context = Context(world, Principal(Role.SYSTEM))  # type: ignore[arg-type]
    immediate = at_once(plan, key, variables)
    planned = None if immediate else lambda payload: root(context, variables, payload)
    return selection_of(key, immediate, planned, lambda: _executor(document, request, context))


async def _told(selection: Selection, payload: Any) -> bytes:
    if selection.at_once is not None:
        try:
            return selection.at_once(payload)
        except NotAtOnce:
            pass
    return await selection.in_time(payload)


def _in_order(told: bytes) -> Any:
    """A result whose last brace is missing, with the order of its keys."""
    return json.loads(told + b"}", object_pairs_hook=list)


@pytest.mark.parametrize("seed", SCALE.seeds)
@pytest.mark.parametrize("rate", RATES)
async def test_an_event_is_told_as_graphql_core_tells_it(seed: int, rate: float) -> None:
    some = requests(SCHEMA._schema, Random(f"events {seed} {rate}"), subscriptions=True)
    planned = 0
    for number, request in enumerate(islice(some, SCALE.events)):
        document = DOCUMENTS.find(request.text, request.operation)
        plan = _plan(document, request)
        if plan is None:
            continue
        one, other = (_payload(plan, number, rate) for _ in range(2))
        context = Context(_world(number, rate), Principal(Role.SYSTEM))  # type: ignore[arg-type]
        selection = _selection(document, plan, request, _world(number, rate))
        try:
            expected = await by_graphql_core(_executor(document, request, context), one)
        except (
            TypeError
        ):  # of columns and the scalar JSON nothing is checked, and not all that is wrong has a form there
            with pytest.raises(TypeError):
                await _told(selection, other)
        else:
            assert _in_order(await _told(selection, other)) == _in_order(expected), (request, number)
        planned += 1
    assert planned >= SCALE.events / 2


@pytest.mark.parametrize("value", [2**70, {"n": [-(2**64)]}, "\ud800"])
@pytest.mark.parametrize("text", ["{ extra }", "{ extra whole }"])
async def test_what_orjson_does_not_take_is_told_all_the_same(value: Any, text: str) -> None:
    broken = {"Limits.extra": lambda: value, "Limits.whole": lambda: None}
    world = World(SCHEMA, 4, broken=broken)
    payload = world.values.row(SCHEMA._schema.type_map["Limits"], Random(4), "event")  # type: ignore[arg-type]
    request = Request(f"subscription {{ limitsSeen {text} }}", None, {})
    document = DOCUMENTS.find(request.text)
    plan = _plan(document, request)
    assert plan is not None
    told = json.loads(await _told(_selection(document, plan, request, world), payload) + b"}")
    assert told["data"]["limitsSeen"] == (None if "whole" in text else {"extra": value})
