"""The answers of /graphql to browsers and clients: the IDE, a page that says how to enable it, or data."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape
from typing import Any

import httpx
import pytest

from tests.app.test_login_page import add_applications, database
from tests.support.servers import ON_SQLITE_ONLY
from wattgate.app.demo import logins
from wattgate.app.demo.demo_settings import describe_demonstration
from wattgate.app.server.factory import create_app
from wattgate.app.server.gate.response_headers import OWN_FILES
from wattgate.app.server.pages.pages import STATIC_DIRECTORY
from wattgate.app.settings import Settings

__all__ = ["database"]

BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
IDE, ENDPOINT = "/static/ide/main.js", "WATTGATE_GRAPHQL_IDE=true"
QUERY = "{ __typename }"


@asynccontextmanager
async def opened(url: str, **more: Any) -> AsyncIterator[httpx.AsyncClient]:
    application = create_app(Settings(_env_file=None, database_url=url, **more), demonstration=describe_demonstration())
    transport = httpx.ASGITransport(application)
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8123") as http:
            yield http
    finally:
        await application.state.gateway.database.close()


@ON_SQLITE_ONLY
@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        ({"environment": "development"}, IDE),
        ({"environment": "development", "graphql_ide": False}, ENDPOINT),
        ({"environment": "production"}, ENDPOINT),
        ({"environment": "production", "graphql_ide": True}, IDE),
    ],
)
async def test_setting_decides_what_a_browser_gets(database: str, settings: dict[str, Any], shown: str) -> None:
    async with opened(database, **settings) as http:
        page = await http.get("/graphql", headers=BROWSER)
        assert page.status_code == 200
        assert shown in page.text
        assert page.headers["content-type"].startswith("text/html")
        assert page.headers["content-security-policy"] == OWN_FILES
        assert "Accept" in page.headers["vary"]
        assert "$" not in page.text, "no placeholder is left"
        landing = (await http.get("/")).text
        assert ("An editor opens in the browser" in landing) is (shown is IDE)
        # production publishes no log-in, even if it serves the demonstration
        published = logins.PASSWORD in unescape(page.text)
        assert published is (shown is IDE and settings["environment"] == "development")


@ON_SQLITE_ONLY
async def test_requests_get_data_whatever_they_accept(database: str) -> None:
    async with opened(database, environment="development") as http:
        answer = await http.get("/graphql", params={"query": QUERY}, headers=BROWSER)
        assert answer.json()["data"] == {"__typename": "Query"}
        assert (await http.post("/graphql", json={"query": QUERY}, headers=BROWSER)).json()["data"]
        assert (await http.get("/graphql")).status_code == 400
        assert (await http.get("/graphql", params={"application": "nothing"}, headers=BROWSER)).text.count(IDE) == 1


@ON_SQLITE_ONLY
async def test_page_knows_the_application_and_escapes_what_the_address_names(database: str) -> None:
    await add_applications(database, "one", "two")
    async with opened(database, environment="production", graphql_ide=True) as http:
        page = (await http.get("/graphql", headers=BROWSER)).text
        assert "This gateway serves several applications." in page
        page = (await http.get("/graphql", params={"application": '"><script>x'}, headers=BROWSER)).text
        assert "<script>x" not in page


def test_page_loads_files_of_the_gateway_only() -> None:
    """A policy blocks other files too, but a page that needs them would be blank."""
    addresses = re.compile(r"""(?:src|href|url|from|import)\s*[=(]?\s*["']?(?:https?:)?//""")
    files = [path for path in (STATIC_DIRECTORY / "ide").rglob("*") if path.suffix in {".html", ".js", ".css"}]
    assert len(files) > 30
    assert [path.name for path in files if addresses.search(path.read_text())] == []
