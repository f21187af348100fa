"""How a gateway goes down: nobody new, a pause, sockets, requests, the end. Real processes and real signals."""

import asyncio
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
from tests.support.house import Tenant, settle
from tests.support.processes import gateway
from tests.support.schema import bring_up
from tests.support.servers import serving
from wattgate.app.server.drain import Drain, Readiness
from wattgate.app.server.factory import assemble, create_app
from wattgate.app.server.serving import Server, address, config, listeners
from wattgate.app.settings import Settings

LINE = b'{"resourceId": "%s", "at": "2026-11-01T00:00:00Z", "value": 1, "field": "POWER"}\n'
AT_ONCE = {"DRAIN_PAUSE": "0", "DRAIN_SECONDS": "0"}


@dataclass
class Home:
    """A folder with a database, and whose resource takes readings there."""

    folder: Path
    tenant: Tenant
    resource_id: str

    @asynccontextmanager
    async def upload(self, url: str) -> AsyncIterator["Upload"]:
        """A request that runs until its caller lets it end; its first part has arrived."""
        upload = Upload()
        async with httpx.AsyncClient(base_url=url, timeout=60) as client:
            headers = {**self.tenant.headers["application"], "Content-Type": "application/x-ndjson"}
            content = upload.content(LINE % self.resource_id.encode())
            task = asyncio.create_task(client.post("/api/v0-1/readings", content=content, headers=headers))
            upload.answer = task
            try:
                await upload.begun.wait()
                assert (await client.get("/healthz")).status_code == 200  # so that the connection before is accepted
                yield upload
            finally:
                upload.end.set()
                await asyncio.gather(task, return_exceptions=True)


@dataclass
class Upload:
    """A request whose body comes in two parts."""

    begun: asyncio.Event = field(default_factory=asyncio.Event)
    end: asyncio.Event = field(default_factory=asyncio.Event)
    answer: "asyncio.Task[httpx.Response] | None" = None

    async def content(self, line: bytes) -> AsyncIterator[bytes]:
        yield line
        self.begun.set()
        await self.end.wait()
        yield line

    async def finish(self) -> httpx.Response:
        assert self.answer is not None
        self.end.set()
        return await self.answer


@pytest.fixture
async def home(tmp_path: Path) -> Home:
    made = assemble(Settings(_env_file=None, database_url=f"sqlite:///{tmp_path / 'wattgate.sqlite3'}"))
    await bring_up(made.database)
    try:
        tenant = await settle(made, "one")
        return Home(tmp_path, tenant, await tenant.add_resource())
    finally:
        await made.database.close()


async def refused(port: int) -> bool:
    """Whether nobody listens on a port; not yet so where the listener goes while a connection waits to be accepted."""
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:
        return False
    writer.close()
    return False


async def test_a_gateway_that_is_to_end_is_not_ready_and_serves_all_the_same(home: Home) -> None:
    async with gateway(folder=home.folder, DRAIN_PAUSE="10") as one, httpx.AsyncClient(base_url=one.url) as client:
        one.signal(signal.SIGTERM)
        await one.answers("/readyz", 503)
        assert (await client.get("/readyz")).json() == {"status": "draining"}
        assert (await client.get("/healthz")).status_code == 200
        assert not await refused(one.port)
        one.signal(signal.SIGTERM)


async def test_requests_that_run_are_answered_before_the_end(home: Home) -> None:
    async with gateway(folder=home.folder, **AT_ONCE) as one, home.upload(one.url) as upload:
        one.signal(signal.SIGTERM)
        async with asyncio.timeout(20):
            while not await refused(one.port):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        answer = await upload.finish()
        assert (answer.status_code, answer.json()["status"]) == (200, "OK"), answer.text
        assert await one.ends() == 0
        assert "drained" in one.log


async def test_a_connection_that_waits_for_a_further_request_holds_nothing_up(home: Home) -> None:
    async with gateway(folder=home.folder, **AT_ONCE) as one, httpx.AsyncClient(base_url=one.url) as client:
        assert (await client.get("/healthz")).status_code == 200
        one.signal(signal.SIGTERM)
        assert await one.ends() == 0
        assert "cut short" not in one.log


