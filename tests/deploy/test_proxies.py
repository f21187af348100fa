"""The example proxies in front of two real gateways: sockets, event streams, uploads, addresses, and drains.

Two other servers show what the proxies send, and what they repeat.
"""

import asyncio
import json
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from websockets.asyncio.client import connect

from tests.deploy.files import DEPLOY
from tests.faults.gateways import GatewayProcess
from tests.support.certificates import issue_certificates
from tests.support.house import CALLER_BUDGET, Tenant, settle_all
from tests.support.proxies import EXAMPLES, Proxy, running_proxy
from tests.support.redis_server import redis_server
from tests.support.socket import Socket
from wattgate.app.server.factory import build_gateway
from wattgate.app.settings import Settings

CHOSEN_ADDRESS = {"X-Forwarded-For": "203.0.113.9", "Forwarded": "for=203.0.113.9"}
"""Headers with which a client claims another address."""

READINGS = "subscription ($ids: [ID!]!) { readings(resourceIds: $ids) { value } }"
ADDRESS_LOGINS = 5
METRICS_PATHS = ("/metrics", "/metrics/", "//metrics", "/%6detrics", "/metrics%2F", "/%2Fmetrics", "/x/../metrics")
"""Spellings of the path that the proxies do not pass on."""

STREAMED_READINGS = 30_000
"""Lines of a stream to /readings, of more than 1 MB in all: nginx refuses larger bodies by default."""


@dataclass
class Site:
    """Two gateways on one database, and each proxy in front of them."""

    gateways: tuple[GatewayProcess, GatewayProcess]
    tenant: Tenant
    proxies: dict[str, Proxy]


