"""Execution of operations: by compiled plan where there is one, and by graphql-core to report errors."""

import inspect
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from graphql import (
    DocumentNode,
    ExecutionResult,
    FragmentDefinitionNode,
    GraphQLError,
    OperationType,
    SelectionSetNode,
)
from graphql.execution import VariableValues
from graphql.execution.collect_fields import FragmentDetails

from wattgate.errors import GatewayError
from wattgate.graphql.execution.audience_schemas import schema_for_role
from wattgate.graphql.execution.compiled.arguments import FieldArgumentBinder
from wattgate.graphql.execution.compiled.codegen import RootFunction, TypeChecks, generate_functions
from wattgate.graphql.execution.compiled.selection_tree import SelectedField, SelectionTreeBuilder
from wattgate.graphql.execution.compiled.value_bounds import BoundValues, bound_response
from wattgate.graphql.execution.compiled.values import gather_or_cancel
from wattgate.graphql.execution.documents.document_queue import DocumentQueue
from wattgate.graphql.execution.documents.documents import Document, InvalidRequest
from wattgate.graphql.execution.documents.variables import coerce_variables
from wattgate.graphql.execution.executor import Executor
from wattgate.graphql.execution.input_conversion import list_enum_values
from wattgate.graphql.execution.schema import MAX_REPORTED_ERRORS, Schema, normalize_errors
from wattgate.operations.core.context import GraphQLContext
from wattgate.operations.core.fields import NotCompilable
from wattgate.operations.vocabulary.strawberry_adapter import optimized_is_awaitable
from wattgate.principal import Principal
from wattgate.requests.fair_share import FairShare, owner_of_caller, run_in_thread

log = logging.getLogger(__name__)

MAX_PLAN_FAILURES = 20
"""Consecutive failures after which a plan is disabled for a while.

A failure costs the time of the plan and that of graphql-core.
"""

PLAN_DISABLED_SECONDS = 60.0
"""Time in seconds for which a failing plan is disabled."""

MAX_CONCURRENT_FALLBACKS = 8
"""Maximum number of concurrent executions by graphql-core. One costs 20 to 60 times as much as its plan."""

MAX_OWNER_FALLBACKS = 6
"""Maximum number of them for one application: they wait for its database connections, and others must not."""

MAX_PLANS_PER_DOCUMENT = 16
"""Maximum number of plans of a document, for different values of the variables in its directives.

Other values have none.
"""


MIN_COMPILED_COST = 500
"""Estimated cost from which a document is compiled at its first use.

graphql-core would take many times the time that the cost stands for, and compilation takes a few milliseconds.
"""

_is_awaitable: Any = optimized_is_awaitable  # Any, because graphql-core expects a type guard


class ExecutionOutcome(NamedTuple):
    """The result of an operation: its data, None if an error has reached the root, and its errors.

    `bound_values` returns an upper bound of the number of values in the data, if the operation has one.
    """

    data: dict[str, Any] | None
    errors: Sequence[GraphQLError] = ()
    bound_values: BoundValues | None = None


@dataclass(slots=True)
class Plan:
    """The compiled form of a document: its root fields and their functions, by response key."""

    roots: Mapping[str, RootFunction]
    fields: Mapping[str, SelectedField]
    source: str
    bound_values: BoundValues | None = None
    failures: int = 0
    disabled_until: float = 0.0


