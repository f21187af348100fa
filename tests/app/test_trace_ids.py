"""By which id a request, a connection and an operation on it are known: to the caller, in errors and in the log."""

import logging
from typing import Any

import pytest

from tests.realtime.test_server_sent_events import TOKEN, stream, stream_request
from tests.support.house import House
from tests.support.socket import socket
from wattgate.request_context import new_trace_id, parse_traceparent

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACEPARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
REFUSED = "{ applicationStatistics { totalVirtualEntities } }"


def trace_of(answer: Any) -> str:
    """The trace id in the one error of a GraphQL answer or payload."""
    (error,) = answer["errors"] if isinstance(answer, dict) else answer
    found: str = error["extensions"]["traceId"]
    return found


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
def test_the_trace_id_of_a_traceparent_is_taken_over_where_it_is_valid(header: str, trace_id: str | None) -> None:
    assert parse_traceparent(header) == trace_id


def test_a_new_trace_id_is_one_that_others_take_over() -> None:
    made = new_trace_id()
    assert parse_traceparent(f"00-{made}-00f067aa0ba902b7-01") == made
    assert made != new_trace_id()


async def test_an_answer_tells_the_trace_id_that_its_caller_brought(served: House) -> None:
    headers = {"traceparent": TRACEPARENT, **served.one.headers["account"]}
    answer = await served.call("GET", "/account/unknown", headers)
    assert answer.headers["x-trace-id"] == answer.json()["traceId"] == TRACE


async def test_a_page_of_another_origin_may_bring_a_traceparent(served: House) -> None:
    headers = {
        "Origin": "https://app.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "traceparent, tracestate, token",
    }
    answer = await served.http.options("/graphql", headers=headers)
    assert answer.status_code == 200, answer.text


async def test_a_socket_has_the_trace_id_of_its_handshake_and_says_so(
    served: House, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "wattgate"):
        async with socket(served.url, headers={"traceparent": TRACEPARENT}) as opened:
            assert opened.connection.response is not None
            assert opened.connection.response.headers["X-Trace-Id"] == TRACE
            await opened.init(**served.one.headers["account"])
            await opened.say(type="connection_init", payload={})
            assert (await opened.closed())[0] == 4429
    (ended,) = [one for one in caplog.records if one.getMessage().startswith("Closing a connection with code 4429")]
    assert ended.__dict__["trace_id"] == TRACE


async def test_every_operation_on_a_socket_has_a_trace_id_of_its_own_or_of_its_traceparent(served: House) -> None:
    theirs = TRACE.replace("4", "5")
    brought = {"traceparent": TRACEPARENT.replace(TRACE, theirs)}
    async with socket(served.url, headers={"traceparent": TRACEPARENT}) as opened:
        await opened.init(**served.one.headers["account"])
        told = []
        for extensions in (None, {"traceparent": 7}, {"traceparent": "none"}, brought):
            payload = {"query": REFUSED, "extensions": extensions}
            await opened.say(id="1", type="subscribe", payload=payload)
            told.append(trace_of(await opened.payload()))
            assert (await opened.hear())["type"] == "complete"
    assert told.pop() == theirs
    assert len({TRACE, theirs, *told}) == 2 + len(told)


async def test_an_event_stream_and_its_operation_have_the_trace_id_of_their_request(served: House) -> None:
    asked = stream_request(served, REFUSED, "unknown", traceparent=TRACEPARENT)
    async with stream(served, **asked) as one:
        assert one.response.headers["x-trace-id"] == TRACE
        assert trace_of(await one.next_data()) == TRACE


async def test_an_operation_on_a_single_stream_has_the_trace_id_of_the_request_that_asks(served: House) -> None:
    account = served.one.headers["account"]
    token = (await served.http.put("/graphql", headers=account)).text
    async with stream(served, "GET", headers={TOKEN: token, "Accept": "text/event-stream"}) as one:
        body = {"query": REFUSED, "extensions": {"operationId": "a"}}
        headers = {TOKEN: token, "traceparent": TRACEPARENT, **account}
        assert (await served.http.post("/graphql", json=body, headers=headers)).status_code == 202
        assert trace_of((await one.next_data())["payload"]) == TRACE
