"""Many subscribers from one process, as cheap as they can be: bare sockets that count what they are sent."""

import asyncio
import base64
import json
import struct
from collections.abc import Awaitable, Callable
from typing import Any

WAIT_TIMEOUT_SECONDS = 120.0
"""How many seconds a crowd may take to connect, or to be told."""

MAX_CONCURRENT_CONNECTS = 50
"""How many connect at the same time."""

MIN_PAYLOAD_BYTES = 80
"""A text message below so many bytes is looked into: it is a ping, or what answers the subscription's beginning."""

TEXT, CLOSE, PING, PONG = 0x81, 0x88, 0x89, 0x8A


def frame(payload: bytes, opcode: int = TEXT) -> bytes:
    """A frame as a client sends it, masked with zeros."""
    if len(payload) < 126:
        return struct.pack("!BBI", opcode, 0x80 | len(payload), 0) + payload
    return struct.pack("!BBHI", opcode, 0x80 | 126, len(payload), 0) + payload


def text(**message: Any) -> bytes:
    """A message of graphql-transport-ws as a frame."""
    return frame(json.dumps(message).encode())


class SubscriberGroup:
    """Subscribers of a server, and how many messages they have been sent in all."""

    def __init__(self, port: int, *, init_payload: dict[str, str] | None = None) -> None:
        self._port = port
        self.init = text(type="connection_init", payload=init_payload or {})
        self.subscribers: list[Subscriber] = []
        self.messages = 0
        self._condition: tuple[Callable[[], bool], asyncio.Event] | None = None

    async def connect(self, queries: list[tuple[str, dict[str, Any]]]) -> None:
        """Let one more subscriber connect for each query and its variables."""
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
        """Wait until what has come is enough."""
        if not condition():
            self._condition = condition, asyncio.Event()
            async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
                await self._condition[1].wait()
            self._condition = None

    async def warm_up(self, publish: Callable[[], Awaitable[None]]) -> None:
        """Fire events until each has been told one: now all subscriptions stand."""
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            while any(subscriber.messages == 0 for subscriber in self.subscribers):
                await publish()
                await asyncio.sleep(0.2)
        await self.wait_until_idle()

    async def wait_until_idle(self) -> None:
        """Wait for what is still on its way."""
        before = -1
        while before != self.messages:
            before = self.messages
            await asyncio.sleep(0.2)

    def on_data(self) -> None:
        """Somebody has been told something."""
        if self._condition and self._condition[0]():
            self._condition[1].set()

    async def disconnect(self) -> None:
        """Let all of them go."""
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

    def connection_made(self, transport: Any) -> None:  # uvloop's is none of asyncio's classes
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
        """What comes after the server's answer to the handshake."""
        head, end, rest = data.partition(b"\r\n\r\n")
        if not end:
            return data
        if b" 101 " not in head:
            self._fail(f"refused: {head[:100]!r}")
        self._open = True
        self.transport.write(self._group.init)
        return rest

    def _control(self, opcode: int, payload: bytes) -> None:
        if opcode == PING:
            self.transport.write(frame(payload, PONG))
        elif opcode == CLOSE:
            self._fail(f"closed: {payload!r}")
        elif opcode == TEXT:
            message = json.loads(payload)
            match message["type"]:
                case "connection_ack":  # the answer to the ping says that the subscription was taken
                    self.transport.write(self._subscribe + text(type="ping"))
                case "ping":
                    self.transport.write(text(type="pong"))
                case "pong":
                    self.subscribed.set_result(None)
                case "error" | "complete":
                    self._fail(f"ended: {payload!r}")

    def connection_lost(self, error: Exception | None) -> None:
        if not self.subscribed.done():
            self._fail(f"lost: {error}")

    def _fail(self, reason: str) -> None:
        error = RuntimeError(reason)
        if self.subscribed.done():
            raise error
        self.subscribed.set_exception(error)
        self.transport.abort()
