"""Requests to addresses that users name, over real connections."""

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from ipaddress import ip_address

import pytest
import trustme

from tests.support.sinks import HERE, Received, Sink, answering, closing, hanging, sink
from wattgate.delivery.http.egress import Reach
from wattgate.delivery.http.outbound_http import MAX_BODY, Answer, Callout, CalloutFailed, Resolve, is_own


def names(**answers: Sequence[str] | OSError) -> Resolve:
    """A resolver that knows these hosts, each with its addresses or what goes wrong; _ stands for a dot."""

    async def resolve(host: str) -> Sequence[str]:
        found = answers[host.replace(".", "_")]
        if isinstance(found, OSError):
            raise found
        return found

    return resolve


async def post(callout: Callout, url: str, body: bytes = b"{}") -> Answer:
    return await callout.send("POST", url, headers={"Content-Type": "application/json"}, body=body)


async def failure(callout: Callout, url: str) -> CalloutFailed:
    with pytest.raises(CalloutFailed) as caught:
        await post(callout, url)
    return caught.value


@pytest.fixture
async def there() -> AsyncIterator[Sink]:
    async with sink() as made:
        yield made


async def test_a_request_arrives_as_it_was_made(there: Sink) -> None:
    there.behave = answering(201, headers="X-Told: yes\r\n", body=b"thanks")
    callout = Callout(HERE, resolve=names(hooks_test=["127.0.0.1"]))
    answer = await post(callout, f"http://hooks.test:{there.port}/in?a=b%20c", b'{"one": 1}')
    assert (answer.status, answer.headers["x-told"], answer.body) == (201, "yes", b"thanks")
    (received,) = there.received
    assert (received.method, received.target, received.body) == ("POST", "/in?a=b%20c", b'{"one": 1}')
    assert received.headers["host"] == f"hooks.test:{there.port}"
    assert received.headers["content-type"] == "application/json"


async def test_a_host_is_reached_at_the_address_that_was_checked_though_its_name_changes(there: Sink) -> None:
    """DNS rebinding: the second answer would be a private address; the name is looked up once."""
    asked: list[str] = []

    async def resolve(host: str) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["10.0.0.1"]

    callout = Callout(HERE, resolve=resolve)
    assert (await post(callout, f"http://rebinding.test:{there.port}/")).status == 204
    assert asked == ["rebinding.test"]
    assert (await failure(callout, f"http://rebinding.test:{there.port}/")).type == "refused"
    assert len(there.received) == 1


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
async def test_a_name_that_leads_to_any_address_that_is_not_public_is_refused(answers: list[str]) -> None:
    refused = await failure(Callout(resolve=names(hooks_test=answers)), "https://hooks.test/")
    assert (refused.type, refused.code, refused.syscall) == ("refused", "EACCES", "connect")
    assert refused.message == "hooks.test leads to an address that is not public"  # and not to which


async def test_where_an_address_leads_is_judged_again_at_each_request() -> None:
    for url in ("http://example.org/", "https://127.0.0.1/", "https://example.org:25/", "nonsense"):
        assert (await failure(Callout(resolve=names()), url)).type == "refused"


async def test_nothing_is_connected_to_what_is_refused(there: Sink) -> None:
    here_but_not_named = Callout(Reach(plain=True), resolve=names(hooks_test=["127.0.0.1"]))
    for host in ("hooks.test", "127.0.0.1"):
        await failure(here_but_not_named, f"http://{host}:{there.port}/")
    assert there.connections == 0


async def test_the_machines_own_addresses_are_known() -> None:
    assert is_own(ip_address("127.0.0.1"))
    assert is_own(ip_address("127.0.0.77"))
    assert not is_own(ip_address("93.184.215.14"))
    assert not is_own(ip_address("2606:4700::1"))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_an_answer_and_is_not_followed(there: Sink, status: int) -> None:
    async with sink() as elsewhere:
        there.behave = answering(status, headers=f"Location: {elsewhere.url}\r\n")
        assert (await post(Callout(HERE), there.url)).status == status
        assert elsewhere.connections == 0


