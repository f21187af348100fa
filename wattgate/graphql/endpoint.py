"""The GraphQL endpoint: HTTP and graphql-transport-ws on one path."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL
from strawberry.exceptions import ConnectionRejectionError
from strawberry.subscriptions import GRAPHQL_TRANSPORT_WS_PROTOCOL

from wattgate.errors import GatewayError, RateLimited, Unauthenticated
from wattgate.graphql.context import Context
from wattgate.graphql.runner import Runner
from wattgate.graphql.schema import Schema
from wattgate.principal import Authenticate, Principal, Role


class Endpoint(GraphQL[Context, None]):
    """Strawberry's ASGI view with our principals.

    A socket is authenticated by its handshake's headers or by `connection_init`'s payload, whose members are read
    as headers (`token`, `authorization`, `applicationId`); without good credentials it is closed with 4403.
    """

    def __init__(
        self,
        schema: Schema,
        runner: Runner,
        authenticate: Authenticate,
        *,
        ide: bool,
        allowed_origins: Sequence[str],
    ) -> None:
        super().__init__(
            schema,
            graphql_ide="graphiql" if ide else None,
            allow_queries_via_get=True,
            subscription_protocols=[GRAPHQL_TRANSPORT_WS_PROTOCOL],
            allowed_origins=allowed_origins,
        )
        self._runner = runner
        self._authenticate = authenticate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except GatewayError as error:
            if scope["type"] != "http":
                raise
            await _refusal(error)(scope, receive, send)

    async def get_context(self, request: Request | WebSocket, response: Response | WebSocket) -> Context:
        if isinstance(request, WebSocket):  # its credentials may still come with connection_init
            return SocketContext(self._runner, request.headers)
        return Context(self._runner, await self._authenticate(request.headers))

    async def on_ws_connect(self, context: Context) -> Any:
        assert isinstance(context, SocketContext)
        try:
            context.principal = await self._authenticate(context.credentials())
        except (RateLimited, Unauthenticated):
            raise ConnectionRejectionError from None
        if context.principal.role is Role.ANONYMOUS:
            raise ConnectionRejectionError
        return await super().on_ws_connect(context)

    def encode_json(self, data: object) -> str:
        return orjson.dumps(data).decode()


class SocketContext(Context):
    """The context of a socket, whose principal is known once the connection is initialised."""

    connection_params: object = None
    """What `connection_init` carried; Strawberry sets it."""

    def __init__(self, runner: Runner, headers: Mapping[str, str]) -> None:
        super().__init__(runner, Principal(Role.ANONYMOUS))
        self._headers = headers

    def credentials(self) -> Mapping[str, str]:
        """The handshake's headers, overridden by what `connection_init` carried."""
        given = self.connection_params if isinstance(self.connection_params, dict) else {}
        texts = {str(name).lower(): value for name, value in given.items() if isinstance(value, str)}
        return {**self._headers, **texts}


def _refusal(error: GatewayError) -> Response:
    body = {"data": None, "errors": [{"message": error.message, "extensions": error.extensions}]}
    return Response(orjson.dumps(body), error.status, media_type="application/json")
