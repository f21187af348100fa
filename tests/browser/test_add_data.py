"""The page "Add data" in a browser: a file of another country, a question, the preview, and the year on the display."""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

import pytest
from playwright.async_api import Browser, FilePayload, Page, Route, ViewportSize, expect

from tests.browser.displays import WITHOUT_WORKER, open_login_form
from tests.browser.page_checks import overflow_pixels, violations_in_both_schemes
from tests.support.command import wattgate
from tests.support.servers import serving
from wattgate.app.server.factory import create_app
from wattgate.app.settings import Settings

pytestmark = pytest.mark.browser

BERLIN = ZoneInfo("Europe/Berlin")
YEAR = 366 * 48
USER = "ada@example.org"
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def german_year() -> tuple[bytes, int]:
    """Return a year up to now as a German spreadsheet writes it, and the number of months in which it has readings.

    The file has UTF-16, semicolons and decimal commas. On the first day of a month, it begins in the month before.
    """
    end = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    instants = [(end - (YEAR - number) * timedelta(minutes=30)).astimezone(BERLIN) for number in range(YEAR)]
    lines = "".join(f"{instant:%d.%m.%Y %H:%M};0,250\r\n" for instant in instants)
    months = {(instant.year, instant.month) for instant in instants}
    return f"Datum;Verbrauch (kWh)\r\n{lines}".encode("utf-16"), len(months)


@dataclass(frozen=True, slots=True)
class OwnHome:
    """The address of a gateway with a home without readings, and the password of its user."""

    url: str
    password: str


