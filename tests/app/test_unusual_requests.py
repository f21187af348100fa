"""Requests that no client of the gateway sends: methods, paths and encodings that a scanner tries."""

import asyncio
from urllib.parse import quote
from uuid import uuid4

import httpx

from tests.support.house import House
from wattgate.app.server.gate.response_headers import API
from wattgate.app.server.pages.pages import STATIC_DIRECTORY

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


async def test_encoded_slash_stays_within_its_segment(served: House) -> None:
    """A proxy that has a rule for a path, and the gateway, see the same segments."""
    headers = served.one.headers["application"]
    for encoded, text in (("a%2Fb", "a/b"), ("a%2fb", "a/b"), ("%2F", "/"), ("a%252Fb", "a%2Fb"), ("%2F%25", "/%")):
        by_variable = await served.graphql("query ($id: ID!) { resource(resourceId: $id) { name } }", headers, id=text)
        for base in ("/api/v0-1", "/api//v0%2D1"):
            by_path = await raw(served, "GET", f"{base}/resource/{encoded}", headers)
            assert by_path.json()["error"] == by_variable["errors"][0]["message"], encoded
    for path in ("/api/v0-1/resource", "/api/v0-1/openapi.json", "/healthz", "/static/shared/dom.js"):
        assert (await raw(served, "GET", path, headers)).status_code == 200, path
        for encoded in (f"/%2f{path[1:]}", f"{path}%2F", "%2F".join(path.rsplit("/", 1))):
            if encoded.startswith("/"):
                assert (await raw(served, "GET", encoded, headers)).status_code == 404, encoded


async def test_each_argument_comes_from_its_place(served: House) -> None:
    """A name in several places, or several times, does not let one part of the way see another value than the next."""
    tenant, other = served.one, served.other
    account, token = tenant.headers["account"], tenant.headers["account"]["token"]
    listed = (await served.call("GET", "/virtualentity", account)).json()
    mine, foreign = listed[0]["veId"], str(uuid4())
    more = {"params": {"veId": foreign, "applicationId": other.application_id, "userId": other.user_id}}
    by_path = await served.call("GET", f"/virtualentity/{mine}", account, **more)
    assert by_path.json()["veId"] == mine
    repeated = await raw(served, "GET", f"/api/v0-1/virtualentity/{foreign}?veId={mine}&veId={mine}", account)
    assert repeated.status_code == 404
    in_body = await served.call("PUT", f"/virtualentity/{foreign}", account, json={"veId": mine, "name": "changed"})
    assert in_body.status_code == 404
    assert (await served.call("GET", "/virtualentity", account)).json() == listed
    for credentials in (f"token={token}", f"access_token={token}", f"Authorization=Bearer%20{token}"):
        answer = await raw(served, "GET", f"/api/v0-1/virtualentity?{credentials}", {})
        assert answer.status_code == 401, credentials
    cookie = await raw(served, "GET", "/api/v0-1/virtualentity", {"Cookie": f"token={token}"})
    assert cookie.status_code == 401
    document = {"query": "{ __typename }"}
    both = await served.http.post("/graphql?query={viewer{userId}}", json=document, headers=account)
    assert both.json()["data"] == {"__typename": "Query"}


async def test_a_header_that_says_who_calls_has_one_line(served: House) -> None:
    """A proxy may check or replace one of two lines. The gateway takes none of them, on each way in."""
    token, application = served.one.headers["account"]["token"], served.one.application_id
    lines = {
        "Token": (token, token),
        "Authorization": (f"Bearer {token}", "Basic YTpi"),
        "ApplicationId": (application, served.other.application_id),
        "userId": (served.one.user_id, served.other.user_id),
    }
    handshake = (
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n"
    )
    body = '{"query": "{ __typename }"}'
    ways = {
        "REST": ("GET /api/v0-1/virtualentity", "", ""),
        "GraphQL": ("POST /graphql", f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n", body),
        "WebSocket": ("GET /graphql", handshake, ""),
        "page": ("GET /display", "", ""),
    }
    for way, (line, more, content) in ways.items():
        for name, (first, second) in lines.items():
            for again in (name, name.lower(), name.upper()):
                head = f"{line} HTTP/1.1\r\nHost: a\r\n{name}: {first}\r\n{more}{again}: {second}\r\n\r\n"
                answer = await refusal(served, (head + content).encode())
                assert answer.startswith(b"HTTP/1.1 400 "), (way, name, answer)
        plain = await refusal(served, f"{line} HTTP/1.1\r\nHost: a\r\nToken: {token}\r\n{more}\r\n{content}".encode())
        assert plain.startswith(b"HTTP/1.1 101 " if way == "WebSocket" else b"HTTP/1.1 200 "), (way, plain)


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