@pytest.fixture(scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    certificates = issue_certificates(folder)
    async with AsyncExitStack() as stack:
        url = f"sqlite:///{folder / 'site.sqlite3'}"
        gateway = build_gateway(Settings(_env_file=None, database_url=url))
        stack.push_async_callback(gateway.database.close)
        (tenant,) = await settle_all(gateway, ["one"], is_shared=True)
        redis = await stack.enter_async_context(redis_server(folder))
        settings = {
            "DATABASE_URL": url,
            "REDIS_URL": redis.url,
            "TRUSTED_PROXIES": '["127.0.0.1/32"]',
            "ADDRESS_LOGINS": str(ADDRESS_LOGINS),
            "CALLER_BUDGET": str(CALLER_BUDGET),
            "DRAIN_SECONDS": "2",
        }
        first, second = (GatewayProcess(name, folder, settings) for name in ("one", "two"))
        for process in (first, second):
            stack.push_async_callback(process.kill)
            await process.start()
        ports = [first.port, second.port]
        proxies = {
            name: await stack.enter_async_context(running_proxy(name, folder / name, ports, certificates))
            for name in EXAMPLES
        }
        yield Site((first, second), tenant, proxies)


@pytest.fixture(params=list(EXAMPLES))
async def proxy(request: pytest.FixtureRequest, site: Site) -> Proxy:
    return site.proxies[request.param]


def client(proxy: Proxy, local_address: str = "127.0.0.1", **options: Any) -> httpx.AsyncClient:
    transport = httpx.AsyncHTTPTransport(verify=proxy.tls_context, local_address=local_address)
    return httpx.AsyncClient(base_url=proxy.url, transport=transport, timeout=30, **options)


async def open_socket(proxy: Proxy, stack: AsyncExitStack, tenant: Tenant) -> Socket:
    """Return a WebSocket through the proxy that is logged in."""
    connection = await stack.enter_async_context(
        connect(
            proxy.url.replace("https", "wss", 1) + "/graphql",
            ssl=proxy.tls_context,
            subprotocols=["graphql-transport-ws"],  # type: ignore[list-item]
        )
    )
    opened = Socket(connection)
    await opened.init(**tenant.headers["account"])
    return opened


async def record(proxy: Proxy, tenant: Tenant, resource_id: str, value: float) -> None:
    """Record a reading through the proxy, at an instant that no reading has."""
    body = {"field": "POWER", "readings": [{"at": datetime.now(UTC).isoformat(), "value": value}]}
    async with client(proxy, headers=tenant.headers["account"]) as http:
        response = await http.post(f"/api/v0-1/resource/{resource_id}/readings", json=body)
        assert response.status_code == 200, response.text


async def test_program_accepts_the_file(proxy: Proxy) -> None:
    status, output = await proxy.check()
    assert status == 0, output


async def test_live_reading_arrives_at_a_socket(site: Site, proxy: Proxy) -> None:
    resource_id = await site.tenant.add_resource()
    async with AsyncExitStack() as stack:
        display = await open_socket(proxy, stack, site.tenant)
        await display.subscribe(READINGS, ids=[resource_id])
        recording = asyncio.create_task(record_until_cancelled(proxy, site.tenant, resource_id))
        try:
            assert await display.values(1) == [43]
        finally:
            recording.cancel()


async def test_event_stream_is_not_buffered(site: Site, proxy: Proxy) -> None:
    resource_id = await site.tenant.add_resource()
    headers = {**site.tenant.headers["account"], "Accept": "text/event-stream"}
    body = {"query": READINGS, "variables": {"ids": [resource_id]}}
    async with client(proxy, headers=headers) as http, http.stream("POST", "/graphql", json=body) as response:
        assert response.status_code == 200
        chunks = response.aiter_raw()
        received = b""
        recording = asyncio.create_task(record_until_cancelled(proxy, site.tenant, resource_id))
        try:
            async with asyncio.timeout(60):
                while b'"value"' not in received:
                    received += await anext(chunks)
        finally:
            recording.cancel()


async def record_until_cancelled(proxy: Proxy, tenant: Tenant, resource_id: str) -> None:
    """Record readings again and again: a subscription at the other gateway is not open at once."""
    while True:
        await record(proxy, tenant, resource_id, 43)
        await asyncio.sleep(0.1)


async def test_stream_of_readings_is_not_limited(site: Site, proxy: Proxy) -> None:
    resource_id = await site.tenant.add_resource()
    start = datetime(2026, 1, 1, tzinfo=UTC)

    async def lines() -> AsyncIterator[bytes]:
        for first in range(0, STREAMED_READINGS, 1000):
            rows = [
                {
                    "resourceId": resource_id,
                    "at": (start + timedelta(seconds=n)).isoformat(),
                    "field": "POWER",
                    "value": n,
                }
                for n in range(first, first + 1000)
            ]
            yield b"".join(json.dumps(row).encode() + b"\n" for row in rows)

    headers = {**site.tenant.headers["account"], "Content-Type": "application/x-ndjson"}
    async with client(proxy, headers=headers) as http:
        response = await http.post("/api/v0-1/readings", content=lines())
        assert (response.status_code, response.json()["recorded"]) == (200, STREAMED_READINGS), response.text


async def test_limits_apply_to_the_address_of_the_client(site: Site, proxy: Proxy) -> None:
    """One address uses up its log-ins. Another one behind the same proxy still can log in."""
    number = 2 + list(site.proxies.values()).index(proxy)

    async def log_in(http: httpx.AsyncClient) -> int:
        login = {"username": f"{uuid4().hex}@example.com", "password": "x", "applicationId": site.tenant.application_id}
        return (await http.post("/api/v0-1/auth", json=login, headers={"X-Forwarded-For": "203.0.113.9"})).status_code

    async with client(proxy, local_address=f"127.0.0.{number}") as guesser:
        statuses = [await log_in(guesser) for _ in range(ADDRESS_LOGINS + 2)]
    assert statuses[-1] == 429, statuses
    async with client(proxy, local_address=f"127.0.0.{number + 10}") as other:
        assert await log_in(other) == statuses[0] != 429


@dataclass
class Breaking:
    """Two servers behind a proxy. They answer GET, and close the connection of any other request."""

    proxy: Proxy
    requests: list[tuple[int, str]]
    """The port of the server and the head of each request that a server received."""

    async def send(self, method: str) -> list[str]:
        """Send a request through the proxy. Return the heads that the servers received."""
        path = f"/{uuid4().hex}"
        async with client(self.proxy) as http:
            await http.request(method, path, headers=CHOSEN_ADDRESS)
        return [head for _, head in self.requests if f" {path} " in head]

    async def wait_until_both_serve(self) -> None:
        """Wait until the proxy uses both servers. It avoids a server for some time after a failure."""
        self.requests.clear()
        async with asyncio.timeout(60):
            await asyncio.gather(*(self.send("GET") for _ in range(2)))
            while len({port for port, _ in self.requests}) < 2:
                await asyncio.sleep(0.1)
                await asyncio.gather(*(self.send("GET") for _ in range(2)))


@pytest.fixture(params=list(EXAMPLES))
async def breaking(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Breaking]:
    requests: list[tuple[int, str]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):  # HAProxy ends the connection of a health check
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            if "/readyz" not in head:
                requests.append((writer.get_extra_info("sockname")[1], head))
            if head.startswith("GET "):
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                await writer.drain()
        writer.close()

    async with AsyncExitStack() as stack:
        servers = [await asyncio.start_server(serve, "127.0.0.1", 0) for _ in range(2)]
        for server in servers:
            stack.callback(server.close)
        ports = [server.sockets[0].getsockname()[1] for server in servers]
        certificates = issue_certificates(tmp_path)
        proxy = await stack.enter_async_context(running_proxy(request.param, tmp_path / "proxy", ports, certificates))
        yield Breaking(proxy, requests)


@pytest.mark.long("waits for the times of each proxy; the headers and streams of proxies stay in the short form")
@pytest.mark.every_case("each program has a rule of its own about what it repeats")
async def test_proxy_repeats_no_change_that_a_gateway_may_have_received(breaking: Breaking) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        await breaking.wait_until_both_serve()
        assert len(await breaking.send(method)) == 1, method


@pytest.mark.every_case("each program has a rule of its own about forwarded addresses")
async def test_client_at_a_trusted_address_cannot_choose_its_address(breaking: Breaking) -> None:
    await breaking.wait_until_both_serve()
    (head,) = await breaking.send("GET")
    named = re.findall(r"^x-forwarded-for: *(.*?)\r?$", head, re.MULTILINE | re.IGNORECASE)
    assert named == ["127.0.0.1"]
    assert "203.0.113.9" not in head


async def test_gateway_knows_the_scheme_and_serves_no_metrics(proxy: Proxy) -> None:
    async with client(proxy) as http:
        assert "Strict-Transport-Security" in (await http.get("/display")).headers
        for path in METRICS_PATHS:
            url = httpx.URL(proxy.url).copy_with(raw_path=path.encode())
            answer = await http.send(httpx.Request("GET", url))
            assert answer.status_code in (400, 404), path
            assert "wattgate_" not in answer.text, path


async def test_encoded_slash_stays_within_its_segment(site: Site, proxy: Proxy) -> None:
    async with client(proxy, headers=site.tenant.headers["application"]) as http:
        url = httpx.URL(proxy.url).copy_with(raw_path=b"/api/v0-1/resource/a%2Fb")
        answer = await http.send(httpx.Request("GET", url, headers=http.headers))
        assert (answer.status_code, answer.json()["error"]) == (404, "No resource with ID a/b.")


async def test_plain_http_is_refused_and_not_redirected(proxy: Proxy) -> None:
    """A redirect comes too late: the client has sent its credentials. Clients that follow one never notice."""
    for method, path in (("POST", "/graphql"), ("GET", "/api/v0-1/account"), ("GET", "/display"), ("GET", "/graphql")):
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(f"{method} {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Basic eDp5\r\n\r\n".encode())
        with suppress(ConnectionResetError):
            answer = b""
            answer = await asyncio.wait_for(reader.read(-1), 60)
        writer.close()
        assert answer == b"" or answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.0 400 ")), answer
        assert b"\nlocation:" not in answer.lower()


OLD_SUITES = ":".join(
    f"{exchange}{suite}"
    for exchange in ("", "ECDHE-RSA-", "ECDHE-ECDSA-")
    for suite in ("AES128-SHA", "AES256-SHA", "AES128-SHA256")
)
"""Suites of TLS 1.2 without authenticated encryption. OWASP ASVS 12.1.2 and BSI TR-02102-2 advise against them."""


async def test_only_current_versions_and_suites_of_tls_are_accepted(proxy: Proxy) -> None:
    async def handshake(least: ssl.TLSVersion, most: ssl.TLSVersion, suites: str = "DEFAULT") -> tuple[str, str]:
        context = proxy.tls_context
        context.minimum_version, context.maximum_version = least, most
        context.set_ciphers(f"{suites}:@SECLEVEL=0")
        _, writer = await asyncio.open_connection("127.0.0.1", proxy.port, ssl=context)
        writer.close()
        tls = writer.get_extra_info("ssl_object")
        return tls.version(), tls.cipher()[0]

    assert (await handshake(ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_3))[0] == "TLSv1.3"
    version, suite = await handshake(ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2)
    assert (version, suite[:6]) == ("TLSv1.2", "ECDHE-")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await handshake(ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2, OLD_SUITES)
    with pytest.warns(DeprecationWarning, match="TLSv1"), pytest.raises((ssl.SSLError, ConnectionError)):
        await handshake(ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1)


def test_examples_listen_on_no_port_without_tls() -> None:
    """Caddy would open port 80 for redirects if nothing forbade it."""
    texts = {name: (DEPLOY / "proxies" / example.file).read_text() for name, example in EXAMPLES.items()}
    assert re.findall(r"^\s*listen .*", texts["nginx"], re.MULTILINE) == ["    listen 443 ssl;"]
    assert all(" ssl " in line for line in re.findall(r"^\s*bind .*", texts["HAProxy"], re.MULTILINE))
    assert re.findall(r"^\S+(?= \{$)", texts["Caddy"], re.MULTILINE) == ["https://energy.example"]
    assert "\tauto_https disable_redirects" in texts["Caddy"]


async def test_response_to_each_method_is_that_of_the_gateway(site: Site, proxy: Proxy) -> None:
    """nginx has a location of its own for PUT and DELETE."""
    path, body = f"/api/v0-1/resource/{uuid4()}", {"name": "x" * 100_000}
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        async with client(proxy, headers=site.tenant.headers["account"]) as http:
            through = await http.request(method, path, json=body)
            direct = await http.request(method, f"{site.gateways[1].url}{path}", json=body)
        assert (through.status_code, through.json().keys()) == (direct.status_code, direct.json().keys())
        assert through.status_code in {400, 404, 405}


@pytest.mark.long("drains a gateway behind each proxy; the other tests of the proxies stay in the short form")
async def test_drain_of_a_gateway_fails_no_request(site: Site, proxy: Proxy) -> None:
    statuses: list[int] = []
    is_draining = True

    async def send_requests() -> None:
        async with client(proxy) as http:
            while is_draining:
                statuses.append((await http.get("/healthz")).status_code)

    async with AsyncExitStack() as stack:
        await site.gateways[0].start()
        while True:  # the proxy may not know yet that the gateway is back
            displays = [await open_socket(proxy, stack, site.tenant) for _ in range(2)]
            if await open_connections(site.gateways[0]):
                break
            for display in displays:
                await display.connection.close()
        sender = asyncio.create_task(send_requests())
        site.gateways[0].terminate()
        assert await asyncio.wait_for(site.gateways[0].wait_until_ended(), 60) == 0
        is_draining = False
        await sender
        assert set(statuses) == {200}
        codes = []
        for display in displays:
            if display.connection.close_code is None:
                assert await display.heard() == []  # it is at the other gateway
            codes.append(display.connection.close_code)
        assert 4503 in codes
        assert set(codes) <= {4503, None}
        reopened = await open_socket(proxy, stack, site.tenant)
        assert await reopened.heard() == []
    await site.gateways[0].start()


async def open_connections(gateway: GatewayProcess) -> float:
    """Return the number of WebSockets and event streams of a gateway."""
    async with httpx.AsyncClient() as http:
        lines = (await http.get(f"{gateway.url}/metrics")).text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith("wattgate_num_clients"))