@pytest.fixture(scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[OwnHome]:
    database_url = f"sqlite:///{tmp_path_factory.mktemp('add-data') / 'home.sqlite3'}"
    who = ("--application", "My app", "--user", USER, "--name", "My home", "--time-zone", "Europe/Berlin")
    prices = ("--unit-rate", "0.245", "--standing-charge", "0.538")
    created = await wattgate(database_url, "home", "create", *who, "--electricity", "2300000000116", *prices)
    (password,) = re.findall(rf"Password of {re.escape(USER)}: (\S+)", created.stdout)
    async with serving(create_app(Settings(_env_file=None, database_url=database_url))) as url:
        yield OwnHome(url, password)


@pytest.fixture
async def page(browser: Browser, home: OwnHome) -> AsyncIterator[Page]:
    """Yield a page that has logged in. It has no message in the console, such as one about the content policy."""
    size = ViewportSize(width=1024, height=768)
    context = await browser.new_context(base_url=home.url, viewport=size, **WITHOUT_WORKER)
    page = await context.new_page()
    messages = list[str]()
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("console", lambda message: messages.append(message.text) if "Content Security" in message.text else None)
    await open_login_form(page)
    await page.get_by_test_id("username").fill(USER)
    await page.get_by_test_id("password").fill(home.password)
    await page.get_by_test_id("login").click()
    await expect(page.locator(".display-view")).to_be_visible()
    yield page
    await context.close()
    assert messages == []


RECORD_PROGRESS = """() => {
  const [bar, title] = [document.querySelector("progress"), document.querySelector("#progress-title")];
  window.shownProgress = [];
  new MutationObserver(() => bar.hasAttribute("value") && window.shownProgress.push([title.textContent, bar.value]))
    .observe(bar, { attributeFilter: ["value"] });
}"""
"""Record each part that the bar shows, with the title above it."""

OWN_PROFILE = b"""
title = "Solar inverter"
text = { delimiters = ["pipe"], decimal = "comma" }
time = { date_order = "day-first", times = "start", interval = "PT30M" }
columns = { time = ["zeit"] }
values = [{ columns = ["ertrag"], unit = "kWh" }]
"""


async def check_look(page: Page, name: str) -> None:
    """Check the page on a phone and a desk, in light and dark."""
    assert await violations_in_both_schemes(page) == []
    for scheme in SCHEMES:
        await page.emulate_media(color_scheme=scheme)
        for width in (320, 1024):
            await page.set_viewport_size({"width": width, "height": 768})
            assert (await overflow_pixels(page))["across"] <= 0, (name, width)
    await page.emulate_media(color_scheme="light")


async def test_a_file_of_another_country_fills_the_year_on_the_display(page: Page) -> None:
    await page.get_by_test_id("add-data").click()
    await expect(page.get_by_test_id("file-form")).to_be_visible()
    await check_look(page, "file")
    content, months = german_year()
    file = FilePayload(name="Verbrauch.txt", mimeType="text/plain", buffer=content)
    await page.get_by_test_id("data-file").set_input_files(files=file)
    questions = page.get_by_test_id("data-questions")
    await expect(questions).to_be_visible(timeout=60_000)
    await expect(page.get_by_test_id("recognized")).to_contain_text("German spreadsheet")
    await expect(questions.locator("fieldset")).to_have_count(1)
    await page.get_by_test_id("to-preview").click()
    await expect(page.get_by_test_id("question-error")).to_have_text("Answer each question first.")
    await check_look(page, "question")
    await page.keyboard.press("Space")  # the first answer has the focus
    await page.keyboard.press("Enter")
    report = page.get_by_test_id("data-report")
    await expect(report).to_be_visible(timeout=60_000)
    await expect(report).to_contain_text("17,568 readings would be stored")
    await expect(report).to_contain_text("4,392 kWh")
    await expect(page.locator(".months tbody tr")).to_have_count(months)
    await check_look(page, "preview")
    await page.evaluate(RECORD_PROGRESS)
    await page.get_by_test_id("store").click()
    await expect(report).to_contain_text("17,568 readings are stored", timeout=60_000)
    shown = await page.evaluate("window.shownProgress")
    assert any(title.startswith("Storing") and 0.4 < float(value) < 1 for title, value in shown), shown
    await check_look(page, "result")
    await page.get_by_test_id("show-display").click()
    await page.get_by_role("radio", name="13 months").check(force=True)
    await expect(page.locator(".bar")).to_have_count(13)
    await page.get_by_role("radio", name="Electricity").check(force=True)
    await expect(page.locator(".bar").nth(6)).to_have_attribute("aria-label", re.compile(r"3[3-7]\d kWh"))
    await expect(page.get_by_test_id("add-data")).to_be_hidden()


async def test_a_file_that_is_not_understood_is_explained(page: Page) -> None:
    """The file is chosen before the page has read the homes."""
    is_chosen = asyncio.Event()

    async def hold(route: Route) -> None:
        await is_chosen.wait()
        await route.continue_()

    await page.route("**/graphql", hold)
    await page.goto("/add-data?lang=fr")
    file = FilePayload(name="mémo.txt", mimeType="text/plain", buffer=b"Milk and bread\n")
    await page.get_by_test_id("data-file").set_input_files(files=file)
    is_chosen.set()
    await expect(page.get_by_test_id("recognized")).to_contain_text("n’est pas reconnu")
    await expect(page.get_by_test_id("to-preview")).to_be_hidden()
    await check_look(page, "unknown")
    await page.locator(".question-form .other-file").click()
    bad = FilePayload(name="book.zip", mimeType="application/zip", buffer=b"PK\x05\x06" + bytes(18))
    await page.get_by_test_id("data-file").set_input_files(files=bad)
    await expect(page.get_by_test_id("data-notice")).to_contain_text("is an empty ZIP archive")
    await expect(page.get_by_test_id("file-form")).to_be_visible()


async def test_a_profile_of_your_own_reads_a_file(page: Page) -> None:
    await page.goto("/add-data")
    table = FilePayload(name="solar.txt", mimeType="text/plain", buffer=b"Zeit|Ertrag\n01.02.2025 10:00|0,5\n")
    await page.get_by_test_id("data-file").set_input_files(files=table)
    questions, own = page.get_by_test_id("data-questions"), page.get_by_test_id("own-profile")
    await expect(questions).to_be_visible()
    await page.locator(".own-profile summary").click()
    await check_look(page, "own profile")
    for content, message in ((b"#" * 4_001, "at most 4,000"), (b"title = ", "is not TOML")):
        await own.set_input_files(files=FilePayload(name="solar.toml", mimeType="", buffer=content))
        await expect(page.get_by_test_id("data-notice")).to_contain_text(message)
        await expect(questions).to_be_visible()
    await own.set_input_files(files=FilePayload(name="solar.toml", mimeType="", buffer=OWN_PROFILE))
    await expect(page.get_by_test_id("recognized")).to_contain_text("Solar inverter")
    await page.get_by_test_id("to-preview").click()
    await expect(page.get_by_test_id("data-report")).to_contain_text("1 reading would be stored")
    await page.get_by_test_id("back").click()
    await expect(page.get_by_test_id("recognized")).to_contain_text("Solar inverter")
