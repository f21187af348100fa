"""The GraphQL endpoint for queries and mutations over HTTP, according to the GraphQL-over-HTTP specification.

Source: https://graphql.github.io/graphql-over-http/draft/. The status of a malformed request is 400. A request with an
invalid document or invalid variables also gets 400 if the client accepts `application/graphql-response+json`, and 200
if it accepts only `application/json`, as clients of that media type expect.
"""

import gzip
import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from urllib.parse import parse_qsl

import msgspec
from graphql import GraphQLError, OperationType
from starlette.types import Receive, Scope, Send

from wattgate.errors import BadInput, GatewayError, UnsupportedMediaType
from wattgate.graphql.cost.operation_charge import BudgetExhausted
from wattgate.graphql.execution.documents.documents import InvalidRequest
from wattgate.graphql.execution.pipeline import GraphQLPipeline, PipelineResult, balance_members
from wattgate.graphql.execution.schema import normalize_errors
from wattgate.principal import Authenticate, Principal, Role
from wattgate.rate_limit.budgets import CURRENT_BALANCE, Balance, rate_limit_headers
from wattgate.realtime.operation_request import OperationRequest
from wattgate.requests.accept import GRAPHQL_RESPONSE, JSON, has_tag, negotiate_media_type
from wattgate.requests.bodies import DEFAULT_BODIES, BodyHold, BodyReader, announced_length, check_content
from wattgate.requests.client import current_client
from wattgate.requests.fair_share import run_in_thread
from wattgate.requests.request_context import log_access_error
from wattgate.requests.request_limits import check_anonymous_size, check_encoding, check_structure
from wattgate.values.stored_json import encode_json

Headers = list[tuple[bytes, bytes]]

MIN_COMPRESSED_BYTES = 2_048
"""Size in bytes from which a response is compressed, for clients that accept gzip."""

LARGE_BODY_BYTES = 256 * 1024
"""Size from which a body is compressed in a thread, and written in parts of this size."""

GZIP_LEVEL = 5
"""Compression level of gzip. A higher one takes more time than it saves."""

_REQUEST = msgspec.json.Decoder(OperationRequest)


class GraphQLResponse(msgspec.Struct, frozen=True):
    """A response as an ASGI application: status, body, media type, and headers beside those of every response."""

    status: int
    body: bytes
    media_type: str
    headers: Sequence[tuple[bytes, bytes]] = ()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        fields, body = await self.encode(dict(scope["headers"]).get(b"accept-encoding", b"").decode("latin-1"))
        await send({"type": "http.response.start", "status": self.status, "headers": fields})
        await send_body(send, body)

    async def encode(self, accept_encoding: str) -> tuple[Headers, bytes]:
        """Return all headers and the body. A large body is compressed for a client that accepts gzip."""
        body = self.body
        fields = [(b"content-type", self.media_type.encode()), (b"vary", b"Accept, Accept-Encoding"), *self.headers]
        if len(body) >= MIN_COMPRESSED_BYTES and "gzip" in accept_encoding:
            compress = partial(gzip.compress, body, GZIP_LEVEL)
            body = compress() if len(body) < LARGE_BODY_BYTES else await run_in_thread(compress)
            fields.append((b"content-encoding", b"gzip"))
        fields.append((b"content-length", str(len(body)).encode()))
        return fields, body


async def send_body(send: Send, body: bytes) -> None:
    """Send a body. Send a large one in parts, each when the client has taken most of those before."""
    for start in range(0, len(body) - LARGE_BODY_BYTES, LARGE_BODY_BYTES):
        await send({"type": "http.response.body", "body": body[start : start + LARGE_BODY_BYTES], "more_body": True})
    rest = (len(body) - 1) // LARGE_BODY_BYTES * LARGE_BODY_BYTES if len(body) > LARGE_BODY_BYTES else 0
    await send({"type": "http.response.body", "body": body[rest:]})


