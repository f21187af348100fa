"""Each proxy of the examples and the gateway behind it agree where a request ends: nobody gets another one's answer."""

import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.certificates import issue_certificates
from tests.support.framing import APP, HOST, LAST, STREAMS, answers_of, fingerprint, mutated, strictly_parsed
from tests.support.proxies import EXAMPLES, Proxy, running_proxy
from tests.support.servers import serving
from tests.support.short_form import sample
from wattgate.app.server.edge.connection_guard import HttpLimits

VICTIM = b"GET /victim HTTP/1.1\r\n" + HOST + b"token: victim\r\nConnection: close\r\n\r\n"
MUTATIONS = 60


@pytest.fixture(params=list(EXAMPLES))
async def proxy(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Proxy]:
    limits = HttpLimits(head_seconds=0.5, body_seconds=0.5)
    async with AsyncExitStack() as stack:
        urls = [await stack.enter_async_context(serving(APP, limits=limits)) for _ in range(2)]
        ports = [urlsplit(url).port or 0 for url in urls]
        folder, certificates = tmp_path / "proxy", issue_certificates(tmp_path)
        yield await stack.enter_async_context(running_proxy(request.param, folder, ports, certificates))


def for_site(proxy: Proxy, stream: bytes) -> bytes:
    """Return a stream with the name of the site of a proxy in place of the host."""
    return stream.replace(HOST, b"Host: %b\r\n" % urlsplit(proxy.url).netloc.encode())


async def test_requests_of_a_stream_get_their_own_answers_and_those_of_others_too(
    proxy: Proxy, subtests: pytest.Subtests
) -> None:
    """After each stream, another client sends a request over the connections that the proxy keeps to the gateways."""
    chance = random.Random(37)
    streams = dict(STREAMS)
    for number in range(MUTATIONS):
        streams[f"mutation {number}"] = mutated(chance, chance.choice(list(STREAMS.values())))
    for name in sample(streams):
        with subtests.test(name):
            stream = for_site(proxy, streams[name] + LAST)
            echoes, _ = await answers_of(proxy.url, stream, context=proxy.tls_context)
            expected, is_complete = strictly_parsed(stream)
            if is_complete:  # a proxy may answer some requests itself, and repair a stream that is malformed
                remaining = iter(expected)
                assert all(echo in remaining for echo in echoes), (stream, echoes)
            assert "victim" not in str(echoes), stream
            for _ in range(2):
                answers, statuses = await answers_of(proxy.url, for_site(proxy, VICTIM), context=proxy.tls_context)
                assert (answers, statuses) == ([["GET", "/victim", "victim", *fingerprint(b"")]], [200]), stream


async def forwarded_upgrade(proxy: Proxy, *lines: bytes, body: bytes = b"") -> tuple[object, int]:
    """Return the header Upgrade of a POST that reaches the gateway, and the status of the answer."""
    upgrades = b"".join(b"Upgrade: %b\r\n" % line for line in lines)
    head = b"POST /upgrade HTTP/1.1\r\n" + HOST + b"Connection: Upgrade, close\r\n" + upgrades
    stream = head + b"Content-Length: %d\r\n\r\n" % len(body) + body
    echoes, (status,) = await answers_of(proxy.url, for_site(proxy, stream), context=proxy.tls_context)
    return (echoes[0] if echoes else None), status


async def test_proxies_forward_no_upgrade_but_to_websocket(proxy: Proxy) -> None:
    for lines in ((b"websocket", b"foo"), (b"foo", b"websocket")):
        accepted = ((None, 200), ("websocket", 200), (None, 400))  # HAProxy wants a key beside the last websocket
        assert await forwarded_upgrade(proxy, *lines) in accepted, lines
    for protocol in (b"foo", b"h2c", b"websocket, h2c", b"TLS/1.0"):
        head = b"GET /upgrade HTTP/1.1\r\n" + HOST + b"Connection: Upgrade, close\r\nUpgrade: %b\r\n\r\n" % protocol
        answer = await answers_of(proxy.url, for_site(proxy, head), context=proxy.tls_context)
        assert answer in (([None], [200]), ([], [400])), protocol  # HAProxy wants a key beside a list with websocket


async def test_haproxy_alone_forwards_no_upgrade_with_a_body(proxy: Proxy) -> None:
    """The streams above show through nginx and Caddy that the gateway reads such a body. HAProxy sends none."""
    expected = None if proxy.example.program == "haproxy" else "websocket"
    assert await forwarded_upgrade(proxy, b"websocket", body=b"hello") == (expected, 200)
