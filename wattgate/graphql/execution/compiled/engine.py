"""Executes operations: by their plan where there is one, and by graphql-core wherever there is an error to tell."""

import asyncio
import inspect
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from graphql import (
    ExecutionResult,
    FragmentDefinitionNode,
    GraphQLError,
    GraphQLNonNull,
    OperationType,
    SelectionSetNode,
)
from graphql.execution.collect_fields import FragmentDetails
from graphql.execution.values import VariableValues, get_variable_values
from strawberry.execution.is_awaitable import optimized_is_awaitable

from wattgate.errors import GatewayError
from wattgate.graphql.core.context import Context
from wattgate.graphql.core.field_source import Refused
from wattgate.graphql.execution.compiled.arguments import Binder
from wattgate.graphql.execution.compiled.codegen import Checks, Root, write
from wattgate.graphql.execution.compiled.selection_tree import Shaper, Slot
from wattgate.graphql.execution.compiled.values import together
from wattgate.graphql.execution.compiled.variables import taken
from wattgate.graphql.execution.documents import Document, Invalid
from wattgate.graphql.execution.executor import Executor
from wattgate.graphql.execution.schema import MAX_TOLD, Schema, tell, tell_all

log = logging.getLogger(__name__)

MAX_FAILURES = 20
"""After how many failures in a row a plan is given up for a while: each costs what both ways cost together."""

OFF_SECONDS = 60.0
"""How long a plan is given up."""

FALLBACKS = 8
"""How many executions graphql-core does at once; one costs 20 to 60 times what its plan does."""

MAX_PLANS = 16
"""How many plans a document has, for values of the variables that its conditions name; other values have none."""


_is_awaitable: Any = optimized_is_awaitable  # which says what it is not, and is typed as saying less


class Executed(NamedTuple):
    """What came of an operation: its data, None where an error has reached the root, and the errors."""

    data: dict[str, Any] | None
    errors: Sequence[GraphQLError] = ()


@dataclass(slots=True)
class Plan:
    """What a document has been compiled to: its root fields with their functions."""

    roots: Mapping[str, Root]
    slots: Mapping[str, Slot]
    source: str
    failures: int = 0
    off_until: float = 0.0


