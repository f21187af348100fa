"""The GraphQL endpoint for queries and mutations over HTTP."""

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL

from wattgate.errors import GatewayError
from wattgate.graphql.context import Context
from wattgate.graphql.runner import Runner
from wattgate.graphql.schema import Schema
from wattgate.principal import Authenticate
from wattgate.trail import refused


class Endpoint(GraphQL[Context, None]):
    """Strawberry's ASGI view with our principals."""

    def __init__(
        self,
        schema: Schema,
        runner: Runner,
        authenticate: Authenticate,
        *,
        ide: bool,
    ) -> None:
        super().__init__(
            schema,
            graphql_ide="graphiql" if ide else None,
            allow_queries_via_get=True,
            subscription_protocols=[],
        )
        self._runner = runner
        self._authenticate = authenticate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except GatewayError as error:
            if scope["type"] != "http":
                raise
            await refusal(error)(scope, receive, send)

    async def get_context(self, request: Request | WebSocket, response: Response | WebSocket) -> Context:
        return Context(self._runner, await self._authenticate(request.headers))

    def encode_json(self, data: object) -> str:
        return orjson.dumps(data).decode()


def refusal(error: GatewayError) -> Response:
    """The answer that tells an error in place of a result. Refusals are logged."""
    refused(error)
    body = {"data": None, "errors": [{"message": error.message, "extensions": error.extensions}]}
    return Response(orjson.dumps(body), error.status, media_type="application/json")
