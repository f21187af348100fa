"""Many cheap subscribers in one process: plain sockets that count their messages."""

import asyncio
import base64
import json
import struct
from collections.abc import Awaitable, Callable
from typing import Any

WAIT_TIMEOUT_SECONDS = 120.0
"""The timeout for a group to connect, or to receive its messages."""

MAX_CONCURRENT_CONNECTS = 50

MIN_PAYLOAD_BYTES = 80
"""Shorter text messages are parsed: they are pings, or responses to the start of the subscription."""

TEXT, CLOSE, PING, PONG = 0x81, 0x88, 0x89, 0x8A


def frame(payload: bytes, opcode: int = TEXT) -> bytes:
    """Return a frame of a client, masked with zeros."""
    if len(payload) < 126:
        return struct.pack("!BBI", opcode, 0x80 | len(payload), 0) + payload
    return struct.pack("!BBHI", opcode, 0x80 | 126, len(payload), 0) + payload


def text(**message: Any) -> bytes:
    """Return a frame with a message of graphql-transport-ws."""
    return frame(json.dumps(message).encode())


class SubscriberGroup:
    """Subscribers of one server, and the total number of messages that they have received."""

    def __init__(self, port: int, *, init_payload: dict[str, str] | None = None) -> None:
        self._port = port
        self.init = text(type="connection_init", payload=init_payload or {})
        self.subscribers: list[Subscriber] = []
        self.messages = 0
        self._condition: tuple[Callable[[], bool], asyncio.Event] | None = None

    async def connect(self, queries: list[tuple[str, dict[str, Any]]]) -> None:
        """Connect another subscriber for each query and its variables."""
        loop, semaphore = asyncio.get_running_loop(), asyncio.Semaphore(MAX_CONCURRENT_CONNECTS)

        async def connect_one(query: str, variables: dict[str, Any]) -> None:
            subscribe = text(id="1", type="subscribe", payload={"query": query, "variables": variables})
            async with semaphore:
                _, subscriber = await loop.create_connection(
                    lambda: Subscriber(self, subscribe), "127.0.0.1", self._port
                )
                await subscriber.subscribed
                self.subscribers.append(subscriber)

        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            await asyncio.gather(*(connect_one(*query) for query in queries))

    async def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition on the received messages is true. Raise TimeoutError after WAIT_TIMEOUT_SECONDS."""
        if not condition():
            self._condition = condition, asyncio.Event()
            async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
                await self._condition[1].wait()
            self._condition = None

    async def warm_up(self, publish: Callable[[], Awaitable[None]]) -> None:
        """Publish events until each subscriber has received one, so that all subscriptions are active."""
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            while any(subscriber.messages == 0 for subscriber in self.subscribers):
                await publish()
                await asyncio.sleep(0.2)
        await self.wait_until_idle()

    async def wait_until_idle(self) -> None:
        """Wait until no more messages arrive."""
        before = -1
        while before != self.messages:
            before = self.messages
            await asyncio.sleep(0.2)

    def on_data(self) -> None:
        """Check the condition of `wait_for` after new messages."""
        if self._condition and self._condition[0]():
            self._condition[1].set()

    async def disconnect(self) -> None:
        """Disconnect all subscribers."""
        for subscriber in self.subscribers:
            subscriber.transport.abort()
        self.subscribers.clear()
        await asyncio.sleep(0.2)


class Subscriber(asyncio.Protocol):
    """One socket with one subscription."""

    transport: Any

    def __init__(self, group: SubscriberGroup, subscribe: bytes) -> None:
        self._group, self._subscribe = group, subscribe
        self._unread = b""
        self._open = False
        self.messages = 0
        self.subscribed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:  # uvloop's transports are not subclasses of asyncio's
        self.transport = transport
        key = base64.b64encode(bytes(16)).decode()
        transport.write(
            b"GET /graphql HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n"
            b"Sec-WebSocket-Key: " + key.encode() + b"\r\n\r\n"
        )

    def data_received(self, data: bytes) -> None:
        data = self._unread + data if self._unread else data
        if not self._open:
            data = self._finish_handshake(data)
        at, size = 0, len(data)
        while size - at >= 2:
            length, begin = data[at + 1], at + 2
            if length == 126:
                if size - at < 4:
                    break
                length, begin = int.from_bytes(data[begin : begin + 2], "big"), begin + 2
            if begin + length > size:
                break
            if data[at] == TEXT and length >= MIN_PAYLOAD_BYTES:
                self.messages += 1
                self._group.messages += 1
            else:
                self._control(data[at], data[begin : begin + length])
            at = begin + length
        self._unread = data[at:]
        self._group.on_data()

    def _finish_handshake(self, data: bytes) -> bytes:
        """Check the response to the handshake. Return the data after it, or all data while it is incomplete."""
        head, end, rest = data.partition(b"\r\n\r\n")
        if not end:
            return data
        if b" 101 " not in head:
            self._fail(f"The server refused the connection: {head[:100]!r}")
        self._open = True
        self.transport.write(self._group.init)
        return rest

    def _control(self, opcode: int, payload: bytes) -> None:
        if opcode == PING:
            self.transport.write(frame(payload, PONG))
        elif opcode == CLOSE:
            self._fail(f"The server closed the connection: {payload!r}")
        elif opcode == TEXT:
            message = json.loads(payload)
            match message["type"]:
                case "connection_ack":  # the pong confirms that the subscription was accepted
                    self.transport.write(self._subscribe + text(type="ping"))
                case "ping":
                    self.transport.write(text(type="pong"))
                case "pong":
                    self.subscribed.set_result(None)
                case "error" | "complete":
                    self._fail(f"The subscription ended: {payload!r}")

    def connection_lost(self, error: Exception | None) -> None:
        if not self.subscribed.done():
            self._fail(f"The connection was lost: {error}")

    def _fail(self, reason: str) -> None:
        error = RuntimeError(reason)
        if self.subscribed.done():
            raise error
        self.subscribed.set_exception(error)
        self.transport.abort()