async def test_proxies_of_the_environment_are_not_used(there: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    async with sink() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert (await post(Callout(HERE), there.url)).status == 204
        assert (proxy.connections, there.connections) == (0, 1)


async def test_of_an_answer_of_ten_megabytes_little_is_read(there: Sink) -> None:
    there.behave = there.flooding
    answer = await post(Callout(HERE), there.url)
    assert (answer.status, len(answer.body)) == (200, MAX_BODY)
    assert there.sent < 9_000_000  # the rest is what buffers of the system hold


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
async def test_an_answer_that_is_none_is_told_as_that(there: Sink, head: bytes) -> None:
    async def behave(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        await writer.drain()
        await asyncio.Event().wait()

    there.behave = behave
    failed = await failure(Callout(HERE, total=5), there.url)
    assert (failed.code, failed.syscall) == ("EPROTO", "read")


async def test_a_head_is_an_answer_whatever_becomes_of_its_body(there: Sink) -> None:
    async def behave(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 202 Accepted\r\ncontent-length: 100\r\n\r\nhalf")
        await writer.drain()

    there.behave = behave
    answer = await post(Callout(HERE), there.url)
    assert (answer.status, answer.body) == (202, b"half")


async def test_a_refused_connection_is_told_in_the_shape_of_the_specification(there: Sink) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        failed = await failure(Callout(HERE, resolve=names(hooks_test=["127.0.0.1"])), f"http://hooks.test:{port}/")
    assert failed.told == {
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


async def test_an_unknown_host_is_told_in_the_shape_of_the_specification() -> None:
    failed = await failure(Callout(), "https://there-is-no-such-host.invalid/")  # the system's own resolver
    told = failed.told["initialError"]
    assert told.pop("code") == told.pop("errno") == failed.code
    assert failed.code in ("ENOTFOUND", "EAI_AGAIN")  # the latter where no resolver is in reach
    host = "there-is-no-such-host.invalid"
    assert told == {"syscall": "getaddrinfo", "hostname": host, "host": host, "port": 443}


@pytest.mark.parametrize(
    ("what", "code"),
    [
        (socket.gaierror(socket.EAI_NONAME, "unknown"), "ENOTFOUND"),
        (socket.gaierror(socket.EAI_AGAIN, "later"), "EAI_AGAIN"),
        ([], "ENOTFOUND"),
    ],
)
async def test_a_name_without_addresses_is_told_as_that(what: Sequence[str] | OSError, code: str) -> None:
    failed = await failure(Callout(resolve=names(hooks_test=what)), "https://hooks.test/")
    assert (failed.code, failed.syscall) == (code, "getaddrinfo")


async def test_the_next_address_is_tried_where_the_first_takes_no_connection(there: Sink) -> None:
    callout = Callout(HERE, resolve=names(hooks_test=["127.0.0.99", "127.0.0.1"]))
    assert (await post(callout, f"http://hooks.test:{there.port}/")).status == 204


@pytest.mark.parametrize(("behave", "code"), [(closing, "ECONNRESET"), (hanging, "ETIMEDOUT")])
async def test_a_sink_that_closes_or_hangs_is_told_as_that(there: Sink, behave: object, code: str) -> None:
    there.behave = behave  # type: ignore[assignment]
    failed = await failure(Callout(HERE, total=0.3), there.url)
    assert (failed.code, failed.syscall, failed.port) == (code, "read", there.port)
    assert json.dumps(failed.told)


async def test_a_request_that_is_cancelled_leaves_no_connection_behind(there: Sink) -> None:
    ended = asyncio.Event()

    async def read_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while await reader.read(2**16):
                begun.set()
        ended.set()
        writer.close()

    for scheme in ("http", "https"):  # the latter hangs before it is open
        begun = asyncio.Event()
        ended.clear()
        async with await asyncio.start_server(read_on, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            request = asyncio.create_task(post(Callout(HERE), f"{scheme}://127.0.0.1:{port}/"))
            await begun.wait()
            request.cancel()
            await ended.wait()


async def test_a_resolver_that_hangs_is_not_waited_for() -> None:
    async def resolve(host: str) -> Sequence[str]:
        await asyncio.Event().wait()
        return []

    failed = await failure(Callout(resolve=resolve, total=0.1), "https://hooks.test/")
    assert (failed.code, failed.syscall) == ("ETIMEDOUT", "getaddrinfo")


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


async def test_over_tls_the_named_host_is_asked_for_and_proven(authority: trustme.CA) -> None:
    asked: list[str | None] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("hooks.test").configure_cert(context)
    context.sni_callback = lambda connection, name, _: asked.append(name)
    async with sink(tls=context) as there:
        resolve = names(hooks_test=["127.0.0.1"], other_test=["127.0.0.1"])
        callout = Callout(HERE, resolve=resolve, tls=trusting(authority))
        assert (await post(callout, f"https://hooks.test:{there.port}/")).status == 204
        assert (asked, there.received[0].headers["host"]) == (["hooks.test"], f"hooks.test:{there.port}")
        failed = await failure(callout, f"https://other.test:{there.port}/")
        assert failed.code == "ECERT"
        failed = await failure(Callout(HERE, resolve=resolve), f"https://hooks.test:{there.port}/")
        assert (failed.code, len(there.received)) == ("ECERT", 1)


async def test_a_server_without_tls_is_told_as_that() -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(2**16)
        writer.write(b"220 ready\r\n")
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        failed = await failure(Callout(HERE), f"https://127.0.0.1:{port}/")
    assert (failed.type, failed.code) == ("connection", "EPROTO")
