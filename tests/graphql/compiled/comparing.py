"""The same request executed by plans and by graphql-core, and what is different."""

import inspect
import json
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
from wattgate.graphql.execution.documents import Document, InvalidRequest
from wattgate.graphql.execution.executor import Executor
from wattgate.graphql.execution.schema import MAX_REPORTED_ERRORS, normalize_error, normalize_errors

OTHER_ERRORS = "errors of no data"
"""A difference that may be: it is none where graphql-core finds these errors too, when it cancels nothing."""


class Outcome(Enum):
    """How an engine came to an answer."""

    COMPILED = "compiled"
    REPORTED = "error of the only operation, told by the plan"
    FELL_BACK = "fell back"
    NOT_COMPILED = "not compiled"
    REJECTED = "variables rejected"


@dataclass(frozen=True)
class Answer:
    """What an execution told: data as JSON text, so that the order of keys counts; errors as texts, in order."""

    data: str
    errors: tuple[str, ...]
    calls: tuple[str, ...]

    @property
    def is_null(self) -> bool:
        return self.data == "null"


def build_answer(data: Any, errors: Sequence[GraphQLError] | None, calls: Sequence[str] = ()) -> Answer:
    """The answer of an execution whose errors are told already."""
    return Answer(_text(data), tuple(_text(_without_trace_id(error)) for error in errors or ()), tuple(calls))


async def run_graphql_core(schema: Any, document: DocumentNode, request: Request, context: Any) -> Answer:
    """The answer of graphql-core alone."""
    result = await _execute(schema, document, request, context)
    return build_answer(result.data, normalize_errors(result.errors or ()), getattr(context.runner, "calls", ()))


async def _execute(schema: Any, document: DocumentNode, request: Request, context: Any) -> ExecutionResult:
    result: Any = execute(
        schema._schema,
        document,
        context_value=context,
        variable_values=deepcopy(request.variables),
        operation_name=request.operation,
        executor_class=Executor,
        is_awaitable=optimized_is_awaitable,  # type: ignore[arg-type] # graphql-core's own does not say what it finds
    )
    return cast(ExecutionResult, await result if inspect.isawaitable(result) else result)


class ObservedEngine(ExecutionEngine):
    """An engine that compiles every document at once and never gives a plan up.

    `left` is how often graphql-core had to execute something, `fault` what a plan failed with the last time.
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
    """The answer of the engine, and how it came to it."""
    raw_variables, fallbacks = deepcopy(request.variables), engine.fallback_count
    calls = getattr(context.runner, "calls", ())
    try:
        variables = engine.coerce_variables(document, raw_variables)
    except InvalidRequest as invalid:
        return build_answer(None, normalize_errors(invalid.errors), calls), Outcome.REJECTED
    result = await engine.execute(context, document, variables, raw_variables)
    outcome = Outcome.COMPILED if engine.fallback_count == fallbacks else Outcome.FELL_BACK
    if engine.get_or_compile(document, variables) is None:
        outcome = Outcome.NOT_COMPILED
    elif outcome is Outcome.COMPILED and result.errors:
        outcome = Outcome.REPORTED
    return build_answer(result.data, result.errors, calls), outcome


async def possible_errors(schema: Any, document: Document, request: Request, context: Any) -> set[str]:
    """The errors that graphql-core tells of a request where none reaches further than its own field: then it cancels
    nothing, and finds all that there are.
    """
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
    """What is different; None where nothing is that matters.

    Where an error of a query has reached the root, graphql-core cancels what it had not finished. Which of the other
    errors it knows by then is a matter of time, and so is which operations it has begun: OTHER_ERRORS.
    """
    if expected.data != actual.data:
        return "data"
    same = Counter(expected.errors) == Counter(actual.errors)
    if len(expected.errors) > MAX_REPORTED_ERRORS:  # which ones are told of so many hangs on their order
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
    formatted["original"] = repr(error.original_error)  # told or not
    formatted["extensions"] = {key: value for key, value in formatted.get("extensions", {}).items() if key != "traceId"}
    return formatted


def _text(value: Any) -> str:
    return json.dumps(value, default=repr)
