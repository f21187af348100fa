"""Requests run both ways, with a report of what came of them."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import pytest

from tests.graphql.compiled.comparing import (
    OTHER_ERRORS,
    Answer,
    How,
    Watched,
    by_engine,
    by_graphql_core,
    difference,
    possible_errors,
)
from tests.graphql.compiled.documents import Request
from wattgate.graphql.execution.document_limits import DocumentLimits
from wattgate.graphql.execution.documents import Documents
from wattgate.graphql.execution.schema import MAX_TOLD

GRAPHQL_CORE_LEAVES = [
    pytest.mark.filterwarnings(f"ignore:{where}(Executor|GraphQLCoreConverter)\\.:{kind}")
    for where, kind in (
        ("coroutine '", "RuntimeWarning"),
        ("Exception ignored in. <coroutine object ", "pytest.PytestUnraisableExceptionWarning"),
    )
]
"""Marks for tests of many errors: graphql-core leaves coroutines of its own unawaited where it cancels what waits for
them. Those of plans are not forgiven.
"""

NO_LIMITS = DocumentLimits(*[1_000_000] * len(fields(DocumentLimits)))
"""Of documents: those made by chance are long now and then, and here it is executing them that matters."""

MAX_SHOWN = 3
"""How many differences are told in full."""


@dataclass
class Report:
    """What came of many requests."""

    hows: Counter[How] = field(default_factory=Counter)
    different: list[str] = field(default_factory=list)
    for_nothing: list[str] = field(default_factory=list)
    """Documents that graphql-core had to execute although it found no error."""

    @property
    def row(self) -> dict[str, int]:
        return {
            "executions": self.hows.total(),
            **{how.value: self.hows[how] for how in How},
            "different": len(self.different),
        }

    def add(self, expected: Answer, found: Answer, what: str | None, how: How, request: Request, place: str) -> None:
        """Count a request, and keep it with what is different, if something is."""
        self.hows[how] += 1
        if what is not None:
            shown = (f"{what} differ, {how.value}, {place}", request.text, json.dumps(request.variables))
            self.different.append("\n".join((*shown, f"graphql-core: {expected}", f"engine: {found}")))
        if how is How.FELL_BACK and not expected.errors:
            self.for_nothing.append(f"{place}\n{request.text}\n{json.dumps(request.variables)}")

    @property
    def told(self) -> str:
        return "\n\n".join(self.different[:MAX_SHOWN])


async def compare(schema: Any, requests: Iterable[Request], context: Callable[[int], Any], *, place: str) -> Report:
    """Run each request by graphql-core and by an engine; some once more, and some with other variables.

    `context` makes equal contexts for equal numbers.
    """
    engine, documents, report = Watched(schema), Documents(schema, NO_LIMITS), Report()
    for number, request in enumerate(requests):
        document = documents.find(request.text, request.operation)
        for asked in _asked(number, request):
            expected = await by_graphql_core(schema, document.node, asked, context(number))
            found, how = await by_engine(engine, document, asked, context(number))
            what = difference(expected, found, mutation=asked.mutation)
            if what is OTHER_ERRORS and found.errors:
                possible = await possible_errors(schema, document, asked, context(number))
                what = None if possible.issuperset(found.errors[:MAX_TOLD]) else what
            report.add(expected, found, what, how, asked, f"{place}, document {number}")
    return report


def _asked(number: int, request: Request) -> list[Request]:
    """A request, now and then the same once more: a plan must keep nothing of what a resolver did to arguments."""
    asked = [request]
    if number % 4 == 0:
        asked.append(request)
    if number % 3 == 0 and request.others != request.variables:
        asked += [replace(request, variables=request.others), request]
    return asked
