"""graphql-core's `execute` implemented by plans for any schema, so that its own tests can run against plans.

Every field becomes an edge that calls the resolver of the field for one parent after the other. A root field becomes an
operation that calls it for the root value. This module imports nothing from the tests, because the tests of
graphql-core are in a package with the same name.
"""

import asyncio
import inspect
from collections import Counter
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import graphql.execution as execution
from graphql import (
    DocumentNode,
    ExecutionResult,
    FieldNode,
    GraphQLField,
    GraphQLObjectType,
    GraphQLSchema,
    OperationType,
    get_operation_ast,
)
from graphql.execution import VariableValues, get_argument_values, get_variable_values
from strawberry.execution.is_awaitable import optimized_is_awaitable

from wattgate.graphql.execution.compiled import engine, selection_tree
from wattgate.graphql.execution.compiled.arguments import (
    NO_ARGUMENTS,
    NO_VARIABLES,
    Arguments,
    BindArguments,
    contains_variable,
)
from wattgate.graphql.execution.documents.documents import Document
from wattgate.operations.core.fields import FieldSource
from wattgate.operations.core.operation import Operation, OperationKind
from wattgate.operations.vocabulary.node import EdgeField
from wattgate.principal import Permission, Principal, Role

ORIGINAL_EXECUTE = execution.execute
SUPPORTED_ARGUMENTS = frozenset({"root_value", "context_value", "variable_values", "operation_name"})
"""The arguments of `execute` that plans support. graphql-core handles calls with others."""

COUNTS: Counter[str] = Counter()
"""The number of executions that were compiled, fell back, or were not compiled."""


def resolver_source_of(kind: GraphQLObjectType, field_definition: GraphQLField) -> EdgeField:
    """Return an edge for any field."""

    async def resolve_one(call: "Call", source: Any, arguments: Mapping[str, Any]) -> Any:
        info: Any = SimpleNamespace(
            field_name=next(name for name, definition in kind.fields.items() if definition is field_definition),
            parent_type=kind,
            return_type=field_definition.type,
            schema=call.schema,
            context=call.context,
            root_value=call.root,
            is_awaitable=optimized_is_awaitable,
        )
        value = (field_definition.resolve or execution.default_field_resolver)(source, info, **arguments)
        return await value if inspect.isawaitable(value) else value

    async def load(call: "Call", parents: Sequence[Any], **arguments: Any) -> list[Any]:
        results = []
        for parent in parents:
            try:
                results.append(await resolve_one(call, parent, arguments))
            except Exception as error:  # noqa: BLE001 (it is the result of the edge)
                results.append(error)
        return results

    return EdgeField(load, Permission.ANYONE)


class OperationTreeBuilder(selection_tree.SelectionTreeBuilder):
    """Turns root fields into operations."""

    def build(self) -> selection_tree.ObjectSelection:
        selection = super().build()
        fields = (replace(selected, source=_operation(selected.source)) for selected in selection.fields)
        return replace(selection, fields=tuple(fields))


def _operation(source: FieldSource) -> FieldSource:
    if not isinstance(source, EdgeField):
        return source
    load = source.load

    async def resolve(call: "Call", **arguments: Any) -> Any:
        (result,) = await load(call, [call.root], **arguments)
        if isinstance(result, Exception):
            raise result
        return result

    return Operation("root", OperationKind.QUERY, resolve, None, Permission.ANYONE, "")


class CoercingArgumentBinder:
    """Binds arguments as graphql-core coerces them, without converting them."""

    def __init__(self, *_declared: Any) -> None:
        pass

    def bind(self, field_definition: GraphQLField, node: FieldNode) -> Arguments | BindArguments:
        if not field_definition.args:
            return NO_ARGUMENTS
        if any(contains_variable(argument.value) for argument in node.arguments or ()):
            return lambda variables: get_argument_values(field_definition, node, variables)
        return get_argument_values(field_definition, node, NO_VARIABLES)


@dataclass
class Call:
    """The context of a plan."""

    schema: GraphQLSchema
    root: Any
    context: Any
    operation_results: dict[str, Any] = field(default_factory=dict)
    charge: None = None
    principal: Principal = field(default_factory=lambda: Principal(Role.ANONYMOUS))

    async def run_operation(
        self,
        key: str,
        operation: Operation,
        arguments: Mapping[str, Any],
        node_id: int | None = None,
        selected: frozenset[str] | None = None,
    ) -> Any:
        try:
            self.operation_results[key] = await operation.resolver(self, **arguments)
        except Exception as error:
            self.operation_results[key] = error
            raise
        return self.operation_results[key]

    def resolve(self, resolve: Callable[..., Any], source: Any, info: Any, **arguments: Any) -> Any:
        """A middleware of graphql-core that returns the known result of a root field instead of computing it again."""
        if info.path.prev is None and info.path.key in self.operation_results:
            return self.operation_results[info.path.key]
        return resolve(source, info, **arguments)

    async def load_all(
        self, edge: EdgeField, arguments: Mapping[str, Any], parents: Sequence[Any], node_id: int | None = None
    ) -> list[Any]:
        return await edge.load(self, parents, **arguments)


