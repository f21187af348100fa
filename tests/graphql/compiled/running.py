"""Comparison of many requests, with a report of the results."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import pytest

from tests.graphql.compiled.comparing import (
    OTHER_ERRORS,
    Answer,
    ObservedEngine,
    Outcome,
    difference,
    possible_errors,
    run_engine,
    run_graphql_core,
)
from tests.graphql.compiled.documents import Request
from wattgate.graphql.execution.documents.document_limits import DocumentLimits
from wattgate.graphql.execution.documents.documents import DocumentCache
from wattgate.graphql.execution.schema import MAX_REPORTED_ERRORS

IGNORE_UNAWAITED_COROUTINES = [
    pytest.mark.filterwarnings(f"ignore:{where}(Executor|GraphQLCoreConverter)\\.:{kind}")
    for where, kind in (
        ("coroutine '", "RuntimeWarning"),
        ("Exception ignored in. <coroutine object ", "pytest.PytestUnraisableExceptionWarning"),
    )
]
"""Marks for tests with many errors.

graphql-core leaves coroutines of its own unawaited when it cancels the fields that wait for them. Unawaited coroutines
of plans still fail a test.
"""

NO_LIMITS = DocumentLimits(*[1_000_000] * len(fields(DocumentLimits)))
"""No limits, because random documents are sometimes long, and here only their execution matters."""

MAX_SHOWN = 3
"""Maximum number of differences that are shown in full."""


@dataclass
class Report:
    """The results of many requests."""

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    different: list[str] = field(default_factory=list)
    needless_fallbacks: list[str] = field(default_factory=list)
    """Documents that graphql-core had to execute although it found no error."""

    @property
    def row(self) -> dict[str, int]:
        return {
            "executions": self.outcomes.total(),
            **{how.value: self.outcomes[how] for how in Outcome},
            "different": len(self.different),
        }

    def add(
        self, expected: Answer, actual: Answer, differing: str | None, outcome: Outcome, request: Request, position: str
    ) -> None:
        """Count a request. Keep it if its results differ."""
        self.outcomes[outcome] += 1
        if differing is not None:
            shown = (f"{differing} differ, {outcome.value}, {position}", request.text, json.dumps(request.variables))
            self.different.append("\n".join((*shown, f"graphql-core: {expected}", f"engine: {actual}")))
        if outcome is Outcome.FELL_BACK and not expected.errors:
            self.needless_fallbacks.append(f"{position}\n{request.text}\n{json.dumps(request.variables)}")

    @property
    def summary(self) -> str:
        return "\n\n".join(self.different[:MAX_SHOWN])


async def compare(schema: Any, requests: Iterable[Request], context: Callable[[int], Any], *, label: str) -> Report:
    """Run each request by graphql-core and by an engine, some of them again and some with other variables.

    `context` returns equal contexts for equal numbers.
    """
    engine, documents, report = ObservedEngine(schema), DocumentCache(schema, NO_LIMITS), Report()
    for number, request in enumerate(requests):
        document = documents.get(request.text, request.operation)
        for repeated in _with_repeats(number, request):
            expected = await run_graphql_core(schema, document.node, repeated, context(number))
            actual, outcome = await run_engine(engine, document, repeated, context(number))
            differing = difference(expected, actual, mutation=repeated.mutation)
            if differing is OTHER_ERRORS and actual.errors:
                possible = await possible_errors(schema, document, repeated, context(number))
                differing = None if possible.issuperset(actual.errors[:MAX_REPORTED_ERRORS]) else differing
            report.add(expected, actual, differing, outcome, repeated, f"{label}, document {number}")
    return report


def _with_repeats(number: int, request: Request) -> list[Request]:
    """Return a request, sometimes with repetitions: a plan must not keep changes that resolvers make to arguments."""
    repeated = [request]
    if number % 4 == 0:
        repeated.append(request)
    if number % 3 == 0 and request.others != request.variables:
        repeated += [replace(request, variables=request.others), request]
    return repeated
