"""The gate as an ASGI application: the order of its effects, its limits, and what it does if an application fails."""

from collections.abc import Sequence
from typing import Any

import pytest
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.support.plain_gateway import TRACE, measured_requests
from wattgate.app.server.gate.gate import Gate, GateRules
from wattgate.app.settings import Settings
from wattgate.enums import TRACE_ID
from wattgate.requests.client import current_client
from wattgate.requests.request_limits import MAX_PARAMETERS

MAX_BODY_BYTES = 2_000
RULES = GateRules.from_settings(
    Settings(_env_file=None, max_body_bytes=MAX_BODY_BYTES, trusted_proxies=["192.0.2.0/24"])
)
TRACEPARENT = b"traceparent", f"00-{TRACE}-b7ad6b7169203331-01".encode()
START: Message = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]}
END: Message = {"type": "http.response.body", "body": b"done"}
PARTS = [{"type": "http.request", "body": bytes(900), "more_body": True} for _ in range(3)]


def http(path: str = "/graphql", headers: Sequence[tuple[bytes, bytes]] = (), **more: Any) -> Scope:
    return {
        "type": "http",
        "method": "POST",
        "path": path,
        "root_path": "",
        "scheme": "http",
        "client": ("198.51.100.7", 1),
        "query_string": b"",
        "headers": list(headers),
        **more,
    }


async def through(
    app: ASGIApp, scope: Scope, received: Sequence[Message] = (), around: Sequence[Middleware] = ()
) -> list[Message]:
    """Return the messages that the gate sends for a request with these messages."""
    sent, left = list[Message](), iter(received)

    async def receive() -> Message:
        return next(left)

    async def send(message: Message) -> None:
        sent.append(message)

    await Gate(app, RULES, around)(scope, receive, send)
    return sent


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    await send(dict(START))
    await send(END)


async def read_all(scope: Scope, receive: Receive, send: Send) -> None:
    while (await receive()).get("more_body"):
        pass
    await answer(scope, receive, send)


async def answer_and_read(scope: Scope, receive: Receive, send: Send) -> None:
    await send(dict(START))
    await read_all(scope, receive, send)


def names(message: Message) -> list[bytes]:
    return [name for name, _ in message["headers"]]


async def test_application_sees_the_trace_the_client_and_the_path() -> None:
    seen: list[Any] = []

    async def look(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append((scope["path"], scope["scheme"], scope["client"], current_client().host, TRACE_ID.get()))
        await answer(scope, receive, send)

    proxied = [TRACEPARENT, (b"x-forwarded-for", b"203.0.113.9"), (b"x-forwarded-proto", b"https")]
    scope = http("//graphql/", proxied, client=("192.0.2.1", 1))
    start, _ = await through(look, scope)
    assert seen == [("/graphql", "https", ("203.0.113.9", 0), "203.0.113.9", TRACE)]
    assert (scope["path"], scope["scheme"]) == ("//graphql/", "http"), "the server keeps its scope"
    assert names(start)[0] == b"content-type"
    assert names(start)[-2:] == [b"strict-transport-security", b"x-trace-id"]
    assert dict(start["headers"])[b"x-trace-id"] == TRACE.encode()


async def test_response_has_the_headers_in_the_order_of_the_effects() -> None:
    async def log_in(scope: Scope, receive: Receive, send: Send) -> None:
        current_client().new_device = "new"
        await answer(scope, receive, send)

    start, _ = await through(log_in, http(headers=[(b"origin", b"https://page.example")]))
    first = [b"content-type", b"access-control-allow-origin", b"access-control-expose-headers", b"vary"]
    assert names(start)[:5] == [*first, b"content-security-policy"]
    assert names(start)[-3:] == [b"cache-control", b"set-cookie", b"x-trace-id"]


async def test_first_line_of_a_header_decides_the_trace_and_all_lines_the_client() -> None:
    lines = [(b"traceparent", b"none"), TRACEPARENT]
    start, _ = await through(answer, http(headers=lines[::-1]))
    assert dict(start["headers"])[b"x-trace-id"] == TRACE.encode()
    start, _ = await through(answer, http(headers=lines))
    assert dict(start["headers"])[b"x-trace-id"] != TRACE.encode()
    seen: list[Any] = []

    async def look(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append((current_client().host, current_client().device))

    forwarded = [(b"x-forwarded-for", b"203.0.113.1"), (b"x-forwarded-for", b"203.0.113.2")]
    cookies = [(b"cookie", b"a=b"), (b"cookie", b"wattgate_device=known")]
    await through(look, http(headers=[*forwarded, *cookies], client=("192.0.2.1", 1)))
    assert seen == [("203.0.113.2", "known")]


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/graphql", [(b"content-length", b"2001")], 413),
        ("/graphql", [(b"content-length", b"9" * 30)], 413),
        ("/graphql", [], 413),
        ("/api/v0-1/readings", [(b"content-type", b"application/json")], 413),
        ("/api/v0-1//readings/", [(b"content-type", b"application/x-ndjson; charset=utf-8")], 200),
    ],
)
async def test_body_above_the_limit_is_refused_with_the_headers_of_the_gate(
    path: str, headers: list[tuple[bytes, bytes]], status: int
) -> None:
    before = measured_requests()
    start, *_ = await through(read_all, http(path, headers), [*PARTS, {"type": "http.request"}])
    assert start["status"] == status
    assert {b"x-trace-id", b"content-security-policy", b"vary"} <= set(names(start))
    assert measured_requests() - before == {("POST", "other", str(status)): 1}