class Engine(engine.ExecutionEngine):
    """An engine that falls back to the original `execute` of graphql-core."""

    async def _execute_with_graphql_core(
        self, call: Any, document: Document, raw_variables: Any, variables: Any
    ) -> engine.ExecutionOutcome:
        arguments = (self._graphql, document.node, call.root, call.context, raw_variables, document.name)
        result: Any = ORIGINAL_EXECUTE(*arguments, middleware=[call])
        if inspect.isawaitable(result):
            result = await result
        COUNTS["fell back"] += 1
        return engine.ExecutionOutcome(result.data, result.errors or ())


def _start(schema: GraphQLSchema, document: DocumentNode, *more: Any, **named: Any) -> Any:
    """Return the result of graphql-core if there is no plan, else a coroutine."""
    named |= zip(("root_value", "context_value", "variable_values", "operation_name"), more, strict=False)
    operation = get_operation_ast(document, named.get("operation_name"))
    if (
        not named.keys() <= SUPPORTED_ARGUMENTS
        or operation is None
        or operation.operation is OperationType.SUBSCRIPTION
    ):
        COUNTS["not compiled"] += 1
        return ORIGINAL_EXECUTE(schema, document, **named)
    raw_variables = named.get("variable_values")
    variables = get_variable_values(schema, operation.variable_definitions or (), raw_variables or {})
    if not isinstance(variables, VariableValues):
        COUNTS["not compiled"] += 1
        return ORIGINAL_EXECUTE(schema, document, **named)
    new_document = Document(document, operation, named.get("operation_name"), (), None)  # type: ignore[arg-type] # without cost
    return _execute_plan(
        schema,
        new_document,
        variables,
        raw_variables,
        Call(schema, named.get("root_value"), named.get("context_value")),
    )


def execute(*arguments: Any, **named: Any) -> Any:
    """Replace graphql-core's `execute`: return the result if nothing has to be awaited, else an awaitable."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return execute_sync(*arguments, **named)
    result = _start(*arguments, **named)
    if not inspect.iscoroutine(result):
        return result
    try:
        return PendingResult(result, result.send(None))
    except StopIteration as stopped:
        return CompletedResult(stopped.value.data, stopped.value.errors)


class CompletedResult(ExecutionResult):
    """A completed result that can also be awaited, because plans return no other kind."""

    def __eq__(self, other: object) -> bool:
        return ExecutionResult(self.data, self.errors) == other

    __hash__ = None  # type: ignore[assignment]

    def __await__(self) -> Generator[Any, Any, ExecutionResult]:
        return ExecutionResult(self.data, self.errors)
        yield


class PendingResult:
    """A started coroutine that waits for something."""

    def __init__(self, work: Coroutine[Any, Any, Any], waits_for: Any) -> None:
        self._work = work
        self._waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, Any]:
        waits_for = self._waits_for
        while True:
            try:
                value = yield waits_for
            except BaseException as error:  # noqa: BLE001 (it is passed to the coroutine)
                step = partial(self._work.throw, error)
            else:
                step = partial(self._work.send, value)
            try:
                waits_for = step()
            except StopIteration as stopped:
                return stopped.value


def execute_sync(*arguments: Any, **named: Any) -> Any:
    """Replace graphql-core's `execute_sync`, with or without a running loop."""
    result = _start(*arguments, **named)
    if not inspect.iscoroutine(result):
        return result
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(asyncio.run, result).result()


async def _execute_plan(
    schema: GraphQLSchema, document: Document, variables: Any, raw_variables: Any, call: Call
) -> Any:
    schema_adapter: Any = SimpleNamespace(core=schema, hides_introspection=False)
    plan_engine = Engine(schema_adapter, compile_at=1)
    if plan_engine.get_or_compile(document, variables) is None:
        COUNTS["not compiled"] += 1
    before = COUNTS.total()
    outcome = await plan_engine.execute(call, document, variables, raw_variables)  # type: ignore[arg-type]
    if COUNTS.total() == before:
        COUNTS["compiled"] += 1
    return ExecutionResult(outcome.data, list(outcome.errors) or None)


PATCHES: tuple[tuple[Any, str, Any], ...] = (
    (selection_tree, "field_source_of", resolver_source_of),
    (engine, "FieldArgumentBinder", CoercingArgumentBinder),
    (engine, "SelectionTreeBuilder", OperationTreeBuilder),
    (engine, "normalize_errors", list),  # errors stay unchanged
)
"""The patches for plans of other schemas than that of the gateway."""


def install() -> None:
    """Replace the execution of graphql-core by plans, before its tests import it."""
    for module, name, value in PATCHES:
        setattr(module, name, value)
    execution.execute, execution.execute_sync = execute, execute_sync
