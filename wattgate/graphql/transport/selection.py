"""What a subscriber has selected of a payload, as a function from payloads to bytes.

A payload is executed by the plan of the document, at once where that follows no edges. One that is not what its type
says goes to graphql-core, and so does everything where there is no plan.
"""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from graphql import ExecutionResult, GraphQLError, GraphQLField
from graphql.execution.collect_fields import FieldDetails, collect_fields
from graphql.execution.values import VariableValues

from wattgate.graphql.execution.compiled.engine import Plan
from wattgate.graphql.execution.executor import Executor
from wattgate.graphql.execution.pipeline import encode
from wattgate.graphql.execution.schema import tell_all
from wattgate.realtime.subscriptions.subscription import NotAtOnce, Selection


class RootField(NamedTuple):
    """The one field of a subscription: its key in the answer, its definition and where it stands in the document."""

    key: str
    definition: GraphQLField
    nodes: list[FieldDetails]


def root_field(executor: Executor) -> RootField:
    """What a subscription asks for. GraphQLError where directives have left nothing of it."""
    root = executor.schema.subscription_type
    assert root is not None  # the catalogue has subscriptions
    collected = collect_fields(
        executor.schema, executor.fragments, executor.variable_values, root, executor.operation
    ).grouped_field_set
    for key, nodes in collected.items():
        return RootField(key, root.fields[nodes[0].node.name.value], nodes)
    raise GraphQLError("the subscription selects nothing")


def at_once(plan: Plan | None, key: str, variables: VariableValues) -> Callable[[Any], bytes] | None:
    """The function that executes a selection which needs nothing but the payload; None where it needs more."""
    if plan is None or plan.slots[key].forks:
        return None
    root = plan.roots[key]

    def execute(payload: Any) -> bytes:
        try:
            return _data({key: root(None, variables, payload)})
        except Exception as error:
            raise NotAtOnce from error

    return execute


def selection_of(
    key: str,
    immediate: Callable[[Any], bytes] | None,
    planned: Callable[[Any], Awaitable[Any]] | None,
    executor: Callable[[], Executor],
) -> Selection:
    """The selection of a root field, by its key in the answer.

    `immediate` executes it at once where that can be, `planned` gives what the plan makes of a payload that has edges
    to follow, and `executor` serves all others.
    """
    ready: list[Executor] = []

    async def in_time(payload: Any) -> bytes:
        if planned is not None:
            try:
                return _data({key: await planned(payload)})
            except Exception:  # noqa: BLE001 (whatever is wrong, graphql-core says what)
                pass
        if not ready:
            ready.append(executor())
        return await by_graphql_core(ready[0], payload)

    return Selection(immediate, in_time, nothing=_data({key: None}))


async def by_graphql_core(executor: Executor, payload: Any) -> bytes:
    """What graphql-core makes of a payload, without the last brace. Errors are told in it."""
    result = executor.build_per_event_executor(payload).execute_operation(False)
    if inspect.isawaitable(result):
        result = await result
    assert isinstance(result, ExecutionResult)  # nothing is deferred in a subscription
    told: dict[str, Any] = {"data": result.data}
    if result.errors:
        told["errors"] = [error.formatted for error in tell_all(result.errors)]
    return encode(told)[:-1]


def _data(data: dict[str, Any]) -> bytes:
    return b'{"data":' + encode(data)
