"""The GraphQL endpoint for queries and mutations over HTTP, as the GraphQL-over-HTTP specification has it.

Source: https://graphql.github.io/graphql-over-http/draft/. A request that is no GraphQL request is answered by 400. One
whose document or variables are wrong is answered by 400 too where the client takes `application/graphql-response+json`,
and by 200 where it takes only `application/json`, as clients of that type expect it.
"""

import gzip
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl

import msgspec
from graphql import GraphQLError, OperationType
from starlette.types import Message, Receive, Scope, Send
from strawberry.http.ides import get_graphql_ide_html

from wattgate.errors import BadInput, GatewayError, UnsupportedMediaType
from wattgate.graphql.execution.documents import Invalid
from wattgate.graphql.execution.pipeline import Gate, Reply, Spent, encode
from wattgate.graphql.execution.schema import tell_all
from wattgate.graphql.transport.accept import GRAPHQL_RESPONSE, JSON, media_type, wants_html
from wattgate.principal import Authenticate
from wattgate.realtime.connections.protocol import Request
from wattgate.realtime.rate_limit.budgets import Balance, rate_limit_headers
from wattgate.request_context import refused

Headers = list[tuple[bytes, bytes]]

LARGE = 2_048
"""From how many bytes on an answer is compressed, for clients that take gzip."""

LEVEL = 5
"""How hard gzip tries: more costs more time than it saves."""

_REQUEST = msgspec.json.Decoder(Request)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, which sends itself: status, body, its media type, and headers beside those that every answer has."""

    status: int
    body: bytes
    media: str
    headers: Sequence[tuple[bytes, bytes]] = ()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = self.body
        fields = [(b"content-type", self.media.encode()), (b"vary", b"Accept, Accept-Encoding"), *self.headers]
        if len(body) >= LARGE and b"gzip" in dict(scope["headers"]).get(b"accept-encoding", b""):
            body = gzip.compress(body, LEVEL)
            fields.append((b"content-encoding", b"gzip"))
        fields.append((b"content-length", str(len(body)).encode()))
        await send({"type": "http.response.start", "status": self.status, "headers": fields})
        await send({"type": "http.response.body", "body": body})


class NotGet(Exception):
    """What is asked for by GET is no query."""


class Endpoint:
    """An ASGI application. `ide` says whether browsers are given GraphiQL."""

    def __init__(self, gate: Gate, authenticate: Authenticate, *, ide: bool) -> None:
        self._gate = gate
        self._authenticate = authenticate
        self._ide = get_graphql_ide_html(graphql_ide="graphiql").encode() if ide else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        answer = await self._answer(scope, headers, receive)
        await answer(scope, receive, send)

    async def _answer(self, scope: Scope, headers: Mapping[str, str], receive: Receive) -> Answer:
        method, accepted = scope["method"], headers.get("accept", "")
        if self._ide and method == "GET" and not scope["query_string"] and wants_html(accepted):
            return Answer(200, self._ide, "text/html; charset=utf-8")
        media = media_type(accepted)
        if media is None:
            return _told([GraphQLError(f"answers are {GRAPHQL_RESPONSE} or {JSON}")], 406, JSON)
        if method not in ("GET", "POST"):
            return _told([GraphQLError("GraphQL is asked by GET or POST")], 405, media, [(b"allow", b"GET, POST")])
        try:
            principal = await self._authenticate(headers)
            if method == "GET":
                request = from_query(scope["query_string"])
            else:
                _check_type(headers.get("content-type", ""))
                request = from_body(await _body(receive))
            request, document = await self._gate.find(principal, request)
            if method == "GET" and document.kind is not OperationType.QUERY:
                raise NotGet
            reply = await self._gate.answer(principal, request, document)
        except NotGet:
            return _told([GraphQLError("only queries are asked by GET")], 405, media, [(b"allow", b"POST")])
        except Spent as over:
            return _over(over, media)
        except Invalid as invalid:
            return _told(invalid.errors, 400 if media == GRAPHQL_RESPONSE else 200, media)
        except GatewayError as error:
            return refusal(error, media)
        told = _headers(reply.balance)
        return _cached(reply, media, headers, told) if method == "GET" else Answer(200, reply.encoded(), media, told)


async def _body(receive: Receive) -> bytes:
    message: Message = await receive()
    body: bytes = message.get("body", b"")
    while message.get("more_body"):
        message = await receive()
        body += message.get("body", b"")
    return body


def _check_type(given: str) -> None:
    """A form is refused: a page of anybody's could send it without the browser asking first whether it may."""
    media, _, parameters = given.partition(";")
    name, _, charset = parameters.strip().lower().partition("=")
    if media.strip().lower() != JSON or (name == "charset" and charset.strip('"') not in ("utf-8", "utf8")):
        raise UnsupportedMediaType("a GraphQL request is of the type application/json, in UTF-8")


def from_body(body: bytes) -> Request:
    """The request of a body. BadInput where it is none."""
    try:
        return _REQUEST.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if body.lstrip()[:1] == b"[":
            raise BadInput("operations are asked one by one, not in batches") from None
        raise BadInput(f"the body is no GraphQL request: {error}") from None


def from_query(query_string: bytes) -> Request:
    """The request that stands in an address, whose `variables` and `extensions` are JSON. BadInput where it is none."""
    given: dict[str, object] = dict(parse_qsl(query_string.decode("latin-1"), keep_blank_values=True))
    try:
        for name in ("variables", "extensions"):
            if given.get(name):
                given[name] = msgspec.json.decode(str(given[name]))
        return msgspec.convert({name: value for name, value in given.items() if value != ""}, Request)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadInput(f"the address holds no GraphQL request: {error}") from None


def refusal(error: GatewayError, media: str = JSON) -> Answer:
    """The answer that tells an error in place of a result. Refusals are logged."""
    refused(error)
    told = {"message": error.message, "extensions": error.extensions}
    headers = [] if error.retry_after is None else [(b"retry-after", str(error.retry_after).encode())]
    return Answer(error.status, encode({"errors": [told]}), media, headers)


def _told(
    errors: Sequence[GraphQLError], status: int, media: str, headers: Sequence[tuple[bytes, bytes]] = ()
) -> Answer:
    """The answer to a request that was not executed."""
    return Answer(status, encode({"errors": [error.formatted for error in tell_all(errors)]}), media, headers)


def _cached(reply: Reply, media: str, headers: Mapping[str, str], told: Headers) -> Answer:
    """The answer to a GET, which a client may keep for as long as asking again gives the same.

    The tag is a weak one: it says nothing of the cost, which is told beside the result and is never the same.
    """
    tag = f'W/"{hashlib.sha256(reply.result()).hexdigest()[:32]}"'
    kept = [(b"etag", tag.encode()), (b"cache-control", b"private, no-cache"), *told]
    if tag in headers.get("if-none-match", ""):
        return Answer(304, b"", media, kept)
    return Answer(200, reply.encoded(), media, kept)


def _over(over: Spent, media: str) -> Answer:
    """The answer to a caller whose budget is spent."""
    answer = refusal(over.error, media)
    return replace(answer, headers=[*answer.headers, *_headers(over.balance)])


def _headers(balance: Balance | None) -> Headers:
    return [(name.lower().encode(), value.encode()) for name, value in rate_limit_headers(balance).items()]
