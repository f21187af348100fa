"""Connections of asyncpg that send the row scope with each statement, without a round trip of its own.

PostgreSQL's extended protocol treats all messages up to the next Sync as one implicit transaction. asyncpg executes a
prepared statement with Bind, Execute and Sync. This module writes another Bind and Execute before them. They set the
role and the scope with `set_config(..., true)`, so the settings end with the transaction, implicit or not:

    to the server:    Bind+Execute (scope)   Bind+Execute+Sync (statement of asyncpg)
    from the server:  2 D C (dropped here)   2 D ... C Z (passed on to asyncpg)

A connection to a transaction pooler (`PooledConnection`) also writes Parse before each Bind, here and in asyncpg. So
the server process that the pooler selects for the implicit transaction needs no earlier message.

Advisory locks that a statement needs are written before the scope, in the same way (`next_locks`). So is the BEGIN of a
transaction: its first statement takes one round trip instead of two.

A statement therefore never runs in the scope of an earlier one, and nothing remains on the connection for a pooler to
pass on. asyncpg has no public interface for this, so `ScopedConnection` wraps the protocol that it receives.
https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING
"""

import asyncio
import struct
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, lru_cache
from typing import Any, NamedTuple, cast

import asyncpg

from wattgate.db.scope.row_scope import RowScope, Scope, ScopeHolder, SystemAccess

ROW_ROLE = "wattgate_rows"
"""The role whose statements are subject to the policies."""

NO_ROLE = "none"
"""The value of PostgreSQL's setting `role` for the role that logged in."""

SCOPE_STATEMENT = "wattgate_scope"
_SET_SCOPE = (
    "SELECT set_config('role', $1, true), set_config('wattgate.application', $2, true),"
    " set_config('wattgate.user', $3, true), set_config('wattgate.home', $4, true)"
)
_FIND_ROLE = """
    SELECT CASE
        WHEN to_regclass('own_reading') IS NULL OR to_regrole($1::text) IS NULL THEN false
        WHEN NOT has_table_privilege($1::text, 'own_reading', 'SELECT') THEN false
        ELSE pg_has_role(current_user, $1::text, $2::text)
    END"""
BEGIN_STATEMENT = "wattgate_begin"
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED;"
"""The query with which asyncpg begins a transaction of SQLAlchemy. Another one is sent at once, as it is."""

LOCK_STATEMENT = "wattgate_locks"
_LOCK = "SELECT pg_advisory_xact_lock_shared($1), pg_advisory_xact_lock_shared($2), pg_advisory_xact_lock($3)"
"""A key that is null takes no lock. A later statement sees the commits during the wait for the locks."""

SCOPE_RESPONSES = b"2DC"
"""The types of the messages that answer the scope: BindComplete, DataRow, CommandComplete."""

_HEADER = struct.Struct("!ci")
_PARSE_COMPLETE = _HEADER.pack(b"1", 4)
_BIND_COMPLETE = _HEADER.pack(b"2", 4)
_SELECTED_ONE_ROW = _HEADER.pack(b"C", 13) + b"SELECT 1\0"
_BEGUN = _HEADER.pack(b"C", 10) + b"BEGIN\0"
_NULL_LENGTH = -1


class LogPosition(NamedTuple):
    """A position in the write-ahead log: its timeline, which changes with each failover, and the byte in it."""

    timeline: int
    byte: int


NO_POSITION = LogPosition(0, 0)


class Locks(NamedTuple):
    """The keys of advisory locks that last until the end of the transaction, in the order of the requests for them."""

    first_shared: int | None = None
    second_shared: int | None = None
    alone: int | None = None


NO_LOCKS = Locks()


class ScopeMessages(NamedTuple):
    """Messages before a statement, which begin its transaction, take locks or set its scope.

    `response` is the answer of the server to them, and `response_types` are the types of its messages.
    """

    request: bytes
    response: bytes
    response_types: bytes

    def after(self, earlier: "ScopeMessages") -> "ScopeMessages":
        """Return these messages, with others before them."""
        return ScopeMessages(
            earlier.request + self.request,
            earlier.response + self.response,
            earlier.response_types + self.response_types,
        )


