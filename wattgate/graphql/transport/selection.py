"""The selection of a subscriber, as a function from event payloads to response bytes.

The compiled plan of the document executes a payload, synchronously if the selection has no edges. graphql-core executes
payloads that do not match their type, and all payloads of documents without a plan.
"""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from graphql import ExecutionResult, GraphQLError, GraphQLField
from graphql.execution.collect_fields import FieldDetails, collect_fields
from graphql.execution.values import VariableValues

from wattgate.graphql.execution.compiled.engine import Plan
from wattgate.graphql.execution.executor import Executor
from wattgate.graphql.execution.schema import normalize_errors
from wattgate.operations.core.context import GraphQLContext
from wattgate.realtime.subscriptions.subscription import RequiresAsync, Selection
from wattgate.values.stored_json import encode_json


class RootField(NamedTuple):
    """The only root field of a subscription: its response key, its definition and its nodes in the document."""

    key: str
    definition: GraphQLField
    nodes: list[FieldDetails]


def find_root_field(executor: Executor) -> RootField:
    """Return the root field of a subscription. Raise GraphQLError if directives exclude it."""
    root = executor.schema.subscription_type
    assert root is not None  # the schema always has subscriptions
    collected = collect_fields(
        executor.schema, executor.fragments, executor.variable_values, root, executor.operation
    ).grouped_field_set
    for key, nodes in collected.items():
        return RootField(key, root.fields[nodes[0].node.name.value], nodes)
    raise GraphQLError("the subscription selects nothing")


def find_compiled_root_field(plan: Plan | None) -> RootField | None:
    """Return the root field of a compiled subscription; None if graphql-core has to find it, or the error."""
    if plan is None or len(plan.fields) != 1:
        return None
    ((key, selected),) = plan.fields.items()
    return None if selected.field is None else RootField(key, selected.field, list(selected.nodes))


def build_execute_sync(plan: Plan | None, key: str, variables: VariableValues) -> Callable[[Any], bytes] | None:
    """Return a synchronous function for a selection that needs only the payload, or None if it has edges."""
    if plan is None or plan.fields[key].has_nested_edges:
        return None
    root = plan.roots[key]

    def execute(payload: Any) -> bytes:
        try:
            return _encode_data({key: root(None, variables, payload)})
        except Exception as error:
            raise RequiresAsync from error

    return execute


def build_selection(
    key: str,
    execute_sync: Callable[[Any], bytes] | None,
    execute_plan: Callable[[GraphQLContext, Any], Awaitable[Any]] | None,
    build_executor: Callable[[], Executor],
    build_context: Callable[[], GraphQLContext],
) -> Selection:
    """Return the selection of a root field, by its response key.

    `execute_sync` handles selections that need only the payload, `execute_plan` those with edges, and the executor of
    graphql-core all others and all payloads for which these fail. Each event has a context of its own.
    """
    executors: list[Executor] = []

    async def execute_async(payload: Any) -> bytes:
        context = build_context()
        if execute_plan is not None:
            try:
                return _encode_data({key: await execute_plan(context, payload)})
            except Exception:  # noqa: BLE001, S110 (graphql-core executes the payload below and reports the error)
                pass
        if not executors:
            executors.append(build_executor())
        executors[0].context_value = context
        return await execute_with_graphql_core(executors[0], payload)

    return Selection(execute_sync, execute_async, empty_result=_encode_data({key: None}), key=key)


async def execute_with_graphql_core(executor: Executor, payload: Any) -> bytes:
    """Execute a payload with graphql-core. Return its result and errors in JSON, without the last brace."""
    result = executor.build_per_event_executor(payload).execute_operation(False)
    if inspect.isawaitable(result):
        result = await result
    assert isinstance(result, ExecutionResult)  # subscriptions support no @defer
    response: dict[str, Any] = {"data": result.data}
    if result.errors:
        response["errors"] = [error.formatted for error in normalize_errors(result.errors)]
    return encode_json(response)[:-1]


def _encode_data(data: dict[str, Any]) -> bytes:
    return b'{"data":' + encode_json(data)
