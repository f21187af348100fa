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
from wattgate.graphql.core.context import Context
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.cost.estimate import MAX_COST
from wattgate.graphql.execution.compiled.engine import Engine
from wattgate.graphql.execution.document_limits import DocumentLimits
from wattgate.graphql.execution.documents import Document, Documents
from wattgate.graphql.execution.operation_spans import served
from wattgate.graphql.execution.persisted_documents import Persisted
from wattgate.graphql.execution.schema import Schema
from wattgate.principal import Principal
from wattgate.realtime.connections.protocol import Request
from wattgate.realtime.rate_limit.budgets import UNLIMITED, Balance, Budgets, spent
from wattgate.request_context import refused

TIME_LIMIT = 30.0
"""How many seconds a query or mutation may take."""

DOCUMENT_LIMITS = DocumentLimits()

DRY_RUN = "dryRun"
"""The extension of a request that asks what an operation costs."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of a query or mutation. Its `data` is None where an error has reached the root.

    `cost` is what it cost, and `balance` what is left to the caller, where the caller has a budget.
    """

    data: dict[str, Any] | None
    errors: Sequence[GraphQLError]
    cost: int
    balance: Balance | None

    def result(self) -> bytes:
        """The result in JSON, without what is said of its cost."""
        return encode(self._result())

    def encoded(self) -> bytes:
        """All of it in JSON, data first."""
        return encode({**self._result(), "extensions": {"cost": told_cost(self.cost, self.balance)}})

    def _result(self) -> dict[str, Any]:
        if self.errors:
            return {"data": self.data, "errors": [error.formatted for error in self.errors]}
        return {"data": self.data}


class Spent(Exception):
    """A budget does not have what an operation costs."""

    def __init__(self, balance: Balance) -> None:
        super().__init__(balance.policy)
        self.balance = balance
        self.error = spent(balance)


def told_cost(cost: int, balance: Balance | None) -> dict[str, int]:
    """A cost as `extensions.cost` tells it; `reset` is in how many seconds the budget is whole again."""
    if balance is None:
        return {"requested": cost}
    return {"requested": cost, "remaining": balance.remaining, "limit": balance.limit, "reset": balance.reset}


class Gate:
    """Finds documents, charges their callers, and has them executed."""

    def __init__(
        self,
        schema: Schema,
        runner: Runner,
        *,
        persisted: Persisted | None = None,
        budgets: Budgets = UNLIMITED,
        limits: DocumentLimits = DOCUMENT_LIMITS,
        time_limit: float = TIME_LIMIT,
        clock: Clock = utc_now,
    ) -> None:
        self.engine = Engine(schema)
        self._runner = runner
        self._persisted = persisted
        self._budgets = budgets
        self._documents = Documents(schema, limits, clock)
        self._time_limit = time_limit

    async def find(self, principal: Principal, request: Request) -> tuple[Request, Document]:
        """The request with the text of its document, and the operation that is asked for.

        Invalid where there is none, or where the document is wrong; else as `Persisted.resolved` says.
        """
        resolved = request if self._persisted is None else await self._persisted.resolved(principal, request)
        document = self.document(resolved)
        if resolved is not request and self._persisted is not None:
            await self._persisted.keep(request)
        return resolved, document

    def document(self, request: Request) -> Document:
        """The operation of a request with the text of its document. Invalid where that is wrong."""
        if request.query is None:
            raise BadInput("the request has no query")
        return self._documents.find(request.query, request.operation_name)

    async def answer(self, principal: Principal, request: Request, document: Document) -> Reply:
        """The result of a query or mutation. Invalid where it is wrong before anything is executed.

        A dry run, which `extensions.dryRun` asks for, answers the cost and executes nothing.
        """
        if document.kind is OperationType.SUBSCRIPTION:
            raise BadInput("subscriptions are served over WebSockets and as event streams")
        variables = self.engine.variables(document, request.variables)
        if request.extensions and request.extensions.get(DRY_RUN) is True:
            return Reply(None, (), document.cost(variables), await self._budgets.charge(principal, 0))
        cost, balance = await self.charge(principal, document, variables)
        call = Context(self._runner, principal)
        with served(self._runner.spans, document.operation):
            try:
                async with asyncio.timeout(self._time_limit):
                    executed = await self.engine.execute(call, document, variables, request.variables)
            except TimeoutError:
                late = TimedOut(f"the operation took more than {self._time_limit:g} seconds")
                return Reply(None, [_error(late)], cost, balance)
        return Reply(executed.data, executed.errors, cost, balance)

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
            raise Spent(balance)
        return cost, balance


def _error(error: GatewayError) -> GraphQLError:
    """An error of the whole operation."""
    refused(error)
    return GraphQLError(error.message, extensions=error.extensions)


def encode(body: Mapping[str, Any]) -> bytes:
    """A body in JSON. What orjson does not take, such as lone surrogates or very large integers, the library does."""
    try:
        return orjson.dumps(body)
    except TypeError:
        return json.dumps(body, allow_nan=False).encode()
