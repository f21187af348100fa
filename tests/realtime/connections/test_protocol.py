"""graphql-transport-ws as its table says: each message in each state, on both wires."""

from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from tests.support.live import LiveHouse
from tests.support.socket import Socket, socket
from wattgate.realtime.connections.protocol import (
    MEANINGS,
    TABLE,
    Close,
    Complete,
    ConnectionInit,
    Do,
    Ping,
    Pong,
    State,
    Subscribe,
)

PING = {"type": "ping"}
PONG = {"type": "pong"}
MESSAGES: dict[type, dict[str, Any]] = {
    ConnectionInit: {"type": "connection_init"},
    Ping: PING,
    Pong: PONG,
    Subscribe: {"type": "subscribe", "id": "1", "payload": {"query": "{ __typename }"}},
    Complete: {"type": "complete", "id": "1"},
}
ACKNOWLEDGEMENT = {"type": "connection_ack"}
INIT = MESSAGES[ConnectionInit]
MALFORMED = "no message"

BEFORE: dict[State, list[Any]] = {
    State.NEW: [],
    State.AUTHENTICATING: [INIT],
    State.CLOSED: [MALFORMED],
}
"""What brings a connection into a state, if the next message comes together with it."""

CELLS = [pytest.param(state, kind, id=f"{state.value}-{kind.__name__}") for state, row in TABLE.items() for kind in row]


async def follows(one: Socket, state: State, effect: Do | Close) -> None:
    """Look at what comes of a message: it is followed by the effect, and by nothing else."""
    if isinstance(effect, Close) or effect is Do.IGNORE:  # what is ignored comes after a message that was malformed
        assert await one.rest() == []
        code, reason = await one.closed()
        assert code == (Close.BAD_REQUEST if effect is Do.IGNORE else effect)
        assert effect is Do.IGNORE or reason == MEANINGS[effect][0]
        return
    answers: dict[Do, list[dict[str, Any]]] = {
        Do.AUTHENTICATE: [ACKNOWLEDGEMENT],
        Do.START: [
            {"type": "next", "id": "1", "payload": {"data": {"__typename": "Query"}}},
            {"type": "complete", "id": "1"},
        ],
        Do.STOP: [],
        Do.PONG: [PONG],
        Do.HEAR: [],
    }
    expected = answers[effect]
    if state is State.AUTHENTICATING:
        expected = [*expected, ACKNOWLEDGEMENT]
    assert [_without_cost(await one.hear()) for _ in expected] == expected
    assert await one.heard() == []


def _without_cost(message: dict[str, Any]) -> dict[str, Any]:
    """A message without what an answer cost, which is of the caller's past."""
    if message["type"] == "next":
        del message["payload"]["extensions"]["cost"]
        assert message["payload"].pop("extensions") == {}
    return message


@pytest.mark.parametrize(("state", "kind"), CELLS)
async def test_each_message_in_each_state_has_the_effect_of_the_table(
    live: LiveHouse, state: State, kind: type
) -> None:
    async with socket(live.url, headers=live.one.headers["account"]) as one:
        if state is State.READY:
            await one.init()
        one.say_at_once(*BEFORE.get(state, []), MESSAGES[kind])
        await follows(one, state, TABLE[state][kind])


def test_the_table_has_a_cell_for_each_message_in_each_state() -> None:
    assert set(TABLE) == set(State)
    for row in TABLE.values():
        assert set(row) == set(MESSAGES)


def test_each_close_code_has_a_meaning() -> None:
    assert set(MEANINGS) == set(Close)


SUBSCRIBE = '{"type": "subscribe", "id": "1", "payload": %s}'
NO_MESSAGES: list[str | bytes] = [
    "",
    "no json",
    "{",
    "[]",
    '"x"',
    "null",
    "5",
    "{}",
    '{"type": null}',
    '{"type": 5}',
    '{"type": "unknown"}',
    '{"type": "next", "id": "1", "payload": {}}',
    '{"type": "connection_ack"}',
    '{"type": "start", "id": "1", "payload": {"query": "{ __typename }"}}',
    '{"type": "ping"} {"type": "ping"}',
    '{"type": "connection_init", "payload": "x"}',
    '{"type": "connection_init", "payload": []}',
    '{"type": "ping", "payload": 5}',
    '{"type": "pong", "payload": "x"}',
    '{"type": "complete"}',
    '{"type": "complete", "id": 1}',
    '{"type": "complete", "id": ""}',
    '{"type": "subscribe", "id": 1, "payload": {"query": "{ __typename }"}}',
    '{"type": "subscribe", "id": "", "payload": {"query": "{ __typename }"}}',
    '{"type": "subscribe", "id": null, "payload": {"query": "{ __typename }"}}',
    '{"type": "subscribe", "payload": {"query": "{ __typename }"}}',
    '{"type": "subscribe", "id": "%s", "payload": {"query": "{ __typename }"}}' % ("x" * 257),
    '{"type": "subscribe", "id": "1"}',
    SUBSCRIBE % "null",
    SUBSCRIBE % '"{ __typename }"',
    SUBSCRIBE % "{}",
    SUBSCRIBE % '{"query": 5}',
    SUBSCRIBE % '{"query": null}',
    SUBSCRIBE % '{"query": "{ __typename }", "variables": "x"}',
    SUBSCRIBE % '{"query": "{ __typename }", "variables": []}',
    SUBSCRIBE % '{"query": "{ __typename }", "operationName": 5}',
    SUBSCRIBE % '{"query": "{ __typename }", "extensions": "x"}',
    b'{"type": "ping"}',
    b"\xff",
    '{"type": "ping", "payload": {"deep": %s}}' % ("[" * 20_000 + "]" * 20_000),
    '{"type": "ping", "unknown": %s}' % ("[" * 20_000 + "]" * 20_000),
    '{"type": "ping", "payload": {"a": "\\ud800"}}',
    '{"type": "ping", "payload": {"a": NaN}}',
]


