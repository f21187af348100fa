"""One connection on which Redis sends what is published on channels: a thin reader, far cheaper than a general one."""

import asyncio
import ssl
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Self, cast

import hiredis

from wattgate.realtime.bus.commands import AT_ONCE
from wattgate.realtime.server_address import Address

CONNECT_SECONDS = 2.0

Receive = Callable[[bytes, bytes], None]
"""Takes a channel and a message on it."""


class PubSub(asyncio.Protocol):
    """Subscribes to channels, and hands over what comes on them until the connection is lost.

    A peer that does not answer a PING before the next one is due is gone: silence is noticed within twice `ping_every`
    seconds.
    """

    def __init__(self, receive: Receive, ping_every: float) -> None:
        self._receive = receive
        self._ping_every = ping_every
        self._reader = hiredis.Reader()
        self._transport: asyncio.Transport | None = None
        self._subscribed: dict[str, asyncio.Future[None]] = {}
        self._unacknowledged: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._asked = False
        self.lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Done, with the reason, when the connection is lost."""

    @classmethod
    async def connect(cls, address: Address, receive: Receive, ping_every: float) -> Self:
        """A connection to this address. OSError where there is none."""
        async with asyncio.timeout(CONNECT_SECONDS):
            _, made = await asyncio.get_running_loop().create_connection(
                lambda: cls(receive, ping_every),
                address.host,
                address.port,
                ssl=ssl.create_default_context() if address.tls else None,
            )
        if address.password is not None:
            made._send("AUTH", *([address.username] if address.username else []), address.password)
        return made

    @property
    def alive(self) -> bool:
        return not self.lost.done()

    async def subscribe(self, channels: Iterable[str]) -> None:
        """Return once Redis sends what comes on these channels. ConnectionError where the connection is lost."""
        wanted = list(channels)
        new = [channel for channel in wanted if channel not in self._subscribed]
        for start in range(0, len(new), AT_ONCE):
            some = new[start : start + AT_ONCE]
            for channel in some:
                self._subscribed[channel] = acknowledged = asyncio.get_running_loop().create_future()
                self._unacknowledged.append(acknowledged)
            self._send("SUBSCRIBE", *some)
        for acknowledged in [self._subscribed[channel] for channel in wanted]:
            if not acknowledged.done():
                either: tuple[asyncio.Future[Any], ...] = (acknowledged, self.lost)
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not self.alive:
            raise ConnectionError(self.lost.result())

    def unsubscribe(self, channels: Iterable[str]) -> None:
        """Let Redis send no more of these channels; messages under way may still come."""
        known = [channel for channel in channels if self._subscribed.pop(channel, None) is not None]
        for start in range(0, len(known), AT_ONCE):
            self._send("UNSUBSCRIBE", *known[start : start + AT_ONCE])

    def abort(self, reason: str = "closed") -> None:
        """End the connection, without waiting for what is under way."""
        if self._timer is not None:
            self._timer.cancel()
        if self.alive:
            self.lost.set_result(reason)
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # that of another loop may be of no such class
        self._timer = asyncio.get_running_loop().call_later(self._ping_every, self._ping)

    def connection_lost(self, exc: Exception | None) -> None:
        self.abort(str(exc) if exc else "the connection was closed")

    def data_received(self, data: bytes) -> None:
        self._asked = False
        self._reader.feed(data)
        while self.alive:
            try:
                reply = self._reader.gets()
            except hiredis.ProtocolError as error:
                return self.abort(str(error))
            if reply is False:
                return None
            self._take(reply)
        return None

    def _take(self, reply: Any) -> None:
        match reply:
            case [b"message", channel, message]:
                self._receive(channel, message)
            case [b"subscribe", *_]:  # acknowledgements come in the order of the commands
                acknowledged = self._unacknowledged.popleft()
                if not acknowledged.done():
                    acknowledged.set_result(None)
            case hiredis.ReplyError():
                self.abort(str(reply))

    def _ping(self) -> None:
        if self._asked:
            return self.abort("it does not answer")
        self._asked = True
        self._send("PING")
        self._timer = asyncio.get_running_loop().call_later(self._ping_every, self._ping)
        return None

    def _send(self, *command: str | bytes) -> None:
        if self.alive and self._transport is not None:
            self._transport.write(hiredis.pack_command(command))  # type: ignore[arg-type]  # its stub names one element
