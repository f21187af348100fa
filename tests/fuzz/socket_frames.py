"""Frames of WebSockets: `FrameWire` delivers the messages that a strict model of RFC 6455 reads, however they arrive.

The messages of graphql-transport-ws in them are those that the module json reads.
"""

import json
import logging
import struct
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import msgspec
from websockets.frames import Frame, Opcode
from websockets.protocol import SERVER, Protocol

from tests.fuzz.event_loop import MemoryTransport, SteppedLoop
from tests.fuzz.harness import Harness
from wattgate.realtime.connections import protocol
from wattgate.realtime.connections.session import Session
from wattgate.realtime.connections.wires.frame_wire import FrameWire

logging.getLogger("websockets.protocol").setLevel(logging.CRITICAL)

MAX_MESSAGE_BYTES = 300
"""Maximum bytes of a message, so small that inputs exceed it."""

PROTOCOL_ERROR, INVALID_DATA, TOO_BIG = 1002, 1007, 1009
CODES_OF_CLIENTS = {*range(1_000, 1_004), *range(1_007, 1_015), *range(3_000, 5_000)}
"""Codes that a close frame may have (RFC 6455, 7.4, and the registry of IANA)."""

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10


@dataclass
class Conversation:
    """The messages of a client, and the answers of the server.

    `close_code` is 0 for a close frame without a code, and None while the connection is open.
    """

    messages: list[tuple[bool, bytes]] = field(default_factory=list)
    pongs: list[bytes] = field(default_factory=list)
    close_code: int | None = None


class Recorder(Session):
    """The end of a wire: it keeps each message and answers it. A session would need a whole gateway."""

    def __init__(self, wire: FrameWire) -> None:
        self.wire = wire
        self.messages: list[tuple[bool, bytes]] = []

    def receive(self, data: bytes, *, text: bool = True) -> None:
        self.messages.append((text, data))
        self.wire.write(b"{}")

    def take_frames(self, count: int) -> bool:
        return True

    def on_closing(self, seconds: float | None = None) -> None:
        """Do nothing: no operation is open."""


def check(data: bytes) -> bool:
    expected = read_strictly(data)
    for size in (max(1, len(data)), 1, 7):
        parts = [data[start : start + size] for start in range(0, len(data), size)]
        assert agrees(heard := converse(parts), expected), (size, heard, expected)
    for _, message in expected.messages:
        check_message(message)
    return expected.messages != []


def agrees(heard: Conversation, expected: Conversation) -> bool:
    """Return whether a conversation is the expected one.

    The library parses all frames of a segment before the first is handled. If a text is not UTF-8, and a later frame
    of its segment ends the connection too, the close code is that of the later one. Later pings have their answers.
    """
    if expected.close_code == INVALID_DATA and heard.close_code is not None:
        heard = replace(heard, close_code=INVALID_DATA, pongs=heard.pongs[: len(expected.pongs)])
    return heard == expected


def check_message(data: bytes) -> None:
    """Raise AssertionError unless an accepted message is what the module json reads."""
    try:
        message = protocol.parse_message(data)
    except protocol.MalformedMessage:
        return
    read: dict[str, Any] = json.loads(data)
    accepted = msgspec.to_builtins(message)
    compared = ("type", "id") if isinstance(message, protocol.Subscribe) else ("type", "id", "payload")
    assert [accepted.get(name) for name in compared] == [read.get(name) for name in compared]


def converse(parts: list[bytes]) -> Conversation:
    """Return the conversation of a wire that receives these parts."""
    with closing(SteppedLoop()) as loop:
        transport = MemoryTransport(loop)
        wire = FrameWire(Protocol(SERVER, max_size=MAX_MESSAGE_BYTES), transport, set(), lambda _: None)
        session = Recorder(wire)
        wire.attach(session)
        for part in parts:
            if not transport.is_closing():
                wire.data_received(part)
    heard = Conversation(session.messages)
    answers, replies = bytes(transport.received), 0
    while answers:  # no answer has more than 125 bytes
        assert heard.close_code is None, "a frame follows the close frame"
        opcode, end = answers[0] & 0x0F, 2 + answers[1]
        payload, answers = answers[2:end], answers[end:]
        if opcode == PONG:
            heard.pongs.append(payload)
        elif opcode == CLOSE:
            heard.close_code = int.from_bytes(payload[:2])
        else:
            replies += 1
    assert replies == len(heard.messages)
    assert (transport.is_closing() or transport.has_ended) is (heard.close_code is not None)
    return heard