@pytest.mark.parametrize(("count", "status"), [(MAX_PARAMETERS, 200), (MAX_PARAMETERS + 1, 400), (16_000, 400)])
async def test_query_with_many_parameters_is_refused_before_anything_parses_it(count: int, status: int) -> None:
    """To parse 16,000 parameters takes tens of milliseconds, and nobody is charged for them."""
    start, body = await through(answer, http(query_string=b"&".join([b"a"] * count)))
    assert start["status"] == status
    assert dict(start["headers"])[b"x-trace-id"]
    assert (b"the maximum is 100" in body["body"]) is (status == 400)


async def test_body_that_exceeds_the_limit_after_the_response_has_begun_gets_no_second_response() -> None:
    before = measured_requests()
    with pytest.raises(Exception, match="larger than 2000 bytes"):
        await through(answer_and_read, http(), PARTS)
    assert measured_requests() - before == {("POST", "other", "200"): 1}


async def test_failure_is_measured_and_left_to_the_server() -> None:
    async def fail(scope: Scope, receive: Receive, send: Send) -> None:
        raise RuntimeError("a defect")

    before = measured_requests()
    with pytest.raises(RuntimeError, match="a defect"):
        await through(fail, http(method="PROPFIND"))
    assert measured_requests() - before == {("other", "other", "500"): 1}


async def test_event_streams_and_preflight_requests_are_not_measured() -> None:
    async def stream(scope: Scope, receive: Receive, send: Send) -> None:
        await send({**START, "headers": [(b"content-type", b"text/event-stream")]})

    before = measured_requests()
    await through(stream, http())
    wanted = [(b"origin", b"https://page.example"), (b"access-control-request-method", b"POST")]
    start, _ = await through(stream, http(method="OPTIONS", headers=wanted))
    assert start["status"] == 200
    assert {b"x-trace-id", b"content-security-policy", b"cache-control"} <= set(names(start))
    assert len(names(start)) == len(set(names(start)))
    assert b"access-control-expose-headers" not in names(start)
    assert measured_requests() == before


class Layer:
    """A layer between the gate and the application that notes what it sees."""

    def __init__(self, app: ASGIApp, seen: list[Any]) -> None:
        self._app = app
        self._seen = seen

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def note(message: Message) -> None:
            self._seen.append(message.get("status", message["type"]))
            await send(message)

        self._seen.append((scope["path"], TRACE_ID.get()))
        await self._app(scope, receive, note)


async def test_layers_behind_the_gate_see_the_request_and_also_its_refusal() -> None:
    seen: list[Any] = []
    scope = http("//graphql", [TRACEPARENT, (b"content-length", b"2001")])
    await through(answer, scope, around=[Middleware(Layer, seen=seen)])
    assert seen == [("/graphql", TRACE), 413, "http.response.body"]


async def test_socket_is_accepted_with_its_trace_and_without_headers_of_pages() -> None:
    async def accept(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "websocket.accept", "headers": [(b"a", b"b")]})
        await send({"type": "websocket.close"})

    accepted, closed = await through(accept, http(headers=[TRACEPARENT], type="websocket", scheme="ws"))
    assert accepted["headers"] == [(b"a", b"b"), (b"x-trace-id", TRACE.encode())]
    assert closed == {"type": "websocket.close"}
