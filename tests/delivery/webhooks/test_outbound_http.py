"""Outbound HTTP requests over real connections."""

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager, suppress
from ipaddress import ip_address

import h11
import pytest
import trustme

from tests.support.sinks import HERE, Behaviour, Received, Sink, answering, closing, hanging, sink
from tests.support.tls import trusting
from wattgate.delivery.egress import EgressPolicy
from wattgate.delivery.outbound_http import (
    MAX_BODY_BYTES,
    PAUSE_EVENTS,
    OutboundHttpClient,
    OutboundRequestFailed,
    OutboundResponse,
    ResolveHost,
    is_own_address,
)


def resolver(**answers: Sequence[str] | OSError) -> ResolveHost:
    """Return a resolver for these hosts, with the addresses or the error of each. Write _ for a dot."""

    async def resolve(host: str, owner: str) -> Sequence[str]:
        answer = answers[host.replace(".", "_")]
        if isinstance(answer, OSError):
            raise answer
        return answer

    return resolve


async def post(client: OutboundHttpClient, url: str, body: bytes = b"{}") -> OutboundResponse:
    return await client.send("POST", url, headers={"Content-Type": "application/json"}, body=body)


async def request_failure(client: OutboundHttpClient, url: str) -> OutboundRequestFailed:
    with pytest.raises(OutboundRequestFailed) as caught:
        await post(client, url)
    return caught.value


@pytest.fixture
async def receiver() -> AsyncIterator[Sink]:
    async with sink() as receiver:
        yield receiver


async def test_request_arrives_unchanged(receiver: Sink) -> None:
    receiver.behave = answering(201, headers="X-Told: yes\r\n", body=b"thanks")
    client = OutboundHttpClient(HERE, resolve=resolver(hooks_test=["127.0.0.1"]))
    response = await post(client, f"http://hooks.test:{receiver.port}/in?a=b%20c", b'{"one": 1}')
    assert (response.status, response.headers["x-told"], response.body) == (201, "yes", b"thanks")
    (received,) = receiver.received
    assert (received.method, received.target, received.body) == ("POST", "/in?a=b%20c", b'{"one": 1}')
    assert received.headers["host"] == f"hooks.test:{receiver.port}"
    assert received.headers["content-type"] == "application/json"


async def test_dns_rebinding_does_not_change_the_checked_address(receiver: Sink) -> None:
    """The second lookup would return a private address, but each request resolves the name only once."""
    lookups: list[str] = []

    async def resolve(host: str, owner: str) -> Sequence[str]:
        lookups.append(host)
        return ["127.0.0.1"] if len(lookups) == 1 else ["10.0.0.1"]

    client = OutboundHttpClient(HERE, resolve=resolve)
    assert (await post(client, f"http://rebinding.test:{receiver.port}/")).status == 204
    assert lookups == ["rebinding.test"]
    assert (await request_failure(client, f"http://rebinding.test:{receiver.port}/")).type == "refused"
    assert len(receiver.received) == 1


@pytest.mark.parametrize(
    "answers",
    [
        ["127.0.0.1"],
        ["93.184.215.14", "10.0.0.1"],
        ["10.0.0.1", "93.184.215.14"],
        ["93.184.215.14", "::1"],
        ["2606:4700::1", "169.254.169.254"],
        ["::ffff:93.184.215.14"],
        ["64:ff9b::5db8:d70e"],
        ["fe80::1%lo"],
        ["2002:5db8:d70e::1"],
        ["100.64.0.1"],
        ["0.0.0.0"],
    ],
)
async def test_host_with_any_non_public_address_is_blocked(answers: list[str]) -> None:
    failed = await request_failure(OutboundHttpClient(resolve=resolver(hooks_test=answers)), "https://hooks.test/")
    assert (failed.type, failed.code, failed.syscall) == ("refused", "EACCES", "connect")
    assert failed.message == "hooks.test leads to an address that is not public"  # the address itself is not revealed


async def test_destination_is_checked_for_each_request() -> None:
    for url in ("http://example.org/", "https://127.0.0.1/", "https://example.org:25/", "nonsense"):
        assert (await request_failure(OutboundHttpClient(resolve=resolver()), url)).type == "refused"


async def test_blocked_destination_gets_no_connection(receiver: Sink) -> None:
    client = OutboundHttpClient(EgressPolicy(allow_http=True), resolve=resolver(hooks_test=["127.0.0.1"]))
    for host in ("hooks.test", "127.0.0.1"):
        await request_failure(client, f"http://{host}:{receiver.port}/")
    assert receiver.connections == 0


async def test_own_addresses_of_the_machine_are_recognized() -> None:
    assert is_own_address(ip_address("127.0.0.1"))
    assert is_own_address(ip_address("127.0.0.77"))
    assert not is_own_address(ip_address("93.184.215.14"))
    assert not is_own_address(ip_address("2606:4700::1"))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirect_is_returned_and_not_followed(receiver: Sink, status: int) -> None:
    async with sink() as elsewhere:
        receiver.behave = answering(status, headers=f"Location: {elsewhere.url}\r\n")
        assert (await post(OutboundHttpClient(HERE), receiver.url)).status == status
        assert elsewhere.connections == 0


