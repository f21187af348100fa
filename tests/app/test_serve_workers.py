"""`wattgate serve --workers`: several worker processes on one port that share Redis."""

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.app.test_cli import wattgate
from tests.app.test_serving import NO_DRAIN_DELAY, Home, home, is_refused
from tests.support.processes import Process, gateway
from tests.support.redis_server import RedisServer
from tests.support.servers import broker
from wattgate.app.server.launcher import launch
from wattgate.app.settings import Settings

__all__ = ["home"]

HEALTH_REQUEST = b"GET /healthz HTTP/1.1\r\nHost: gateway\r\n\r\n"


@asynccontextmanager
async def workers(home: Home, redis: RedisServer, count: int = 2, **settings: str) -> AsyncIterator[Process]:
    """Run a gateway with several workers, and wait until all of them serve."""
    arguments = ("--workers", str(count))
    async with gateway(*arguments, folder=home.folder, REDIS_URL=redis.url, **NO_DRAIN_DELAY | settings) as process:
        await process.logs("is serving", count)
        yield process


class Connection:
    """A keep-alive connection for several requests."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def to(cls, port: int) -> "Connection":
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def answers(self) -> bool:
        """Return whether the gateway responds to a request on this connection."""
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            self._writer.write(HEALTH_REQUEST)
            await self._writer.drain()
            return (await self._reader.readuntil(b'{"status":"OK"}')).startswith(b"HTTP/1.1 200")
        return False

    def close(self) -> None:
        self._writer.close()


def count_health_requests(metrics_text: str) -> float:
    match = re.search(
        r'request_duration_seconds_count\{method="GET",route="/healthz",status="200"\} (\S+)', metrics_text
    )
    return float(match[1]) if match else 0.0


@pytest.mark.long("starts a launcher and four workers, one after the other")
@pytest.mark.timeout(300)
async def test_workers_that_end_are_replaced_and_stay_in_the_metrics(
    home: Home, own_redis: RedisServer, unused_tcp_port: int
) -> None:
    """A worker is killed, another one gets SIGTERM, and then all processes do. Each worker takes seconds to start."""
    metrics_url = f"http://127.0.0.1:{unused_tcp_port}/metrics"
    async with workers(home, own_redis, METRICS_PORT=str(unused_tcp_port)) as process, httpx.AsyncClient() as client:
        first, second = process.workers
        connections = [await Connection.to(process.port) for _ in range(60)]
        assert all([await connection.answers() for connection in connections])
        assert count_health_requests((await client.get(metrics_url)).text) == 60

        os.kill(first, signal.SIGKILL)
        await process.logs(f"Worker {first} exited (SIGKILL)")
        alive = [await connection.answers() for connection in connections]
        assert 0 < sum(alive) < 60  # it loses its own connections only
        assert (await client.get(f"{process.url}/readyz")).status_code == 200  # the other worker still serves
        await process.logs("is serving", 3)
        metrics_text = (await client.get(metrics_url)).text
        assert count_health_requests(metrics_text) == 60 + sum(alive)
        assert "wattgate_num_clients 0.0" in metrics_text
        for connection in connections:
            connection.close()

        os.kill(second, signal.SIGTERM)
        await process.logs(f"Worker {second} exited (exit code 0)")
        assert process.log.count("Drain finished") == 1
        await process.logs("is serving", 4)
        assert len(set(process.workers)) == 4

        async with home.upload(process.url) as upload:
            for pid in process.workers[2:]:  # as service managers and terminals do
                os.kill(pid, signal.SIGTERM)
            process.signal(signal.SIGTERM)
            await process.logs("Draining", 3)
            answer = await upload.finish()
            assert answer.status_code == 200
            assert await process.ends() == 0
        assert process.log.count("Drain finished") == 3  # two signals to a worker count as one


@pytest.mark.long("starts a launcher and its workers; the test of workers that end does the same")
async def test_second_signal_skips_drain_in_all_workers(home: Home, own_redis: RedisServer) -> None:
    async with workers(home, own_redis, DRAIN_PAUSE="10") as process:
        process.signal(signal.SIGTERM)
        await process.logs("Draining", 2)
        process.signal(signal.SIGTERM)
        assert await process.ends() == 1
        assert process.log.count("the rest of the drain is skipped") == 2
        assert "Traceback" not in process.log


@pytest.mark.long("starts a launcher and its workers; the test of workers that end does the same")
async def test_hanging_worker_is_killed(home: Home, own_redis: RedisServer) -> None:
    async with workers(home, own_redis, DRAIN_LIMIT="1") as process:
        os.kill(process.workers[0], signal.SIGSTOP)
        process.signal(signal.SIGTERM)
        assert await process.ends() == 1
        assert f"Worker {process.workers[0]} did not exit within the drain limit and is killed" in process.log


@pytest.mark.long("starts a launcher and its workers; the test of workers that end does the same")
def test_launcher_exits_when_workers_cannot_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The launcher is a function of this process, because the command checks the database first."""
    monkeypatch.chdir(tmp_path)
    assert launch(Settings(port=0), 1) == 1
    assert "could not start (exit code 3); the gateway exits" in caplog.text


def test_several_workers_without_redis_are_rejected(tmp_path: Path) -> None:
    result = wattgate("serve", "--workers", "2", folder=tmp_path)
    assert result.returncode == 2
    assert "Several workers need Redis" in result.stderr


@pytest.mark.long("starts a launcher and its workers; the test of workers that end does the same")
async def test_only_one_worker_connects_to_broker_and_all_drain_when_the_launcher_dies(
    home: Home, own_redis: RedisServer
) -> None:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(broker())
        displays = workers(home, own_redis, MQTT_URL=server.url, MQTT_APPLICATION_ID=home.tenant.application_id)
        process = await stack.enter_async_context(displays)
        await process.logs("Receiving messages of displays from the MQTT broker")
        os.kill(process.workers[0], signal.SIGKILL)
        os.kill(process.workers[1], signal.SIGKILL)
        await process.logs("is serving", 4)
        await process.logs("Receiving messages of displays from the MQTT broker", 2)
        assert server.subscribed == {"wattgate"}
        process.signal(signal.SIGKILL)
        await process.logs("Drain finished", 2)
        async with asyncio.timeout(60):
            while not await is_refused(process.port):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
