"""The page "Your data" in a browser: stored readings, a copy of them, and the deletion of a home and of everything."""

import asyncio
import os
import re
import zipfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

import httpx
import pytest
from playwright.async_api import Browser, Page, Route, ViewportSize, expect
from sqlalchemy import create_engine, update

from tests.browser.displays import WITHOUT_WORKER
from tests.browser.page_checks import overflow_pixels, violations_in_both_schemes
from tests.support.command import wattgate
from tests.support.servers import serving
from wattgate.app.server.factory import create_app
from wattgate.app.settings import Settings
from wattgate.clock import utc_now
from wattgate.db.models import Token

pytestmark = pytest.mark.browser

ADA, BOB, EVE = "ada@example.org", "bob@example.org", "eve@example.org"
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
EVE_PASSWORD = "correct horse battery"
INVITE = """mutation ($homeId: ID!) { inviteHomeMember(homeId: $homeId, name: "Ada") {
  ... on HomeInvitation { code } } }"""
ACCEPT = "mutation ($code: String!) { acceptHomeInvitation(code: $code) { ... on SharedHome { homeId } } }"
HOMES = "{ viewer { homes { edges { node { homeId } } } } }"
READINGS = "localTime,value\n2026-01-05T00:00:00,0.25\n2026-02-01T00:00:00,0.5\n"


@dataclass(frozen=True, slots=True)
class Street:
    """The addresses of a private gateway and of one that bills, on the same database, and the passwords of users."""

    url: str
    billing_url: str
    application_id: str
    passwords: dict[str, str]
    database_url: str

    async def ask(self, username: str, query: str, **variables: Any) -> Any:
        """Send a GraphQL request as a user, and return its only field."""
        async with httpx.AsyncClient(base_url=self.url, timeout=30) as http:
            login = {"username": username, "password": self.passwords[username]}
            logged_in = await http.post("/api/v0-1/auth", headers={"applicationId": self.application_id}, json=login)
            body = {"query": query, "variables": variables}
            answer = await http.post("/graphql", headers={"token": logged_in.json()["token"]}, json=body)
            return next(iter(answer.json()["data"].values()))

    async def home_id(self, username: str) -> str:
        """Return the ID of the first home of a user."""
        return str((await self.ask(username, HOMES))["homes"]["edges"][0]["node"]["homeId"])

    def age_log_ins(self) -> None:
        """Let all log-ins be an hour old, so that a deletion needs the password."""
        engine = create_engine(self.database_url)
        with engine.begin() as connection:
            connection.execute(update(Token).values(authenticated_at=utc_now() - timedelta(hours=1)))
        engine.dispose()


@pytest.fixture(scope="module")
async def street(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Street]:
    folder = tmp_path_factory.mktemp("your-data")
    database_url, passwords = f"sqlite:///{folder / 'home.sqlite3'}", dict[str, str]()
    file = folder / "readings.csv"
    file.write_text(READINGS)
    for number, (user, name) in enumerate(((ADA, "My home"), (ADA, "Cabin"), (BOB, "Bob's"))):
        who = ("--application", "My app", "--user", user, "--name", name, "--time-zone", "Europe/London")
        created = await wattgate(database_url, "home", "create", *who, "--electricity", f"23000000001{number}6")
        for password in re.findall(rf"Password of {re.escape(user)}: (\S+)", created.stdout):
            passwords[user] = password
    await wattgate(database_url, "readings", "import", str(file), "--home", "My home")
    created = await wattgate(database_url, "user", "create", "My app", EVE, "--password", EVE_PASSWORD)
    passwords[EVE] = EVE_PASSWORD
    billing = create_app(Settings(_env_file=None, database_url=database_url))
    private = create_app(Settings(_env_file=None, database_url=database_url, private_gateway=True))
    async with serving(private) as url, serving(billing) as billing_url:
        application_id = (await wattgate(database_url, "app", "list")).stdout
        found = re.search(r"[0-9a-f]{8}-[0-9a-f-]{27}", application_id)
        assert found is not None, (created.stdout, application_id)
        yield Street(url, billing_url, found[0], passwords, database_url)


@pytest.fixture
async def page(browser: Browser, street: Street) -> AsyncIterator[Page]:
    """Yield a page that is not logged in. It has no message in the console, such as one about the content policy."""
    size = ViewportSize(width=1024, height=768)
    context = await browser.new_context(base_url=street.url, viewport=size, locale="en-GB", **WITHOUT_WORKER)
    page = await context.new_page()
    messages = list[str]()
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("console", lambda message: messages.append(message.text) if "Content Security" in message.text else None)
    yield page
    await context.close()
    assert messages == []