async def test_proxies_of_the_environment_are_not_used(receiver: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    async with sink() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert (await post(OutboundHttpClient(HERE), receiver.url)).status == 204
        assert (proxy.connections, receiver.connections) == (0, 1)


async def test_large_response_is_read_only_up_to_the_limit(receiver: Sink) -> None:
    receiver.behave = receiver.flooding
    response = await post(OutboundHttpClient(HERE), receiver.url)
    assert (response.status, len(response.body)) == (200, MAX_BODY_BYTES)
    assert receiver.sent < 9_000_000  # includes data in system buffers


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nx-long: " + b"a" * 200_000 + b"\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000,
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"HTTP/1.1 two hundred\r\n\r\n",
    ],
    ids=["a long header", "announcements without end", "not HTTP", "no status"],
)
async def test_invalid_http_response_is_a_protocol_error(receiver: Sink, head: bytes) -> None:
    async def behave(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        await writer.drain()
        await asyncio.Event().wait()

    receiver.behave = behave
    failed = await request_failure(OutboundHttpClient(HERE, timeout_seconds=60), receiver.url)
    assert (failed.code, failed.syscall) == ("EPROTO", "read")


@contextmanager
def parsed_events(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Count the events that h11 returns, one number for each step of the event loop in which there are some."""
    counts, loop, ended = [0], asyncio.get_running_loop(), asyncio.Event()
    original = h11.Connection.next_event

    def begin_step() -> None:
        counts.append(0)
        if not ended.is_set():
            loop.call_soon(begin_step)

    def next_event(connection: h11.Connection) -> object:
        counts[-1] += 1
        return original(connection)

    begin_step()
    with monkeypatch.context() as patched:
        patched.setattr(h11.Connection, "next_event", next_event)
        yield counts
    ended.set()


def sending(*parts: bytes) -> Behaviour:
    """Return a behaviour that sends bytes as they are, and then waits."""

    async def behave(received: Received, writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()
        await asyncio.Event().wait()

    return behave


CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


async def test_body_of_tiny_chunks_is_cut_and_lets_other_tasks_run(
    receiver: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver.behave = sending(CHUNKED, *[b"1\r\na\r\n" * 5_000] * 20)
    with parsed_events(monkeypatch) as counts:
        response = await post(OutboundHttpClient(HERE), receiver.url)
    assert response.status == 200
    assert sum(counts) < 1_000
    assert max(counts) <= 2 * PAUSE_EVENTS


async def test_client_without_bodies_reads_only_the_head(receiver: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    receiver.behave = sending(CHUNKED, *[b"1\r\na\r\n" * 5_000] * 20)
    with parsed_events(monkeypatch) as counts:
        response = await post(OutboundHttpClient(HERE, max_body_bytes=0), receiver.url)
    assert (response.status, response.body) == (200, b"")
    assert sum(counts) == 1


async def test_body_of_usual_chunks_is_read_completely(receiver: Sink) -> None:
    chunk = b"400\r\n" + b"a" * 1_024 + b"\r\n"
    receiver.behave = sending(CHUNKED, *[chunk] * 1_000, b"0\r\n\r\n")
    response = await post(OutboundHttpClient(HERE, max_body_bytes=2_000_000), receiver.url)
    assert len(response.body) == 1_024_000


@pytest.mark.parametrize(
    "head",
    [b"HTTP/1.1 200 OK\r\n" + b"a:b\r\n" * 3_000 + b"\r\n", b"HTTP/1.1 103 Early\r\n\r\n" * 700],
    ids=["many headers", "many announcements"],
)
async def test_head_of_many_small_parts_is_refused_before_it_is_parsed(
    receiver: Sink, monkeypatch: pytest.MonkeyPatch, head: bytes
) -> None:
    receiver.behave = sending(head + b"HTTP/1.1 200 OK\r\n\r\n")
    with parsed_events(monkeypatch) as counts:
        failed = await request_failure(OutboundHttpClient(HERE, timeout_seconds=60), receiver.url)
    assert (failed.code, failed.syscall) == ("EPROTO", "read")
    assert sum(counts) <= 10


async def test_early_hints_are_skipped(receiver: Sink) -> None:
    receiver.behave = sending(b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" * 2 + b"HTTP/1.1 204 None\r\n\r\n")
    assert (await post(OutboundHttpClient(HERE), receiver.url)).status == 204


async def test_complete_head_is_a_response_even_if_the_body_fails(receiver: Sink) -> None:
    async def behave(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 202 Accepted\r\ncontent-length: 100\r\n\r\nhalf")
        await writer.drain()

    receiver.behave = behave
    response = await post(OutboundHttpClient(HERE), receiver.url)
    assert (response.status, response.body) == (202, b"half")


async def test_refused_connection_is_reported_in_the_form_of_the_specification(receiver: Sink) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        failed = await request_failure(
            OutboundHttpClient(HERE, resolve=resolver(hooks_test=["127.0.0.1"])), f"http://hooks.test:{port}/"
        )
    assert failed.to_json() == {
        "type": "connection",
        "error": {"statusCode": 0, "message": f"connect ECONNREFUSED hooks.test:{port}"},
        "initialError": {
            "errno": "ECONNREFUSED",
            "code": "ECONNREFUSED",
            "syscall": "connect",
            "hostname": "hooks.test",
            "host": "hooks.test",
            "port": port,
        },
    }


async def test_unknown_host_is_reported_in_the_form_of_the_specification() -> None:
    client = OutboundHttpClient()  # with the resolver of the operating system
    failed = await request_failure(client, "https://there-is-no-such-host.invalid/")
    details = failed.to_json()["initialError"]
    assert details.pop("code") == details.pop("errno") == failed.code
    assert failed.code in ("ENOTFOUND", "EAI_AGAIN")  # the latter if no resolver is reachable
    host = "there-is-no-such-host.invalid"
    assert details == {"syscall": "getaddrinfo", "hostname": host, "host": host, "port": 443}


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (socket.gaierror(socket.EAI_NONAME, "unknown"), "ENOTFOUND"),
        (socket.gaierror(socket.EAI_AGAIN, "later"), "EAI_AGAIN"),
        ([], "ENOTFOUND"),
    ],
)
async def test_host_without_addresses_is_a_resolver_error(answer: Sequence[str] | OSError, code: str) -> None:
    failed = await request_failure(OutboundHttpClient(resolve=resolver(hooks_test=answer)), "https://hooks.test/")
    assert (failed.code, failed.syscall) == (code, "getaddrinfo")


async def test_next_address_is_tried_if_the_first_refuses_the_connection(receiver: Sink) -> None:
    client = OutboundHttpClient(HERE, resolve=resolver(hooks_test=["127.0.0.99", "127.0.0.1"]))
    assert (await post(client, f"http://hooks.test:{receiver.port}/")).status == 204


@pytest.mark.parametrize(("behave", "code"), [(closing, "ECONNRESET"), (hanging, "ETIMEDOUT")])
async def test_closed_or_hanging_connection_is_a_read_error(receiver: Sink, behave: object, code: str) -> None:
    receiver.behave = behave  # type: ignore[assignment]
    for timeout_seconds in (0.3, 3, 30):  # a busy machine may need more time to connect
        failed = await request_failure(OutboundHttpClient(HERE, timeout_seconds=timeout_seconds), receiver.url)
        if receiver.received:
            break
    assert (failed.code, failed.syscall, failed.port) == (code, "read", receiver.port)
    assert json.dumps(failed.to_json())


async def test_cancelled_request_closes_its_connection(receiver: Sink) -> None:
    ended = asyncio.Event()

    async def read_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while await reader.read(2**16):
                begun.set()
        ended.set()
        writer.close()

    for scheme in ("http", "https"):  # https hangs during the handshake
        begun = asyncio.Event()
        ended.clear()
        async with await asyncio.start_server(read_on, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            request = asyncio.create_task(post(OutboundHttpClient(HERE), f"{scheme}://127.0.0.1:{port}/"))
            await begun.wait()
            request.cancel()
            await ended.wait()


async def test_hanging_resolver_times_out() -> None:
    async def resolve(host: str, owner: str) -> Sequence[str]:
        await asyncio.Event().wait()
        return []

    failed = await request_failure(OutboundHttpClient(resolve=resolve, timeout_seconds=0.1), "https://hooks.test/")
    assert (failed.code, failed.syscall) == ("ETIMEDOUT", "getaddrinfo")


async def test_tls_sends_and_verifies_the_host_of_the_url(authority: trustme.CA) -> None:
    requested_hosts: list[str | None] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("hooks.test").configure_cert(context)
    context.sni_callback = lambda connection, name, _: requested_hosts.append(name)
    async with sink(tls=context) as receiver:
        resolve = resolver(hooks_test=["127.0.0.1"], other_test=["127.0.0.1"])
        client = OutboundHttpClient(HERE, resolve=resolve, tls=trusting(authority))
        assert (await post(client, f"https://hooks.test:{receiver.port}/")).status == 204
        assert (requested_hosts, receiver.received[0].headers["host"]) == (
            ["hooks.test"],
            f"hooks.test:{receiver.port}",
        )
        failed = await request_failure(client, f"https://other.test:{receiver.port}/")
        assert failed.code == "ECERT"
        failed = await request_failure(
            OutboundHttpClient(HERE, resolve=resolve), f"https://hooks.test:{receiver.port}/"
        )
        assert (failed.code, len(receiver.received)) == ("ECERT", 1)


async def test_server_without_tls_is_a_protocol_error() -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(2**16)
        writer.write(b"220 ready\r\n")
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        failed = await request_failure(OutboundHttpClient(HERE), f"https://127.0.0.1:{port}/")
    assert (failed.type, failed.code) == ("connection", "EPROTO")
