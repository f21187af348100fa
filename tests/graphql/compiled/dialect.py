"""graphql-core's `execute` by way of plans, for schemas that are not ours: what its own tests need to try them.

Every field is an edge that calls the field's resolver for one parent after the other; a root field is an operation
that does so for the root value. This module imports nothing of the tests: those of graphql-core have a package of the
same name.
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
from graphql.execution.values import VariableValues, get_argument_values, get_variable_values
from strawberry.execution.is_awaitable import optimized_is_awaitable

from wattgate.graphql.core.edge import Edge
from wattgate.graphql.core.field_source import Reach
from wattgate.graphql.core.operation import Kind, Operation
from wattgate.graphql.execution.compiled import engine, selection_tree
from wattgate.graphql.execution.compiled.arguments import NO_VARIABLES, NOTHING, Arguments, Bind, names_variable
from wattgate.graphql.execution.documents import Document
from wattgate.principal import Permission

EXECUTE = execution.execute
KNOWN = frozenset({"root_value", "context_value", "variable_values", "operation_name"})
"""The arguments of `execute` that a plan can do with; with others graphql-core executes."""

TALLY: Counter[str] = Counter()
"""How many executions were compiled, fell back, or were not compiled."""


def reach_of(kind: GraphQLObjectType, one: GraphQLField) -> Edge:
    """Any field is an edge."""

    async def told(call: "Call", source: Any, arguments: Mapping[str, Any]) -> Any:
        info: Any = SimpleNamespace(
            field_name=next(name for name, known in kind.fields.items() if known is one),
            parent_type=kind,
            return_type=one.type,
            schema=call.schema,
            context=call.context,
            root_value=call.root,
            is_awaitable=optimized_is_awaitable,
        )
        value = (one.resolve or execution.default_field_resolver)(source, info, **arguments)
        return await value if inspect.isawaitable(value) else value

    async def load(call: "Call", parents: Sequence[Any], **arguments: Any) -> list[Any]:
        found = []
        for parent in parents:
            try:
                found.append(await told(call, parent, arguments))
            except Exception as error:  # noqa: BLE001 (it is what the edge gives)
                found.append(error)
        return found

    return Edge(load, Permission.ANYONE)


class Shaper(selection_tree.Shaper):
    """Makes operations of the root's fields."""

    def root(self) -> selection_tree.Selected:
        found = super().root()
        slots = (replace(one, reach=_operation(one.reach)) for one in found.slots)
        return replace(found, slots=tuple(slots))


def _operation(reach: Reach) -> Reach:
    if not isinstance(reach, Edge):
        return reach
    load = reach.load

    async def resolve(call: "Call", **arguments: Any) -> Any:
        (found,) = await load(call, [call.root], **arguments)
        if isinstance(found, Exception):
            raise found
        return found

    return Operation("root", Kind.QUERY, resolve, None, Permission.ANYONE, "")


class Binder:
    """Binds arguments as graphql-core coerces them, without converting them."""

    def __init__(self, *_declared: Any) -> None:
        pass

    def bind(self, one: GraphQLField, node: FieldNode) -> Arguments | Bind:
        if not one.args:
            return NOTHING
        if any(names_variable(given.value) for given in node.arguments or ()):
            return lambda variables: get_argument_values(one, node, variables)
        return get_argument_values(one, node, NO_VARIABLES)


@dataclass
class Call:
    """What plans call."""

    schema: GraphQLSchema
    root: Any
    context: Any
    answers: dict[str, Any] = field(default_factory=dict)

    async def answer(self, key: str, operation: Operation, arguments: Mapping[str, Any]) -> Any:
        try:
            self.answers[key] = await operation.resolver(self, **arguments)
        except Exception as error:
            self.answers[key] = error
            raise
        return self.answers[key]

    def resolve(self, resolve: Callable[..., Any], source: Any, info: Any, **arguments: Any) -> Any:
        """As a middleware of graphql-core: what a root field has given is not asked for again."""
        if info.path.prev is None and info.path.key in self.answers:
            return self.answers[info.path.key]
        return resolve(source, info, **arguments)

    async def load_all(self, edge: Edge, arguments: Mapping[str, Any], parents: Sequence[Any]) -> list[Any]:
        return await edge.load(self, parents, **arguments)


