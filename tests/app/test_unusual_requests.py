"""Requests that no client of the gateway sends: methods, paths and encodings that a scanner tries."""

import asyncio
from urllib.parse import quote

import httpx

from tests.support.house import House
from wattgate.app.server.pages import STATIC_DIRECTORY
from wattgate.app.server.security_headers import API

METHODS = ("TRACE", "TRACK", "CONNECT", "DEBUG", "PROPFIND")
PATHS = ("/", "/graphql", "/api/v0-1/account", "/display", "/healthz", "/static/shared/dom.js", "/nowhere")


async def test_methods_that_return_the_request_are_refused(served: House) -> None:
    secret = "swordfish-7"
    for method in METHODS:
        for path in PATHS:
            answer = await raw(served, method, path, {"token": secret})
            assert answer.status_code in (400, 401, 404, 405, 501), (method, path, answer.status_code)
            assert secret not in answer.text, (method, path)


async def test_folders_are_not_listed_and_files_outside_are_not_served(served: House) -> None:
    folders = [one.relative_to(STATIC_DIRECTORY).as_posix() for one in STATIC_DIRECTORY.rglob("*") if one.is_dir()]
    paths = ["/static/"] + [f"/static/{folder}{slash}" for folder in folders for slash in ("", "/")]
    steps = ("..", "%2e%2e", ".%2e", "..%2f..", "%252e%252e", "..%5c..", "..%00", "....//")
    paths += [
        f"/static/{step}/{name}" for step in steps for name in ("settings.py", "server/factory.py", "..%2fenums.py")
    ]
    paths += ["/.git/config", "/.env", "/wattgate.sqlite3", "/static/.git/config"]
    assert len(folders) >= 5
    for path in paths:
        answer = await raw(served, "GET", path, {})
        assert answer.status_code in (400, 404, 405), (path, answer.status_code)
        assert "import " not in answer.text, path


async def test_values_are_decoded_once(served: House) -> None:
    """A text that is still encoded after its transport is decoded stays as it is, on each interface."""
    headers = served.one.headers["application"]
    for text in ("%2e%2e", "%41", "%25", "&amp;", "&#65;", r"\u0041", "+", "=?utf-8?q?a?=", "\\\\", "%u0041"):
        by_path = await served.call("GET", f"/resource/{quote(text, safe='')}", headers)
        by_variable = await served.graphql("query ($id: ID!) { resource(resourceId: $id) { name } }", headers, id=text)
        assert by_path.json()["code"] == "NOT_FOUND", text
        assert text in by_path.json()["error"], by_path.text
        assert text in by_variable["errors"][0]["message"], by_variable


async def test_no_path_redirects(served: House) -> None:
    """No answer leads to another address, whatever slashes and hosts the path contains."""
    paths = ["/static", "/static/", "/static//", "/static?next=https://evil.example", "/api/v0-1", "/api/v0-1/", "/api"]
    paths += [
        "//evil.example",
        "//evil.example/static",
        "/\\evil.example",
        "/static/..//evil.example",
        "/display/",
        "//",
    ]
    for path in paths:
        answer = await raw(served, "GET", path, {"X-Forwarded-Host": "evil.example"})
        assert not answer.is_redirect, (path, answer.headers)
        assert answer.status_code in (200, 400, 404), (path, answer.status_code)


async def test_refusals_of_the_protocol_have_the_security_headers(served: House) -> None:
    """Requests that no route sees are refused by the protocol, with the headers of an answer that is data."""
    for request, status in (
        (b"\x16\x03\x01\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + 200_000 * b"x" + b"\r\n\r\n", 431),
    ):
        head = await refusal(served, request)
        assert head.startswith(b"HTTP/1.1 %d " % status)
        for name, value in (*API.headers, API.cache_header):
            assert head.count(b"\r\n%b: %b\r\n" % (name, value)) == 1, (status, name)


async def refusal(served: House, request: bytes) -> bytes:
    """Send bytes and return the head of the answer, with the end of its last line."""
    url = httpx.URL(served.url)
    reader, writer = await asyncio.open_connection(url.host, url.port)
    writer.write(request)
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)
    writer.close()
    return head


async def raw(served: House, method: str, path: str, headers: dict[str, str]) -> httpx.Response:
    """Send a path without changes: httpx would normalize it."""
    url = httpx.URL(served.url).copy_with(raw_path=path.encode())
    return await served.http.send(httpx.Request(method, url, headers=headers))
