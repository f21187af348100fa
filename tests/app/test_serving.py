"""The drain of a gateway, with real processes and signals: readiness, pause, connections, requests and exit."""

import asyncio
import logging
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from tests.app.test_cli import wattgate
from tests.support.house import Tenant, settle_all
from tests.support.processes import gateway
from tests.support.servers import serving
from wattgate.app.server.edge.drain import DrainTimeouts, Readiness
from wattgate.app.server.edge.serving import DrainingServer, bind_sockets, bound_url, build_uvicorn_config
from wattgate.app.server.factory import build_gateway, create_app
from wattgate.app.settings import Settings

LINE = b'{"resourceId": "%s", "at": "2026-11-01T00:00:00Z", "value": 1, "field": "POWER"}\n'
NO_DRAIN_DELAY = {"DRAIN_PAUSE": "0", "DRAIN_SECONDS": "0"}


@dataclass
class Home:
    """A folder with a database, and a tenant with a resource in it."""

    folder: Path
    tenant: Tenant
    resource_id: str

    @asynccontextmanager
    async def upload(self, url: str) -> AsyncIterator["Upload"]:
        """Start a request that runs until the test finishes it, and wait until its first part has arrived."""
        upload = Upload()
        async with httpx.AsyncClient(base_url=url, timeout=60) as client:
            headers = {**self.tenant.headers["application"], "Content-Type": "application/x-ndjson"}
            content = upload.content(LINE % self.resource_id.encode())
            response_task = asyncio.create_task(client.post("/api/v0-1/readings", content=content, headers=headers))
            upload.answer = response_task
            try:
                await upload.first_part_sent.wait()
                assert (
                    await client.get("/healthz")
                ).status_code == 200  # then the connection of the upload was accepted, too
                yield upload
            finally:
                upload.may_finish.set()
                await asyncio.gather(response_task, return_exceptions=True)


@dataclass
class Upload:
    """A request whose body is sent in two parts."""

    first_part_sent: asyncio.Event = field(default_factory=asyncio.Event)
    may_finish: asyncio.Event = field(default_factory=asyncio.Event)
    answer: "asyncio.Task[httpx.Response] | None" = None

    async def content(self, line: bytes) -> AsyncIterator[bytes]:
        yield line
        self.first_part_sent.set()
        await self.may_finish.wait()
        yield line

    async def finish(self) -> httpx.Response:
        assert self.answer is not None
        self.may_finish.set()
        return await self.answer


@pytest.fixture
async def home(tmp_path: Path) -> Home:
    """A folder with a copy of a database with a tenant. Tests that share a Redis must not use it: ids are the same."""
    gateway = build_gateway(Settings(_env_file=None, database_url=f"sqlite:///{tmp_path / 'wattgate.sqlite3'}"))
    try:
        (tenant,) = await settle_all(gateway, ["one"], is_shared=True)
        return Home(tmp_path, tenant, await tenant.add_resource())
    finally:
        await gateway.database.close()


async def is_refused(port: int) -> bool:
    """Return whether no process listens on a port.

    A reset means that the listener was closed while the connection waited to be accepted: return False, so that the
    caller tries again.
    """
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:
        return False
    writer.close()
    return False


async def test_draining_gateway_is_not_ready_but_serves(home: Home) -> None:
    async with (
        gateway(folder=home.folder, DRAIN_PAUSE="10") as process,
        httpx.AsyncClient(base_url=process.url) as client,
    ):
        process.signal(signal.SIGTERM)
        await process.answers("/readyz", 503)
        assert (await client.get("/readyz")).json() == {"status": "draining"}
        assert (await client.get("/healthz")).status_code == 200
        assert not await is_refused(process.port)
        process.signal(signal.SIGTERM)


