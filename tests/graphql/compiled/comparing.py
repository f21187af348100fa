"""Execution of a request by plans and by graphql-core, and comparison of the results."""

import inspect
import json
import sys
from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from enum import Enum
from itertools import count
from typing import Any, cast

from graphql import DirectiveNode, DocumentNode, ExecutionResult, GraphQLError, NameNode, execute
from graphql.type.directives import GraphQLDisableErrorPropagationDirective
from strawberry.execution import optimized_is_awaitable

from tests.graphql.compiled.documents import Request
from wattgate.graphql.execution.compiled.engine import PLAN_DISABLED_SECONDS, ExecutionEngine
from wattgate.graphql.execution.documents.documents import Document, InvalidRequest
from wattgate.graphql.execution.executor import Executor
from wattgate.graphql.execution.input_conversion import list_enum_values
from wattgate.graphql.execution.json_encoding import count_values
from wattgate.graphql.execution.schema import MAX_REPORTED_ERRORS, normalize_error, normalize_errors

OTHER_ERRORS = "errors of no data"
"""A difference in the errors only. It is allowed if graphql-core finds the same errors when it cancels nothing."""


class Outcome(Enum):
    """How an engine computed a result."""

    COMPILED = "compiled"
    REPORTED = "errors of operations, reported without graphql-core"
    FELL_BACK = "fell back"
    NOT_COMPILED = "not compiled"
    REJECTED = "variables rejected"


@dataclass(frozen=True)
class Answer:
    """The result of an execution: data as JSON text, in which the order of keys counts, and errors in order."""

    data: str
    errors: tuple[str, ...]
    calls: tuple[str, ...]

    @property
    def is_null(self) -> bool:
        return self.data == "null"


def build_answer(data: Any, errors: Sequence[GraphQLError] | None, calls: Sequence[str] = ()) -> Answer:
    """Return the answer of an execution whose errors are normalized."""
    return Answer(_text(data), tuple(_text(_without_trace_id(error)) for error in errors or ()), tuple(calls))


async def run_graphql_core(schema: Any, document: DocumentNode, request: Request, context: Any) -> Answer:
    """Return the answer of graphql-core alone."""
    result = await _execute(schema, document, request, context)
    errors = list_enum_values(result.errors or (), schema.core)  # the gateway replaces suggestions by all values
    return build_answer(result.data, normalize_errors(errors), getattr(context.runner, "calls", ()))


async def _execute(schema: Any, document: DocumentNode, request: Request, context: Any) -> ExecutionResult:
    result: Any = execute(
        schema.core,
        document,
        context_value=context,
        variable_values=deepcopy(request.variables),
        operation_name=request.operation,
        executor_class=Executor,
        is_awaitable=optimized_is_awaitable,  # type: ignore[arg-type] # graphql-core's own is a type guard
    )
    return cast(ExecutionResult, await result if inspect.isawaitable(result) else result)


class ObservedEngine(ExecutionEngine):
    """An engine that compiles every document immediately and never disables a plan.

    `fallback_count` is the number of executions by graphql-core, `last_error` the last error of a plan.
    """

    def __init__(self, schema: Any) -> None:
        super().__init__(schema, compile_at=1, clock=count(step=10 * PLAN_DISABLED_SECONDS).__next__)
        self.fallback_count = 0
        self.last_error: Exception | None = None

    async def _run_plan(self, *arguments: Any) -> Any:
        self.last_error = None
        try:
            return await super()._run_plan(*arguments)
        except Exception as error:
            self.last_error = error
            raise

    async def _execute_with_graphql_core(self, *arguments: Any) -> Any:
        self.fallback_count += 1
        return await super()._execute_with_graphql_core(*arguments)


async def run_engine(
    engine: ObservedEngine, document: Document, request: Request, context: Any
) -> tuple[Answer, Outcome]:
    """Return the answer of the engine, and how it computed it."""
    raw_variables, fallbacks = deepcopy(request.variables), engine.fallback_count
    calls = getattr(context.runner, "calls", ())
    try:
        variables = engine.coerce_variables(document, raw_variables)
    except InvalidRequest as invalid:
        return build_answer(None, normalize_errors(invalid.errors), calls), Outcome.REJECTED
    result = await engine.execute(context, document, variables, raw_variables)
    if result.bound_values is not None and result.data is not None:
        assert count_values(result.data, sys.maxsize) <= result.bound_values(result.data)
    outcome = Outcome.COMPILED if engine.fallback_count == fallbacks else Outcome.FELL_BACK
    if engine.get_or_compile(document, variables) is None:
        outcome = Outcome.NOT_COMPILED
    elif outcome is Outcome.COMPILED and result.errors:
        outcome = Outcome.REPORTED
    return build_answer(result.data, result.errors, calls), outcome


async def possible_errors(schema: Any, document: Document, request: Request, context: Any) -> set[str]:
    """Return all errors that graphql-core finds if it cancels nothing, because errors do not propagate to parents."""
    directive = DirectiveNode(name=NameNode(value=GraphQLDisableErrorPropagationDirective.name))
    operation = replace(document.operation, directives=(*(document.operation.directives or ()), directive))
    definitions = tuple(
        operation if definition is document.operation else definition for definition in document.node.definitions
    )
    result = await _execute(schema, replace(document.node, definitions=definitions), request, context)
    for error in result.errors or ():
        normalize_error(error)
    return set(build_answer(None, result.errors).errors)


def difference(expected: Answer, actual: Answer, *, mutation: bool) -> str | None:
    """Return the kind of a difference, or None if there is none that matters.

    If an error of a query reaches the root, graphql-core cancels unfinished fields. The other errors and the operations
    that it has started by then depend on timing: OTHER_ERRORS.
    """
    if expected.data != actual.data:
        return "data"
    same = Counter(expected.errors) == Counter(actual.errors)
    if len(expected.errors) > MAX_REPORTED_ERRORS:  # their order determines which ones are reported
        same = len(expected.errors) == len(actual.errors)
    if expected.is_null and not mutation:
        return None if same else OTHER_ERRORS
    if not same:
        return "errors"
    if mutation:
        return None if expected.calls == actual.calls else "calls"
    return None if Counter(expected.calls) == Counter(actual.calls) else "calls"


def _without_trace_id(error: GraphQLError) -> dict[str, Any]:
    formatted: dict[str, Any] = dict(error.formatted)
    formatted["original"] = repr(error.original_error)  # also of masked errors
    formatted["extensions"] = {key: value for key, value in formatted.get("extensions", {}).items() if key != "traceId"}
    return formatted


def _text(value: Any) -> str:
    return json.dumps(value, default=repr)