class ExecutionEngine:
    """Executes the operations of a schema whose fields are operations, edges and attributes.

    A document is compiled when it is used for the `compile_at`-th time, because one that is used once is not worth it,
    unless it costs at least MIN_COMPILED_COST. Long documents are compiled in the thread of `document_queue`.
    """

    def __init__(
        self,
        schema: Schema,
        *,
        compile_at: int = 2,
        clock: Callable[[], float] = time.monotonic,
        document_queue: DocumentQueue | None = None,
    ) -> None:
        self.schema = schema
        self._graphql = schema.core
        self._checks = TypeChecks(self._graphql)
        self._compile_at = compile_at
        self._clock = clock
        self.document_queue = document_queue or DocumentQueue()
        self._fallbacks = FairShare(MAX_CONCURRENT_FALLBACKS, share=MAX_OWNER_FALLBACKS)

    def coerce_variables(self, document: Document, raw_variables: Mapping[str, Any] | None) -> VariableValues:
        """Return the values of an operation's variables. Raise InvalidRequest if one does not match its type."""
        result = coerce_variables(
            self._graphql,
            document.operation,
            document.decoded_variables,
            raw_variables or {},
            max_errors=MAX_REPORTED_ERRORS,
            hide_suggestions=self.schema.hides_introspection,
        )
        if isinstance(result, list):
            raise InvalidRequest(list_enum_values(result, self._graphql))
        return result

    def _count_use(self, document: Document, cost: int) -> bool:
        """Count the use of a document. Return whether it is worth a plan."""
        document.use_count += 1
        return document.use_count >= self._compile_at or cost >= MIN_COMPILED_COST

    def get_or_compile(self, document: Document, variables: VariableValues) -> Plan | None:
        """Return the plan of an operation for these variables even if this is the first use of the document."""
        key = _plan_key(document, variables)
        if key not in document.plans:
            if len(document.plans) >= MAX_PLANS_PER_DOCUMENT:
                return None
            document.plans[key] = self._compile(document, variables)
        plan: Plan | None = document.plans[key]
        return plan

    async def compile_in_turn(self, principal: Principal, document: Document, variables: VariableValues) -> Plan | None:
        """Return the plan as `get_or_compile` does. A long document is compiled in a thread, in the turn of the caller.

        Raise as `DocumentQueue.run` does.
        """
        work = partial(self.get_or_compile, document, variables)
        if not document.is_long or _plan_key(document, variables) in document.plans:
            return work()
        return await self.document_queue.run(principal, work, is_long=True)

    async def execute(
        self,
        context: GraphQLContext,
        document: Document,
        variables: VariableValues,
        raw_variables: Mapping[str, Any] | None,
    ) -> ExecutionOutcome:
        """Execute a query or mutation. The returned errors are normalized and logged.

        `raw_variables` are the variables as the client sent them, for subclasses.
        """
        cost = 0 if context.charge is None else context.charge.estimated
        is_compiled = self._count_use(document, cost)
        plan = await self.compile_in_turn(context.principal, document, variables) if is_compiled else None
        if plan is None or (plan.disabled_until and self._clock() < plan.disabled_until):
            async with self._fallbacks.slot(owner_of_caller(context.principal)):
                return _normalize_outcome(
                    await self._execute_with_graphql_core(context, document, raw_variables, variables)
                )
        completed: dict[str, ExecutionOutcome] = {}
        try:
            if len(plan.roots) == 1:
                outcome = await self._run_single(plan, context, variables)
            else:
                outcome = await self._run_plan(plan, context, document, variables, completed)
            plan.failures = 0
        except Exception:  # noqa: BLE001 (graphql-core executes the failed fields again and reports their errors)
            if _is_refused(document, context):
                return ExecutionOutcome(None)
            self._record_failure(plan)
            async with self._fallbacks.slot(owner_of_caller(context.principal)):
                outcome = await self._resume_with_graphql_core(
                    plan, context, document, raw_variables, completed, variables
                )
        return ExecutionOutcome(None) if _is_refused(document, context) else _normalize_outcome(outcome)

    async def _run_plan(
        self,
        plan: Plan,
        context: GraphQLContext,
        document: Document,
        variables: VariableValues,
        completed: dict[str, ExecutionOutcome],
    ) -> ExecutionOutcome:
        """Return the outcome of a plan. Also store that of each complete field in `completed`, in case of an error.

        An operation that raises a GatewayError completes its field with null and this error. For any other error,
        graphql-core has to execute the field. Mutations run one after another. If a field of a query fails, the others
        run to their end, so that graphql-core can use their results and nothing runs twice.
        """
        errors: list[Exception] = []

        async def complete(key: str, root: RootFunction) -> None:
            try:
                completed[key] = ExecutionOutcome({key: await root(context, variables)})
            except Exception as error:  # noqa: BLE001 (it is raised below)
                rejection = _rejection_outcome(plan, key, context, error)
                if rejection is None:
                    errors.append(error)
                else:
                    completed[key] = rejection

        if document.kind is OperationType.MUTATION:
            for key, root in plan.roots.items():
                await complete(key, root)
                if errors:
                    break
        else:
            await gather_or_cancel(*[complete(key, root) for key, root in plan.roots.items()])
        if errors:
            raise errors[0]
        return _join_outcomes(completed[key] for key in plan.roots)._replace(bound_values=plan.bound_values)

    async def _run_single(self, plan: Plan, context: GraphQLContext, variables: VariableValues) -> ExecutionOutcome:
        """Return the outcome of a plan with one root field, as `_run_plan` does."""
        ((key, root),) = plan.roots.items()
        try:
            return ExecutionOutcome({key: await root(context, variables)}, (), plan.bound_values)
        except Exception as error:
            rejection = _rejection_outcome(plan, key, context, error)
            if rejection is None:
                raise
            return rejection

    async def _resume_with_graphql_core(
        self,
        plan: Plan,
        context: GraphQLContext,
        document: Document,
        raw_variables: Mapping[str, Any] | None,
        completed: Mapping[str, ExecutionOutcome],
        variables: VariableValues,
    ) -> ExecutionOutcome:
        """Execute the root fields that are not complete with graphql-core, one by one.

        Operations that have run do not run again: `context` has their results. Completed fields stay unchanged, because
        later mutations may have changed the data that they returned.
        """
        outcomes = [
            completed.get(key)
            or await self._execute_with_graphql_core(
                context, _single_field_document(document, selected), raw_variables, variables
            )
            for key, selected in plan.fields.items()
        ]
        return _join_outcomes(outcomes)

    async def _execute_with_graphql_core(
        self,
        context: GraphQLContext,
        document: Document,
        raw_variables: Mapping[str, Any] | None,
        variables: VariableValues,
    ) -> ExecutionOutcome:
        """Execute a document with graphql-core, with the variables that are already coerced: that may take seconds."""
        is_introspection = _reads_the_schema_only(document)
        role = context.principal.role
        executor = Executor.build(
            await run_in_thread(partial(schema_for_role, self.schema, role)) if is_introspection else self._graphql,
            _without_variable_definitions(document),
            context_value=context,
            operation_name=document.name,
            is_awaitable=_is_awaitable,
            hide_suggestions=self.schema.hides_introspection,
        )
        if isinstance(executor, list):
            raise InvalidRequest(executor)
        executor.variable_values = variables
        if is_introspection:  # it waits for nothing, and the whole schema takes a quarter of a second
            result = await run_in_thread(executor.execute_operation)
        else:
            result = executor.execute_operation()
        if inspect.isawaitable(result):
            result = await result
        assert isinstance(result, ExecutionResult)  # the schema has no @defer
        return ExecutionOutcome(result.data, result.errors or ())

    def _record_failure(self, plan: Plan) -> None:
        plan.failures += 1
        if plan.failures >= MAX_PLAN_FAILURES:
            plan.failures, plan.disabled_until = 0, self._clock() + PLAN_DISABLED_SECONDS

    def _compile(self, document: Document, variables: VariableValues) -> Plan | None:
        try:
            root = SelectionTreeBuilder(self._graphql, _fragments(document), document.operation, variables).build()
            binder = FieldArgumentBinder(self.schema, document.operation)
            functions = generate_functions(root, self._checks, binder)
        except Exception as error:  # noqa: BLE001 (graphql-core executes documents that cannot be compiled)
            log.log(
                logging.DEBUG if isinstance(error, NotCompilable | GraphQLError) else logging.WARNING,
                "Document not compiled, graphql-core executes it: %s",
                error,
            )
            return None
        fields = {selected.key: selected for selected in root.fields}
        return Plan(functions.roots, fields, functions.source, bound_response(root))