async def test_running_requests_are_answered_before_exit(home: Home) -> None:
    async with gateway(folder=home.folder, **NO_DRAIN_DELAY) as process, home.upload(process.url) as upload:
        process.signal(signal.SIGTERM)
        async with asyncio.timeout(60):
            while not await is_refused(process.port):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        answer = await upload.finish()
        assert (answer.status_code, answer.json()["status"]) == (200, "OK"), answer.text
        assert await process.ends() == 0
        assert "Drain finished" in process.log


@pytest.mark.long("starts and stops a gateway process; the drain of requests and sockets stays in the short form")
async def test_idle_keep_alive_connection_does_not_delay_exit(home: Home) -> None:
    async with (
        gateway(folder=home.folder, **NO_DRAIN_DELAY) as process,
        httpx.AsyncClient(base_url=process.url) as client,
    ):
        assert (await client.get("/healthz")).status_code == 200
        process.signal(signal.SIGTERM)
        assert await process.ends() == 0
        assert "exceeded its time limit" not in process.log


@pytest.mark.long("starts and stops a gateway process; the drain of requests and sockets stays in the short form")
async def test_unfinished_request_is_cut_at_drain_limit(home: Home) -> None:
    async with (
        gateway(folder=home.folder, DRAIN_LIMIT="1", **NO_DRAIN_DELAY) as process,
        home.upload(process.url) as upload,
    ):
        process.signal(signal.SIGTERM)
        assert await process.ends() == 0
        (outcome,) = await asyncio.gather(upload.finish(), return_exceptions=True)
        assert isinstance(outcome, httpx.TransportError), (outcome, process.log)


@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT])
async def test_second_signal_skips_drain(home: Home, signal_number: signal.Signals) -> None:
    async with gateway(folder=home.folder, DRAIN_PAUSE="10") as process, home.upload(process.url):
        process.signal(signal_number)
        await process.answers("/readyz", 503)
        process.signal(signal_number)
        assert await process.ends() == 1
        assert "the rest of the drain is skipped" in process.log
        assert "Traceback" not in process.log


async def test_websocket_is_closed_with_reconnect_code(home: Home) -> None:
    async with gateway(folder=home.folder, **NO_DRAIN_DELAY) as process:
        url = process.url.replace("http", "ws") + "/graphql"
        headers = home.tenant.headers["account"]
        async with connect(url, subprotocols=["graphql-transport-ws"], additional_headers=headers) as display:  # type: ignore[list-item]
            await display.send('{"type": "connection_init"}')
            assert "connection_ack" in str(await display.recv())
            process.signal(signal.SIGTERM)
            with pytest.raises(ConnectionClosed) as closed:
                await display.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4503
        assert await process.ends() == 0


@pytest.mark.long("starts and stops a gateway process; the drain of requests and sockets stays in the short form")
def test_port_in_use_is_reported(tmp_path: Path) -> None:
    assert wattgate("db", "upgrade", folder=tmp_path).returncode == 0
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        for command, settings in (
            ("serve", {"PORT": port}),
            ("serve", {"PORT": "0", "METRICS_PORT": port}),
            ("demo", {"PORT": port}),
        ):
            result = wattgate(command, folder=tmp_path, **settings)
            assert result.returncode == 1
            assert f"port {port}: Address already in use" in result.stderr
            name = "METRICS_PORT" if "METRICS_PORT" in settings else "PORT"
            assert f"set WATTGATE_{name} to a free port" in " ".join(result.stderr.split())
            assert "Traceback" not in result.stderr
    assert list((tmp_path / ".wattgate").glob("*.sqlite3")) == []  # nothing was prepared


def test_all_addresses_of_host_are_bound_to_one_port() -> None:
    sockets = bind_sockets("localhost", 0)
    assert len({bound_socket.getsockname()[1] for bound_socket in sockets}) == 1
    assert bound_url(sockets).startswith("http://")
    for bound_socket in sockets:
        bound_socket.close()


