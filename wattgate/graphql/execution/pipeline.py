"""What a GraphQL request passes, by whatever door it comes: its document is found, and executed for its caller."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
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
from wattgate.graphql.execution.operation_spans import operation_span
from wattgate.graphql.execution.persisted_documents import PersistedDocuments
from wattgate.graphql.execution.schema import Schema
from wattgate.principal import Principal
from wattgate.realtime.operation_request import OperationRequest
from wattgate.realtime.rate_limit.budgets import UNLIMITED_BUDGETS, Balance, Budgets, rate_limited_error
from wattgate.request_context import log_access_error

TIME_LIMIT_SECONDS = 30.0
"""How many seconds a query or mutation may take."""

DOCUMENT_LIMITS = DocumentLimits()

DRY_RUN = "dryRun"
"""The extension of a request that asks what an operation costs."""


@dataclass(frozen=True, slots=True)
class PipelineResult:
    """The result of a query or mutation. Its `data` is None where an error has reached the root.

    `cost` is what it cost, and `balance` what is left to the caller, where the caller has a budget.
    """

    data: dict[str, Any] | None
    errors: Sequence[GraphQLError]
    cost: int
    balance: Balance | None

    def encode_result(self) -> bytes:
        """The result in JSON, without what is said of its cost."""
        return encode_json(self._to_dict())

    def encode_with_cost(self) -> bytes:
        """All of it in JSON, data first."""
        return encode_json({**self._to_dict(), "extensions": {"cost": cost_extension(self.cost, self.balance)}})

    def _to_dict(self) -> dict[str, Any]:
        if self.errors:
            return {"data": self.data, "errors": [error.formatted for error in self.errors]}
        return {"data": self.data}


class BudgetExhausted(Exception):
    """A budget does not have what an operation costs."""

    def __init__(self, balance: Balance) -> None:
        super().__init__(balance.policy)
        self.balance = balance
        self.error = rate_limited_error(balance)


def cost_extension(cost: int, balance: Balance | None) -> dict[str, int]:
    """A cost as `extensions.cost` tells it; `reset` is in how many seconds the budget is whole again."""
    if balance is None:
        return {"requested": cost}
    return {"requested": cost, "remaining": balance.remaining, "limit": balance.limit, "reset": balance.reset}


class GraphQLPipeline:
    """Finds documents, charges their callers, and has them executed."""

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
        """The request with the text of its document, and the operation that is asked for.

        Invalid where there is none, or where the document is wrong; else as `Persisted.resolved` says.
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
        """The operation of a request with the text of its document. Invalid where that is wrong."""
        if request.query is None:
            raise BadInput("the request has no query")
        return self._documents.get(request.query, request.operation_name)

    async def execute(self, principal: Principal, request: OperationRequest, document: Document) -> PipelineResult:
        """The result of a query or mutation. Invalid where it is wrong before anything is executed.

        A dry run, which `extensions.dryRun` asks for, answers the cost and executes nothing.
        """
        if document.kind is OperationType.SUBSCRIPTION:
            raise BadInput("subscriptions are served over WebSockets and as event streams")
        variables = self.engine.coerce_variables(document, request.variables)
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

    async def charge(
        self, principal: Principal, document: Document, variables: VariableValues
    ) -> tuple[int, Balance | None]:
        """What an operation costs, and what is left to its caller. CostTooHigh where it costs more than any may, Spent
        where the caller's budget does not have it.
        """
        cost = document.cost(variables)
        if cost > MAX_COST:
            raise CostTooHigh(f"this costs {cost:,}, and an operation may cost {MAX_COST:,}: ask for less at once")
        balance = await self._budgets.charge(principal, cost)
        if balance is not None and not balance.granted:
            raise BudgetExhausted(balance)
        return cost, balance


def _to_graphql_error(error: GatewayError) -> GraphQLError:
    """An error of the whole operation."""
    log_access_error(error)
    return GraphQLError(error.message, extensions=error.extensions)


def encode_json(body: Mapping[str, Any]) -> bytes:
    """A body in JSON. What orjson does not take, such as lone surrogates or very large integers, the library does."""
    try:
        return orjson.dumps(body)
    except TypeError:
        return json.dumps(body, allow_nan=False).encode()
