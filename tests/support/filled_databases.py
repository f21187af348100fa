"""Databases with a schema or with tenants. They are filled once for each server and process, and tests use copies."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from uuid import uuid4

from sqlalchemy import text
from sqlalchemy.engine import URL
from sqlalchemy.ext.asyncio import create_async_engine

from tests.support.servers import FASTEST_COPY

T = TypeVar("T")

Fill = Callable[[str], Awaitable[T]]
"""Fills the new database with this URL, closes its connections, and returns what tests need to know of it."""

_filled: dict[tuple[str, ...], tuple[str, Any]] = {}
"""The path or name of each filled database and what `Fill` returned, by server and content."""

_folder = TemporaryDirectory(prefix="wattgate-")


def can_copy(url: URL) -> bool:
    """Return whether a new database can become a copy: a server of the tests' own, or a file that does not exist."""
    if url.get_backend_name() == "sqlite":
        return not Path(str(url.database)).exists()
    return "WATTGATE_TEST_POSTGRESQL_URL" not in os.environ


async def copy_filled(url: URL, content: Sequence[str], fill: Fill[T]) -> T:
    """Make a new database a copy of the one that `fill` has filled, and return what `fill` returned.

    `content` identifies what `fill` stores.
    """
    if url.get_backend_name() == "sqlite":
        return await _copy_file(url, content, fill)
    return await _copy_on_server(url, content, fill)


async def _copy_file(url: URL, content: Sequence[str], fill: Fill[T]) -> T:
    key = ("sqlite", *content)
    if key not in _filled:
        path = Path(_folder.name) / f"{uuid4().hex}.sqlite3"
        _filled[key] = str(path), await fill(f"sqlite:///{path}")
    source, known = _filled[key]
    await asyncio.to_thread(copyfile, source, str(url.database))
    return known  # type: ignore[no-any-return]


async def _copy_on_server(url: URL, content: Sequence[str], fill: Fill[T]) -> T:
    """Create the filled database from the new one, which has the schema. Then replace the new one by a copy."""
    server_url = url.set(database="postgres")
    key = (str(server_url), *content)
    engine = create_async_engine(server_url, isolation_level="AUTOCOMMIT")
    try:
        async with engine.connect() as connection:
            if key not in _filled:
                name = f"wattgate_filled_{uuid4().hex}"
                await connection.execute(text(f"CREATE DATABASE {name} TEMPLATE {url.database} {FASTEST_COPY}"))
                filled_url = url.set(database=name).render_as_string(hide_password=False)
                _filled[key] = name, await fill(filled_url)
            source, known = _filled[key]
            await connection.execute(text(f"DROP DATABASE {url.database}"))
            await connection.execute(text(f"CREATE DATABASE {url.database} TEMPLATE {source} {FASTEST_COPY}"))
    finally:
        await engine.dispose()
    return known  # type: ignore[no-any-return]