async def log_in(page: Page, username: str, password: str) -> None:
    await page.get_by_test_id("username").fill(username)
    await page.get_by_test_id("password").fill(password)
    await page.get_by_test_id("login").click()
    await expect(page.locator(".own-view")).to_be_visible()


async def check_look(page: Page, name: str) -> None:
    """Check the page on a phone and a desk, in light and dark."""
    assert await violations_in_both_schemes(page) == []
    for scheme in SCHEMES:
        await page.emulate_media(color_scheme=scheme)
        for width in (320, 1280):
            await page.set_viewport_size({"width": width, "height": 768})
            assert (await overflow_pixels(page))["across"] <= 0, (name, width)
            if pictures := os.environ.get("WATTGATE_TEST_PICTURES"):
                is_whole = not await page.get_by_test_id("own-dialog").is_visible()
                await page.screenshot(path=f"{pictures}/{name}-{scheme}-{width}.png", full_page=is_whole)
    await page.emulate_media(color_scheme="light")


async def test_a_household_takes_a_copy_deletes_a_home_and_then_everything(page: Page, street: Street) -> None:
    invitation = await street.ask(BOB, INVITE, homeId=await street.home_id(BOB))
    await street.ask(ADA, ACCEPT, code=invitation["code"])
    await page.goto("/your-data")
    await expect(page.locator(".welcome")).to_have_text("Log in to see, download or delete your data.")
    await log_in(page, ADA, street.passwords[ADA])
    homes = page.get_by_test_id("own-home-list").locator("> li")
    await expect(homes).to_have_count(3)
    await expect(homes.nth(0)).to_contain_text("Electricity: 5 January 2026 to 1 February 2026")
    await expect(homes.nth(1)).to_contain_text("no readings")
    await expect(homes.nth(2)).to_contain_text("Shared with you since")
    answers = page.get_by_test_id("own-answers").locator("section")
    await expect(answers).to_have_count(3)
    await expect(answers.nth(0)).to_contain_text("at least 14 of the last 28 days need all their readings")
    await expect(answers.nth(2)).to_contain_text("When to run what takes two hours")
    await _take_a_copy(page)
    await check_look(page, "homes")
    await _leave(page)
    await _delete_a_home(page, street)
    await _delete_everything(page, street)


async def _take_a_copy(page: Page) -> None:
    await page.get_by_test_id("export").click()
    download = page.get_by_test_id("download")
    await expect(download).to_be_visible(timeout=60_000)
    await expect(page.get_by_test_id("export-result")).to_contain_text("You can download it until")
    async with page.expect_download() as started:
        await download.click()
    saved = await started.value
    assert saved.suggested_filename == "my-data.zip"
    with zipfile.ZipFile(await saved.path()) as archive:
        assert {"README.txt", "manifest.json", "records/virtual_entity.json"} <= set(archive.namelist())


async def _leave(page: Page) -> None:
    """By the keyboard: Escape leaves nothing, and the focus returns to the button."""
    button = page.get_by_role("button", name="Leave home: Bob's")
    await button.focus()
    await page.keyboard.press("Enter")
    dialog = page.get_by_test_id("own-dialog")
    await expect(dialog).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()
    await expect(button).to_be_focused()
    await page.keyboard.press("Enter")
    await page.get_by_test_id("own-confirm").press("Enter")
    await expect(page.get_by_test_id("own-done")).to_have_text("You have left Bob's.")
    await expect(page.get_by_test_id("own-done")).to_be_focused()


async def _delete_a_home(page: Page, street: Street) -> None:
    """The page needs the name, then the password, because the log-in is old. A request that fails changes nothing."""
    street.age_log_ins()
    await page.get_by_role("button", name="Delete home: My home").click()
    error, confirm = page.get_by_test_id("own-dialog-error"), page.get_by_test_id("own-confirm")
    await page.get_by_test_id("own-name").fill("Cabin")
    await confirm.click()
    await expect(error).to_have_text("This is not the name of the home. Type: My home")
    await expect(page.get_by_test_id("own-name")).to_be_focused()
    await page.get_by_test_id("own-name").fill(" my  home")
    await confirm.click()
    await expect(error).to_have_text("You logged in some time ago. Enter your password.")
    await page.get_by_test_id("own-password").fill("wrong horse")
    await confirm.click()
    await expect(error).to_have_text("The password is wrong.")
    await check_look(page, "dialog")
    await page.get_by_test_id("own-password").fill(street.passwords[ADA])
    await page.route("**/graphql", lambda route: route.abort())
    await confirm.click()
    await expect(error).to_contain_text("The gateway cannot be reached.")
    await page.unroute("**/graphql")
    await confirm.click()
    await expect(page.get_by_test_id("own-done")).to_contain_text("My home is deleted.")
    await expect(page.get_by_test_id("own-home-list").locator("> li")).to_have_count(1)
    await expect(page.get_by_test_id("download")).to_be_hidden()  # the copy had the readings of the home
    await check_look(page, "deleted")


