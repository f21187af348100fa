"""Responses that are the same for everybody, and the limit of each address for requests that need no credentials."""

import gzip
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute

from tests.graphql.test_request_costs import gateway
from tests.support.house import PASSWORD, House, basic
from tests.support.live import NEVER
from wattgate.app.server.cluster_state import FILES_OF_A_LOAD
from wattgate.app.server.gate.client_addresses import AddressLimited, limit_by_address
from wattgate.app.server.pages.page_routes import MANIFEST_PATH, WORKER_PATH, shell_files
from wattgate.app.server.pages.pages import STATIC_DIRECTORY, ConstantAnswer, accepts_gzip
from wattgate.db.identity import credentials
from wattgate.requests.accept import has_tag
from wattgate.requests.client import UNLIMITED_ADDRESSES

HTML = {"accept": "text/html"}
CONSTANT = {
    "/api/v0-1/openapi.json": ("application/json", {}),
    "/errors": ("text/html; charset=utf-8", HTML),
    "/display/worker.js": ("text/javascript; charset=utf-8", {}),
}
LIMIT = 12
"""Requests from one address, without a refill."""


async def test_constant_answers_are_compressed_once_and_revalidated(
    served: House, subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch
) -> None:
    compress, compressed = gzip.compress, list[int]()

    def compress_and_count(content: bytes, *arguments: int, **keywords: Any) -> bytes:
        compressed.append(len(content))
        return compress(content, *arguments, **keywords)

    monkeypatch.setattr(gzip, "compress", compress_and_count)
    for path, (media_type, accept) in CONSTANT.items():
        with subtests.test(path):
            tags, bodies = set(), set()
            for encoding in ("gzip", "identity"):
                headers = {**accept, "accept-encoding": encoding}
                answer = await served.http.get(path, headers=headers)
                assert (answer.status_code, answer.headers["content-type"]) == (200, media_type)
                assert answer.headers.get("content-encoding") == ("gzip" if encoding == "gzip" else None)
                assert answer.headers["cache-control"] == "no-cache"
                assert "Accept-Encoding" in answer.headers["vary"]
                tag = answer.headers["etag"]
                kept = await served.http.get(path, headers={**headers, "if-none-match": f'"x", W/{tag}'})
                assert (kept.status_code, kept.content, kept.headers["etag"]) == (304, b"", tag)
                assert kept.headers["vary"] == answer.headers["vary"]
                other = await served.http.get(path, headers={**headers, "if-none-match": '"another"'})
                assert (other.status_code, other.content) == (200, answer.content)
                tags.add(tag)
                bodies.add(answer.content)
            assert (len(tags), len(bodies)) == (2, 1)
            head = await served.http.head(path, headers=accept)
            assert (head.status_code, head.content) == (200, b"")
            assert compressed == [], "the work was done before the first request"


async def test_content_is_encoded_once() -> None:
    answer = ConstantAnswer(b"x" * 10_000, "text/plain")
    scope = {"type": "http", "headers": [(b"accept-encoding", b"br, gzip")]}
    first, second = await answer(Request(scope)), await answer(Request(scope))
    assert first.body is second.body
    assert gzip.decompress(bytes(first.body)) == b"x" * 10_000


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        ("gzip", True),
        ("br;q=1.0, GZIP;q=0.8", True),
        ("*", True),
        ("*;q=0", False),
        ("gzip;q=0", False),
        ("gzip; q=0.000, *", False),
        ("gzip;q=0.001", True),
        ("identity", False),
        ("", False),
        ("xgzip", False),
    ],
)
def test_gzip_is_sent_to_clients_that_accept_it(header: str, accepted: bool) -> None:
    assert accepts_gzip(header) is accepted


def test_tag_is_found_in_a_list_and_not_in_a_part_of_another() -> None:
    assert has_tag('"a", W/"b"', '"b"')
    assert has_tag("*", '"b"')
    assert not has_tag('"bc", "b', '"b"')
    assert not has_tag("", '"b"')