class GetNotAllowed(Exception):
    """A GET request contains a mutation."""


class GraphQLEndpoint:
    """An ASGI application for queries and mutations."""

    def __init__(
        self, pipeline: GraphQLPipeline, authenticate: Authenticate, bodies: BodyReader = DEFAULT_BODIES
    ) -> None:
        self._pipeline = pipeline
        self._authenticate = authenticate
        self._bodies = bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        response = await self.answer(scope["method"], headers, scope["query_string"], receive)
        await response(scope, receive, send)

    async def answer(
        self, method: str, headers: Mapping[str, str], query_string: bytes, receive: Receive
    ) -> GraphQLResponse:
        """Return the response to a request, whose header names are in lower case. `receive` returns its body."""
        accepted = headers.get("accept", "")
        media = negotiate_media_type(accepted)
        if media is None:
            return _errors_response(
                [GraphQLError(f"the Accept header must allow {GRAPHQL_RESPONSE} or {JSON}")], 406, JSON
            )
        if method not in ("GET", "POST"):
            return _errors_response(
                [GraphQLError("send a GraphQL request with GET or POST")], 405, media, [(b"allow", b"GET, POST")]
            )
        hold: BodyHold | None = None
        try:
            principal = await self._authenticate(headers)
            if method == "GET":
                request = await read_query_string(query_string, principal, self._pipeline)
            else:
                await accept_content(headers, principal, self._pipeline)
                request, hold = await read_request(headers, receive, principal, self._pipeline, self._bodies)
            request, document = await self._pipeline.resolve_document(principal, request)
            if method == "GET" and document.kind is OperationType.MUTATION:
                raise GetNotAllowed
            reply = await self._pipeline.execute(principal, request, document, current_client())
        except GetNotAllowed:
            return _errors_response(
                [GraphQLError("GET accepts only queries; send a mutation with POST")], 405, media, [(b"allow", b"POST")]
            )
        except BudgetExhausted as exhausted:
            return error_response(exhausted.error, media)
        except InvalidRequest as invalid:
            return _errors_response(invalid.errors, 400 if media == GRAPHQL_RESPONSE else 200, media)
        except GatewayError as error:
            return error_response(error, media)
        finally:
            if hold is not None:
                hold.release()
        budget_headers = _budget_headers(reply.balance)
        return (
            await _cacheable_response(reply, media, headers, budget_headers)
            if method == "GET"
            else GraphQLResponse(200, await reply.encode_with_cost(), media, budget_headers)
        )


async def accept_content(headers: Mapping[str, str], principal: Principal, pipeline: GraphQLPipeline) -> None:
    """Raise UnsupportedMediaType for a body of a wrong type, which is not read.

    The caller pays for the refusal. Raise as `GraphQLPipeline.charge_refusal` does.
    """
    try:
        check_content(headers)
    except UnsupportedMediaType:
        await pipeline.charge_refusal(principal)
        raise


async def read_request(
    headers: Mapping[str, str], receive: Receive, principal: Principal, pipeline: GraphQLPipeline, bodies: BodyReader
) -> tuple[OperationRequest, BodyHold | None]:
    """Return the request in a body, which is charged by its size before it is read, and the memory of the body.

    The caller releases the memory. Raise BadInput if there is no request, and as `BodyReader.read` does.
    """
    body, hold = await bodies.read(receive, principal, pipeline.body_charge(principal), announced_length(headers))
    if hold is None:
        return parse_body(body), None
    try:
        return parse_body(body), hold
    except BaseException:
        hold.release()
        raise


async def read_query_string(query_string: bytes, principal: Principal, pipeline: GraphQLPipeline) -> OperationRequest:
    """Return the request in a query string, which is charged by its size before it is parsed.

    Raise as `parse_query_string` and `GraphQLPipeline.charge_request` do.
    """
    await pipeline.charge_request(principal, len(query_string))
    return parse_query_string(query_string, principal)