@dataclass
class FakeConnections:
    """A substitute for the connection registry, whose drain records its arguments and runs a function of the test."""

    drain_with: Any
    count: int = 3
    seen: list[Any] = field(default_factory=list)

    async def drain(self, seconds: float) -> None:
        self.seen.append(seconds)
        await self.drain_with(self)


@asynccontextmanager
async def draining(
    home: Home, connections: FakeConnections, drain: DrainTimeouts
) -> AsyncIterator[tuple[str, DrainingServer]]:
    """Serve an application with these connections, and drain it when the context exits."""
    application = create_app(Settings(_env_file=None, database_url=f"sqlite:///{home.folder / 'wattgate.sqlite3'}"))
    application.state.gateway = SimpleNamespace(connections=connections, readiness=Readiness())
    listeners = bind_sockets("127.0.0.1", 0)
    server = DrainingServer(build_uvicorn_config(application), drain)
    task = asyncio.create_task(server.serve(listeners))
    while not server.started:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    try:
        yield bound_url(listeners), server
    finally:
        server.should_exit = True
        await asyncio.wait_for(task, 60)


@pytest.mark.long("starts and stops a gateway process; the drain of requests and sockets stays in the short form")
async def test_websockets_are_closed_after_listeners(home: Home) -> None:
    async def note_listener_state(connections: FakeConnections) -> None:
        connections.seen.append(await is_refused(port))

    connections = FakeConnections(note_listener_state)
    async with draining(home, connections, DrainTimeouts(close_seconds=1.5)) as (url, _):
        port = int(url.rpartition(":")[2])
        assert not await is_refused(port)
    assert connections.seen == [1.5, True]


async def test_websocket_close_error_does_not_stop_drain(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    async def fail(connections: FakeConnections) -> None:
        raise RuntimeError("a defect")

    async with draining(home, FakeConnections(fail), DrainTimeouts()):
        pass
    assert "Drain step 'close connections' failed" in caplog.text


@pytest.mark.long("starts and stops a gateway process; the drain of requests and sockets stays in the short form")
async def test_hanging_websockets_are_cut_before_drain_limit(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    async def hang(connections: FakeConnections) -> None:
        await asyncio.Event().wait()

    async with draining(home, FakeConnections(hang), DrainTimeouts(total_seconds=3)):
        pass
    assert "Drain step 'close connections' exceeded its time limit and was cancelled" in caplog.text
    assert "finish requests" not in caplog.text


async def test_address_is_logged_when_the_gateway_accepts_connections(caplog: pytest.LogCaptureFixture) -> None:
    connected, accepting = list[str](), asyncio.Event()

    class Connector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.getMessage().startswith("Serving on"):
                socket.create_connection(bound[0].getsockname(), timeout=10).close()
                connected.append(record.getMessage())
                accepting.set()

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await asyncio.sleep(0.2)  # the start of a gateway takes time
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})

    bound = bind_sockets("127.0.0.1", 0)
    url = bound_url(bound)
    server = DrainingServer(build_uvicorn_config(application), DrainTimeouts())
    log, handler = logging.getLogger("wattgate.app.server.edge.serving"), Connector()
    log.addHandler(handler)
    try:
        with caplog.at_level(logging.INFO, log.name):
            running = asyncio.create_task(server.serve(sockets=bound))
            async with asyncio.timeout(60):
                await accepting.wait()
            server.should_exit = True
            await running
    finally:
        log.removeHandler(handler)
    assert connected == [f"Serving on {url}"]


async def test_test_server_uses_uvicorn_config_of_command(home: Home) -> None:
    application = create_app(Settings(_env_file=None, database_url=f"sqlite:///{home.folder / 'wattgate.sqlite3'}"))
    async with serving(application) as url, httpx.AsyncClient(base_url=url) as client:
        assert (await client.get("/readyz")).status_code == 200
    assert build_uvicorn_config(application).ws_max_size == 65536
    assert not build_uvicorn_config(application).ws_per_message_deflate
