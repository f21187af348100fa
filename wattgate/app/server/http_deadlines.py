"""The deadlines of an HTTP connection.

A connection has at most one deadline at a time, and one timer that checks it:
- from the connection, or the first byte of a next request, to the end of the head: `head_seconds`;
- in the body: windows of `body_seconds`, each of which must bring a minimum of bytes. While the application does not
  read, the client cannot send, and a new window begins;
- after a response that did not wait for the rest of the body: LINGER_SECONDS;
- while further requests wait until the client reads its responses: windows as in a body.
Between requests, the keep-alive timer of uvicorn applies. Each request only stores its deadline; the timer is not
cancelled and set again, because that would cost each request several microseconds.
"""

import asyncio
from enum import Enum, auto
from typing import Any

from wattgate.app.server.connection_guard import HttpLimits
from wattgate.app.server.pipelined_requests import PipelinedProtocol


class Stage(Enum):
    """The part of a request whose deadline is set."""

    HEAD = auto()
    BODY = auto()
    LINGER = auto()
    UNREAD = auto()


class DeadlineProtocol(PipelinedProtocol):
    """An HTTP connection with one deadline. A subclass sets `_limits`, `_in_head` and `_window_bytes`."""

    _limits: HttpLimits

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._stage = Stage.HEAD
        self._deadline: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._in_head = False
        self._window_bytes = self._unsent_bytes = 0

    def _begin_stall(self) -> None:
        self._unsent_bytes = self.transport.get_write_buffer_size()
        self._set_deadline(Stage.UNREAD, self._limits.body_seconds)

    def _end_stall(self) -> None:
        self._deadline = None
        if self._in_body:
            self._set_deadline(Stage.BODY, self._limits.body_seconds)
        elif self._in_head:
            self._set_deadline(Stage.HEAD, self._limits.head_seconds)

    def _is_between_requests(self) -> bool:
        is_answered = self.cycle is None or self.cycle.response_complete
        return is_answered and not self._in_body and not self.transport.is_closing()

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
        if self._stage is Stage.UNREAD:
            has_read = self._unsent_bytes - self.transport.get_write_buffer_size() >= self._limits.min_body_bytes
            if has_read:
                self._begin_stall()
            return has_read
        return False

    def _time_out(self) -> None:
        """End a connection whose deadline has passed."""
        raise NotImplementedError
