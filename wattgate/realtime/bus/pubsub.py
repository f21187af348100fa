"""The connection for Redis pub/sub: a minimal client, much cheaper for each message than a general one."""

import asyncio
import ssl
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Self, cast

import hiredis

from wattgate.realtime.bus.redis_client import in_batches
from wattgate.realtime.server_address import ServerAddress

CONNECT_TIMEOUT_SECONDS = 2.0

MessageCallback = Callable[[bytes, bytes], None]
"""Receives a channel and a message on it."""


class PubSub(asyncio.Protocol):
    """Subscribe to channels and pass on their messages until the connection is lost.

    The client sends a PING every `ping_seconds`, and closes the connection if nothing arrives before the next PING. It
    thus detects a silent peer within twice `ping_seconds`.
    """

    def __init__(self, on_message: MessageCallback, ping_seconds: float) -> None:
        self._on_message = on_message
        self._ping_seconds = ping_seconds
        self._reader = hiredis.Reader()
        self._transport: asyncio.Transport | None = None
        self._subscribed: dict[str, asyncio.Future[None]] = {}
        self._pending_acknowledgements: deque[asyncio.Future[None]] = deque()
        self._ping_timer: asyncio.TimerHandle | None = None
        self._awaiting_pong = False
        self.closed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Completes with the reason when the connection is lost."""

    @classmethod
    async def connect(
        cls,
        address: ServerAddress,
        tls_context: ssl.SSLContext | None,
        on_message: MessageCallback,
        ping_seconds: float,
    ) -> Self:
        """Connect to an address. Raise OSError if that fails."""
        async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
            _, pubsub = await asyncio.get_running_loop().create_connection(
                lambda: cls(on_message, ping_seconds),
                address.host,
                address.port,
                ssl=tls_context,
            )
        if address.password is not None:
            pubsub._send("AUTH", *([address.username] if address.username else []), address.password)
        return pubsub

    @property
    def is_alive(self) -> bool:
        return not self.closed.done()

    async def subscribe(self, channels: Iterable[str]) -> None:
        """Return when Redis has acknowledged all these channels. Raise ConnectionError if the connection is lost."""
        requested = list(channels)
        new = [channel for channel in requested if channel not in self._subscribed]
        for batch in in_batches(new):
            for channel in batch:
                self._subscribed[channel] = acknowledged = asyncio.get_running_loop().create_future()
                self._pending_acknowledgements.append(acknowledged)
            self._send("SUBSCRIBE", *batch)
        for acknowledged in [self._subscribed[channel] for channel in requested]:
            if not acknowledged.done():
                outcomes: tuple[asyncio.Future[Any], ...] = (acknowledged, self.closed)
                await asyncio.wait(outcomes, return_when=asyncio.FIRST_COMPLETED)
        if not self.is_alive:
            raise ConnectionError(self.closed.result())

    def unsubscribe(self, channels: Iterable[str]) -> None:
        """Unsubscribe from these channels. Messages that Redis has already sent may still arrive."""
        known = [channel for channel in channels if self._subscribed.pop(channel, None) is not None]
        for batch in in_batches(known):
            self._send("UNSUBSCRIBE", *batch)

    def abort(self, reason: str = "closed") -> None:
        """Close the connection immediately. Unsent commands are lost."""
        if self._ping_timer is not None:
            self._ping_timer.cancel()
        if self.is_alive:
            self.closed.set_result(reason)
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # that of another event loop may not be an instance
        self._ping_timer = asyncio.get_running_loop().call_later(self._ping_seconds, self._ping)

    def connection_lost(self, exc: Exception | None) -> None:
        self.abort(str(exc) if exc else "the connection was closed")

    def data_received(self, data: bytes) -> None:
        self._awaiting_pong = False
        self._reader.feed(data)
        read, closed = self._reader.gets, self.closed
        while not closed.done():
            try:
                reply = read()
            except hiredis.ProtocolError as error:
                return self.abort(str(error))
            if reply is False:
                return None
            if type(reply) is list and reply[0] == b"message":  # no pattern: a match takes twice the time
                self._on_message(reply[1], reply[2])
            else:
                self._handle_reply(reply)
        return None

    def _handle_reply(self, reply: Any) -> None:
        match reply:
            case [b"subscribe", *_]:  # Redis acknowledges channels in the order of the commands
                acknowledged = self._pending_acknowledgements.popleft()
                if not acknowledged.done():
                    acknowledged.set_result(None)
            case hiredis.ReplyError():
                self.abort(str(reply))

    def _ping(self) -> None:
        if self._awaiting_pong:
            return self.abort("Redis does not answer")
        self._awaiting_pong = True
        self._send("PING")
        self._ping_timer = asyncio.get_running_loop().call_later(self._ping_seconds, self._ping)
        return None

    def _send(self, *command: str | bytes) -> None:
        if self.is_alive and self._transport is not None:
            self._transport.write(hiredis.pack_command(command))  # type: ignore[arg-type]  # its stub declares one element