class Engine(engine.Engine):
    """Falls back to graphql-core's own `execute`."""

    async def _by_graphql_core(self, call: Any, document: Document, given: Any) -> engine.Executed:
        asked = (self._graphql, document.node, call.root, call.context, given, document.name)
        result: Any = EXECUTE(*asked, middleware=[call])
        if inspect.isawaitable(result):
            result = await result
        TALLY["fell back"] += 1
        return engine.Executed(result.data, result.errors or ())


def _begun(schema: GraphQLSchema, document: DocumentNode, *more: Any, **named: Any) -> Any:
    """The result of graphql-core where no plan is made, or else a coroutine."""
    named |= zip(("root_value", "context_value", "variable_values", "operation_name"), more, strict=False)
    operation = get_operation_ast(document, named.get("operation_name"))
    if not named.keys() <= KNOWN or operation is None or operation.operation is OperationType.SUBSCRIPTION:
        TALLY["not compiled"] += 1
        return EXECUTE(schema, document, **named)
    given = named.get("variable_values")
    variables = get_variable_values(schema, operation.variable_definitions or (), given or {})
    if not isinstance(variables, VariableValues):
        TALLY["not compiled"] += 1
        return EXECUTE(schema, document, **named)
    made = Document(document, operation, named.get("operation_name"), (), None)  # type: ignore[arg-type] # priceless
    return _executed(schema, made, variables, given, Call(schema, named.get("root_value"), named.get("context_value")))


def execute(*asked: Any, **named: Any) -> Any:
    """graphql-core's `execute`: the result where nothing has to be awaited, or else what gives it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return execute_sync(*asked, **named)
    result = _begun(*asked, **named)
    if not inspect.iscoroutine(result):
        return result
    try:
        return Rest(result, result.send(None))
    except StopIteration as done:
        return Done(done.value.data, done.value.errors)


class Done(ExecutionResult):
    """A result that is there already, and can be awaited: plans have no other shape for either."""

    def __eq__(self, other: object) -> bool:
        return ExecutionResult(self.data, self.errors) == other

    __hash__ = None  # type: ignore[assignment]

    def __await__(self) -> Generator[Any, Any, ExecutionResult]:
        return ExecutionResult(self.data, self.errors)
        yield


class Rest:
    """What is left of a coroutine that waits for something."""

    def __init__(self, work: Coroutine[Any, Any, Any], waits_for: Any) -> None:
        self._work = work
        self._waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, Any]:
        waits_for = self._waits_for
        while True:
            try:
                given = yield waits_for
            except BaseException as error:  # noqa: BLE001 (it is the coroutine's)
                step = partial(self._work.throw, error)
            else:
                step = partial(self._work.send, given)
            try:
                waits_for = step()
            except StopIteration as done:
                return done.value


def execute_sync(*asked: Any, **named: Any) -> Any:
    """graphql-core's `execute_sync`, whether or not there is a loop."""
    result = _begun(*asked, **named)
    if not inspect.iscoroutine(result):
        return result
    with ThreadPoolExecutor(1) as other:
        return other.submit(asyncio.run, result).result()


async def _executed(schema: GraphQLSchema, document: Document, variables: Any, given: Any, call: Call) -> Any:
    strange: Any = SimpleNamespace(
        _schema=schema, hides=False, config=None, schema_converter=SimpleNamespace(scalar_registry={})
    )
    runs = Engine(strange, compile_at=1)
    if runs.compiled(document, variables) is None:
        TALLY["not compiled"] += 1
    before = TALLY.total()
    executed = await runs.execute(call, document, variables, given)  # type: ignore[arg-type]
    if TALLY.total() == before:
        TALLY["compiled"] += 1
    return ExecutionResult(executed.data, list(executed.errors) or None)


PATCHES: tuple[tuple[Any, str, Any], ...] = (
    (selection_tree, "reach_of", reach_of),
    (engine, "Binder", Binder),
    (engine, "Shaper", Shaper),
    (engine, "tell_all", list),  # errors are told as they are
)
"""What is otherwise in plans of schemas that are not ours."""


def install() -> None:
    """Put plans in the place of graphql-core's execution, before its tests import it."""
    for module, name, value in PATCHES:
        setattr(module, name, value)
    execution.execute, execution.execute_sync = execute, execute_sync
