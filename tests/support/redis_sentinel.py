"""A Redis primary with a replica and three sentinels that tests can crash, pause and fail over."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from itertools import cycle
from pathlib import Path
from typing import Any

from redis.exceptions import RedisError

from tests.support.redis_server import RedisServer, TlsCertificates

PRIMARY_NAME = "gate"
DOWN_MILLISECONDS = 1000
"""Silence after which a sentinel takes the primary for dead."""


class SentinelServers:
    """Two servers, of which one is the primary, and three sentinels that promote the other one when it is gone."""

    def __init__(self, servers: Sequence[RedisServer], sentinels: Sequence[RedisServer], scheme: str) -> None:
        self.servers = servers
        self.sentinels = sentinels
        self._scheme = scheme

    @property
    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in self.sentinels)
        return f"{self._scheme}+sentinel://{hosts}/0?master={PRIMARY_NAME}"

    async def primary(self) -> RedisServer:
        """Return the primary that a majority of the sentinels name."""
        while True:
            ports = await asyncio.gather(*map(self._named_port, self.sentinels))
            port = max(ports, key=ports.count)
            for server in self.servers:
                if server.port == port and ports.count(port) > len(ports) // 2:
                    return server
            await asyncio.sleep(0.05)

    async def wait_for_failover(self, old: RedisServer) -> RedisServer:
        """Return the new primary when the sentinels name another server than `old`."""
        async with asyncio.timeout(60):
            while (primary := await self.primary()) is old:  # noqa: ASYNC110 (the sentinels are other processes)
                await asyncio.sleep(0.05)
        return primary

    async def wait_until_ready(self) -> None:
        """Wait until the replica has the data, and each sentinel knows it and the other sentinels."""
        async with asyncio.timeout(60):
            while not all([await self._is_complete(sentinel) for sentinel in self.sentinels]):  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    async def fail_over(self) -> RedisServer:
        """Command a failover and return the new primary. Both servers stay alive.

        A sentinel that had no time to run refuses or abandons the failover. Then the next one gets the command.
        """
        old = await self.primary()
        async with asyncio.timeout(120):
            for sentinel in cycle(self.sentinels[:2]):
                with suppress(RedisError, TimeoutError):
                    await sentinel.command("SENTINEL", "FAILOVER", PRIMARY_NAME)
                    async with asyncio.timeout(30):
                        return await self.wait_for_failover(old)
                await asyncio.sleep(0.2)
        raise AssertionError("unreachable")

    async def _named_port(self, sentinel: RedisServer) -> int:
        try:
            async with asyncio.timeout(1):  # a paused sentinel does not answer
                _, port = await sentinel.command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", PRIMARY_NAME)
        except (RedisError, OSError):
            return 0
        return int(port)

    async def _is_complete(self, sentinel: RedisServer) -> bool:
        fields = _fields(await sentinel.command("SENTINEL", "MASTER", PRIMARY_NAME))
        if fields["flags"] != "master" or int(fields["num-other-sentinels"]) != len(self.sentinels) - 1:
            return False
        replicas = [_fields(row) for row in await sentinel.command("SENTINEL", "REPLICAS", PRIMARY_NAME)]
        return [row["flags"] for row in replicas] == ["slave"] and replicas[0]["master-link-status"] == "ok"


def _fields(row: Any) -> dict[str, str]:
    if isinstance(row, dict):
        return {_text(name): _text(value) for name, value in row.items()}
    return {_text(name): _text(value) for name, value in zip(row[::2], row[1::2], strict=True)}


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


@asynccontextmanager
async def sentinel_servers(folder: Path, tls: TlsCertificates | None = None) -> AsyncIterator[SentinelServers]:
    """Yield a primary with a replica and three sentinels, all ready for a failover."""
    async with AsyncExitStack() as stack:
        servers = [RedisServer(_new_folder(folder / f"server{number}"), tls=tls) for number in range(2)]
        for server in servers:
            await _start(stack, server)
        primary, replica = servers
        await replica.command("REPLICAOF", "127.0.0.1", str(primary.port))
        sentinels = []
        for number in range(3):
            home = _new_folder(folder / f"sentinel{number}")
            file = _write_configuration(home / "sentinel.conf", primary.port)
            sentinels.append(RedisServer(home, sentinel_file=file, tls=tls))
            await _start(stack, sentinels[-1])
        running = SentinelServers(servers, sentinels, "rediss" if tls else "redis")
        await running.wait_until_ready()
        yield running


def _new_folder(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _write_configuration(file: Path, primary_port: int) -> Path:
    file.write_text(
        f"sentinel monitor {PRIMARY_NAME} 127.0.0.1 {primary_port} 2\n"
        f"sentinel down-after-milliseconds {PRIMARY_NAME} {DOWN_MILLISECONDS}\n"
        f"sentinel failover-timeout {PRIMARY_NAME} 2000\n"
    )
    return file


async def _start(stack: AsyncExitStack, server: RedisServer) -> None:
    stack.push_async_callback(server.kill)
    await server.start()
