"""One connection of a client that speaks graphql-transport-ws: what it asks for, and what is due on it."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Protocol

from wattgate.clock import format_iso
from wattgate.enums import TRACE_ID
from wattgate.errors import GatewayError, RateLimited, Unauthenticated
from wattgate.metrics import COMMAND_SECONDS, PING_PONG_SECONDS
from wattgate.principal import Principal, Role
from wattgate.realtime.connections import protocol
from wattgate.realtime.connections.close_log import log_close
from wattgate.realtime.connections.connection_slots import ConnectionSlot
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
)
from wattgate.realtime.connections.runtime import RealtimeRuntime
from wattgate.realtime.connections.send_backlog import ConflatingBuffer
from wattgate.realtime.subscriptions.group import Group
from wattgate.realtime.subscriptions.subscription import Message, encode_errors
from wattgate.request_context import new_trace_id

log = logging.getLogger(__name__)

CREDENTIAL_MEMBERS = {"token", "authorization"}
"""Members of a ping's payload that bring new credentials."""


class Wire(Protocol):
    """The connection below a session. It never waits: it says when the peer does not read, and when it does again."""

    def write(self, message: bytes) -> None:
        """Send a text message."""

    def close(self, code: int, reason: str) -> None:
        """Say that the connection ends. Nothing is sent after that."""

    def abort(self) -> None:
        """Cut the connection, without waiting for anything."""