async def test_anonymous_requests_outside_graphql_are_limited_by_address(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    async with gateway(tmp_path, address_requests=LIMIT, trusted_proxies=["127.0.0.1"], environment="production") as (
        _,
        http,
        tenant,
    ):
        cases: tuple[tuple[str, str, dict[str, str]], ...] = (
            ("GET", "/", HTML),
            ("GET", "/display", HTML),
            ("GET", "/errors", HTML),
            ("GET", "/graphql", HTML),
            ("GET", "/api/v0-1/openapi.json", {"authorization": "Basic eDp5"}),
            ("POST", "/api/v0-1/auth", {}),
            ("GET", "/api/v0-1/resource", {}),
        )
        for number, (method, path, headers) in enumerate(cases, 1):
            address = {"x-forwarded-for": f"203.0.113.{number}"}
            with subtests.test(f"{method} {path}"):
                statuses = [
                    (await http.request(method, path, headers={**headers, **address})).status_code
                    for _ in range(LIMIT + 1)
                ]
                assert 429 not in statuses[:LIMIT]
                assert statuses[LIMIT] == 429
                other = await http.get("/errors", headers={"x-forwarded-for": f"198.51.100.{number}"})
                assert other.status_code == 200
        exhausted = {"x-forwarded-for": "203.0.113.1"}
        refused = await http.get("/errors", headers=exhausted)
        assert refused.json()["code"] == "RATE_LIMITED"
        assert int(refused.headers["retry-after"]) > 0
        unlimited = {"/healthz": {}, "/readyz": {}, "/api/v0-1/virtualentity": tenant.headers["account"]}
        for path, headers in unlimited.items():
            with subtests.test(f"an exhausted address at {path}"):
                assert (await http.get(path, headers={**exhausted, **headers})).status_code == 200


@pytest.mark.parametrize("limit", [1, FILES_OF_A_LOAD + 1])
async def test_files_of_a_page_have_a_limit_that_covers_a_load(
    tmp_path: Path, limit: int, subtests: pytest.Subtests
) -> None:
    """The smallest limit of requests leaves the display page and all its files, once more for its worker."""
    async with gateway(tmp_path, address_requests=limit, trusted_proxies=["127.0.0.1"]) as (_, http, tenant):
        files = [WORKER_PATH, MANIFEST_PATH, *shell_files(), *shell_files()]
        address = {"x-forwarded-for": "203.0.113.1"}
        assert (await http.get("/display", headers={**HTML, **address})).status_code == 200
        assert [(await http.get(file, headers=address)).status_code for file in files] == [200] * len(files)
        for file, status in (("/static/nothing", 404), ("/static/favicon.svg", 200)):
            with subtests.test(file):
                headers = {"x-forwarded-for": f"203.0.113.{len(file)}", **tenant.headers["account"]}
                statuses = [
                    (await http.get(file, headers=headers)).status_code for _ in range(max(limit, FILES_OF_A_LOAD) + 1)
                ]
                assert statuses == [status] * (len(statuses) - 1) + [429]


@pytest.mark.parametrize("folder", ["account", "errors", "ide", "landing", "outbox", "pair", "preview", "reference"])
def test_each_page_has_fewer_files_than_its_address_may_get(folder: str) -> None:
    files = [file for name in (folder, "shared") for file in (STATIC_DIRECTORY / name).rglob("*") if file.is_file()]
    assert 0 < len(files) < FILES_OF_A_LOAD


async def test_address_pays_for_credentials_that_are_not_found(
    tmp_path: Path, subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is looked up in the database. An address in debt is refused before that, also with a right token."""
    monkeypatch.setattr(credentials, "REMEMBERED_SECONDS", NEVER)
    async with gateway(tmp_path, address_requests=LIMIT, trusted_proxies=["127.0.0.1"]) as (_, http, tenant):
        application = tenant.headers["application"]
        fresh = {"token": await tenant.add_token()}
        password = {**basic(tenant.username, PASSWORD), "applicationid": tenant.application_id}
        for headers in (tenant.headers["account"], password):
            assert (await http.get("/api/v0-1/virtualentity", headers=headers)).status_code == 200
        cases: dict[str, tuple[str, str, dict[str, str], int]] = {
            "token": ("GET", "/api/v0-1/virtualentity", {"token": "made up"}, 401),
            "bearer": ("POST", "/graphql", {"authorization": "Bearer made up"}, 401),
            "event stream": ("POST", "/graphql", {"token": "made up", "accept": "text/event-stream"}, 401),
            "Basic": ("GET", "/api/v0-1/virtualentity", {"authorization": "Basic eDp5"}, 401),
            "user": ("GET", "/api/v0-1/virtualentity", {**application, "userid": "made up"}, 403),
            "application": ("POST", "/graphql", {"applicationid": "made up"}, 200),
        }
        for number, (name, (method, path, headers, status)) in enumerate(cases.items(), 1):
            address = {"x-forwarded-for": f"203.0.113.{number}"}
            sent: dict[str, Any] = {"json": {"query": "{ __typename }"}} if method == "POST" else {}
            with subtests.test(name):
                statuses: list[int] = []
                while len(statuses) < 4 * LIMIT and 429 not in statuses:
                    answer = await http.request(method, path, headers={**headers, **address}, **sent)
                    statuses.append(answer.status_code)
                assert len(statuses) > LIMIT
                assert {*statuses} == {status, 429}
                assert int(answer.headers["retry-after"]) > 0
                known = {**tenant.headers["account"], **address}
                assert (await http.get("/api/v0-1/virtualentity", headers=known)).status_code == 200  # it is remembered
                with_password = await http.get("/api/v0-1/virtualentity", headers={**password, **address})
                assert with_password.status_code == 429  # as with a wrong one
                looked_up = await http.get("/api/v0-1/virtualentity", headers={**fresh, **address})
                assert looked_up.status_code == 429
        assert (await http.get("/api/v0-1/virtualentity", headers=fresh)).status_code == 200


def test_limited_routes_are_copies_and_each_kind_is_limited() -> None:
    """Two applications can have the same routes: neither charges for the other one, and none twice."""
    given: list[Route | Mount] = [Route("/one", serve_nothing), Mount("/two", PlainTextResponse("two"))]
    before = [route.app for route in given]
    once, again = (limit_by_address(given, UNLIMITED_ADDRESSES) for _ in range(2))
    assert [route.app for route in given] == before
    for route, limited, other in zip(given, once, again, strict=True):
        assert isinstance(limited, Route | Mount)
        assert isinstance(other, Route | Mount)
        assert isinstance(limited.app, AddressLimited)
        assert limited.app is not other.app
        assert limited.app._app is route.app
    with pytest.raises(TypeError, match="no limit by address"):
        limit_by_address([WebSocketRoute("/socket", serve_nothing)], UNLIMITED_ADDRESSES)


async def serve_nothing(request: Request) -> Response:
    return Response()
