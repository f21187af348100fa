"""Plans and graphql-core return the same results for payloads of subscriptions."""

import json
from itertools import islice
from random import Random
from typing import Any

import pytest
from graphql import GraphQLError
from graphql.execution import get_argument_values

from tests.graphql.compiled.documents import Request, requests
from tests.graphql.compiled.running import IGNORE_UNAWAITED_COROUTINES, NO_LIMITS
from tests.graphql.compiled.scale import RATES, scale
from tests.graphql.compiled.schema import schema
from tests.graphql.compiled.world import World
from wattgate.graphql.execution.compiled.engine import ExecutionEngine, Plan
from wattgate.graphql.execution.documents.documents import Document, DocumentCache, InvalidRequest
from wattgate.graphql.execution.executor import Executor
from wattgate.graphql.transport.subscriptions import build_execute_sync, build_selection, execute_with_graphql_core
from wattgate.operations.core.context import GraphQLContext
from wattgate.principal import Principal, Role
from wattgate.realtime.subscriptions.subscription import RequiresAsync, Selection

pytestmark = IGNORE_UNAWAITED_COROUTINES
SCALE = scale()
SCHEMA = schema()
ENGINE = ExecutionEngine(SCHEMA, compile_at=1)
DOCUMENTS = DocumentCache(SCHEMA, NO_LIMITS)


def _world(seed: int, rate: float) -> World:
    return World(SCHEMA, seed, rate)


def _plan(document: Document, request: Request) -> Plan | None:
    """Return the plan of a subscription, or None if it cannot start because values are invalid."""
    try:
        variables = ENGINE.coerce_variables(document, request.variables)
        plan = ENGINE.get_or_compile(document, variables)
        if plan is None:
            return None
        (selected,) = plan.fields.values()
        assert selected.field is not None
        get_argument_values(selected.field, selected.nodes[0].node, variables)
    except (InvalidRequest, GraphQLError):
        return None
    return plan


def _payload(plan: Plan, seed: int, rate: float) -> Any:
    """Return a payload of the type of the document's only field."""
    (selected,) = plan.fields.values()
    assert selected.field is not None
    return _world(seed, rate).values.of(selected.field.type, Random(seed), "event", "Subscription")


def _executor(document: Document, request: Request, context: GraphQLContext) -> Executor:
    built = Executor.build(
        SCHEMA.core,
        document.node,
        context_value=context,
        raw_variable_values=request.variables,
        operation_name=request.operation,
    )
    assert isinstance(built, Executor)
    return built


def _selection(document: Document, plan: Plan, request: Request, world: World) -> Selection:
    """Return the selection that a connection uses for payloads."""
    variables = ENGINE.coerce_variables(document, request.variables)
    ((key, root),) = plan.roots.items()
    context = GraphQLContext(world, Principal(Role.SYSTEM))  # type: ignore[arg-type]
    execute_sync = build_execute_sync(plan, key, variables)
    execute_plan = None if execute_sync else lambda context, payload: root(context, variables, payload)
    return build_selection(
        key, execute_sync, execute_plan, lambda: _executor(document, request, context), lambda: context
    )


async def _execute_payload(selection: Selection, payload: Any) -> bytes:
    if selection.execute_sync is not None:
        try:
            return selection.execute_sync(payload)
        except RequiresAsync:
            pass
    return await selection.execute_async(payload)


def _decode_ordered(encoded: bytes) -> Any:
    """Decode a result without its last brace, keeping the order of its keys."""
    return json.loads(encoded + b"}", object_pairs_hook=list)


@pytest.mark.parametrize("seed", SCALE.seeds)
@pytest.mark.parametrize("rate", RATES)
async def test_event_results_equal_those_of_graphql_core(seed: int, rate: float) -> None:
    documents = requests(SCHEMA.core, Random(f"events {seed} {rate}"), subscriptions=True)
    planned = 0
    for number, request in enumerate(islice(documents, SCALE.events)):
        document = DOCUMENTS.get(request.text, request.operation)
        plan = _plan(document, request)
        if plan is None:
            continue
        expected_payload, actual_payload = (_payload(plan, number, rate) for _ in range(2))
        context = GraphQLContext(_world(number, rate), Principal(Role.SYSTEM))  # type: ignore[arg-type]
        selection = _selection(document, plan, request, _world(number, rate))
        try:
            expected = await execute_with_graphql_core(_executor(document, request, context), expected_payload)
        except (
            TypeError
        ):  # of columns and the scalar JSON nothing is checked, and not all that is wrong has a form there
            with pytest.raises(TypeError):
                await _execute_payload(selection, actual_payload)
        else:
            assert _decode_ordered(await _execute_payload(selection, actual_payload)) == _decode_ordered(expected), (
                request,
                number,
            )
        planned += 1
    assert planned >= SCALE.events / 2


@pytest.mark.parametrize("value", [2**70, {"n": [-(2**64)]}, "\ud800"])
@pytest.mark.parametrize("text", ["{ extra }", "{ extra whole }"])
async def test_values_that_orjson_rejects_are_serialized(value: Any, text: str) -> None:
    broken = {"Limits.extra": lambda: value, "Limits.whole": lambda: None}
    world = World(SCHEMA, 4, broken=broken)
    payload = world.values.row(SCHEMA.core.type_map["Limits"], Random(4), "event")  # type: ignore[arg-type]
    request = Request(f"subscription {{ limitsSeen {text} }}", None, {})
    document = DOCUMENTS.get(request.text)
    plan = _plan(document, request)
    assert plan is not None
    response = json.loads(await _execute_payload(_selection(document, plan, request, world), payload) + b"}")
    assert response["data"]["limitsSeen"] == (None if "whole" in text else {"extra": value})
