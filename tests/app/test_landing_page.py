"""The landing page is right on each gateway: the demonstration, an own gateway in development, and production."""

import html
import re
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest

from tests.app.test_login_page import add_applications, database, opened
from tests.support.markdown import code_blocks
from wattgate.app.demo import logins, seed
from wattgate.app.demo.demo_settings import describe_demonstration
from wattgate.app.server.factory import create_app
from wattgate.app.settings import Settings

__all__ = ["database"]

Environment = Literal["development", "production"]
SQLITE_ONLY = pytest.mark.parametrize("databases", ["sqlite"], indirect=True)
SECRETS = (seed.APPLICATION_ID, logins.USERNAME, logins.EDITOR_USERNAME, logins.PASSWORD)


@asynccontextmanager
async def demonstration(url: str, environment: Environment = "development") -> AsyncIterator[httpx.AsyncClient]:
    settings = Settings(_env_file=None, database_url=url, environment=environment)
    application = create_app(settings, demonstration=describe_demonstration())
    transport = httpx.ASGITransport(application)
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8123") as http:
            yield http
    finally:
        await application.state.gateway.database.close()


async def landing(http: httpx.AsyncClient, **headers: str) -> str:
    page = await http.get("/", headers=headers)
    assert page.status_code == 200
    assert "$" not in page.text, "no placeholder is left"
    return page.text


def text_of(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


@SQLITE_ONLY
async def test_demonstration_shows_its_logins_and_its_number_of_homes(database: str) -> None:
    async with demonstration(database) as http:
        text = text_of(await landing(http))
        assert f"This demonstration has {len(seed.HOMES)} homes with 13 months of readings." in text
        for login in logins.LOGINS:
            assert login.username in text
            assert login.shows in text
        assert {home.owner for home in seed.HOMES} <= {login.username for login in logins.LOGINS}
        for shown in SECRETS:
            assert shown in text
        assert "curl http://localhost:8123/api/v0-1/auth" in text
        assert "wattgate home create" not in text


@SQLITE_ONLY
async def test_demonstration_in_production_shows_no_login(database: str) -> None:
    async with demonstration(database, "production") as http:
        page = await landing(http)
        for secret in SECRETS:
            assert secret not in page
        assert "demonstration" not in page


async def test_own_gateway_in_development_names_the_next_steps(database: str) -> None:
    async with opened(database, environment="development") as http:
        empty = text_of(await landing(http))
        assert "wattgate home create --application" in empty
        assert "wattgate readings import" in empty
        assert "Your own meter on the wall" in empty
        assert "curl" not in empty, "nobody can log in yet"
        (mine,) = await add_applications(database, "mine")
        text = text_of(await landing(http))
        assert "wattgate home create" in text
        assert f"-H 'applicationId: {mine}'" in text
        assert 'class="card" href="/graphql"' in await landing(http)


@SQLITE_ONLY
async def test_next_steps_are_the_commands_of_the_tutorial(database: str) -> None:
    tutorial = (Path(__file__).parents[2] / "docs" / "tutorials" / "own-meter.md").read_text()
    commands = {tuple(shlex.split(block)) for block in code_blocks(tutorial, "sh") if "\n" not in block.strip()}
    async with opened(database) as http:
        (steps,) = re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", await landing(http), re.DOTALL)
    lines = html.unescape(steps).replace("\\\n", "").splitlines()
    assert len(lines) == 2
    assert {tuple(shlex.split(line)) for line in lines} <= commands


async def test_production_names_only_what_its_users_need(database: str) -> None:
    async with opened(database, environment="production") as http:
        assert "wattgate home create" in await landing(http), "the operator of a new gateway needs the next step"
        await add_applications(database, "mine", "other")
        page = await landing(http)
        assert "wattgate home create" not in page
        assert "-H 'applicationId: APPLICATION_ID'" in page, "the page does not list the tenants"
        assert 'href="/graphql"' not in page, "production serves no page there"
        assert "/graphql" in page
        assert 'href="/display"' in page


@SQLITE_ONLY
@pytest.mark.parametrize(
    ("headers", "base"),
    [
        ({"Host": "192.168.1.20:8765"}, "http://192.168.1.20:8765"),
        ({"Host": "[fd00::20]:8765"}, "http://[fd00::20]:8765"),
        ({"Host": "energy.example", "X-Forwarded-Proto": "https"}, "https://energy.example"),
        ({"Host": "energy.example", "X-Forwarded-Host": "evil.example"}, "http://energy.example"),
        ({"Host": 'a"><script>alert(1)</script>'}, "http://127.0.0.1:8444"),
        ({"Host": "x.example;reboot"}, "http://127.0.0.1:8444"),
        ({"Host": "$(reboot)"}, "http://127.0.0.1:8444"),
        ({"Host": "user@evil.example"}, "http://127.0.0.1:8444"),
        ({"Host": ""}, "http://127.0.0.1:8444"),
    ],
)
async def test_curl_follows_the_address_of_the_request(database: str, headers: dict[str, str], base: str) -> None:
    await add_applications(database, "mine")
    settings: dict[str, Any] = {"port": 8444, "base_path": "/rest/v1", "trusted_proxies": ["127.0.0.0/8"]}
    async with opened(database, **settings) as http:
        page = await landing(http, **headers)
        assert f"curl {base}/rest/v1/auth " in page
        assert 'href="/rest/v1/docs"' in page
        assert "/api/v0-1" not in page
        assert "<script" not in page
        assert "evil" not in page


@SQLITE_ONLY
async def test_forwarded_scheme_of_a_stranger_is_not_believed(database: str) -> None:
    await add_applications(database, "mine")
    async with opened(database) as http:
        page = await landing(http, **{"Host": "energy.example", "X-Forwarded-Proto": "https"})
        assert "curl http://energy.example/" in page


@SQLITE_ONLY
async def test_public_url_replaces_an_unusable_host(database: str) -> None:
    await add_applications(database, "mine")
    async with opened(database, public_url="https://energy.example/") as http:
        assert "curl https://energy.example/api/v0-1/auth " in await landing(http, Host="a b")