class BrokenFrame(Exception):
    """A frame that ends the connection with a code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class ReadFrame(NamedTuple):
    """A whole frame of a client, without its mask."""

    opcode: int
    is_last: bool
    payload: bytes


def read_strictly(data: bytes) -> Conversation:
    """Return the conversation that RFC 6455 describes for the bytes of a client."""
    conversation, fragments = Conversation(), list[ReadFrame]()
    try:
        for frame in _frames(data, fragments):
            if frame.opcode == CLOSE:
                conversation.close_code = _close_code(frame.payload, is_inside_message=bool(fragments))
                break
            if frame.opcode == PING:
                conversation.pongs.append(frame.payload)
            elif frame.opcode != PONG:
                if (frame.opcode == CONTINUATION) is not bool(fragments):
                    raise BrokenFrame(PROTOCOL_ERROR)
                fragments.append(frame)
                if frame.is_last:
                    message, is_text = b"".join(part.payload for part in fragments), fragments[0].opcode == TEXT
                    if is_text:
                        _check_text(message)
                    conversation.messages.append((is_text, message))
                    fragments.clear()
    except BrokenFrame as broken:
        conversation.close_code = broken.code
    return conversation


def _frames(data: bytes, fragments: list[ReadFrame]) -> Iterator[ReadFrame]:
    """Yield the whole frames in the bytes of a client. Raise BrokenFrame for one that is not allowed.

    `fragments` are the frames of the message that is not complete yet.
    """
    while len(data) >= 2:
        first, second = data[0], data[1]
        opcode = first & 0x0F
        if opcode not in (CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG) or not second & 0x80:
            raise BrokenFrame(PROTOCOL_ERROR)
        length, start = second & 0x7F, 2
        if length > 125:
            start += 2 if length == 126 else 8
            if len(data) < start:
                return
            length = int.from_bytes(data[2:start])
        if length > MAX_MESSAGE_BYTES - sum(len(part.payload) for part in fragments):
            raise BrokenFrame(TOO_BIG)
        mask, payload = data[start : start + 4], data[start + 4 : start + 4 + length]
        if len(mask) < 4 or len(payload) < length:
            return
        is_control, is_last = opcode >= CLOSE, bool(first & 0x80)
        if first & 0x70 or (is_control and (length > 125 or not is_last)):
            raise BrokenFrame(PROTOCOL_ERROR)
        yield ReadFrame(opcode, is_last, bytes(byte ^ mask[n % 4] for n, byte in enumerate(payload)))
        data = data[start + 4 + length :]


def _close_code(payload: bytes, *, is_inside_message: bool) -> int:
    """Return the code that answers a close frame. Raise BrokenFrame if it is not allowed."""
    if len(payload) == 1:
        raise BrokenFrame(PROTOCOL_ERROR)
    code = int.from_bytes(payload[:2])
    _check_text(payload[2:])
    if (payload and code not in CODES_OF_CLIENTS) or is_inside_message:
        raise BrokenFrame(PROTOCOL_ERROR)
    return code


def _check_text(text: bytes) -> None:
    """Raise BrokenFrame unless a text is UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError:
        raise BrokenFrame(INVALID_DATA) from None


def frame(payload: bytes, opcode: int = TEXT, *, is_last: bool = True) -> bytes:
    """Return a frame as clients send it, with a mask of zeros so that mutations change the text of the payload."""
    encoded = Frame(Opcode(opcode), payload, is_last).serialize(mask=False)
    header = len(encoded) - len(payload)
    return bytes((encoded[0], encoded[1] | 0x80)) + encoded[2:header] + bytes(4) + payload


INIT = b'{"type":"connection_init","payload":{"token":"x"}}'
SUBSCRIBE = b'{"id":"1","type":"subscribe","payload":{"query":"{ __typename }","variables":{"a":[1]}}}'
MESSAGES = (
    INIT,
    SUBSCRIBE,
    b'{"type":"ping","payload":{"a":[[],{}]}}',
    b'{"type":"pong"}',
    b'{"id":"1","type":"complete"}',
)
CLOSED = frame(struct.pack("!H", 1_000) + b"bye", CLOSE)

HARNESS = Harness(
    "frames",
    check,
    (
        *(frame(message) for message in MESSAGES),
        b"".join(map(frame, MESSAGES)) + CLOSED,
        frame(INIT[:9], is_last=False) + frame(b"now", PING) + frame(INIT[9:], CONTINUATION),
        frame(b"a" * 200, is_last=False) + frame(b"b" * 200, CONTINUATION),
        frame(b"x", BINARY) + frame(b"", PONG) + frame(b"", CLOSE) + frame(INIT),
        frame(INIT) + frame(b"\x03", CLOSE),
        frame(INIT) + b"\x83\x80" + bytes(4) + frame(INIT),
        frame(INIT)[:2] + b"\x01\x02\x03\x04" + bytes(n ^ (1 + i % 4) for i, n in enumerate(INIT)),
        frame(b"c" * 1_000) + frame(INIT),
        frame(struct.pack("!H", 1_005), CLOSE),
        frame(struct.pack("!H", 4_000) + b"\xff", CLOSE),
        frame(b"\xff") + frame(b"", PING),
    ),
    (
        *(b"\x80", b"\x81", b"\x88", b"\x89", b"\xfe", b"\xff", b"\x01\x80", b"\x00\x80", bytes(4), bytes(8)),
        *(frame(b"a"), frame(b"", CONTINUATION), frame(b"", PING), CLOSED),
        *(b'{"type":', b'"ping"', b'"payload":null', b'"\\ud800"', b"[[[[", b"1e999", b"NaN", b',"id":"2"'),
    ),
    {
        "messages": lambda count: frame(b"{}") * count,
        "pings": lambda count: frame(b"", PING) * count,
        "fragments": lambda count: frame(b"{", is_last=False) + frame(b" ", CONTINUATION, is_last=False) * count,
    },
)