async def _delete_everything(page: Page, street: Street) -> None:
    await page.get_by_test_id("erase-everything").click()
    await page.get_by_test_id("own-confirm").click()
    await expect(page.get_by_test_id("own-dialog-error")).to_have_text("Enter your password.")
    await page.get_by_test_id("own-password").fill(street.passwords[ADA])
    await page.keyboard.press("Enter")
    await expect(page.get_by_test_id("own-farewell")).to_be_visible()
    await expect(page.get_by_test_id("own-home-list")).to_be_hidden()
    await check_look(page, "farewell")
    await page.reload()
    await expect(page.get_by_test_id("login-form")).to_be_visible()
    await page.get_by_test_id("username").fill(ADA)
    await page.get_by_test_id("password").fill(street.passwords[ADA])
    await page.get_by_test_id("login").click()
    await expect(page.locator(".login-form .error")).to_be_visible()


async def test_a_gateway_that_bills_closes_homes_and_says_what_it_keeps(page: Page, street: Street) -> None:
    """In French, without a home, with a copy that is being prepared and one that has failed."""
    await page.goto(f"{street.billing_url}/your-data?lang=fr")
    await log_in(page, EVE, EVE_PASSWORD)
    await expect(page.get_by_test_id("own-no-homes")).to_have_text(
        "Vous n’avez aucun logement ici, et personne n’en partage avec vous."
    )
    await expect(page.get_by_test_id("erase-everything")).to_be_hidden()
    await expect(page.get_by_test_id("own-kept")).to_contain_text("pendant 6 ans")
    states = [
        {"state": "RUNNING", "progress": 0.4},
        {"state": "FAILED", "progress": 0.4, "reason": "it was interrupted 5 times"},
    ]
    is_seen = asyncio.Event()

    async def answer(route: Route) -> None:
        document = (route.request.post_data_json or {})["query"]
        name = "exportMyData" if "exportMyData" in document else "dataExport"
        if name == "dataExport":
            await is_seen.wait()
        state = states[0 if name == "exportMyData" else 1] | {"createdAt": "2026-01-01T00:00:00Z"}
        await route.fulfill(json={"data": {name: state}})

    await page.route("**/graphql", answer)
    await page.get_by_test_id("export").click()
    await expect(page.get_by_test_id("export-state")).to_contain_text("en préparation")
    await check_look(page, "preparing")
    is_seen.set()
    await expect(page.get_by_test_id("export-result")).to_contain_text("it was interrupted 5 times")
    await page.unroute("**/graphql")
    await page.get_by_test_id("logout").click()
    await log_in(page, BOB, street.passwords[BOB])
    await page.get_by_role("button", name="Fermer le logement").click()
    await page.get_by_test_id("own-name").fill("Bob's")
    await check_look(page, "close")
    await page.get_by_test_id("own-confirm").click()
    await expect(page.get_by_test_id("own-done")).to_have_text("Bob's est fermé.")
    await _meet_failures(page)


async def _meet_failures(page: Page) -> None:
    """A refusal by its words, a gateway that does not answer, and a session that has ended."""
    answers: list[dict[str, Any] | None] = [
        {"data": {"exportMyData": {"refusal": "CONFLICT", "message": "User 7 is erased."}}},
        None,
        {"errors": [{"message": "The token has expired.", "extensions": {"code": "UNAUTHENTICATED"}}]},
    ]

    async def answer(route: Route) -> None:
        body = answers.pop(0)
        await (route.abort() if body is None else route.fulfill(json=body))

    await page.route("**/graphql", answer)
    notice = page.get_by_test_id("own-notice")
    for expected in ("User 7 is erased.", "La passerelle est injoignable."):
        await page.get_by_test_id("export").click()
        await expect(notice).to_contain_text(expected)
        await expect(notice).to_be_focused()
    await page.get_by_test_id("export").click()
    await expect(page.get_by_test_id("login-form")).to_be_visible()
    await expect(page.locator(".login-form .error")).to_contain_text("session")
    await page.unroute("**/graphql")
