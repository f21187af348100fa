"""Trace IDs of requests, connections and their operations: in headers, errors and the log."""

import asyncio
import json
import logging
from typing import Any

import httpx
import pytest

from tests.realtime.test_server_sent_events import TOKEN, stream, stream_request
from tests.support.house import House
from tests.support.socket import socket
from wattgate.requests.request_context import new_trace_id, parse_traceparent

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACEPARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
FORBIDDEN_QUERY = "{ applicationStatistics { totalHomes } }"


def trace_of(answer: Any) -> str:
    """Return the trace ID of the only error in a GraphQL response or payload."""
    (error,) = answer["errors"] if isinstance(answer, dict) else answer
    trace_id: str = error["extensions"]["traceId"]
    return trace_id


@pytest.mark.parametrize(
    ("header", "trace_id"),
    [
        (f"00-{TRACE}-00f067aa0ba902b7-01", TRACE),
        (f"cc-{TRACE}-00f067aa0ba902b7-01-what-the-future-will-be-like", TRACE),
        (f"00-{TRACE}-00f067aa0ba902b7-01-more", None),
        (f"ff-{TRACE}-00f067aa0ba902b7-01", None),
        (f"00-{'0' * 32}-00f067aa0ba902b7-01", None),
        (f"00-{TRACE}-{'0' * 16}-01", None),
        (f"00-{TRACE.upper()}-00f067aa0ba902b7-01", None),
        ("", None),
    ],
)
def test_valid_traceparent_gives_trace_id(header: str, trace_id: str | None) -> None:
    assert parse_traceparent(header) == trace_id


def test_new_trace_id_is_valid_and_unique() -> None:
    trace_id = new_trace_id()
    assert parse_traceparent(f"00-{trace_id}-00f067aa0ba902b7-01") == trace_id
    assert trace_id != new_trace_id()


async def test_response_has_trace_id_of_caller(served: House) -> None:
    headers = {"traceparent": TRACEPARENT, **served.one.headers["account"]}
    answer = await served.call("GET", "/account/unknown", headers)
    assert answer.headers["x-trace-id"] == answer.json()["traceId"] == TRACE


async def test_cors_allows_traceparent_header(served: House) -> None:
    headers = {
        "Origin": "https://app.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "traceparent, tracestate, token",
    }
    answer = await served.http.options("/graphql", headers=headers)
    assert answer.status_code == 200, answer.text


async def test_websocket_has_trace_id_of_handshake(served: House, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "wattgate"):
        async with socket(served.url, headers={"traceparent": TRACEPARENT}) as opened:
            assert opened.connection.response is not None
            assert opened.connection.response.headers["X-Trace-Id"] == TRACE
            await opened.init(**served.one.headers["account"])
            await opened.say(type="connection_init", payload={})
            assert (await opened.closed())[0] == 4429
    (close_record,) = [
        record for record in caplog.records if record.getMessage().startswith("Closing a connection with code 4429")
    ]
    assert close_record.__dict__["trace_id"] == TRACE


async def test_websocket_operation_has_own_trace_id_or_that_of_its_traceparent(served: House) -> None:
    client_trace = TRACE.replace("4", "5")
    client_extensions = {"traceparent": TRACEPARENT.replace(TRACE, client_trace)}
    async with socket(served.url, headers={"traceparent": TRACEPARENT}) as opened:
        await opened.init(**served.one.headers["account"])
        trace_ids = []
        for extensions in (None, {"traceparent": 7}, {"traceparent": "none"}, client_extensions):
            payload = {"query": FORBIDDEN_QUERY, "extensions": extensions}
            await opened.say(id="1", type="subscribe", payload=payload)
            trace_ids.append(trace_of(await opened.payload()))
            assert (await opened.hear())["type"] == "complete"
    assert trace_ids.pop() == client_trace
    assert len({TRACE, client_trace, *trace_ids}) == 2 + len(trace_ids)


async def test_event_stream_operation_has_trace_id_of_request(served: House) -> None:
    request = stream_request(served, FORBIDDEN_QUERY, "unknown", traceparent=TRACEPARENT)
    async with stream(served, **request) as event_stream:
        assert event_stream.response.headers["x-trace-id"] == TRACE
        assert trace_of(await event_stream.next_data()) == TRACE


async def test_single_connection_operation_has_trace_id_of_its_request(served: House) -> None:
    account = served.one.headers["account"]
    token = (await served.http.put("/graphql", headers=account)).text
    async with stream(served, "GET", headers={TOKEN: token, "Accept": "text/event-stream"}) as event_stream:
        body = {"query": FORBIDDEN_QUERY, "extensions": {"operationId": "a"}}
        headers = {TOKEN: token, "traceparent": TRACEPARENT, **account}
        assert (await served.http.post("/graphql", json=body, headers=headers)).status_code == 202
        assert trace_of((await event_stream.next_data())["payload"]) == TRACE


REFUSED = {
    "a malformed line": (b"GET /x HTTP/1.1\r\nnonsense\r\n\r\n", 400),
    "a head without Host": (b"GET /x HTTP/1.1\r\n\r\n", 400),
    "a large head": (b"GET /x HTTP/1.1\r\nHost: a\r\nX: %b\r\n\r\n" % (40_000 * b"x"), 431),
    "another version": (b"GET /x HTTP/2.0\r\nHost: a\r\n\r\n", 505),
}
TRACED_HEAD = b"Host: a\r\ntraceparent: %b\r\n" % TRACEPARENT.encode()
BEFORE = {
    "nothing": b"",
    "a request": b"GET /healthz HTTP/1.1\r\n%b\r\n" % TRACED_HEAD,
    "two requests": b"GET /healthz HTTP/1.1\r\n%b\r\n" % TRACED_HEAD * 2,
    "a request for GraphQL": (
        b"POST /graphql HTTP/1.1\r\n%bContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}" % TRACED_HEAD
    ),
}


async def test_refusal_of_the_protocol_has_a_trace_id_of_its_own(
    served: House, subtests: pytest.Subtests, caplog: pytest.LogCaptureFixture
) -> None:
    """It is not that of the request before it on the connection. The header, the body and the log have the same one."""
    url, seen = httpx.URL(served.url), set[str]()
    for before, requests in BEFORE.items():
        for name, (refused, status) in REFUSED.items():
            with subtests.test(f"{name} after {before}"):
                caplog.clear()
                reader, writer = await asyncio.open_connection(url.host, url.port)
                with caplog.at_level(logging.INFO, "wattgate"):
                    writer.write(requests + refused)
                    answers = await asyncio.wait_for(reader.read(-1), 60)
                writer.close()
                head, _, body = answers.rpartition(b"HTTP/1.1 ")[2].partition(b"\r\n\r\n")
                assert int(head[:3]) == status
                trace_id = json.loads(body)["traceId"]
                assert parse_traceparent(f"00-{trace_id}-00f067aa0ba902b7-01") == trace_id
                assert b"\r\nx-trace-id: %b" % trace_id.encode() in head
                assert trace_id not in {TRACE, *seen}
                seen.add(trace_id)
                records = [one for one in caplog.records if one.getMessage().startswith("HTTP connection refused")]
                assert [record.__dict__["trace_id"] for record in records] == [trace_id]
