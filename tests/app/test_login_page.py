"""The log-in pages find the application of their users: the only one, that of the setting, or that of the address."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.schema import bring_up
from tests.support.servers import Databases, Relay, serving
from wattgate.app.demo import logins, seed
from wattgate.app.server.factory import build_gateway, create_app
from wattgate.app.server.pages import login_application
from wattgate.app.server.pages.pages import STATIC_DIRECTORY
from wattgate.app.settings import Settings
from wattgate.operations.accounts import provisioning
from wattgate.principal import Principal, Role

PAGES = ["/display", "/preview"]
each_page = pytest.mark.parametrize("path", PAGES)
LOGIN_FORM = re.compile(r'<form class="login-form"[^>]*?>')
NOTICE = re.compile(r'data-testid="login-notice">(.*?)</div>', re.DOTALL)

UNKNOWN, OTHER_UNKNOWN = "0f0e0d0c-0b0a-4908-8706-050403020100", "11223344-5566-4778-899a-abbccddeeff0"


@pytest.fixture
async def database(databases: Databases) -> AsyncIterator[str]:
    async with databases() as url:
        gateway = build_gateway(Settings(_env_file=None, database_url=url))
        await bring_up(gateway.database)
        await gateway.database.close()
        yield url


@asynccontextmanager
async def opened(url: str, **settings: Any) -> AsyncIterator[httpx.AsyncClient]:
    """Serve the pages of a gateway on a database to a client."""
    application = create_app(Settings(_env_file=None, database_url=url, **settings))
    transport = httpx.ASGITransport(application)
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://gateway.example") as http:
            yield http
    finally:
        await application.state.gateway.database.close()


async def add_applications(url: str, *names: str) -> list[str]:
    """Create applications and return their IDs."""
    gateway = build_gateway(Settings(_env_file=None, database_url=url))
    try:
        arguments = [{"name": name, "username": name} for name in names]
        system = Principal(Role.SYSTEM)
        run = gateway.runner.run
        return [(await run(provisioning.create_application, system, each)).application_id for each in arguments]
    finally:
        await gateway.database.close()


def form_of(page: httpx.Response) -> dict[str, str]:
    """Return the attributes of the log-in form. It is hidden if the attribute `hidden` is present."""
    assert page.status_code == 200
    (form,) = LOGIN_FORM.findall(page.text)
    attributes = dict(re.findall(r'([\w-]+)="([^"]*)"', form))
    return attributes | ({"hidden": ""} if " hidden" in form else {})


def application_of(page: httpx.Response) -> str | None:
    """Return the ID of the application to which the page logs in, or None if it asks for it."""
    form = form_of(page)
    assert ("hidden" in form) is (not form["data-application"])
    return form["data-application"] or None


def notice_of(page: httpx.Response) -> str:
    """Return the text of the notice, without markup and line breaks."""
    found = NOTICE.search(page.text)
    return " ".join(re.sub(r"<[^>]+>", "", found[1]).split()) if found else ""


@each_page
async def test_only_application_is_the_default(database: str, path: str) -> None:
    (mine,) = await add_applications(database, "mine")
    async with opened(database) as http:
        page = await http.get(path)
        assert (application_of(page), notice_of(page)) == (mine, "")
        assert form_of(page)["data-session-scope"] == ""
        assert 'name="application"' not in page.text, "there is no other application to choose"


@each_page
async def test_gateway_without_an_application_names_the_command_that_creates_one(database: str, path: str) -> None:
    async with opened(database) as http:
        page = await http.get(path)
        assert application_of(page) is None
        assert notice_of(page).startswith("This gateway has no application yet.")
        assert "wattgate home create" in notice_of(page)
        await add_applications(database, "mine")
        assert application_of(await http.get(path)), "a page that is loaded again finds the new application"


@each_page
async def test_several_applications_need_a_choice(database: str, path: str) -> None:
    mine, other = await add_applications(database, "mine", "other")
    async with opened(database) as http:
        page = await http.get(path)
        assert application_of(page) is None
        assert "several applications" in notice_of(page)
        assert "WATTGATE_DISPLAY_APPLICATION_ID" in notice_of(page)
        assert 'name="application"' in page.text
        for private in (mine, other, ">mine<", ">other<"):
            assert private not in page.text, "a page does not list the tenants"
        for application_id in (mine, other):
            assert application_of(await http.get(path, params={"application": application_id})) == application_id


@each_page
async def test_setting_names_the_default_and_the_address_overrides_it(database: str, path: str) -> None:
    mine, other = await add_applications(database, "mine", "other")
    async with opened(database, display_application_id=other.upper()) as http:
        assert application_of(await http.get(path)) == other
        for params in ({"application": mine}, {"applicationId": mine}, {"application": f" {mine.upper()} "}):
            page = await http.get(path, params=params)
            assert application_of(page) == mine
            assert form_of(page)["data-session-scope"] == mine
        assert application_of(await http.get(path, params={"application": ""})) == other


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("application=My+app", "“My app” is not an application ID. An ID has the form "),
        ("application=%3Cscript%3E%26%22%27", "“&lt;script&gt;&amp;&quot;&#x27;” is not an application ID."),
        (f"application={'x' * 5000}", f"“{'x' * 60}…” is not an application ID."),
        (f"application={UNKNOWN}", "No application of this gateway has the ID "),
        (f"applicationId={UNKNOWN}", "No application of this gateway has the ID "),
        (
            f"application={UNKNOWN}&applicationId={OTHER_UNKNOWN}",
            "The address of this page names several applications.",
        ),
        (f"application={UNKNOWN}&application={OTHER_UNKNOWN}", "The address of this page names several applications."),
    ],
)
async def test_wrong_application_of_the_address_is_explained(database: str, query: str, message: str) -> None:
    await add_applications(database, "mine")
    async with opened(database) as http:
        page = await http.get(f"/display?{query}")
        assert application_of(page) is None, "the default does not replace it"
        assert notice_of(page).startswith(message)
        assert "<script>&" not in page.text
        assert 'name="application"' in page.text
        assert form_of(page)["data-session-scope"] not in ("", None), "the session of the default is not used"


async def test_same_application_named_twice_is_accepted(database: str) -> None:
    (mine,) = await add_applications(database, "mine")
    async with opened(database) as http:
        page = await http.get(f"/display?application={mine}&applicationId={mine.upper()}")
        assert application_of(page) == mine


async def test_setting_that_names_no_application_is_reported_on_the_page_and_in_the_log(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    (mine,) = await add_applications(database, "mine")
    application = create_app(Settings(_env_file=None, database_url=database, display_application_id=UNKNOWN))
    async with serving(application) as url, httpx.AsyncClient(base_url=url) as http:
        page = await http.get("/display")
        assert application_of(page) is None
        assert "WATTGATE_DISPLAY_APPLICATION_ID" in notice_of(page)
        assert application_of(await http.get("/display", params={"application": mine})) == mine
    (record,) = [one for one in caplog.records if "WATTGATE_DISPLAY_APPLICATION_ID" in one.message]
    assert record.levelname == "WARNING"
    assert UNKNOWN in record.message
    assert "wattgate app list" in record.message


@pytest.mark.parametrize("databases", ["postgresql"], indirect=True)
async def test_page_is_served_while_the_database_does_not_answer(database: str) -> None:
    (mine,) = await add_applications(database, "mine")
    relay = Relay(database)
    await relay.open()
    async with opened(relay.url) as http:
        assert application_of(await http.get("/display")) == mine
        await relay.cut()
        for query in ("", f"?application={mine}"):
            page = await http.get(f"/display{query}")
            assert application_of(page) is None
            assert notice_of(page).startswith("The gateway cannot reach its database.")
            assert form_of(page)["data-session-scope"] == query.partition("=")[2], "a stored session stays in use"
        assert (await http.get("/")).status_code == 200


async def test_page_waits_for_the_database_for_a_bounded_time(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    await add_applications(database, "mine")
    monkeypatch.setattr(login_application, "MAX_LOOKUP_SECONDS", 0.05)
    application = create_app(Settings(_env_file=None, database_url=database))
    runner = application.state.gateway.runner
    blocked = asyncio.Event()

    async def never_ends(**arguments: Any) -> None:
        await blocked.wait()

    monkeypatch.setattr(runner, "list_applications", never_ends)
    transport = httpx.ASGITransport(application)
    async with httpx.AsyncClient(transport=transport, base_url="http://gateway.example") as http:
        page = await http.get("/display")
        assert notice_of(page).startswith("The gateway cannot reach its database.")
    await application.state.gateway.database.close()


@each_page
@pytest.mark.parametrize("environment", ["development", "production"])
async def test_no_page_has_the_application_of_the_demonstration(database: str, path: str, environment: str) -> None:
    await add_applications(database, "mine")
    async with opened(database, environment=environment) as http:
        for page in (path, "/", f"{path}?application={UNKNOWN}"):
            text = (await http.get(page)).text
            for secret in (seed.APPLICATION_ID, logins.USERNAME, logins.EDITOR_USERNAME, logins.PASSWORD):
                assert secret not in text, page


def test_no_static_file_has_a_login_of_the_demonstration() -> None:
    for file in (path for path in Path(STATIC_DIRECTORY).rglob("*") if path.suffix in {".html", ".js", ".css"}):
        for secret in (seed.APPLICATION_ID, logins.USERNAME, logins.PASSWORD):
            assert secret not in file.read_text(), file


@pytest.mark.parametrize("text", ["", "mine", "b0f1b774", f"{UNKNOWN} ", f"{{{UNKNOWN}}}"])
def test_malformed_setting_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not an application ID such as .*`wattgate app list` prints the IDs"):
        Settings(_env_file=None, display_application_id=text)
