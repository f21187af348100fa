"""Every response has the security headers of its row in the table, and every route has a row."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute

from tests.support.schema import bring_up
from wattgate.app.server.factory import create_app
from wattgate.app.server.gate.response_headers import (
    API,
    BASE,
    HEADER_POLICIES,
    HTML_POLICIES,
    MAIL_PAGE,
    MOUNTS,
    PAGE,
    HeaderPolicies,
    HeaderPolicy,
)
from wattgate.app.server.pages.mail_outbox import outbox_routes
from wattgate.app.server.pages.pages import STATIC_DIRECTORY
from wattgate.app.settings import Settings

BASE_PATH = "/api/v0-1"
STRICT_DIRECTIVES = ("default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'")
UNSAFE_REASONED = {MAIL_PAGE, HEADER_POLICIES["/outbox/mails/{application_id}/{delivery_id}/html"]}


def settings(folder: Path, **more: str) -> Settings:
    """Return settings with which the gateway has every route."""
    return Settings.model_validate(
        {
            "database_url": f"sqlite:///{folder / 'headers.sqlite3'}",
            "environment": "development",
            "public_url": "http://gateway.example",
            "link_key": "k" * 32,
            "mail_from": "alerts@gateway.example",
            **more,
        }
    )


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[Starlette]:
    chosen = settings(tmp_path)
    application = create_app(chosen)
    await bring_up(application.state.gateway.database)
    yield application
    await application.state.gateway.database.close()


def client(application: Starlette, scheme: str = "http") -> httpx.AsyncClient:
    transport = httpx.ASGITransport(application, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url=f"{scheme}://gateway.example")


def walk(routes: list[BaseRoute], prefix: str = "") -> Iterator[tuple[str, BaseRoute]]:
    """Yield the path of each route and mount, without those below the mounts of the table."""
    for route in routes:
        assert isinstance(route, Route | Mount | WebSocketRoute), route
        path = prefix + route.path
        if isinstance(route, Mount) and path.replace(BASE_PATH, BASE) not in MOUNTS:
            yield from walk(route.routes, path)
        else:
            yield path, route


IN_EVERY_RESPONSE = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}
IN_EVERY_DOCUMENT = {**IN_EVERY_RESPONSE, "cross-origin-opener-policy": "same-origin"}


def assert_policy(answer: httpx.Response, policy: HeaderPolicy, *, https: bool = False) -> None:
    for required, text in (IN_EVERY_DOCUMENT if policy.is_document else IN_EVERY_RESPONSE).items():
        assert answer.headers.get_list(required) == [text], (answer.url, required)
    for name, value in policy.headers:
        assert answer.headers.get_list(name.decode()) == [value.decode()], (answer.url, name)
    assert len(answer.headers.get_list("cache-control")) == 1, answer.url
    assert len(answer.headers.get_list("content-type")) == (1 if answer.content else 0), answer.url
    media_type = answer.headers.get("content-type", "")
    assert not media_type.startswith("text/") or media_type.endswith("; charset=utf-8"), answer.url
    assert ("strict-transport-security" in answer.headers) is https, answer.url


async def _fail(request: Request) -> Response:
    raise RuntimeError("a defect")


def test_every_route_has_a_row_and_every_row_a_route(app: Starlette) -> None:
    served = {path.replace(BASE_PATH, BASE) for path, _ in walk(app.routes)}
    assert served == set(HEADER_POLICIES)


async def test_every_route_answers_with_the_headers_of_its_row(app: Starlette) -> None:
    async with client(app) as http:
        for path, route in walk(app.routes):
            if isinstance(route, WebSocketRoute):
                continue
            policy = HEADER_POLICIES[path.replace(BASE_PATH, BASE)]
            requested = path.replace("{application_id}", "a").replace("{delivery_id}", "d").replace("{token}", "t")
            for method in ("GET", "POST", "DELETE", "OPTIONS"):
                answer = await http.request(method, requested)
                assert_policy(answer, policy)


async def test_every_static_file_has_the_headers_of_the_static_files(app: Starlette) -> None:
    async with client(app) as http:
        for file in STATIC_DIRECTORY.rglob("*"):
            if file.is_file():
                path = f"/static/{file.relative_to(STATIC_DIRECTORY).as_posix()}"
                answer = await http.get(path)
                assert answer.status_code == 200, path
                assert_policy(answer, HEADER_POLICIES["/static"])


async def test_errors_preflights_and_rest_answers_have_the_strictest_policy(app: Starlette) -> None:
    app.router.routes.insert(0, Route("/defect", _fail))
    preflight = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
    too_large = {"Content-Length": str(10**9)}
    async with client(app) as http:
        for answer, status in (
            (await http.get("/unknown"), 404),
            (await http.get(f"{BASE_PATH}/unknown"), 404),
            (await http.get(f"{BASE_PATH}//virtualentity/"), 401),
            (await http.get(f"{BASE_PATH}/ns/alert/a"), 401),
            (await http.patch("/display"), 405),
            (await http.options("/graphql", headers=preflight), 200),
            (await http.post("/graphql", headers=too_large), 413),
            (await http.post("/graphql", json={"query": "{ __typename }"}), 200),
            (await http.get("/defect"), 500),
        ):
            assert answer.status_code == status, answer.text
            assert_policy(answer, PAGE if answer.url.path == "/display" else API)


async def test_only_html_of_the_graphql_endpoint_has_the_policy_of_pages(app: Starlette) -> None:
    async with client(app) as http:
        page = await http.get("/graphql", headers={"Accept": "text/html"})
        assert page.headers["content-type"].startswith("text/html")
        assert_policy(page, PAGE)
        for accepted in ("application/json", "text/html"):
            answer = await http.get("/graphql?query={__typename}", headers={"Accept": accepted})
            assert_policy(answer, API)


async def test_strict_transport_security_is_sent_only_behind_https(app: Starlette, tmp_path: Path) -> None:
    async with client(app, "https") as http:
        assert_policy(await http.get("/display"), PAGE, https=True)
        app.router.routes.insert(0, Route("/defect", _fail))
        assert_policy(await http.get("/defect"), API, https=True)
    public = create_app(settings(tmp_path, public_url="https://gateway.example"))
    async with client(public) as http:
        assert_policy(await http.get("/display"), PAGE, https=True)
    await public.state.gateway.database.close()


def test_policies_run_no_inline_scripts_and_are_strict_without_a_reason() -> None:
    for path, policy in {**HEADER_POLICIES, **HTML_POLICIES}.items():
        directives = dict(part.split(maxsplit=1) for part in policy.content_security_policy.split("; ") if " " in part)
        assert directives["default-src"] == "'none'", path
        assert "frame-ancestors" in directives, path
        if policy not in UNSAFE_REASONED:
            assert "unsafe" not in policy.content_security_policy, path
            assert "https:" not in policy.content_security_policy, path
            assert all(directive in policy.content_security_policy for directive in STRICT_DIRECTIVES), path
        else:
            assert policy.reason, path
        assert "unsafe" not in directives.get("script-src", ""), path


def test_rows_of_the_outbox_are_its_routes() -> None:
    declared = {route.path for route in outbox_routes(None) if isinstance(route, Route)}  # type: ignore[arg-type]
    assert declared == {path for path in HEADER_POLICIES if path.startswith("/outbox")}
    assert HEADER_POLICIES["/outbox"] is MAIL_PAGE


def test_longest_mount_wins_and_unknown_paths_get_the_strictest_policy() -> None:
    policies = HeaderPolicies("/static/api")
    assert policies.find("/static/api/virtualentity") is API
    assert policies.find("/static/display/main.js") is HEADER_POLICIES["/static"]
    assert policies.find("/staticfile") is API
    assert policies.find("/nothing", b"text/html") is API