def parse_body(body: bytes) -> OperationRequest:
    """Parse the request in a body. Raise BadInput if there is none."""
    try:
        check_encoding(body)
        return msgspec.structs.replace(_REQUEST.decode(body), size=len(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if body.lstrip()[:1] == b"[":
            raise BadInput("batches are not supported; send each operation in a request of its own") from None
        raise BadInput(f"the body is not a GraphQL request: {error}") from None


def parse_query_string(query_string: bytes, principal: Principal) -> OperationRequest:
    """Parse the request in a query string, with `variables` and `extensions` in JSON.

    Raise BadInput if there is none, or TooLarge if it exceeds the bounds of the caller or of JSON.
    """
    if principal.role is Role.ANONYMOUS:
        check_anonymous_size(len(query_string))
    members: dict[str, object] = dict(parse_qsl(query_string.decode("latin-1"), keep_blank_values=True))
    try:
        for name in ("variables", "extensions"):
            if members.get(name):
                check_structure(str(members[name]).encode(errors="replace"))
                members[name] = msgspec.json.decode(str(members[name]))
        given = {name: value for name, value in members.items() if value != ""}
        return msgspec.convert(given | {"size": len(query_string)}, OperationRequest)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadInput(f"the query string is not a GraphQL request: {error}") from None


def error_response(error: GatewayError, media: str = JSON) -> GraphQLResponse:
    """Return the response for an error. Write rejected requests to the log."""
    log_access_error(error)
    errors = [{"message": error.message, "extensions": error.extensions}]
    headers = [] if error.retry_after is None else [(b"retry-after", str(error.retry_after).encode())]
    if isinstance(error, UnsupportedMediaType):
        headers.append((b"accept", error.accepted.encode()))
    return refusal_response(errors, error.status, media, headers)


def _errors_response(
    errors: Sequence[GraphQLError], status: int, media: str, headers: Sequence[tuple[bytes, bytes]] = ()
) -> GraphQLResponse:
    """Return the response for a request that was not executed."""
    return refusal_response([error.formatted for error in normalize_errors(errors)], status, media, headers)


def refusal_response(
    errors: object, status: int, media: str = JSON, headers: Sequence[tuple[bytes, bytes]] = ()
) -> GraphQLResponse:
    """Return the response with the errors of a request that was not executed. It states the budget after a charge."""
    balance = CURRENT_BALANCE.get()
    body: dict[str, object] = {"errors": errors}
    if balance is not None:
        body["extensions"] = {"cost": balance_members(balance)}
    return GraphQLResponse(status, encode_json(body), media, [*headers, *_budget_headers(balance)])


async def _cacheable_response(
    reply: PipelineResult, media: str, headers: Mapping[str, str], budget_headers: Headers
) -> GraphQLResponse:
    """Return the response to a GET, with an entity tag, so that the client can revalidate its copy.

    The tag is weak, because it does not cover the cost, which differs in every response.
    """
    tag = f'W/"{(await _digest(await reply.encode_result()))[:32]}"'
    response_headers = [(b"etag", tag.encode()), (b"cache-control", b"private, no-cache"), *budget_headers]
    if has_tag(headers.get("if-none-match", ""), tag):
        return GraphQLResponse(304, b"", media, response_headers)
    return GraphQLResponse(200, await reply.encode_with_cost(), media, response_headers)


async def _digest(content: bytes) -> str:
    """Return the SHA-256 of a content. That of a large one is computed in a thread."""
    if len(content) < LARGE_BODY_BYTES:
        return hashlib.sha256(content).hexdigest()
    return (await run_in_thread(partial(hashlib.sha256, content))).hexdigest()


def _budget_headers(balance: Balance | None) -> Headers:
    if balance is None:
        return []
    policy, state = rate_limit_headers(balance).values()
    return [(b"ratelimit-policy", policy.encode()), (b"ratelimit", state.encode())]