class SocketSubscriber:
    """An operation of a session that is told payloads."""

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
    """What one socket has asked for and is told.

    `held` is what waits for a peer that does not read, by operation, topic and key, so that a later reading takes the
    place of an earlier one; None while the peer reads. The deadlines (`..._due`) are times of the wheel.
    """

    __slots__ = (
        "_authentication_task",
        "_end_deadline",
        "_headers",
        "_message_credits",
        "_message_credits_at",
        "_operations",
        "_ping_deadline",
        "_pong_deadline",
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
        self._message_credits = float(runtime.limits.max_message_burst)
        self._message_credits_at = now
        self._token_expired = False
        self._end_deadline: float | None = now + runtime.limits.init_timeout_seconds
        self._ping_deadline: float | None = None
        self._pong_deadline: float | None = None
        self._token_deadline: float | None = None
        self._slow_deadline: float | None = None
        self.wire = wire
        self.backlog: ConflatingBuffer | None = None
        self.principal = Principal(Role.ANONYMOUS)
        self.slots: tuple[ConnectionSlot, ...] = ()
        self.timer_slot: int | None = None
        self.trace_id = TRACE_ID.get() or new_trace_id()
        runtime.connections.add(self)
        runtime.timer_wheel.schedule(self, self._end_deadline)

    # what the client says

    def receive(self, data: bytes, *, text: bool = True) -> None:
        """Take a message of the client."""
        if self._state is ConnectionState.CLOSED:
            return
        if not self._take_message_credit():
            self.close(CloseCode.TOO_MANY_MESSAGES, protocol.CLOSE_CODE_MEANINGS[CloseCode.TOO_MANY_MESSAGES][0])
            return
        try:
            if not text:
                raise MalformedMessage("messages are text")
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
            case Action.PONG, Ping(payload=payload) if payload and not CREDENTIAL_MEMBERS.isdisjoint(
                map(str.lower, payload)
            ):
                self._refresh_credentials(payload)
            case Action.PONG, Ping(payload=payload):
                self.send(protocol.encode_pong(payload))

    def _record_pong(self) -> None:
        """Whoever speaks is there: nothing is said after a ping but the pong, most of the time."""
        sent = (self._pong_deadline or 0.0) - self._runtime.limits.pong_timeout_seconds
        PING_PONG_SECONDS.observe(self._runtime.timer_wheel.now() - sent)
        self._pong_deadline = None

    def _take_message_credit(self) -> bool:
        """Whether the client keeps to the number of messages that it may send."""
        limits, now = self._runtime.limits, self._runtime.timer_wheel.now()
        earned = (now - self._message_credits_at) * limits.max_messages_per_second
        self._message_credits = min(limits.max_message_burst, self._message_credits + earned) - 1
        self._message_credits_at = now
        return self._message_credits >= 0

    # who the client is

    async def _initialise(self, payload: Mapping[str, Any]) -> None:
        await self._authenticate({**(self._headers or {}), **_string_members(payload)})
        self._headers = None
        await self._runtime.connections.acquire_slots(self)
        self._state = ConnectionState.READY
        self._end_deadline = None
        self._schedule_ping()
        self.send(protocol.ACKNOWLEDGEMENT)

    def _refresh_credentials(self, payload: Mapping[str, Any]) -> None:
        """Take new credentials of the same caller."""
        if self._state is not ConnectionState.READY:
            self.close(CloseCode.UNAUTHORIZED, protocol.CLOSE_CODE_MEANINGS[CloseCode.UNAUTHORIZED][0])
            return
        self._start_authentication("ping", partial(self._reauthenticate, _string_members(payload)))

    async def _reauthenticate(self, credentials: Mapping[str, str]) -> None:
        await self._authenticate(credentials, _identity_of(self.principal))
        expires_at = self.principal.expires_at
        self.send(protocol.encode_pong({"expiresAt": None if expires_at is None else format_iso(expires_at)}))

    async def _authenticate(
        self, credentials: Mapping[str, str], expected_identity: tuple[object, ...] | None = None
    ) -> None:
        """Know the caller by its credentials. Unauthenticated where it has none, or is another than before."""
        service, wheel = self._runtime.service, self._runtime.timer_wheel
        principal = await service.authenticate(credentials)
        if principal.role is Role.ANONYMOUS or (
            expected_identity is not None and _identity_of(principal) != expected_identity
        ):
            raise Unauthenticated("Access denied")
        self.principal, self._token_expired, self._token_deadline = principal, False, None
        if principal.expires_at is not None:
            self._token_deadline = wheel.now() + (principal.expires_at - service.now()).total_seconds()
            wheel.schedule(self, self._token_deadline)

    def _start_authentication(self, kind: str, work: Callable[[], Awaitable[None]]) -> None:
        """Look at credentials, and no more at those that came before."""
        if self._authentication_task is not None:
            self._authentication_task.cancel()
        self._authentication_task = asyncio.create_task(self._supervise_authentication(kind, work))

    async def _supervise_authentication(self, kind: str, work: Callable[[], Awaitable[None]]) -> None:
        """Look at credentials. What goes wrong ends the connection."""
        TRACE_ID.set(self.trace_id)
        try:
            with COMMAND_SECONDS.labels(kind).time():
                await work()
        except (Unauthenticated, RateLimited):
            self.close(CloseCode.FORBIDDEN, "Forbidden")
        except GatewayError as error:
            self.close(CloseCode.GOING_AWAY, error.message)
        except Exception:  # the supervisor of a connection: the client must hear of it
            log.exception("a connection ended by a fault")
            self.close(CloseCode.GOING_AWAY, "an unexpected error has occurred")

    # what the client asks for

    def _start_operation(self, message: Subscribe) -> None:
        if message.id in self._operations:
            self.close(CloseCode.SUBSCRIBER_ALREADY_EXISTS, f"Subscriber for {message.id} already exists")
        else:
            self._operations.start(message.id, message.payload)

    def create_subscriber(self, operation_id: str, resumes: bool) -> SocketSubscriber:
        return SocketSubscriber(self, operation_id, resumes)

    def send_result(self, operation_id: str, payload: bytes) -> None:
        self.send(protocol.encode_next_prefix(operation_id) + payload + b"}")
        self.send(protocol.encode_complete(operation_id))

    def send_errors(self, operation_id: str, errors: bytes) -> None:
        self.send(protocol.encode_error(operation_id, errors))

    def end_operation(self, operation_id: str, error: GatewayError) -> None:
        """End a subscription by an error."""
        self._operations.end_with_errors(operation_id, encode_errors(error))

    # what the client is told

    def send(self, message: bytes) -> None:
        """Send a message, as soon as the peer reads."""
        if self._state is ConnectionState.CLOSED:
            return
        if self.backlog is None:
            self.wire.write(message)
        else:
            self.enqueue(object(), message)

    def enqueue(self, key: object, message: bytes) -> None:
        """Keep a message until the peer reads. Cut if that is too much."""
        if self.backlog is not None and not self.backlog.add(key, message):
            self.close(CloseCode.TOO_SLOW, "too much waits for it to be read")

    def on_writing_paused(self) -> None:
        """The peer does not read."""
        if self.backlog is None and self._state is not ConnectionState.CLOSED:
            self.backlog = ConflatingBuffer(self._runtime.limits)
            self._slow_deadline = self._runtime.timer_wheel.now() + self._runtime.limits.slow_reader_seconds
            self._runtime.timer_wheel.schedule(self, self._slow_deadline)

    def on_writing_resumed(self) -> None:
        """The peer reads again: first comes what has waited."""
        backlog, self.backlog, self._slow_deadline = self.backlog, None, None
        if backlog is not None:
            for message in backlog:
                self.send(message)
            backlog.released.set()

    # what is due, and how it ends

    def on_timer(self, now: float) -> float | None:
        """Do what is due."""
        if self._end_deadline is not None and now >= self._end_deadline:
            if self._state is ConnectionState.CLOSED:
                self.wire.abort()
                return None
            self.close(CloseCode.CONNECTION_INITIALISATION_TIMEOUT, "Connection initialisation timeout")
        elif self._slow_deadline is not None and now >= self._slow_deadline:
            self.close(CloseCode.TOO_SLOW, "it is not read")
        elif self._pong_deadline is not None and now >= self._pong_deadline:
            self.close(CloseCode.GOING_AWAY, "a ping was not answered")
            self.wire.abort()
        elif self._token_deadline is not None and now >= self._token_deadline:
            self._on_token_expired(now)
        if self._ping_deadline is not None and now >= self._ping_deadline:
            self._schedule_ping()
            if self.backlog is None:  # what is slow has a deadline already
                self.send(protocol.PING)
                self._pong_deadline = now + self._runtime.limits.pong_timeout_seconds
        deadlines = (
            self._end_deadline,
            self._ping_deadline,
            self._pong_deadline,
            self._token_deadline,
            self._slow_deadline,
        )
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def _schedule_ping(self) -> None:
        self._ping_deadline = (
            self._runtime.timer_wheel.now() + random.uniform(0.8, 1.0) * self._runtime.limits.ping_seconds
        )
        self._runtime.timer_wheel.schedule(self, self._ping_deadline)

    def _on_token_expired(self, now: float) -> None:
        """Ask for new credentials, and end the connection where none come."""
        if self._token_expired:
            self.close(CloseCode.FORBIDDEN, "the token has expired")
            return
        grace = self._runtime.limits.token_grace_seconds
        self._token_expired, self._token_deadline = True, now + grace
        self.send(protocol.encode_ping({"expired": True, "graceSeconds": int(grace)}))

    def close(self, code: CloseCode, reason: str) -> None:
        """End the connection, and say why."""
        if self._state is not ConnectionState.CLOSED:
            log_close(code, reason, self.principal, self.trace_id)
            self.wire.close(code, protocol.truncate_reason(reason))
            self.on_closing()

    def on_closing(self) -> None:
        """The connection ends, and not because of us."""
        if self._state is not ConnectionState.CLOSED:
            self._release()
            self._end_deadline = self._runtime.timer_wheel.now() + self._runtime.limits.close_timeout_seconds
            self._runtime.timer_wheel.schedule(self, self._end_deadline)

    def on_disconnected(self) -> None:
        """The connection has ended."""
        self._release()
        self._runtime.timer_wheel.cancel(self)
        self._runtime.connections.remove(self)

    def _release(self) -> None:
        """Let go of all that was asked for."""
        self._state = ConnectionState.CLOSED
        self._ping_deadline = self._pong_deadline = self._token_deadline = self._slow_deadline = None
        if self.backlog is not None:
            self.backlog.released.set()
            self.backlog = None
        if self._authentication_task is not None and self._authentication_task is not asyncio.current_task():
            self._authentication_task.cancel()
        self._operations.stop_all()


def _identity_of(principal: Principal) -> tuple[object, ...]:
    """What new credentials may not change."""
    return principal.role, principal.application_id, principal.account_id, principal.user_id


def _string_members(payload: Mapping[str, Any]) -> dict[str, str]:
    """The members that are read as headers."""
    return {name.lower(): value for name, value in payload.items() if isinstance(value, str)}
