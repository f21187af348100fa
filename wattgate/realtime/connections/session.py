"""One connection of a client that speaks graphql-transport-ws: what it asks for, and what is due on it."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Protocol

from wattgate.clock import iso
from wattgate.enums import TRACE_ID
from wattgate.errors import GatewayError, RateLimited, Unauthenticated
from wattgate.metrics import COMMAND_SECONDS, PING_PONG_SECONDS
from wattgate.principal import Principal, Role
from wattgate.realtime.connections import protocol
from wattgate.realtime.connections.close_log import disconnected
from wattgate.realtime.connections.connection_limits import Seat
from wattgate.realtime.connections.live import Live
from wattgate.realtime.connections.operations import Operations
from wattgate.realtime.connections.protocol import (
    TABLE,
    Close,
    Complete,
    ConnectionInit,
    Do,
    Malformed,
    Ping,
    State,
    Subscribe,
)
from wattgate.realtime.connections.send_backlog import Held
from wattgate.realtime.subscriptions.group import Group
from wattgate.realtime.subscriptions.subscription import Message, told
from wattgate.request_context import new_trace_id

log = logging.getLogger(__name__)

CREDENTIALS = {"token", "authorization"}
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

    __slots__ = ("buffer", "group", "id", "over", "prefix", "resumes", "session")

    def __init__(self, session: "Session", operation_id: str, resumes: bool) -> None:
        self.session = session
        self.id = operation_id
        self.prefix = protocol.prefix(operation_id)
        self.resumes = resumes
        self.buffer: list[Message] | None = None
        self.group: Group | None = None
        self.over = False

    def next(self, message: Message) -> None:
        session = self.session
        if session.held is None:
            session.wire.write(self.prefix + message.tail)
        else:
            session.hold((self.id, message.key), self.prefix + message.tail)

    async def room(self) -> None:
        while self.session.held is not None:
            await self.session.held.over.wait()

    def fail(self, error: GatewayError) -> None:
        self.over = True
        self.session.end(self.id, error)


class Session:
    """What one socket has asked for and is told.

    `held` is what waits for a peer that does not read, by operation, topic and key, so that a later reading takes the
    place of an earlier one; None while the peer reads. The deadlines (`..._due`) are times of the wheel.
    """

    __slots__ = (
        "_checking",
        "_credits",
        "_credits_at",
        "_end_due",
        "_expired",
        "_headers",
        "_live",
        "_operations",
        "_ping_due",
        "_pong_due",
        "_slow_due",
        "_state",
        "_token_due",
        "held",
        "principal",
        "seats",
        "slot",
        "trace_id",
        "wire",
    )

    def __init__(self, live: Live, wire: Wire, headers: Mapping[str, str]) -> None:
        now = live.wheel.now()
        self._live = live
        self._headers: Mapping[str, str] | None = headers
        self._state = State.NEW
        self._operations = Operations(live, self)
        self._checking: asyncio.Task[None] | None = None
        self._credits = float(live.limits.messages)
        self._credits_at = now
        self._expired = False
        self._end_due: float | None = now + live.limits.init_seconds
        self._ping_due: float | None = None
        self._pong_due: float | None = None
        self._token_due: float | None = None
        self._slow_due: float | None = None
        self.wire = wire
        self.held: Held | None = None
        self.principal = Principal(Role.ANONYMOUS)
        self.seats: tuple[Seat, ...] = ()
        self.slot: int | None = None
        self.trace_id = TRACE_ID.get() or new_trace_id()
        live.sockets.add(self)
        live.wheel.place(self, self._end_due)

    # what the client says

    def receive(self, data: bytes, *, text: bool = True) -> None:
        """Take a message of the client."""
        if self._state is State.CLOSED:
            return
        if not self._may_speak():
            self.close(Close.TOO_MANY_MESSAGES, protocol.MEANINGS[Close.TOO_MANY_MESSAGES][0])
            return
        try:
            if not text:
                raise Malformed("messages are text")
            message = protocol.parse(data)
        except Malformed as malformed:
            self.close(Close.BAD_REQUEST, f"Invalid message: {malformed}")
            return
        if self._pong_due is not None:
            self._heard()
        effect = TABLE[self._state][type(message)]
        if isinstance(effect, Close):
            self.close(effect, protocol.MEANINGS[effect][0])
        else:
            self._do(effect, message)

    def _do(self, effect: Do, message: protocol.Message) -> None:
        match effect, message:
            case Do.AUTHENTICATE, ConnectionInit(payload=payload):
                self._state = State.AUTHENTICATING
                self._check("connection_init", partial(self._initialise, payload or {}))
            case Do.START, Subscribe():
                self._begin(message)
            case Do.STOP, Complete(id=operation_id):
                self._operations.stop(operation_id)
            case Do.PONG, Ping(payload=payload) if payload and not CREDENTIALS.isdisjoint(map(str.lower, payload)):
                self._refresh(payload)
            case Do.PONG, Ping(payload=payload):
                self.say(protocol.pong(payload))

    def _heard(self) -> None:
        """Whoever speaks is there: nothing is said after a ping but the pong, most of the time."""
        sent = (self._pong_due or 0.0) - self._live.limits.pong_seconds
        PING_PONG_SECONDS.observe(self._live.wheel.now() - sent)
        self._pong_due = None

    def _may_speak(self) -> bool:
        """Whether the client keeps to the number of messages that it may send."""
        limits, now = self._live.limits, self._live.wheel.now()
        earned = (now - self._credits_at) * limits.messages_per_second
        self._credits = min(limits.messages, self._credits + earned) - 1
        self._credits_at = now
        return self._credits >= 0

    # who the client is

    async def _initialise(self, payload: Mapping[str, Any]) -> None:
        await self._authenticate({**(self._headers or {}), **_texts(payload)})
        self._headers = None
        await self._live.sockets.seat(self)
        self._state = State.READY
        self._end_due = None
        self._next_ping()
        self.say(protocol.ACKNOWLEDGEMENT)

    def _refresh(self, payload: Mapping[str, Any]) -> None:
        """Take new credentials of the same caller."""
        if self._state is not State.READY:
            self.close(Close.UNAUTHORIZED, protocol.MEANINGS[Close.UNAUTHORIZED][0])
            return
        self._check("ping", partial(self._renew, _texts(payload)))

    async def _renew(self, credentials: Mapping[str, str]) -> None:
        await self._authenticate(credentials, _who(self.principal))
        until = self.principal.expires_at
        self.say(protocol.pong({"expiresAt": None if until is None else iso(until)}))

    async def _authenticate(self, credentials: Mapping[str, str], who: tuple[object, ...] | None = None) -> None:
        """Know the caller by its credentials. Unauthenticated where it has none, or is another than before."""
        service, wheel = self._live.service, self._live.wheel
        principal = await service.authenticate(credentials)
        if principal.role is Role.ANONYMOUS or (who is not None and _who(principal) != who):
            raise Unauthenticated("Access denied")
        self.principal, self._expired, self._token_due = principal, False, None
        if principal.expires_at is not None:
            self._token_due = wheel.now() + (principal.expires_at - service.now()).total_seconds()
            wheel.place(self, self._token_due)

    def _check(self, kind: str, work: Callable[[], Awaitable[None]]) -> None:
        """Look at credentials, and no more at those that came before."""
        if self._checking is not None:
            self._checking.cancel()
        self._checking = asyncio.create_task(self._supervise(kind, work))

    async def _supervise(self, kind: str, work: Callable[[], Awaitable[None]]) -> None:
        """Look at credentials. What goes wrong ends the connection."""
        TRACE_ID.set(self.trace_id)
        try:
            with COMMAND_SECONDS.labels(kind).time():
                await work()
        except (Unauthenticated, RateLimited):
            self.close(Close.FORBIDDEN, "Forbidden")
        except GatewayError as error:
            self.close(Close.GOING_AWAY, error.message)
        except Exception:  # the supervisor of a connection: the client must hear of it
            log.exception("a connection ended by a fault")
            self.close(Close.GOING_AWAY, "an unexpected error has occurred")

    # what the client asks for

    def _begin(self, asked: Subscribe) -> None:
        if asked.id in self._operations:
            self.close(Close.SUBSCRIBER_ALREADY_EXISTS, f"Subscriber for {asked.id} already exists")
        else:
            self._operations.begin(asked.id, asked.payload)

    def subscriber(self, operation_id: str, resumes: bool) -> SocketSubscriber:
        return SocketSubscriber(self, operation_id, resumes)

    def answer(self, operation_id: str, payload: bytes) -> None:
        self.say(protocol.prefix(operation_id) + payload + b"}")
        self.say(protocol.complete(operation_id))

    def refuse(self, operation_id: str, errors: bytes) -> None:
        self.say(protocol.error(operation_id, errors))

    def end(self, operation_id: str, error: GatewayError) -> None:
        """End a subscription by an error."""
        self._operations.end(operation_id, told(error))

    # what the client is told

    def say(self, message: bytes) -> None:
        """Send a message, as soon as the peer reads."""
        if self._state is State.CLOSED:
            return
        if self.held is None:
            self.wire.write(message)
        else:
            self.hold(object(), message)

    def hold(self, key: object, message: bytes) -> None:
        """Keep a message until the peer reads. Cut if that is too much."""
        if self.held is not None and not self.held.keep(key, message):
            self.close(Close.TOO_SLOW, "too much waits for it to be read")

    def paused(self) -> None:
        """The peer does not read."""
        if self.held is None and self._state is not State.CLOSED:
            self.held = Held(self._live.limits)
            self._slow_due = self._live.wheel.now() + self._live.limits.slow_seconds
            self._live.wheel.place(self, self._slow_due)

    def resumed(self) -> None:
        """The peer reads again: first comes what has waited."""
        waiting, self.held, self._slow_due = self.held, None, None
        if waiting is not None:
            for message in waiting:
                self.say(message)
            waiting.over.set()

    # what is due, and how it ends

    def visit(self, now: float) -> float | None:
        """Do what is due."""
        if self._end_due is not None and now >= self._end_due:
            if self._state is State.CLOSED:
                self.wire.abort()
                return None
            self.close(Close.CONNECTION_INITIALISATION_TIMEOUT, "Connection initialisation timeout")
        elif self._slow_due is not None and now >= self._slow_due:
            self.close(Close.TOO_SLOW, "it is not read")
        elif self._pong_due is not None and now >= self._pong_due:
            self.close(Close.GOING_AWAY, "a ping was not answered")
            self.wire.abort()
        elif self._token_due is not None and now >= self._token_due:
            self._expire(now)
        if self._ping_due is not None and now >= self._ping_due:
            self._next_ping()
            if self.held is None:  # what is slow has a deadline already
                self.say(protocol.PING)
                self._pong_due = now + self._live.limits.pong_seconds
        dues = (self._end_due, self._ping_due, self._pong_due, self._token_due, self._slow_due)
        return min((due for due in dues if due is not None), default=None)

    def _next_ping(self) -> None:
        self._ping_due = self._live.wheel.now() + random.uniform(0.8, 1.0) * self._live.limits.ping_seconds
        self._live.wheel.place(self, self._ping_due)

    def _expire(self, now: float) -> None:
        """Ask for new credentials, and end the connection where none come."""
        if self._expired:
            self.close(Close.FORBIDDEN, "the token has expired")
            return
        grace = self._live.limits.grace_seconds
        self._expired, self._token_due = True, now + grace
        self.say(protocol.ping({"expired": True, "graceSeconds": int(grace)}))

    def close(self, code: Close, reason: str) -> None:
        """End the connection, and say why."""
        if self._state is not State.CLOSED:
            disconnected(code, reason, self.principal, self.trace_id)
            self.wire.close(code, protocol.reason(reason))
            self.closing()

    def closing(self) -> None:
        """The connection ends, and not because of us."""
        if self._state is not State.CLOSED:
            self._finish()
            self._end_due = self._live.wheel.now() + self._live.limits.close_seconds
            self._live.wheel.place(self, self._end_due)

    def gone(self) -> None:
        """The connection has ended."""
        self._finish()
        self._live.wheel.remove(self)
        self._live.sockets.remove(self)

    def _finish(self) -> None:
        """Let go of all that was asked for."""
        self._state = State.CLOSED
        self._ping_due = self._pong_due = self._token_due = self._slow_due = None
        if self.held is not None:
            self.held.over.set()
            self.held = None
        if self._checking is not None and self._checking is not asyncio.current_task():
            self._checking.cancel()
        self._operations.clear()


def _who(principal: Principal) -> tuple[object, ...]:
    """What new credentials may not change."""
    return principal.role, principal.application_id, principal.account_id, principal.user_id


def _texts(payload: Mapping[str, Any]) -> dict[str, str]:
    """The members that are read as headers."""
    return {name.lower(): value for name, value in payload.items() if isinstance(value, str)}