class ScopedConnection(asyncpg.Connection):  # type: ignore[misc]
    """A connection whose statements run in the scope of its holder. Without a holder, the scope is not set."""

    keeps_statements = True
    """Whether a statement that was prepared remains prepared for later messages."""

    def __init__(self, protocol: Any, transport: Any, *arguments: Any) -> None:
        self.scope_holder: ScopeHolder | None = None
        self.row_role = NO_ROLE
        self.next_locks = NO_LOCKS
        """The locks that the next statement takes first."""
        self.begins_with_next = False
        """Whether the transaction has begun for asyncpg, and its BEGIN is sent with the next statement."""
        self.replayed = NO_POSITION
        """The position that the server, a replica, had replayed at the last query for it."""
        self._kept_statements: list[Any] = []
        super().__init__(_ScopedProtocol(protocol, transport, self), transport, *arguments)

    async def prepare_scope(self) -> None:
        """Prepare the statement that sets the scope, and find out whether the role of the policies can be set."""
        privilege = "SET" if self.get_server_version() >= (16, 0) else "MEMBER"
        if await self.fetchval(_FIND_ROLE, ROW_ROLE, privilege):
            self.row_role = ROW_ROLE
        if self.keeps_statements:
            for sql, name in ((_SET_SCOPE, SCOPE_STATEMENT), (_LOCK, LOCK_STATEMENT), (_BEGIN, BEGIN_STATEMENT)):
                self._kept_statements.append(await self.prepare(sql, name=name))

    async def fetch_rows(self, sql: str, arguments: Sequence[Any]) -> Any:
        """Return the rows of a statement, as `fetch` does with fewer calls.

        `_get_statement`, `_stmt_exclusive_section` and `bind_execute` are parts of asyncpg that `fetch` uses, so it is
        limited to version 0.32. `fetch` prepares the statement again if a type or a result has changed.
        """
        if self._query_loggers or self._protocol is None:
            return await self.fetch(sql, *arguments)
        try:
            with self._stmt_exclusive_section:
                statement = await self._get_statement(sql, None)
                return await self._protocol.bind_execute(statement, arguments, "", 0, False, None)
        except (asyncpg.exceptions.OutdatedSchemaCacheError, asyncpg.InvalidCachedStatementError):
            return await self.fetch(sql, *arguments)

    def is_in_transaction(self) -> bool:
        """Return whether a transaction has begun, also if the server will learn it with the next statement."""
        return self.begins_with_next or super().is_in_transaction()

    def scope_messages(self) -> ScopeMessages | None:
        """Return the messages that the next statement needs before it; None if it needs none.

        They begin its transaction, take its locks, and set its scope.
        """
        messages = self._messages_of_scope()
        if self.next_locks is not NO_LOCKS:
            locks, self.next_locks = _encode_locks(self.next_locks, self.keeps_statements), NO_LOCKS
            messages = locks if messages is None else messages.after(locks)
        if self.begins_with_next:
            begin, self.begins_with_next = _encode_begin(self.keeps_statements), False
            messages = begin if messages is None else messages.after(begin)
        return messages

    def _messages_of_scope(self) -> ScopeMessages | None:
        if self.scope_holder is None:
            return None
        scope = self.scope_holder.scope
        if isinstance(scope, SystemAccess) and not super().is_in_transaction():
            return None  # the settings of every earlier statement have ended
        return _encode_scope(scope, self.row_role, self.keeps_statements)


class PooledConnection(ScopedConnection):
    """A connection to a pooler that may run each transaction in another process of the server.

    A statement has no name, and is parsed in the implicit transaction that executes it. asyncpg sends Parse, Bind,
    Execute and Sync in one go for a statement that is "unprepared". The description of its parameters and its columns
    stays in asyncpg's cache, so it costs no round trip of its own. A migration never changes the type of a column that
    a running version reads, so the description stays right.
    """

    keeps_statements = False

    async def prepare_scope(self) -> None:
        # asyncpg would switch the setting `jit` of the session while it reads types, perhaps in two processes
        capabilities: Any = self._server_caps  # type: ignore[has-type]
        self._server_caps = capabilities._replace(jit=False)
        await super().prepare_scope()

    async def _get_statement(self, *arguments: Any, **options: Any) -> Any:
        statement = await super()._get_statement(*arguments, **(options | {"named": ""}))
        statement.mark_unprepared()
        return statement