class Engine:
    """Executes the operations of a schema whose fields are operations, edges and attributes.

    `compile_at` says at which use of a document it is compiled: what is asked only once is not worth it.
    """

    def __init__(self, schema: Schema, *, compile_at: int = 2, clock: Callable[[], float] = time.monotonic) -> None:
        self.schema = schema
        self._graphql = schema._schema
        self._checks = Checks(self._graphql)
        self._compile_at = compile_at
        self._clock = clock
        self._fallbacks = asyncio.Semaphore(FALLBACKS)

    def variables(self, document: Document, given: Mapping[str, Any] | None) -> VariableValues:
        """The values of an operation's variables. Invalid where one is not what its type says."""
        if document.variables is not None:
            known = taken(document.variables, given or {})
            if known is not None:
                return known
        declared = document.operation.variable_definitions or ()
        found = get_variable_values(
            self._graphql, declared, dict(given or {}), MAX_TOLD, hide_suggestions=self.schema.hides
        )
        if isinstance(found, list):
            raise Invalid(found)
        return found

    def plan(self, document: Document, variables: VariableValues) -> Plan | None:
        """The plan of an operation for these variables; None where graphql-core serves it."""
        document.uses += 1
        return self.compiled(document, variables) if document.uses >= self._compile_at else None

    def compiled(self, document: Document, variables: VariableValues) -> Plan | None:
        """The same, whether or not the document was used before."""
        key = tuple(variables.coerced.get(name) for name in document.conditions)
        if key not in document.plans:
            if len(document.plans) >= MAX_PLANS:
                return None
            document.plans[key] = self._compile(document, variables)
        plan: Plan | None = document.plans[key]
        return plan

    async def execute(
        self, call: Context, document: Document, variables: VariableValues, given: Mapping[str, Any] | None
    ) -> Executed:
        """Execute a query or mutation; the errors are told already.

        `given` are the variables as they came, which graphql-core wants itself.
        """
        plan = self.plan(document, variables)
        if plan is None or self._clock() < plan.off_until:
            async with self._fallbacks:
                return _told(await self._by_graphql_core(call, document, given))
        done: dict[str, Any] = {}
        try:
            executed = Executed(await self._run(plan, call, document, variables, done))
        except Exception as error:  # noqa: BLE001 (it is not hidden: whatever is wrong, graphql-core says what)
            expected = _expected(plan, call, error)
            if expected is not None:
                return expected
            self._count(plan)
            async with self._fallbacks:
                return _told(await self._go_on(plan, call, document, given, done))
        plan.failures = 0
        return executed

    async def _run(
        self, plan: Plan, call: Context, document: Document, variables: VariableValues, done: dict[str, Any]
    ) -> dict[str, Any]:
        """The data; what is complete stands in `done` too, in case of an error. Mutations wait for each other.

        A query's other fields are brought to their end where one fails: whoever goes on needs what they tell, and
        nothing has to run twice.
        """
        failed: list[Exception] = []

        async def complete(key: str, root: Root) -> None:
            try:
                done[key] = await root(call, variables)
            except Exception as error:  # noqa: BLE001 (it is raised below)
                failed.append(error)

        if document.kind is OperationType.MUTATION or len(plan.roots) == 1:
            for key, root in plan.roots.items():
                await complete(key, root)
                if failed:
                    break
        else:
            await together(*[complete(key, root) for key, root in plan.roots.items()])
        if failed:
            raise failed[0]
        return {key: done[key] for key in plan.roots}

    async def _go_on(
        self, plan: Plan, call: Context, document: Document, given: Mapping[str, Any] | None, done: Mapping[str, Any]
    ) -> Executed:
        """What graphql-core makes of the root fields that are not complete, one by one.

        An operation that has run does not run again: `call` knows what it gave. Fields that are complete stay as they
        are, because later mutations may have changed what they told.
        """
        data: dict[str, Any] = {}
        errors: list[GraphQLError] = []
        for key, slot in plan.slots.items():
            if key in done:
                data[key] = done[key]
                continue
            executed = await self._by_graphql_core(call, _alone(document, slot), given)
            errors.extend(executed.errors)
            if executed.data is None:
                return Executed(None, errors)
            data.update(executed.data)
        return Executed(data, errors)

    async def _by_graphql_core(self, call: Context, document: Document, given: Mapping[str, Any] | None) -> Executed:
        executor = Executor.build(
            self._graphql,
            document.node,
            context_value=call,
            raw_variable_values=dict(given or {}),
            operation_name=document.name,
            is_awaitable=_is_awaitable,
            hide_suggestions=self.schema.hides,
        )
        if isinstance(executor, list):
            raise Invalid(executor)
        result = executor.execute_operation()
        if inspect.isawaitable(result):
            result = await result
        assert isinstance(result, ExecutionResult)  # the schema has no @defer
        return Executed(result.data, result.errors or ())

    def _count(self, plan: Plan) -> None:
        plan.failures += 1
        if plan.failures >= MAX_FAILURES:
            plan.failures, plan.off_until = 0, self._clock() + OFF_SECONDS

    def _compile(self, document: Document, variables: VariableValues) -> Plan | None:
        try:
            root = Shaper(self._graphql, _fragments(document), document.operation, variables).root()
            binder = Binder(self.schema.schema_converter.scalar_registry, self.schema.config, document.operation)
            written = write(root, self._checks, binder)
        except Exception as error:  # noqa: BLE001 (what cannot be compiled is served all the same)
            log.log(
                logging.DEBUG if isinstance(error, Refused | GraphQLError) else logging.WARNING,
                "not compiled: %s",
                error,
            )
            return None
        return Plan(written.roots, {slot.key: slot for slot in root.slots}, written.source)


def _told(executed: Executed) -> Executed:
    return Executed(executed.data, tell_all(executed.errors))


def _fragments(document: Document) -> dict[str, FragmentDetails]:
    found = [one for one in document.node.definitions if isinstance(one, FragmentDefinitionNode)]
    if any(one.variable_definitions for one in found):
        raise Refused("its fragments have variables")
    return {one.name.value: FragmentDetails(one) for one in found}


def _alone(document: Document, slot: Slot) -> Document:
    """A document of one root field of another one."""
    selected = SelectionSetNode(selections=tuple(one.node for one in slot.nodes))
    operation = replace(document.operation, selection_set=selected)
    definitions = tuple(operation if one is document.operation else one for one in document.node.definitions)
    return Document(replace(document.node, definitions=definitions), operation, document.name, (), document.cost)


def _expected(plan: Plan, call: Context, error: Exception) -> Executed | None:
    """What is told where the only operation has refused: its error is known, and where it stands."""
    if len(plan.slots) != 1 or not isinstance(error, GatewayError):
        return None
    ((key, slot),) = plan.slots.items()
    if slot.field is None or call.answers.get(key) is not error:
        return None
    told = GraphQLError(error.message, [one.node for one in slot.nodes], path=[key], original_error=error)
    tell(told)
    return Executed(None if isinstance(slot.field.type, GraphQLNonNull) else {key: None}, [told])