def _normalize_outcome(outcome: ExecutionOutcome) -> ExecutionOutcome:
    return ExecutionOutcome(outcome.data, normalize_errors(outcome.errors)) if outcome.errors else outcome


def _plan_key(document: Document, variables: VariableValues) -> tuple[Any, ...]:
    """Return the key of a plan: the values of the variables in directives."""
    return tuple([variables.coerced.get(name) for name in document.condition_variables])


def _reads_the_schema_only(document: Document) -> bool:
    """Return whether all root fields are introspection, and one of them describes types."""
    names = {field.nodes[0].name.value for field in document.root_fields}
    return bool(names & {"__schema", "__type"}) and all(field.operation is None for field in document.root_fields)


def _fragments(document: Document) -> dict[str, FragmentDetails]:
    definitions = [
        definition for definition in document.node.definitions if isinstance(definition, FragmentDefinitionNode)
    ]
    if any(definition.variable_definitions for definition in definitions):
        raise NotCompilable("its fragments have variables")
    return {definition.name.value: FragmentDetails(definition) for definition in definitions}


def _without_variable_definitions(document: Document) -> DocumentNode:
    """Return the document without the variables of its operation, so that graphql-core does not coerce them."""
    if not document.operation.variable_definitions:
        return document.node
    operation = replace(document.operation, variable_definitions=())
    return replace(
        document.node,
        definitions=tuple(
            operation if definition is document.operation else definition for definition in document.node.definitions
        ),
    )


def _single_field_document(document: Document, selected: SelectedField) -> Document:
    """Return a document with only one root field of another one."""
    selection_set = SelectionSetNode(selections=tuple(details.node for details in selected.nodes))
    operation = replace(document.operation, selection_set=selection_set)
    definitions = tuple(
        operation if definition is document.operation else definition for definition in document.node.definitions
    )
    return Document(replace(document.node, definitions=definitions), operation, document.name, (), document.cost)


def _rejection_outcome(plan: Plan, key: str, context: GraphQLContext, error: Exception) -> ExecutionOutcome | None:
    """Return the outcome of a root field whose operation raised an error, or None if graphql-core has to report it."""
    if not isinstance(error, GatewayError) or context.operation_results.get(key) is not error:
        return None
    nodes = [details.node for details in plan.fields[key].nodes]
    return ExecutionOutcome({key: None}, [GraphQLError(error.message, nodes, path=[key], original_error=error)])


def _join_outcomes(outcomes: Iterable[ExecutionOutcome]) -> ExecutionOutcome:
    """Return the outcome of an operation from those of its root fields, in order."""
    data: dict[str, Any] = {}
    errors: list[GraphQLError] = []
    for outcome in outcomes:
        errors.extend(outcome.errors)
        if outcome.data is None:
            return ExecutionOutcome(None, errors)
        data.update(outcome.data)
    return ExecutionOutcome(data, errors)


def _is_refused(document: Document, context: GraphQLContext) -> bool:
    """Return whether a query costs too much. The pipeline reports the refusal in place of the outcome."""
    return document.kind is OperationType.QUERY and context.charge is not None and context.charge.is_refused
