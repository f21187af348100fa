"""The connection for Redis commands, which all callers of a process share.

A caller writes its commands at once, without a wait for the replies to earlier ones. Redis replies in the order of the
commands. Many callers thus need one connection, and none waits for a free one.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self, cast

import hiredis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoScriptError, RedisError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from wattgate.realtime.server_address import ServerAddress

Command = tuple[str | bytes | int, ...]

RESPONSE_TIMEOUT_SECONDS = 1.0
"""Maximum time to connect, and for which Redis may send nothing while replies are due. Then the connection is cut."""

STALL_SECONDS = 0.05
"""Time to read arrived replies before the connection is cut, because the event loop itself may have been blocked."""

MAX_UNSENT_BYTES = 1024 * 1024
"""Unsent bytes above which callers wait until Redis reads again."""


class _Batch(NamedTuple):
    """Commands that one caller wrote together: the future of their replies, and the replies so far."""

    future: asyncio.Future[list[Any]]
    size: int
    replies: list[Any]


class CommandConnection(asyncio.Protocol):
    """Write commands and match the replies to them. After a failure, the connection accepts nothing more."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._reader = hiredis.Reader(replyError=_build_error)
        self._pending: deque[_Batch] = deque()
        self._transport: asyncio.Transport | None = None
        self._error: RedisError | None = None
        self._resumed: asyncio.Future[None] | None = None
        """Set while the callers have to wait, because Redis does not read."""
        self._active_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @classmethod
    async def connect(
        cls, address: ServerAddress, tls_context: ssl.SSLContext | None, setup: Sequence[Command]
    ) -> Self:
        """Connect, and run the commands of `setup` after the login. Raise RedisError if anything fails."""
        login: list[Command] = []
        if address.password is not None:
            login.append(("AUTH", *([address.username] if address.username else []), address.password))
        if address.database:
            login.append(("SELECT", address.database))
        try:
            async with asyncio.timeout(RESPONSE_TIMEOUT_SECONDS):
                _, connection = await asyncio.get_running_loop().create_connection(
                    cls, address.host, address.port, ssl=tls_context
                )
        except TimeoutError:
            raise RedisTimeoutError("no connection within the time limit") from None
        except OSError as error:
            raise RedisConnectionError(str(error)) from error
        if login or setup:
            try:
                for reply in await connection.send([*login, *setup]):
                    if isinstance(reply, RedisError):
                        raise reply
            except BaseException:
                connection.abort(RedisConnectionError("the login failed"))
                raise
        return connection

    @property
    def is_open(self) -> bool:
        return self._error is None

    @property
    def is_writable(self) -> bool:
        """Whether `send` is allowed now. If the connection is open, `wait_until_writable` waits for it."""
        return self._error is None and self._resumed is None

    async def wait_until_writable(self) -> None:
        """Return when Redis reads again, or the connection has failed."""
        while self._resumed is not None:
            await asyncio.shield(self._resumed)

    def send(self, commands: Sequence[Command]) -> asyncio.Future[list[Any]]:
        """Write commands. Return the future of their replies, in which an error of Redis is a RedisError.

        Redis runs the commands even if the caller cancels the future. The future raises RedisError if the connection
        fails; the commands may have run.
        """
        future: asyncio.Future[list[Any]] = self._loop.create_future()
        if self._error is not None or self._transport is None:
            future.set_exception(self._error or RedisConnectionError("not connected"))
            return future
        if not self._pending:
            self._active_at = self._loop.time()
            if self._timer is None:
                self._timer = self._loop.call_later(RESPONSE_TIMEOUT_SECONDS, self._check_silence)
        self._pending.append(_Batch(future, len(commands), []))
        self._transport.write(b"".join([_PACK(command) for command in commands]))
        return future

    def abort(self, error: RedisError) -> None:
        """Close the connection. All callers that wait receive the error."""
        if self._error is not None:
            return
        self._error = error
        if self._timer is not None:
            self._timer.cancel()
        if self._transport is not None:
            self._transport.close()  # writes the unsent commands first, so that Redis still runs them
            self._loop.call_later(RESPONSE_TIMEOUT_SECONDS, self._transport.abort)
        while self._pending:
            future = self._pending.popleft().future
            if not future.done():
                future.set_exception(type(error)(*error.args))
        self.resume_writing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # that of another event loop may not be an instance
        self._transport.set_write_buffer_limits(high=MAX_UNSENT_BYTES)

    def connection_lost(self, exc: Exception | None) -> None:
        self.abort(RedisConnectionError(str(exc) if exc else "the connection was closed"))

    def pause_writing(self) -> None:
        if self._resumed is None and self._error is None:
            self._resumed = self._loop.create_future()

    def resume_writing(self) -> None:
        resumed, self._resumed = self._resumed, None
        if resumed is not None and not resumed.done():
            resumed.set_result(None)

    def data_received(self, data: bytes) -> None:
        self._active_at = self._loop.time()
        self._reader.feed(data)
        while self._pending:
            batch = self._pending[0]
            while len(batch.replies) < batch.size:
                try:
                    reply = self._reader.gets()
                except hiredis.ProtocolError as error:
                    return self.abort(RedisConnectionError(str(error)))
                if reply is False:
                    return None
                batch.replies.append(reply)
            self._pending.popleft()
            if not batch.future.done():
                batch.future.set_result(batch.replies)
        return None

    def _check_silence(self) -> None:
        """Cut the connection if Redis has sent nothing for too long while replies are due."""
        self._timer = None
        if not self._pending:
            return
        deadline = self._active_at + RESPONSE_TIMEOUT_SECONDS
        if self._loop.time() < deadline:
            self._timer = self._loop.call_at(deadline, self._check_silence)
        else:
            self._timer = self._loop.call_later(STALL_SECONDS, self._give_up, self._active_at)

    def _give_up(self, active_at: float) -> None:
        if self._pending and self._active_at == active_at:
            self.abort(RedisTimeoutError("no reply within the time limit"))
        else:
            self._check_silence()


_ERROR_CODES = {"ERR", "LOADING", "NOAUTH", "NOPERM", "NOSCRIPT", "OOM", "READONLY", "WRONGPASS"}

_PACK = cast(Callable[[Command], bytes], hiredis.pack_command)  # its stub declares a tuple of one element


def raise_on_error(replies: list[Any]) -> list[Any]:
    """Return the replies. Raise the first one that is an error."""
    for reply in replies:
        if isinstance(reply, RedisError):
            raise reply
    return replies


def _build_error(message: str) -> RedisError:
    """Return the exception for an error of Redis. A common code is not part of its text."""
    code, _, text = message.partition(" ")
    if code not in _ERROR_CODES:
        return ResponseError(message)
    return NoScriptError(text) if code == "NOSCRIPT" else ResponseError(text)