@lru_cache(maxsize=1024)
def _encode_scope(scope: Scope, row_role: str, is_prepared: bool) -> ScopeMessages:
    """Encode the messages that set a scope. The values are parameters and never part of SQL."""
    values = (NO_ROLE, "", "", "")
    if isinstance(scope, RowScope):
        values = (row_role, scope.application_id, scope.user_id or "", scope.ve_id or "")
    encoded = [value.encode(errors="surrogatepass") for value in values]  # PostgreSQL rejects invalid text
    answer = _encode_row(encoded)  # `set_config` returns the value
    return _encode_call(_SET_SCOPE, SCOPE_STATEMENT if is_prepared else None, encoded, answer)


@lru_cache(maxsize=1024)
def _encode_locks(locks: Locks, is_prepared: bool) -> ScopeMessages:
    """Encode the messages that take locks."""
    keys = [None if key is None else str(key).encode() for key in locks]
    answer = _encode_row([None if key is None else b"" for key in locks])  # the functions return nothing
    return _encode_call(_LOCK, LOCK_STATEMENT if is_prepared else None, keys, answer)


@cache
def _encode_begin(is_prepared: bool) -> ScopeMessages:
    """Encode the messages that begin a transaction."""
    return _encode_call(_BEGIN, BEGIN_STATEMENT if is_prepared else None, (), _Answer(_BEGUN, b"C"))


class _Answer(NamedTuple):
    """The messages that answer the execution of a statement, and their types."""

    messages: bytes
    types: bytes


def _encode_row(values: Sequence[bytes | None]) -> _Answer:
    """Encode the answer to a statement that returns a row."""
    data = _encode_values(values)
    return _Answer(_HEADER.pack(b"D", len(data) + 4) + data + _SELECTED_ONE_ROW, b"DC")


def _encode_call(sql: str, prepared_name: str | None, values: Sequence[bytes | None], answer: _Answer) -> ScopeMessages:
    """Encode the call of a statement with values as texts. Without a name, parse it as well."""
    bind = b"\0" + (prepared_name or "").encode() + b"\0" + struct.pack("!h", 0) + _encode_values(values) + b"\0\0"
    execute = b"\0" + struct.pack("!i", 0)
    request = _HEADER.pack(b"B", len(bind) + 4) + bind + _HEADER.pack(b"E", len(execute) + 4) + execute
    response, types = _BIND_COMPLETE + answer.messages, b"2" + answer.types
    if prepared_name is not None:
        return ScopeMessages(request, response, types)
    parse = b"\0" + sql.encode() + b"\0" + struct.pack("!h", 0)
    request = _HEADER.pack(b"P", len(parse) + 4) + parse + request
    return ScopeMessages(request, _PARSE_COMPLETE + response, b"1" + types)


def _encode_values(values: Sequence[bytes | None]) -> bytes:
    """Encode the number of values, and each with its length, as messages have parameters and rows."""
    return struct.pack("!h", len(values)) + b"".join(
        struct.pack("!i", _NULL_LENGTH) if value is None else struct.pack("!i", len(value)) + value for value in values
    )


