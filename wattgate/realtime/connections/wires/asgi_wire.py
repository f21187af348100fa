"""The wire of a WebSocket over plain ASGI, for any server. One task writes the messages of a bounded queue."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from wattgate.realtime.connections.session import Session

AsgiEvent = MutableMapping[str, Any]
AsgiReceive = Callable[[], Awaitable[AsgiEvent]]
AsgiSend = Callable[[AsgiEvent], Awaitable[None]]

HIGH_WATER_BYTES = 128 * 1024
LOW_WATER_BYTES = 32 * 1024
"""Unsent bytes above which the client counts as slow, and below which it counts as reading again.

They are more than a batch of readings needs, because the whole batch is queued until the writing task runs.
"""


class AsgiWire:
    """The wire of one session. The connection has ended when `run` returns."""

    def __init__(self, receive: AsgiReceive, send: AsgiSend) -> None:
        self._receive = receive
        self._send = send
        self._pending: deque[bytes] = deque()
        self._unsent_bytes = 0
        self._close_reason: tuple[int, str] | None = None
        self._wakeup = asyncio.Event()
        self._session: Session | None = None
        self._task: asyncio.Task[Any] | None = None
        self._aborted = False

    async def run(self, session: Session) -> None:
        """Pass messages between the client and the session until either side closes the connection."""
        self._session = session
        self._task = asyncio.current_task()
        write_task = asyncio.create_task(self._write_loop())
        try:
            while (event := await self._receive())["type"] == "websocket.receive":
                text = event.get("text")
                session.receive(text.encode() if text is not None else event["bytes"], text=text is not None)
        except asyncio.CancelledError:
            if not self._aborted:
                raise
        finally:
            self._task = None  # `abort` has nothing to cancel any more
            session.on_disconnected()
            write_task.cancel()
            await asyncio.gather(write_task, return_exceptions=True)

    def write(self, message: bytes) -> None:
        if self._close_reason is not None:
            return
        self._pending.append(message)
        self._unsent_bytes += len(message)
        self._wakeup.set()
        if self._unsent_bytes > HIGH_WATER_BYTES and self._session is not None:
            self._session.on_writing_paused()

    def close(self, code: int, reason: str) -> None:
        self._close_reason = (code, reason)
        self._wakeup.set()

    def abort(self) -> None:
        self._aborted = True
        if self._task is not None:
            self._task.cancel()

    async def _write_loop(self) -> None:
        while self._pending or self._close_reason is None:
            if not self._pending:
                self._wakeup.clear()
                await self._wakeup.wait()
                continue
            message = self._pending.popleft()
            await self._send({"type": "websocket.send", "text": message.decode()})
            unsent_before, self._unsent_bytes = self._unsent_bytes, self._unsent_bytes - len(message)
            if self._unsent_bytes <= LOW_WATER_BYTES < unsent_before and self._session is not None:
                self._session.on_writing_resumed()
        code, reason = self._close_reason
        await self._send({"type": "websocket.close", "code": code, "reason": reason})
