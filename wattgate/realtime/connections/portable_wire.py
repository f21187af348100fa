"""Sockets served by plain ASGI, on whatever server: one task writes, and what waits for it is bounded."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from wattgate.realtime.connections.session import Session

Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]

MOST_UNSENT = 128 * 1024
LEAST_UNSENT = 32 * 1024
"""Bytes that wait for the peer before it counts as slow, and until it reads again: more than a batch of readings has,
because all of it waits here until the task that writes has its turn."""


class PortableWire:
    """The wire of one session, which is over when `run` returns."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._waiting: deque[bytes] = deque()
        self._unsent = 0
        self._ending: tuple[int, str] | None = None
        self._arrived = asyncio.Event()
        self._session: Session | None = None
        self._running: asyncio.Task[Any] | None = None
        self._aborted = False

    async def run(self, session: Session) -> None:
        """Carry the messages of a session, until either side ends it."""
        self._session = session
        self._running = asyncio.current_task()
        writing = asyncio.create_task(self._write())
        try:
            while (event := await self._receive())["type"] == "websocket.receive":
                text = event.get("text")
                session.receive(text.encode() if text is not None else event["bytes"], text=text is not None)
        except asyncio.CancelledError:
            if not self._aborted:
                raise
        finally:
            self._running = None  # from here on there is nothing to cut
            session.gone()
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)

    def write(self, message: bytes) -> None:
        if self._ending is not None:
            return
        self._waiting.append(message)
        self._unsent += len(message)
        self._arrived.set()
        if self._unsent > MOST_UNSENT and self._session is not None:
            self._session.paused()

    def close(self, code: int, reason: str) -> None:
        self._ending = (code, reason)
        self._arrived.set()

    def abort(self) -> None:
        self._aborted = True
        if self._running is not None:
            self._running.cancel()

    async def _write(self) -> None:
        while self._waiting or self._ending is None:
            if not self._waiting:
                self._arrived.clear()
                await self._arrived.wait()
                continue
            message = self._waiting.popleft()
            await self._send({"type": "websocket.send", "text": message.decode()})
            before, self._unsent = self._unsent, self._unsent - len(message)
            if self._unsent <= LEAST_UNSENT < before and self._session is not None:
                self._session.resumed()
        code, reason = self._ending
        await self._send({"type": "websocket.close", "code": code, "reason": reason})