async def test_a_request_that_does_not_end_is_cut_at_the_limit(home: Home) -> None:
    async with gateway(folder=home.folder, DRAIN_LIMIT="1", **AT_ONCE) as one, home.upload(one.url) as upload:
        one.signal(signal.SIGTERM)
        assert await one.ends() == 0
        with pytest.raises(httpx.TransportError):
            await upload.finish()


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
async def test_a_second_signal_skips_the_rest(home: Home, sent: signal.Signals) -> None:
    async with gateway(folder=home.folder, DRAIN_PAUSE="10") as one, home.upload(one.url):
        one.signal(sent)
        await one.answers("/readyz", 503)
        one.signal(sent)
        assert await one.ends() == 1
        assert "the rest of the drain is skipped" in one.log
        assert "Traceback" not in one.log


async def test_a_socket_is_closed_with_a_code_after_which_clients_come_back(home: Home) -> None:
    async with gateway(folder=home.folder, **AT_ONCE) as one:
        url = one.url.replace("http", "ws") + "/graphql"
        headers = home.tenant.headers["account"]
        async with connect(url, subprotocols=["graphql-transport-ws"], additional_headers=headers) as display:  # type: ignore[list-item]
            await display.send('{"type": "connection_init"}')
            assert "connection_ack" in str(await display.recv())
            one.signal(signal.SIGTERM)
            with pytest.raises(ConnectionClosed) as closed:
                await display.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4503
        assert await one.ends() == 0


def test_a_port_that_is_taken_is_told_in_a_sentence(tmp_path: Path) -> None:
    assert wattgate("db", "upgrade", folder=tmp_path).returncode == 0
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for settings in ({"PORT": port}, {"PORT": "0", "METRICS_PORT": port}):
            done = wattgate("serve", folder=tmp_path, **settings)
            assert done.returncode == 1
            assert f"port {port}: Address already in use" in done.stderr
            assert "Traceback" not in done.stderr


def test_all_addresses_of_a_host_are_listened_on_at_one_port() -> None:
    made = listeners("localhost", 0)
    assert len({one.getsockname()[1] for one in made}) == 1
    assert address(made).startswith("http://")
    for one in made:
        one.close()


@dataclass
class Open:
    """Sockets that note what was so when they were to be closed."""

    drain_with: Any
    count: int = 3
    seen: list[Any] = field(default_factory=list)

    async def drain(self, seconds: float) -> None:
        self.seen.append(seconds)
        await self.drain_with(self)


@asynccontextmanager
async def draining(home: Home, sockets: Open, drain: Drain) -> AsyncIterator[tuple[str, Server]]:
    """A server of an application with such sockets, which drains when the context ends."""
    application = create_app(Settings(_env_file=None, database_url=f"sqlite:///{home.folder / 'wattgate.sqlite3'}"))
    application.state.gateway = SimpleNamespace(sockets=sockets, readiness=Readiness())
    bound = listeners("127.0.0.1", 0)
    server = Server(config(application), drain)
    task = asyncio.create_task(server.serve(bound))
    while not server.started:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    try:
        yield address(bound), server
    finally:
        server.should_exit = True
        await asyncio.wait_for(task, 20)


async def test_sockets_are_closed_when_nobody_new_can_come(home: Home) -> None:
    async def look(sockets: Open) -> None:
        sockets.seen.append(await refused(port))

    sockets = Open(look)
    async with draining(home, sockets, Drain(sockets=1.5)) as (url, _):
        port = int(url.rpartition(":")[2])
        assert not await refused(port)
    assert sockets.seen == [1.5, True]


async def test_sockets_that_fail_to_close_do_not_hinder_the_end(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    async def fail(sockets: Open) -> None:
        raise RuntimeError("a defect")

    async with draining(home, Open(fail), Drain()):
        pass
    assert "closing sockets failed" in caplog.text


async def test_sockets_that_do_not_go_are_cut_before_the_limit(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    async def hang(sockets: Open) -> None:
        await asyncio.Event().wait()

    async with draining(home, Open(hang), Drain(limit=3)):
        pass
    assert "closing sockets took too long and was cut short" in caplog.text
    assert "the end of requests" not in caplog.text


async def test_tests_serve_as_the_command_does(home: Home) -> None:
    application = create_app(Settings(_env_file=None, database_url=f"sqlite:///{home.folder / 'wattgate.sqlite3'}"))
    async with serving(application) as url, httpx.AsyncClient(base_url=url) as client:
        assert (await client.get("/readyz")).status_code == 200
    assert config(application).ws_max_size == 65536
    assert not config(application).ws_per_message_deflate
