"""The state table of graphql-transport-ws: each message in each state."""

import asyncio
from itertools import product
from typing import Any
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode

from tests.support.live import LiveHouse
from tests.support.socket import HEAR_SECONDS, Socket, socket
from wattgate.realtime.connections.protocol import (
    CLOSE_CODE_MEANINGS,
    TABLE,
    Action,
    CloseCode,
    Complete,
    ConnectionInit,
    ConnectionState,
    Ping,
    Pong,
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

BEFORE: dict[ConnectionState, list[Any]] = {
    ConnectionState.NEW: [],
    ConnectionState.AUTHENTICATING: [INIT],
    ConnectionState.CLOSED: [MALFORMED],
}
"""Messages that bring a connection into a state, if the next message arrives together with them."""


async def assert_effect(client: Socket, state: ConnectionState, effect: Action | CloseCode) -> None:
    """Check that a message has this effect and no other."""
    if isinstance(effect, CloseCode) or effect is Action.IGNORE:  # a message is ignored only after a malformed one
        assert await client.rest() == []
        code, reason = await client.closed()
        assert code == (CloseCode.BAD_REQUEST if effect is Action.IGNORE else effect)
        assert effect is Action.IGNORE or reason == CLOSE_CODE_MEANINGS[effect][0]
        return
    answers: dict[Action, list[dict[str, Any]]] = {
        Action.AUTHENTICATE: [ACKNOWLEDGEMENT],
        Action.START: [
            {"type": "next", "id": "1", "payload": {"data": {"__typename": "Query"}}},
            {"type": "complete", "id": "1"},
        ],
        Action.STOP: [],
        Action.PONG: [PONG],
        Action.MARK_ALIVE: [],
    }
    expected = answers[effect]
    if state is ConnectionState.AUTHENTICATING:
        expected = [*expected, ACKNOWLEDGEMENT]
    assert [_without_cost(await client.hear()) for _ in expected] == expected
    assert await client.heard() == []


def _without_cost(message: dict[str, Any]) -> dict[str, Any]:
    """Remove the cost from a message, because it depends on earlier requests."""
    if message["type"] == "next":
        del message["payload"]["extensions"]["cost"]
        assert message["payload"].pop("extensions") == {}
    return message


@pytest.mark.timeout(600)  # a failing case waits for some seconds
async def test_each_message_in_each_state_has_the_effect_of_the_table(
    live: LiveHouse, subtests: pytest.Subtests
) -> None:
    for state, kind, effect in [(state, kind, effect) for state, row in TABLE.items() for kind, effect in row.items()]:
        with subtests.test(f"{state.value}-{kind.__name__}"):
            async with socket(live.url, headers=live.one.headers["account"]) as client:
                if state is ConnectionState.READY:
                    await client.init()
                client.say_at_once(*BEFORE.get(state, []), MESSAGES[kind])
                await assert_effect(client, state, effect)


def test_table_has_a_cell_for_each_message_in_each_state() -> None:
    assert set(TABLE) == set(ConnectionState)
    for row in TABLE.values():
        assert set(row) == set(MESSAGES)


def test_each_close_code_has_a_meaning() -> None:
    assert set(CLOSE_CODE_MEANINGS) == set(CloseCode)


SUBSCRIBE = '{"type": "subscribe", "id": "1", "payload": %s}'
MALFORMED_MESSAGES: list[str | bytes] = [
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
    '{"type": "connection_init", "payload": {"sharedHomeId": 123}}',
    '{"type": "connection_init", "payload": {"TOKEN": ["x"]}}',
    '{"type": "connection_init", "payload": {"userId": {"id": "x"}}}',
    '{"type": "ping", "payload": 5}',
    '{"type": "ping", "payload": {"token": "x", "sharedHomeId": false}}',
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


@pytest.mark.timeout(600)  # a failing case waits for some seconds
async def test_malformed_message_closes_the_socket_with_4400(live: LiveHouse, subtests: pytest.Subtests) -> None:
    for data, moment in product(MALFORMED_MESSAGES, ("before", "after")):
        with subtests.test(f"{data[:60]!r} {moment} the acknowledgement"):
            async with socket(live.url) as client:
                if moment == "after":
                    await client.init(**live.one.headers["account"])
                await client.send(data)
                code, reason = await client.closed()
                assert code == 4400
                assert reason is not None
                assert reason.startswith("Invalid message: ")


async def test_text_that_is_not_utf_8_closes_the_socket_with_1007(live: LiveHouse, subtests: pytest.Subtests) -> None:
    """A byte that no text has, also in an unknown member, half a pair of surrogates, and a cut character."""
    unknown = [b'{"type": "ping", "unknown\xff": ["\xfe"]}']
    wrong = [b'{"type": "ping", "payload": {"a": "\xff"}}']
    for parts in (wrong, unknown, [b"\xed\xa0\x80"], [b'{"type": "', b"ping\xc3"]):
        with subtests.test(repr(parts)):
            async with socket(live.url) as client:
                protocol = client.connection.protocol
                protocol.send_text(parts[0], fin=len(parts) == 1)
                for part in parts[1:]:
                    protocol.send_continuation(part, fin=True)
                client.connection.send_data()
                assert (await client.closed())[0] == 1007


async def test_character_in_two_fragments_is_accepted(live: LiveHouse) -> None:
    async with live.socket() as client:
        first, second = [part.encode("latin-1") for part in ('{"type": "ping", "payload": {"a": "\xc3', '\xa9"}}')]
        client.connection.protocol.send_text(first, fin=False)
        client.connection.protocol.send_continuation(second, fin=True)
        client.connection.send_data()
        assert await client.hear() == {"type": "pong", "payload": {"a": "é"}}


async def test_messages_before_a_broken_frame_or_a_close_are_answered(live: LiveHouse) -> None:
    """All frames arrive at once. The answer to a close is the last frame of the server."""
    for end, code in ((b"\x83\x80" + bytes(4), 1002), (b"\x88\x82" + bytes(4) + (1000).to_bytes(2), 1000)):
        async with socket(live.url) as client:
            protocol = client.connection.protocol
            protocol.send_ping(b"before")
            protocol.send_text(b'{"type": "ping"}')
            client.connection.transport.write(b"".join(protocol.data_to_send()) + end)
            assert await client.rest() == [PONG]
            assert (await client.closed())[0] == code


async def test_unknown_members_are_ignored(live: LiveHouse) -> None:
    async with socket(live.url, headers=live.one.headers["account"]) as client:
        await client.say(type="connection_init", id="5", more={"a": 1})
        assert await client.hear() == ACKNOWLEDGEMENT


async def test_null_payload_of_init_is_accepted(live: LiveHouse) -> None:
    async with socket(live.url, headers=live.one.headers["account"]) as client:
        await client.say(type="connection_init", payload=None)
        assert await client.hear() == ACKNOWLEDGEMENT
    async with socket(live.url) as client:
        await client.init(**live.one.headers["account"], sharedHomeId=None, other=5)


async def test_credential_that_is_no_text_is_named(live: LiveHouse) -> None:
    async with socket(live.url) as client:
        await client.say(type="connection_init", payload={**live.one.headers["account"], "sharedHomeId": 123})
        assert await client.closed() == (4400, "Invalid message: sharedHomeId is no text - in `$.payload`")


async def test_pong_has_the_payload_of_its_ping(live: LiveHouse) -> None:
    async with socket(live.url) as client:
        for payload in ({"a": [1, None, "é"]}, {}, {"userId": 5}, {"token": None} | {"x": 10**40}):
            await client.say(type="ping", payload=payload)
            if "token" not in payload:
                assert await client.hear() == {"type": "pong", "payload": payload}
        assert (await client.closed())[0] == 4401  # a ping with credentials is valid only after the acknowledgement


async def test_unsupported_subprotocol_is_closed_with_4406(live: LiveHouse, subtests: pytest.Subtests) -> None:
    for offered in ([], ["graphql-ws"], ["graphql-transport-w"], ["GRAPHQL-TRANSPORT-WS"]):
        with subtests.test(str(offered)):
            async with socket(live.url, subprotocols=offered) as client:
                assert await client.closed() == (4406, CLOSE_CODE_MEANINGS[CloseCode.SUBPROTOCOL_NOT_ACCEPTABLE][0])
                assert client.connection.subprotocol is None


async def test_supported_subprotocol_is_selected_from_several(live: LiveHouse) -> None:
    async with socket(live.url, subprotocols=["graphql-ws", "graphql-transport-ws"]) as client:
        assert client.connection.subprotocol == "graphql-transport-ws"


@pytest.mark.parametrize("fragments", [1, 5])
async def test_message_above_64_kib_closes_the_socket_with_1009(live: LiveHouse, fragments: int) -> None:
    async with live.socket() as client:
        text = '{"type": "subscribe", "id": "1", "payload": {"query": "{ __typename }", "extensions": {"a": "%s"}}}'
        largest = text % ("x" * (65_536 - len(text) + 2))
        assert len(largest) == 65_536
        await client.send(largest)
        assert [(await client.hear())["type"] for _ in range(2)] == ["next", "complete"]
        data = text % ("x" * (65_537 - len(text) + 2))
        step = len(data) // fragments + 1
        await client.connection.send(iter(data[at : at + step] for at in range(0, len(data), step)))
        assert (await client.closed())[0] == 1009


async def test_sender_of_a_large_message_reads_why_the_socket_closes(
    live: LiveHouse, subtests: pytest.Subtests
) -> None:
    """The client reads nothing until it has sent all: a reset would lose the close frame."""
    frames = {
        1009: Frame(Opcode.TEXT, b"x" * 5_000_000).serialize(mask=True),
        1007: Frame(Opcode.TEXT, b"\xff").serialize(mask=True)
        + 80 * Frame(Opcode.TEXT, b"x" * 60_000).serialize(mask=True),
        1002: Frame(Opcode.TEXT, b"x" * 60_000).serialize(mask=False) + b"x" * 5_000_000,
    }
    for code, sent in frames.items():
        with subtests.test(str(code)):
            reader, writer = await open_handshake(live.url)
            writer.write(sent)
            await asyncio.wait_for(writer.drain(), HEAR_SECONDS)
            received = await asyncio.wait_for(reader.read(-1), HEAR_SECONDS)
            writer.close()
            assert received[:1] == b"\x88", "the close frame, and then the end"
            assert int.from_bytes(received[2:4]) == code


async def open_handshake(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Open a socket without a client library."""
    where = urlsplit(url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    writer.write(
        b"GET /graphql HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        b"Sec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n"
    )
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101")
    return reader, writer


async def test_fragmented_message_is_accepted(live: LiveHouse) -> None:
    async with live.socket() as client:
        await client.connection.send(iter(['{"type": "pi', "", 'ng", "payload": ', '{"a": 1}}']))
        assert await client.hear() == {"type": "pong", "payload": {"a": 1}}


@pytest.mark.parametrize("name", ["x" * 16_000, "é" * 5_000, '\\"' * 500])
async def test_long_reason_is_cut_to_the_size_of_a_close_frame(live: LiveHouse, name: str) -> None:
    async with live.socket() as client:
        await client.send(f'{{"type": "{name}"}}')
        code, reason = await client.closed()
        assert code == 4400
        assert reason is not None
        assert 100 < len(reason.encode()) <= 123


async def test_any_nesting_that_can_be_parsed_can_be_answered(live: LiveHouse) -> None:
    answered = 0
    async with live.socket() as client:
        for depth in (*range(600, 1_100, 3), *range(1_100, 20_000, 300)):  # the limit depends on the release of Python
            await client.say_nested(depth)
            try:
                answered += (await client.hear())["type"] == "pong"
            except ConnectionClosed:
                break
        assert await client.closed() == (4400, "Invalid message: it is nested too deeply")
    assert answered > 10