class _ScopedProtocol:
    """The protocol object of asyncpg, with the scope written before each message that binds a statement."""

    def __init__(self, protocol: Any, transport: Any, connection: ScopedConnection) -> None:
        self._protocol = protocol
        self._transport = transport
        self._connection = connection
        self._responses = ScopeResponses(protocol)
        self._needs_sync = False
        self._is_cancelling = protocol._is_cancelling
        self.is_connected = protocol.is_connected  # used for each statement; __getattr__ takes longer
        self.get_record_class = protocol.get_record_class
        transport.set_protocol(self._responses)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._protocol, name)

    async def bind_execute(self, *arguments: Any, **options: Any) -> Any:
        return await self._run_scoped(self._protocol.bind_execute, arguments, options)

    async def bind_execute_many(self, *arguments: Any, **options: Any) -> Any:
        return await self._run_scoped(self._protocol.bind_execute_many, arguments, options)

    async def bind(self, *arguments: Any, **options: Any) -> Any:
        return await self._run_scoped(self._protocol.bind, arguments, options)

    async def query(self, *arguments: Any) -> Any:
        if self._needs_sync:
            await self._synchronize()
        if arguments[0] == _BEGIN and not self._connection.begins_with_next:
            self._connection.begins_with_next = True
            return "BEGIN"
        await self._begin()
        return await self._protocol.query(*arguments)

    async def copy_in(self, *arguments: Any) -> Any:
        await self._begin()
        return await self._protocol.copy_in(*arguments)

    async def copy_out(self, *arguments: Any) -> Any:
        await self._begin()
        return await self._protocol.copy_out(*arguments)

    async def _begin(self) -> None:
        """Send the BEGIN of a transaction now, before messages other than those of a prepared statement."""
        if self._connection.begins_with_next:
            self._connection.begins_with_next = False
            await self._protocol.query(_BEGIN, None)

    async def _run_scoped(self, send: Any, arguments: Any, options: Any) -> Any:
        if self._needs_sync:
            await self._synchronize()
        elif self._is_cancelling():
            # asyncpg waits too, but after the scope is sent: then the end of the cancelled statement, such as a
            # preparation, would seem to be the end of the answer to the scope, whose row asyncpg would return
            await self._protocol._wait_for_cancellation()
        messages = self._connection.scope_messages()
        if messages is None:
            return await send(*arguments, **options)
        self._transport.write(messages.request)
        self._responses.expect(messages.response, messages.response_types)
        try:
            return await send(*arguments, **options)
        except asyncpg.PostgresError:
            raise  # the server has answered, so it has seen the Sync of the statement
        except BaseException:
            self._needs_sync = True  # asyncpg may have raised before it sent the statement and its Sync
            raise

    async def _synchronize(self) -> None:
        """Send a query of its own, which waits for a cancelled statement and ends an implicit transaction."""
        with suppress(asyncpg.InFailedSQLTransactionError):
            await self._protocol.query("SELECT 1", None)
        self._needs_sync = False


class ScopeResponses(asyncio.Protocol):
    """Receive the data of the server. Drop the answers to the scope messages, and pass the rest on to asyncpg.

    If the scope cannot be set, the error is passed on: the server then skips the statement, and asyncpg raises.
    """

    def __init__(self, protocol: asyncio.Protocol) -> None:
        self._protocol = protocol
        self._incomplete = b""
        self._whole = b""
        self.expected = b""

    def expect(self, whole: bytes, types: bytes = SCOPE_RESPONSES) -> None:
        """Drop the answer to scope messages from the following data. `whole` is the answer if the scope is set."""
        self._whole = b"" if self.expected else whole
        self.expected += types

    def data_received(self, data: bytes) -> None:
        if not self.expected:
            self._protocol.data_received(data)
            return
        if self._whole and not self._incomplete and data.startswith(self._whole):
            data, self.expected = data[len(self._whole) :], b""
            if data:
                self._protocol.data_received(data)
            return
        self._whole = b""
        data = self._incomplete + data
        start = 0
        while self.expected and (end := _message_end(data, start)):
            kind = data[start : start + 1]
            if kind == self.expected[:1]:
                self.expected = self.expected[1:]
            else:
                if kind in b"EZ":  # the server skips the rest up to the Sync
                    self.expected = b""
                self._protocol.data_received(data[start:end])
            start = end
        self._incomplete = data[start:] if self.expected else b""
        if not self.expected and start < len(data):
            self._protocol.data_received(data[start:])

    def eof_received(self) -> bool | None:
        return self._protocol.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._protocol.connection_lost(exc)

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()


def _message_end(data: bytes, start: int) -> int | None:
    """Return the position after the message that begins at `start`; None if it is incomplete."""
    if len(data) - start < _HEADER.size:
        return None
    end = start + 1 + cast(int, _HEADER.unpack_from(data, start)[1])
    return end if end <= len(data) else None
