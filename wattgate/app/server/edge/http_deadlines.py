"""The deadlines of an HTTP connection.

While it receives, a connection has at most one deadline at a time, and one timer that checks it:
- from the connection, or the first byte of a next request, to the end of the head: `head_seconds`;
- in the body: windows of `body_seconds`, each of which must bring a minimum of bytes. While the application does not
  read, the client cannot send, and a new window begins;
- after a response that did not wait for the rest of the body: LINGER_SECONDS.
Between requests, the keep-alive timer of uvicorn applies. Each request only stores its deadline; the timer is not
cancelled and set again, because that would cost each request several microseconds.

While it sends, a connection has a second deadline, with a timer of its own. It runs while more bytes wait than the
transport takes, or while bytes wait on a connection that closes: windows of `response_seconds`, in each of which the
client must read a minimum of bytes. Otherwise an application would wait, or a closed connection stay open, without end.
Event streams also have the shorter rule of `realtime.connections.event_streams.event_stream`.
"""

import asyncio
import logging
from enum import Enum, auto
from typing import Any

from wattgate.app.server.edge.connection_guard import HttpLimits
from wattgate.app.server.edge.pipelined_requests import PipelinedProtocol
from wattgate.metrics import REFUSED_CONNECTIONS
from wattgate.requests.request_context import client_fields

log = logging.getLogger(__name__)


class Stage(Enum):
    """The part of a request whose deadline is set."""

    HEAD = auto()
    BODY = auto()
    LINGER = auto()


class DeadlineProtocol(PipelinedProtocol):
    """An HTTP connection with deadlines. A subclass sets `_limits`, `_in_head` and `_window_bytes`."""

    _limits: HttpLimits

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._stage = Stage.HEAD
        self._deadline: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._in_head = False
        self._window_bytes = self._unsent_bytes = 0
        self._unread_deadline: float | None = None
        self._unread_timer: asyncio.TimerHandle | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        self._unread_deadline = None
        if self._unread_timer is not None:
            self._unread_timer.cancel()
            self._unread_timer = None
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._begin_unread_window()

    def resume_writing(self) -> None:
        if not self.transport.is_closing():
            self._unread_deadline = None
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._watch_close()

    def on_unfinished_response(self) -> None:
        self._watch_close()

    def _watch_close(self) -> None:
        """Bound the time in which the client reads the last response of a connection that closes."""
        if self._unread_deadline is None and self.transport.get_write_buffer_size():
            self._begin_unread_window()

    def _begin_unread_window(self) -> None:
        self._unsent_bytes = self.transport.get_write_buffer_size()
        self._unread_deadline = self.loop.time() + self._limits.response_seconds
        if self._unread_timer is None:
            self._unread_timer = self.loop.call_at(self._unread_deadline, self._on_unread_timer)

    def _on_unread_timer(self) -> None:
        self._unread_timer = None
        if self._unread_deadline is None:
            return
        if self.loop.time() < self._unread_deadline:
            self._unread_timer = self.loop.call_at(self._unread_deadline, self._on_unread_timer)
        elif self._unsent_bytes - self.transport.get_write_buffer_size() >= self._limits.min_response_bytes:
            self._begin_unread_window()
        else:
            self._unread_deadline = None
            REFUSED_CONNECTIONS.labels("unread").inc()
            kind = "HTTP connection closed: the client does not read its response"
            log.info(kind, extra=client_fields(kind, self.client[0] if self.client else None))
            self.transport.abort()

    def _begin_stall(self) -> None:
        self._deadline = None  # the deadline of the unread responses applies

    def _end_stall(self) -> None:
        if self._in_body:
            self._set_deadline(Stage.BODY, self._limits.body_seconds)
        elif self._in_head:
            self._set_deadline(Stage.HEAD, self._limits.head_seconds)

    def _is_between_requests(self) -> bool:
        is_answered = self.cycle is None or self.cycle.response_complete
        return is_answered and not (self._in_body or self._is_stalled or self.transport.is_closing())

    def _set_deadline(self, stage: Stage, seconds: float) -> None:
        self._stage, self._deadline = stage, self.loop.time() + seconds
        if self._timer is None or self._timer.when() > self._deadline:
            self._clear_timer(keeps_deadline=True)
            self._timer = self.loop.call_at(self._deadline, self._on_timer)

    def _clear_timer(self, *, keeps_deadline: bool = False) -> None:
        if not keeps_deadline:
            self._deadline = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _on_timer(self) -> None:
        self._timer = None
        if self._deadline is None or self.transport.is_closing():
            return
        if self.loop.time() < self._deadline:
            self._timer = self.loop.call_at(self._deadline, self._on_timer)
        elif not self._extend():
            self._time_out()

    def _extend(self) -> bool:
        """Begin the next period if the client is not to blame, or has made progress. Return whether it began."""
        if self._stage is Stage.HEAD and self.cycle is not None and not self.cycle.response_complete:
            # the head of a pipelined request waits for the response before it
            self._set_deadline(Stage.HEAD, self._limits.head_seconds)
            return True
        if self._stage is Stage.BODY and (
            self.flow.read_paused or self._is_in_pipeline() or self._window_bytes >= self._limits.min_body_bytes
        ):
            self._window_bytes = 0
            self._set_deadline(Stage.BODY, self._limits.body_seconds)
            return True
        return False

    def _time_out(self) -> None:
        """End a connection whose deadline has passed."""
        raise NotImplementedError
