"""The wire of a WebSocket that reads and writes frames on the transport itself. It needs no task.

It takes over a socket whose handshake is done: directly (`app/server/edge/socket_upgrade.py`), or from uvicorn
(`uvicorn_wire`). The library websockets parses the frames.
"""

import asyncio
import socket
from collections.abc import Callable
from struct import Struct
from typing import Any

from websockets.exceptions import InvalidState
from websockets.frames import CloseCode, Frame, Opcode
from websockets.protocol import Protocol

from wattgate.realtime.connections.session import Session

HIGH_WATER_BYTES = 32 * 1024
LOW_WATER_BYTES = 8 * 1024
"""Unsent bytes above which the client counts as slow, and below which it counts as reading again."""

KERNEL_BUFFER_BYTES = 32 * 1024
"""Send buffer of the kernel. Its default of megabytes could hold thousands of outdated readings."""

PIECE_BYTES = 1024
"""The frames of so many bytes are parsed at once, and then counted. A read may have 256 KiB: 43,000 empty frames."""

MIN_READ_BYTES = 32
"""Minimum bytes of what arrives at once. Less than that, without a whole frame, counts as a frame."""

DISCARD_SECONDS = 20.0
"""Seconds for a client to end the message that the gateway does not accept, and to read why."""

MAX_DISCARDED_BYTES = 1024 * 1024
"""Maximum bytes that are read and discarded after the close of an error. The rest stays unread, and costs nothing."""

Release = Callable[[asyncio.BaseTransport], None]
"""Called with the transport when the connection is lost."""


