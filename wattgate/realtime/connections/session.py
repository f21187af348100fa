"""The session of one WebSocket that speaks graphql-transport-ws.

A session connects four parts: a wire carries bytes (`frame_wire`), `protocol` parses messages and says what
each one does in each state, `Operations` runs the operations, and the timer wheel reports deadlines. The
session has no task of its own, so that an idle connection needs little memory. All public methods return without
waiting. Only authentication and the start of operations run in tasks.

States (`protocol.ConnectionState`, with the actions in `protocol.TABLE`):

    NEW  -- connection_init -->  AUTHENTICATING  -- valid credentials, slots taken -->  READY
    any state  -- `close`, a close frame of the client, or a lost connection -->  CLOSED

In CLOSED, the session sends nothing and ignores all messages. The wire calls `on_disconnected` last, exactly once, in
every case. It removes the session from the wheel and from the registry.

Deadlines are times of the wheel. None means that the deadline does not apply.
- `_end_deadline`: in NEW and AUTHENTICATING, the time until READY; in CLOSED, the time until the wire is aborted.
- `_ping_deadline` and `_pong_deadline`: the next ping, and the reply to the last one. Any message counts as a reply.
- `_token_deadline`: the end of the token. The session then asks for new credentials by a ping, which the client sends
  in a ping of its own. If it does not, the session ends after a grace period (`_token_expired`).
- `_slow_deadline`: the end of the time for which the client may leave its messages unread.

Slow clients: the wire calls `on_writing_paused` when too many bytes are unsent. From then on, messages go into
`backlog`, where a later message replaces an earlier one of the same operation, topic and key. `on_writing_resumed`
sends the backlog first, then new messages. The session closes with TOO_SLOW if the backlog exceeds its limits or
`_slow_deadline` passes. Backfills do not fill the backlog: they wait in `SocketSubscriber.wait_until_writable`.

Invariants:
- `backlog` is None while the wire accepts messages, and in CLOSED.
- In CLOSED, no operation runs, and no deadline but `_end_deadline` is set.
- New credentials never change the identity of the caller (`Principal.identity`), because subscriptions keep running.

See `event_stream` for the counterpart over server-sent events, and docs/reference/realtime.md for the client's view.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from functools import partial
from math import ceil
from typing import Any, Protocol

from wattgate.clock import format_iso
from wattgate.enums import TRACE_ID
from wattgate.errors import NO_CREDENTIALS, Forbidden, GatewayError, RateLimited, Unauthenticated
from wattgate.metrics import COMMAND_SECONDS, PING_PONG_SECONDS
from wattgate.principal import Principal, Role
from wattgate.realtime.connections import protocol
from wattgate.realtime.connections.connection_slots import ConnectionSlot
from wattgate.realtime.connections.limits import ConnectionLimits
from wattgate.realtime.connections.operations import Operations
from wattgate.realtime.connections.protocol import (
    TABLE,
    Action,
    CloseCode,
    Complete,
    ConnectionInit,
    ConnectionState,
    MalformedMessage,
    Ping,
    Subscribe,
    log_close,
)
from wattgate.realtime.connections.runtime import RealtimeRuntime
from wattgate.realtime.connections.send_backlog import ConflatingBuffer
from wattgate.realtime.connections.service import uses_password
from wattgate.realtime.subscriptions.subscriber_group import Group
from wattgate.realtime.subscriptions.subscription import Message, encode_errors
from wattgate.requests.client import CURRENT_CLIENT, current_client
from wattgate.requests.fair_share import NO_OWNER
from wattgate.requests.request_context import log_access_error, new_trace_id

FRAMES_FOR_EACH_MESSAGE = 8
"""Frames that count as a message together. A message of the maximum size may have hundreds of fragments."""


class MessageBudget:
    """A budget that begins full, and fills again with time. It is small until the client has authenticated."""

    __slots__ = ("_burst", "_credits", "_limits", "_now")

    def __init__(self, limits: ConnectionLimits, now: float) -> None:
        self._limits = limits
        self._burst = min(limits.max_unknown_burst, limits.max_message_burst)
        self._credits = float(self._burst)
        self._now = now

    def admit(self) -> None:
        """Give a client that has authenticated the whole budget."""
        self._credits += self._limits.max_message_burst - self._burst
        self._burst = self._limits.max_message_burst

    def take_message(self, now: float) -> bool:
        """Count a message. Return False if none is left."""
        return self._take(1, now)

    def take_frames(self, count: int, now: float) -> bool:
        """Count frames that are no whole messages. Return False if they are too many."""
        return self._take(count / FRAMES_FOR_EACH_MESSAGE, now)

    def _take(self, count: float, now: float) -> bool:
        earned = (now - self._now) * self._limits.max_messages_per_second
        self._credits = min(self._burst, self._credits + earned) - count
        self._now = now
        return self._credits >= 0


class Wire(Protocol):
    """The transport of a session. Its methods return without waiting.

    It calls `on_writing_paused` when the client does not read, and `on_writing_resumed` when it reads again.
    """

    def write(self, message: bytes) -> None:
        """Send a text message."""

    def close(self, code: int, reason: str) -> None:
        """Send a close frame, and nothing after it."""

    def abort(self) -> None:
        """Drop the connection immediately. Unsent messages are lost."""


log = logging.getLogger(__name__)


class SocketSubscriber:
    """A subscription of a session."""

    __slots__ = ("buffer", "ended", "group", "id", "prefix", "resumes", "session")

    def __init__(self, session: "Session", operation_id: str, resumes: bool) -> None:
        self.session = session
        self.id = operation_id
        self.prefix = protocol.encode_next_prefix(operation_id)
        self.resumes = resumes
        self.buffer: list[Message] | None = None
        self.group: Group | None = None
        self.ended = False

    def send(self, message: Message) -> None:
        session = self.session
        if session.backlog is None:
            session.wire.write(self.prefix + message.websocket_tail)
        else:
            session.enqueue((self.id, message.key), self.prefix + message.websocket_tail)

    async def wait_until_writable(self) -> None:
        while self.session.backlog is not None:
            await self.session.backlog.released.wait()

    def fail(self, error: GatewayError) -> None:
        self.ended = True
        self.session.end_operation(self.id, error)


class Session:
    """The state of one socket. The module docstring explains states, deadlines and invariants."""

    __slots__ = (
        "_authentication_task",
        "_client",
        "_end_deadline",
        "_headers",
        "_messages",
        "_operations",
        "_ping_deadline",
        "_pong_deadline",
        "_renewable_from",
        "_runtime",
        "_slow_deadline",
        "_state",
        "_token_deadline",
        "_token_expired",
        "backlog",
        "principal",
        "slots",
        "timer_slot",
        "trace_id",
        "wire",
    )

    def __init__(self, runtime: RealtimeRuntime, wire: Wire, headers: Mapping[str, str]) -> None:
        now = runtime.timer_wheel.now()
        self._runtime = runtime
        self._headers: Mapping[str, str] | None = headers
        self._state = ConnectionState.NEW
        self._operations = Operations(runtime, self)
        self._authentication_task: asyncio.Task[None] | None = None
        self._messages = MessageBudget(runtime.limits, now)
        self._token_expired = False
        self._end_deadline: float | None = now + runtime.limits.init_timeout_seconds
        self._ping_deadline: float | None = None
        self._pong_deadline: float | None = None
        self._token_deadline: float | None = None
        self._renewable_from: float | None = None
        """When the new credentials can be checked that had to wait; None if the last ones had not."""
        self._slow_deadline: float | None = None
        self.wire = wire
        self.backlog: ConflatingBuffer | None = None
        self.principal = Principal(Role.ANONYMOUS)
        self.slots: tuple[ConnectionSlot, ...] = ()
        self.timer_slot: int | None = None
        self.trace_id, self._client = TRACE_ID.get() or new_trace_id(), current_client()
        runtime.connections.add(self)
        runtime.timer_wheel.schedule(self, self._end_deadline)

    # messages of the client

    def receive(self, data: bytes, *, text: bool = True) -> None:
        """Handle a message of the client."""
        if self._state is ConnectionState.CLOSED:
            return
        if not self._messages.take_message(self._runtime.timer_wheel.now()):
            self._refuse_messages()
            return
        try:
            if not text:
                raise MalformedMessage("send text messages, not binary ones")
            message = protocol.parse_message(data)
        except MalformedMessage as malformed:
            self.close(CloseCode.BAD_REQUEST, f"Invalid message: {malformed}")
            return
        if self._pong_deadline is not None:
            self._record_pong()
        effect = TABLE[self._state][type(message)]
        if isinstance(effect, CloseCode):
            self.close(effect, protocol.CLOSE_CODE_MEANINGS[effect][0])
        else:
            self._perform(effect, message)

    def _perform(self, effect: Action, message: protocol.ClientMessage) -> None:
        match effect, message:
            case Action.AUTHENTICATE, ConnectionInit(payload=payload):
                self._state = ConnectionState.AUTHENTICATING
                self._start_authentication("connection_init", partial(self._initialise, payload or {}))
            case Action.START, Subscribe():
                self._start_operation(message)
            case Action.STOP, Complete(id=operation_id):
                self._operations.stop(operation_id)
            case Action.PONG, Ping(payload=payload) if payload and protocol.has_credentials(payload):
                self._refresh_credentials(payload)
            case Action.PONG, Ping(payload=payload):
                self.send(protocol.encode_pong(payload))

    def _record_pong(self) -> None:
        """Record a message after a ping. It counts as the pong, and most of the time it is the pong."""
        sent = (self._pong_deadline or 0.0) - self._runtime.limits.pong_timeout_seconds
        PING_PONG_SECONDS.observe(self._runtime.timer_wheel.now() - sent)
        self._pong_deadline = None

    def take_frames(self, count: int) -> bool:
        """Count frames that are no whole messages. Close the connection and return False if they are too many."""
        return self._messages.take_frames(count, self._runtime.timer_wheel.now()) or self._refuse_messages()

    def _refuse_messages(self) -> bool:
        """Close the connection of a client that sends too many messages. Return False."""
        self.close(CloseCode.TOO_MANY_MESSAGES, protocol.CLOSE_CODE_MEANINGS[CloseCode.TOO_MANY_MESSAGES][0])
        return False

    # authentication

    async def _initialise(self, payload: Mapping[str, Any]) -> None:
        headers = {**(self._headers or {}), **protocol.string_members(payload)}
        turn = self._runtime.login_queue.turn(self._client.site or NO_OWNER)
        async with nullcontext() if uses_password(headers) else turn:
            await self._authenticate(headers)
            self._headers = None
            await self._runtime.connections.acquire_slots(self)
        if self._state is ConnectionState.CLOSED:  # the credentials were revoked in the meantime
            return
        self._state = ConnectionState.READY
        self._messages.admit()
        self._end_deadline = None
        self._schedule_ping()
        self.send(protocol.ACKNOWLEDGEMENT)

    def _refresh_credentials(self, payload: Mapping[str, Any]) -> None:
        """Authenticate new credentials of the same caller."""
        if self._state is not ConnectionState.READY:
            self.close(CloseCode.UNAUTHORIZED, protocol.CLOSE_CODE_MEANINGS[CloseCode.UNAUTHORIZED][0])
            return
        self._start_authentication("ping", partial(self._reauthenticate, protocol.string_members(payload)))

    async def _reauthenticate(self, credentials: Mapping[str, str]) -> None:
        """Replace the credentials. If the client has to wait first, the present ones stay until they end."""
        answer: dict[str, Any] = {}
        try:
            await self._authenticate(credentials, self.principal.identity)
        except RateLimited as error:
            log_access_error(error)
            self._renewable_from = self._runtime.timer_wheel.now() + (error.retry_after or 0)
            answer["errors"] = [{"message": error.message, "extensions": error.extensions}]
        else:
            await self._runtime.connections.close_if_revoked(self)
        expires_at = self.principal.expires_at
        self.send(protocol.encode_pong({"expiresAt": None if expires_at is None else format_iso(expires_at), **answer}))

    async def _authenticate(
        self, credentials: Mapping[str, str], expected_identity: tuple[str, ...] | None = None
    ) -> None:
        """Set the caller. Raise Unauthenticated if the credentials are missing, invalid or those of another caller."""
        service, wheel = self._runtime.service, self._runtime.timer_wheel
        principal = await service.authenticate(credentials)
        if principal.role is Role.ANONYMOUS:
            raise Unauthenticated(NO_CREDENTIALS)
        if expected_identity is not None and principal.identity != expected_identity:
            raise Unauthenticated("The new credentials are those of another caller. Open a connection for that caller.")
        self.principal, self._token_expired, self._token_deadline = principal, False, None
        self._renewable_from = None
        if principal.expires_at is not None:
            self._token_deadline = wheel.now() + (principal.expires_at - service.now()).total_seconds()
            wheel.schedule(self, self._token_deadline)

    def _start_authentication(self, kind: str, work: Callable[[], Awaitable[None]]) -> None:
        """Authenticate in a task. A pending authentication is cancelled."""
        if self._authentication_task is not None:
            self._authentication_task.cancel()
        self._authentication_task = asyncio.create_task(self._supervise_authentication(kind, work))

    async def _supervise_authentication(self, kind: str, work: Callable[[], Awaitable[None]]) -> None:
        """Run an authentication. An error closes the connection."""
        TRACE_ID.set(self.trace_id)
        CURRENT_CLIENT.set(self._client)
        try:
            with COMMAND_SECONDS.labels(kind).time():
                await work()
        except Unauthenticated:
            self.close(CloseCode.FORBIDDEN, "Forbidden")
        except Forbidden as error:  # an application names a user that it does not have
            self.close(CloseCode.FORBIDDEN, error.message)
        except RateLimited as error:  # nobody has checked the credentials
            self.close(CloseCode.RATE_LIMITED, protocol.waiting_reason(error))
        except GatewayError as error:
            self.close(CloseCode.GOING_AWAY, error.message)
        except Exception:  # supervisor: the client must receive an error
            log.exception("An authentication failed with an unexpected error")
            self.close(CloseCode.GOING_AWAY, "an unexpected error has occurred")

    # operations

    def _start_operation(self, message: Subscribe) -> None:
        if message.id in self._operations:
            self.close(CloseCode.SUBSCRIBER_ALREADY_EXISTS, f"Subscriber for {message.id} already exists")
        else:
            CURRENT_CLIENT.set(self._client)  # for the task that begins here
            self._operations.start(message.id, message.payload)

    def create_subscriber(self, operation_id: str, resumes: bool) -> SocketSubscriber:
        return SocketSubscriber(self, operation_id, resumes)

    def send_result(self, operation_id: str, payload: bytes) -> None:
        self.send(protocol.encode_next_prefix(operation_id) + payload + b"}")
        self.send(protocol.encode_complete(operation_id))

    def send_errors(self, operation_id: str, errors: bytes) -> None:
        self.send(protocol.encode_error(operation_id, errors))

    def end_operation(self, operation_id: str, error: GatewayError) -> None:
        """End a subscription with an error."""
        self._operations.end_with_errors(operation_id, encode_errors(error))

    # sending

    def send(self, message: bytes) -> None:
        """Send a message, or queue it while the client does not read."""
        if self._state is ConnectionState.CLOSED:
            return
        if self.backlog is None:
            self.wire.write(message)
        else:
            self.enqueue(object(), message)

    def enqueue(self, key: object, message: bytes) -> None:
        """Queue a message until the client reads. Close the connection if the backlog is full."""
        if self.backlog is not None and not self.backlog.add(key, message):
            self.close(CloseCode.TOO_SLOW, "too many messages are unread")

    def on_writing_paused(self) -> None:
        """Handle a client that stops reading."""
        if self.backlog is None and self._state is not ConnectionState.CLOSED:
            self.backlog = ConflatingBuffer(self._runtime.limits)
            self._slow_deadline = self._runtime.timer_wheel.now() + self._runtime.limits.slow_reader_seconds
            self._runtime.timer_wheel.schedule(self, self._slow_deadline)

    def on_writing_resumed(self) -> None:
        """Handle a client that reads again: send the backlog."""
        backlog, self.backlog, self._slow_deadline = self.backlog, None, None
        if backlog is not None:
            for message in backlog:
                self.send(message)
            backlog.released.set()

    # deadlines and closing

    def on_timer(self, now: float) -> float | None:
        """Handle the deadlines that have passed, and return the next one."""
        if self._end_deadline is not None and now >= self._end_deadline:
            if self._state is ConnectionState.CLOSED:
                self.wire.abort()
                return None
            self.close(CloseCode.CONNECTION_INITIALISATION_TIMEOUT, "Connection initialisation timeout")
        elif self._slow_deadline is not None and now >= self._slow_deadline:
            self.close(CloseCode.TOO_SLOW, "the client does not read its messages")
        elif self._pong_deadline is not None and now >= self._pong_deadline:
            self.close(CloseCode.GOING_AWAY, "the client did not reply to a ping")
            self.wire.abort()
        elif self._token_deadline is not None and now >= self._token_deadline:
            self._on_token_expired(now)
        if self._ping_deadline is not None and now >= self._ping_deadline:
            self._schedule_ping()
            if self.backlog is None:  # a slow client has its own deadline
                self.send(protocol.PING)
                self._pong_deadline = now + self._runtime.limits.pong_timeout_seconds
        timers = self._end_deadline, self._ping_deadline, self._pong_deadline, self._token_deadline, self._slow_deadline
        return min((deadline for deadline in timers if deadline is not None), default=None)

    def _schedule_ping(self) -> None:
        delay = random.uniform(0.8, 1.0) * self._runtime.limits.ping_seconds  # noqa: S311 (jitter, not a secret)
        self._ping_deadline = self._runtime.timer_wheel.now() + delay
        self._runtime.timer_wheel.schedule(self, self._ping_deadline)

    def _on_token_expired(self, now: float) -> None:
        """Request new credentials, or close the connection if the grace period has ended."""
        if self._token_expired and self._renewable_from is not None:  # nobody has checked the new credentials
            wait = RateLimited("", retry_after=max(1, ceil(self._renewable_from - now)))
            self.close(CloseCode.RATE_LIMITED, protocol.waiting_reason(wait))
            return
        if self._token_expired:
            self.close(CloseCode.FORBIDDEN, "the token has expired")
            return
        grace = self._runtime.limits.token_grace_seconds
        self._token_expired, self._token_deadline = True, now + grace
        self.send(protocol.encode_ping({"expired": True, "graceSeconds": int(grace)}))

    def close(self, code: CloseCode, reason: str) -> None:
        """Close the connection with a code and a reason."""
        if self._state is not ConnectionState.CLOSED:
            log_close(code, reason, self.principal, self.trace_id, self._client.host)
            self.wire.close(code, protocol.truncate_reason(reason))
            self.on_closing()

    def on_closing(self, seconds: float | None = None) -> None:
        """Handle the start of closing: stop everything, and limit the time to the end, to `seconds` or the default."""
        if self._state is not ConnectionState.CLOSED:
            self._release()
            limit = self._runtime.limits.close_timeout_seconds if seconds is None else seconds
            self._end_deadline = self._runtime.timer_wheel.now() + limit
            self._runtime.timer_wheel.schedule(self, self._end_deadline)

    def on_disconnected(self) -> None:
        """Handle the end of the connection."""
        self._release()
        self._runtime.timer_wheel.cancel(self)
        self._runtime.connections.remove(self)

    def _release(self) -> None:
        """Enter CLOSED: stop operations, authentication and deadlines, and drop the backlog."""
        self._state = ConnectionState.CLOSED
        self._ping_deadline = self._pong_deadline = self._token_deadline = self._slow_deadline = None
        if self.backlog is not None:
            self.backlog.released.set()
            self.backlog = None
        if self._authentication_task is not None and self._authentication_task is not asyncio.current_task():
            self._authentication_task.cancel()
        self._operations.stop_all()