@pytest.mark.parametrize("acknowledged", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("data", NO_MESSAGES, ids=lambda data: repr(data[:60]))
async def test_what_is_no_message_closes_the_socket_with_4400(
    live: LiveHouse, data: str | bytes, acknowledged: bool
) -> None:
    async with socket(live.url) as one:
        if acknowledged:
            await one.init(**live.one.headers["account"])
        await one.send(data)
        code, reason = await one.closed()
        assert code == 4400
        assert reason is not None
        assert reason.startswith("Invalid message: ")


async def test_text_that_is_no_utf_8_closes_the_socket(live: LiveHouse, wire: str) -> None:
    async with socket(live.url) as one:
        one.connection.protocol.send_text(b'{"type": "ping", "payload": {"a": "\xff"}}')
        one.connection.send_data()
        assert (await one.closed())[0] == (4400 if wire == "direct" else 1007)


async def test_members_that_the_protocol_does_not_know_are_ignored(live: LiveHouse) -> None:
    async with socket(live.url, headers=live.one.headers["account"]) as one:
        await one.say(type="connection_init", id="5", more={"a": 1})
        assert await one.hear() == ACKNOWLEDGEMENT


async def test_an_init_whose_payload_is_null_is_as_one_without(live: LiveHouse) -> None:
    async with socket(live.url, headers=live.one.headers["account"]) as one:
        await one.say(type="connection_init", payload=None)
        assert await one.hear() == ACKNOWLEDGEMENT


async def test_a_pong_has_the_payload_of_its_ping(live: LiveHouse) -> None:
    async with socket(live.url) as one:
        for payload in ({"a": [1, None, "é"]}, {}, {"token": None} | {"x": 10**40}):
            await one.say(type="ping", payload=payload)
            if "token" not in payload:
                assert await one.hear() == {"type": "pong", "payload": payload}
        assert (await one.closed())[0] == 4401  # a ping that brings credentials is for later


@pytest.mark.parametrize("offered", [[], ["graphql-ws"], ["graphql-transport-w"], ["GRAPHQL-TRANSPORT-WS"]], ids=str)
async def test_another_subprotocol_is_closed_with_4406(live: LiveHouse, offered: list[str]) -> None:
    async with socket(live.url, subprotocols=offered) as one:
        assert await one.closed() == (4406, MEANINGS[Close.SUBPROTOCOL_NOT_ACCEPTABLE][0])
        assert one.connection.subprotocol is None


async def test_of_several_subprotocols_ours_is_taken(live: LiveHouse) -> None:
    async with socket(live.url, subprotocols=["graphql-ws", "graphql-transport-ws"]) as one:
        assert one.connection.subprotocol == "graphql-transport-ws"


@pytest.mark.parametrize("fragments", [1, 5])
async def test_a_message_above_64_kib_closes_the_socket_with_1009(live: LiveHouse, fragments: int) -> None:
    async with live.socket() as one:
        text = '{"type": "ping", "payload": {"a": "%s"}}'
        largest = text % ("x" * (65_536 - len(text) + 2))
        assert len(largest) == 65_536
        await one.send(largest)
        assert (await one.hear())["type"] == "pong"
        data = text % ("x" * (65_537 - len(text) + 2))
        step = len(data) // fragments + 1
        await one.connection.send(iter(data[at : at + step] for at in range(0, len(data), step)))
        assert (await one.closed())[0] == 1009


async def test_a_message_may_come_in_fragments(live: LiveHouse) -> None:
    async with live.socket() as one:
        await one.connection.send(iter(['{"type": "pi', "", 'ng", "payload": ', '{"a": 1}}']))
        assert await one.hear() == {"type": "pong", "payload": {"a": 1}}


@pytest.mark.parametrize("name", ["x" * 60_000, "é" * 5_000, '\\"' * 500])
async def test_a_long_reason_is_cut_to_what_a_close_frame_holds(live: LiveHouse, name: str) -> None:
    async with live.socket() as one:
        await one.send(f'{{"type": "{name}"}}')
        code, reason = await one.closed()
        assert code == 4400
        assert reason is not None
        assert 100 < len(reason.encode()) <= 123


async def test_what_is_nested_as_deeply_as_can_be_read_can_be_answered(live: LiveHouse) -> None:
    answered = 0
    async with live.socket() as one:
        for depth in range(600, 1_100, 3):
            await one.say_nested(depth)
            try:
                answered += (await one.hear())["type"] == "pong"
            except ConnectionClosed:
                break
        assert await one.closed() == (4400, "Invalid message: it is nested too deeply")
    assert answered > 10
