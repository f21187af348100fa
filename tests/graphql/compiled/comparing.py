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
from wattgate.graphql.execution.compiled.engine import OFF_SECONDS, Engine
from wattgate.graphql.execution.documents import Document, Invalid
from wattgate.graphql.execution.executor import Executor
from wattgate.graphql.execution.schema import MAX_TOLD, tell, tell_all

OTHER_ERRORS = "errors of no data"
"""A difference that may be: it is none where graphql-core finds these errors too, when it cancels nothing."""


class How(Enum):
    """How an engine came to an answer."""

    COMPILED = "compiled"
    TOLD = "error of the only operation, told by the plan"
    FELL_BACK = "fell back"
    REFUSED = "not compiled"
    REJECTED = "variables rejected"


@dataclass(frozen=True)
class Answer:
    """What an execution told: data as JSON text, so that the order of keys counts; errors as texts, in order."""

    data: str
    errors: tuple[str, ...]
    calls: tuple[str, ...]

    @property
    def nothing(self) -> bool:
        return self.data == "null"


def answer(data: Any, errors: Sequence[GraphQLError] | None, calls: Sequence[str] = ()) -> Answer:
    """The answer of an execution whose errors are told already."""
    return Answer(_text(data), tuple(_text(_timeless(error)) for error in errors or ()), tuple(calls))


async def by_graphql_core(schema: Any, document: DocumentNode, request: Request, context: Any) -> Answer:
    """The answer of graphql-core alone."""
    result = await _by_graphql_core(schema, document, request, context)
    return answer(result.data, tell_all(result.errors or ()), getattr(context.runner, "calls", ()))


async def _by_graphql_core(schema: Any, document: DocumentNode, request: Request, context: Any) -> ExecutionResult:
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


class Watched(Engine):
    """An engine that compiles every document at once and never gives a plan up.

    `left` is how often graphql-core had to execute something, `fault` what a plan failed with the last time.
    """

    def __init__(self, schema: Any) -> None:
        super().__init__(schema, compile_at=1, clock=count(step=10 * OFF_SECONDS).__next__)
        self.left = 0
        self.fault: Exception | None = None

    async def _run(self, *asked: Any) -> Any:
        self.fault = None
        try:
            return await super()._run(*asked)
        except Exception as error:
            self.fault = error
            raise

    async def _by_graphql_core(self, *asked: Any) -> Any:
        self.left += 1
        return await super()._by_graphql_core(*asked)


async def by_engine(engine: Watched, document: Document, request: Request, context: Any) -> tuple[Answer, How]:
    """The answer of the engine, and how it came to it."""
    given, left = deepcopy(request.variables), engine.left
    calls = getattr(context.runner, "calls", ())
    try:
        variables = engine.variables(document, given)
    except Invalid as invalid:
        return answer(None, tell_all(invalid.errors), calls), How.REJECTED
    executed = await engine.execute(context, document, variables, given)
    how = How.COMPILED if engine.left == left else How.FELL_BACK
    if engine.compiled(document, variables) is None:
        how = How.REFUSED
    elif how is How.COMPILED and executed.errors:
        how = How.TOLD
    return answer(executed.data, executed.errors, calls), how


async def possible_errors(schema: Any, document: Document, request: Request, context: Any) -> set[str]:
    """The errors that graphql-core tells of a request where none reaches further than its own field: then it cancels
    nothing, and finds all that there are.
    """
    directive = DirectiveNode(name=NameNode(value=GraphQLDisableErrorPropagationDirective.name))
    operation = replace(document.operation, directives=(*(document.operation.directives or ()), directive))
    definitions = tuple(operation if one is document.operation else one for one in document.node.definitions)
    result = await _by_graphql_core(schema, replace(document.node, definitions=definitions), request, context)
    for error in result.errors or ():
        tell(error)
    return set(answer(None, result.errors).errors)


def difference(expected: Answer, found: Answer, *, mutation: bool) -> str | None:
    """What is different; None where nothing is that matters.

    Where an error of a query has reached the root, graphql-core cancels what it had not finished. Which of the other
    errors it knows by then is a matter of time, and so is which operations it has begun: OTHER_ERRORS.
    """
    if expected.data != found.data:
        return "data"
    same = Counter(expected.errors) == Counter(found.errors)
    if len(expected.errors) > MAX_TOLD:  # which ones are told of so many hangs on their order
        same = len(expected.errors) == len(found.errors)
    if expected.nothing and not mutation:
        return None if same else OTHER_ERRORS
    if not same:
        return "errors"
    if mutation:
        return None if expected.calls == found.calls else "calls"
    return None if Counter(expected.calls) == Counter(found.calls) else "calls"


def _timeless(error: GraphQLError) -> dict[str, Any]:
    told: dict[str, Any] = dict(error.formatted)
    told["original"] = repr(error.original_error)  # told or not
    told["extensions"] = {key: value for key, value in told.get("extensions", {}).items() if key != "traceId"}
    return told


def _text(value: Any) -> str:
    return json.dumps(value, default=repr)
