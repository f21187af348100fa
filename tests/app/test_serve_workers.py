"""`wattgate serve --workers`: several processes on one port, with Redis between them."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.app.test_cli import wattgate
from tests.app.test_serving import AT_ONCE, Home, home, refused
from tests.support.processes import Process, gateway
from tests.support.redis_server import RedisServer, redis_server
from tests.support.servers import broker

__all__ = ["home"]

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: gateway\r\n\r\n"


@pytest.fixture
async def redis(tmp_path: Path) -> AsyncIterator[RedisServer]:
    (tmp_path / "redis").mkdir()
    async with redis_server(tmp_path / "redis", "--appendonly", "no") as server:
        yield server


@asynccontextmanager
async def workers(home: Home, redis: RedisServer, count: int = 2, **settings: str) -> AsyncIterator[Process]:
    """A gateway of several workers that all serve."""
    arguments = ("--workers", str(count))
    async with gateway(*arguments, folder=home.folder, REDIS_URL=redis.url, **AT_ONCE | settings) as made:
        await made.logs("serves", count)
        yield made


class Connection:
    """A connection that is kept, and on which requests are made."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def to(cls, port: int) -> "Connection":
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def answers(self) -> bool:
        """Whether a request on it is answered."""
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            self._writer.write(HEALTH)
            await self._writer.drain()
            return (await self._reader.readuntil(b'{"status":"OK"}')).startswith(b"HTTP/1.1 200")
        return False

    def close(self) -> None:
        self._writer.close()


async def test_connections_spread_over_workers_and_one_that_is_killed_takes_only_its_own(
    home: Home, redis: RedisServer
) -> None:
    async with workers(home, redis) as one:
        connections = [await Connection.to(one.port) for _ in range(60)]
        assert all([await connection.answers() for connection in connections])
        os.kill(one.workers[0], signal.SIGKILL)
        await one.logs(f"worker {one.workers[0]} has ended (SIGKILL)")
        alive = [await connection.answers() for connection in connections]
        assert 0 < sum(alive) < 60
        async with httpx.AsyncClient(base_url=one.url) as client:
            assert (await client.get("/readyz")).status_code == 200  # the other one serves alone
        await one.logs("serves", 3)
        assert len(set(one.workers)) == 3
        for connection in connections:
            connection.close()
        one.signal(signal.SIGTERM)
        assert await one.ends() == 0


async def test_metrics_are_the_sum_of_all_workers_also_of_one_that_has_died(
    home: Home, redis: RedisServer, unused_tcp_port: int
) -> None:
    def healths(told: str) -> float:
        found = re.search(r'request_duration_seconds_count\{method="GET",route="/healthz",status="200"\} (\S+)', told)
        return float(found[1]) if found else 0.0

    async with workers(home, redis, METRICS_PORT=str(unused_tcp_port)) as one, httpx.AsyncClient() as client:
        metrics = f"http://127.0.0.1:{unused_tcp_port}/metrics"
        for _ in range(30):
            connection = await Connection.to(one.port)
            assert await connection.answers()
            connection.close()
        assert healths((await client.get(metrics)).text) == 30
        os.kill(one.workers[0], signal.SIGKILL)
        await one.logs("serves", 3)
        told = (await client.get(metrics)).text
        assert healths(told) == 30
        assert "wattgate_num_clients 0.0" in told


async def test_a_signal_to_all_processes_at_once_is_one_signal(home: Home, redis: RedisServer) -> None:
    async with workers(home, redis) as one, home.upload(one.url) as upload:
        for pid in one.workers:  # as service managers and terminals do
            os.kill(pid, signal.SIGTERM)
        one.signal(signal.SIGTERM)
        await one.logs("draining", 2)
        answer = await upload.finish()
        assert answer.status_code == 200
        assert await one.ends() == 0
        assert one.log.count("drained") == 2


async def test_a_second_signal_skips_the_rest_in_all_workers(home: Home, redis: RedisServer) -> None:
    async with workers(home, redis, DRAIN_PAUSE="10") as one:
        one.signal(signal.SIGTERM)
        await one.logs("draining", 2)
        one.signal(signal.SIGTERM)
        assert await one.ends() == 1
        assert one.log.count("the rest of the drain is skipped") == 2
        assert "Traceback" not in one.log


async def test_a_worker_that_is_told_to_end_drains_and_is_replaced(home: Home, redis: RedisServer) -> None:
    async with workers(home, redis) as one:
        os.kill(one.workers[0], signal.SIGTERM)
        await one.logs(f"worker {one.workers[0]} has ended (exit code 0)")
        assert "drained" in one.log
        await one.logs("serves", 3)


async def test_workers_whose_launcher_dies_drain(home: Home, redis: RedisServer) -> None:
    async with workers(home, redis) as one:
        one.signal(signal.SIGKILL)
        await one.logs("drained", 2)
        async with asyncio.timeout(20):
            while not await refused(one.port):  # noqa: ASYNC110
                await asyncio.sleep(0.02)


async def test_a_worker_that_hangs_is_killed(home: Home, redis: RedisServer) -> None:
    async with workers(home, redis, DRAIN_LIMIT="1") as one:
        os.kill(one.workers[0], signal.SIGSTOP)
        one.signal(signal.SIGTERM)
        assert await one.ends() == 1
        assert f"worker {one.workers[0]} did not end in time and is killed" in one.log


def test_workers_that_cannot_start_end_the_gateway(tmp_path: Path) -> None:
    script = (
        "from wattgate.app.server.launcher import launch; from wattgate.app.settings import Settings; import logging;"
    )
    script += "logging.basicConfig(); raise SystemExit(launch(Settings(), 2))"
    done = subprocess.run(  # not by the command, which would look at the database first
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "WATTGATE_PORT": "0"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "could not start (exit code 3): the gateway ends" in done.stderr


def test_several_workers_without_redis_are_refused_in_a_sentence(tmp_path: Path) -> None:
    done = wattgate("serve", "--workers", "2", folder=tmp_path)
    assert done.returncode == 2
    assert "Several workers need Redis" in done.stderr


async def test_a_broker_meets_one_worker_only(home: Home, redis: RedisServer) -> None:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(broker())
        displays = workers(home, redis, MQTT_URL=server.url, MQTT_APPLICATION_ID=home.tenant.application_id)
        one = await stack.enter_async_context(displays)
        await one.logs("messages of displays come from the MQTT broker")
        os.kill(one.workers[0], signal.SIGKILL)
        os.kill(one.workers[1], signal.SIGKILL)
        await one.logs("serves", 4)
        await one.logs("messages of displays come from the MQTT broker", 2)
        assert server.subscribed == {"wattgate"}
