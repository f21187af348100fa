"""What a GraphQL request passes, by whatever door it comes: its document is found, and executed for its caller."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson
from graphql import GraphQLError, OperationType

from wattgate.errors import BadInput, GatewayError, TimedOut
from wattgate.graphql.compiled.engine import Engine
from wattgate.graphql.context import Context
from wattgate.graphql.documents import Document, Documents
from wattgate.graphql.runner import Runner
from wattgate.graphql.schema import Schema
from wattgate.graphql.traced import served
from wattgate.principal import Principal
from wattgate.realtime.protocol import Request
from wattgate.trail import refused

TIME_LIMIT = 30.0
"""How many seconds a query or mutation may take."""


class Reply(NamedTuple):
    """The result of a query or mutation. It has `data`, which is None where an error has reached the root."""

    data: dict[str, Any] | None
    errors: Sequence[GraphQLError] = ()

    def encoded(self) -> bytes:
        """The result in JSON, data first."""
        body: dict[str, Any] = {"data": self.data}
        if self.errors:
            body["errors"] = [error.formatted for error in self.errors]
        return encode(body)


class Gate:
    """Finds documents and has them executed."""

    def __init__(self, schema: Schema, runner: Runner, *, time_limit: float = TIME_LIMIT) -> None:
        self._time_limit = time_limit
        self.engine = Engine(schema)
        self._documents = Documents(schema)
        self._runner = runner

    def document(self, request: Request) -> Document:
        """The operation that is asked for. Invalid where there is none, or where the document is wrong."""
        if not request.query:
            raise BadInput("the request has no query")
        return self._documents.find(request.query, request.operation_name)

    async def answer(self, principal: Principal, request: Request, document: Document) -> Reply:
        """The result of a query or mutation. Invalid where it is wrong before anything is executed."""
        if document.kind is OperationType.SUBSCRIPTION:
            raise BadInput("subscriptions are served over WebSockets and as event streams")
        variables = self.engine.variables(document, request.variables)
        call = Context(self._runner, principal)
        with served(self._runner.spans, document.operation):
            try:
                async with asyncio.timeout(self._time_limit):
                    executed = await self.engine.execute(call, document, variables, request.variables)
            except TimeoutError:
                return Reply(None, [_error(TimedOut(f"the operation took more than {self._time_limit:g} seconds"))])
        return Reply(executed.data, executed.errors)


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
