"""Pairing of a display in real browsers: one browser is the screen on the wall, another one is the phone."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, Page, Response, Route, expect
from sqlalchemy import create_engine, update

from tests.browser.controlled_homes import FIRST_HOME, SECOND_HOME, ControlledHomes, controlled_homes
from tests.browser.displays import PASSWORD, USERNAME, WITHOUT_WORKER
from tests.browser.kept_pages import KeptPages, kept_pages
from tests.browser.page_checks import accessibility_violations, overflow_pixels
from wattgate.app.demo import logins
from wattgate.clock import utc_now
from wattgate.db.models import DisplayPairing

pytestmark = pytest.mark.browser

CODE_TEXT = re.compile(r"^[2-9A-Z]{4}-[2-9A-Z]{4}$")
POLL_TIMEOUT_MS = 20_000
"""A screen asks for the decision every five seconds."""
REVOCATION_TIMEOUT_MS = 5_000
PANELS = ((320, 240), (480, 320), (800, 480), (1024, 600), (1280, 800), (1920, 1080), (768, 1024))
PHONE = (390, 844)
GRAPHQL = re.compile(r"/graphql$")


@pytest.fixture(scope="module")
async def homes(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ControlledHomes]:
    async with controlled_homes(tmp_path_factory.mktemp("pairing")) as homes:
        yield homes


@dataclass
class Devices:
    """Opens pages of the gateway, each in a browser context of its own. `violations` has what they did wrong."""

    browser: Browser
    url: str
    violations: list[str]

    @asynccontextmanager
    async def open(self, size: tuple[int, int], **options: Any) -> AsyncIterator[Page]:
        width, height = size
        context = await self.browser.new_context(
            base_url=self.url, viewport={"width": width, "height": height}, **WITHOUT_WORKER, **options
        )
        page = await context.new_page()
        self.watch(page)
        yield page
        await context.close()

    def watch(self, page: Page) -> None:
        """Note what a page does wrong."""
        page.on("pageerror", lambda error: self.violations.append(str(error)))
        page.on("console", lambda message: self._note(message.text) if message.type == "error" else None)

    def _note(self, message: str) -> None:
        if "Failed to load resource" not in message:  # the browser reports each error of the gateway
            self.violations.append(message)


@pytest.fixture
async def devices(browser: Browser, homes: ControlledHomes) -> AsyncIterator[Devices]:
    devices = Devices(browser, homes.url, [])
    yield devices
    assert devices.violations == []


@pytest.fixture(scope="module")
async def kept_screens(browser: Browser, homes: ControlledHomes) -> AsyncIterator[KeptPages]:
    async with kept_pages(browser, (800, 480), base_url=homes.url, **WITHOUT_WORKER) as pages:
        yield pages


@pytest.fixture(scope="module")
async def kept_phones(browser: Browser, homes: ControlledHomes) -> AsyncIterator[KeptPages]:
    touch = {"has_touch": True, "is_mobile": True}
    async with kept_pages(browser, PHONE, base_url=homes.url, **touch, **WITHOUT_WORKER) as pages:
        yield pages


@pytest.fixture
async def screen(devices: Devices, kept_screens: KeptPages) -> AsyncIterator[Page]:
    async with kept_screens.page() as page:
        devices.watch(page)
        yield page


@pytest.fixture
async def phone(devices: Devices, kept_phones: KeptPages) -> AsyncIterator[Page]:
    async with kept_phones.page() as page:
        devices.watch(page)
        yield page


async def show_code(screen: Page, path: str = "/display") -> str:
    """Open the display and return the code that it shows."""
    await screen.goto(path)
    return await shown_code(screen)


async def shown_code(screen: Page) -> str:
    await expect(screen.get_by_test_id("user-code")).to_be_visible(timeout=POLL_TIMEOUT_MS)
    code = screen.get_by_test_id("user-code").locator(".code-shown")
    await expect(code).to_have_text(CODE_TEXT, timeout=POLL_TIMEOUT_MS)
    return await code.inner_text()


async def log_in(phone: Page, username: str = USERNAME) -> None:
    await phone.get_by_test_id("username").fill(username)
    await phone.get_by_test_id("password").fill(PASSWORD)
    await phone.get_by_test_id("login").click()
    await expect(phone.locator(".pair-view")).to_be_visible()


async def open_phone(phone: Page, code: str = "") -> None:
    """Open the pairing page with a code in its address, and log in."""
    await phone.goto(f"/pair#{code}" if code else "/pair")
    await log_in(phone)


async def enter_code(phone: Page, code: str) -> None:
    await phone.get_by_test_id("pair-code").fill(code)
    await phone.get_by_test_id("pair-continue").click()


async def approve(phone: Page, name: str, home: str = FIRST_HOME) -> None:
    await phone.get_by_test_id("pair-home").select_option(label=home)
    await phone.get_by_test_id("pair-name").fill(name)
    await phone.get_by_test_id("pair-approve").click()
    await expect(phone.get_by_test_id("pair-notice")).to_contain_text(name)


async def pair(screen: Page, phone: Page, name: str, home: str = FIRST_HOME) -> None:
    """Pair the screen under a name, and wait until the phone lists it."""
    await open_phone(phone, await show_code(screen))
    await approve(phone, name, home)
    await expect(screen.locator(".home-name")).to_have_text(home, timeout=POLL_TIMEOUT_MS)
    await expect(row(phone, name)).to_be_visible(timeout=POLL_TIMEOUT_MS)


def row(phone: Page, name: str) -> Any:
    """Return the row of a display in the list of the phone."""
    return phone.get_by_test_id("paired-display").filter(has=phone.get_by_text(name, exact=True))


async def revoke(phone: Page, name: str) -> None:
    await row(phone, name).get_by_test_id("revoke").click()
    await expect(phone.get_by_test_id("revoke-dialog")).to_contain_text(f"Revoke “{name}”?")
    await phone.get_by_test_id("revoke-confirm").click()


async def storage(page: Page) -> dict[str, str]:
    return dict(await page.evaluate("() => ({...localStorage})"))


async def test_display_is_paired_by_code_and_ends_within_five_seconds_of_its_revocation(
    screen: Page, phone: Page, homes: ControlledHomes
) -> None:
    async with screen.expect_response(lambda answer: "startDisplayPairing" in (answer.request.post_data or "")) as sent:
        code = await show_code(screen)
    started = (await (await sent.value).json())["data"]["startDisplayPairing"]
    await expect(screen.get_by_test_id("qr-code").get_by_role("img")).to_be_visible()
    answers: list[Response] = []
    screen.on("response", lambda answer: answers.append(answer) if GRAPHQL.search(answer.url) else None)
    link = urlsplit(
        f"{started['verificationUri']}#{code}"
    )  # at the public address of the setting, as the QR code has it
    await expect(screen.locator(".pairing-how")).to_contain_text(f"{link.netloc}{link.path}")
    await expect(screen.get_by_test_id("remaining")).to_have_text(re.compile(r"^Valid for (10:00|9:\d\d)$"))

    await phone.goto(f"{link.path}?{link.query}#{link.fragment}")
    await log_in(phone)
    await expect(phone.get_by_test_id("pair-compare").locator(".code-shown")).to_have_text(code)
    await expect(phone.get_by_test_id("pair-name")).to_have_value("Kitchen")
    await approve(phone, "Kitchen")
    await expect(screen.locator(".home-name")).to_have_text(FIRST_HOME, timeout=POLL_TIMEOUT_MS)
    await homes.send_power(640)
    await expect(screen.get_by_test_id("power")).to_have_text("640 W")
    await expect(screen.get_by_test_id("connection")).to_have_text("Live")
    await expect(screen.get_by_test_id("alerts")).to_be_hidden()  # alerts are of the user, not of the home
    assert [await answer.text() for answer in answers if "FORBIDDEN" in await answer.text()] == []
    assert sorted(await storage(screen)) == ["wattgate.locale", "wattgate.paired"]
    await screen.reload()
    await expect(screen.get_by_test_id("power")).to_have_text("640 W")

    await expect(row(phone, "Kitchen")).to_contain_text(FIRST_HOME, timeout=POLL_TIMEOUT_MS)
    await expect(row(phone, "Kitchen")).to_contain_text("Last seen this hour")
    await phone.get_by_test_id("pair-another").click()
    await enter_code(phone, code)
    await expect(phone.get_by_test_id("code-error")).to_contain_text("No screen is waiting with this code.")
    await revoke(phone, "Kitchen")
    await expect(screen.get_by_test_id("pairing")).to_be_visible(timeout=REVOCATION_TIMEOUT_MS)
    await expect(screen.get_by_test_id("power")).to_be_hidden()
    await expect(screen.get_by_test_id("pairing-reason")).to_have_text(
        "Access revoked or expired. Pair this screen again."
    )
    assert await shown_code(screen) != code
    assert list(await storage(screen)) == ["wattgate.locale"]  # nothing of the home but its language
    await expect(phone.get_by_test_id("pair-notice")).to_have_text("“Kitchen” is revoked.")
    await expect(row(phone, "Kitchen")).to_have_count(0)


@pytest.mark.long("sizes, themes and side paths of pairing; the whole path of a code stays in the short form")
async def test_wrong_used_and_refused_codes_are_explained(screen: Page, phone: Page) -> None:
    code = await show_code(screen)
    await open_phone(phone)
    error = phone.get_by_test_id("code-error")
    for typed, text in (
        ("", "Enter the 8 letters and digits that the screen shows."),
        (code[:6], "Enter the 8 letters and digits that the screen shows."),
        ("2222-2222", "No screen is waiting with this code."),
    ):
        await enter_code(phone, typed)
        await expect(error).to_contain_text(text)
        await expect(phone.get_by_test_id("pair-code")).to_be_focused()
    await enter_code(phone, code.replace("-", " ").lower())
    await expect(phone.get_by_test_id("question-form")).to_contain_text("Is this your screen?")
    await phone.get_by_test_id("pair-name").fill(" ")
    await phone.get_by_test_id("pair-approve").click()
    await expect(phone.get_by_test_id("question-error")).to_contain_text("Enter a name")
    await phone.get_by_test_id("pair-deny").click()
    await expect(phone.get_by_test_id("pair-notice")).to_have_text("Refused. That screen gets no access.")
    await expect(screen.get_by_test_id("pairing-notice")).to_have_text(
        "The request was refused on the phone.", timeout=POLL_TIMEOUT_MS
    )
    await expect(screen.get_by_test_id("user-code")).to_be_hidden()
    await phone.get_by_test_id("pair-another").click()
    await enter_code(phone, code)
    await expect(error).to_contain_text("No screen is waiting with this code.")
    await screen.get_by_test_id("new-code").click()
    assert await shown_code(screen) != code


@pytest.mark.long("sizes, themes and side paths of pairing; the whole path of a code stays in the short form")
async def test_expired_code_is_replaced_and_refused(screen: Page, phone: Page, homes: ControlledHomes) -> None:
    code = await show_code(screen)
    await open_phone(phone, code)
    await expect(phone.get_by_test_id("question-form")).to_be_visible()
    engine = create_engine(homes.database_url)
    with engine.begin() as connection:
        connection.execute(update(DisplayPairing).values(expires_at=utc_now() - timedelta(seconds=1)))
    engine.dispose()
    await phone.get_by_test_id("pair-approve").click()
    await expect(phone.get_by_test_id("code-error")).to_contain_text("A code is valid for 10 minutes")
    assert urlsplit(phone.url).fragment == ""
    await expect(screen.locator(".code-shown")).not_to_have_text(code, timeout=POLL_TIMEOUT_MS)
    await enter_code(phone, await shown_code(screen))
    await expect(phone.get_by_test_id("question-form")).to_be_visible()


async def test_screen_without_a_network_says_so_and_gets_a_code_when_it_is_back(screen: Page) -> None:
    async def abort(route: Route) -> None:
        await route.abort()

    await screen.route(GRAPHQL, abort)
    await screen.goto("/display")
    await expect(screen.get_by_test_id("pairing-notice")).to_have_text(
        "No connection to the gateway. This screen tries again by itself."
    )
    await expect(screen.get_by_test_id("user-code")).to_be_hidden()
    await screen.unroute(GRAPHQL)
    await screen.evaluate("() => window.dispatchEvent(new Event('online'))")
    await shown_code(screen)
    await expect(screen.get_by_test_id("pairing-notice")).to_be_empty()


@pytest.mark.long("sizes, themes and side paths of pairing; the whole path of a code stays in the short form")
async def test_code_is_valid_for_its_time_on_a_screen_whose_clock_is_hours_wrong(devices: Devices) -> None:
    for error in (timedelta(hours=-7), timedelta(days=500)):
        async with devices.open((480, 320)) as screen:
            await screen.clock.install(time=utc_now() + error)
            await show_code(screen)
            await screen.clock.run_for(6_000)  # one poll
            await expect(screen.get_by_test_id("remaining")).to_have_text(re.compile(r"^Valid for (10:00|9:[45]\d)$"))


@pytest.mark.long("sizes, themes and side paths of pairing; the whole path of a code stays in the short form")
async def test_account_without_a_home_learns_what_to_do(screen: Page, phone: Page) -> None:
    code = await show_code(screen)
    await phone.goto(f"/pair#{code}")
    await log_in(phone, logins.EDITOR_USERNAME)
    await expect(phone.get_by_test_id("no-homes")).to_contain_text("This account has no home")
    await expect(phone.get_by_test_id("question-form")).to_be_hidden()
    await expect(phone.get_by_test_id("code-form")).to_be_hidden()
    assert await accessibility_violations(phone) == []
    await phone.get_by_test_id("logout").click()
    await log_in(phone)
    await expect(phone.get_by_test_id("question-form")).to_be_visible()  # the code is still in the address


@pytest.mark.long("sizes, themes and side paths of pairing; the whole path of a code stays in the short form")
async def test_displays_are_renamed_and_revoked_by_keyboard(screen: Page, phone: Page) -> None:
    await pair(screen, phone, "Hall", SECOND_HOME)
    await row(phone, "Hall").get_by_test_id("rename").focus()
    await phone.keyboard.press("Enter")
    await phone.keyboard.press("Escape")
    await expect(row(phone, "Hall").get_by_test_id("rename")).to_be_focused()
    await phone.keyboard.press("Enter")
    await phone.keyboard.type("Landing <b>2</b>")
    await phone.keyboard.press("Enter")
    await expect(row(phone, "Landing <b>2</b>")).to_be_visible()
    await expect(phone.get_by_test_id("pair-notice")).to_have_text("The screen is now called “Landing <b>2</b>”.")
    await expect(row(phone, "Landing <b>2</b>").get_by_test_id("rename")).to_be_focused()
    await phone.keyboard.press("Tab")
    await phone.keyboard.press("Enter")
    await expect(phone.get_by_test_id("revoke-dialog")).to_be_visible()
    assert await accessibility_violations(phone) == []
    await phone.keyboard.press("Escape")
    await expect(screen.get_by_test_id("power")).to_be_visible()
    await revoke(phone, "Landing <b>2</b>")
    await expect(screen.get_by_test_id("pairing-reason")).to_be_visible(timeout=REVOCATION_TIMEOUT_MS)


@pytest.mark.long("sizes, themes and side paths of pairing; the whole path of a code stays in the short form")
async def test_screen_unpairs_itself_after_a_question(screen: Page, phone: Page) -> None:
    await pair(screen, phone, "Study")
    button = screen.get_by_role("button", name="Unpair this screen")
    await button.click()
    await screen.get_by_test_id("unpair-cancel").click()
    await expect(screen.get_by_test_id("power")).to_be_visible()
    await button.click()
    assert await accessibility_violations(screen) == []
    async with screen.expect_response(lambda answer: "endOwnDisplay" in (answer.request.post_data or "")) as ended:
        await screen.get_by_test_id("unpair-confirm").click()
    assert (await ended.value).ok
    await shown_code(screen)
    await expect(screen.get_by_test_id("pairing-reason")).to_be_empty()
    await phone.reload()
    await expect(phone.get_by_test_id("code-form")).to_be_visible()
    await expect(row(phone, "Study")).to_have_count(0)


@pytest.mark.long("sizes, themes and side paths of pairing; the whole path of a code stays in the short form")
async def test_phones_log_in_first_and_other_screens_pair_first(devices: Devices) -> None:
    async with devices.open(PHONE) as page:
        await page.goto("/display")
        await expect(page.get_by_test_id("login-form")).to_be_visible()
        await page.get_by_test_id("to-pairing").click()
        await expect(page.get_by_role("heading", name="Pair this screen")).to_be_focused()
        await shown_code(page)
        await page.get_by_test_id("to-login").click()
        await expect(page.get_by_test_id("username")).to_be_focused()
        await expect(page.get_by_test_id("pairing")).to_be_hidden()
    async with devices.open((320, 240)) as page:
        await show_code(page)
        await expect(page.get_by_test_id("login-form")).to_be_hidden()


@pytest.mark.long("sizes, themes and side paths of pairing; the whole path of a code stays in the short form")
@pytest.mark.parametrize(("scheme", "locale"), [("light", "en-GB"), ("dark", "fr-FR")])
async def test_pairing_screen_fits_and_is_accessible(
    devices: Devices, scheme: Literal["light", "dark"], locale: str
) -> None:
    async with devices.open((800, 480), color_scheme=scheme, locale=locale) as screen:
        await screen.goto("/display")
        await screen.evaluate("() => localStorage.setItem('wattgate.paired', JSON.stringify({ token: 'revoked' }))")
        await show_code(screen)
        texts = {"en-GB": "Pair this screen", "fr-FR": "Associer cet écran"}
        await expect(screen.get_by_role("heading", name=texts[locale])).to_be_visible()
        await expect(screen.get_by_test_id("pairing-reason")).not_to_be_empty()
        for width, height in (*PANELS, PHONE):
            await screen.set_viewport_size({"width": width, "height": height})
            assert await overflow_pixels(screen) == {"across": 0, "down": 0}, f"{width} x {height}"
            for part in ("user-code", "qr-code", "remaining", "to-login"):
                await expect(screen.get_by_test_id(part)).to_be_in_viewport(ratio=1)
            box = await screen.get_by_test_id("to-login").bounding_box()
            assert box is not None
            assert box["height"] >= 44
            assert await collisions(screen) == [], f"{width} x {height}"
        assert await accessibility_violations(screen) == []


async def collisions(page: Page) -> list[str]:
    """Return pairs of visible children of the pairing screen that overlap."""
    return list(
        await page.evaluate(
            """() => {
                const parts = [...document.querySelectorAll(".pairing-view > *")]
                    .map((part) => [part.className, part.getBoundingClientRect()])
                    .filter(([, box]) => box.width > 1 && box.height > 1);
                return parts.flatMap(([name, a], index) => parts.slice(index + 1)
                    .filter(([, b]) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
                    .map(([other]) => `${name} and ${other}`));
            }"""
        )
    )


@pytest.mark.long("sizes, themes and side paths of pairing; the whole path of a code stays in the short form")
@pytest.mark.parametrize(("scheme", "locale"), [("light", "en-GB"), ("dark", "fr-FR")])
async def test_pair_page_fits_and_is_accessible(
    devices: Devices, homes: ControlledHomes, scheme: Literal["light", "dark"], locale: str
) -> None:
    async with devices.open((800, 480)) as screen, devices.open(PHONE, color_scheme=scheme, locale=locale) as phone:
        code = await show_code(screen)
        await phone.goto("/pair")
        assert await accessibility_violations(phone) == []
        await log_in(phone)
        await expect(phone.get_by_test_id("code-form")).to_be_visible()
        assert await accessibility_violations(phone) == []
        await phone.evaluate("(code) => { location.hash = code; }", code)
        await expect(phone.get_by_test_id("question-form")).to_be_visible()
        await phone.evaluate("() => { location.hash = ''; }")
        await check_phone_sizes(phone)
        name = "Kitchen beside the very long corridor of the first floor, left of the door"
        await approve(phone, name, SECOND_HOME)
        await expect(row(phone, name)).to_be_visible(timeout=POLL_TIMEOUT_MS)
        await check_phone_sizes(phone)
        await phone.get_by_test_id("rename").first.click()
        await check_phone_sizes(phone)


async def check_phone_sizes(phone: Page) -> None:
    """Check that the page fits from the narrowest phone to a desktop, with targets of 44 pixels."""
    assert await accessibility_violations(phone) == []
    for width, height in ((320, 568), (1280, 800), PHONE):
        await phone.set_viewport_size({"width": width, "height": height})
        assert (await overflow_pixels(phone))["across"] == 0
        heights = await phone.evaluate(
            """() => [...document.querySelectorAll(".pair-view :is(button, input, select)")]
                .map((one) => one.getBoundingClientRect().height).filter((height) => height > 0)"""
        )
        assert min(heights) >= 44
