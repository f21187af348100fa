"""Request pipeline for HTTP, WebSocket and SSE: resolve the document, validate, charge, execute."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphql import GraphQLError, OperationType
from graphql.execution.values import VariableValues

from wattgate.clock import Clock, utc_now
from wattgate.errors import BadInput, CostTooHigh, GatewayError, TimedOut
from wattgate.graphql.core.context import GraphQLContext
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.cost.estimate import MAX_COST
from wattgate.graphql.execution.compiled.engine import ExecutionEngine
from wattgate.graphql.execution.document_limits import DocumentLimits
from wattgate.graphql.execution.documents import Document, DocumentCache
from wattgate.graphql.execution.json_encoding import LARGE_COST, count_values, encode_json, encode_large_json
from wattgate.graphql.execution.operation_spans import operation_span
from wattgate.graphql.execution.persisted_documents import PersistedDocuments
from wattgate.graphql.execution.schema import Schema
from wattgate.principal import Principal
from wattgate.realtime.operation_request import OperationRequest
from wattgate.realtime.rate_limit.budgets import UNLIMITED_BUDGETS, Balance, Budgets, rate_limited_error
from wattgate.request_context import log_access_error

TIME_LIMIT_SECONDS = 30.0
"""Maximum duration of a query or mutation, in seconds."""

DOCUMENT_LIMITS = DocumentLimits()

MANY_VALUES = 2_000
"""Values in variables that are coerced in a thread. Coercion takes about 10 microseconds for each."""

DRY_RUN = "dryRun"
"""The request extension that requests the cost of an operation without executing it."""


@dataclass(frozen=True, slots=True)
class PipelineResult:
    """The result of a query or mutation. `data` is None if an error has reached the root.

    `cost` is the cost of the operation, and `balance` the remaining budget of the caller, or None without a budget.
    """

    data: dict[str, Any] | None
    errors: Sequence[GraphQLError]
    cost: int
    balance: Balance | None

    async def encode_result(self) -> bytes:
        """Encode the result in JSON, without its cost."""
        return await self._encode(self._to_dict())

    async def encode_with_cost(self) -> bytes:
        """Encode the result and its cost in JSON, data first."""
        return await self._encode({**self._to_dict(), "extensions": {"cost": cost_extension(self.cost, self.balance)}})

    async def _encode(self, body: dict[str, Any]) -> bytes:
        return encode_json(body) if self.cost < LARGE_COST else await encode_large_json(body)

    def _to_dict(self) -> dict[str, Any]:
        if self.errors:
            return {"data": self.data, "errors": [error.formatted for error in self.errors]}
        return {"data": self.data}


class BudgetExhausted(Exception):
    """The remaining budget of the caller is lower than the cost of the operation."""

    def __init__(self, balance: Balance) -> None:
        super().__init__(balance.policy)
        self.balance = balance
        self.error = rate_limited_error(balance)


def cost_extension(cost: int, balance: Balance | None) -> dict[str, int]:
    """Return the members of `extensions.cost`. `reset` is the time in seconds until the budget is full again."""
    if balance is None:
        return {"requested": cost}
    return {"requested": cost, "remaining": balance.remaining, "limit": balance.limit, "reset": balance.reset}


class GraphQLPipeline:
    """Resolve documents, charge their callers, and execute them."""

    def __init__(
        self,
        schema: Schema,
        runner: Runner,
        *,
        persisted_documents: PersistedDocuments | None = None,
        budgets: Budgets = UNLIMITED_BUDGETS,
        limits: DocumentLimits = DOCUMENT_LIMITS,
        time_limit_seconds: float = TIME_LIMIT_SECONDS,
        clock: Clock = utc_now,
    ) -> None:
        self.engine = ExecutionEngine(schema)
        self._runner = runner
        self._persisted_documents = persisted_documents
        self._budgets = budgets
        self._documents = DocumentCache(schema, limits, clock)
        self._time_limit_seconds = time_limit_seconds

    async def resolve_document(
        self, principal: Principal, request: OperationRequest
    ) -> tuple[OperationRequest, Document]:
        """Return the request with the text of its document, and the requested operation.

        Raise InvalidRequest if the document is missing or invalid; see also `PersistedDocuments.resolve`.
        """
        resolved = (
            request
            if self._persisted_documents is None
            else await self._persisted_documents.resolve(principal, request)
        )
        document = self.document_for(resolved)
        if resolved is not request and self._persisted_documents is not None:
            await self._persisted_documents.store_text(request)
        return resolved, document

    def document_for(self, request: OperationRequest) -> Document:
        """Return the operation of a request that contains the text of its document.

        Raise InvalidRequest if it is invalid.
        """
        if request.query is None:
            raise BadInput("the request has no query")
        return self._documents.get(request.query, request.operation_name)

    async def execute(self, principal: Principal, request: OperationRequest, document: Document) -> PipelineResult:
        """Execute a query or mutation. Raise InvalidRequest if its variables are invalid.

        With `extensions.dryRun`, return the cost and execute nothing.
        """
        if document.kind is OperationType.SUBSCRIPTION:
            raise BadInput("subscriptions are served over WebSockets and as event streams")
        variables = await self._coerce_variables(document, request.variables)
        if request.extensions and request.extensions.get(DRY_RUN) is True:
            return PipelineResult(None, (), document.cost(variables), await self._budgets.charge(principal, 0))
        cost, balance = await self.charge(principal, document, variables)
        context = GraphQLContext(self._runner, principal)
        with operation_span(self._runner.tracer, document.operation):
            try:
                async with asyncio.timeout(self._time_limit_seconds):
                    outcome = await self.engine.execute(context, document, variables, request.variables)
            except TimeoutError:
                timed_out = TimedOut(f"the operation took more than {self._time_limit_seconds:g} seconds")
                return PipelineResult(None, [_to_graphql_error(timed_out)], cost, balance)
        return PipelineResult(outcome.data, outcome.errors, cost, balance)

    async def _coerce_variables(self, document: Document, raw: Mapping[str, Any] | None) -> VariableValues:
        """Coerce many values in a thread, so that the event loop serves other requests meanwhile."""
        if raw and count_values(raw, MANY_VALUES) >= MANY_VALUES:
            return await asyncio.to_thread(self.engine.coerce_variables, document, raw)
        return self.engine.coerce_variables(document, raw)

    async def charge(
        self, principal: Principal, document: Document, variables: VariableValues
    ) -> tuple[int, Balance | None]:
        """Charge the caller for an operation. Return its cost and the remaining budget, if the caller has one.

        Raise CostTooHigh if the cost exceeds MAX_COST, BudgetExhausted if the budget of the caller does not cover it.
        """
        cost = document.cost(variables)
        if cost > MAX_COST:
            raise CostTooHigh(
                f"the operation costs {cost:,} and the maximum is {MAX_COST:,}; request less data at once"
            )
        balance = await self._budgets.charge(principal, cost)
        if balance is not None and not balance.granted:
            raise BudgetExhausted(balance)
        return cost, balance


def _to_graphql_error(error: GatewayError) -> GraphQLError:
    """Return an error of the whole operation, and log it."""
    log_access_error(error)
    return GraphQLError(error.message, extensions=error.extensions)