class FrameWire(asyncio.Protocol):
    """The protocol of a transport, and the wire of its session."""

    __slots__ = (
        "__weakref__",
        "_close_sent",
        "_connections",
        "_discarded_bytes",
        "_fragments",
        "_frames",
        "_is_discarding",
        "_is_text",
        "_release",
        "_session",
        "_transport",
    )

    def __init__(
        self, frames_of_client: Protocol, transport: asyncio.Transport, connections: set[Any], release: Release
    ) -> None:
        self._frames = frames_of_client
        self._transport = transport
        self._connections = connections
        self._release = release
        self._session: Session | None = None
        self._fragments: bytearray | None = None
        """The content of the first frames of a message whose last one has not arrived."""
        self._is_text = True
        self._close_sent = self._is_discarding = False
        self._discarded_bytes = 0

    def attach(self, session: Session, response: bytes = b"") -> None:
        """Become the protocol of the transport for a session. `response` is that of a handshake, if it is not sent."""
        self._session = session
        if response:
            self._transport.write(response)
        self._connections.add(self)  # a shutdown of the server ends them
        self._transport.set_write_buffer_limits(HIGH_WATER_BYTES, LOW_WATER_BYTES)
        tcp_socket = self._transport.get_extra_info("socket")
        if tcp_socket is not None:
            tcp_socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL_BUFFER_BYTES)
        self._transport.set_protocol(self)

    # from the client

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), PIECE_BYTES):
            if self._is_discarding:
                self._count_discarded(len(data) - start)
                return
            self._receive_piece(data if len(data) <= PIECE_BYTES else data[start : start + PIECE_BYTES])

    def _receive_piece(self, data: bytes) -> None:
        """Handle the frames in some bytes. Count those that are no whole messages, and all after the close."""
        self._frames.receive_data(data)
        has_ping, frame_count, has_frame = False, 0, False
        for frame in self._frames.events_received():
            if isinstance(frame, Frame) and not self._is_discarding:
                has_frame = True
                has_ping |= frame.opcode is Opcode.PING
                frame_count += self._close_sent or not frame.fin or frame.opcode in (Opcode.PING, Opcode.PONG)
                self._handle_frame(frame)
        if self._is_discarding:
            return
        frame_count += not has_frame and len(data) < MIN_READ_BYTES
        is_flood = frame_count > 0 and self._session is not None and not self._session.take_frames(frame_count)
        if is_flood or self._frames.parser_exc is not None:  # the frames before the broken one count
            self._discard()
        elif has_ping:  # only now: the output may end with the reply to a close, after which no message may follow
            self._write_output()

    def _handle_frame(self, frame: Frame) -> None:
        match frame.opcode:
            case Opcode.TEXT | Opcode.BINARY:
                self._is_text = frame.opcode is Opcode.TEXT
                if frame.fin:
                    self._receive(bytes(frame.data))
                else:
                    self._fragments = bytearray(frame.data)
            case Opcode.CONT if self._fragments is not None:
                self._fragments += frame.data
                if frame.fin:
                    message, self._fragments = bytes(self._fragments), None
                    self._receive(message)
            case Opcode.CLOSE:
                self._end()

    def _receive(self, message: bytes) -> None:
        if self._session is None or self._close_sent:
            return
        if self._is_text and not _is_utf_8(message):
            self._frames.fail(CloseCode.INVALID_DATA, "The text is not valid UTF-8.")
            self._discard()
        else:
            self._session.receive(message, text=self._is_text)

    def pause_writing(self) -> None:
        if self._session is not None:
            self._session.on_writing_paused()

    def resume_writing(self) -> None:
        if self._session is not None:
            self._session.on_writing_resumed()

    def connection_lost(self, exc: Exception | None) -> None:
        self._release(self._transport)
        self._connections.discard(self)
        self._close_sent = True
        if self._session is not None:
            self._session.on_disconnected()

    # to the client

    def write(self, message: bytes) -> None:
        if not (self._close_sent or self._transport.is_closing()):
            self._transport.write(text(message))

    def close(self, code: int, reason: str) -> None:
        if self._close_sent:
            return
        self._close_sent = True
        try:
            self._frames.send_close(code, reason)
        except InvalidState:  # the client has closed first
            return
        self._write_output()

    def abort(self) -> None:
        self._transport.abort()

    def shutdown(self) -> None:
        """End the connection, at a shutdown of the server."""
        self.close(1012, "")
        self._end()

    def _end(self) -> None:
        """Reply to the close. The session limits the wait for unsent bytes."""
        self._close_sent = True
        self._write_output()
        self._transport.close()
        if self._session is not None:
            self._session.on_closing()

    def _discard(self) -> None:
        """Send the close of an error, and discard what the client still sends, for DISCARD_SECONDS.

        A transport that is closed with unread bytes resets the connection, and a client that is still sending a message
        would lose the close code. TLS has no half-closed connection: there, the client closes after it has read the
        code.
        """
        self._close_sent = self._is_discarding = True
        self._write_output()
        if self._transport.can_write_eof():
            self._transport.write_eof()
        if self._session is not None:
            self._session.on_closing(DISCARD_SECONDS)

    def _count_discarded(self, count: int) -> None:
        """Stop reading if the client sends more than the rest of a message."""
        self._discarded_bytes += count
        if self._discarded_bytes > MAX_DISCARDED_BYTES and not self._transport.is_closing():
            self._transport.pause_reading()

    def _write_output(self) -> None:
        output = b"".join(self._frames.data_to_send())
        if output and not self._transport.is_closing():
            self._transport.write(output)


def _is_utf_8(message: bytes) -> bool:
    if message.isascii():
        return True
    try:
        message.decode()
    except UnicodeDecodeError:
        return False
    return True


_SHORT = 125
_MEDIUM = 0xFFFF
_MEDIUM_HEADER = Struct("!BBH")
_LONG_HEADER = Struct("!BBQ")
_TEXT = 0x81


def text(message: bytes) -> bytes:
    """The frame of a text message, which is UTF-8."""
    length = len(message)
    if length <= _SHORT:
        return bytes((_TEXT, length)) + message
    if length <= _MEDIUM:
        return _MEDIUM_HEADER.pack(_TEXT, 126, length) + message
    return _LONG_HEADER.pack(_TEXT, 127, length) + message
